"""tidemark import: other tools' files as recordings, with their own numbers, and without what they do not know."""
import gzip
import json
import os
import re
import signal
import subprocess
import time

from exported import record, same
from harness import cases, line_of

# What tests/programs/imported.c allocates: calls, bytes; live at the end; live at the peak; freed at once.
KEPT = {"keep": (10, 1000), "churn": (50, 3200), "hold": (20, 20000)}
LIVE = {"keep": (10, 1000)}
PEAK = {"keep": (10, 1000), "hold": (20, 20000)}


def imported(t, path, *options, status=0):
    out = t.file("imported.tide")
    t.run("import", path, "-o", out, *options)
    t.equal("status of import: " + t.stderr.strip(), t.status, status)
    if status == 0:
        t.equal("what it prints", t.stdout, out + "\n")
    return out


def refused(t, path, what, *options):
    """One line, status 1, and no file."""
    out = t.file("refused.tide")
    t.run("import", path, "-o", out, *options)
    t.equal("status", t.status, 1)
    t.true("one line that says %r" % what, t.stderr.count("\n") == 1 and what in t.stderr, t.stderr)
    t.true("no file is left", not [n for n in os.listdir(t.dir) if n.startswith("refused.tide")])


def by_function(t, profile, metric):
    """{function: (calls or blocks, bytes)} of what functions have themselves."""
    rows = t.report(profile, metric)["rows"]
    return {r["name"]: (r["self_count"], r["self_bytes"]) for r in rows if r["self_bytes"]}


def own(figures):
    return {name: v for name, v in figures.items() if name in KEPT}


def null_totals(t, profile, metric="live"):
    return sorted(k for k, v in t.report(profile, metric)["totals"].items() if v is None)


def written(t, name, content):
    path = t.file(name)
    with open(path, "wb") as file:
        file.write(content if isinstance(content, bytes) else content.encode())
    return path


# --- heaptrack ------------------------------------------------------------------------------------

def heaptrack(t, *options):
    t.plain("heaptrack", *options, "-o", t.file("recorded"), t.build("imported.c"))
    return t.file("recorded.raw.zst" if "--raw" in options else "recorded.zst")


def heaptrack_print(t, path, cost):
    """{functions from outside in: cost} of heaptrack_print, and the sums at its end."""
    stacks = t.file("stacks")
    text = t.plain("heaptrack_print", "-f", path, "-F", stacks, "--flamegraph-cost-type", cost)[0]
    costs = {}
    with open(stacks) as lines:
        for line in lines:
            names, number = line.rstrip("\n").rsplit(" ", 1)
            frames = tuple(re.sub(r" \([^()]*\)$", "", f) for f in names.split(";") if f)
            costs[frames] = costs.get(frames, 0) + int(number)
    return costs, text


@cases(kind=("interpreted", "raw"))
def test_heaptrack(t, kind):
    path = heaptrack(t, *(["--raw"] if kind == "raw" else []))
    profile = imported(t, path)
    t.true("told", "imported from heaptrack 1." in t.stderr and "not known: threads, reallocations" in t.stderr, t.stderr)
    t.equal("total", own(by_function(t, profile, "total")), KEPT)
    t.equal("live", own(by_function(t, profile, "live")), LIVE)
    t.equal("peak", own(by_function(t, profile, "peak")), PEAK)
    t.equal("null", null_totals(t, profile), ["incomplete_stacks", "lost_events", "reallocations", "truncated_stacks", "unknown_frees"])
    report = t.report(profile)
    t.equal("pid", report["pid"], None)
    t.true("command", report["command"][0].endswith("imported"), report["command"])
    t.true("from", report["imported"]["from"].startswith("heaptrack 1."), report["imported"])
    lines = [r for r in t.report(profile, "total", "--by", "line")["rows"] if r["name"].startswith("keep")]
    t.true("lines", lines and lines[0]["file"].endswith("imported.c") and lines[0]["line"] == line_of("imported.c", "kept"), lines)


