"""Figures from the synthetic program: the table over depth, threads, stacks and live blocks; how it scales with threads;
how the file grows with the length of a run; what a live block costs the collector."""
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
        # Sibling calls would take the frames away that are to be measured.
        subprocess.run(["gcc", "-O2", "-g", "-fno-optimize-sibling-calls", "-fno-inline", "-pthread", source, "-o", target], check=True)
    return target


def synthetic(depth=20, threads=1, stacks=1, live=0, pairs=PAIRS):
    return workloads.Workload([program()] + [str(n) for n in (depth, threads, stacks, live, pairs)])


def grid():
    """All combinations: {name: workload}."""
    table = {}
    for depth, threads, stacks, live in itertools.product(DEPTHS, THREADS, STACKS, LIVE):
        name = "depth %d, %d thr, %s, %s" % (depth, threads, "1 stack" if stacks == 1 else "4096 stacks", "1M live" if live else "0 live")
        table[name] = synthetic(depth, threads, stacks, live)
    return table


def median(values):
    ordered = sorted(values)
    return (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2


def scaling(prefix, rounds, pairs=10000000):
    """T(4 threads) / T(1 thread), the same work for each thread: (plain, recorded)."""
    walls = {}
    for _ in range(rounds):
        for recorded, threads in itertools.product((False, True), (1, 4)):
            cost = measure.run(synthetic(20, threads, 4096, pairs=pairs), prefix if recorded else ())
            walls.setdefault((recorded, threads), []).append(cost.wall_s)
    return tuple(median(walls[recorded, 4]) / median(walls[recorded, 1]) for recorded in (False, True))


def file_growth(prefix, profile, pairs=2000000):
    """Size of the profile of a steady loop, and of ten times as many iterations: (bytes, bytes)."""
    sizes = []
    for times in (1, 10):
        measure.run(synthetic(20, 1, 4096, pairs=pairs * times), prefix)
        sizes.append(os.path.getsize(profile))
    return tuple(sizes)


def collector_per_block(prefix, collector, live=2000000):
    """What the collector's memory grows by for each live block, in bytes."""
    none = measure.memory(synthetic(20, 1, 1, 0), prefix).get(collector, 0)
    many = measure.memory(synthetic(20, 1, 1, live), prefix).get(collector, 0)
    return (many - none) / live
