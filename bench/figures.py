"""Figures from the synthetic program: the table over depth, threads, stacks and live blocks; how it scales with threads;
how the file grows with the length of a run; what live blocks and stacks cost in memory. And from a script of many processes."""
import itertools
import os
import subprocess

import measure
import workloads

DEPTHS, THREADS, STACKS, LIVE = (3, 20, 100), (1, 2, 4), (1, 4096), (0, 1000000)
PAIRS = 2000000


def program():
    """Builds bench/synthetic.c; returns its path."""
    source = os.path.join(workloads.HERE, "synthetic.c")
    target = os.path.join(workloads.OUT, "synthetic")
    if not os.path.exists(target) or os.path.getmtime(target) < os.path.getmtime(source):
        os.makedirs(workloads.OUT, exist_ok=True)
        # Sibling calls would take the frames away that are to be measured.
        subprocess.run(["gcc", "-O2", "-g", "-fno-optimize-sibling-calls", "-fno-inline", "-pthread", source, "-o", target], check=True)
    return target


def synthetic(depth=20, threads=1, stacks=1, live=0, pairs=PAIRS):
    return workloads.Workload([program()] + [str(n) for n in (depth, threads, stacks, live, pairs)])


def grid(scale=1):
    """All combinations: {name: workload}; `scale`: of the number of allocations, and of live blocks."""
    table = {}
    for depth, threads, stacks, live in itertools.product(DEPTHS, THREADS, STACKS, LIVE):
        name = "depth %d, %d thr, %s, %s" % (depth, threads, "1 stack" if stacks == 1 else "4096 stacks", "1M live" if live else "0 live")
        table[name] = synthetic(depth, threads, stacks, int(live * scale), int(PAIRS * scale))
    return table


def median(values):
    ordered = sorted(values)
    return (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2


# heaptrack's second process sometimes takes all memory there is for a program of several threads, or never ends.
RIVAL_BOUNDS = ("timeout", "900", "prlimit", "--as=%d" % (8 << 30))


def threads(ways, rounds, pairs=3000000, counts=(1, 2, 4, 8)):
    """{way: {threads: seconds}}: each thread makes the same number of allocations, whatever their number is. None: heaptrack
    failed."""
    walls = {}
    for _ in range(rounds):
        for count, (way, prefix) in itertools.product(counts, ways.items()):
            work, seconds = synthetic(20, count, 4096, pairs=pairs), walls.setdefault((way, count), [])
            try:
                seconds.append(measure.run(work, (*RIVAL_BOUNDS, *prefix) if way == "heaptrack" else prefix).wall_s)
            except RuntimeError:
                if way != "heaptrack":
                    raise
    return {way: {count: median(walls[way, count]) if walls[way, count] else None for count in counts} for way in ways}


def processes(ways, rounds, commands=500):
    """{way: Cost} of a shell script of short commands, one after the other. heaptrack records the shell alone."""
    script = "i=0; while [ $i -lt %d ]; do /bin/true || exit 1; i=$((i + 1)); done" % commands
    costs = {}
    for _ in range(rounds):
        for way, prefix in ways.items():
            costs.setdefault(way, []).append(measure.run(workloads.Workload(["sh", "-c", script]), prefix))
    return {way: measure.Cost(median([c.wall_s for c in costs[way]]), median([c.cpu_s for c in costs[way]]), 0) for way in ways}


def memory(prefix, collector, live=2000000, stacks=65536, pairs=PAIRS):
    """What recording adds to the program's resident size, and the collector's: in bytes, for a program with next to nothing
    alive, and how much more for each live block and for each distinct stack: {"program": (bytes, block, stack), "collector": …}.
    And the program's heap for each live block, in bytes."""
    def sizes(*parameters):
        work = synthetic(*parameters, pairs=pairs)
        alone, recorded = measure.memory(work), measure.memory(work, prefix)
        name = os.path.basename(program())
        return {"program": recorded.get(name, 0) - alone.get(name, 0), "collector": recorded.get(collector, 0)}, alone.get(name, 0)

    (none, base), (blocks, heap), (paths, _) = sizes(20, 1, 1, 0), sizes(20, 1, 1, live), sizes(20, 1, stacks, 0)
    return {who: (none[who], (blocks[who] - none[who]) / live, (paths[who] - none[who]) / stacks) for who in none}, (heap - base) / live


def file_growth(prefix, profile, pairs=2000000):
    """Size of the profile of a steady loop, and of ten times as many iterations: (bytes, bytes)."""
    sizes = []
    for times in (1, 10):
        measure.run(synthetic(20, 1, 4096, pairs=pairs * times), prefix)
        sizes.append(os.path.getsize(profile))
    return tuple(sizes)

