#!/usr/bin/env python3
"""Runs tests of an aarch64 build under qemu: run.py --build BUILD --kind unit|e2e|packages [--pages 16k|64k] [-k NAME]

Unit tests run by qemu-user; those that need what it lacks, and all end-to-end tests, run in a virtual machine
(qemu-system) with a kernel and packages of Debian arm64. `packages` tries the wheel and the tarball there. There is no
kernel with pages of 64 KiB: only what qemu-user can run, runs with them. What is left out is in LEFT_OUT, one by one.

Each end-to-end test that passes is written to BUILD/passed-PAGES-HASH, where HASH is that of tool, recorder and tests:
a run that was interrupted goes on where it was, and several runs with tests of their own (-k) can share the work.
"""
import argparse
import glob
import hashlib
import json
import lzma
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
    "test_stack_tree": "qemu-user refuses mremap with a length of 0, by which the stack tree grows",
    "test_read_rings_damage": "qemu-user refuses mremap with a length of 0",
    "test_descendants": "qemu-user makes up /proc/self/stat: when this process began is compared with others",
    "test_cfi": "readelf of the host does not see the paths below the root folder",
}
# The same, where pages are larger than those of the host.
IN_MACHINE_LARGE = {
    **IN_MACHINE,
    "test_walk": "qemu-user's /proc/self/maps has no mapping that ends where the stack does: glibc does not find it",
    "test_walk_signed": "as test_walk",
    "test_live_blocks": "/proc/self/pagemap is that of the emulator, and has the host's pages",
}
PAGES = {"4k": 4096, "16k": 16384, "64k": 65536}

# End-to-end tests that are not run (a part of the name is enough), and why.
LEFT_OUT = {
    "-fcf-protection]": "an option of x86-64 compilers",
    "leak_scan.agrees_with_other_tools": "valgrind is not in the virtual machine",
    "own_malloc.odd_beginnings": "the program's malloc is in x86-64 assembler",
    "own_malloc.beginnings_that_cannot_be_replaced": "the same",
    "python_stacks.wherever_code_comes_from": "it needs CPython 3.8, which Debian does not have",
    "[3.": "an interpreter that Debian does not have; [system] is run",
}

MODULES = ("virtio_pci", "9pnet_virtio", "9p")  # what else they need is found out
TOOLS = {"gcc": "aarch64-linux-gnu-gcc", "cc": "aarch64-linux-gnu-gcc", "g++": "aarch64-linux-gnu-g++",
         "readelf": "aarch64-linux-gnu-readelf", "objdump": "aarch64-linux-gnu-objdump", "nm": "aarch64-linux-gnu-nm",
         "objcopy": "aarch64-linux-gnu-objcopy", "strip": "aarch64-linux-gnu-strip", "ar": "aarch64-linux-gnu-ar", "clang": None, "clang++": None}
TIMEOUT_S = 3600  # an emulator on a busy machine


def cpio(files):
    """An archive of {name: (mode, bytes)} for the kernel."""
    def entry(number, name, mode, data):
        fields = (number, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name) + 1, 0)
        head = b"070701" + b"".join(b"%08x" % f for f in fields) + name.encode() + b"\0"
        pad = lambda b: b + b"\0" * (-len(b) % 4)
        return pad(head) + pad(data)
    parts = [entry(i + 1, name, mode, data) for i, (name, (mode, data)) in enumerate(files.items())]
    return b"".join(parts) + entry(0, "TRAILER!!!", 0, b"")


def unpacked(path):
    with open(path, "rb") as file:
        data = file.read()
    return lzma.decompress(data) if path.endswith(".xz") else data


def modules(kernel):
    """[(name, content)] of kernel modules in the order in which they are loaded; others are part of the kernel."""
    files = {os.path.basename(path).split(".")[0].replace("-", "_"): path
             for path in glob.glob(os.path.join(kernel, "**", "*.ko*"), recursive=True)}
    found = {}

    def add(name):
        if name in files and name not in found:
            content = unpacked(files[name])
            for needed in content.split(b"\0depends=")[1].split(b"\0")[0].decode().split(","):
                add(needed.replace("-", "_"))
            found[name] = content
    for name in MODULES:
        add(name)
    return found.items()


def initial_files(build, kernel):
    files = {name: (0o040755, b"") for name in ("bin", "proc", "dev", "root", "modules")}
    with open(os.path.join(build, "root", "bin", "busybox"), "rb") as program:
        files["bin/busybox"] = (0o100755, program.read())
    with open(os.path.join(HERE, "init"), "rb") as script:
        files["init"] = (0o100755, script.read())
    order = []
    for name, content in modules(kernel):
        files["modules/" + name] = (0o100644, content)
        order.append(name)
    files["modules/order"] = (0o100644, " ".join(order).encode())
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