def test_heaptrack_print_agrees(t):
    """The sums, and those of each stack: what heaptrack's own tool prints for the same file."""
    path = heaptrack(t)
    profile = imported(t, path)
    totals = t.report(profile)["totals"]
    columns = {"allocations": ("total", "count"), "temporary": ("temporary", "count"), "leaked": ("live", "bytes"), "peak": ("peak", "bytes")}
    for cost, (metric, figure) in columns.items():
        costs, text = heaptrack_print(t, path, cost)
        t.equal("sum of %s" % cost, sum(costs.values()),
                totals[{"allocations": "allocations", "temporary": "temporary_allocations", "leaked": "live_bytes", "peak": "peak_bytes"}[cost]])
        ours = {}
        for row in t.report(profile, metric, "--by", "stack", "--no-fold")["rows"]:
            names = [f["function"] for f in reversed(row["stack"])]
            if "main" in names:
                names = tuple(names[names.index("main"):])
                ours[names] = ours.get(names, 0) + row[figure]
        theirs = {frames: n for frames, n in costs.items() if frames[0] == "main" and n}
        t.equal("%s by stack" % cost, {k: v for k, v in ours.items() if v}, theirs)
        t.true("there are some", len(theirs) >= 1)
    t.true("allocations", "calls to allocation functions: %d " % totals["allocations"] in text, text[-400:])
    t.true("temporary", "temporary memory allocations: %d " % totals["temporary_allocations"] in text, text[-400:])
    t.true("leaked", "total memory leaked: %dB" % totals["live_bytes"] in text, text[-400:])


def heaptrack_text(*events):
    """An interpreted file by hand: main calls f, which allocates blocks of 16 (0) and of 4096 bytes (1)."""
    return "\n".join(("v 10400 3", "X ./app --flag", "I 1000 100", "s 4 main", "s 1 f", "s 3 a.c", "s 8 /bin/app",
                      "i 1000 4 1 3 a", "i 2000 4 2 3 14", "t 1 0", "t 2 1", "a 10 2", "a 1000 2", *events, ""))


def test_heaptrack_timeline(t):
    events = ["+ 1", "c 64", "R 10", "+ 0", "+ 0", "c c8", "R 20", "- 1", "c 12c", "R 8"]
    path = written(t, "h.gz", gzip.compress(heaptrack_text(*events).encode()))
    profile = imported(t, path)
    report = t.report(profile)
    t.equal("duration", report["duration_ns"], 300000000)
    t.equal("peak", (report["totals"]["peak_bytes"], report["totals"]["peak_time_ns"]), (4128, 100000000))
    for when, live in (("100ms", 4096), ("200ms", 4128), ("300ms", 32)):
        t.equal("live at " + when, t.report(profile, "live", "--at", when)["totals"]["live_bytes"], live)
    marks = t.ask(profile, "marks", "--stamps")
    t.equal("stamps", [(m["time_ns"], m["rss_bytes"], m["vm_bytes"], m["faults"]) for m in marks["marks"]][-1:], [(300000000, 0x8000, None, None)])
    row = t.report(profile, "live", "--by", "stack")["rows"][0]
    t.equal("stack", [(f["function"], f["module"], f["file"], f["line"]) for f in row["stack"]], [("f", "app", "a.c", 20), ("main", "app", "a.c", 10)])
    t.equal("thread", row["thread"], None)


# --- pprof ----------------------------------------------------------------------------------------

def varint(n):
    out = b""
    n &= (1 << 64) - 1
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def pprof(types, samples, period=None, threads=False, duration=0):
    """samples: [(functions from inside out, values)]; each function is a location of its own; 'a|b' is a, inlined into b."""
    strings = [""]

    def string(s):
        if s not in strings:
            strings.append(s)
        return strings.index(s)
    message = b"".join(field(1, field(1, string(kind)) + field(2, string(unit))) for kind, unit in types)
    functions, locations, body = {}, {}, b""
    for stack, values in samples:
        for name in stack:
            for one in name.split("|"):
                if one not in functions:
                    functions[one] = len(functions) + 1
                    body += field(5, field(1, functions[one]) + field(2, string(one)) + field(4, string(one + ".c")))
            if name not in locations:
                locations[name] = len(locations) + 1
                body += field(4, field(1, locations[name]) + field(2, 1) + field(3, 4096 + len(locations)) +
                              b"".join(field(4, field(1, functions[one]) + field(2, 7)) for one in name.split("|")))
        label = field(3, field(1, string("thread")) + field(2, string("worker"))) if threads else b""
        body += field(2, field(1, b"".join(varint(locations[n]) for n in stack)) + field(2, b"".join(varint(v) for v in values)) + label)
    body += field(3, field(1, 1) + field(5, string("/usr/bin/app")))
    if period:
        body += field(11, field(1, string(period[0])) + field(2, string(period[1]))) + field(12, period[2])
    if duration:
        body += field(10, duration)
    return message + body + b"".join(field(6, s) for s in strings)


