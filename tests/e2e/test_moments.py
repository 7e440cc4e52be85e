"""Peaks, each site's own peak, the largest block, and the state at a moment."""
import os

from harness import ROOT, cases
from test_attach import SUPPORTED, Attached, program, since

PEAK = 12345 + 20 * 500000


@cases(opt=("-O0", "-O2"))
def test_peak_of_one_thread_is_exact(t, opt):
    profile = t.record(t.build("phases.c", opt))
    totals = t.consistent(profile)
    t.equal("peak", totals["peak_bytes"], PEAK)
    peak = t.report(profile, "peak")
    for name, want in dict(base_load=(12345, 1), first_phase=(10_000_000, 20), spike=(0, 0), churn=(0, 0),
                           second_phase=(0, 0), main=(PEAK, 21)).items():
        t.equal(name + " at the peak", t.total(peak, name), want)
    at_peak = t.report(profile, "live", "--at", "peak")
    t.equal("live at the peak", t.total(at_peak, "first_phase"), (10_000_000, 20))


@cases(how=("return", "_exit", "kill"))
def test_peak_has_what_threads_have_not_reported_yet(t, how):
    """A thread reports what it added once that is some kilobytes. At the end all of it is known, and nothing was freed."""
    profile = t.record(t.build("waiting_threads.c", "-O1", "-pthread"), how, status=137 if how == "kill" else 0)
    report = t.report(profile, "peak")
    t.equal("kept, at the peak", t.total(report, "keep"), (9000, 90))
    t.equal("peak", report["totals"]["peak_bytes"], report["totals"]["live_bytes"])
    t.equal("sum", report["sum"]["bytes"], report["totals"]["peak_bytes"])


def test_peak_since_an_attach_is_exact(t):
    """The program has one thread. It allocates 30 small blocks and frees ten of them."""
    if not SUPPORTED:
        return
    with program(t) as p:
        attached = Attached(t, p.pid)
        before = p.tell("small 0")
        highest = since(before, p.tell("small 30"))[2]
        p.tell("drop 10")
        t.equal("peak", t.report(attached.detach())["totals"]["peak_bytes"], highest)


def test_a_window_with_the_peak_has_its_time(t):
    profile = t.record(t.build("early_peak.c", "-O1"), opts=("--interval", "10000", "--mark-on", "main"))
    whole = t.report(profile)["totals"]
    window = t.report(profile, "live", "--since", "main#1")
    t.true("a window", window["since_ns"] > 0, window["since_ns"])
    t.equal("peak", [window["totals"][k] for k in ("peak_bytes", "peak_time_ns")],
            [whole[k] for k in ("peak_bytes", "peak_time_ns")])


def test_since_the_peak(t):
    """All of it in one interval: what is live then and later is exact, and no count is below nothing."""
    profile = t.record(t.build("early_peak.c", "-O1"), opts=("--interval", "10000"))
    since = t.report(profile, "live", "--since", "peak")
    t.equal("early, late", (t.total(since, "early"), t.total(since, "late")), ((-1_000_000, -1), (900, 9)))
    totals = since["totals"]
    t.equal("live", (totals["live_blocks"], totals["live_bytes"]), (8, 900 - 1_000_000))
    t.true("allocations, frees", totals["allocations"] >= 8 and totals["frees"] >= 0, totals)
    t.equal("they go together", totals["allocations"] - totals["frees"], 8)
    stdout = t.run("report", profile, "--since", "peak")[0]
    t.true("what is known of them", "; live is exact, calls include the peak's whole interval\n" in stdout, stdout)


def test_sitepeak(t):
    profile = t.record(t.build("phases.c", "-O2"))
    own = t.report(profile, "sitepeak")
    # spike has three call stacks; of each, the most that was ever live in it.
    for name, want in dict(base_load=12345, first_phase=10_000_000, spike=4_500_000, churn=1000,
                           second_phase=8_000_000).items():
        t.equal(name, t.row(own, name)["self_bytes"], want)


