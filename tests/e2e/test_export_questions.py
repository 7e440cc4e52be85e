"""tidemark export: every format with every metric, moment, difference, process and filter that it takes: the sum in the file is the report's."""
import json
import os
import re
import sqlite3
import subprocess

import numpy

from exported import API, record
from harness import cases
from attaching import SUPPORTED, Attached, program
from test_bad_files import chunk, varints
from test_export import Pprof
from test_export_tables import read
from test_manuals import chunks_of, read_process
from test_otlp import Otlp

# What each format takes; the others are refused, which test_export_tables.test_wrong_usage checks.
HEAP = ("live", "total", "peak", "sitepeak", "temporary", "mapped", "untouched")
METRICS = {"pprof": HEAP, "otlp": HEAP, "folded": HEAP, "speedscope": HEAP, "callgrind": HEAP, "csv": HEAP + ("largest",), "npy": HEAP + ("largest",),
           "firefox": ("live", "total"), "massif": ("live", "mapped")}
MOMENTS = (("--at", "high"), ("--at", "50%"), ("--since", "high"), ("--since", "high", "--at", "done"), ("--at", "peak"))
FILTERS = (("--within", "outer|sizes"), ("--ignore", "keep"), ("--fold", "^middle$|^inner$"), ("--thread", 'work;er "1" <b>'),
           ("--merge", "s/keep|grow/held/"), ("--no-fold",), ("--native-only",), ("--process", "all"))
SIZES = (("--size", "usable"), ("--size", "overhead"))


def pprof_sum(path):
    got = Pprof(path)
    return sum(v[-1] for v in got.stacks()[0].values())


def folded_sum(path):
    return sum(int(line.rsplit(" ", 1)[1]) for line in read(path).split("\n") if line)


def speedscope_sum(path):
    return json.loads(read(path))["profiles"][0]["endValue"]


def callgrind_sum(path):
    return int(re.search(r"^summary: (\d+)", read(path), re.MULTILINE).group(1))


def csv_sum(path):
    lines = read(path).splitlines()
    column = lines[0].split(",").index("bytes")
    return sum(int(line.split(",")[column]) for line in lines[1:])


def npy_sum(path):
    return int(sum(int(v) for v in numpy.load(path)["bytes"]))


def massif_sum(path):
    return int(re.findall(r"^mem_heap_B=(\d+)$", read(path), re.MULTILINE)[-1])


def otlp_sum(path):
    return sum(v for values in Otlp(path).profiles[0]["stacks"].values() for v in values)


def firefox_sum(path, metric):
    weights = [w for thread in json.loads(read(path))["threads"] for w in thread["nativeAllocations"]["weight"]]
    return sum(w for w in weights if w > 0 or metric == "live")


READERS = {"pprof": pprof_sum, "otlp": otlp_sum, "folded": folded_sum, "speedscope": speedscope_sum, "callgrind": callgrind_sum, "csv": csv_sum,
           "npy": npy_sum, "massif": massif_sum}
HOLDS_NEGATIVE = ("pprof", "otlp", "folded", "csv", "npy", "firefox")


def wanted(t, profile, metric, options, form):
    """The sum of the report's stacks; without what shrank where the format has no negative amounts."""
    rows = t.report(profile, metric, "--by", "stack", *options)["rows"]
    if form in HOLDS_NEGATIVE:
        return sum(r["bytes"] for r in rows)
    merged = {}
    for r in rows:  # threads are one there
        key = json.dumps(r["stack"])
        merged[key] = merged.get(key, 0) + r["bytes"]
    return sum(v for v in merged.values() if v > 0)


def ask(t, profile, form, metric, options):
    path = t.file("out." + form)
    extra = ("--by", "stack") if form in ("csv", "npy") else ()
    stdout, stderr, status = t.run("export", profile, "--format", form, "-o", path, "--metric", metric, *options, *extra)
    said = all(line.startswith("tidemark export: ") for line in stderr.splitlines())
    t.true("%s --metric %s %s: %s" % (form, metric, " ".join(options), stderr), status == 0 and said)
    if status == 0:
        got = firefox_sum(path, metric) if form == "firefox" else READERS[form](path)
        t.equal("%s --metric %s %s" % (form, metric, " ".join(options)), got, wanted(t, profile, metric, options, form))


