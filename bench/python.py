#!/usr/bin/env python3
"""Measures tidemark on Python scripts, against memray and tracemalloc: bench/python.py [--rounds N] [--only NAME] [--way WAY] …

In each round a script runs plain and under every tool, one after the other, and each time is compared with the plain one of
the same round, so that a machine that is slower for a while is so for all; another one begins in every round, and the medians
of these ratios count. What is timed is what a user waits for: the whole command, until the profile is written. The scripts
also tell how long their work itself took: without the tool's own start, which is long for those written in Python, and its
end. They take one to four seconds plain, as the programs of bench/run.py do; an empty script is measured too, for what every
run costs, and is not part of the means.

Every tool runs as it does by default, but for what its column says. These defaults differ: tidemark has the native frames and
the threads of every allocation, memray has native frames only in its column "native", tracemalloc has one frame.

A limit of a few percent is less than what a busy machine does to one run: calls are judged by pairs of runs, one right after
the other, either first in turn.

memray and numpy come from PyPI, into an environment of their own under bench/out; where that fails, they are left out.
"""
import argparse
import os
import resource
import subprocess
import sys
import time

import workloads
from figures import median
from run import geometric_mean, progress

SCRIPTS = os.path.join(workloads.HERE, "scripts")
NAMES = ("calls", "objects", "json_texts", "regex", "arrays", "server", "empty")
NEEDS = {"arrays": "numpy"}
PACKAGES = ("memray", "numpy")
PAIRS = 21


def environment(python):
    """The interpreter of an environment that has the packages, as far as they could be had."""
    version = subprocess.check_output([python, "-c", "import platform; print(platform.python_version())"], text=True).strip()
    folder = os.path.join(workloads.OUT, "python-" + version)
    inside = os.path.join(folder, "bin", "python3")
    if not os.path.exists(inside):
        progress("making %s" % folder)
        if subprocess.run([python, "-m", "venv", folder]).returncode:
            return python
    for package in PACKAGES:
        if not has(inside, package):
            progress("installing " + package)
            subprocess.run([inside, "-m", "pip", "install", "--quiet", package], stdout=subprocess.DEVNULL)
    progress("")
    return inside


def has(python, package):
    return subprocess.run([python, "-c", "import " + package], stderr=subprocess.DEVNULL).returncode == 0


def children_s():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


