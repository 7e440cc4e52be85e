"""Time off the processor, by where threads wait. Programs say themselves how long they waited, so no clock of ours decides."""
import os
import shutil
import subprocess
import time

from harness import ROOT, bare, cases
from unprivileged import AS_NOBODY, give_to_nobody

NAMES = ("doze", "sleep_well", "read_pipe", "take_lock")
MS = 1000000


def own_figures(text):
    """What the program printed, in ns."""
    return {name: int(us) * 1000 for name, us in (line.split() for line in text.splitlines() if line != "ready")}


def totals(t, profile, metric):
    report = t.report(profile, metric)
    return report, {name: t.total(report, name)[0] for name in NAMES}


def right_sum(t, profile, own, threads, began):
    """All threads, all the time; what the kernel did for them is not sampled. None lived longer than the whole took."""
    most = (threads + 1) * (time.monotonic() - began) * 1e9
    report = t.report(profile, "wall")
    got, least = report["sum"]["bytes"], (own["life"] + own["main"] - own["system"]) * 0.8
    t.true("sum of all threads' lives", least <= got <= most, (least, got, most))
    s = report["sampling"]
    t.equal("its parts", s["cpu_ns"] + s["waiting_ns"] + s["ready_ns"], got)
    t.equal("waiting alone", t.report(profile, "waiting")["sum"]["bytes"], s["waiting_ns"])


@cases(threads=(1, 4), frame=("-fomit-frame-pointer", "-fno-omit-frame-pointer"))
def test_where_threads_wait(t, threads, frame):
    """Those who may look into the kernel have the stack of every wait; for others the next test is."""
    program, began = t.build("waits.c", "-O2", frame), time.monotonic()
    profile = t.record(program, str(threads), opts=("--only-cpu=wall",))
    own = own_figures(t.stdout)
    right_sum(t, profile, own, threads, began)
    report, off = totals(t, profile, "wall")
    if os.geteuid() != 0:
        return
    for name, least in (("doze", 60), ("sleep_well", 180)):
        # A part may be spent in the kernel before it sleeps and afterwards.
        t.true("%s is at least half of its sleep" % name, off[name] >= least * threads * MS / 2, off[name])
    waiting = totals(t, profile, "waiting")[1]
    for name in NAMES:
        t.true("%s waits at most as long as it took" % name, waiting[name] <= own[name], (waiting[name], own[name]))
    if own["sleep_well"] > 2 * own["doze"]:  # else the machine had no time for those that had slept
        t.true("the longer sleep", waiting["sleep_well"] > waiting["doze"], waiting)
    whole_stacks(t, profile)
    t.equal("lost", report["sampling"]["lost_samples"], 0)


def test_waits_for_tidemark_are_not_the_programs(t):
    """It connects, asks for more rings and is scanned when it ends; what it waits for that is not counted."""
    program = t.build("waits.c", "-O2")
    profile = t.record(program, "1", opts=("--cpu=wall",))
    if os.geteuid() != 0:
        return  # where a wait began is not known
    rows = t.report(profile, "waiting", "--by", "stack")["rows"]
    t.true("the program's own", any(bare(r["stack"][0]["function"]).endswith("nanosleep") for r in rows), rows)
    # Where it waits for us our own frames are not shown, so it seems to be in what called them.
    callers = [r["stack"][0]["function"] for r in rows if r["stack"]]
    t.equal("ours", [f for f in callers if bare(f) in ("call_init", "__libc_start_call_main", "__run_exit_handlers", "_dl_init")], [])


def test_who_asks_tidemark_waits_alone(t):
    """One thread waits for snapshots nearly all the time; another for the first, which is its own wait."""
    program = t.build("asks_while_other_waits.c", "-O1", "-I", os.path.join(ROOT, "include"))
    profile = t.record(program, t.file("s.%I.tide"), opts=("--cpu=wall",))
    own = int(t.stdout) * 1000
    if os.geteuid() != 0:
        return  # where a wait began is not known
    got = t.total(t.report(profile, "wall"), "wait_for_other")[0]
    t.true("most of what it waited, and no more", own / 2 < got <= own * 1.01, (got, own))


def whole_stacks(t, profile):
    found = {}
    for row in t.report(profile, "waiting", "--by", "stack")["rows"]:
        names = [bare(f["function"]) for f in row["stack"]]
        for name in set(NAMES) & set(names):
            at = names.index(name)
            t.equal("who called " + name, names[at + 1:at + 4], ["timed", "live", "start_thread"])
            found[name] = found.get(name, 0) + row["count"]
    return found


