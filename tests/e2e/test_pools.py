"""Blocks of a program's own allocators (tide_alloc, tide_free): counted apart from the heap, exactly."""
import os
import subprocess

from harness import ROOT, Failed, cases
from test_api import INCLUDE, PYTHON, PYTHON_PATH, example, fortran

LARGE = 5000000000


def pools(report):
    return {pool["name"]: (pool["bytes"], pool["count"]) for pool in report.get("pools", [])}


def total(report, name):
    return sum(r["self_bytes"] for r in report["rows"] if r["name"] == name), \
        sum(r["self_count"] for r in report["rows"] if r["name"] == name)


@cases(opt=("-O0", "-O2"), cc=("gcc", "clang"))
def test_blocks_at_moments(t, opt, cc):
    program = t.build("pools.c", opt, *INCLUDE, cc=cc)
    t.equal("without the recorder", t.plain(program, "plain")[2], 4)
    profile = t.record(program, "plain")
    for number in (1, 50, 100):
        t.equal("at small#%d" % number, pools(t.report(profile, "pool", "--at", "small#%d" % number)),
                {"a": (number, number), "b of all": (0, 0)})
    both = {"a": (100, 100), "b of all": (3 * LARGE, 3)}
    half = {"a": (50, 50), "b of all": (2 * LARGE, 2)}
    t.equal("at all", pools(t.report(profile, "pool", "--at", "all")), both)
    t.equal("at half", pools(t.report(profile, "pool", "--at", "half")), half)
    t.equal("from all to half", pools(t.report(profile, "live", "--since", "all", "--at", "half")),
            {"a": (-50, -50), "b of all": (-LARGE, -1)})
    end = t.report(profile, "pool")
    t.equal("at the end", pools(end), {"a": (49 - 1 + 11, 49), "b of all": (2 * LARGE, 2)})
    t.equal("the largest first", [pool["name"] for pool in end["pools"]], ["b of all", "a"])
    t.equal("sum", (end["sum"]["bytes"], end["sum"]["count"]), (2 * LARGE + 59, 51))
    t.equal("by function", [total(end, name) for name in ("[pool a]", "[pool b of all]")], [(59, 49), (2 * LARGE, 2)])
    t.equal("through functions", [t.total(end, name) for name in ("small", "large")], [(48, 48), (2 * LARGE, 2)])
    stacks = t.stacks(profile, "[pool a]", "pool")
    t.equal("stacks", sorted(stack[:3] for _, _, stack in stacks if "main" in stack),
            [["[pool a]", "plain", "main"], ["[pool a]", "small", "plain"]])
    within = t.report(profile, "pool", "--within", "pool a")
    t.equal("within", (within["sum"]["bytes"], within["outside"]["bytes"]), (59, 2 * LARGE))
    callers = t.report(profile, "pool", "--callers", "[pool a]")
    t.equal("callers", sorted(r["name"] for r in callers["rows"]), ["plain", "small"])
    notes = " ".join(end["notes"])
    t.true("unknown frees are counted", "2 calls of tide_free were for blocks that are in no pool" in notes, notes)
    t.true("replaced blocks are counted", "1 call of tide_alloc was for blocks" in notes, notes)


def test_the_heap_is_not_changed(t):
    profile = t.record(t.build("pools.c", "-O1", *INCLUDE), "plain")
    report = t.report(profile)
    totals = report["totals"]
    t.equal("heap", (totals["allocations"], totals["live_bytes"], totals["peak_bytes"], totals["unknown_frees"]),
            (1, 10000000, 10000000, 0))
    t.equal("rows of the heap", [r["name"] for r in report["rows"] if r["self_bytes"]], ["main"])
    t.equal("nothing mapped", t.report(profile, "mapped")["sum"]["bytes"], 0)
    text = t.run("report", profile)[0]
    line = [line for line in text.split("\n") if line.startswith("pools")]
    t.equal("one line in the summary", line,
            ["pools      9.3 GiB in 51 blocks, not added to live: b of all 9.3 GiB in 2, a 59 B in 49"])
    plain = t.record(t.build("marks.c", "-O1", *INCLUDE), "5")
    t.true("none where there are none", "\npools" not in t.run("report", plain)[0] and "pools" not in t.report(plain))
    wrong = t.run("report", profile, "--metric", "pool", "--size", "usable")
    t.equal("no other sizes", wrong[2], 2)


def test_a_million_pairs(t):
    profile = t.record(t.build("pools.c", "-O2", *INCLUDE), "pairs", "1000000")
    report = t.report(profile, "pool")
    t.equal("none left", pools(report), {"pairs": (0, 0)})
    t.equal("nothing lost or odd", (report["totals"]["lost_events"], report["notes"]), (0, []))
    t.equal("heap", report["totals"]["allocations"], 1)


