#!/usr/bin/env python3
"""Measures tidemark against heaptrack: bench/run.py [--only NAME] [--rounds N] [--synthetic] …

Each workload runs plain, under tidemark and under heaptrack, in turn, so that a machine that is slower for a while is so for
all three; medians are compared. Memory is taken in runs of its own, because watching costs time.
What is timed is what a user waits for: the whole command, until the profile is written.
"""
import argparse
import json
import math
import os
import subprocess
import sys
import time

import figures
import measure
import workloads
from figures import median

MIB = 1024 * 1024
# A node is 24 bytes (src/wire/layout.h); its index has up to four places of 4 bytes for each node in it.
TRIE_NODE_BYTES = 24 + 4 * 4
# An extra time too small to tell from noise counts as this much of heaptrack's: it must not make the mean look good.
SMALLEST_SHARE = 0.01


class Bench:
    def __init__(self, options):
        self.tidemark = os.path.abspath(options.tidemark)
        self.rounds = options.rounds
        self.profile = os.path.join(workloads.SCRATCH, "bench.tide")
        self.rival_profile = os.path.join(workloads.SCRATCH, "bench.heaptrack")
        self.ways = {"plain": (), "tidemark": (self.tidemark, "run", "--quiet", "-o", self.profile, "--")}
        if options.heaptrack:
            self.ways["heaptrack"] = ("heaptrack", "-o", self.rival_profile)
        self.collector = os.path.basename(os.path.realpath(self.tidemark))

    def rival_size(self):
        return max((os.path.getsize(self.rival_profile + end) for end in (".zst", ".gz")
                    if os.path.exists(self.rival_profile + end)), default=None)

    def report(self):
        """(seconds that `tidemark report` takes, what it says as JSON)."""
        times = []
        for _ in range(3):
            begin = time.perf_counter()
            subprocess.run([self.tidemark, "report", self.profile], check=True, stdout=subprocess.DEVNULL)
            times.append(time.perf_counter() - begin)
        as_json = subprocess.run([self.tidemark, "report", self.profile, "--json"], check=True, stdout=subprocess.PIPE)
        return median(times), json.loads(as_json.stdout)

    def measure(self, name, workload):
        """All figures of one workload."""
        costs = {way: [] for way in self.ways}
        measure.run(workload)  # warms the caches
        for number in range(self.rounds):
            for way, prefix in self.ways.items():
                progress("%s: round %d of %d, %s" % (name, number + 1, self.rounds, way))
                costs[way].append(measure.run(workload, prefix))
        progress("%s: memory" % name)
        alone = measure.memory(workload)
        recorded = measure.memory(workload, self.ways["tidemark"])
        report_s, report = self.report()
        totals = report["totals"]
        progress("")

        wall = {way: median([c.wall_s for c in costs[way]]) for way in costs}
        cpu = {way: median([c.cpu_s for c in costs[way]]) for way in costs}
        extra = {way: wall[way] - wall["plain"] for way in costs}
        share = None
        if "heaptrack" in costs:
            share = max(extra["tidemark"] / max(extra["heaptrack"], 1e-9), SMALLEST_SHARE) if extra["heaptrack"] > 0 else None
        # The program is whatever of the two runs is the same executable; it may have helpers, the largest counts.
        programs = [program for program in alone if program in recorded and program != self.collector]
        return {
            "name": name,
            "wall_s": wall,
            "cpu_s": cpu,
            "ratio_tidemark": wall["tidemark"] / wall["plain"],
            "ratio_heaptrack": wall["heaptrack"] / wall["plain"] if "heaptrack" in wall else None,
            "extra_share": share,
            "program_rss_extra": max((recorded[p] - alone[p] for p in programs), default=None),
            "collector_rss": recorded.get(self.collector),
            "size_tidemark": os.path.getsize(self.profile),
            "size_heaptrack": self.rival_size() if "heaptrack" in wall else None,
            "allocations": totals["allocations"],
            "trie_bytes": report["stack_nodes"] * TRIE_NODE_BYTES,
            "events_per_s": (totals["allocations"] + totals["frees"]) / wall["tidemark"],
            "report_s": report_s,
        }


