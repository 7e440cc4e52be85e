"""docs/threads.md is what happens: its commands are run in order, and what it shows of the workers is so. The example's
figures are exact, with every interpreter."""
import os
import re

from harness import ROOT, cases
from test_python_stacks import VERSIONS, interpreter
from test_tutorial import carried_out, plain, steps

EXAMPLE = os.path.join(ROOT, "examples", "threads.py")
WORKERS = range(1, 9)
# Of the whole process are what was imported, and with it the order of peaks; of a thread, how long it lived
# and what it happened to free that another thread had allocated for the interpreter.
OURS = re.compile(r"worker-\d|threads\.py:\d+")
VARIES = re.compile(r"process>|_bootstrap|^thread |clone")


def normal(line):
    line = re.sub(r"^(peak )?\d+: (?=worker)", "NUMBER: ", plain(line))
    return re.sub(r"[\d,]+ [\d.]+ (B|KiB) TIME$", "RATE OTHERS TIME", line)


def test_commands(t):
    with open(os.path.join(ROOT, "docs", "threads.md"), encoding="utf-8") as document:
        known = steps(document.read())
    t.true("commands", len(known) >= 9, len(known))
    os.environ["PATH"], before = "/usr/bin:" + os.environ["PATH"], os.environ["PATH"]
    try:
        results = carried_out(t, [command for command, _ in known])
    finally:
        os.environ["PATH"] = before
    compared = 0
    for (command, shown), (status, output) in zip(known, results):
        t.true(command, status == 0, (status, output[-500:]))
        printed = [normal(line) for line in output.splitlines()]
        for line in shown:
            if OURS.search(line) and not VARIES.search(line):
                compared += 1
                t.true("%s: shown and not printed: %s" % (command, line), normal(line) in printed, output[-3000:])
    t.true("lines compared", compared > 25, compared)
    for name in "threads.svg", "peaks.svg", "threads.svg.legend.txt":
        t.true(name, os.path.getsize(os.path.join(t.dir, "work", name)) > 0)


@cases(version=tuple(v for v in VERSIONS if v != "3.15"))  # whose bytearrays are larger
def test_figures(t, version):
    """As the example's first lines say."""
    profile = t.record(interpreter(version), EXAMPLE, env={"PYTHONPATH": os.path.join(ROOT, "bindings", "python")})
    t.consistent(profile)
    within = "--within-path", os.path.dirname(EXAMPLE)
    found = {thread["name"]: thread for thread in t.ask(profile, "threads", *within)["threads"]}
    t.equal("threads", sorted(found), ["main"] + ["worker-%d" % n for n in WORKERS])
    for n in WORKERS:
        w = found["worker-%d" % n]
        t.equal("worker-%d" % n, (w["allocations"], w["allocated_bytes"], w["freed_bytes"], w["live_bytes"], w["highest_bytes"]),
                (3 * (n + 1), 330000 * n, 330000 * n, 0, 130000 * n))
        t.equal("worker-%d at the peak" % n, w["at_peak_bytes"], 1040000 if n == 8 else 30000 * n)
    kept = {x["name"]: x["live_bytes"] for x in t.ask(profile, "threads", *within, "--at", "all done")["threads"]}
    t.equal("kept", [kept["worker-%d" % n] for n in WORKERS], [30000 * n for n in WORKERS])
    peaks = [k for k in t.ask(profile, "peaks", *within)["peaks"] if k["thread"] and k["thread"] != "main"]
    t.equal("peaks", [(k["thread"], k["bytes"]) for k in peaks],
            [("worker-%d" % n, 100000 * n + 10000 * n * turn) for turn in (1, 2, 3) for n in WORKERS])
    line = [i for i, text in enumerate(open(EXAMPLE), 1) if "return bytearray" in text][0]
    t.equal("legend", {re.sub(r"^\d+: ", "", k["legend"]) for k in peaks},
            {"worker-%d>threads.py:%d:fill=>%d" % (n, line, 100000 * n + 10000 * n * turn) for turn in (1, 2, 3) for n in WORKERS})
    calls = t.ask(profile, "tree", *within, "--thread", "worker-6", "--peak", "3", "--python-only")["calls"]
    shown = [(c["function"].split(".")[-1], os.path.basename(c["file"]), c["gained_bytes"], c["freed_bytes"], c["count"])
             for c in calls]
    t.equal("tree", shown, [("_bootstrap", "threading.py", 660000, 0, 7), ("_bootstrap_inner", "threading.py", 660000, 0, 7),
                            ("run", "threads.py", 660000, 0, 7), ("do_stuff", "threads.py", 600000, 0, 6),
                            ("fill", "threads.py", 600000, 0, 6), ("do_stuff", "threads.py", 60000, 0, 1)])


def test_without_the_module(t):
    """Nothing but the allocations is needed for the sums."""
    profile = t.record("/usr/bin/python3", EXAMPLE, env={"PYTHONPATH": ""})
    found = {x["name"]: x for x in t.ask(profile, "threads", "--within-path", os.path.dirname(EXAMPLE))["threads"]}
    t.equal("allocated", [found["worker-%d" % n]["allocated_bytes"] for n in WORKERS], [330000 * n for n in WORKERS])
