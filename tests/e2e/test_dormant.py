"""run --dormant, ctl start and stop: nothing is recorded before, and what is recorded in between is exact."""
import subprocess
import time

from harness import cases


def begin(t, profile, *options):
    tool = subprocess.Popen([t.tidemark, "run", "--quiet", "-o", profile, *options, "--", t.build("obeys.c", "-O1")],
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    return tool


def tell(t, tool, *words):
    for word in words:
        tool.stdin.write(word)
        tool.stdin.flush()
        t.equal("answer to " + word, tool.stdout.readline(), "done\n")


def ctl(t, tool, action):
    t.run("ctl", str(tool.pid), action)
    t.equal("status of " + action, (t.status, len(t.stdout.splitlines()) > 0), (0, True))


def end(t, tool):
    tool.stdin.close()
    t.equal("status of the program", tool.wait(), 0)


def test_start_and_stop(t):
    profile = t.file("x.tide")
    tool = begin(t, profile, "--dormant")
    tell(t, tool, "a100", "f10")
    t.run("ctl", str(tool.pid), "status")
    t.true("it says so", "dormant" in t.stdout, t.stdout)
    t.run("ctl", str(tool.pid), "pause")
    t.equal("no pause: status, lines", (t.status, len(t.stderr.splitlines())), (1, 1))
    ctl(t, tool, "start")
    tell(t, tool, "f20", "a50", "r5")  # of the blocks from before, 20 are freed and 5 reallocated
    ctl(t, tool, "stop")
    tell(t, tool, "a70", "f80")  # the last 10 of these were recorded, and nobody sees them go
    end(t, tool)
    report = t.report(profile, "live", "--at", "stopped")
    totals = report["totals"]
    t.equal("allocations, bytes", (totals["allocations"], totals["bytes_allocated"]), (55, 50 * 1000 + 5 * 1500))
    t.equal("live at the stop", (totals["live_blocks"], totals["live_bytes"]), (55, 50 * 1000 + 5 * 1500))
    t.equal("frees of blocks from before are no errors", (totals["frees"], totals["unknown_frees"]), (0, 0))
    t.equal("nothing lost", totals["lost_events"], 0)
    notes = [note for note in report["notes"] if "dormant" in note]
    t.equal("one note", len(notes), 1)
    t.true("it counts them", " 25 frees " in notes[0] and "--at stopped" in notes[0], notes)
    later = t.report(profile, "live")["totals"]
    t.equal("nothing was recorded since", (later["allocations"], later["live_blocks"]), (55, 55))
    labels = [m["label"] for m in t.ask(profile, "marks")["marks"]]
    t.equal("marks", [label for label in labels if label in ("started", "stopped")], ["started", "stopped"])
    t.consistent(profile)
    t.run("leaks", profile)
    words = " ".join(t.stdout.split())
    t.true("why nothing is known of leaks", "unclassified: the recorder was dormant when the program ended" in words, words)


def test_start_and_stop_say_what_was_done(t):
    """One that changes nothing makes no mark, and does not say that it did."""
    profile = t.file("x.tide")
    tool = begin(t, profile)
    tell(t, tool, "a1")  # it runs
    said = []
    for action in ("start", "pause", "start", "resume", "stop", "stop", "start"):
        ctl(t, tool, action)
        said.append(t.stdout)
    end(t, tool)
    t.equal("already", [said[0], said[5]], ["it was recording already; no mark was made\n", "it was dormant already; no mark was made\n"])
    t.equal("in a pause", said[2], "it is paused: 'resume' continues; no mark was made\n")
    t.equal("done", [said[4], said[6]], ["dormant; this moment is the mark 'stopped'\n", "recording; this moment is the mark 'started'\n"])
    t.equal("marks", [m["label"] for m in t.ask(profile, "marks")["marks"]], ["stopped", "started"])


def test_never_started(t):
    profile = t.file("x.tide")
    tool = begin(t, profile, "--dormant")
    tell(t, tool, "a100", "f10", "c5")
    end(t, tool)
    totals = t.report(profile)["totals"]
    t.equal("nothing", [totals[k] for k in ("allocations", "frees", "live_bytes", "unknown_frees", "lost_events")], [0] * 5)


def sleeps_of(pid):
    with open("/proc/%d/status" % pid) as lines:
        return int(next(line.split()[1] for line in lines if line.startswith("voluntary_ctxt_switches")))


def test_collector_sleeps(t):
    """It wakes about ten times a second; a busy machine can only make that less."""
    tool = begin(t, t.file("x.tide"), "--dormant")
    tell(t, tool, "a100")
    time.sleep(0.5)
    before, begun = sleeps_of(tool.pid), time.monotonic()
    time.sleep(1)
    woken = sleeps_of(tool.pid) - before
    t.true("seldom", woken <= 20 * (time.monotonic() - begun), woken)
    ctl(t, tool, "start")
    tell(t, tool, "a10")
    end(t, tool)
    t.equal("and records when it is told to", t.report(t.file("x.tide"))["totals"]["allocations"], 10)


def test_several_times(t):
    """Blocks of the first time that were freed in between make no errors."""
    profile = t.file("x.tide")
    tool = begin(t, profile, "--dormant")
    for _ in range(3):
        tell(t, tool, "a3")
        ctl(t, tool, "start")
        tell(t, tool, "a10", "f3")
        ctl(t, tool, "stop")
        tell(t, tool, "f10")
    end(t, tool)
    totals = t.report(profile, "live", "--at", "stopped#3")["totals"]
    t.equal("allocations, unknown frees", (totals["allocations"], totals["unknown_frees"]), (30, 0))


def test_children(t):
    """A child that begins while the recorder is dormant is recorded once it is started."""
    profile = t.file("x.tide")
    tool = begin(t, profile, "--dormant")
    tell(t, tool, "a9", "c5")
    ctl(t, tool, "start")
    tell(t, tool, "c7", "a2", "d4")
    end(t, tool)
    totals = [t.report(profile, "total", "--process", str(p["pid"]))["totals"] for p in t.report(profile)["processes"]]
    t.equal("allocations of each process", sorted(one["allocations"] for one in totals), [1, 2, 7])
    t.equal("frees of blocks from before are no errors in children", [one["unknown_frees"] for one in totals], [0, 0, 0])


def test_stop_without_dormant(t):
    profile = t.file("x.tide")
    tool = begin(t, profile)
    tell(t, tool, "a4")
    ctl(t, tool, "stop")
    tell(t, tool, "a5")
    ctl(t, tool, "start")
    tell(t, tool, "a6")
    end(t, tool)
    t.equal("allocations", t.report(profile)["totals"]["allocations"], 10)


@cases(wrong=("--only-cpu", "--only-faults", "--all"))
def test_wrong_usage(t, wrong):
    t.run("run", "--dormant", wrong, "--", "/bin/true")
    t.equal("status, lines", (t.status, len(t.stderr.splitlines())), (2, 1))