@cases(opts=(("--only-cpu=wall",), ("--cpu=wall",)), frame=("-fomit-frame-pointer", "-fno-omit-frame-pointer"))
def test_as_nobody(t, opts, frame):
    """An ordinary user may not sample a thread that leaves the processor: it is looked at while it waits."""
    if os.geteuid() == 0:
        tool, prefix = give_to_nobody(t), AS_NOBODY
    else:
        tool, prefix = t.tidemark, ()
    threads, program, folder = 3, t.file("waits"), os.path.dirname(tool) if prefix else t.dir
    shutil.copy(t.build("waits.c", "-O1", frame), program)
    profile, snapshot, go = (os.path.join(folder, name) for name in ("x.tide", "s.tide", "go"))
    began = time.monotonic()
    run = subprocess.Popen([*prefix, tool, "run", "--quiet", *opts, "-o", profile, "--", program, str(threads), go],
                           stdout=subprocess.PIPE, text=True)
    t.equal("it is ready", run.stdout.readline(), "ready\n")
    seen = 0
    while run.poll() is None and seen < threads * 100 * MS:  # until it has been seen in the pipe for long enough
        t.plain(*prefix, tool, "ctl", str(run.pid), "snapshot", snapshot)
        while run.poll() is None and not os.path.exists(snapshot):
            time.sleep(0.01)
        seen = totals(t, snapshot, "waiting")[1]["read_pipe"]
        os.remove(snapshot)
    open(go, "w").close()
    own = own_figures(run.communicate()[0])
    t.equal("status", run.returncode, 0)
    right_sum(t, profile, own, threads, began)
    waiting = totals(t, profile, "waiting")[1]
    t.true("read_pipe", threads * 100 * MS <= waiting["read_pipe"], (waiting, own))
    t.true("its stack", whole_stacks(t, profile).get("read_pipe", 0) >= threads, t.report(profile, "waiting")["rows"][:3])


def test_on_and_off(t):
    """A program that only works waits for next to nothing; one that only sleeps works for next to nothing."""
    profile = t.record(t.build("shares.c", "-O2"), "1", "20000", opts=("--cpu=wall",))
    wall, waiting = (t.row(t.report(profile, metric), "six") for metric in ("wall", "waiting"))
    t.equal("six never waits", waiting["self_bytes"], 0)
    t.true("it is there", wall["self_bytes"] >= t.row(t.report(profile, "cpu"), "six")["self_bytes"] > 0, wall)
    profile = t.record("/bin/sleep", "0.3", opts=("--only-cpu=wall",))
    t.true("sleep waits", t.report(profile, "waiting")["sum"]["bytes"] >= 150 * MS, t.report(profile, "waiting")["sum"])


def test_shown(t):
    profile = t.record("/bin/sleep", "0.1", opts=("--only-cpu=wall",))
    text = t.run("report", profile, "--metric", "waiting")[0]
    t.true("words", "time spent waiting by function: " in text and " waits " in text and "\noff " in text, text)
    folded = t.run("flame", profile, "--metric", "wall", "--folded")[0]
    t.true("stacks", any("nanosleep" in line for line in folded.splitlines()), folded)
    plain = t.record("/bin/true", opts=("--only-cpu",))
    for metric in ("wall", "waiting"):
        t.run("report", plain, "--metric", metric)
        t.equal("not recorded", (t.status, len(t.stderr.splitlines())), (1, 1))


def test_threads_that_come_and_go(t):
    """Threads that wait keep what is theirs while 2,000 others begin and end."""
    began = time.monotonic()
    profile = t.record(t.build("churns.c", "-O1"), "2000", opts=("--only-cpu=wall",))
    most, own = (time.monotonic() - began) * 1e9, own_figures(t.stdout)
    report = t.report(profile, "wall", "--by", "thread")
    t.equal("threads", len(own), 8)
    for name, ns in own.items():
        got = t.row(report, name)["self_bytes"]
        t.true("%s waited" % name, ns * 0.9 <= got <= most, (ns, got, most))


@cases(opts=(("--only-cpu=wall",), ("--cpu=wall",)))
def test_a_pause_is_not_waited_for(t, opts):
    profile, began = t.file("x.tide"), time.monotonic()
    run = subprocess.Popen([t.tidemark, "run", "--quiet", *opts, "-o", profile, "--", "/bin/cat"],
                           stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    run.stdin.write(b"x")
    run.stdin.flush()
    run.stdout.read(1)
    t.run("ctl", str(run.pid), "pause")
    t.equal("pause", t.status, 0)
    paused = time.monotonic()
    time.sleep(1)
    paused = time.monotonic() - paused
    t.run("ctl", str(run.pid), "resume")
    run.communicate()
    most = time.monotonic() - began - paused
    wall = t.report(profile, "wall")["sum"]["bytes"]
    t.true("what was recorded", 0 < wall <= most * 1e9, (wall, most))
