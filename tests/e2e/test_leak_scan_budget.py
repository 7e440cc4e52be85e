"""What is done at the end of a process is bounded, unless --scan=full asks for all of it."""
import os
import re
import resource

from harness import ROOT, cases
from scans import END, EXIT, processes, scans

WORKERS = 6
LEFT = {"reachable": [3001, 3002, 3003], "lost": [3004, 3005]}


def used(run):
    """What run() returns, and the processor time that it took."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    result = run()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return result, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def workers(t, blocks, scan, *more):
    return used(lambda: t.record(t.build("forks_workers.c", "-O1"), str(blocks), str(WORKERS), *more, opts=("--scan=" + scan,)))


@cases(scan=("auto", "full"), more=((), ("deep",)))
def test_blocks_of_workers(t, scan, more):
    """Also what only an inherited block points to; a freed one keeps nothing. Their pages may be shared with their children."""
    children = processes(t, workers(t, 1000, scan, *more)[0])[1:]
    t.equal("workers", len(children), WORKERS)
    for found in children:
        t.equal("kinds of scan", [(scan.kind, scan.reason) for scan in found], [(EXIT, ""), (END, "")])
        t.equal("blocks", found[-1].sizes(), LEFT)


def test_inherited_blocks_are_not_scanned_again(t):
    """For each worker as much as all of its parent's blocks would take several times as long."""
    full, full_s = workers(t, 150000, "full")
    auto, auto_s = workers(t, 150000, "auto")
    off_s = workers(t, 150000, "off")[1]
    t.true("processor time: off %.2f, auto %.2f, full %.2f s" % (off_s, auto_s, full_s), auto_s - off_s < (full_s - off_s) / 2)
    for profile in (full, auto):
        t.equal("blocks", [found[-1].sizes() for found in processes(t, profile)[1:]], [LEFT] * WORKERS)


def test_child_that_nobody_has_seen(t):
    """Pages that a worker shares with it look as if the worker had never written to them. No block is missed."""
    worker = processes(t, t.record(t.build("unseen_child.c", "-O1")))[1]
    t.equal("kinds of scan", [scan.kind for scan in worker], [EXIT, END])
    for scan in worker:
        t.equal("blocks", scan.total("unknown", "lost", "indirect", "reachable"), (100, 77700))


def test_more_than_fits(t):
    """Four million blocks take more than half a second: only a run of more than ten seconds has time for that."""
    program = t.build("many_small.c", "-O1")
    profile = t.record(program, "4000000")
    found, ran = scans(t, profile), t.report(profile)["duration_ns"] / 1e9
    if ran < 10:
        for scan in found:
            t.equal("not classified", scan.total("lost", "indirect", "reachable"), (0, 0))
            t.true("why, and what to do", re.match("to find out what points to 4,000,001 blocks would have taken about .*"
                                                   "'tidemark run --scan=full' does it", scan.reason), scan.reason)
        text = " ".join(t.run("leaks", profile)[0].split())
        t.true("leaks tells it", "unclassified: to find out what points to 4,000,001 blocks" in text and "--scan=full" in text, text)
    t.equal("all are there", found[-1].total("unknown", "lost", "indirect", "reachable")[0], 4000001)
    found = scans(t, t.record(program, "4000000", opts=("--scan=full",)))
    t.equal("in full", [(scan.kind, scan.reason, scan.total("lost")[0], scan.total("reachable")[0]) for scan in found],
            [(EXIT, "", 4, 3999997), (END, "", 4, 3999997)])


def test_words(t):
    t.run("run", "--scan=some", "--", "true")
    t.true("refused", t.status == 2 and "--scan takes 'auto', 'full' or 'off', not 'some'" in t.stderr, t.stderr)
    found = scans(t, t.record(t.build("scanned.c", "-O1", "-I", os.path.join(ROOT, "include")), "exit", opts=("--scan=off",)))
    t.true("off", "--no-scan (--scan=off)" in found[0].reason, found[0].reason)


def test_memory_that_was_never_touched_takes_no_time(t):
    """12 GiB, of which 64 KiB are touched: reading it all as zeros took a second for each GiB, while the program was stopped."""
    profile, seconds = used(lambda: t.record(t.build("sparse.c", "-O1", "-fno-builtin")))
    sizes = scans(t, profile)[-1].sizes()
    t.equal("pointers in the middle and at the end", [sizes["reachable"].count(n) for n in (1001, 1002, 1 << 30, 512 << 10)], [8, 8, 8, 8192])
    t.equal("lost", sizes["lost"], [1003] * 3)
    t.true("processor time: %.2f s" % seconds, seconds < 2)
