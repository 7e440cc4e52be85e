"""tidemark import of the files of valgrind's tools dhat and massif."""
import json
import os
import re

from harness import Failed, cases
from test_import import KEPT, LIVE, PEAK, by_function, imported, null_totals, written


def valgrind(t, tool, *options):
    path = t.file(tool + ".out")
    t.plain("valgrind", "-q", "--tool=" + tool, "--%s-out-file=%s" % (tool, path), *options, t.build("imported.c"))
    if not os.path.exists(path):
        raise Failed("valgrind wrote nothing: " + t.stderr[:300])
    return path


def test_dhat(t):
    path = valgrind(t, "dhat")
    profile = imported(t, path)
    t.equal("total", by_function(t, profile, "total"), KEPT)
    t.equal("live", by_function(t, profile, "live"), LIVE)
    t.equal("peak", by_function(t, profile, "peak"), PEAK)
    t.equal("sitepeak", by_function(t, profile, "sitepeak"), {**PEAK, "churn": (1, 64)})
    report = t.report(profile)
    totals = report["totals"]
    t.equal("totals", [totals[k] for k in ("allocations", "frees", "bytes_allocated", "live_blocks", "live_bytes", "peak_bytes")],
            [80, 70, 24200, 10, 1000, 21000])
    t.equal("null", null_totals(t, profile), ["incomplete_stacks", "lost_events", "peak_time_ns", "reallocations", "temporary_allocations",
                                              "truncated_stacks", "unknown_frees"])
    with open(path) as text:
        t.equal("pid", report["pid"], json.load(text)["pid"])
    t.equal("duration", report["duration_ns"], None)
    leaks = t.ask(profile, "leaks")
    t.equal("leaks", (leaks["totals"]["unclassified_bytes"], leaks["totals"]["unclassified_blocks"], leaks["totals"]["lost_bytes"]), (1000, 10, None))
    t.equal("leak", [(e["first_ns"], e["thread"], e["usable_bytes"]) for e in leaks["leaks"]], [(None, None, None)])
    frames = t.report(profile, "live", "--by", "stack")["rows"][0]["stack"]
    t.equal("stack", [f["function"] for f in frames], ["keep", "main"])


@cases(unit=("i", "ms"))
def test_massif(t, unit):
    """Each snapshot's sum is massif's; stacks are known of the peak."""
    path = valgrind(t, "massif", "--time-unit=" + unit)
    profile = imported(t, path)
    report = t.report(profile)
    with open(path) as lines:
        text = lines.read()
    sums = [int(n) for n in re.findall(r"^mem_heap_B=(\d+)$", text, re.MULTILINE)]
    t.equal("peak", report["totals"]["peak_bytes"], 21000)
    t.equal("end", report["totals"]["live_bytes"], sums[-1])
    rows = t.report(profile, "peak", "--top", "0", "--min", "0")["rows"]
    t.equal("peak by function", {r["name"]: r["self_bytes"] for r in rows if r["self_bytes"]}, {"hold": 20000, "keep": 1000})
    t.equal("counts", {r["self_count"] for r in rows}, {None})
    t.equal("null", [k for k in ("allocations", "frees", "bytes_allocated", "live_blocks", "temporary_allocations") if report["totals"][k] is not None], [])
    t.equal("time is known", report["duration_ns"] is not None, unit == "ms")
    printed = t.plain("ms_print", path)[0]
    t.true("ms_print's peak", re.search(r"^ *%d .*21,000 " % text.split("heap_tree=peak")[0].count("#-----------\nsnapshot=").__sub__(1), printed, re.MULTILINE)
           or "21,000" in printed, printed[:600])
    t.run("report", profile, "--metric", "total")
    t.equal("total is refused", (t.status, t.stderr), (1, "tidemark report: this recording has no metric total: it was imported from massif; "
                                                          "it has live, peak\n"))
    text = t.run("report", profile)[0]
    t.true("text says so", re.search(r"^allocated +not known$", text, re.MULTILINE) and re.search(r"^temporary +not known$", text, re.MULTILINE), text)


def test_massif_snapshots(t):
    """Moments between, with and without stacks; a sum of small ones is under its caller."""
    tree = ("n2: 300 (heap allocation functions) malloc/new/new[], --alloc-fns, etc.\n"
            " n1: 200 0x10: f(int) (a file.c:3)\n  n0: 200 0x20: main (a.c:9)\n n0: 100 in 2 places, all below massif's threshold (1.00%)\n")
    head = "#-----------\nsnapshot=%d\n#-----------\ntime=%d\nmem_heap_B=%d\nmem_heap_extra_B=8\nmem_stacks_B=0\nheap_tree="
    path = written(t, "massif.out.1", "desc: (none)\ncmd: ./app x\ntime_unit: ms\n" + head % (0, 0, 0) + "empty\n" + head % (1, 50, 300) + "peak\n" + tree +
                   head % (2, 100, 40) + "empty\n")
    profile = imported(t, path)
    middle = t.report(profile, "live", "--at", "50ms", "--by", "stack")
    t.equal("stacks", sorted((r["bytes"], tuple(f["function"] for f in r["stack"])) for r in middle["rows"]),
            [(100, ("[below massif's threshold]",)), (200, ("f(int)", "main"))])
    t.equal("place", [(f["file"], f["line"]) for r in middle["rows"] if r["bytes"] == 200 for f in r["stack"]], [("a file.c", 3), ("a.c", 9)])
    t.equal("end", {r["name"]: r["self_bytes"] for r in t.report(profile)["rows"] if r["self_bytes"]}, {"[snapshot without stacks]": 40})
    t.equal("peak", t.report(profile, "peak")["totals"]["peak_time_ns"], 50000000)
    t.equal("command", t.report(profile)["command"], ["./app", "x"])
