#!/usr/bin/env python3
"""Runs tests of an aarch64 build under qemu: run.py --build BUILD --kind unit|e2e [-k NAME]

Unit tests run by qemu-user; those that need what it lacks, and all end-to-end tests, run in a virtual machine
(qemu-system) with a kernel and packages of Debian arm64. What is left out is in LEFT_OUT, one by one.
"""
import argparse
import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "tests", "e2e"))

# Tests of tests/e2e that are run, by the beginnings of their names: exactness, stacks, ends, families, leaks, Python;
# replaced entries; and stacks of samples.
E2E = ("allocation_functions.", "stacks.", "program_ends.", "child_processes.", "leaks_command.", "leak_scan.", "python_stacks.", "python_scenarios.", "python_end.",
       "own_malloc.", "mark_on.registers", "cpu.deep_stacks", "cpu.shares")

# Unit tests that qemu-user cannot run, and why: they run in the virtual machine.
IN_MACHINE = {
    "test_nodes": "qemu-user refuses mremap with a length of 0, by which the stack tree grows",
    "test_drain_damage": "the same",
    "test_cfi": "readelf of the host does not see the paths below the root folder",
}

# End-to-end tests that are not run (a part of the name is enough), and why.
EXIT_STATUS = "the exit status of a process that is not our child needs Linux 6.15; this one is 6.1"
LEFT_OUT = {
    "child_processes.daemon_outlives_its_parent": EXIT_STATUS,
    "child_processes.spawn_without_our_variables[vfork]": EXIT_STATUS,
    "child_processes.spawn_without_our_variables[posix_spawn]": EXIT_STATUS,
    "child_processes.tree_of_processes": EXIT_STATUS,
    "child_processes.change_of_root": EXIT_STATUS,
    "child_processes.ordinary_user": EXIT_STATUS,
    "child_processes.python_multiprocessing": EXIT_STATUS,
    "child_processes.spawn_without_our_variables[posix_spawnp]": EXIT_STATUS,
    "-fcf-protection]": "an option of x86-64 compilers",
    "leak_scan.agrees_with_other_tools": "valgrind is not in the virtual machine",
    "child_processes.many_commands": EXIT_STATUS,
    "own_malloc.odd_beginnings": "the program's malloc is in x86-64 assembler",
    "own_malloc.beginnings_that_cannot_be_replaced": "the same",
    "[3.": "an interpreter that Debian does not have; [system] is run",
}

MODULES = ("drivers/virtio/virtio_pci_legacy_dev", "drivers/virtio/virtio_pci_modern_dev", "drivers/virtio/virtio_pci",
           "fs/netfs/netfs", "fs/fscache/fscache", "net/9p/9pnet", "net/9p/9pnet_virtio", "fs/9p/9p")
TOOLS = {"gcc": "aarch64-linux-gnu-gcc", "cc": "aarch64-linux-gnu-gcc", "g++": "aarch64-linux-gnu-g++",
         "readelf": "aarch64-linux-gnu-readelf", "objdump": "aarch64-linux-gnu-objdump", "nm": "aarch64-linux-gnu-nm",
         "objcopy": "aarch64-linux-gnu-objcopy", "strip": "aarch64-linux-gnu-strip", "ar": "aarch64-linux-gnu-ar", "clang": None, "clang++": None}
TIMEOUT_S = 600


def cpio(files):
    """An archive of {name: (mode, bytes)} for the kernel."""
    def entry(number, name, mode, data):
        fields = (number, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name) + 1, 0)
        head = b"070701" + b"".join(b"%08x" % f for f in fields) + name.encode() + b"\0"
        pad = lambda b: b + b"\0" * (-len(b) % 4)
        return pad(head) + pad(data)
    parts = [entry(i + 1, name, mode, data) for i, (name, (mode, data)) in enumerate(files.items())]
    return b"".join(parts) + entry(0, "TRAILER!!!", 0, b"")


def initial_files(build):
    files = {name: (0o040755, b"") for name in ("bin", "proc", "dev", "root", "modules")}
    with open(os.path.join(build, "root", "bin", "busybox"), "rb") as program:
        files["bin/busybox"] = (0o100755, program.read())
    with open(os.path.join(HERE, "init"), "rb") as script:
        files["init"] = (0o100755, script.read())
    kernel = glob.glob(os.path.join(build, "kernel", "lib", "modules", "*", "kernel"))[0]
    for name in MODULES:
        with open(os.path.join(kernel, name + ".ko"), "rb") as module:
            files["modules/%s.ko" % os.path.basename(name)] = (0o100644, module.read())
    return cpio(files)