@cases(form=tuple(METRICS))
def test_questions(t, form):
    profile = record(t, "native")
    for metric in METRICS[form]:
        ask(t, profile, form, metric, ())
    moments = [m for m in MOMENTS if not (form == "massif" and "--since" in m) and not (form == "firefox" and "peak" in m)]
    filters = [f for f in FILTERS if form not in ("massif", "firefox") or "--process" not in f]
    sizes = () if form in ("massif", "firefox") else SIZES
    for options in (*moments, *filters, *sizes):
        ask(t, profile, form, "live", options)
    if form not in ("massif", "firefox"):
        ask(t, profile, form, "total", ("--since", "high", "--within", "outer|sizes"))


@cases(form=("pprof", "otlp", "folded", "speedscope", "callgrind", "csv", "npy", "firefox", "massif", "dhat", "heaptrack", "chrome"))
def test_processes(t, form):
    """--process picks one of several, in every format that is not about all of them."""
    profile = t.record("/bin/sh", "-c", "%s 3; %s 5" % ((t.build("family.c", "-O1"),) * 2))
    pids = [p["pid"] for p in t.report(profile)["processes"]]
    t.true("several", len(pids) > 2, pids)
    for pid in pids[1:4]:
        options = ("--process", str(pid))
        if form in READERS or form == "firefox":
            ask(t, profile, form, "live", options)
            continue
        path = t.file("out.heaptrack.gz" if form == "heaptrack" else "out." + form)
        t.run("export", profile, "--format", form, "-o", path, *options)
        t.equal("status of %s: %s" % (form, t.stderr), t.status, 0)
        totals = t.report(profile, "live", *options)["totals"]
        if form == "dhat":
            points = json.loads(read(path))
            got = [points["pid"], sum(p["tb"] for p in points["pps"]), sum(p["eb"] for p in points["pps"])]
            t.equal("dhat of %d" % pid, got, [pid, totals["bytes_allocated"], totals["live_bytes"]])
        elif form == "heaptrack":
            text = subprocess.run(["heaptrack_print", "-f", path], stdout=subprocess.PIPE, check=True).stdout.decode()
            t.true("heaptrack of %d" % pid, "calls to allocation functions: %d " % totals["allocations"] in text, text[-300:])
        else:
            last = [e["args"] for e in json.loads(read(path))["traceEvents"] if e["name"] == "live heap"][-1]
            t.equal("chrome of %d" % pid, list(last.values()), [totals["live_bytes"]])


def test_all_processes_in_heaptrack(t):
    """A process that ended before the peak of all counts with what it held when it ended."""
    profile = t.record("/bin/sh", "-c", "%s keep 50 1000; %s hold 4000000" % ((t.build("left_blocks.c", "-O1"),) * 2))
    path = t.file("out.heaptrack.gz")
    stdout, stderr, status = t.run("export", profile, "--format", "heaptrack", "--process", "all", "-o", path)
    t.equal("status", status, 0)
    totals = t.report(profile, "live", "--process", "all")["totals"]
    t.true("blocks of the first are live at the end", totals["live_blocks"] >= 50 and totals["peak_bytes"] >= 4000000, totals)
    text = subprocess.run(["heaptrack_print", "-f", path], stdout=subprocess.PIPE, check=True).stdout.decode()
    t.true("allocations", "calls to allocation functions: %d " % totals["allocations"] in text, (totals, text[-300:]))
    t.true("peak", "the peak of this file" not in stderr, stderr)
    again = t.file("again.tide")
    t.run("import", path, "-o", again)
    got = t.report(again)["totals"]
    for key in ("live_blocks", "live_bytes", "peak_bytes", "bytes_allocated"):
        t.equal(key, got[key], totals[key])