HEAP = [("alloc_objects", "count"), ("alloc_space", "bytes"), ("inuse_objects", "count"), ("inuse_space", "bytes")]
STACKS = [(["keep", "main"], [10, 1000, 10, 1000]), (["churn|work", "main"], [50, 3200, 0, 0])]


@cases(packed=("packed", "plain"))
def test_pprof_heap(t, packed):
    content = pprof(HEAP, STACKS)
    profile = imported(t, written(t, "heap.pb.gz", gzip.compress(content) if packed == "packed" else content))
    t.equal("total", by_function(t, profile, "total"), {"keep": (10, 1000), "churn": (50, 3200)})
    t.equal("live", by_function(t, profile, "live"), {"keep": (10, 1000)})
    report = t.report(profile)
    t.equal("totals", [report["totals"][k] for k in ("allocations", "frees", "live_bytes", "peak_bytes", "peak_time_ns")], [60, 50, 1000, None, None])
    stack = [r for r in t.report(profile, "total", "--by", "stack")["rows"] if r["bytes"] == 3200][0]["stack"]
    t.equal("frames", [(f["function"], f["kind"], f["module"], f["file"], f["line"]) for f in stack],
            [("churn", "inlined", "app", "churn.c", 7), ("work", "native", "app", "work.c", 7), ("main", "native", "app", "main.c", 7)])
    t.run("report", profile, "--metric", "peak")
    t.equal("peak is refused", t.status, 1)


def test_pprof_sampled_heap(t):
    content = pprof([("objects", "count"), ("space", "bytes")], [(["f", "main"], [3, 1536])], period=("space", "bytes", 524288))
    profile = imported(t, written(t, "heap.pb", content))
    report = t.report(profile)
    t.equal("live", report["totals"]["live_bytes"], 1536)
    t.equal("allocations are not known", (report["totals"]["allocations"], report["totals"]["frees"]), (None, None))
    t.true("a note", any("sampled its allocations, one in 524288 bytes" in n for n in report["notes"]), report["notes"])


def test_pprof_cpu(t):
    content = pprof([("samples", "count"), ("cpu", "nanoseconds")], [(["f", "main"], [3, 30000000]), (["main"], [1, 10000000])],
                    period=("cpu", "nanoseconds", 10000000), threads=True, duration=5000000000)
    profile = imported(t, written(t, "cpu.pb.gz", gzip.compress(content)))
    report = t.ask(profile, "report")
    t.equal("default", (report["metric"], report["unit"], report["duration_ns"]), ("cpu", "ns", 5000000000))
    t.equal("rows", {r["name"]: (r["self_bytes"], r["self_count"]) for r in report["rows"]}, {"f": (30000000, 3), "main": (10000000, 1)})
    t.equal("threads", [r["name"] for r in t.report(profile, "cpu", "--by", "thread")["rows"]], ["worker"])
    t.equal("heap", report["totals"]["allocations"], None)
    t.run("leaks", profile)
    t.equal("leaks are refused", (t.status, t.stderr.count("\n")), (1, 1))


def test_pprof_without_a_known_type(t):
    refused(t, written(t, "g.pb", pprof([("goroutine", "count")], [(["f"], [1])])), "neither a heap nor a CPU profile")


# --- folded stacks and perf script ----------------------------------------------------------------

FOLDED = "main;f;g_[i] 10\nmain;f 5\n# a comment\n\nmain;h_[k] 2.6\n"


def test_folded_samples(t):
    profile = imported(t, written(t, "a.folded", FOLDED))
    report = t.ask(profile, "report")
    t.equal("question", (report["metric"], report["unit"], report["pid"], report["command"]), ("samples", "samples", None, []))
    t.equal("rows", {r["name"]: (r["self_bytes"], r["self_count"], r["total_bytes"]) for r in report["rows"]},
            {"g": (10, 10, 10), "f": (5, 5, 15), "h": (3, 3, 3), "main": (0, 0, 18)})
    t.equal("nothing of the heap is known", sorted(k for k, v in report["totals"].items() if v is not None), [])
    for arguments in (("report", "--metric", "live"), ("report", "--metric", "cpu"), ("report", "--by", "thread"), ("report", "--at", "50%"),
                      ("leaks",), ("threads",), ("peaks",), ("tree",), ("growth",), ("findings",), ("maps",)):
        t.run(arguments[0], profile, *arguments[1:])
        t.equal(" ".join(arguments), (t.status, t.stderr.count("\n"), t.stdout), (1, 1, ""))
    t.equal("flame", sorted(t.run("flame", profile, "--folded")[0].splitlines()), ["main;f 5", "main;f;g 10", "main;h 3"])


