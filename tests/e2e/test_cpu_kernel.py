"""CPU time in the kernel is charged to its caller: sampled for those who may, else estimated."""
import math
import os
import shutil

from harness import bare
from unprivileged import AS_NOBODY, give_to_nobody

ROUNDS = "12"
NAMES = ("initprm", "compute", "ask")


def recorded(t, opts, as_nobody):
    """The profile, and the CPU time of each function in ns, as the program itself has measured it."""
    if not as_nobody:
        profile = t.record(t.build("kernel_time.c", "-O2"), ROUNDS, opts=opts)
    else:
        tool, program = give_to_nobody(t), t.file("enters")
        shutil.copy(t.build("kernel_time.c", "-O2"), program)
        profile = os.path.join(os.path.dirname(tool), "x.tide")
        t.plain(*AS_NOBODY, tool, "run", "--quiet", *opts, "-o", profile, "--", program, ROUNDS)
        t.equal("status, stderr", (t.status, t.stderr), (0, ""))
    return profile, {line.split()[0]: int(line.split()[1]) * 1000 for line in t.stdout.splitlines()}


def close(t, what, got, want, samples, most=0.03):
    """Within 6.5 standard deviations of a sampled share (exceeded once in 100 million) and `most` of all samples. Times are
    compared in periods: where the host took the processor, a sample counts for more than one."""
    room = 6.5 * math.sqrt(max(want, 1)) + most * samples + 2
    t.true("%s: %d samples within %.0f of %.0f" % (what, got, room, want), abs(got - want) <= room)


def right_order(t, profile, own):
    """What a user of perf found: most time is that of the routine that clears tables, though it has the least in user
    mode. By self, the order of functions is that of their CPU time, the kernel's included."""
    t.true("faults take longer", own["initprm"] > 1.5 * own["compute"], own)
    rows = [bare(r["name"]) for r in t.report(profile, "cpu")["rows"]]
    t.equal("order", [n for n in rows if n in ("initprm", "compute")], ["initprm", "compute"])


def test_executing(t):
    """While the kernel executes a program, the registers are those of the program before, whose stack is gone: such time is
    the kernel's alone, and no stack that could not be followed."""
    if os.geteuid() != 0:
        return  # others do not see the kernel
    profile = t.record("/bin/sh", "-c", "i=0; while [ $i -lt 200 ]; do /bin/true; i=$((i+1)); done", opts=("--only-cpu=5000",))
    rows = t.report(profile, "cpu", "--by", "stack", "--process", "all")["rows"]
    stacks = [(row["count"], [f["function"] for f in row["stack"]]) for row in rows]
    t.true("time of the kernel alone", sum(count for count, names in stacks if names == ["[kernel]"]) > 0, stacks)
    t.equal("stacks from nowhere", [each for each in stacks if each[1][0] == "[kernel]" and each[1][1:2] and each[1][1].startswith("[unknown]")], [])


def test_sampled(t):
    """As perf does, for root: the kernel's time by who called it."""
    if os.geteuid() != 0:
        return  # the next test is for others
    profile, own = recorded(t, ("--only-cpu",), False)
    report = t.report(profile, "cpu")
    s = report["sampling"]
    t.equal("how, lost", (s["cpu_kernel"], s["lost_samples"]), ("sampled", 0))
    for name in NAMES:
        close(t, name, t.total(report, name)[0] / s["cpu_period_ns"], own[name] / s["cpu_period_ns"], s["cpu_samples"])
    t.true("the sum", abs(s["cpu_ns"] - sum(own.values())) < 0.1 * sum(own.values()) + 50e6, (s["cpu_ns"], own))
    right_order(t, profile, own)
    # In stacks and trees it is a frame of its own, which can be asked for and left out.
    stacks = [(r["count"], [bare(f["function"]) for f in r["stack"]]) for r in t.report(profile, "cpu", "--by", "stack")["rows"]]
    kernel = sum(n for n, names in stacks if names[0] == "[kernel]")
    t.equal("in the kernel", (kernel, sum(n for n, names in stacks if "[kernel]" in names[1:])), (s["cpu_kernel_samples"], 0))
    t.true("faults", sum(n for n, names in stacks if names[:2] == ["[kernel]", "initprm"]) > 0.3 * kernel, stacks[:5])
    t.equal("left out", t.report(profile, "cpu", "--ignore", r"^\[kernel\]$")["ignored"]["count"], kernel)
    callers = {bare(r["name"]): r["total_count"] for r in t.report(profile, "cpu", "--callers", "[kernel]", "--no-fold")["rows"]}
    t.true("who called it", callers.get("initprm", 0) > 0.3 * kernel, callers)
    lines = t.ask(profile, "annotate", "initprm", "--metric", "cpu")
    t.equal("by line", lines["self_count"], t.row(report, "initprm")["self_count"])
    text = t.run("report", profile)[0]
    t.true("words", " of it in the kernel, " in text and "charged to its caller" in " ".join(text.split()), text[:600])


def test_estimated(t):
    """For others, who see no samples of the kernel, and say so. Faults are seen, system calls are not: who made those
    is known as far as the stacks before and after have it in common."""
    if os.geteuid() != 0:
        return
    for opts in (("--only-cpu",), ("--cpu", "--faults")):
        profile, own = recorded(t, opts, True)
        report = t.report(profile, "cpu")
        s = report["sampling"]
        t.equal("how", s["cpu_kernel"], "estimated")
        if s["lost_samples"]:
            continue  # a busy machine and small rings: nothing can be said of the gaps
        samples, period = s["cpu_samples"], s["cpu_period_ns"]
        t.true("the sum", abs(s["cpu_ns"] - sum(own.values())) < 0.1 * sum(own.values()) + 50e6, (s["cpu_ns"], own))
        close(t, "compute", t.total(report, "compute")[0] / period, own["compute"] / period, samples, 0.1)
        got = t.total(report, "initprm")[0] / period
        t.true("initprm, with or without its munmap", 0.6 * own["initprm"] / period < got < 1.1 * own["initprm"] / period + 20,
               (got, own))
        right_order(t, profile, own)
        text = t.run("report", profile, "--metric", "cpu")[0]
        t.true("words", "charged by an estimate" in " ".join(text.split()), text[:600])