def test_peak_that_no_interval_has(t):
    """Several threads: the peak may be a few bytes more than the highest total of any interval, and its time one interval late."""
    profile = t.record(t.build("freed_between_marks.c", "-O1", *API))
    with open(profile, "rb") as file:
        content = file.read()
    size = 24 + int.from_bytes(content[24:28], "little")  # the first chunk is the process
    (kind, _, payload), = chunks_of(t, content[:16 + size])
    read_process(payload, process := {})
    t.equal("first chunk", (kind, process["peak_bytes"]), ("PROC", 100000))
    peak = [process["peak_" + name] for name in ("bytes", "blocks", "time")]
    before, after = payload.data.split(varints(*peak))
    late = t.file("late.tide")
    with open(late, "wb") as file:
        file.write(content[:16] + chunk("PROC", before + varints(100016, 100, process["duration"]) + after) + content[16 + size:])
    totals = t.report(late)["totals"]
    t.equal("as recorded", (totals["allocations"], totals["live_blocks"], totals["live_bytes"]), (103, 3, 150))
    path, again = t.file("out.heaptrack.gz"), t.file("again.tide")
    t.run("export", late, "--format", "heaptrack", "-o", path)
    text = subprocess.run(["heaptrack_print", "-f", path], stdout=subprocess.PIPE, check=True).stdout.decode()
    t.true("what heaptrack prints", "total memory leaked: 150B" in text and "peak heap memory consumption: 100.00K" in text, text[-300:])
    t.run("import", path, "-o", again)
    got = t.report(again)["totals"]
    for key in ("allocations", "bytes_allocated", "live_blocks", "live_bytes"):
        t.equal(key, got[key], totals[key])


# --- recordings of other kinds --------------------------------------------------------------------

FORMATS = ("pprof", "otlp", "folded", "speedscope", "firefox", "callgrind", "massif", "dhat", "heaptrack", "chrome", "sqlite", "csv", "npy", "html")
IMPORTED = {
    "folded": ("main;f 10\nmain;g 5\n", ("--metric", "live")),
    "samples": ("main;f 10\nmain;g 5\n", ()),
    "massif": ("desc: x\ncmd: a\ntime_unit: i\n#---\nsnapshot=0\n#---\ntime=1\nmem_heap_B=15\nmem_heap_extra_B=0\nmem_stacks_B=0\nheap_tree=peak\n"
               "n2: 15 (heap allocation functions) malloc\n n0: 10 0x1: f (a.c:1)\n n0: 5 0x2: g (a.c:2)\n", ()),
    "massif-ms": ("desc: x\ncmd: a\ntime_unit: ms\n#---\nsnapshot=0\n#---\ntime=1\nmem_heap_B=15\nmem_heap_extra_B=0\nmem_stacks_B=0\nheap_tree=peak\n"
                  "n2: 15 (heap allocation functions) malloc\n n0: 10 0x1: f (a.c:1)\n n0: 5 0x2: g (a.c:2)\n", ()),
}
# Formats that would have to write a number that is not known.
REFUSED = {"folded": ("firefox", "massif", "dhat", "heaptrack", "chrome", "sqlite", "npy"), "samples": ("firefox", "massif", "dhat", "heaptrack", "chrome", "sqlite", "npy"),
           "massif": ("firefox", "massif", "dhat", "heaptrack", "chrome", "sqlite", "npy"), "massif-ms": ("firefox", "dhat", "heaptrack", "chrome", "sqlite", "npy")}


def exported(t, profile, form):
    path = t.file("out." + form)
    stdout, stderr, status = t.run("export", profile, "--format", form, "-o", path)
    return path, stderr, status


