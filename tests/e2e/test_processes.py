"""Children, other programs, and what happens when the collector is slow or dies."""
import json
import os
import re
import signal
import subprocess
import time

from harness import ROOT, cases, eventually, line_of


def by_pid(t, profile, pid, name):
    row = {"total_bytes": 0, "total_count": 0}
    for r in t.report(profile, "total", "--process", str(pid))["rows"]:
        if r["name"] == name:
            row = r
    return row["total_bytes"], row["total_count"]


@cases(how=("fork", "_Fork"))
def test_what_was_live_at_the_fork_is_inherited(t, how):
    profile = t.record(t.build("inherits.c", "-O1"), how)
    first = t.report(profile)
    reports = [t.report(profile, "total", "--process", str(p["pid"])) for p in first["processes"]]
    t.equal("processes", len(reports), 3)
    parent, child, grandchild = reports
    t.true("the parent inherited nothing", "inherited" not in parent, parent.get("inherited"))
    base = child["inherited"]["blocks"] - 100, child["inherited"]["bytes"] - 10000
    t.true("blocks of the C library's start are few", 0 <= base[0] < 20, base)
    t.equal("child's", child["inherited"],
            {"from": parent["pid"], "blocks": base[0] + 100, "bytes": base[1] + 10000, "freed_blocks": 40, "freed_bytes": 4000})
    t.equal("child's own", [child["totals"][k] for k in ("allocations", "frees", "live_blocks", "live_bytes", "unknown_frees")],
            [15, 0, 15, 7000, 0])
    t.equal("grandchild's", grandchild["inherited"],
            {"from": child["pid"], "blocks": base[0] + 60 + 15, "bytes": base[1] + 6000 + 7000, "freed_blocks": 22, "freed_bytes": 4000})
    t.equal("grandchild's own", [grandchild["totals"][k] for k in ("allocations", "frees", "unknown_frees")], [1, 0, 0])
    t.equal("parent's unknown frees", parent["totals"]["unknown_frees"], 0)


@cases(how=("fork", "_Fork"))
def test_forked_child_has_its_own_profile(t, how):
    profile = t.record(t.build("families.c", "-O1"), how)
    report = t.report(profile)
    t.equal("processes", len(report["processes"]), 2)
    parent = report["processes"][0]["pid"]
    child = [p for p in report["processes"] if p["pid"] != parent][0]
    t.equal("the report is of the one with the highest peak", report["pid"], child["pid"])
    t.equal("its parent", child["ppid"], parent)
    t.equal("parent's", by_pid(t, profile, parent, "in_parent"), (2000, 20))
    t.equal("child's blocks in the parent", by_pid(t, profile, parent, "in_child"), (0, 0))
    t.equal("child's", by_pid(t, profile, child["pid"], "in_child"), (7000, 7))
    t.equal("parent's blocks in the child", by_pid(t, profile, child["pid"], "in_parent"), (0, 0))


def test_times_of_a_forked_child_count_from_its_fork(t):
    """Not from its first allocation: a worker may wait for work before that."""
    profile = t.record(t.build("forks_idle.c", "-I", os.path.join(ROOT, "include")))
    pid = [p["pid"] for p in t.report(profile)["processes"] if p["ppid"]][-1]
    words = ("--process", str(pid))
    report = t.ask(profile, "report", *words)
    t.true("ran at least 300 ms", report["duration_ns"] >= 290e6, report["duration_ns"])
    mark = t.ask(profile, "marks", *words)["marks"][0]
    t.true("its mark comes after at least 200 ms", mark["time_ns"] >= 190e6, mark)
    t.true("and within the run", mark["time_ns"] <= report["duration_ns"], mark)
    early = t.ask(profile, "report", *words, "--at", "100ms")["totals"]
    t.equal("nothing was allocated before", (early["allocations"], early["live_blocks"]), (0, 0))


def test_workers_are_named_by_the_titles_they_set(t):
    """Their arguments are their parent's until then; one that is killed has its title, too."""
    profile = t.record(t.build("titled_workers.c", "-O1"), "one", "two")
    commands = sorted(p["command"] for p in t.report(profile)["processes"])
    t.equal("titles", commands[1:], [["pool: worker %d" % i] for i in (1, 2, 3)])
    t.equal("their parent's arguments", commands[0][1:], ["one", "two"])
    text = t.run("report", profile)[0]
    t.true("in the tree", all("'pool: worker %d'" % i in text for i in (1, 2, 3)), text)
    t.true("the program's name", re.search(r"this is about \d+, titled_workers, which has the highest peak", text), text)


def test_exec_keeps_what_came_before(t):
    profile = t.record(t.build("families.c", "-O1"), "exec", status=5)
    report = t.report(profile)
    t.equal("profiles", len(report["processes"]), 2)
    pid = report["pid"]
    t.equal("one process", {p["pid"] for p in report["processes"]}, {pid})
    t.equal("before", by_pid(t, profile, "%d#1" % pid, "in_parent"), (1000, 10))
    t.equal("after", by_pid(t, profile, pid, "in_child"), (7000, 7))


def test_only_picks_programs_by_name(t):
    profile = t.record(t.build("families.c", "-O1"), "shell", opts=("--only", "famil"))
    names = [os.path.basename(p["command"][0]) for p in t.report(profile)["processes"]]
    t.equal("recorded", names, ["families", "families"])


