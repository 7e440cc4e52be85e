#!/usr/bin/env python3
"""Attaches to programs and detaches from them at random moments, many times: make attaches [CYCLES=500] [PROGRAM=NAME].

After each time the program must run, and every byte of its code must be the original one. docs/SAFETY.md has the table.
Programs that are not installed are left out, and named."""
import argparse
import contextlib
import glob
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "e2e"))
from harness import LIBRARIES, MIMALLOC_LIBRARY  # noqa: E402
from program_code import CONFINES_ITSELF, code_of  # noqa: E402

PROGRAMS = os.path.join(HERE, "..", "programs")
PYTHON = """
import os, threading, time
def leaf(n): return [bytes([65 + i]) * (600 + (i % 50) * 40) for i in range(n)]
def check(leaves):
    for i, made in enumerate(leaves):
        if made.count(65 + i) != 600 + (i % 50) * 40: os._exit(1)
def work():
    kept = []
    for i in range(1 << 60):
        if len(kept) > 50:
            for leaves in kept: check(leaves)
            kept = []
        kept = kept + [leaf(5)]
        if i % 20 == 0: time.sleep(0.001)
for k in range(4): threading.Thread(target=work, daemon=True).start()
while True: check(leaf(3)); time.sleep(0.002)
"""
NODE = """
let kept = [];
setInterval(() => {
    for (let i = 0; i < 200; i++) {
        kept.push(Buffer.alloc(2000, i));
        if (kept.length <= 1000) continue;
        for (const b of kept) if (b[0] !== b[1999]) process.exit(1);
        kept = [];
    }
}, 1)
"""
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
FILTER = CONFINES_ITSELF + "while True: time.sleep(0.001)\n"


class Missing(Exception):
    pass


def find(command):
    path = shutil.which(command)
    if not path:
        raise Missing(command)
    return path


def children(pid):
    found = []
    for tid in os.listdir("/proc/%d/task" % pid):
        with open("/proc/%d/task/%s/children" % (pid, tid)) as text:
            found += [int(child) for child in text.read().split()]
    return found


@contextlib.contextmanager
def running(command, seconds, env=None, **how):
    program = subprocess.Popen(command, env={**os.environ, **(env or {})}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               stdin=subprocess.DEVNULL, **how)
    try:
        time.sleep(seconds)
        if program.poll() is not None:
            raise Missing("%s, which ends with status %d" % (command[0], program.returncode))
        yield program.pid
    finally:
        program.kill()
        program.wait()


def compiled(folder, source, *options):
    name, kind = os.path.splitext(source)
    path = os.path.join(folder, name)
    compiler = "c++" if kind == ".cpp" else "cc"
    subprocess.run([compiler, "-O2", "-g", "-D_GNU_SOURCE", os.path.join(PROGRAMS, source), "-o", path, "-pthread", *options], check=True)
    return path


def always(folder, threads, preload=None):
    library = preload and os.path.join(LIBRARIES, preload)
    if library and not os.path.exists(library):
        raise Missing(preload)
    return running([compiled(folder, "allocates_always.cpp"), str(threads)], 1, {"LD_PRELOAD": library} if library else None)


def python(folder, version):
    """Of pyenv, where it has one; else of $PYTHONS (scripts/new-pythons.sh); else of the system."""
    places = [*sorted(glob.glob(os.path.expanduser("~/.pyenv/versions/%s.*/bin/python%s" % (version, version)))),
              os.path.join(os.environ.get("PYTHONS", ""), version, "usr/bin/python" + version)]
    command = next((path for path in places if os.access(path, os.X_OK)), None) or find("python" + version)
    return running([command, "-c", PYTHON], 2)


def java(folder):
    source = os.path.join(folder, "Allocates.java")
    with open(source, "w") as out:
        out.write(JAVA)
    return running([find("java"), "-Xmx64m", source], 8)


@contextlib.contextmanager
def redis(folder):
    socket = os.path.join(folder, "redis.socket")
    with running([find("redis-server"), "--port", "0", "--unixsocket", socket, "--save", ""], 1) as pid:
        with running([find("redis-benchmark"), "-s", socket, "-q", "-l", "-n", "200000", "-c", "8", "-t", "set,get,lpush,lrange_100"], 1):
            yield pid
        answer = subprocess.run(["redis-cli", "-s", socket, "ping"], stdout=subprocess.PIPE, text=True).stdout
        if answer.strip() != "PONG":
            raise RuntimeError("redis-server does not answer: " + answer)


