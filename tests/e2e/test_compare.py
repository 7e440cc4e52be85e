"""One run alone against several at once. What gets worse is counted work, so that it does however busy the machine is."""
import csv
import io
import json
import math
import os
import shutil
import signal
import subprocess
import time

from harness import Failed, bare, cases
from unprivileged import AS_NOBODY, give_to_nobody

COPIES = 4
ROUNDS = 100000  # the run alone takes three times as many, about a tenth of a second of CPU time
NUMBERS = [1, 2, 3, 4, 5]  # that the run alone and the copies draw


def compare(t, *arguments, status=0):
    stdout, stderr, got = t.run("compare", "--quiet", "--copies", str(COPIES), "--json", *arguments)
    t.equal("exit status", got, status)
    if not stdout:
        raise Failed("nothing was shown; stderr: " + stderr.strip()[:500])
    return json.loads(stdout)


def row(found, name):
    return next(r for r in found["rows"] if bare(r["name"]) == name)


def contends(t, *flags):
    return t.build("contends.c", "-O2", *flags), t.file("counter")


def right_growth(t, found):
    """queue() does 1 alone and 2 to 5 together, in units of half of what steady() does. How fast either goes is not ours."""
    queue, steady = (row(found, name)["self"]["samples"] for name in ("queue", "steady"))
    got = [[s[side] * n for s in (queue, steady)] for side, n in (("alone", 1), ("together", COPIES))]
    want = [1 / 3, sum(NUMBERS[1:]) / (sum(NUMBERS[1:]) + 2 * COPIES)]
    for (in_queue, in_steady), share in zip(got, want):
        n = in_queue + in_steady
        t.true("enough samples", n > 50, n)
        room = 6.5 * math.sqrt(n * share * (1 - share)) + n * 0.01
        t.true("samples in queue of %d, %.0f within %.0f" % (n, n * share, room), abs(in_queue - n * share) <= room, in_queue)


def test_what_gets_worse(t):
    program, counter = contends(t)
    found = compare(t, "--", program, counter, str(ROUNDS))
    t.equal("schema, copies, per", (found["schema"], found["copies"], found["per"]), ("tidemark.compare/1", COPIES, "run"))
    t.equal("worst", bare(found["rows"][0]["name"]), "queue")
    right_growth(t, found)
    cpu = row(found, "queue")["self"]["cpu_ns"]
    t.true("change, ratio", abs(cpu["change"] - (cpu["together"] - cpu["alone"])) < 1 and
           abs(cpu["ratio"] - cpu["together"] / cpu["alone"]) < 1e-6, cpu)
    t.true("beyond chance", cpu["certain"] and 1 < cpu["ratio_low"] < cpu["ratio"] < cpu["ratio_high"], cpu)
    t.true("least, most", cpu["low"] <= cpu["together"] <= cpu["high"], cpu)
    rows = csv.DictReader(io.StringIO(t.run("compare", "--quiet", "--copies", "2", "--csv", "--top", "1", "--", program, counter, "2000")[0]))
    first, = rows
    t.true("CSV: one row, with numbers for each measure", first["name"] and float(first["self_cpu_ns_together"]) >= 0 and
           float(first["total_faults_alone"]) >= 0 and first["self_cpu_ns_certain"] in ("true", "false"), first)
    t.equal("exit codes", [r["exit_code"] for r in (found["alone"], *found["runs"])], [0] * (COPIES + 1))
    t.equal("no recordings are left", os.listdir(t.dir), ["counter"])


def test_faults(t):
    """100 pages for each number drawn, touched in one function."""
    program, counter = contends(t)
    found = compare(t, "--metric", "faults", "--", program, counter, "100")
    t.equal("worst", bare(found["rows"][0]["name"]), "touch")
    faults = row(found, "touch")["self"]["faults"]
    t.equal("faults", [faults[k] for k in ("alone", "together", "low", "high")], [100, 350, 200, 500])
    t.equal("bytes", row(found, "touch")["self"]["fault_bytes"]["together"], 350 * 4096)
    for run, number in zip((found["alone"], *sorted(found["runs"], key=lambda r: r["faults"])), NUMBERS):
        t.true("of all faults of a run", 100 * number <= run["faults"] < 100 * number + 400, run)
        t.true("as the kernel counts", abs(run["kernel"]["minor_faults"] + run["kernel"]["major_faults"] - run["faults"]) < 200, run)


def share_bound(n, k, more):
    """The share of n events at which k of them are three standard deviations away."""
    low, high = (k / n, 1.0) if more else (0.0, k / n)
    for _ in range(100):
        p = (low + high) / 2
        outside = abs(k - n * p) > 3 * math.sqrt(n * p * (1 - p))
        low, high = (low, p) if outside == more else (p, high)
    return low