def progress(text):
    if sys.stderr.isatty():
        sys.stderr.write("\r\033[K" + text)
        sys.stderr.flush()


COLUMNS = (  # heading, key, how it is written
    ("workload", lambda r: r["name"], "%s"),
    ("plain s", lambda r: r["wall_s"]["plain"], "%.2f"),
    ("wall tidemark", lambda r: r["ratio_tidemark"], "%.2fx"),
    ("wall heaptrack", lambda r: r["ratio_heaptrack"], "%.2fx"),
    ("extra/heaptrack's", lambda r: r["extra_share"], "%.3f"),
    ("CPU tidemark s", lambda r: r["cpu_s"]["tidemark"], "%.2f"),
    ("CPU heaptrack s", lambda r: r["cpu_s"].get("heaptrack"), "%.2f"),
    ("program +RSS MiB", lambda r: mib(r["program_rss_extra"]), "%.1f"),
    ("collector RSS MiB", lambda r: mib(r["collector_rss"]), "%.1f"),
    ("size tidemark kB", lambda r: kb(r["size_tidemark"]), "%.0f"),
    ("size heaptrack kB", lambda r: kb(r["size_heaptrack"]), "%.0f"),
    ("M events/s", lambda r: r["events_per_s"] / 1e6, "%.2f"),
    ("report s", lambda r: r["report_s"], "%.2f"),
)


def mib(size):
    return None if size is None else size / MIB


def kb(size):
    return None if size is None else size / 1000


def print_table(results):
    cells = [[heading for heading, _, _ in COLUMNS]]
    for result in results:
        cells.append(["-" if get(result) is None else form % get(result) for _, get, form in COLUMNS])
    widths = [max(len(row[i]) for row in cells) for i in range(len(COLUMNS))]
    for row in cells:
        print("  ".join(cell.ljust(w) if i == 0 else cell.rjust(w) for i, (cell, w) in enumerate(zip(row, widths))))


def geometric_mean(values):
    return math.exp(sum(math.log(v) for v in values) / len(values)) if values else None


def verdicts(results):
    """(limit in words, figure in words, whether it holds) for each line of the issue that these results decide."""
    shares = {r["name"]: r["extra_share"] for r in results if r["extra_share"] is not None}

    def worst(key, what=max):
        known = [r for r in results if key(r) is not None]
        return what(known, key=key) if known else None

    if shares:
        mean, name = geometric_mean(list(shares.values())), max(shares, key=shares.get)
        yield "mean extra time at most 0.10 of heaptrack's", "%.3f" % mean, mean <= 0.10
        yield "no extra time above 0.20 of heaptrack's", "%.3f (%s)" % (shares[name], name), shares[name] <= 0.20
    slow = worst(lambda r: r["ratio_tidemark"])
    yield "no program above 2x plain", "%.2fx (%s)" % (slow["ratio_tidemark"], slow["name"]), slow["ratio_tidemark"] <= 2
    if shares:
        cpu = worst(lambda r: r["cpu_s"]["tidemark"] / r["cpu_s"]["heaptrack"])
        part = cpu["cpu_s"]["tidemark"] / cpu["cpu_s"]["heaptrack"]
        yield "CPU of all processes below heaptrack's", "%.2f of it (%s)" % (part, cpu["name"]), part < 1
        large = worst(lambda r: r["size_heaptrack"] and r["size_tidemark"] / r["size_heaptrack"])
        if large:
            part = large["size_tidemark"] / large["size_heaptrack"]
            yield "no file larger than heaptrack's", "%.2f of it (%s)" % (part, large["name"]), part <= 1
    late = worst(lambda r: r["report_s"])
    yield "report within 1 s", "%.2f s (%s)" % (late["report_s"], late["name"]), late["report_s"] <= 1
    fat = worst(lambda r: r["program_rss_extra"] and r["program_rss_extra"] - r["trie_bytes"])
    if fat:
        extra, trie = fat["program_rss_extra"] / MIB, fat["trie_bytes"] / MIB
        yield ("program's RSS + at most 9 MiB and its stack trie",
               "%.1f MiB, of which the trie %.1f (%s)" % (extra, min(trie, extra), fat["name"]), extra - trie <= 9)


