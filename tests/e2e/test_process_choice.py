"""Reports open on the process that holds the memory, say which one that is, and findings are of all of them."""
import os
import re
import subprocess

from harness import ROOT, cases

API = ("-I", os.path.join(ROOT, "include"))
COMMANDS = ("report", "leaks", "marks", "threads", "peaks", "growth", "maps", "findings", "tree", "annotate")


def largest(report):
    return max(report["processes"], key=lambda p: p["peak_bytes"])


def ask(t, profile, command, *options):
    return t.ask(profile, command, *(("main",) if command == "annotate" else ()), *options)


@cases(how=("between", "exec"))
def test_largest_process(t, how):
    """A launcher that starts small and large programs; one that becomes the large one at its end."""
    program = t.build("holds.c", "-O1")
    script = {"between": "%s 1000; %s 3000000; %s 2000; true", "exec": "%s 1000; %s 2000; exec %s 3000000"}[how]
    profile = t.record("sh", "-c", script % ((program,) * 3))
    report = t.report(profile)
    t.equal("its command", report["command"], [program, "3000000"])
    t.equal("live", t.total(report, "hold"), (3000000, 1))
    t.equal("the highest peak", report["pid"], largest(report)["pid"])
    pids = {command: ask(t, profile, command)["pid"] for command in COMMANDS}
    t.equal("all commands open on it", set(pids.values()), {report["pid"]})
    programs, processes = len(report["processes"]), len({p["pid"] for p in report["processes"]})
    t.equal("a process that executes a program is one", programs - processes, int(how == "exec"))
    counted = "%d, which ran %d programs" % (processes, programs) if how == "exec" else str(processes)
    for command in COMMANDS:
        text = t.run(command, profile, *(("main",) if command == "annotate" else ()))[0]
        said = re.findall(r"^processes +(\d.*?); this is about %d, holds, which has the highest peak; --process PID picks another$"
                          % report["pid"], text.replace("\n           ", " "), re.MULTILINE)
        t.equal("%s says which, once" % command, said, [] if command == "findings" else [counted])
    small = [p for p in report["processes"] if p["command"] == [program, "1000"]][0]
    t.equal("another", t.total(t.report(profile, "live", "--process", str(small["pid"])), "hold"), (1000, 1))


def test_process_that_maps_its_memory(t):
    """A compiler maps what others allocate. What is only reserved is not held, nor what a child shares with its parent."""
    heap, maps = t.build("holds.c", "-O1"), t.build("holds_mapped.c", "-O1")
    profile = t.record("sh", "-c", "%s 3000000; %s 40000000 40000000; true" % (heap, maps))
    report = t.report(profile)
    t.equal("mapped and touched", report["command"], [maps, "40000000", "40000000"])
    held = {p["command"][0]: p["memory_peak_bytes"] for p in report["processes"]}
    t.true("what it held", 40000000 <= held[maps] < 42000000, held)
    t.equal("the heap is as it is", held[heap], largest(report)["peak_bytes"])
    for command in ("report", "leaks", "threads", "maps", "tree"):
        text = t.run(command, profile)[0]
        t.true("%s says why" % command, "holds_mapped, which held the most memory, including mappings;" in text, text)
    profile = t.record("sh", "-c", "%s 3000000; %s 40000000 100000; true" % (heap, maps))
    t.equal("mapped and hardly touched", t.report(profile)["command"], [heap, "3000000"])
    profile = t.record(maps, "40000000", "40000000", "5000000")
    report = t.report(profile)
    t.equal("the parent, not the child", report["pid"], report["processes"][0]["pid"])
    held = [p["memory_peak_bytes"] for p in report["processes"]]
    t.true("the child's own", 5000000 <= held[1] < 7000000, held)


def peak_kib(*command):
    """Resident memory of one command, at most."""
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    return os.wait4(child.pid, 0)[2].ru_maxrss


def test_report_of_one_of_many_takes_the_memory_of_one(t):
    """A build has hundreds of processes: a report on one does not read the others."""
    program = t.build(os.path.join(ROOT, "tests", "large", "programs", "distinct_stacks.c"), "-O1")
    one = t.record("sh", "-c", "%s 100000; true" % program)
    many = t.record("sh", "-c", "for i in 1 2 3 4 5 6; do %s 100000; done" % program)
    few, more = (peak_kib(t.tidemark, "report", profile) for profile in (one, many))
    t.true("KiB", more < 1.5 * few, (few, more))
    pid = t.report(many)["pid"]
    t.equal("the same as with all of them", t.ask(many, "report", "--metric", "total")["totals"],
            t.ask(many, "report", "--metric", "total", "--process", str(pid))["totals"])


def test_closing_lines(t):
    """They are of the same process, and say so."""
    program = t.build("holds.c", "-O1")
    said = t.run("run", "-o", "x.tide", "--", "sh", "-c", "%s 3000000; true" % program)[1]
    report = t.report(t.file("x.tide"))
    first = re.search(r"^tidemark: ([\d,]+) allocations? in ", said, re.MULTILINE)
    t.equal("allocations", first and int(first.group(1).replace(",", "")), report["totals"]["allocations"])
    t.true("which", "these figures are of process %d (holds 3000000)" % report["pid"] in said, said)
    t.true("its figures", "peak 2.9 MiB" in said and "never freed 2.9 MiB in 1 block" in said, said)


