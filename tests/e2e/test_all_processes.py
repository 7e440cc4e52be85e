"""--process all of recordings with more than a heap: it is the sum of its processes in every metric."""

CHILDREN = 4


def names(report):
    return [str(process["pid"]) for process in report["processes"]]


def same_sums(t, profile, metrics):
    for metric in metrics:
        together = t.report(profile, metric, "--process", "all")
        each = [t.report(profile, metric, "--process", pid) for pid in names(together)]
        t.equal("processes", len(each), CHILDREN + 1)
        for key in "bytes", "count":
            t.equal("%s of %s" % (key, metric), together["sum"][key], sum(report["sum"][key] for report in each))
        for name in "grow", "burn", "doze":
            sums = [t.total(report, name) for report in each]
            t.equal("%s of %s" % (name, metric), t.total(together, name), tuple(map(sum, zip(*sums))))


def test_samples_of_all_processes(t):
    profile = t.record(t.build("family.c", "-O1"), str(CHILDREN), opts=("--cpu=wall", "--faults"))
    same_sums(t, profile, ("live", "total", "cpu", "waiting", "wall", "faults", "touched"))
    cpu = t.report(profile, "cpu", "--process", "all")
    t.true("it worked", t.total(cpu, "burn")[1] > 0)
    t.true("it waited", t.total(t.report(profile, "waiting", "--process", "all"), "doze")[1] > CHILDREN)
    lines = t.ask(profile, "annotate", "burn", "--metric", "cpu", "--process", "all")
    t.equal("by line", (lines["total_bytes"], lines["total_count"]), t.total(cpu, "burn"))


def test_nothing_preloaded(t):
    profile = t.record(t.build("family.c", "-O1"), str(CHILDREN), opts=("--only-cpu",))
    same_sums(t, profile, ("cpu",))


def test_chains_of_all_processes(t):
    """Each array grows seven times, from 16 KiB to 2 MiB, and realloc copies what it does not grow in place."""
    profile = t.record(t.build("family.c", "-O1"), str(CHILDREN))
    same_sums(t, profile, ("live", "total", "temporary"))
    chains = [f for f in t.ask(profile, "findings", "--process", "all")["findings"] if f["kind"] == "chain"]
    t.equal("chains", [(f["function"], f["count"]) for f in chains], [("grow", 7 * (CHILDREN + 1))])


def test_next_step_is_about_the_same_processes(t):
    profile = t.record(t.build("family.c", "-O1"), str(CHILDREN))
    child = names(t.report(profile))[1]
    for command in ("growth", "--process", child), ("findings", "--process", "all"), ("peaks", "--peak", "1K", "--process", "all"), \
            ("diff", profile, "--process", "all"), ("leaks", "--process", "all"), ("report", "--process", child):
        last = t.run(command[0], profile, *command[1:])[0].splitlines()[-1]
        t.true("next after " + command[0], last.startswith("next: ") and " --process %s" % command[-1] in last, last)


def test_a_metric_that_one_recording_lacks(t):
    """What was not measured is not nothing."""
    program = t.build("family.c", "-O1")
    a, b = t.record(program, "0", opts=("--cpu=wall",)), t.record(program, "0")
    t.run("diff", a, b, "--metric", "waiting")
    t.true("refused, with what to do", t.status == 1 and b in t.stderr and "--cpu=wall" in t.stderr, t.stderr)


def test_peaks_of_all_processes(t):
    """Three processes, one after the other, leave 4 MB each: no more than one of them holds memory at a time."""
    profile = t.record("/bin/sh", "-c", " && ".join([t.build("left_blocks.c", "-O1") + " keep 4000 1000"] * 3))
    report = t.report(profile, "peak", "--process", "all")
    peak = report["totals"]["peak_bytes"]
    t.true("the peak is one process's", 4000000 <= peak < 5000000, peak)
    t.true("all that is left is counted", report["totals"] and t.report(profile, "live", "--process", "all")["totals"]["live_bytes"] >= 12000000)
    peaks = t.ask(profile, "peaks", "--process", "all")["peaks"]
    whole = [p for p in peaks if p["thread"] is None]
    t.equal("the highest", max(p["bytes"] for p in whole), peak)
    t.true("each rises", all(p["since_ns"] < p["time_ns"] for p in whole), whole)
    t.true("stacks have no more", all(p["listed_bytes"] <= p["bytes"] for p in whole), whole)
    t.true("few", len(whole) <= 3, len(whole))
    t.true("the peak is explained", "ms, of processes that ran at the same time\n" in t.run("report", profile, "--process", "all")[0], t.stdout)


def test_notes_of_all_processes(t):
    """A note about one process is not told of all of them."""
    profile = t.record("/bin/sh", "-c", "%s keep 3 1000 && %s" % ((t.build("left_blocks.c", "-O1"),) * 2))
    pid = t.report(profile)["processes"][-1]["pid"]
    t.equal("of the one", t.ask(profile, "report", "--process", str(pid))["notes"][:1], ["it made no allocations"])
    t.equal("of all", t.ask(profile, "report", "--process", "all")["notes"], [])


def test_leaks_when_all_began_to_end(t):
    """A process that called _exit never began to end: what it held last counts, as in report."""
    profile = t.record("/bin/sh", "-c", "%s keep 3 1000; %s _exit; true" % (t.build("left_blocks.c", "-O1"), t.build("ends.c", "-O1")))
    for moment in ("exit", "end"):
        live = t.report(profile, "live", "--process", "all", "--at", moment)["totals"]
        leaks = t.ask(profile, "leaks", "--process", "all", "--no-presets", "--at", moment)["totals"]
        t.equal("at " + moment, (leaks["bytes"], leaks["blocks"]), (live["live_bytes"], live["live_blocks"]))
        t.true("both are there", leaks["bytes"] >= 3000 + 64000, leaks)
