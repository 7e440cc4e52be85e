"""Programs whose clock or pids are not the collector's: what is said of them is the same."""
import json
import os

from harness import ROOT, cases

INCLUDE = ("-I", os.path.join(ROOT, "include"))


def recorded(t, *before, opts=()):
    """The reports of the program and of its child, with the profile."""
    profile = t.record(*before, t.build("elsewhere.c", "-O1", "-pthread", *INCLUDE), opts=opts, status=5)
    processes = t.report(profile)["processes"]
    program, child = [p["pid"] for p in processes if p["command"] and p["command"][-1].endswith("elsewhere")][-2:]
    return profile, t.report(profile, "live", "--process", str(program)), t.report(profile, "live", "--process", str(child))


CLOCKS = {"ahead": ("unshare", "-T", "--monotonic", "1000000"), "behind": ("unshare", "-T", "--monotonic", "-1"), "own": ()}


@cases(how=tuple(CLOCKS))
def test_another_clock(t, how):
    """In a time namespace, or with a library that has its own clock, as faketime: times are those of the collector."""
    if how != "own" and os.geteuid() != 0:
        return
    before = CLOCKS[how] or ("env", "LD_PRELOAD=" + t.build("frozen_clock.c", "-O1", shared=True))
    profile, program, _ = recorded(t, *before)
    times = [mark["time_ns"] for mark in t.ask(profile, "marks", "--process", str(program["pid"]))["marks"]]
    t.equal("marks", len(times), 2)
    t.true("times of marks", 0 < times[0] <= times[1] - 20000000 < times[1] < program["duration_ns"],
           (times, program["duration_ns"]))
    for thread in t.ask(profile, "threads", "--process", str(program["pid"]))["threads"]:
        t.true("a thread's begin", 0 <= thread["start_ns"] < program["duration_ns"], thread)


def facts(t, profile, program, child):
    """All that does not change from run to run."""
    threads = t.ask(profile, "threads", "--process", str(program["pid"]))["threads"]
    return {"before": t.total(program, "before"), "in_thread": t.total(program, "in_thread"), "in_child": t.total(child, "in_child"),
            "threads": sorted(thread["name"] for thread in threads),
            "inherited": dict(child.get("inherited", {}), **{"from": child.get("inherited", {}).get("from") == program["pid"]}),
            "unknown frees": child["totals"]["unknown_frees"],
            "codes": (program["exit_code"], child["exit_code"]),
            "parent": [p["ppid"] for p in child["processes"] if p["pid"] == child["pid"]] == [program["pid"]]}


@cases(opts=((), ("--cpu",)))
def test_other_pids(t, opts):
    """In a pid namespace, the program knows itself, its threads and its parent by other numbers."""
    if os.geteuid() != 0:
        return
    want = facts(t, *recorded(t, opts=opts))
    t.equal("inherited blocks that were freed", want["inherited"].get("freed_blocks"), 10)
    t.equal("in a pid namespace", facts(t, *recorded(t, "unshare", "-pf", "--mount-proc", opts=opts)), want)


@cases(before=((), ("unshare", "-pf", "--mount-proc")))
def test_ctl_from_within(t, before):
    """It names a process by the number that this has there."""
    if before and os.geteuid() != 0:
        return
    profile = t.record(*before, "/bin/sh", "-c", "%s ctl $$ mark here; exit 3" % t.tidemark, status=3)
    marked = []
    for process in t.report(profile)["processes"]:
        _, _, status = t.run("marks", profile, "--json", "--process", str(process["pid"]))
        labels = [m["label"] for m in json.loads(t.stdout)["marks"]] if status == 0 else []
        marked += [os.path.basename(process["command"][0])] * labels.count("here")
    t.equal("processes that are marked", marked, ["sh"])
