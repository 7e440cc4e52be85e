#!/usr/bin/env python3
"""Attaches to programs and detaches from them at random moments, many times: make attaches [CYCLES=500] [PROGRAM=NAME].

After each time the program must run, and every byte of its code must be the original one. docs/SAFETY.md has the table.
Programs that are not installed are left out, and named."""
import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "e2e"))
from program_code import code_of  # noqa: E402

PROGRAMS = os.path.join(HERE, "..", "programs")
LIBRARIES = "/usr/lib/%s-linux-gnu/" % os.uname().machine
PYTHON = """
import threading, time
def leaf(n): return [bytearray(600 + (i % 50) * 40) for i in range(n)]
def work():
    kept = []
    for i in range(1 << 60):
        kept = [] if len(kept) > 50 else kept + [leaf(5)]
        if i % 20 == 0: time.sleep(0.001)
for k in range(4): threading.Thread(target=work, daemon=True).start()
while True: leaf(3); time.sleep(0.002)
"""
NODE = "let k=[];setInterval(()=>{for(let i=0;i<200;i++){k.push(Buffer.alloc(2000));if(k.length>1000)k=[]}},1)"
JAVA = """
class Allocates {
    public static void main(String[] a) {
        for (int i = 0; i < 4; i++)
            new Thread(() -> { while (true) { byte[] in = new byte[1000], out = new byte[2000];
                java.util.zip.Deflater d = new java.util.zip.Deflater(); d.setInput(in); d.finish(); d.deflate(out); d.end();
                try { Thread.sleep(1); } catch (InterruptedException e) { return; } } }).start();
    }
}
"""


def programs(folder):
    """name: (command, what is preloaded, seconds until it is at work)"""
    always = os.path.join(folder, "allocates_always")
    subprocess.run(["cc", "-O2", "-g", os.path.join(PROGRAMS, "allocates_always.c"), "-o", always, "-pthread"], check=True)
    java = os.path.join(folder, "Allocates.java")
    with open(java, "w") as out:
        out.write(JAVA)
    found = {"one-thread": ([always, "0"], None, 1), "glibc": ([always, "8"], None, 1)}
    for name, library in (("jemalloc", "libjemalloc.so.2"), ("tcmalloc", "libtcmalloc_minimal.so.4"), ("mimalloc", "libmimalloc.so.2")):
        if os.path.exists(LIBRARIES + library):
            found[name] = ([always, "8"], LIBRARIES + library, 1)
    for version in ("3", "3.8", "3.9", "3.10", "3.11", "3.12", "3.13"):
        found["python" + version] = (["python" + version, "-c", PYTHON], None, 2)
    found["node"] = (["node", "-e", NODE], None, 2)
    found["java"] = (["java", "-Xmx64m", java], None, 5)
    return found


def cycles(tidemark, name, pid, count, chance, output):
    before, failures = code_of(pid), []
    for i in range(count):
        time.sleep(chance.random() * 0.01)
        done = subprocess.run([tidemark, "attach", str(pid), "--quiet", "--duration", "%dms" % chance.randint(1, 60), "-o", output],
                              stderr=subprocess.PIPE, text=True)
        if done.returncode:
            failures.append("cycle %d: %s" % (i, done.stderr.strip()))
        try:
            now = code_of(pid)
        except (FileNotFoundError, ProcessLookupError):
            failures.append("cycle %d: the program has ended" % i)
            break
        changed = [path for path in before if path in now and now[path] != before[path]]
        if changed:
            failures.append("cycle %d: changed code in %s" % (i, changed))
            break
    print("%-12s %4d cycles, %d failures" % (name, i + 1, len(failures)), flush=True)
    for failure in failures[:5]:
        print("    " + failure, flush=True)
    return len(failures)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split(":")[0])
    parser.add_argument("--build", required=True)
    parser.add_argument("--cycles", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("-k", default="", help="only programs whose name contains this")
    options = parser.parse_args()
    folder, failed = tempfile.mkdtemp(prefix="tide-attach-"), 0
    chance = random.Random(options.seed)
    for name, (command, preload, seconds) in programs(folder).items():
        if options.k not in name:
            continue
        if not shutil.which(command[0]):
            print("%-12s is not installed" % name, flush=True)
            continue
        env = {**os.environ, **({"LD_PRELOAD": preload} if preload else {})}
        program = subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(seconds)
        if program.poll() is None:
            failed += cycles(os.path.join(options.build, "tidemark"), name, program.pid, options.cycles, chance, os.path.join(folder, "p.tide"))
        else:
            print("%-12s does not run here" % name, flush=True)
        program.kill()
        program.wait()
    shutil.rmtree(folder, ignore_errors=True)
    sys.exit(failed != 0)


if __name__ == "__main__":
    main()