def test_only_that_matches_nothing_says_so(t):
    profile = t.record(t.build("families.c", "-O1"), "fork", opts=("--only", "no-such-program"))
    report = t.report(profile)
    t.equal("allocations", report["totals"]["allocations"], 0)
    t.true("a note", any("--only" in note for note in report["notes"]), report["notes"])


def test_no_follow(t):
    profile = t.record(t.build("families.c", "-O1"), "fork", opts=("--no-follow",))
    report = t.report(profile)
    t.equal("processes", len(report["processes"]), 1)
    t.equal("its own", by_pid(t, profile, report["pid"], "in_parent"), (2000, 20))


def test_static_program_runs_and_the_report_says_why_it_is_empty(t):
    profile = t.record(t.build("families.c", "-O1", "-static"), "child", status=5)
    t.true("a note", any("static" in note for note in t.report(profile)["notes"]), t.report(profile)["notes"])


def test_handlers_that_interrupt_the_recorder(t):
    profile = t.record(t.build("interrupted.c", "-O1"))
    totals = t.report(profile)["totals"]
    t.equal("allocations", totals["allocations"], 1000000)
    t.equal("frees", totals["frees"], 1000000)
    t.equal("lost, unknown", (totals["lost_events"], totals["unknown_frees"]), (0, 0))


def start(t, *arguments):
    """tidemark in the background, once its program runs."""
    tool = subprocess.Popen([t.tidemark, "run", "--quiet", *arguments], cwd=t.dir)

    def runs():
        with open("/proc/%d/task/%d/children" % (tool.pid, tool.pid)) as children:
            pids = children.read().split()
        return pids and os.readlink("/proc/%s/exe" % pids[0]) != os.path.realpath(t.tidemark)

    eventually("the program runs", runs)
    return tool


@cases(mode=("wait", "drop"))
def test_collector_that_stands_still(t, mode):
    """Stopped for a while: with `wait` nothing is lost; with `drop` what is lost is counted."""
    profile = t.file("p.tide")
    tool = start(t, "-o", profile, "--on-full=" + mode, "--", t.build("interrupted.c", "-O1"))
    os.kill(tool.pid, signal.SIGSTOP)
    time.sleep(0.3)
    os.kill(tool.pid, signal.SIGCONT)
    t.equal("exit status", tool.wait(), 0)
    totals = t.report(profile)["totals"]
    if mode == "wait":
        t.equal("allocations", (totals["allocations"], totals["lost_events"]), (1000000, 0))
    else:
        seen = totals["allocations"] + totals["frees"] + totals["unknown_frees"] + totals["lost_events"]
        t.true("all events are seen or counted as lost", seen >= 2000000, totals)


def test_program_outlives_a_killed_collector(t):
    done = t.file("done")
    tool = start(t, "-o", t.file("p.tide"), "--", "sh", "-c", "%s && echo yes > %s" % (t.build("interrupted.c", "-O1"), done))
    tool.kill()
    tool.wait()
    eventually("the program finishes", lambda: os.path.exists(done))


def allocations_in(t, path):
    """What `step` had allocated according to a file that may not be there yet, or be of an earlier moment."""
    result = subprocess.run([t.tidemark, "report", path, "--metric", "total", "--json"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    if result.returncode != 0:
        return None, None
    report = json.loads(result.stdout)
    return report, sum(row["self_count"] for row in report["rows"] if row["name"] == "step")


def test_what_a_killed_collector_had_read_is_in_the_file(t):
    path, go_on = t.file("p.tide"), t.file("go-on")
    tool = subprocess.Popen([t.tidemark, "run", "-o", path, "--", t.build("steps.c", "-O1"), go_on],
                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    eventually("a checkpoint has them", lambda: allocations_in(t, path)[1] == 1000)
    report, count = allocations_in(t, path)
    tool.kill()
    tool.wait()
    t.equal("allocations at the last checkpoint", count, 1000)
    t.equal("complete", report and report["complete"], False)
    t.equal("exit code, not known yet", report and report["exit_code"], None)
    open(go_on, "w").close()
    t.equal("the program ended as it should", tool.stdout.read(), b"done\n")
    _, count = allocations_in(t, path)
    t.equal("allocations, after all is over", count, 1000)
    t.equal("files left", sorted(os.listdir(t.dir)), ["go-on", "p.tide"])


def test_memory_of_many_processes(t):
    """Processes that have ended take little more than in the file: 40 of them, of 33,000 stacks each."""
    count, stacks = 40, 1 << 15
    program, path = t.build("many_stacks.c", "-O1"), t.file("many.tide")
    script = "%s; exit 3" % "; ".join([program + " 15"] * count)
    child = subprocess.Popen([t.tidemark, "run", "--no-scan", "-o", path, "/bin/sh", "-c", script], stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    t.equal("status", child.returncode, 3)
    t.true("memory", usage.ru_maxrss < 160 << 10, "%d MiB" % (usage.ru_maxrss >> 10))
    report = t.report(path)
    children = [p["pid"] for p in report["processes"] if p["ppid"] == report["processes"][0]["pid"]]
    t.equal("children", len(children), count)
    for pid in children[0], children[count // 2], children[-1]:
        t.equal("its blocks", by_pid(t, path, pid, "leaf"), (16 * stacks, stacks))
        rows = t.report(path, "total", "--process", str(pid), "--by", "line")["rows"]
        t.equal("its line", [r.get("line") for r in rows if r["name"] == "leaf"], [line_of("many_stacks.c", "leaf")])
