#!/usr/bin/env python3
"""Checks the unwinder on real programs: bench/check_stacks.py [--only NAME] [--samples N] [--aarch64 ROOT]

On random allocations in each program the recorder's walk is compared, frame by frame, with libgcc's unwinder (see
stackcheck.c). Prints the share of stacks that are identical; the differences are left in bench/out/stackcheck. A program
of our own is linked for large pages, which leaves holes between its segments: there, every stack must be identical.

With --aarch64 the programs are those in a folder of Debian's arm64 packages (scripts/arm64.sh makes one), run by qemu-user.
"""
import argparse
import functools
import glob
import os
import struct
import subprocess
import sys

import measure
import workloads

ROOT = os.path.dirname(workloads.HERE)
FOLDER = os.path.join(workloads.OUT, "stackcheck")
PROGRAMS = ("clang", "python", "perl", "git", "lua", "xmllint", "jq", "sqlite-memory")
WANTED = 0.9999
HOLES = {"holes-%s-%s" % (kind, name): (how, page) for kind, how in (("pie", ("-fPIE", "-pie")), ("fixed", ("-fno-pie", "-no-pie")))
         for name, page in (("64k", "65536"), ("2m", "0x200000"))}
FIELDS = ("allocations", "compared", "identical", "shortened", "walked", "verified", "frames", "shown")


class Native:
    machine, prefix = os.uname().machine, ()

    def compiler(self, language):
        return [{"c": "gcc", "c++": "g++"}[language]]

    def programs(self):
        return {name: workloads.ALL[name] for name in PROGRAMS}


class Aarch64:
    machine = "aarch64"

    def __init__(self, root):
        self.root = os.path.abspath(root)
        self.prefix = ("qemu-aarch64-static", "-L", self.root)

    def compiler(self, language):
        return ["aarch64-linux-gnu-" + {"c": "gcc", "c++": "g++"}[language], "--sysroot=" + self.root]

    def programs(self):
        tool = functools.partial(os.path.join, self.root, "usr", "bin")
        return {
            "python": lambda: workloads.Workload([tool("python3"), "-c", "import argparse, decimal, email, json\n"
                                                  "json.dumps([{'a': list(range(50))} for i in range(300)])"], {"PYTHONMALLOC": "malloc"}),
            "perl": lambda: workloads.Workload([tool("perl"), "-e", "@a = map { {x => $_, y => [1 .. 5]} } 1 .. 3000"]),
            "objdump": lambda: workloads.Workload([tool("objdump"), "-d", tool("dash")]),
            "bash": lambda: workloads.Workload([tool("bash"), "-c", "f() { local b=$1; a[$b]=${b/1/y}; }; for i in {1..300}; do f $i; done"]),
            "c++": self.compiles,
        }

    def compiles(self):
        source = os.path.join(FOLDER, "holes.ii")
        subprocess.run([*self.compiler("c++"), "-E", os.path.join(workloads.HERE, "holes.cpp"), "-o", source], check=True)
        compiler = glob.glob(os.path.join(self.root, "usr", "lib", "gcc", "*", "*", "cc1plus"))[0]
        return workloads.Workload([compiler, "-fpreprocessed", "-quiet", "-O1", source, "-o", os.path.join(FOLDER, "holes.s")])


def build(target):
    """The library to preload, from stackcheck.c and the unwinder's own sources."""
    library = os.path.join(FOLDER, "libstackcheck.so")
    own = [os.path.join(ROOT, "src", "record", name) for name in ("find_export.c", "libc.c", "loaded_file.c")]
    machine = os.path.join(ROOT, "src", "arch", target.machine)
    own += [os.path.join(machine, name) for name in ("go_stack.c", "signal_return.c")]
    sources = [os.path.join(workloads.HERE, "stackcheck.c"), *own] + sorted(glob.glob(os.path.join(ROOT, "src", "unwind", "*.c")))
    # As the recorder is built: frame pointers in the hooks, since that is how they find their caller.
    subprocess.run([*target.compiler("c"), "-std=gnu17", "-D_GNU_SOURCE", "-O2", "-g", "-Werror", "-fno-omit-frame-pointer", "-fPIC",
                    "-shared", "-I", os.path.join(ROOT, "src"), "-I", machine, *sources, "-o", library, "-ldl"], check=True)
    return library


def with_holes(name, target):
    """A program whose segments do not follow each other, as a workload."""
    how, page = HOLES[name]
    program = os.path.join(FOLDER, name + ".program")
    subprocess.run([*target.compiler("c++"), "-std=c++17", "-O2", *how, "-Wl,-z,max-page-size=" + page,
                    os.path.join(workloads.HERE, "holes.cpp"), "-o", program], check=True)
    return workloads.Workload([program, "20000"])


def run(workload, target, library, name, every):
    """Runs a program with the check preloaded; returns the counts."""
    counts = os.path.join(FOLDER, name)
    with open(counts, "wb") as out:
        out.write(bytes(8 * len(FIELDS)))
    if os.path.exists(counts + ".differences"):
        os.remove(counts + ".differences")
    watched = workloads.Workload([*target.prefix, *workload.argv],
                                 {**workload.env, "LD_PRELOAD": library, "STACKCHECK_FILE": counts, "STACKCHECK_EVERY": str(every)},
                                 workload.stdin, workload.fresh)
    measure.run(watched)
    with open(counts, "rb") as file:
        return dict(zip(FIELDS, struct.unpack("<%dQ" % len(FIELDS), file.read())))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", help="accepted for the Makefile's sake; the unwinder is compiled here")
    parser.add_argument("--only", metavar="NAME", action="append", help="only this program (repeatable)")
    parser.add_argument("--aarch64", metavar="ROOT", help="a folder of Debian's arm64 packages, whose programs are run by qemu-user")
    parser.add_argument("--samples", type=int, default=100000, help="stacks to compare in each program, at least")
    options = parser.parse_args()
    os.makedirs(FOLDER, exist_ok=True)
    os.makedirs(workloads.SCRATCH, exist_ok=True)

    target = Aarch64(options.aarch64) if options.aarch64 else Native()
    programs = target.programs() | {name: functools.partial(with_holes, name, target) for name in HOLES}
    unknown = [name for name in options.only or () if name not in programs]
    if unknown:
        sys.exit("check_stacks.py: no program '%s'; there are %s" % (unknown[0], ", ".join(programs)))
    library = build(target)
    failed = False
    print("%-14s %12s %10s %10s %10s %8s %8s %8s" % ("program", "allocations", "compared", "identical", "share %", "depth",
                                                       "walked", "verified"))
    for name in options.only or programs:
        workload = programs[name]()
        count = run(workload, target, library, name, 0)["allocations"]
        got = run(workload, target, library, name, max(1, int(count / (options.samples * 1.05))))
        share = got["identical"] / got["compared"] if got["compared"] else 0
        failed |= share < (1 if name in HOLES else WANTED)
        print("%-14s %12d %10d %10d %10.4f %8.3f %8.3f %8.3f" % (
            name, got["allocations"], got["compared"], got["identical"], 100 * share,
            got["frames"] / max(got["compared"], 1), got["walked"] / max(got["allocations"], 1),
            got["verified"] / max(got["allocations"], 1)), flush=True)
        if got["shown"]:
            print("  %d differ; the first are in %s.differences" % (got["shown"], os.path.join(FOLDER, name)))
    print("%s: at least %.2f %% identical in every program, all in those with holes" % ("FAILS" if failed else "holds", 100 * WANTED))
    return failed


if __name__ == "__main__":
    sys.exit(main())