@cases(metric=("total", "live", "peak"))
def test_folded_bytes(t, metric):
    profile = imported(t, written(t, "a.txt", FOLDED), "--metric", metric)
    report = t.ask(profile, "report")
    t.equal("default", (report["metric"], report["unit"]), (metric, "bytes"))
    t.equal("rows", {r["name"]: (r["self_bytes"], r["self_count"]) for r in report["rows"]}, {"g": (10, None), "f": (5, None), "h": (3, None), "main": (0, None)})
    name = {"total": "bytes_allocated", "live": "live_bytes", "peak": "peak_bytes"}[metric]
    t.equal("totals", {k: v for k, v in report["totals"].items() if v is not None}, {name: 18})


def test_flame_and_back(t):
    """What tidemark writes as folded stacks comes back as it was."""
    recorded = t.record(t.build("imported.c"))
    folded = t.run("flame", recorded, "--folded", "--metric", "peak")[0]
    profile = imported(t, written(t, "peak.folded", folded), "--metric", "peak")
    t.equal("folded", t.run("flame", profile, "--folded", "--metric", "peak")[0], folded)


PERF = """# captured by hand
app name 100/101 [003] 10.000001:     250000 cpu-clock:u:
\t    55d0c0ffee inner+0x1f (/usr/bin/app)
\t    55d0c0ff00 outer (inlined)
\t    7f00000001 main+0x10 (/usr/bin/app)

app name 100/100 [001] 10.500001:     250000 cpu-clock:u:
\t    7f00000001 main+0x20 (/usr/bin/app)

"""


def test_perf_script(t):
    profile = imported(t, written(t, "perf.txt", PERF))
    report = t.ask(profile, "report")
    t.equal("question", (report["metric"], report["pid"], report["duration_ns"]), ("cpu", 100, 500000000))
    t.equal("rows", {r["name"]: (r["self_bytes"], r["self_count"], r["module"]) for r in report["rows"] if r["self_bytes"]},
            {"inner": (250000, 1, "app"), "main": (250000, 1, "app")})
    stack = [r for r in t.report(profile, "cpu", "--by", "stack")["rows"] if len(r["stack"]) == 3][0]["stack"]
    t.equal("stack", [(f["function"], f["kind"]) for f in stack], [("inner", "native"), ("outer", "inlined"), ("main", "native")])
    t.equal("first half", t.report(profile, "cpu", "--at", "0.4s")["sampling"]["cpu_samples"], 1)
    cycles = imported(t, written(t, "cycles.txt", PERF.replace("cpu-clock:u", "cycles")))
    t.equal("cycles are no time", t.ask(cycles, "report")["metric"], "samples")


# --- what tidemark export writes ------------------------------------------------------------------

def own_stacks(t, profile, metric, key):
    """{functions from inside out: bytes or count} with the allocator's frames left out by both."""
    found = {}
    for row in t.report(profile, metric, "--by", "stack", "--top", "0", "--min", "0")["rows"]:
        if row[key]:
            names = tuple(f["function"] for f in row["stack"])
            found[names] = found.get(names, 0) + row[key]
    return found


def place(frame):
    """What valgrind's formats have behind a function: its line, or else its library."""
    return (os.path.basename(frame["file"]), frame["line"]) if frame["file"] and frame["line"] else ("", 0)


# What both directions of a format hold: of a frame, of a stack, and of the totals.
FRAMES = {"pprof": lambda f: (f["function"], f["file"] or "", f["line"] or 0, f["kind"] == "inlined"),
          "heaptrack": lambda f: (f["function"].replace("\n", " "), f["module"] or "", f["file"] or "", f["line"] or 0),
          "dhat": lambda f: (f["function"], *place(f)), "massif": lambda f: (f["function"], *place(f)),
          "folded": lambda f: f["function"].replace(";", ":")}
FIGURES = {"pprof": {"total": ("bytes", "count"), "live": ("bytes", "count")},
           "heaptrack": {"total": ("bytes", "count"), "live": ("bytes", "count"), "peak": ("bytes", "count"), "temporary": ("count",)},
           "dhat": {"total": ("bytes", "count"), "live": ("bytes", "count"), "peak": ("bytes", "count"), "sitepeak": ("bytes", "count")},
           "massif": {"live": ("bytes",), "peak": ("bytes",)}}