@cases(kind=tuple(IMPORTED))
def test_imported(t, kind):
    """What is not known is refused or left out, never a zero; stderr says what is not known."""
    content, options = IMPORTED[kind]
    source, profile = t.file("source"), t.file("imported.tide")
    with open(source, "w") as file:
        file.write(content)
    t.run("import", source, "-o", profile, *options)
    t.equal("import: " + t.stderr, t.status, 0)
    for form in FORMATS:
        path, stderr, status = exported(t, profile, form)
        if form in REFUSED[kind]:
            t.equal("%s is refused in one line: %s" % (form, stderr), (status, stderr.count("\n"), os.path.exists(path)), (1, 1, False))
            continue
        t.equal("%s: %s" % (form, stderr), status, 0)
        t.true("%s says what is not known" % form, form == "html" or "not known: " in stderr, stderr)
        if form in READERS:
            t.equal("sum of " + form, READERS[form](path) if form != "csv" else 15, 15)
    got = Pprof(exported(t, profile, "pprof")[0])
    t.equal("no type of value that is not known", got.types, {"samples": ["samples", "events"]}.get(kind, ["inuse_space"]))
    t.equal("no thread that is not known", got.stacks()[1], {})
    t.true("no pid that is not known", "pid" not in got.strings, got.strings)
    text = read(exported(t, profile, "callgrind")[0])
    events = re.search(r"^events: (.*)$", text, re.MULTILINE).group(1).split()
    t.equal("events of callgrind", events, {"samples": ["Events", "Samples"], "folded": ["LiveBytes"]}.get(kind, ["LiveBytes", "PeakBytes"]))
    t.true("no pid", "pid:" not in text)


def test_sampled(t):
    """Estimates: every format but the page, which says so itself, is exported with a line that says so."""
    profile = t.record(t.build("exported.c", "-O1", *API), opts=("--sample=4096",))
    for form in FORMATS:
        path, stderr, status = exported(t, profile, form)
        t.equal("%s: %s" % (form, stderr), status, 0)
        t.equal("%s says it: %s" % (form, stderr), "sampled, one allocation per 4.0 KiB: figures of the heap are estimates" in stderr, form != "html")
        if form in READERS and form != "csv":
            metric = {"pprof": "live", "otlp": "live", "folded": "live", "speedscope": "live", "callgrind": "live", "massif": "live"}.get(form)
            if metric:
                t.equal("sum of " + form, READERS[form](path), wanted(t, profile, metric, (), form))


def test_attached(t):
    """What was there before the attach is in no figure, and every format but the page is exported with a line that says so."""
    if not SUPPORTED:
        return
    with program(t) as p:
        p.tell("small 1000")
        attached = Attached(t, p.pid)
        p.tell("small 500")
        profile = attached.detach()
    before = t.report(profile)["attached"]
    t.true("what was there before is known", before["before_bytes"] > 0, before)
    for form in FORMATS:
        path, stderr, status = exported(t, profile, form)
        t.equal("%s: %s" % (form, stderr), status, 0)
        t.equal("%s says it: %s" % (form, stderr), " from before the attach are not in the figures" in stderr, form != "html")
        if form in ("pprof", "otlp", "folded", "speedscope", "callgrind", "massif"):
            t.equal("sum of " + form, READERS[form](path), wanted(t, profile, "live", (), form))


def test_merged(t):
    """Sums over its inputs; what needs the course of one run is refused."""
    program, merged = t.build("rank.c", "-O1"), t.file("merged.tide")
    t.run("merge", merged, *(t.record(program, env={"RANK": str(rank)}) for rank in range(3)))
    for form in FORMATS:
        path, stderr, status = exported(t, merged, form)
        if form in ("firefox", "massif", "dhat", "heaptrack", "chrome"):
            t.true("%s is refused: %s" % (form, stderr), status == 1 and stderr.count("\n") == 1 and "a merge does not keep" in stderr)
            continue
        t.equal("%s: %s" % (form, stderr), status, 0)
        t.true("%s says what it is of" % form, form == "html" or "sums over the 3 recordings of the merge" in stderr, stderr)
        if form in ("pprof", "otlp", "folded", "speedscope", "callgrind"):
            t.equal("sum of " + form, READERS[form](path), t.report(merged)["sum"]["bytes"])
        if form == "sqlite":
            got = sqlite3.connect(path).execute("SELECT sum(live_bytes) FROM sites WHERE domain IN ('heap', 'arena')").fetchone()[0]
            t.equal("sum of sqlite", got, t.report(merged)["sum"]["bytes"])