def in_machine(build, kernel, job, log):
    """Runs the tests of a job in a virtual machine; yields (verdict, name, what it said)."""
    names = job["names"]
    # Its time is that of the instructions that it runs (-icount): on a busy machine its clock is slow, too, and does not
    # interrupt it after every few instructions.
    spool = tempfile.mkdtemp(prefix="arm64-", dir=build)
    os.makedirs(os.path.join(spool, "calls"))
    os.makedirs(os.path.join(spool, "bin"))
    for tool in TOOLS:
        shutil.copy(os.path.join(HERE, "tool"), os.path.join(spool, "bin", tool))
    with open(os.path.join(spool, "job"), "w") as out:
        json.dump({**job, "build": build.replace(ROOT, "/work/tree"), "timeout": TIMEOUT_S}, out)
    with open(os.path.join(spool, "initrd"), "wb") as out:
        out.write(initial_files(build, kernel))
    command = ["qemu-system-aarch64", "-M", "virt", "-cpu", "max,pauth-impdef=on", "-smp", "2", "-m", "3G", "-nographic", "-nodefaults",
               "-icount", "shift=2", "-serial", "stdio", "-no-reboot", "-kernel", glob.glob(os.path.join(kernel, "**", "vmlinuz*"), recursive=True)[0],
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


def prepare_packages(build):
    """What the checks of tests/packages record, built for the oldest glibc."""
    import packages
    packages.checks_of_packages().build_programs(build, os.path.join(build, "packages", "programs"), "aarch64")


def passed_file(build, pages):
    """The file with the names of the end-to-end tests that have already passed, unchanged, with these binaries."""
    files = [os.path.join(build, name) for name in ("tidemark", "libtidemark.so")]
    for folder in ("e2e", "programs"):
        files += sorted(glob.glob(os.path.join(ROOT, "tests", folder, "*.*")))
    content = hashlib.sha256()
    for path in files:
        with open(path, "rb") as file:
            content.update(file.read())
    return os.path.join(build, "passed-%s-%s" % (pages, content.hexdigest()[:12]))


def lines_of(path):
    try:
        with open(path) as text:
            return set(text.read().splitlines())
    except FileNotFoundError:
        return set()


def by_qemu_user(build, names, page):
    for name in names:
        done = subprocess.run(["qemu-aarch64-static", "-p", str(page), "-L", os.path.join(build, "root"), os.path.join(build, name)],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=ROOT)
        said = [line for line in done.stdout.decode(errors="replace").splitlines() if "ERROR" in line or "LINE" in line]
        yield "failed" if done.returncode else "ok", name, said


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("--kind", choices=("unit", "e2e", "packages"))
    parser.add_argument("--shell", metavar="COMMAND", help="run this instead, and print what it prints")
    parser.add_argument("--pages", choices=sorted(PAGES), default="4k", help="of the virtual machine's kernel, and of qemu-user")
    parser.add_argument("--env", action="append", default=[], metavar="NAME=VALUE", help="for the tests, in the virtual machine")
    parser.add_argument("-k", default="", help="only tests whose names begin so; several, separated by commas, in that order")
    options = parser.parse_args()
    build = os.path.abspath(options.build)
    wanted = lambda name: name.startswith(tuple(options.k.split(",")))
    counts = {"ok": 0, "skip": 0, "failed": 0}
    runs, passed, kernel = [], None, os.path.join(build, "kernel-" + options.pages)
    env = dict(word.split("=", 1) for word in options.env)
    if options.shell:
        for _ in in_machine(build, kernel, {"kind": "shell", "names": [], "command": options.shell, "env": env}, sys.stdout):
            pass
        return 0
    if options.kind == "packages":
        apart = [n for n in ("wheel", "tarball") if wanted(n)]
        prepare_packages(build)
    elif options.kind == "unit":
        names = [os.path.basename(p) for p in sorted(glob.glob(os.path.join(build, "test_*"))) if os.path.isfile(p) and os.access(p, os.X_OK)]
        apart = [n for n in names if wanted(n)]
        lacking = IN_MACHINE if options.pages == "4k" else IN_MACHINE_LARGE
        runs.append(by_qemu_user(build, [n for n in apart if n not in lacking], PAGES[options.pages]))
        apart = [n for n in apart if n in lacking]
    else:
        import runner
        first = options.k.split(",")
        apart = sorted((n for n in runner.discover() if n.startswith(E2E) and wanted(n)),
                       key=lambda n: min(i for i, k in enumerate(first) if n.startswith(k)))
        for name in apart:
            for part, why in LEFT_OUT.items():
                if part in name:
                    print("left out: %s: %s" % (name, why))
        apart = [n for n in apart if not any(part in n for part in LEFT_OUT)]
        passed = passed_file(build, options.pages)
        before = lines_of(passed).intersection(apart)
        counts["ok"] = len(before)
        apart = [n for n in apart if n not in before]
    if apart and options.pages == "64k":
        for name in apart:
            print("left out: %s: there is no kernel with pages of 64 KiB, and %s" % (name, IN_MACHINE_LARGE.get(name, "qemu-user cannot run it")))
        apart = []
    with open(os.path.join(build, "machine-%d.log" % os.getpid()), "w") as log:
        if apart:
            job = {"kind": options.kind, "names": apart, "env": env}
            runs.append(in_machine(build, kernel, job, log))
        for run in runs:
            for verdict, name, said in run:
                counts[verdict] += 1
                if passed and verdict == "ok":
                    with open(passed, "a") as out:
                        out.write(name + "\n")
                for line in said if verdict == "failed" else ():
                    print("FAIL %s: %s" % (name, line), flush=True)
                if verdict == "failed" and not said:
                    print("FAIL %s" % name, flush=True)
    print("%s tests on aarch64 with pages of %s: %d passed, %d failed%s" % (options.kind, options.pages, counts["ok"], counts["failed"],
                                                          ", %d skipped" % counts["skip"] if counts["skip"] else ""))
    return counts["failed"] != 0


if __name__ == "__main__":
    sys.exit(main())
