#!/usr/bin/env python3
"""Measures tidemark against heaptrack: bench/run.py [--only NAME] [--rounds N] [--synthetic] …

Each workload runs plain, under tidemark and under heaptrack, in turn, so that a machine that is slower for a while is so for
all three; medians are compared. Memory is taken in runs of its own, because watching costs time.
What is timed is what a user waits for: the whole command, until the profile is written.

Everything is measured twice: free to use all processors, and with the whole command pinned to one (taskset), as in a batch
slot or in a container with one processor, where a collector takes its time from the program.

Three more tables: threads that all allocate, a script of many short processes, and memory. --only takes their names too.
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
TABLES = ("threads", "processes", "memory")
# How many times as long as plain a program may take, where that is not 1.6: here Python frames are read at every object.
RATIO_MOST = {"python": 1.9}
# An extra time too small to tell from noise counts as this much of heaptrack's: it must not make the mean look good.
SMALLEST_SHARE = 0.01


class Bench:
    def __init__(self, options):
        self.tidemark = os.path.abspath(options.tidemark)
        self.rounds = options.rounds
        self.scale = options.scale
        self.pin = ("taskset", "-c", str(min(os.sched_getaffinity(0)))) if options.pinned else None
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
        costs, pinned = ({way: [] for way in self.ways} for _ in range(2))
        measure.run(workload)  # warms the caches
        for number in range(self.rounds):
            for way, prefix in self.ways.items():
                progress("%s: round %d of %d, %s" % (name, number + 1, self.rounds, way))
                costs[way].append(measure.run(workload, prefix))
                if self.pin:
                    pinned[way].append(measure.run(workload, (*self.pin, *prefix)))
        progress("%s: memory" % name)
        alone = measure.memory(workload)
        recorded = measure.memory(workload, self.ways["tidemark"])
        report_s, report = self.report()
        totals = report["totals"]
        progress("")

        wall = {way: median([c.wall_s for c in costs[way]]) for way in costs}
        cpu = {way: median([c.cpu_s for c in costs[way]]) for way in costs}
        pinned_wall = {way: median([c.wall_s for c in pinned[way]]) for way in pinned} if self.pin else {}
        # The program is whatever of the two runs is the same executable; it may have helpers, the largest counts.
        programs = [program for program in alone if program in recorded and program != self.collector]
        return {
            "name": name,
            "wall_s": wall,
            "cpu_s": cpu,
            "pinned_wall_s": pinned_wall,
            "ratio_tidemark": ratio(wall, "tidemark"),
            "ratio_heaptrack": ratio(wall, "heaptrack"),
            "extra_share": extra_share(wall),
            "pinned_ratio_tidemark": ratio(pinned_wall, "tidemark"),
            "pinned_ratio_heaptrack": ratio(pinned_wall, "heaptrack"),
            "pinned_extra_share": extra_share(pinned_wall),
            "cpu_ratio_tidemark": ratio(cpu, "tidemark"),
            "cpu_ratio_heaptrack": ratio(cpu, "heaptrack"),
            "program_rss_extra": max((recorded[p] - alone[p] for p in programs), default=None),
            "collector_rss": recorded.get(self.collector),
            "size_tidemark": os.path.getsize(self.profile),
            "size_heaptrack": self.rival_size() if "heaptrack" in wall else None,
            "allocations": totals["allocations"],
            "trie_bytes": report["stack_nodes"] * TRIE_NODE_BYTES,
            "events_per_s": (totals["allocations"] + totals["frees"]) / wall["tidemark"],
            "report_s": report_s,
        }


def ratio(seconds, way):
    """To plain; None: it was not measured."""
    return seconds[way] / seconds["plain"] if way in seconds else None


def extra_share(wall):
    """tidemark's extra time as a share of heaptrack's; None: that was not measured, or has none."""
    extra = {way: wall[way] - wall["plain"] for way in wall}
    return max(extra["tidemark"] / extra["heaptrack"], SMALLEST_SHARE) if extra.get("heaptrack", 0) > 0 else None


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
    ("pinned tidemark", lambda r: r["pinned_ratio_tidemark"], "%.2fx"),
    ("pinned heaptrack", lambda r: r["pinned_ratio_heaptrack"], "%.2fx"),
    ("pinned extra/heaptrack's", lambda r: r["pinned_extra_share"], "%.3f"),
    ("CPU tidemark/plain", lambda r: r["cpu_ratio_tidemark"], "%.2fx"),
    ("CPU heaptrack/plain", lambda r: r["cpu_ratio_heaptrack"], "%.2fx"),
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
    print_cells([[heading for heading, _, _ in COLUMNS]] +
                [["-" if get(result) is None else form % get(result) for _, get, form in COLUMNS] for result in results])


def print_cells(cells):
    widths = [max(len(row[i]) for row in cells) for i in range(len(cells[0]))]
    for row in cells:
        print("  ".join(cell.ljust(w) if i == 0 else cell.rjust(w) for i, (cell, w) in enumerate(zip(row, widths))))


def geometric_mean(values):
    return math.exp(sum(math.log(v) for v in values) / len(values)) if values else None


def verdicts(results):
    """(limit in words, figure in words, whether it holds) for each limit that these results decide."""
    def worst(key, what=max):
        known = [r for r in results if key(r) is not None]
        return what(known, key=key) if known else None

    def mean(key):
        return geometric_mean([r[key] for r in results if r[key] is not None])

    if mean("extra_share") is not None:
        yield "mean extra time at most 0.10 of heaptrack's", "%.3f" % mean("extra_share"), mean("extra_share") <= 0.10
        high = worst(lambda r: r["extra_share"])
        yield "no extra time above 0.16 of heaptrack's", "%.3f (%s)" % (high["extra_share"], high["name"]), high["extra_share"] <= 0.16
    if mean("pinned_extra_share") is not None:
        share = mean("pinned_extra_share")
        yield "pinned to one processor, mean extra time at most 0.15 of heaptrack's", "%.3f" % share, share <= 0.15
    slow = worst(lambda r: r["ratio_tidemark"] / RATIO_MOST.get(r["name"], 1.6))
    yield ("no program above 1.6x plain (python 1.9x)", "%.2fx (%s)" % (slow["ratio_tidemark"], slow["name"]),
           slow["ratio_tidemark"] <= RATIO_MOST.get(slow["name"], 1.6))
    yield "mean CPU of all processes at most 1.45x plain", "%.2fx" % mean("cpu_ratio_tidemark"), mean("cpu_ratio_tidemark") <= 1.45
    for r in results:
        if r["name"] == "lua":
            yield "CPU of all processes of lua at most 1.8x plain", "%.2fx" % r["cpu_ratio_tidemark"], r["cpu_ratio_tidemark"] <= 1.8
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


def threads_table(bench):
    """Prints it; returns (figures, limits)."""
    progress("threads that allocate")
    walls = figures.threads(bench.ways, min(bench.rounds, 3), int(3000000 * bench.scale))
    progress("")
    counts = list(walls["plain"])
    print_cells([["threads that allocate", *("%d, s" % n for n in counts), *("T(%d)/T(1)" % n for n in counts[1:])]] +
                [[way, *("%.2f" % t[n] if t[n] else "failed" for n in counts),
                  *("%.2f" % (t[n] / t[1]) if t[n] and t[1] else "-" for n in counts[1:])] for way, t in walls.items()])
    plain, own = (walls[way][4] / walls[way][1] for way in ("plain", "tidemark"))
    return walls, [("4 threads scale as plain, within 15 %", "T(4)/T(1) %.2f, plain %.2f" % (own, plain), own <= 1.15 * plain)]


def processes_table(bench):
    progress("many processes")
    commands = max(int(500 * bench.scale), 1)
    costs = figures.processes(bench.ways, bench.rounds, commands)
    progress("")
    plain = costs["plain"]
    print_cells([["%d short processes" % commands, "wall s", "/plain", "CPU s", "/plain", "ms more each"]] +
                [[way, "%.2f" % c.wall_s, "%.2fx" % (c.wall_s / plain.wall_s), "%.2f" % c.cpu_s, "%.2fx" % (c.cpu_s / plain.cpu_s),
                  "%.2f" % ((c.wall_s - plain.wall_s) * 1000 / commands)] for way, c in costs.items()])
    if "heaptrack" in costs:
        print("heaptrack records the shell alone, tidemark every process")
    return {way: {"wall_s": c.wall_s, "cpu_s": c.cpu_s} for way, c in costs.items()}, []


def memory_table(bench):
    progress("memory")
    live, stacks = max(int(2000000 * bench.scale), 1), max(int(65536 * bench.scale), 1)
    sizes, heap_each = figures.memory(bench.ways["tidemark"], bench.collector, live, stacks, int(figures.PAIRS * bench.scale))
    progress("")
    print_cells([["memory", "next to nothing alive, MiB", "bytes per live block", "bytes per distinct stack"]] +
                [[title, "%.1f" % (sizes[who][0] / MIB), "%.1f" % sizes[who][1], "%.1f" % sizes[who][2]]
                 for who, title in (("program", "what the program has more"), ("collector", "collector"))])
    print("a live block takes %.0f bytes of the program's own heap" % heap_each)
    part, collector = sizes["program"][1] / max(heap_each, 1), (sizes["collector"][0] + sizes["collector"][1] * live) / MIB
    return {"bytes": sizes, "heap_per_block": heap_each}, [
        ("the program's growth at most 20 % of its heap", "%.0f %%" % (100 * part), part <= 0.2),
        ("collector at most 32 MiB and names for any number of live blocks", "%.1f MiB for %d" % (collector, live), collector <= 32)]


def file_limits(bench):
    progress("how the file grows")
    short, long = figures.file_growth(bench.ways["tidemark"], bench.profile)
    progress("")
    yield "10x the iterations at most 1.3x the file", "%.2fx (%d to %d bytes)" % (long / short, short, long), long <= 1.3 * short


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tidemark", default=os.path.join(os.path.dirname(workloads.HERE), "build", "tidemark"))
    parser.add_argument("--only", metavar="NAME", action="append",
                        help="only this workload or table (repeatable): %s" % ", ".join((*workloads.ALL, *TABLES)))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--scale", type=float, default=1, help="how much of the work of the synthetic program and of the last three tables is done (1)")
    parser.add_argument("--json", metavar="FILE", help="write all figures there too")
    parser.add_argument("--no-heaptrack", dest="heaptrack", action="store_false")
    parser.add_argument("--no-pinned", dest="pinned", action="store_false", help="do not measure pinned to one processor")
    parser.add_argument("--synthetic", action="store_true", help="the synthetic program over all its parameters instead of the real ones")
    options = parser.parse_args()
    unknown = [name for name in options.only or () if name not in workloads.ALL and name not in TABLES and not options.synthetic]
    if unknown:
        sys.exit("bench: no workload %s; there are %s" % (unknown[0], ", ".join((*workloads.ALL, *TABLES))))
    if not os.access(options.tidemark, os.X_OK):
        sys.exit("bench: %s is not there; run make first, or name it with --tidemark" % options.tidemark)

    os.makedirs(workloads.SCRATCH, exist_ok=True)
    bench = Bench(options)
    if options.synthetic:
        chosen = {name: w for name, w in figures.grid(options.scale).items() if not options.only or any(o in name for o in options.only)}
        if not chosen:
            sys.exit("bench: no synthetic combination has that in its name; they read like 'depth 20, 4 thr, 1 stack, 0 live'")
    else:
        chosen = {name: make() for name, make in workloads.ALL.items() if not options.only or name in options.only}
    results = [bench.measure(name, workload) for name, workload in chosen.items()]
    print("medians; rounds: %d, processors: %d" % (options.rounds, os.cpu_count()))
    if results:
        print_table(results)
    for result in results:
        if result["allocations"] < workloads.LEAST_ALLOCATIONS:
            print("warning: %s made only %d allocations; is it running as meant?" % (result["name"], result["allocations"]))

    limits = list(verdicts(results)) if results and not options.synthetic else []
    tables = {}
    for name, table in zip(TABLES, (threads_table, processes_table, memory_table)):
        if not options.only or name in options.only:
            print()
            tables[name], decided = table(bench)
            limits += decided
    if not options.only:
        limits += file_limits(bench)
    print()
    means = {}
    for key, words in (("extra_share", "extra time relative to heaptrack's"),
                       ("pinned_extra_share", "extra time relative to heaptrack's, pinned to one processor"),
                       ("cpu_ratio_tidemark", "CPU of all processes relative to plain")):
        means[key] = geometric_mean([r[key] for r in results if r[key] is not None])
        if means[key] is not None:
            print("geometric mean of %s: %.3f" % (words, means[key]))
    for limit, figure, holds in limits:
        print("%-5s %s: %s" % ("holds" if holds else "FAILS", limit, figure))
    if options.json:
        with open(options.json, "w") as out:
            json.dump({"rounds": options.rounds, "results": results, **tables, "means": means, "extra_share_mean": means["extra_share"],
                       "limits": [{"limit": l, "figure": f, "holds": bool(h)} for l, f, h in limits]}, out, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