@cases(opt=("-O0", "-O2"))
def test_threads_free_each_other_s(t, opt):
    profile = t.record(t.build("pools.c", opt, *INCLUDE), "threads", "2000")
    report = t.report(profile, "pool")
    t.equal("pools", pools(report), {"shared": (0, 0), "left": (8 * 2000 * 7, 8 * 2000)})
    t.equal("notes", report["notes"], [])
    threads = t.report(profile, "pool", "--by", "thread")
    t.equal("by thread", [(r["self_bytes"], r["self_count"], r["threads"]) for r in threads["rows"]],
            [(8 * 14000, 8 * 2000, 8)])


def test_more_names_than_numbers(t):
    """4,093 pools have names; what comes after is one."""
    profile = t.record(t.build("pools.c", "-O2", *INCLUDE), "names", "5000")
    found = pools(t.report(profile, "pool"))
    t.equal("pools", len(found), 4091)
    t.equal("the last with a name", found.get("pool number 4089"), (10, 1))
    t.equal("the others", found.get("(others)"), (9100, 910))


def test_forked(t):
    profile = t.record(t.build("pools.c", "-O2", *INCLUDE), "forks")
    pids = [p["pid"] for p in t.report(profile)["processes"]]
    found = [t.report(profile, "pool", "--process", str(pid)) for pid in pids]
    t.equal("pools", [pools(r) for r in found],
            [{"before": (1, 1), "parent": (10, 1), "both": (100, 1)}, {"child": (10, 1), "both": (1000, 1)}])
    t.equal("notes", [len(r["notes"]) for r in found], [0, 2])


@cases(opt=("-O0", "-O2"))
def test_cpp(t, opt):
    profile = t.record(t.build("pool_allocator.cpp", opt, *INCLUDE))
    full, drained = (t.report(profile, "pool", "--at", name) for name in ("full", "drained"))
    t.equal("full and drained", [pools(r) for r in (full, drained)], [{"nodes": (24000, 1000)}, {"nodes": (240, 10)}])
    t.equal("by whom", t.total(full, "fill"), (24000, 1000))
    t.equal("at the end", pools(t.report(profile)), {"nodes": (0, 0)})


@cases(opt=("-O0", "-O2"))
def test_example(t, opt):
    program = t.build(example("pools.c"), opt, *INCLUDE)
    t.equal("without the recorder", t.plain(program)[2], 0)
    profile = t.record(program)
    t.equal("all", pools(t.report(profile, "pool", "--at", "all")), {"events": (3840, 30)})
    t.equal("at the end", pools(t.report(profile)), {"events": (1280, 10)})
    t.equal("heap", t.report(profile)["totals"]["live_bytes"], 12800)
    t.equal("whose", t.total(t.report(profile, "pool"), "event_new"), (1280, 10))


def test_python(t):
    program = t.file("pools.py")
    with open(program, "w") as text:
        text.write("""
import tidemark
for i in range(1000):
    tidemark.alloc("images \\u00e9", 0x7000000000 + 4096 * i, 4000)
tidemark.mark("all")
for i in range(990):
    tidemark.free("images \\u00e9", 0x7000000000 + 4096 * i)
""")
    t.equal("without the recorder", t.plain(PYTHON, program, env=PYTHON_PATH)[1:], ("", 0))
    profile = t.record(PYTHON, program, env=PYTHON_PATH)
    t.equal("all", pools(t.report(profile, "pool", "--at", "all")), {"images \u00e9": (4000000, 1000)})
    t.equal("left", pools(t.report(profile, "pool")), {"images \u00e9": (40000, 10)})


@cases(opt=("-O0", "-O2"))
def test_fortran(t, opt):
    program, source = t.file("pools"), t.file("pools.f90")
    with open(source, "w") as text:
        text.write("""
program pools
    use, intrinsic :: iso_c_binding
    use tidemark
    implicit none
    real(kind=8), target, save :: store(1000)
    integer :: i
    do i = 1, 1000
        call take(i)
    end do
    call tide_mark('all')
    do i = 1, 999
        call tide_free('cells', c_loc(store(i)))
    end do
    call tide_alloc('whole', c_loc(store), 8000_c_int64_t)
contains
    subroutine take(number)
        integer, intent(in) :: number
        call tide_alloc('cells', c_loc(store(number)), 8)
    end subroutine
end program
""")
    done = subprocess.run([fortran(), "-std=f2008", "-g", "-Wall", "-Wextra", "-Werror", "-fno-inline-functions-called-once",
                           "-J", t.dir, opt, os.path.join(ROOT, "bindings", "fortran", "tidemark.f90"), source, "-o", program],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        raise Failed("it does not compile:\n" + done.stdout)
    t.equal("without the recorder", t.plain(program)[2], 0)
    profile = t.record(program)
    t.equal("all", pools(t.report(profile, "pool", "--at", "all")), {"cells": (8000, 1000), "whole": (0, 0)})
    t.equal("left", pools(t.report(profile, "pool")), {"cells": (8, 1), "whole": (8000, 1)})
    stacks = t.stacks(profile, "[pool whole]", "pool")
    t.true("the wrapper is not listed", stacks and "alloc" not in stacks[0][2][1], stacks)