def test_sitepeak_of_blocks_that_others_free(t):
    profile = t.record(t.build("handed_over.c", "-O0", "-pthread"))
    for metric in ("peak", "sitepeak"):
        row = t.row(t.report(profile, metric), "make_block")
        t.equal(metric, (row["self_bytes"], row["self_count"]), (100_000, 100))


def test_largest(t):
    profile = t.record(t.build("phases.c", "-O2"))
    largest = t.report(profile, "largest")
    for name, want in dict(base_load=12345, first_phase=500_000, spike=2_000_000, churn=1000,
                           second_phase=1_000_000, main=2_000_000).items():
        t.equal(name, t.row(largest, name)["total_bytes"], want)


def test_at_and_since(t):
    profile = t.record(t.build("two_steps.c", "-O1"))
    t.consistent(profile)
    duration_s = t.report(profile)["duration_ns"] / 1e9
    # late_step comes at least a second after the start and at least a second before the end.
    before, after = "%.3fs" % 0.5, "%.3fs" % (duration_s - 0.5)

    def late(*moments):
        return t.total(t.report(profile, "live", *moments), "late_step")

    def early(*moments):
        return t.total(t.report(profile, "live", *moments), "early_step")

    t.equal("late_step before", late("--at", before), (0, 0))
    t.equal("late_step after", late("--at", after), (150_000, 50))
    t.equal("early_step after", early("--at", after), (100_000, 100))
    t.equal("late_step between", late("--since", before, "--at", after), (150_000, 50))
    t.equal("late_step since", late("--since", before), (150_000, 50))
    t.equal("since after", late("--since", after), (0, 0))
    t.equal("at start", early("--at", "start"), (0, 0))
    t.equal("at 0%", early("--at", "0%"), (0, 0))
    t.equal("at 100%", early("--at", "100%"), (100_000, 100))
    t.equal("at end", early("--at", "end"), (100_000, 100))
    t.equal("from start to end", early("--since", "start", "--at", "end"), (100_000, 100))
    totals = t.report(profile, "live", "--since", before, "--at", after)["totals"]
    inside = t.report(profile, "live", "--at", after)["totals"]
    outside = t.report(profile, "live", "--at", before)["totals"]
    for name in ("allocations", "frees", "bytes_allocated", "live_bytes", "live_blocks"):
        t.equal(name + " of a difference", totals[name], inside[name] - outside[name])


def test_moments_never_go_back(t):
    profile = t.record(t.build("two_steps.c", "-O1"))
    seen = [t.report(profile, "live", "--at", "%d%%" % percent)["totals"]["live_bytes"] for percent in range(0, 101, 10)]
    t.equal("live bytes of a program that only allocates", seen, sorted(seen))
    t.equal("at the end", seen[-1], 250_000)


@cases(mode=("exit", "return", "quick_exit", "handler"), opts=((), ("--no-scan",)))
def test_when_it_begins_to_end(t, mode, opts):
    """--at exit: nothing that runs at exit has run. What it frees then, and allocates, is not there yet."""
    program = t.build("scanned.c", "-O1", "-I", os.path.join(ROOT, "include"))
    profile = t.record(program, mode, opts=opts)
    for moment, sizes in (("exit", [2010, 2020]), ("end", [2010, 2021])):
        rows = t.report(profile, "live", "--by", "stack", "--at", moment)["rows"]
        t.equal("at " + moment, sorted(row["bytes"] for row in rows), sizes)
    t.equal("since exit", sorted(row["bytes"] for row in t.report(profile, "total", "--by", "stack", "--since", "exit")["rows"]), [2021])
    t.equal("flame at exit", t.run("flame", profile, "--folded", "--at", "exit")[2], 0)


def test_a_process_that_did_not_say_that_it_ends(t):
    profile = t.record(t.build("scanned.c", "-O1", "-I", os.path.join(ROOT, "include")), "killed", status=137)
    _, stderr, status = t.run("report", profile, "--at", "exit")
    t.true("one line", status == 2 and stderr.count("\n") == 1 and "began to end is not known" in stderr, (status, stderr))
