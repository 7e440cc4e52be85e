"""--within-path: only stacks with a frame whose source file begins so, Python's and native ones, in every report."""
import os

from harness import NO_ARENAS, PROGRAMS

SCRIPT = """import sys
sys.path.insert(0, %r)
from ours.work import grow
from theirs.call import call
call(grow, 1000000)
import theirs.call
theirs.call.own(2000000)
import os
os._exit(0)
"""
OURS = "kept = []\ndef grow(size):\n    kept.append(bytearray(size - 1))\n"
THEIRS = "kept = []\ndef call(function, size):\n    function(size)\ndef own(size):\n    kept.append(bytearray(size - 1))\n"


def tree(t):
    """Packages ours and theirs: ours.grow is called by theirs.call."""
    for name, text in ("ours/work.py", OURS), ("theirs/call.py", THEIRS):
        os.makedirs(os.path.dirname(t.file(name)), exist_ok=True)
        with open(t.file(name), "w") as file:
            file.write(text)
    with open(t.file("main.py"), "w") as file:
        file.write(SCRIPT % t.dir)
    return t.record("/usr/bin/python3", t.file("main.py"))


def large(report):
    return sorted(row["bytes"] for row in report["rows"] if row["bytes"] >= 1000000)


def test_python(t):
    profile = tree(t)
    def sizes(*paths):
        return large(t.report(profile, "live", "--by", "stack", *NO_ARENAS, *(a for path in paths for a in ("--within-path", path))))
    t.equal("all", sizes(), [1000000, 2000000])
    t.equal("ours", sizes(t.file("ours")), [1000000])
    t.equal("theirs: it calls ours", sizes(t.file("theirs/")), [1000000, 2000000])
    t.equal("one file", sizes(t.file("ours/work.py")), [1000000])
    t.equal("either", sizes(t.file("ours"), t.file("nothing")), [1000000])
    t.equal("both --within and --within-path",
            large(t.report(profile, "live", "--by", "stack", "--within-path", t.file("theirs"), "--within", "^own$")), [2000000])
    whole = t.report(profile, "live")
    part = t.report(profile, "live", "--within-path", t.file("ours"))
    t.equal("what is left out is counted", [part["sum"][k] + part["outside"][k] for k in ("bytes", "count")],
            [whole["sum"][k] for k in ("bytes", "count")])


def test_relative_paths_are_of_this_folder(t):
    profile = tree(t)
    here = os.getcwd()
    os.chdir(t.dir)
    try:
        t.equal("ours", large(t.report(profile, "live", "--by", "stack", "--within-path", "ours")), [1000000])
    finally:
        os.chdir(here)


def test_every_command(t):
    profile, ours = tree(t), ("--within-path", t.file("ours"))
    t.equal("leaks", [leak["bytes"] for leak in t.ask(profile, "leaks", *ours)["leaks"] if leak["bytes"] >= 1000000], [1000000])
    folded = t.run("flame", profile, "--folded", *ours)[0]
    t.equal("flame", [line.rsplit(" ", 1)[1] for line in folded.splitlines() if len(line.rsplit(" ", 1)[1]) > 6], ["1000000"])
    main = [x for x in t.ask(profile, "threads", *ours)["threads"] if x["name"] == "main"][0]
    t.true("threads", 1000000 <= main["live_bytes"] < 1100000, main)
    calls = t.ask(profile, "tree", "--since", "start", *ours)["calls"]
    t.true("tree", any(c["function"] == "grow" for c in calls) and not any(c["function"] == "own" for c in calls), calls)
    stacks = [s["bytes"] for k in t.ask(profile, "peaks", *ours)["peaks"] for s in k["stacks"] if s["bytes"] >= 1000000]
    t.true("peaks", stacks and set(stacks) == {1000000}, stacks)
    for command in "findings", "growth":
        t.true(command, t.ask(profile, command, *ours) is not None)
    t.true("diff", t.ask(profile, "diff", profile, *ours)["same"])
    _, stderr, status = t.run("report", profile, "--within-path", "")
    t.true("an empty one", status == 2 and "--within-path" in stderr, (status, stderr))


def test_native(t):
    """In C the file is that of the function, inlined or not."""
    profile = t.record(t.build("lines.c", "-O1"))
    def count(path):
        return t.report(profile, "total", "--within-path", path)["sum"]["count"]
    t.equal("of the program", count(os.path.join(PROGRAMS, "lines.c")), 3)
    t.equal("of its folder", count(PROGRAMS), 3)


def test_filters_that_match_nothing(t):
    """One line that names the filter, and a status that scripts see; not a report of zeros."""
    profile = t.record(t.build("phases.c", "-O1"))
    for filters, word in ((("--within-path", "/nowhere/"), "--within-path '/nowhere/'"),
                          (("--within-path", "/nowhere/", "--within-path", "/none"), "nor with the others"),
                          (("--within", "no_such_function"), "--within 'no_such_function'"),
                          (("--thread", "nobody"), "'nobody'")):
        for command in (("report",), ("report", "--metric", "peak", "--json"), ("flame", "--folded"), ("peaks",), ("tree",),
                        ("threads",), ("leaks",), ("leaks", "--fail")):
            stdout, stderr, status = t.run(command[0], profile, *command[1:], *filters)
            if "--thread" in filters and "unknown option" in stderr:
                continue
            t.equal("%s %s: status, lines" % (" ".join(command), filters), (status, stderr.count("\n"), stdout), (1, 1, ""))
            t.true("%s %s names it" % (command[0], filters), word in stderr, stderr)
    report = t.report(profile, "live", "--within", "^spike$")
    t.equal("a function that has nothing now is no error", report["sum"]["bytes"], 0)
