#!/usr/bin/env python3
"""Measures the ways of recording that are meant for production: bench/light.py [--only NAME] [--rounds N] [--json FILE]

Each workload of bench/run.py runs plain, under `run --dormant`, under `run --sample` and plain once more, in turn; medians of
the time that a user waits and of the processor time of all processes are compared. The goals are 1 % for dormant and 2 % for
sampled. The second plain run shows how far two medians differ when nothing does.
"""
import argparse
import json
import os
import sys

import measure
import workloads
from figures import median

GOALS = {"dormant": 1.01, "sample": 1.02}


def ways(tidemark):
    profile = os.path.join(workloads.SCRATCH, "light.tide")
    recorded = (tidemark, "run", "--quiet", "-o", profile)
    return {"plain": (), **{way: (*recorded, "--" + way, "--") for way in GOALS}, "again": ()}


def compared(name, workload, rounds, tidemark):
    """{way: (time waited for, processor time)}, each as a ratio to plain."""
    costs = {way: [] for way in ways(tidemark)}
    measure.run(workload)  # warms the caches
    for number in range(rounds):
        for way, prefix in ways(tidemark).items():
            if sys.stderr.isatty():
                print("\r\033[K%s: round %d of %d, %s" % (name, number + 1, rounds, way), end="", file=sys.stderr)
            costs[way].append(measure.run(workload, prefix))
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr)
    wall = {way: median([c.wall_s for c in costs[way]]) for way in costs}
    cpu = {way: median([c.cpu_s for c in costs[way]]) for way in costs}
    return {"plain_s": wall["plain"], **{way: (wall[way] / wall["plain"], cpu[way] / cpu["plain"]) for way in costs if way != "plain"}}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tidemark", default=os.path.join(workloads.HERE, "..", "build", "tidemark"))
    parser.add_argument("--only", action="append", metavar="NAME", help="only this workload (repeatable): " + ", ".join(workloads.ALL))
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--json", metavar="FILE", help="write all figures there too")
    options = parser.parse_args()
    os.makedirs(workloads.SCRATCH, exist_ok=True)
    print("| program | plain | dormant | CPU | sampled | CPU | plain again | CPU |\n|---|---|---|---|---|---|---|---|")
    rows, missed = {}, 0
    for name in options.only or workloads.ALL:
        row = rows[name] = compared(name, workloads.ALL[name](), options.rounds, os.path.abspath(options.tidemark))
        print("| %s | %.2f s | %.3f | %.3f | %.3f | %.3f | %.3f | %.3f |" % (name, row["plain_s"], *row["dormant"], *row["sample"], *row["again"]), flush=True)
        missed += sum(row[way][0] > goal for way, goal in GOALS.items())
    print("%d of %d ratios are above the goals (1.01 dormant, 1.02 sampled)" % (missed, len(rows) * len(GOALS)))
    if options.json:
        with open(options.json, "w") as out:
            json.dump(rows, out, indent=1)


if __name__ == "__main__":
    main()