def figure_verdicts(bench):
    prefix = bench.ways["tidemark"]
    progress("how it scales with threads")
    plain, recorded = figures.scaling(prefix, min(bench.rounds, 3))
    yield "4 threads scale as plain, within 25 %", "T(4)/T(1) %.2f, plain %.2f" % (recorded, plain), recorded <= 1.25 * plain
    progress("how the file grows")
    short, long = figures.file_growth(prefix, bench.profile)
    yield "10x the iterations at most 1.3x the file", "%.2fx (%d to %d bytes)" % (long / short, short, long), long <= 1.3 * short
    progress("collector's memory for live blocks")
    each = figures.collector_per_block(prefix, bench.collector)
    yield "collector at most 64 bytes per live block", "%.1f" % each, each <= 64
    progress("")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tidemark", default=os.path.join(os.path.dirname(workloads.HERE), "build", "tidemark"))
    parser.add_argument("--only", metavar="NAME", action="append", help="only this workload (repeatable): %s" % ", ".join(workloads.ALL))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", metavar="FILE", help="write all figures there too")
    parser.add_argument("--no-heaptrack", dest="heaptrack", action="store_false")
    parser.add_argument("--synthetic", action="store_true", help="the synthetic program over all its parameters instead of the real ones")
    options = parser.parse_args()
    unknown = [name for name in options.only or () if name not in workloads.ALL and not options.synthetic]
    if unknown:
        sys.exit("bench: no workload %s; there are %s" % (unknown[0], ", ".join(workloads.ALL)))
    if not os.access(options.tidemark, os.X_OK):
        sys.exit("bench: %s is not there; run make first, or name it with --tidemark" % options.tidemark)

    os.makedirs(workloads.SCRATCH, exist_ok=True)
    bench = Bench(options)
    if options.synthetic:
        chosen = {name: w for name, w in figures.grid().items() if not options.only or any(o in name for o in options.only)}
    else:
        chosen = {name: make() for name, make in workloads.ALL.items() if not options.only or name in options.only}
    results = [bench.measure(name, workload) for name, workload in chosen.items()]
    if not results:
        sys.exit("bench: no synthetic combination has that in its name; they read like 'depth 20, 4 thr, 1 stack, 0 live'")
    print("medians of %d rounds, %d processors" % (options.rounds, os.cpu_count()))
    print_table(results)
    for result in results:
        if result["allocations"] < workloads.LEAST_ALLOCATIONS:
            print("warning: %s made only %d allocations; is it running as meant?" % (result["name"], result["allocations"]))

    limits = list(verdicts(results)) if not options.synthetic else []
    if options.synthetic or not options.only:
        limits += figure_verdicts(bench)
    print()
    mean = geometric_mean([r["extra_share"] for r in results if r["extra_share"] is not None])
    if mean is not None:
        print("geometric mean of extra time relative to heaptrack's: %.3f" % mean)
    for limit, figure, holds in limits:
        print("%-5s %s: %s" % ("holds" if holds else "FAILS", limit, figure))
    if options.json:
        with open(options.json, "w") as out:
            json.dump({"rounds": options.rounds, "results": results, "extra_share_mean": mean,
                       "limits": [{"limit": l, "figure": f, "holds": bool(h)} for l, f, h in limits]}, out, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
