"""Worker processes of Python: each has its profile in the one file, and --process all shows them together, exactly."""
import os

from harness import NO_ARENAS, PROGRAMS, cases
from scans import read_profiles
from test_python_stacks import interpreter

JOBS = 10, 20, 30
BYTES, BLOCKS = sum(n * (1000000 + n) for n in JOBS), sum(JOBS)
PROGRAM = os.path.join(PROGRAMS, "worker_pools.py")
POOLS = ("fork", "spawn", "forkserver", "futures-fork", "futures-spawn", "subprocess")


def of_ctypes(t, profile, metric, *arguments):
    """Blocks allocated through ctypes come from libffi, and nothing else does."""
    rows = t.report(profile, metric, "--by", "library", *arguments)["rows"]
    rows = [row for row in rows if row["name"].startswith("libffi")]
    return sum(row["self_bytes"] for row in rows), sum(row["self_count"] for row in rows)


def names(report):
    """--process PID or PID#N of every profile."""
    seen = {}
    for process in report["processes"]:
        seen[process["pid"]] = seen.get(process["pid"], 0) + 1
        yield "%d#%d" % (process["pid"], seen[process["pid"]])


@cases(method=POOLS)
def test_pools(t, method):
    profile = t.record("/usr/bin/python3", PROGRAM, method)
    t.equal("what it says", t.stdout.strip(), "[0, 0, 0]" if method == "subprocess" else str(list(JOBS)))
    together = t.report(profile, "live", "--process", "all")
    each = [t.report(profile, "live", "--process", name) for name in names(together)]
    t.equal("together", together["together"], len(each))
    for key in "allocations", "frees", "reallocations", "bytes_allocated", "live_blocks", "live_bytes", "temporary_allocations":
        t.equal(key, together["totals"][key], sum(report["totals"][key] for report in each))
    for metric in "live", "total":
        t.equal(metric, of_ctypes(t, profile, metric, "--process", "all"), (BYTES, BLOCKS))
    t.equal("largest", of_ctypes(t, profile, "largest", "--process", "all"), (1000000 + max(JOBS), 1))
    workers = [of_ctypes(t, profile, "live", "--process", name) for name in names(together)]
    t.equal("each has what it has", (sum(b for b, _ in workers), sum(n for _, n in workers)), (BYTES, BLOCKS))
    if method == "subprocess":
        t.equal("of each", sorted(workers)[-3:], [(n * (1000000 + n), n) for n in JOBS])
    if method != "spawn":
        return
    for by in "function", "line", "stack", "file", "thread":
        rows = t.report(profile, "live", "--process", "all", "--by", by)["rows"]
        size = sum(row.get("self_bytes", row.get("bytes")) for row in rows)
        t.equal("by " + by, size, together["totals"]["live_bytes"])
    stacks = [row for row in t.report(profile, "live", "--process", "all", "--by", "stack", *NO_ARENAS)["rows"] if row["bytes"] >= 1000000]
    lines = {(os.path.basename(f["file"]), f["function"].split(".")[0]) for row in stacks for f in row["stack"] if f["kind"] == "python"}
    t.true("Python frames", ("worker_pools.py", "work") in lines, lines)


@cases(version=("3.8", "3.13"))
def test_pools_of_other_versions(t, version):
    profile = t.record(interpreter(version), PROGRAM, "spawn")
    t.equal("live", of_ctypes(t, profile, "live", "--process", "all"), (BYTES, BLOCKS))


def test_other_commands(t):
    profile = t.record("/usr/bin/python3", PROGRAM, "fork")
    leaks = t.ask(profile, "leaks", "--process", "all")
    big = [leak for leak in leaks["leaks"] if leak["bytes"] >= 1000000]
    t.equal("lost", (sum(leak["bytes"] for leak in big), sum(leak["count"] for leak in big)), (BYTES, BLOCKS))
    folded = t.file("all.folded")
    t.run("flame", profile, "--process", "all", "--folded", "--output", folded)
    t.equal("flame", t.status, 0)
    with open(folded) as lines:
        t.equal("folded", sum(int(line.rsplit(" ", 1)[1]) for line in lines),
                t.report(profile, "live", "--process", "all")["totals"]["live_bytes"])
    # What a worker did last may still be in its stack: its last block then reads as reachable.
    lost = [leak for leak in big if leak["kind"] == "lost"]
    t.equal("one place", len(lost), 1)
    t.true("all but the last ones", BLOCKS - 3 <= lost[0]["count"] <= BLOCKS, lost)
    findings = t.ask(profile, "findings", "--process", "all")["findings"]
    t.equal("findings", [(f["bytes"], f["count"]) for f in findings if f["kind"] == "leak"][:1],
            [(lost[0]["bytes"], lost[0]["count"])])
    threads = t.ask(profile, "threads", "--process", "all")["threads"]
    t.equal("threads", sum(x["live_bytes"] for x in threads),
            t.report(profile, "live", "--process", "all")["totals"]["live_bytes"])
    difference = t.ask(profile, "diff", profile, "--process", "all")
    t.true("diff", difference["same"] and difference["a"]["together"] == difference["b"]["together"] == 4, difference["a"])
    for command in "growth", "marks", "maps":
        _, stderr, status = t.run(command, profile, "--process", "all")
        t.true(command, status == 2 and "one process only" in stderr, (status, stderr))


def test_peak_of_processes_at_the_same_time(t):
    profile = t.record("/usr/bin/python3", PROGRAM, "together")
    t.equal("at the peak", of_ctypes(t, profile, "peak", "--process", "all"), (BYTES, BLOCKS))
    t.equal("at the end", of_ctypes(t, profile, "live", "--process", "all"), (0, 0))
    whole = t.report(profile, "peak", "--process", "all")
    peaks = [t.report(profile, "peak", "--process", name)["totals"]["peak_bytes"] for name in names(whole)]
    t.true("peak", BYTES <= whole["totals"]["peak_bytes"] <= sum(peaks), (whole["totals"], peaks))
    t.equal("its rows", sum(row["self_bytes"] for row in whole["rows"]), whole["totals"]["peak_bytes"])


def test_peak_of_processes_in_turn(t):
    """What one left when it ended is not there when the next one begins."""
    profile = t.record("/usr/bin/python3", PROGRAM, "in-turn")
    t.equal("at the peak", of_ctypes(t, profile, "peak", "--process", "all"), (30 * 1000030, 30))
    t.equal("at the end", of_ctypes(t, profile, "live", "--process", "all"), (BYTES, BLOCKS))
    whole = t.report(profile, "peak", "--process", "all")
    t.equal("its rows", sum(row["self_bytes"] for row in whole["rows"]), whole["totals"]["peak_bytes"])
    t.true("peak", 30 * 1000030 <= whole["totals"]["peak_bytes"] < 50 * 1000000, whole["totals"])


def test_one_ends_before_the_next_begins(t):
    """Though the collector was busy, and heard of both at the same moment."""
    profile = t.record("/usr/bin/python3", PROGRAM, "killed")
    _, *workers = read_profiles(t, profile)[0]
    times = sorted((worker["start"], worker["start"] + worker["duration"]) for worker in workers)
    t.equal("workers", len(times), 3)
    for before, after in zip(times, times[1:]):
        t.true("one after the other", before[1] <= after[0], times)
    t.equal("at the peak", of_ctypes(t, profile, "peak", "--process", "all"), (30 * 1000030, 30))