TOTALS = {"pprof": ("allocations", "frees", "bytes_allocated", "live_blocks", "live_bytes"), "massif": ("live_bytes", "peak_bytes"),
          "dhat": ("allocations", "frees", "bytes_allocated", "live_blocks", "live_bytes", "peak_bytes"),
          "heaptrack": ("allocations", "frees", "bytes_allocated", "live_blocks", "live_bytes", "peak_bytes", "temporary_allocations")}


def held(t, profile, metric, figures, frame, thread):
    """{stack: figures} with what the format has of a frame."""
    found = {}
    for row in t.report(profile, metric, "--by", "stack", "--no-fold")["rows"]:
        key = (row["thread"] if thread else None, *(frame(f) for f in row["stack"]))
        found[key] = tuple(a + (row[k] or 0) for a, k in zip(found.get(key, (0,) * len(figures)), figures))
    return {k: v for k, v in found.items() if any(v)}


def there_and_back(t, recorded, name, *options, metric=()):
    path, out = t.file("exported." + name), t.file("back.tide")
    t.run("export", recorded, "--format", name, "-o", path, "--no-fold", *options)
    t.equal("export of %s: %s" % (name, t.stderr), t.status, 0)
    t.run("import", path, "-o", out, *metric)
    t.equal("import of %s: %s" % (name, t.stderr), t.status, 0)
    return out


@cases(name=tuple(FIGURES), kind=("native", "python", "hostile"))
def test_round_trip(t, name, kind):
    """Every stack with each frame, each figure and each total that both directions of a format hold comes back as it was."""
    recorded = record(t, kind)
    profile = there_and_back(t, recorded, name)
    for metric, figures in FIGURES[name].items():
        if kind == "hostile" and name == "massif":  # a name with parentheses is not to be told from its place
            before, after = (t.report(p, metric)["sum"]["bytes"] for p in (recorded, profile))
            t.equal("sum of %s" % metric, after, before)
            continue
        before, after = (held(t, p, metric, figures, FRAMES[name], name == "pprof") for p in (recorded, profile))
        same(t, "%s of %s" % (metric, kind), after, before)
        t.true("there are some of %s" % metric, before or metric == "temporary")
    before, after = (t.report(p)["totals"] for p in (recorded, profile))
    t.equal("totals", {k: after[k] for k in TOTALS[name]}, {k: before[k] for k in TOTALS[name]})
    t.equal("all others are not known", [k for k, v in after.items() if v is not None and k not in TOTALS[name]],
            ["peak_time_ns"] if name in ("heaptrack", "massif") or (name == "dhat" and after["peak_time_ns"] is not None) else [])
    if name != "massif" and name != "pprof":
        t.equal("command", t.report(profile)["command"][:1], t.report(recorded)["command"][:1])


@cases(metric=("live", "total", "peak"), kind=("native", "python"))
def test_folded_round_trip(t, metric, kind):
    recorded = record(t, kind)
    profile = there_and_back(t, recorded, "folded", "--metric", metric, metric=("--metric", metric))
    before, after = (held(t, p, metric, ("bytes",), FRAMES["folded"], False) for p in (recorded, profile))
    same(t, metric, after, before)


def test_pprof_metrics_round_trip(t):
    """CPU time and the peak, which pprof holds if they are asked for."""
    recorded = t.record("/usr/bin/python3", "-c", "sum(i * i for i in range(3000000))", opts=("--cpu",))
    for metric in ("cpu", "peak"):
        profile = there_and_back(t, recorded, "pprof", "--metric", metric)
        before, after = (held(t, p, metric, ("bytes", "count"), FRAMES["pprof"], True) for p in (recorded, profile))
        same(t, metric, after, before)
        t.true("there is some " + metric, before)


def test_massif_timeline_round_trip(t):
    """Each snapshot of the file is a moment of the recording that comes back."""
    recorded = record(t, "native")
    profile = there_and_back(t, recorded, "massif")
    with open(t.file("exported.massif")) as file:
        text = file.read()
    points = list(zip(re.findall(r"^time=(\d+)$", text, re.MULTILINE), re.findall(r"^mem_heap_B=(\d+)$", text, re.MULTILINE)))
    times = [int(time) for time, _ in points]  # of several in one millisecond, a time does not tell which is meant
    want = {int(time): int(size) for time, size in points if times.count(int(time)) == 1 and int(time)}
    t.equal("live at each", {time: t.report(profile, "live", "--at", "%dms" % time)["totals"]["live_bytes"] for time in want}, want)
    t.equal("and at the end", t.report(profile)["totals"]["live_bytes"], int(points[-1][1]))