class Bench:
    def __init__(self, options):
        self.python = environment(options.python)
        tidemark, scratch = os.path.abspath(options.tidemark), workloads.SCRATCH
        run = (tidemark, "run", "--quiet", "-o", os.path.join(scratch, "bench.tide"))
        memray = (self.python, "-m", "memray", "run", "-q", "-f", "-o", os.path.join(scratch, "bench.memray"))
        self.ways = {"plain": (self.python,), "tidemark": (*run, "--", self.python),
                     "frames off": (*run, "--python=off", "--", self.python)}
        self.left_out = []
        refused = subprocess.run([*run, "--python=objects", "--", "true"], stderr=subprocess.PIPE, text=True)
        if refused.returncode:
            self.left_out.append("objects: %s" % refused.stderr.strip())
        else:
            self.ways["objects"] = (*run, "--python=objects", "--", self.python)
        if has(self.python, "memray"):
            self.ways["memray"] = memray
            self.ways["memray native"] = (*memray, "--native")
            self.ways["memray objects"] = (*memray, "--trace-python-allocators")
        else:
            self.left_out.append("memray: it cannot be installed here")
        self.ways["tracemalloc"] = (self.python, "-X", "tracemalloc")
        if options.way:
            self.ways = {way: self.ways[way] for way in self.ways if way in ("plain", "tidemark", *options.way)}

    def run(self, name, way):
        """(seconds waited for, seconds of the work itself, seconds of processor time in all processes)."""
        begin, cpu_s = time.perf_counter(), children_s()
        done = subprocess.run([*self.ways[way], os.path.join(SCRIPTS, name + ".py")], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"})
        wall_s = time.perf_counter() - begin
        if done.returncode:
            sys.exit("bench: %s under %s ended with %d: %s" % (name, way, done.returncode, done.stderr.strip()[-500:]))
        return wall_s, float(done.stdout.split()[-1]), children_s() - cpu_s

    def measure(self, name, rounds):
        """{way: Result}"""
        ways = list(self.ways)
        costs = {way: [] for way in ways}
        self.run(name, "plain")  # warms the caches
        for number in range(rounds):
            first = number * len(ways) // rounds
            for way in ways[first:] + ways[:first]:
                progress("%s: round %d of %d, %s" % (name, number + 1, rounds, way))
                costs[way].append(self.run(name, way))
        progress("")
        return {way: Result(costs[way], costs["plain"]) for way in ways}

    def pairs(self, name, way):
        """Medians of what run() tells, as ratios to the plain run just before or after."""
        ratios = []
        for number in range(PAIRS):
            progress("%s: pair %d of %d" % (name, number + 1, PAIRS))
            order = ("plain", way) if number % 2 else (way, "plain")
            cost = {w: self.run(name, w) for w in order}
            ratios.append([own / base for own, base in zip(cost[way], cost["plain"])])
        progress("")
        return [median(r) for r in zip(*ratios)]


class Result:
    """Medians of what run() tells: in seconds, and as ratios to the plain run of the same round."""

    def __init__(self, costs, plain):
        self.seconds = [median(c) for c in zip(*costs)]
        self.ratio = [median([a / b for a, b in zip(own, base)]) for own, base in zip(zip(*costs), zip(*plain))]


WALL, WORK, CPU = range(3)


def print_table(title, results, ways, what):
    print(title)
    rows = [["script", "plain s", *ways[1:]]]
    for name, cost in results.items():
        if name == "empty":
            rows.append([name, "%.2f" % cost["plain"].seconds[what], *("%.2f s" % cost[w].seconds[what] for w in ways[1:])])
        else:
            rows.append([name, "%.2f" % cost["plain"].seconds[what], *("%.2fx" % cost[w].ratio[what] for w in ways[1:])])
    rows.append(["geometric mean", "", *("%.2fx" % mean(results, w, what) for w in ways[1:])])
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        print("  ".join(cell.ljust(w) if i == 0 else cell.rjust(w) for i, (cell, w) in enumerate(zip(row, widths))))


def mean(results, way, what=WALL):
    return geometric_mean([cost[way].ratio[what] for name, cost in results.items() if name != "empty" or len(results) == 1])


def verdicts(results, ways, calls):
    """(limit in words, figure in words, whether it holds). `calls`: ratios of pairs, or None."""
    default = mean(results, "tidemark")
    yield "default mode at most 1.15x over all scripts", "%.2fx" % default, default <= 1.15
    if calls:
        yield ("calls at most 2 % slower", "%.1f %% (the whole command %.1f %%), in %d pairs" % (
            100 * calls[WORK] - 100, 100 * calls[WALL] - 100, PAIRS), calls[WORK] <= 1.02)
    if "objects" in ways:
        objects = mean(results, "objects")
        yield "every object at most 1.5x", "%.2fx" % objects, objects <= 1.5
    for way, other in (("tidemark", "memray"), ("objects", "memray objects")):
        if way in ways and other in ways:
            own, theirs = ([mean(results, w, what) for what in (WALL, WORK)] for w in (way, other))
            yield ("%s below %s" % (way, other), "%.2fx against %.2fx (the work alone %.2fx against %.2fx)" % (
                own[WALL], theirs[WALL], own[WORK], theirs[WORK]), own[WALL] < theirs[WALL] and own[WORK] < theirs[WORK])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tidemark", default=os.path.join(os.path.dirname(workloads.HERE), "build", "tidemark"))
    parser.add_argument("--python", default=sys.executable, help="the interpreter to measure (this one)")
    parser.add_argument("--only", metavar="NAME", action="append", choices=NAMES, help="only this script (repeatable)")
    parser.add_argument("--way", metavar="WAY", action="append", help="only this column (repeatable), plain and tidemark")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    if not os.access(options.tidemark, os.X_OK):
        sys.exit("bench: %s is not there; run make first, or name it with --tidemark" % options.tidemark)
    os.makedirs(workloads.SCRATCH, exist_ok=True)
    bench = Bench(options)
    ways, results = list(bench.ways), {}
    for name in options.only or NAMES:
        if name in NEEDS and not has(bench.python, NEEDS[name]):
            bench.left_out.append("%s: %s cannot be installed here" % (name, NEEDS[name]))
        else:
            results[name] = bench.measure(name, options.rounds)
    calls = bench.pairs("calls", "tidemark") if "calls" in results else None
    print("medians of %d rounds, %d processors, %s" % (
        options.rounds, os.cpu_count(), subprocess.check_output([bench.python, "--version"], text=True).strip()))
    print_table("time waited for", results, ways, WALL)
    print_table("\ntime of the work itself, without the start and the end", results, ways, WORK)
    print_table("\nprocessor time of all processes, for a machine that is busy with other things", results, ways, CPU)
    for line in bench.left_out:
        print("left out: " + line)
    print()
    for limit, figure, holds in verdicts(results, ways, calls):
        print("%-5s %s: %s" % ("holds" if holds else "FAILS", limit, figure))
    return 0


if __name__ == "__main__":
    sys.exit(main())