@cases(every=(1, 7))
def test_bounds(t, every):
    """Those of the ratio are of the counts that were recorded; what is few is not certain."""
    program, counter = contends(t)
    found = compare(t, "--metric", "faults", "--faults", str(every), "--", program, counter, "700")
    few = many = 0
    for r in found["rows"]:
        for measure in ("faults", "fault_bytes"):
            v, counts = r["self"][measure], r["self"]["faults"]
            alone, together = round(counts["alone"] / every), round(counts["together"] * COPIES / every)
            if not alone + together:
                continue
            bounds = [share_bound(alone + together, together, more) for more in (False, True)]
            want = [p / (1 - p) / COPIES if p < 1 - 1e-9 else None for p in bounds]
            got = [v["ratio_low"], v["ratio_high"]]
            t.true("bounds of %d and %d" % (alone, together), all(g is w or (g is not None and w is not None and abs(g - w) <= 1e-6 * w + 1e-9)
                                                                  for g, w in zip(got, want)), (got, want))
            t.equal("certain", v["certain"], got[0] > 1 or (got[1] is not None and got[1] < 1))
            few += alone + together < 9
            t.true("a few are never certain", alone + together >= 9 or not v["certain"] or together == 0, (alone, together))
            many += v["certain"]
    t.true("there were both", few > 0 and many > 0, (few, many))
    t.equal("what grew is certain", row(found, "touch")["self"]["faults"]["certain"], True)

    def certain(r):
        v = r["self"]["faults"]
        return (v["together"] * (1 - 1 / v["ratio_low"]) if v["ratio_low"] > 1 else
                v["alone"] * (v["ratio_high"] - 1) if v["ratio_high"] is not None and v["ratio_high"] < 1 else 0)

    order = [certain(r) for r in found["rows"] if r["self"]["faults"]["alone"] or r["self"]["faults"]["together"]]
    t.true("ordered by what is certain", all(a >= b - 1e-9 for a, b in zip(order, order[1:])), order)


def test_per_mark(t):
    """Marks come from the program: the library is preloaded."""
    program, counter = contends(t)
    found = compare(t, "--per", "event", "--", program, counter, "100", "10")
    t.equal("per, units", (found["per"], found["alone"]["units"], found["together"]["units"]), ("event", 10, 10 * COPIES))
    faults = row(found, "touch")["self"]["faults"]
    got = [faults[k] for k in ("alone", "together", "low", "high")]
    # What the recorder touches when mmap is called is charged to the caller: some pages, once.
    t.true("faults a mark", all(n <= g < n + 2 for g, n in zip(got, [10, 35, 20, 50])), got)
    found = compare(t, "--mark-on", "steady", "--per", "steady", "--", program, t.file("other"), "100", "5")
    t.equal("a function's entries", (found["alone"]["units"], found["together"]["units"]), (5, 5 * COPIES))
    t.run("compare", "--per", "nonsense", "--copies", "1", "--", program, counter, "1")
    t.equal("no such mark", (t.status, len(t.stderr.splitlines())), (1, 1))


@cases(by=("function", "line", "stack", "library", "file", "thread"))
def test_rows(t, by):
    """What is compared is the same, however it is cut."""
    program, counter = contends(t)
    found = compare(t, "--by", by, "--metric", "faults", "--", program, counter, "1")
    for side, want in (("alone", found["alone"]["faults"]), ("together", found["together"]["faults"] / COPIES)):
        got = sum(r["self"]["faults"][side] for r in found["rows"])
        t.true("%s, rows add up to all" % side, abs(got - want) < 1e-6 * want, (got, want))
    if by == "stack":
        # Alone: so few that no stack is lost for want of room.
        stacks = [[bare(f["function"]) for f in r["stack"]] for r in found["rows"] if r["self"]["faults"]["alone"] >= 100]
        t.equal("the stack", [s[:2] for s in stacks], [["touch", "main"]])


def test_families(t):
    """What a run starts belongs to it."""
    program, counter = contends(t)
    found = compare(t, "--metric", "faults", "--", "/bin/sh", "-c",
                    "%s %s 1; %s %s 1; true" % (program, t.file("first"), program, t.file("second")))
    faults = row(found, "touch")["self"]["faults"]
    t.equal("both children's", [faults[k] for k in ("alone", "together")], [200, 700])
    for run in (found["alone"], *found["runs"]):
        counted = run["kernel"]["minor_faults"] + run["kernel"]["major_faults"]
        t.true("as the kernel counts", run["faults"] - 50 <= counted < run["faults"] + 1000, run)
    t.true("processes", all(r["processes"] >= 3 for r in (found["alone"], *found["runs"])), found["runs"])


def test_kept_and_drawn(t):
    program, counter = contends(t)
    folder, picture = t.file("kept %n"), t.file("x.svg")
    found = compare(t, "-o", folder, "--flame", picture, "--", program, counter, str(ROUNDS))
    t.equal("files", sorted(os.listdir(folder)), ["alone.tide", "together.tide"])
    t.equal("they are named", found["together_file"], os.path.join(folder, "together.tide"))
    processes = t.report(found["together_file"], "cpu")["processes"]
    t.equal("one profile each, and none of tidemark", [p["command"][0] for p in processes], [program] * COPIES)
    with open(picture) as text:
        svg = text.read()
    t.true("the picture", svg.startswith("<?xml") or svg.startswith("<svg"), svg[:100])
    t.true("what it shows", "queue" in svg and "4 at once against one alone" in svg)


