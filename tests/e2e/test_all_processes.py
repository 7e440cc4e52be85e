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
