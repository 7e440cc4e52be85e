#!/usr/bin/env python3
"""Merges the recordings of many simulated ranks (bench/ranks.c) and says what it took.

    bench/merge_ranks.py --build build --ranks 10000 [--folder DIR] [--jobs N] [--keep]

Every rank is a recording of its own, 1.0 MB. They are written to DIR first (10,000 need 10 GB), with as many
processes as there are processors; that time does not count. Prints the time of the merge, the CPU time of all
its processes, the memory of the largest of them times their number, and the sizes; then checks the sums of the
result with those of a few inputs and the number of ranks.
"""
import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import time


def write_ranks(generator, folder, count):
    """In as many processes as there are processors."""
    parts = os.cpu_count() or 1
    running = []
    for i in range(parts):
        first, end = count * i // parts, count * (i + 1) // parts
        running.append(subprocess.Popen([generator, folder, str(end - first), str(first)]))
    if any(child.wait() for child in running):
        sys.exit("bench/merge_ranks.py: the recordings could not be written")


def merge(tidemark, out, folder, jobs):
    """(wall seconds, CPU seconds of all processes, KiB of the largest process)"""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run([tidemark, "merge", *(["-j", str(jobs)] if jobs else []), out, folder], check=True)
    wall, after = time.monotonic() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def ask(tidemark, *arguments):
    return json.loads(subprocess.run([tidemark, *arguments], check=True, stdout=subprocess.PIPE).stdout)


def check(tidemark, out, folder, count):
    """The list of inputs has every rank once, and the sum of their live bytes is the report's."""
    inputs = ask(tidemark, "merge", "--list", out, "--json")["inputs"]
    report = ask(tidemark, "report", out, "--json", "--top", "3")
    if sorted(entry["rank"] for entry in inputs) != list(range(count)):
        sys.exit("bench/merge_ranks.py: ranks are missing in the result")
    if sum(entry["live_bytes"] for entry in inputs) != report["totals"]["live_bytes"]:
        sys.exit("bench/merge_ranks.py: the sum of the inputs is not the result's")
    for rank in {0, count // 3, count - 1}:
        one = ask(tidemark, "report", os.path.join(folder, "rank.%05d.tide" % rank), "--json", "--top", "1")
        entry = next(e for e in inputs if e["rank"] == rank)
        if one["totals"]["live_bytes"] != entry["live_bytes"]:
            sys.exit("bench/merge_ranks.py: rank %d has another sum in the result" % rank)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build")
    parser.add_argument("--ranks", type=int, default=10000)
    parser.add_argument("--folder", default="build/bench-ranks")
    parser.add_argument("--jobs", type=int, default=0, help="processes of the merge; by default, as merge decides")
    parser.add_argument("--keep", action="store_true", help="keep the recordings; those that are there are used")
    options = parser.parse_args()
    tidemark = os.path.join(options.build, "tidemark")
    out = options.folder.rstrip("/") + ".merged.tide"
    os.makedirs(options.folder, exist_ok=True)
    if len([n for n in os.listdir(options.folder) if n.endswith(".tide")]) != options.ranks:
        write_ranks(os.path.join(options.build, "ranks"), options.folder, options.ranks)
    size = sum(entry.stat().st_size for entry in os.scandir(options.folder))
    wall, cpu = merge(tidemark, out, options.folder, options.jobs)
    largest = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print("%d recordings, %.2f GB: merged in %.0f s, %.0f s of CPU time (%.1f ms each); largest process %.0f MiB; result %.1f MB"
          % (options.ranks, size / 1e9, wall, cpu, 1000 * cpu / options.ranks, largest, os.path.getsize(out) / 1e6))
    check(tidemark, out, options.folder, options.ranks)
    print("every rank is in it once, and the sums are those of the inputs")
    if not options.keep:
        shutil.rmtree(options.folder)
        os.unlink(out)


if __name__ == "__main__":
    main()