def serve(calls, build, stop):
    """Runs compilers for the virtual machine, which asks for them by files (tool)."""
    inside = lambda word: word.replace("/work/tree", ROOT)
    while not stop.is_set():
        for call in glob.glob(os.path.join(calls, "*.call")):
            stem = call[:-len(".call")]
            with open(call) as text:
                folder, tool, *words = text.read().split("\n")[:-1]
            os.unlink(call)
            flags = ["--sysroot=" + os.path.join(build, "root")] if tool in ("gcc", "cc", "g++", "clang", "clang++") else []
            program = [TOOLS[tool]] if TOOLS[tool] else [tool, "--target=aarch64-linux-gnu"]
            done = subprocess.run([*program, *flags, *map(inside, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  cwd=inside(folder) if folder.startswith("/work/tree") else "/")
            back = lambda out: out.replace(ROOT.encode(), b"/work/tree")
            for suffix, data in ((".out", back(done.stdout)), (".err", back(done.stderr)), (".new", b"%d" % done.returncode)):
                with open(stem + suffix, "wb") as out:
                    out.write(data)
            os.rename(stem + ".new", stem + ".done")
        time.sleep(0.02)


def in_machine(build, kind, names, log):
    """Runs tests in a virtual machine; yields (verdict, name, what it said)."""
    spool = tempfile.mkdtemp(prefix="arm64-", dir=build)
    os.makedirs(os.path.join(spool, "calls"))
    os.makedirs(os.path.join(spool, "bin"))
    for tool in TOOLS:
        shutil.copy(os.path.join(HERE, "tool"), os.path.join(spool, "bin", tool))
    with open(os.path.join(spool, "job"), "w") as out:
        json.dump({"kind": kind, "names": names, "build": build.replace(ROOT, "/work/tree"), "timeout": TIMEOUT_S}, out)
    with open(os.path.join(spool, "initrd"), "wb") as out:
        out.write(initial_files(build))
    command = ["qemu-system-aarch64", "-M", "virt", "-cpu", "max,pauth-impdef=on", "-smp", "2", "-m", "3G", "-nographic", "-nodefaults",
               "-serial", "stdio", "-no-reboot", "-kernel", glob.glob(os.path.join(build, "kernel", "boot", "vmlinuz-*"))[0],
               "-initrd", os.path.join(spool, "initrd"), "-append", "console=ttyAMA0 quiet panic=-1"]
    for tag, path, more in (("root", os.path.join(build, "root"), ",readonly=on"), ("tree", ROOT, ""), ("spool", spool, "")):
        command += ["-fsdev", "local,id=%s,path=%s,security_model=passthrough%s" % (tag, path, more),
                    "-device", "virtio-9p-pci,fsdev=%s,mount_tag=%s" % (tag, tag)]
    stop = threading.Event()
    server = threading.Thread(target=serve, args=(os.path.join(spool, "calls"), build, stop))
    server.start()
    left, said = set(names), {}
    machine = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        for line in machine.stdout:
            line = line.decode(errors="replace").rstrip("\r\n")
            log.write(line + "\n")
            log.flush()
            words = line.split(" ", 2)
            if words[0] == "fail" and len(words) == 3:
                said.setdefault(words[1], []).append(words[2])
            elif words[0] in ("ok", "skip", "failed") and len(words) >= 2:
                name = line.split(" ", 1)[1].rsplit(" ", 1)[0]
                left.discard(name)
                yield words[0], name, [text for key, lines in said.items() if name.startswith(key) for text in lines]
                said.clear()
    finally:
        stop.set()
        machine.kill()
        machine.wait()
        server.join()
        shutil.rmtree(spool, ignore_errors=True)
    for name in sorted(left):
        yield "failed", name, ["it was not run: the machine ended"]


def by_qemu_user(build, names):
    for name in names:
        done = subprocess.run(["qemu-aarch64-static", "-L", os.path.join(build, "root"), os.path.join(build, name)],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=ROOT)
        said = [line for line in done.stdout.decode(errors="replace").splitlines() if "ERROR" in line or "LINE" in line]
        yield "failed" if done.returncode else "ok", name, said


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("--kind", choices=("unit", "e2e"), required=True)
    parser.add_argument("-k", default="", help="only tests whose names begin so; several, separated by commas")
    options = parser.parse_args()
    build = os.path.abspath(options.build)
    wanted = lambda name: name.startswith(tuple(options.k.split(",")))
    if options.kind == "unit":
        names = [os.path.basename(p) for p in sorted(glob.glob(os.path.join(build, "test_*"))) if os.path.isfile(p) and os.access(p, os.X_OK)]
        chosen = [n for n in names if wanted(n)]
        runs = [by_qemu_user(build, [n for n in chosen if n not in IN_MACHINE])]
    else:
        import runner
        chosen = [n for n in runner.discover() if n.startswith(E2E) and wanted(n)]
        for name in chosen:
            for part, why in LEFT_OUT.items():
                if part in name:
                    print("left out: %s: %s" % (name, why))
        chosen = [n for n in chosen if not any(part in n for part in LEFT_OUT)]
        runs = []
    with open(os.path.join(build, "machine-%d.log" % os.getpid()), "w") as log:
        apart = [n for n in chosen if options.kind == "e2e" or n in IN_MACHINE]
        if apart:
            runs.append(in_machine(build, options.kind, apart, log))
        counts = {"ok": 0, "skip": 0, "failed": 0}
        for run in runs:
            for verdict, name, said in run:
                counts[verdict] += 1
                for line in said if verdict == "failed" else ():
                    print("FAIL %s: %s" % (name, line), flush=True)
                if verdict == "failed" and not said:
                    print("FAIL %s" % name, flush=True)
    print("%s tests on aarch64: %d passed, %d failed%s" % (options.kind, counts["ok"], counts["failed"],
                                                          ", %d skipped" % counts["skip"] if counts["skip"] else ""))
    return counts["failed"] != 0


if __name__ == "__main__":
    sys.exit(main())
