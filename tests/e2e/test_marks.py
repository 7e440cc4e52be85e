"""Marks: moments that the program names itself, exact in every report."""
import os

from harness import ROOT, cases, slow

API = ("-I", os.path.join(ROOT, "include"))


def totals(t, profile, *moments):
    return t.report(profile, "total", *moments)["totals"]


@cases(opt=("-O0", "-O2"))
def test_moments_by_label(t, opt):
    profile = t.record(t.build("marks.c", opt, *API), "100")
    for number in (1, 2, 50, 99, 100):
        at = totals(t, profile, "--at", "event#%d" % number)
        t.equal("allocations at event#%d" % number, at["allocations"], 11 * number)
        t.equal("live at event#%d" % number, (at["live_blocks"], at["live_bytes"]), (number, 100 * number))
    one = totals(t, profile, "--since", "event#50", "--at", "event#51")
    t.equal("one event", (one["allocations"], one["frees"], one["bytes_allocated"]), (11, 10, 600))
    t.equal("from the end", totals(t, profile, "--at", "event#-1")["live_bytes"], 10000)
    t.equal("the label alone is its first", totals(t, profile, "--at", "ten")["live_bytes"], 1000)
    t.equal("no difference", totals(t, profile, "--since", "event#50", "--at", "ten#5")["allocations"], 0)
    rest = t.report(profile, "total", "--since", "before second", "--at", "after second")
    t.equal("another thread's", [(r["name"], r["self_bytes"]) for r in rest["rows"] if r["self_bytes"]], [("beside", 7)])


def test_what_is_allocated_while_paused_is_not_recorded(t):
    profile = t.record(t.build("marks.c", "-O1", *API), "10")
    report = t.report(profile, "total")
    t.equal("kept", t.row(report, "kept")["self_count"], 10)
    t.equal("frees, none of them unknown", (report["totals"]["frees"], report["totals"]["unknown_frees"]), (100, 0))
    t.equal("a note says so", report["notes"], ["recording was paused for a while: allocations made then are not counted, nor is 1 free "
                                                "of such a block"])


def test_unknown_moments_are_refused_with_the_labels_there_are(t):
    profile = t.record(t.build("marks.c", "-O1", *API), "20")
    for word in ("event#21", "event#-21", "nothing"):
        _, stderr, status = t.run("report", profile, "--at", word)
        t.equal("exit status of " + word, status, 2)
        t.true("says what there is", "event#1 to #20" in stderr and "ten#1 to #2" in stderr, stderr)


def test_labels_that_are_cut(t):
    """63 bytes are kept, and no part of a character. The whole label still names the mark."""
    profile = t.record(t.build("long_labels.c", "-O1", *API))
    long, wide = "x" * 200, "\u00fc" * 100
    t.equal("names", [m["label"] for m in t.ask(profile, "marks")["marks"]], [long[:63], wide[:31], "two\nlines"])
    for number, label in enumerate((long, wide), 1):
        for word in (label, label + "#1", label + "#-1"):
            t.equal("blocks at %s" % word, totals(t, profile, "--at", word)["allocations"], number)
        t.equal("marks of it", len(t.ask(profile, "marks", "--label", label)["marks"]), 1)
        t.equal("growth of it", t.ask(profile, "growth", "--mark", label)["n"], 1)
    for word in (long + "#2", "x" * 62):
        _, stderr, status = t.run("report", profile, "--at", word)
        t.equal("%s: status, lines" % word, (status, len(stderr.splitlines())), (2, 1))


@slow
def test_many_marks(t):
    """100,000 marks: all there, the last as exact as the first."""
    profile = t.record(t.build("marks.c", "-O1", *API), "100000")
    for number in (1, 77777, 100000):
        t.equal("live at event#%d" % number, totals(t, profile, "--at", "event#%d" % number)["live_blocks"], number)


def test_the_program_without_the_recorder(t):
    for flags in ((), ("-static",), ("-no-pie",)):
        _, _, status = t.plain(t.build("marks.c", "-O1", *API, *flags), "5")
        t.equal("exit status: not active, and no crash %s" % (flags,), status, 4)