def test_text(t):
    program, counter = contends(t)
    text, stderr, status = t.run("compare", "--copies", str(COPIES), "--", program, counter, str(ROUNDS))
    t.equal("status, stderr", (status, stderr), (0, ""))
    t.true("the program's own output is not in it", "not to be seen" not in text, text)
    lines = text.splitlines()
    t.true("the runs", any(line.startswith("runs") and "one alone, then 4 at once" in line for line in lines), text)
    table = lines[next(i for i, line in enumerate(lines) if "what got worse first" in line) + 1:]
    t.true("the worst first", "queue" in table[1] and table[1].split()[0].startswith("+"), text)


def test_ends(t):
    program, counter = contends(t)
    copy = 'test $TIDEMARK_COPY != 2 || exit 3'
    found = compare(t, "--", "/bin/sh", "-c", copy, status=3)
    t.equal("one failed", [r["exit_code"] for r in found["runs"]], [0, 3, 0, 0])
    t.true("it is told", "copy 2 of 4 ended with exit status 3" in t.stderr, t.stderr)
    t.run("compare", "--", "/bin/sh", "-c", "kill -SEGV $$")
    t.equal("killed: status, nothing compared", (t.status, t.stdout), (128 + signal.SIGSEGV, ""))
    t.true("it is told", "the run alone was killed by signal 11" in t.stderr, t.stderr)
    kept = t.stderr.split("what was recorded is in ")[1].strip()
    t.equal("and kept", os.path.exists(kept), True)
    shutil.rmtree(os.path.dirname(kept))
    for wrong, status in ((t.file("nothing"), 127), (t.dir, 126)):
        t.run("compare", "--", wrong)
        t.equal("status, lines", (t.status, len(t.stderr.splitlines()), t.stdout), (status, 1, ""))


def test_interrupted(t):
    """As Ctrl-C does it: everybody in the terminal's group gets it."""
    folder, ready = t.file("kept"), t.file("ready")
    script = "echo x >> %s; test $(wc -l < %s) = 1 || exec sleep 1000" % (ready, ready)
    tool = subprocess.Popen([t.tidemark, "compare", "--copies", "2", "-o", folder, "--", "/bin/sh", "-c", script],
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
    while tool.poll() is None and not (os.path.exists(ready) and len(open(ready).readlines()) == 3):
        time.sleep(0.01)
    while tool.poll() is None:  # those that have not executed sleep yet may ignore the first one
        os.killpg(tool.pid, signal.SIGINT)
        time.sleep(0.1)
    stdout, stderr = tool.communicate()
    t.equal("status, stdout", (tool.returncode, stdout), (130, ""))
    t.true("it is told", "stopped; what was recorded is in" in stderr, stderr)
    t.equal("both are there", sorted(os.listdir(folder)), ["alone.tide", "together.tide"])
    t.true("and can be read", t.report(os.path.join(folder, "together.tide"), "cpu")["processes"])


def test_as_nobody(t):
    if os.geteuid() != 0:
        return  # the others have shown it
    tool, program = give_to_nobody(t), t.file("contends")
    shutil.copy(contends(t)[0], program)
    counter = os.path.join(os.path.dirname(tool), "counter")
    t.plain(*AS_NOBODY, tool, "compare", "--quiet", "--copies", str(COPIES), "--json", "--", program, counter, str(ROUNDS))
    t.equal("status, stderr", (t.status, t.stderr), (0, ""))
    found = json.loads(t.stdout)
    right_growth(t, found)
    for side, copies, want in (("alone", 1, 100), ("together", COPIES, 350)):
        got, lost = row(found, "touch")["self"]["faults"][side], found[side]["lost_samples"]
        t.true("faults " + side, want - lost / copies <= got <= want, (got, lost))  # its rings are small


def test_forbidden(t):
    t.plain(t.build("forbids.c", "-O1"), "perf_event_open", t.tidemark, "compare", "--", "/usr/bin/touch", t.file("ran"))
    t.equal("status, ran", (t.status, os.path.exists(t.file("ran"))), (125, False))
    t.equal("lines", len(t.stderr.splitlines()), 1)
    t.true("what it says", "perf_event_open" in t.stderr and "doctor" in t.stderr, t.stderr)


@cases(wrong=(("--copies", "0"), ("--copies", "x"), ("--copies", "2000"), ("--cpu", "0"), ("--faults", "0"),
              ("--metric", "live"), ("--mark-on", "f"), ("--nonsense",), ("-o",)))
def test_wrong_usage(t, wrong):
    t.run("compare", *wrong, *(() if wrong == ("-o",) else ("--", "/bin/true")))
    t.equal("status, lines", (t.status, len(t.stderr.splitlines())), (2, 1))


def test_no_program(t):
    t.run("compare", "--copies", "2")
    t.equal("status, lines", (t.status, len(t.stderr.splitlines())), (2, 1))
