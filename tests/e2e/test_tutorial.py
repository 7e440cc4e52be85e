"""docs/tutorial.md is what happens: its commands are run in order, and what it shows of its program's functions is so."""
import contextlib
import os
import re
import signal
import subprocess

from harness import ROOT

FUNCTIONS = ("Geometry::load", "Calibration::get", "read_hits", "layer_name", "Monitor::book", "Writer::run", "Job::event")

# What depends on the program alone: its functions, and what was lost. Not marks, which have sizes of the process.
OURS = re.compile("|".join(FUNCTIONS) + r"(?!#)|^lost |^\"lost_bytes|^status |^event\.|blocks of 1000 B|^\d+ events, ")
# Sampled, asked for at any time, or a matter of page sizes.
VARIES = re.compile(r"--cpu|--metric cpu|--metric untouched| ctl |long\.")
SAMPLED = "<!-- only where samples can be taken -->"


def steps(text):
    """[(command, [line shown])] of the ```console blocks."""
    found = []
    for block in re.findall(r"^```console\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append((line[2:], []))
            else:
                found[-1][1].append(line)
    return found


def plain(line):
    """Without what differs from run to run and with libraries: times, process numbers, shares of the whole, spaces."""
    line = re.sub(r"\b\d+(\.\d+)? (us|ms|s)\b", "TIME", line)
    line = re.sub(r"^ *\d\. ", "", line)  # the order of findings depends on times
    line = re.sub(r"(?<![\w.-])-?\d+\.\d(?= )(?! [KMGT]iB)( %)?", "SHARE", line)
    return " ".join(line.split())


def carried_out(t, commands):
    """Runs them in one shell, so that $! is what it was; [(status, output)]."""
    parts = ["{ %s\n} > %s 2>&1\necho $? > %s\n" % (command, t.file("%d.out" % i), t.file("%d.status" % i))
             for i, command in enumerate(commands)]
    work = t.file("work")
    os.mkdir(work)
    env = {**os.environ, "COLUMNS": "100", "TIDEMARK": ROOT, "PATH": os.path.dirname(t.tidemark) + ":" + os.environ["PATH"]}
    with contextlib.suppress(PermissionError):  # some findings are about shares of the time, which a busy machine makes longer
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    shell = subprocess.Popen(["bash", "-c", "".join(parts)], cwd=work, env=env, stdin=subprocess.DEVNULL, start_new_session=True)
    try:
        shell.wait(timeout=300)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(shell.pid, signal.SIGKILL)  # a job in the background, if the commands did not end it
    results = []
    for i in range(len(commands)):
        with open(t.file("%d.status" % i)) as status, open(t.file("%d.out" % i), errors="replace") as output:
            results.append((int(status.read()), output.read()))
    return results


def samples_cpu(t):
    """May it, on this machine?"""
    profile = t.record("/bin/true", opts=("--cpu",), status=None)
    return t.run("report", profile, "--metric", "cpu")[2] == 0


def test_commands(t):
    with open(os.path.join(ROOT, "docs", "tutorial.md"), encoding="utf-8") as document:
        text = document.read()
    t.equal("part on CPU time", text.count(SAMPLED), 1)
    if not samples_cpu(t):
        text = re.sub(SAMPLED + ".*?<!-- end -->", "", text, flags=re.DOTALL)
    known = steps(text)
    t.true("commands", len(known) > 40, len(known))
    compared = 0
    for (command, shown), (status, output) in zip(known, carried_out(t, [c for c, _ in known])):
        t.true(command, status == 0, (status, output[-500:]))
        printed = {plain(line) for line in output.splitlines()}
        for line in shown:
            if not OURS.search(line) or VARIES.search(command) or "never touch" in line:
                continue
            compared += 1
            t.true("%s: shown and not printed: %s" % (command, line), plain(line) in printed, output[-2000:])
    t.true("lines compared", compared > 40, compared)

    profile = lambda name: os.path.join(t.dir, "work", name)
    exact(t, profile("mp.tide"), "event#50")
    exact(t, profile("plain.tide"), "Job::event#51")
    t.equal("marks", [m["index"] for m in t.ask(profile("mp.tide"), "marks")["marks"]], list(range(1, 101)))
    for number, events in ((1, 50), (2, 100)):
        snapshot = t.report(profile("event.%d.tide.gz" % number))
        t.equal("snapshot %d" % number, t.total(snapshot, "Monitor::book"), (1000 * events, events))
    t.equal("repaired", t.total(t.report(profile("fixed.tide")), "Monitor::book"), (0, 0))
    t.equal("lost when repaired", t.ask(profile("fixed.tide"), "leaks")["totals"]["lost_bytes"], 0)
    marks = [m["label"] for m in t.ask(profile("long.tide"), "marks")["marks"]]
    t.equal("marks from outside", [m for m in marks if m != "event"], ["begun", "snapshot", "leaks"])
    lost = t.ask(profile("long.tide"), "leaks", "--at", "leaks#1")["totals"]["lost_blocks"]
    # The look came in the middle of an event: its block may be lost already, or the last one still on the stack.
    t.true("lost in the long run", abs(lost - marks.index("leaks") + 2) <= 1, (lost, marks.index("leaks")))
    if SAMPLED in text:
        names = {row["name"].split("(")[0] for row in t.report(profile("pp.tide"), "cpu", "--top", "5")["rows"]}
        t.true("most time", "fit" in names, names)
    for name in ("total.svg", "grown.svg", "sizes.svg", "threads.svg"):
        with open(profile(name)) as picture:
            t.true(name, "<svg" in picture.read(300))


def exact(t, profile, event_50):
    """What the comment of examples/events.cpp says."""
    t.consistent(profile)
    def rows(metric, *when):
        report = t.report(profile, metric, *when)
        return {name: (t.row(report, name)["self_bytes"], t.row(report, name)["self_count"]) for name in FUNCTIONS}
    geometry, writer = (16 << 20, 1), (256 << 10, 1)
    gone = {"read_hits": (0, 0), "layer_name": (0, 0)}
    t.equal("live at the end", rows("live"), {**gone, "Geometry::load": geometry, "Calibration::get": (40 * 4096, 40),
            "Monitor::book": (100000, 100), "Job::event": (128 * 32, 1), "Writer::run": writer})
    t.equal("live after event 50", rows("live", "--at", event_50), {**gone, "Geometry::load": geometry, "Calibration::get": (40 * 4096, 40),
            "Monitor::book": (50000, 50), "Job::event": (64 * 32, 1), "Writer::run": writer})
    t.equal("since event 50", rows("live", "--since", event_50, "--at", "end"), {**gone, "Geometry::load": (0, 0),
            "Calibration::get": (0, 0), "Monitor::book": (50000, 50), "Job::event": (64 * 32, 0), "Writer::run": (0, 0)})
    t.equal("allocated in all", rows("total"), {"Geometry::load": geometry, "Calibration::get": (40 * 4096, 40),
            "read_hits": (40 * (99 * 1000 + 100000), 100), "layer_name": (31 * 199000, 199000), "Monitor::book": (100000, 100),
            "Job::event": (255 * 32, 8), "Writer::run": writer})
    t.equal("temporary", rows("temporary")["layer_name"], (31 * 199000, 199000))
    t.equal("largest", [rows("largest")[name][0] for name in ("Geometry::load", "read_hits", "layer_name")], [16 << 20, 40 * 100000, 31])
    t.equal("at the peak", [rows("peak")[name][0] for name in ("Geometry::load", "read_hits")], [16 << 20, 40 * 100000])
    lost = t.ask(profile, "leaks")["totals"]
    t.equal("lost", (lost["lost_bytes"], lost["lost_blocks"]), (100000, 100))
    lost = t.ask(profile, "leaks", "--since", event_50)["totals"]
    t.equal("lost since event 50", (lost["lost_bytes"], lost["lost_blocks"]), (50000, 50))
    named = {f["function"].split("(")[0] for f in t.ask(profile, "findings")["findings"]}
    t.true("findings", {"Geometry::load", "layer_name", "Monitor::book"} <= named, named)
