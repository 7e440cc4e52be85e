"""What bench/ compiles from the recorder's own sources still compiles, and bench/run.py runs and measures all that it should.
What it measured is not judged here: the machine may be busy."""
import json
import os
import subprocess
import sys

from harness import ROOT

sys.path.insert(0, os.path.join(ROOT, "bench"))
import check_stacks  # noqa: E402


def test_stack_check(t):
    """The walk against libgcc's unwinder, in a program whose segments have holes between them."""
    check_stacks.FOLDER = t.dir
    target, name = check_stacks.Native(), "holes-pie-64k"
    library = check_stacks.build(target)
    counts = check_stacks.run(check_stacks.with_holes(name, target), target, library, name, 10)
    t.true("stacks were compared", counts["compared"] > 1000, counts)
    t.equal("identical", counts["identical"], counts["compared"])


def bench(t, *arguments):
    """What bench/run.py wrote as JSON, and printed."""
    figures = os.path.join(t.dir, "figures.json")
    done = subprocess.run([sys.executable, os.path.join(ROOT, "bench", "run.py"), "--tidemark", t.tidemark, "--no-heaptrack",
                           "--rounds", "1", "--scale", "0.002", "--json", figures, *arguments], stdout=subprocess.PIPE, text=True,
                          env={**os.environ, "TIDEMARK_BENCH_OUT": os.path.join(t.dir, "out")})
    t.equal("exit status", done.returncode, 0)
    with open(figures) as json_text:
        return json.load(json_text), done.stdout


def test_bench_of_one_program(t):
    figures, printed = bench(t, "--synthetic", "--only", "depth 3, 1 thr, 1 stack, 0 live")
    t.equal("programs", [r["name"] for r in figures["results"]], ["depth 3, 1 thr, 1 stack, 0 live"])
    result = figures["results"][0]
    t.true("allocations", 4000 <= result["allocations"] < 4100)
    for key in ("ratio_tidemark", "pinned_ratio_tidemark", "cpu_ratio_tidemark", "collector_rss", "events_per_s"):
        t.true(key, result[key] > 0)
    for key in ("ratio_heaptrack", "extra_share", "pinned_extra_share", "cpu_ratio_heaptrack"):
        t.equal(key, result[key], None)
    t.true("pinned column", "pinned tidemark" in printed and "CPU tidemark/plain" in printed)


def test_bench_tables(t):
    figures, printed = bench(t, "--only", "threads", "--only", "processes", "--only", "memory")
    t.equal("programs", figures["results"], [])
    t.equal("threads", {way: list(of) for way, of in figures["threads"].items()},
            {way: ["1", "2", "4", "8"] for way in ("plain", "tidemark")})
    t.equal("processes", list(figures["processes"]), ["plain", "tidemark"])
    t.true("the script's time", all(cost["wall_s"] > 0 for cost in figures["processes"].values()))
    t.equal("memory", {who: len(sizes) for who, sizes in figures["memory"]["bytes"].items()}, {"program": 3, "collector": 3})
    t.true("the collector's memory", figures["memory"]["bytes"]["collector"][0] > 1 << 20)
    t.equal("limits", [limit["limit"].split()[0] for limit in figures["limits"]], ["4", "the", "collector"])
    for heading in ("threads that allocate", "1 short processes", "bytes per live block", "bytes per distinct stack"):
        t.true(heading, heading in printed)