BOTH_HOLD = {"pprof": ("total", "live"), "dhat": ("total", "live", "peak"), "heaptrack": ("total", "live", "peak"), "massif": ("live", "peak")}


@cases(name=tuple(BOTH_HOLD))
def test_export_and_back(t, name):
    """Exported and imported again, a recording gives the same answers for everything that both formats hold."""
    metrics, figures = BOTH_HOLD[name], "bytes" if name == "massif" else "both"
    recorded = t.record(t.build("imported.c"))
    path = t.file("exported")
    t.run("export", recorded, "--format", name, "-o", path)
    t.equal("export: " + t.stderr, t.status, 0)
    profile = imported(t, path)
    before, after = t.report(recorded)["totals"], t.report(profile)["totals"]
    t.equal("totals", {k: v for k, v in after.items() if v is not None and k not in ("peak_time_ns", "temporary_allocations")},
            {k: v for k, v in before.items() if after[k] is not None and k not in ("peak_time_ns", "temporary_allocations")})
    for metric in metrics:
        for key in ("bytes", "count") if figures == "both" else ("bytes",):
            t.equal("%s of %s by stack" % (key, metric), own_stacks(t, profile, metric, key), own_stacks(t, recorded, metric, key))


def test_formats_that_cannot_say_so(t):
    """What is not known must not become a zero on the way to others."""
    profile = imported(t, written(t, "a.folded", FOLDED))
    for name in ("sqlite", "npy", "chrome"):
        t.run("export", profile, "--format", name, "-o", t.file("other"))
        t.equal(name, (t.status, t.stderr.count("\n")), (1, 1))
    t.run("export", profile, "--format", "pprof", "-o", t.file("a.pb.gz"))
    t.equal("samples go to pprof", t.status, 0)
    again = imported(t, t.file("a.pb.gz"))
    t.equal("and back", by_function(t, again, "samples"), by_function(t, imported(t, t.file("a.folded")), "samples"))
    t.run("merge", t.file("merged.tide"), profile, profile)
    t.true("merge refuses it", t.status == 1 and "was imported from folded stacks" in t.stderr, t.stderr)


# --- all formats ----------------------------------------------------------------------------------

def samples(t):
    """A small file of each format."""
    tree = "n1: 5 (heap allocation functions) malloc\n n0: 5 0x1: f (a.c:1)\n"
    return {
        "heaptrack": heaptrack_text("+ 0", "c 1", "- 0").encode(),
        "massif": ("desc: x\ncmd: a\ntime_unit: i\n#---\nsnapshot=0\n#---\ntime=1\nmem_heap_B=5\nmem_heap_extra_B=0\nmem_stacks_B=0\nheap_tree=peak\n" + tree).encode(),
        "dhat": json.dumps({"dhatFileVersion": 2, "mode": "heap", "verb": "Allocated", "bklt": True, "bkacc": False, "tu": "instrs", "Mtu": "M", "tuth": 1,
                            "cmd": "./a", "pid": 3, "te": 9, "tg": 4, "pps": [{"tb": 5, "tbk": 1, "tl": 1, "mb": 5, "mbk": 1, "gb": 5, "gbk": 1, "eb": 0, "ebk": 0,
                                                                             "fs": [1]}], "ftbl": ["[root]", "0x1: f (a.c:1)"]}).encode(),
        "pprof": pprof(HEAP, STACKS),
        "perf": PERF.encode(),
        "folded": FOLDED.encode(),
    }


