"""Python frames: stacks as the interpreter itself tells them, in order with the native ones, on every interpreter."""
import glob
import json
import os
import re

from harness import PROGRAMS, Skipped, cases

VERSIONS = ("3.8", "3.9", "3.10", "3.11", "3.12", "3.13", "system")
LOOP = "_PyEval_EvalFrameDefault"
SMALLEST = 1000000


def interpreter(version):
    if version == "system":
        found = ["/usr/bin/python3"]
    else:
        found = sorted(glob.glob(os.path.expanduser("~/.pyenv/versions/%s.*/bin/python3" % version)))
    if not found or not os.path.exists(found[-1]):
        raise Skipped("Python %s is not installed" % version)
    return found[-1]


def expected(path):
    with open(path) as lines:
        return [json.loads(line) for line in lines]


def python_frames(stack):
    return [[f["file"], f["line"], f["function"]] for f in stack if f["kind"] == "python"]


def by_stack(t, profile, pid, *arguments):
    """{Python stack: (bytes, [whole stack, ...])} of the blocks that the program tells of: all others are small."""
    found = {}
    for row in t.report(profile, "live", "--by", "stack", "--process", str(pid), *arguments)["rows"]:
        if row["bytes"] >= SMALLEST:
            size, stacks = found.setdefault(json.dumps(python_frames(row["stack"])), (0, []))
            found[json.dumps(python_frames(row["stack"]))] = size + row["bytes"], stacks + [row["stack"]]
    return {stack: found[stack] for stack in found if stack != "[]"}


def groups(stack):
    """Runs of Python frames, each with the native function that follows it outwards."""
    found, run = [], 0
    for frame in stack:
        if frame["kind"] == "python":
            run += 1
        elif run and frame["kind"] == "native":
            found.append((run, frame["function"]))
            run = 0
    return found + ([(run, None)] if run else [])


def check_native(t, stack, version, folded):
    if folded:
        left = [f["function"] for f in stack if re.match(r"(lib)?python3", f["module"] or "")]
        t.equal("C code of the interpreter in a folded stack", left, [])
        return
    for run, function in groups(stack):
        # Debian's is stripped: parts of the loop have no name there.
        t.true("run by the evaluation loop",
               function == LOOP or (version == "system" and function and "+0x" in function), (function, stack))
        t.true("one frame a loop", run == 1 or version not in ("3.8", "3.9", "3.10"), (run, stack))


def check_callbacks(t, stack):
    """Python calls qsort, which calls Python, which calls qsort, which calls Python."""
    order = [f["function"].split(".")[-1] for f in stack
             if f["kind"] == "python" or re.match("_*qsort(_r)?$", f["function"])]
    order = ["qsort" if "qsort" in f else f for f in order]
    order = [f for i, f in enumerate(order) if i == 0 or order[i - 1] != f]
    t.equal("order", order, ["probe", "by_probe", "qsort", "sort_with", "by_probe", "qsort", "sort_with", "callbacks",
                             "main", "<module>"])


@cases(version=VERSIONS)
def test_stacks_are_the_interpreters_own(t, version):
    python = interpreter(version)
    out = t.file("expected")
    profile = t.record(python, os.path.join(PROGRAMS, "python_stacks.py"), out)
    probes = expected(out)
    t.true("at least 25 cases", len({p["case"] for p in probes}) >= 25, len({p["case"] for p in probes}))
    t.equal("processes", len({p["pid"] for p in probes}), 2)
    nested = 0
    for pid in {p["pid"] for p in probes}:
        want, case = {}, {}
        for p in (p for p in probes if p["pid"] == pid):
            stack = json.dumps(p["stack"])
            want[stack] = want.get(stack, 0) + p["size"]
            case[stack] = p["case"]
        for view, arguments in (("as recorded", ["--no-fold"]), ("folded", [])):
            got = by_stack(t, profile, pid, *arguments)
            for stack in want:
                if stack not in got or got[stack][0] != want[stack]:
                    t.equal("%s (%s): bytes at %s" % (case[stack], view, stack), got.get(stack, (0,))[0], want[stack])
            t.equal("stacks that should not be there (%s)" % view, sorted(set(got) - set(want)), [])
            for stack in (s for python in got for s in got[python][1]):
                check_native(t, stack, version, view == "folded")
            for stack in (s for p in got for s in got[p][1] if case.get(p) == "callbacks" and p.count("sort_with") > 1):
                check_callbacks(t, stack)
                nested += 1
    t.true("callbacks within callbacks", nested)
    t.equal("stacks cut off or incomplete", t.report(profile)["totals"]["truncated_stacks"], 0)