def test_whose_end_the_closing_lines_tell(t):
    """That of the program that was started, and that of the process they are about."""
    program = t.build("holds.c", "-O1")
    said = t.run("run", "-o", "x.tide", "--", "sh", "-c", "%s 3000000; kill -9 $$" % program)[1].splitlines()
    t.true("the program", said[0].endswith("(and 1 more process), killed by SIGKILL (signal 9)"), said)
    t.true("the process", said[1].endswith("it has the highest peak"), said)
    said = t.run("run", "-o", "y.tide", "--", "sh", "-c", "/usr/bin/python3 -c 'import os; os.kill(os.getpid(), 9)'; true")[1]
    t.true("the program ended well", " process)\n" in said, said)
    t.true("the process did not", "it has the highest peak; killed by SIGKILL (signal 9) peak" in " ".join(said.split()), said)


def test_program_that_a_launcher_becomes(t):
    """A launcher that is a little larger is not what anybody asks for; one that is much larger is."""
    program = t.build("holds.c", "-O1")
    profile = t.record("/bin/sh", "-c", "exec %s 10" % program)
    t.equal("small", t.report(profile)["command"], [program, "10"])
    profile = t.record("/usr/bin/python3", "-c", "import os; x = bytearray(30000000); os.execv('%s', ['holds', '10'])" % program)
    t.equal("large", t.report(profile)["command"][0], "/usr/bin/python3")


def test_process_of_the_marks(t):
    """The marks are in one process, the highest peak in another."""
    program = t.build("loses_in_family.c", "-O1", *API)
    profile = t.record("sh", "-c", "%s 2 500000; %s 9000000; true" % (program, t.build("holds.c", "-O1")))
    report = t.report(profile)
    t.equal("the largest has none", report["command"][1:], ["9000000"])
    marked = t.report(profile, "live", "--at", "event#2")
    t.equal("a moment", (marked["command"], marked["totals"]["live_bytes"]), ([program, "2", "500000"], 500000))
    for options in ((), ("--label", "event")):
        t.equal("marks %s" % (options,), [m["label"] for m in t.ask(profile, "marks", *options)["marks"]], ["event"] * 3)
    t.equal("growth", (t.ask(profile, "growth")["pid"], t.ask(profile, "growth")["mark"]), (marked["pid"], "event"))
    t.equal("but what is asked for is told", t.ask(profile, "marks", "--process", str(report["pid"]))["marks"], [])


def test_findings_of_all_processes(t):
    """The same finding of three children is one, with the sum; what they inherit is not theirs."""
    profile = t.record(t.build("loses_in_family.c", "-O1", *API), "3")
    report = t.report(profile)
    parent = report["processes"][0]["pid"]
    children = sorted(p["pid"] for p in report["processes"][1:])
    found = t.ask(profile, "findings")
    t.equal("findings", [(f["kind"], f["stack"][1]["function"], f["bytes"], f["count"]) for f in found["findings"]],
            [("leak", "child_loses", 300000, 150), ("leak", "parent_loses", 100000, 100)])
    child, own = found["findings"]
    t.equal("whose", (sorted(child["pids"]), child["of_processes"], own["pids"], own["pid"]), (children, 4, [parent], parent))
    t.true("a child's", child["pid"] in children, child)
    t.true("in words", child["title"].endswith("loses 293.0 KiB in 150 blocks, in 3 of 3 workers of loses_in_family"), child)
    alone = t.ask(profile, "findings", "--process", str(children[0]))["findings"]
    t.equal("of one", [(f["bytes"], f["count"], f["pid"]) for f in alone], [(100000, 50, children[0])])
    leaks = t.ask(profile, "leaks", "--process", str(parent))
    t.equal("leaks of the parent", (leaks["totals"]["lost_bytes"], leaks["others"]["processes"]), (100000, 0))
    leaks = t.ask(profile, "leaks")
    t.equal("and what others lost", (leaks["totals"]["lost_bytes"], leaks["others"]),
            (100000, {"processes": 3, "lost_bytes": 300000, "lost_blocks": 150}))
    first = re.escape("390.6 KiB in 250 blocks were lost, 293.0 KiB of it by lose loses_in_family.c:15, in 3 of 4 processes.")
    t.true("in words", re.match(first, " ".join(t.run("leaks", profile)[0].split())), t.stdout)


def test_function_that_only_children_call(t):
    """What is not in the process that has most is in others: that is no mistake in --within."""
    profile = t.record(t.build("loses_in_family.c", "-O1", *API), "2")
    t.equal("--fail", t.run("leaks", profile, "--within", "^child_loses$", "--fail")[2], 3)
    t.equal("of a function that nobody has", t.run("leaks", profile, "--within", "^child_keeps$", "--fail")[2], 0)
    found = t.ask(profile, "findings", "--within", "^child_loses$")["findings"]
    t.equal("findings", [(f["kind"], f["bytes"]) for f in found], [("leak", 200000)])


def test_many_processes_are_few_lines(t):
    program = t.build("holds.c", "-O1")
    script = "for i in 1 2 3 4 5 6 7 8 9 10; do %s 5000; done; for i in 1 2 3 4 5 6 7 8; do %s ${i}00; done; %s 70000; true"
    profile = t.record("sh", "-c", script % ((program,) * 3))
    t.equal("JSON has all", len(t.report(profile)["processes"]), 20)
    head = t.run("report", profile)[0].split("\n\n")[0].splitlines()
    t.true("lines", len(head) <= 8, head)
    t.true("alike", any(" 5000  peak" in line and line.endswith("; and 9 more like it") for line in head), head)
    t.true("this one", any(" 70000  peak" in line and line.endswith("<- this report") for line in head), head)
    t.true("the rest", re.search(r"and \d more, peak at most \d+ B; --json lists all$", head[-1]), head)
    shown = sum(1 + int((re.search(r"and (\d+) more like it", line) or [0, 0])[1]) for line in head[1:-1])
    t.equal("all are counted", shown + int(re.search(r"and (\d+) more", head[-1]).group(1)), 20)