@cases(name=("heaptrack", "massif", "dhat", "pprof", "perf", "folded"))
def test_guess(t, name):
    """The format is known by the content, packed or not, from a file or standard input; and every command opens it or says why not."""
    content = samples(t)[name]
    direct = t.report(imported(t, written(t, "plain", content)), *([] if name != "folded" else ["samples"])) if name != "perf" else None
    for packed in (gzip.compress(content), subprocess.run(["zstd", "-q", "-c"], input=content, stdout=subprocess.PIPE, check=True).stdout):
        out = t.file("packed.tide")
        done = subprocess.run([t.tidemark, "import", "-", "-o", out, "--quiet"], input=packed, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        t.equal("status", (done.returncode, done.stdout, done.stderr), (0, b"", b""))
        if direct:
            again = t.report(out, *([] if name != "folded" else ["samples"]))
            again["imported"]["file"] = direct["imported"]["file"]
            t.equal("the same", again, direct)
    for command in ("report", "leaks", "findings", "peaks", "threads", "tree", "growth", "marks", "maps", "flame"):
        stdout, stderr, status = t.run(command, out, "--json")
        t.true("%s answers or says why not" % command, (status == 0 and json.loads(stdout)) or (status == 1 and stderr.count("\n") == 1), (status, stderr))
    t.equal("view", t.run("view", out, "-o", t.file("page.html"))[2], 0)
    t.equal("diff", t.run("diff", out, out, "--json")[2] in (0, 1), True)


@cases(name=("heaptrack", "massif", "dhat", "pprof"))
def test_cut(t, name):
    """A file that ends too early is refused, or was complete up to there."""
    content = samples(t)[name]
    refused_any = False
    for size in range(1, len(content), 7):
        t.run("import", written(t, "cut", content[:size]), "-o", t.file("cut.tide"), "--format", name)
        refused_any |= t.status == 1
        t.true("status of %d bytes" % size, t.status in (0, 1) and (t.status == 0 or t.stderr.count("\n") == 1), (t.status, t.stderr))
    t.true("some were refused", refused_any)
    packed = gzip.compress(content)
    refused(t, written(t, "cut.gz", packed[:len(packed) - 9]), "")


def test_hostile(t):
    """Counts that promise more than there is, depth, cycles, zero bytes, bombs: one line, and little memory."""
    deep = "[" * 100000
    for name, content, what in (
            ("heaptrack", heaptrack_text("t ffffffff 1"), "refers to something that is missing"),
            ("heaptrack", heaptrack_text("t 1 3"), "refers to something that is missing"),  # its own parent
            ("heaptrack", heaptrack_text("+ ffffffffffffffff"), "refers to something that is missing"),
            ("heaptrack", heaptrack_text("a 10 fffffffff"), "refers to something that is missing"),
            ("heaptrack", "v 10400 3\ns 4 ma\0in\n", "zero byte"),
            ("heaptrack", "v 10400 3\n" + "+ 1" * 6000000, "longer than 16 MiB"),
            ("heaptrack", "X no version\n", "begins with its version"),
            ("massif", samples(t)["massif"].replace(b"n1: 5", b"n9: 5"), "ends in the middle"),
            ("massif", samples(t)["massif"].replace(b"n0: 5", b"n0: 50"), "no line of a massif tree"),
            ("massif", samples(t)["massif"].replace(b"B=5", b"B=99999999999999999999999"), "too large"),
            ("dhat", '{"x":' + deep, "nested too deeply"),
            ("dhat", samples(t)["dhat"].replace(b'"fs": [1]', b'"fs": [7]'), "a stack has frame 7 of 2"),
            ("dhat", samples(t)["dhat"].replace(b'"mode": "heap"', b'"mode": "copy"'), "mode 'copy'"),
            ("dhat", samples(t)["dhat"].replace(b"ersion\": 2", b"ersion\": 3"), "version 3"),
            ("pprof", field(6, "") + field(1, field(1, 0)) + varint(2 << 3 | 2) + varint(1 << 40), "not a whole pprof message"),
            ("pprof", pprof(HEAP, STACKS).replace(field(1, varint(1) + varint(2)), field(1, varint(1) + varint(9))), "a location that is not there"),
            ("folded", "main;f ten\n", "does not end in a number"),
            ("folded", ";" * 200000 + " 1\n", "deeper than any"),
            ("perf", "  55d0c0ffee f (app)\n", "no line of perf script")):
        refused(t, written(t, "hostile", content), what, "--format", name)
    with gzip.open(t.file("bomb.gz"), "wb") as bomb:
        for _ in range(100):
            bomb.write(bytes(1 << 20))
    refused(t, t.file("bomb.gz"), "unpacks to far more than its size explains", "--format", "pprof")
    with gzip.open(t.file("names.gz"), "wb") as bomb:  # 64 bytes of memory for each of 6 in the file, which packs 500 to 1
        bomb.write(b"v 10400 3\ns 1 f\ni 1 0 1\n")
        for first in range(0, 400000, 100000):
            bomb.write(b"".join(b"t 1 %x\n" % n for n in range(first, first + 100000)))
    limited(t, t.file("names.gz"))
    refused(t, written(t, "empty", ""), "is empty")
    refused(t, written(t, "binary", b"\x7fELF" + bytes(range(200))), "none of the formats that are known")
    refused(t, t.dir, "is a folder")
    refused(t, t.file("missing"), "cannot open")
    refused(t, t.record(t.build("imported.c")), "is already a tidemark recording")


def limited(t, path):
    """With 1 GiB of address space it comes to an end of its own."""
    t.plain("prlimit", "--as=%d" % (1 << 30), t.tidemark, "import", path, "-o", t.file("limited.tide"), "--quiet")
    t.true("status", t.status in (0, 1) and t.stderr.count("\n") <= 1 and "memory" not in t.stderr, (t.status, t.stderr))


def test_names_that_are_no_utf8(t):
    profile = imported(t, written(t, "a.folded", b"ma\xffin;f\xc3 3\n"))
    t.equal("names", sorted(r["name"] for r in t.ask(profile, "report")["rows"]), ["f\ufffd", "ma\ufffdin"])


def test_usage(t):
    path = written(t, "a.folded", FOLDED)
    for arguments, what in (((), "it takes one file"), ((path, path), "it takes one file"), ((path, "--format", "xml"), "--format 'xml' is not one of heaptrack,"),
                            ((path, "--metric", "bytes"), "is not one of samples, total, live, peak"), ((path, "--nothing"), "unknown option '--nothing'"),
                            ((path, "-o"), "-o needs a value"), (("-",), "standard input has no name"), ((path, "-o", path), "is the file itself")):
        t.run("import", *arguments)
        t.equal(" ".join(arguments), (t.status, t.stderr.count("\n")), (2, 1))
        t.true("says " + what, what in t.stderr, t.stderr)
    t.equal("the input is as it was", open(path).read(), FOLDED)
    t.run("import", path)
    t.equal("default name", (t.status, t.stdout), (0, "a.tide\n"))


def has_open(child, path):
    try:
        return any(os.path.realpath(f"/proc/{child.pid}/fd/{fd}") == path for fd in os.listdir(f"/proc/{child.pid}/fd"))
    except OSError:
        return False


def test_fifo_before_its_writer(t):
    """A FIFO is read from its first byte to its end, whoever opens it first."""
    fifo, out = t.file("fifo"), t.file("out.tide")
    os.mkfifo(fifo)
    child = subprocess.Popen([t.tidemark, "import", fifo, "-o", out, "--format", "folded"],
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not has_open(child, os.path.realpath(fifo)) and child.poll() is None:
        time.sleep(0.01)
    time.sleep(0.1)  # an import that does not wait has ended by now, as a rule
    t.equal("waits", child.poll(), None)
    if child.returncode is None:
        with open(fifo, "w") as pipe:
            pipe.write("main;f 7\n")
        child.wait()
    t.equal("exit status", child.returncode, 0)
    t.equal("folded", t.run("flame", out, "--folded")[0], "main;f 7\n")


def test_interrupted(t):
    """Ctrl-C leaves no file, not even a part of one."""
    os.mkfifo(t.file("fifo"))
    out = t.file("out.tide")
    child = subprocess.Popen([t.tidemark, "import", t.file("fifo"), "-o", out, "--format", "folded"], stderr=subprocess.PIPE,
                             preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))  # a background job ignores it
    with open(t.file("fifo"), "w") as pipe:
        pipe.write("main;f 1\n" * 100000)
        pipe.flush()
        child.send_signal(signal.SIGINT)
        child.wait()
    child.stderr.close()
    t.true("ended by it", child.returncode != 0, child.returncode)
    t.equal("files", sorted(os.listdir(t.dir)), ["fifo"])


def test_diff_with_unknown_counts(t):
    """massif has no numbers of blocks, and not what was allocated: a difference calls neither of them zero."""
    recorded = t.record(t.build("imported.c"))
    t.run("export", recorded, "--format", "massif", "-o", t.file("a.massif"))
    profile = imported(t, t.file("a.massif"))
    for files in ((recorded, profile), (profile, recorded)):
        found = json.loads(t.run("diff", *files, "--json")[0])
        t.equal("rows", (found["same"], {row["status"] for row in found["rows"]}), (True, {"same"}))
        t.equal("counts", {row["change_count"] for row in found["rows"]} | {found["sum"]["change"]["count"]}, {None})
        text = t.run("diff", *files)[0]
        t.true("in words", re.search(r"^allocated +(\S+ \S+ -> not known|not known -> \S+ \S+)$", text, re.MULTILINE), text)
        t.true("and no blocks", re.search(r"^live .* \(no change\)$", text, re.MULTILINE), text)