@contextlib.contextmanager
def postgres(folder):
    places = sorted(glob.glob("/usr/lib/postgresql/*/bin"))
    if not places or not shutil.which("pgbench"):
        raise Missing("postgres")
    data = tempfile.mkdtemp(prefix="tide-postgres-")
    user = []
    if os.geteuid() == 0:
        shutil.chown(data, "postgres")
        user = ["runuser", "-u", "postgres", "--"]
    subprocess.run([*user, places[-1] + "/initdb", "-D", data + "/db", "-A", "trust"], check=True, stdout=subprocess.DEVNULL)
    try:
        with running([*user, places[-1] + "/postgres", "-D", data + "/db", "-k", data, "-h", ""], 4):
            client = ["-h", data, "-U", "postgres", "postgres"]
            subprocess.run(["pgbench", "-i", "-q", *client], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            with running(["pgbench", "-T", "100000", "-c", "2", *client], 2) as bench:
                backends = [int(pid) for pid in os.listdir("/proc") if pid.isdigit() and b"postgres: postgres postgres" in command_of(pid)]
                if not backends:
                    raise RuntimeError("pgbench has no backend")
                yield backends[0]
                os.kill(bench, 0)
                with open("/proc/%d/stat" % bench) as text:
                    if text.read().rsplit(")")[-1].split()[0] == "Z":
                        raise RuntimeError("pgbench has ended")
    finally:
        subprocess.run([*user, places[-1] + "/pg_ctl", "-D", data + "/db", "-m", "immediate", "stop"], stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
        shutil.rmtree(data, ignore_errors=True)


def command_of(pid):
    try:
        with open("/proc/%s/cmdline" % pid, "rb") as text:
            return text.read()
    except OSError:
        return b""


@contextlib.contextmanager
def namespaces(folder):
    """Only root may make them so."""
    command = ["unshare", "--mount", "--pid", "--fork", "--mount-proc", "--kill-child", compiled(folder, "allocates_always.cpp"), "8"]
    with running(command, 1) as outer:
        yield children(outer)[0]


def programs(folder):
    """name: how it is started"""
    found = {"one-thread": lambda: always(folder, 0), "glibc": lambda: always(folder, 8)}
    for name, library in (("jemalloc", "libjemalloc.so.2"), ("tcmalloc", "libtcmalloc_minimal.so.4"), ("mimalloc", MIMALLOC_LIBRARY)):
        found[name] = lambda library=library: always(folder, 8, library)
    for version in ("3.8", "3.9", "3.10", "3.11", "3.12", "3.13", "3.14", "3.15"):
        found["python" + version] = lambda version=version: python(folder, version)
    found["redis"] = lambda: redis(folder)
    found["postgres"] = lambda: postgres(folder)
    found["node"] = lambda: running([find("node"), "-e", NODE], 2)
    found["java"] = lambda: java(folder)
    found["namespaces"] = lambda: namespaces(folder)
    found["stopped"] = lambda: running([find("python3"), "-c", PYTHON], 2)
    found["seccomp"] = lambda: running([find("python3"), "-c", FILTER], 1)
    found["killed"] = lambda: always(folder, 8)
    found["killed-one"] = lambda: always(folder, 0)
    found["spawns"] = lambda: running([compiled(folder, "spawns_always.c")], 1)
    return found


def state_of(pid):
    with open("/proc/%d/stat" % pid) as text:
        return text.read().rsplit(")")[-1].split()[0]


def is_stopped(pid, patience=20):
    """A stopped thread that a tracer lets go of is runnable for a moment, until the kernel stops it again: it does not
    get to the program's code. The moment is long where the processors are busy."""
    end = time.monotonic() + patience
    while state_of(pid) != "T" and time.monotonic() < end:
        time.sleep(0.001)
    return state_of(pid) == "T"


def halt(pid):
    os.kill(pid, signal.SIGSTOP)
    is_stopped(pid)


class Cycles:
    """Of one program. Some may be refused, with a reason that is known, and leave the program as it was."""

    REFUSED = {"stopped": ("was stopped while a thread was in its allocator",), "seccomp": ("runs under a seccomp filter",),
               "spawns": ("stopped outside of its alloc", "sleeps in the kernel")}  # in 10 s: a thread in vfork cannot be stopped

    def __init__(self, tidemark, name, pid, chance, output):
        self.tidemark, self.name, self.pid, self.chance, self.output = tidemark, name, pid, chance, output
        self.before, self.failures, self.refused, self.count = code_of(pid), [], 0, 0

    def attach(self):
        done = subprocess.run([self.tidemark, "attach", str(self.pid), "--quiet", "--duration", "%dms" % self.chance.randint(1, 60), "-o",
                               self.output], stderr=subprocess.PIPE, text=True)
        if done.returncode and any(reason in done.stderr for reason in self.REFUSED.get(self.name, ())):
            self.refused += 1
        elif done.returncode:
            self.failures.append("cycle %d: status %d: %s" % (self.count, done.returncode, done.stderr.strip()))

    def kill(self):
        """tidemark is killed at some moment of attaching, with the process that does the work; then the code is restored."""
        tool = subprocess.Popen([self.tidemark, "attach", str(self.pid), "--quiet", "-o", self.output], stderr=subprocess.DEVNULL)
        at_work = []
        while not at_work and tool.poll() is None:
            at_work = children(tool.pid)
        time.sleep(self.chance.random() * 0.1)
        for pid in (*at_work, tool.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        tool.wait()
        done = subprocess.run([self.tidemark, "detach", str(self.pid)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        if done.returncode and "has not been attached to" not in done.stderr:
            self.failures.append("cycle %d: %s" % (self.count, done.stderr.strip()))

    def one(self):
        """False: it makes no sense to go on."""
        time.sleep(self.chance.random() * 0.01)
        if self.name == "stopped":
            halt(self.pid)
        self.kill() if self.name.startswith("killed") else self.attach()
        self.count += 1
        try:
            now = code_of(self.pid)
            state = state_of(self.pid)
        except (FileNotFoundError, ProcessLookupError):
            state = "Z"
        if state == "Z":
            self.failures.append("cycle %d: the program has ended" % self.count)
            return False
        if self.name == "stopped":
            if not is_stopped(self.pid):
                self.failures.append("cycle %d: it is no longer stopped, but %s" % (self.count, state_of(self.pid)))
            os.kill(self.pid, signal.SIGCONT)
        changed = [path for path in self.before if path in now and now[path] != self.before[path]]
        if changed:
            self.failures.append("cycle %d: changed code in %s" % (self.count, changed))
        return not changed

    def run(self, count, failures_most=20):
        begin, ended = time.time(), []
        signal.signal(signal.SIGTERM, lambda *_: ended.append(True))  # it says how far it came
        while self.count < count and len(self.failures) < failures_most and not ended and self.one():
            pass
        print("%-12s %4d cycles, %d failures%s (%d s)" % (self.name, self.count, len(self.failures),
              ", %d refused as they should be" % self.refused if self.refused else "", time.time() - begin), flush=True)
        for failure in self.failures[:5]:
            print("    " + failure, flush=True)
        if ended:
            raise SystemExit(1)
        return len(self.failures)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split(":")[0])
    parser.add_argument("--build", required=True)
    parser.add_argument("--cycles", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("-k", default="", help="only programs whose name contains this")
    options = parser.parse_args()
    failed = 0
    tidemark = os.path.join(options.build, "tidemark")
    with tempfile.TemporaryDirectory(prefix="tide-attach-") as folder:
        for name, start in programs(folder).items():
            if options.k not in name:
                continue
            try:
                with start() as pid:
                    failed += Cycles(tidemark, name, pid, random.Random(options.seed), os.path.join(folder, "p.tide")).run(options.cycles)
            except Missing as what:
                print("%-12s is left out: there is no %s" % (name, what), flush=True)
            except RuntimeError as what:
                print("%-12s %s" % (name, what), flush=True)
                failed += 1
    sys.exit(failed != 0)


if __name__ == "__main__":
    main()
