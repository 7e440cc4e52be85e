"""Six programs in Python whose answer is known: it is in what `run` prints, or one command later, by default options.

docs/python.md has the commands, with memray's beside.
"""
import os

from harness import PROGRAMS, Skipped, cases

PYTHON = "/usr/bin/python3"
PROGRAM = os.path.join(PROGRAMS, "python_scenarios.py")
NAME = os.path.basename(PROGRAM)


def blamed(how):
    with open(PROGRAM) as lines:
        return next(n for n, line in enumerate(lines, 1) if line.rstrip().endswith("# blame " + how))


def record(t, how, *arguments):
    profile = t.file(how + ".tide")
    t.run("run", "-o", profile, "--", PYTHON, PROGRAM, how, *arguments)
    t.equal("exit status", t.status, 0)
    return profile, int(t.stdout.split()[-1]), t.stderr


def near(t, what, got, want):
    """An arena is charged to one line: those that numbers of a loop begin are the line's above."""
    t.true("%s: %d, about %d" % (what, got, want), 0.6 * want <= got <= 1.25 * want)


def at_the_peak(t, profile, how, *arguments):
    """The line with the most, and its bytes."""
    report = t.report(profile, "peak", "--by", "line", *arguments)
    most = max(report["rows"], key=lambda r: r["self_bytes"])
    t.equal("the line", (os.path.basename(most["file"] or ""), most["line"]), (NAME, blamed(how)))
    return most["self_bytes"]


@cases(how=("cache", "lru", "asyncio"))
def test_what_grows(t, how):
    profile, held, _ = record(t, how)
    near(t, "at the peak", at_the_peak(t, profile, how), held)
    text, _, _ = t.run("report", profile, "--metric", "peak")
    rows = text[text.index(" function "):].splitlines()[1:]
    t.true("the first row", "%s:%d" % (NAME, blamed(how)) in rows[0], rows[:3])


def test_a_pipeline(t):
    """The function beneath, numpy's, is a detail: --native-only shows it."""
    if t.plain(PYTHON, "-c", "import numpy")[2]:
        raise Skipped("numpy is not installed for " + PYTHON)
    profile, held, _ = record(t, "pipeline")
    report = t.report(profile, "peak", "--by", "line", "--top", "0", "--min", "0")
    lines = {r["line"]: r["self_bytes"] for r in report["rows"] if os.path.basename(r["file"] or "") == NAME}
    own = [r for r in report["rows"] if r["total_bytes"] >= held and os.path.basename(r["file"] or "") == NAME
           and r["line"] == blamed("pipeline")]
    t.true("the user's line has it, in all", len(own) == 1, lines)
    native = t.report(profile, "peak", "--native-only")
    most = max(native["rows"], key=lambda r: r["self_bytes"])
    t.true("the C function", "multiarray" in (most["module"] or "") or most["kind"] == "native", most)


def test_a_leak_of_an_extension(t):
    profile, lost, told = record(t, "extension", t.build("python_convert.c", shared=True))
    t.true("the summary names the line", "%s:%d" % (NAME, blamed("extension")) in told, told)
    leak = t.ask(profile, "leaks")["leaks"][0]
    # Of some a pointer is left in memory that nobody uses any more.
    t.true("lost", leak["kind"] == "lost" and 0.9 * lost <= leak["bytes"] <= lost, leak)
    places = [(f["function"], os.path.basename(f["file"] or ""), f["line"]) for f in leak["stack"]]
    t.equal("the C function", places[0][0], "convert")
    t.true("called by", ("extension", NAME, blamed("extension")) in places, places)


def test_workers(t):
    profile, held, _ = record(t, "workers")
    processes = t.report(profile)["processes"]
    t.equal("processes", len(processes), 5)
    near(t, "the one with the highest peak", at_the_peak(t, profile, "workers"), held)
    for process in processes[1:]:
        near(t, "worker", at_the_peak(t, profile, "workers", "--process", str(process["pid"])), held)
    near(t, "all", at_the_peak(t, profile, "workers", "--process", "all"), 4 * held)
