"""tidemark export: tables, databases, timelines, pages; and what it refuses."""
import csv
import io
import json
import os
import re
import sqlite3

import numpy

from exported import EVIL, LONG, PYTHON, RECORDINGS, add, export, nonzero, record, same, stacks
from harness import ROOT, cases

TABLES = ("report", "leaks", "marks", "stamps", "threads", "peaks", "growth", "findings", "maps", "processes")
COMMANDS = {"stamps": ("marks", "--stamps"), "maps": ("maps", "--by", "mapping")}


def read(path):
    with open(path, encoding="utf-8", errors="replace", newline="") as file:
        return file.read()


# --- csv and npy

def test_csv(t):
    """A table is what its command prints with --csv."""
    for kind in ("native", "hostile"):
        profile = record(t, kind)
        for table in TABLES[:-1]:
            command, *options = COMMANDS.get(table, (table,))
            top = ("--top", "0") if table in ("growth", "peaks") else ()
            t.equal("%s of %s" % (table, kind), read(export(t, profile, "csv", "--table", table)),
                    t.run(command, profile, "--csv", *options, *top)[0])
        t.equal("with options", read(export(t, profile, "csv", "--by", "line", "--metric", "total", "--top", "3", "--ignore", "main")),
                t.run("report", profile, "--csv", "--by", "line", "--metric", "total", "--top", "3", "--ignore", "main")[0])
        t.equal("as a difference", read(export(t, profile, "csv", "--since", "50%", "--by", "stack")),
                t.run("report", profile, "--csv", "--since", "50%", "--by", "stack")[0])


@cases(kind=("native", "hostile", "long"))
def test_npy(t, kind):
    profile = record(t, kind)
    for table in TABLES:
        rows = list(csv.DictReader(io.StringIO(read(export(t, profile, "csv", "--table", table)))))
        path = t.file(table + ".npy")
        stderr = t.run("export", profile, "--format", "npy", "--table", table, "-o", path)[1]
        array = numpy.load(path)
        t.equal("rows of " + table, len(array), len(rows))
        cut = 0
        for mine, row in zip(array, rows):
            t.equal("columns", list(array.dtype.names), list(row))
            for name, text in row.items():
                value = mine[name]
                if array.dtype[name].kind == "S":
                    encoded = text.encode(errors="replace") if "\ufffd" not in text else None
                    cut += encoded is not None and len(encoded) > 4096
                    t.true("text of %s.%s" % (table, name), encoded is None or value == encoded[:4096].rstrip(b"\0"), (value[:100], text[:100]))
                elif array.dtype[name].kind == "f":
                    t.true("%s.%s" % (table, name), value == float(text) if text else numpy.isnan(value), (value, text))
                else:
                    want = int(text) if text not in ("", "true", "false") else -2**63 if not text else int(text == "true")
                    t.equal("%s.%s" % (table, name), int(value), want)  # addresses of the kernel are unsigned
        t.equal("texts that are cut", "bytes of a text" in stderr, cut > 0)


# --- sqlite

@cases(kind=RECORDINGS)
def test_sqlite(t, kind):
    profile = record(t, kind)
    db = sqlite3.connect(export(t, profile, "sqlite"))
    ask = lambda sql, *values: db.execute(sql, values).fetchall()
    t.equal("schema", ask("SELECT value FROM meta WHERE key = 'schema'"), [("tidemark.sqlite/1",)])
    t.equal("sound", ask("PRAGMA integrity_check"), [("ok",)])
    heap = "domain IN ('heap', 'arena')"
    columns = {"live": ("live_bytes", "live_blocks"), "total": ("total_bytes", "allocations"), "peak": ("peak_bytes", "peak_blocks"),
               "temporary": ("temporary_bytes", "temporary")}
    python = {row[0:2] for row in ask("SELECT name, file FROM functions WHERE file IS NOT NULL")}
    for view, key in (("self_by_function", "self"), ("total_by_function", "total")):
        rows = ask("SELECT name, module, file, %s FROM %s WHERE %s" % (", ".join(c for pair in columns.values() for c in pair), view, heap))
        for i, metric in enumerate(columns):
            got, want = {}, {}
            for row in rows:
                add(got, row[:3], *row[3 + 2 * i:5 + 2 * i])
            for row in t.report(profile, metric)["rows"]:
                file = row["file"] if (row["name"], row["file"]) in python else None
                add(want, (row["name"], row["module"], file), row[key + "_bytes"], row[key + "_count"])
            same(t, "%s by %s" % (metric, view), nonzero(got), nonzero(want))
    totals = t.report(profile)["totals"]
    t.equal("changes", ask("SELECT sum(changes.allocations), sum(changes.bytes), sum(changes.frees), sum(changes.temporary) FROM changes "
                           "JOIN sites ON sites.id = site WHERE " + heap),
            [(totals["allocations"], totals["bytes_allocated"], totals["frees"], totals["temporary_allocations"])])
    t.equal("the last moment", ask("SELECT live_bytes, live_blocks FROM timeline ORDER BY time_ns DESC LIMIT 1"), [(totals["live_bytes"], totals["live_blocks"])])
    t.equal("the highest", ask("SELECT max(peak_bytes) FROM intervals"), [(totals["peak_bytes"],)])
    names = {}
    for text, amount in ask("SELECT names, sum(live_bytes) FROM sites JOIN stack_names USING (stack) WHERE %s GROUP BY names" % heap):
        add(names, text, amount)
    want = {}
    for stack, values in stacks(t, profile, "live").items():
        add(want, ";".join(reversed(stack)), values[0])
    same(t, "stacks", {k: v for k, v in names.items() if any(v)}, {k: v for k, v in want.items() if any(v)})
    for table in ("threads", "marks", "stamps", "leaks", "maps", "findings", "processes"):
        rows = list(csv.DictReader(io.StringIO(read(export(t, profile, "csv", "--table", table)))))
        got = db.execute('SELECT * FROM "%s"' % table)
        keys = [c[0] for c in got.description]
        t.true("columns of " + table, not rows or [k for k in keys if k not in ("process", "id")] == list(rows[0]), keys)
        t.equal("rows of " + table, len(got.fetchall()), len(rows))
    t.equal("marks", ask('SELECT label, "index", time_ns, live_bytes FROM marks'),
            [(m["label"], m["index"], m["time_ns"], m["live_bytes"]) for m in t.ask(profile, "marks")["marks"]])
    lost = t.ask(profile, "leaks")["totals"]
    t.equal("leaks", ask("SELECT coalesce(sum(bytes), 0) FROM leaks WHERE kind = 'lost'"), [(lost["lost_bytes"],)])
    if kind == "hostile":
        t.equal("a name as it is", ask("SELECT count(*) FROM functions WHERE name = ?", EVIL), [(1,)])
    if kind == "long":
        t.equal("a long name", ask("SELECT count(*) FROM functions WHERE name = ?", LONG[:65536]), [(1,)])


def test_sqlite_processes(t):
    profile = t.record("/bin/sh", "-c", "%s -c 'x = bytearray(1 << 20)'; %s -c 'pass'" % (PYTHON, PYTHON))
    db = sqlite3.connect(export(t, profile, "sqlite"))
    want = [p["pid"] for p in t.report(profile)["processes"]]
    t.equal("all of them", [r[0] for r in db.execute("SELECT pid FROM processes ORDER BY id")], want)
    for number, pid in db.execute("SELECT id, pid FROM processes").fetchall():
        totals = t.report(profile, "live", "--process", str(pid))["totals"]
        got = db.execute("SELECT coalesce(sum(bytes), 0), coalesce(sum(live_bytes), 0) FROM sites WHERE process = ? AND domain IN ('heap', 'arena')", (number,)).fetchone()
        t.equal("process %d" % pid, got, (totals["bytes_allocated"], totals["live_bytes"]))


# --- timelines

def test_firefox(t):
    """By these rules of the processed format, version 48: every table has its length and columns as long; stacks refer to
    frames and earlier stacks, frames to functions, functions to strings and resources; markers have names, times and a
    known type; counters are differences of category Memory; a category is grey."""
    for kind in RECORDINGS:
        profile = record(t, kind)
        content = json.loads(read(export(t, profile, "firefox")))
        t.equal("version", content["meta"]["preprocessedProfileVersion"], 48)
        t.true("a grey category", any(c["color"] == "grey" for c in content["meta"]["categories"]))
        allocated, live, found, threads = 0, 0, {}, {}
        for thread in content["threads"]:
            strings = thread["stringArray"]
            for name in ("samples", "nativeAllocations", "markers", "stackTable", "frameTable", "funcTable", "resourceTable", "nativeSymbols"):
                table = thread[name]
                columns = {k: v for k, v in table.items() if isinstance(v, list)}
                t.true("columns of " + name, columns and all(len(v) == table["length"] for v in columns.values()), {k: len(v) for k, v in columns.items()})
            stack, frame, func = thread["stackTable"], thread["frameTable"], thread["funcTable"]
            t.true("prefixes", all(p is None or 0 <= p < i for i, p in enumerate(stack["prefix"])))
            t.true("frames", all(0 <= f < frame["length"] for f in stack["frame"]))
            t.true("functions", all(0 <= f < func["length"] for f in frame["func"]))
            t.true("strings", all(0 <= s < len(strings) for s in func["name"] + [f for f in func["fileName"] if f is not None]))
            t.true("resources", all(-1 <= r < thread["resourceTable"]["length"] for r in func["resource"]))
            t.true("a pid is a text", isinstance(thread["pid"], str) and isinstance(thread["isMainThread"], bool))
            names = []
            for f, prefix in zip(stack["frame"], stack["prefix"]):
                names.append((strings[func["name"][frame["func"][f]]],) + (names[prefix] if prefix is not None else ()))
            a = thread["nativeAllocations"]
            t.equal("times in order", a["time"], sorted(a["time"]))
            for weight, s in zip(a["weight"], a["stack"]):
                allocated, live = allocated + max(weight, 0), live + weight
                add(found, names[s], weight)
            add(threads, thread["name"], sum(a["weight"]))
            marks = thread["markers"]
            t.true("markers", all(d["type"] == "Mark" for d in marks["data"]) and set(marks["phase"]) <= {0})
        totals = t.report(profile)["totals"]
        t.equal("bytes", (allocated, live), (totals["bytes_allocated"], totals["live_bytes"]))
        same(t, "live stacks of " + kind, {s: v for s, v in found.items() if any(v)}, {s: v[:1] for s, v in stacks(t, profile, "live").items() if v[0]})
        rows = t.report(profile, "live", "--by", "thread")["rows"]
        t.equal("threads", {n: v[0] for n, v in threads.items() if v[0]}, {r["name"]: r["self_bytes"] for r in rows if r["self_bytes"]})
        heap, *others = content["counters"]
        t.true("categories", all(c["category"] == "Memory" and len(c["samples"]["time"]) == len(c["samples"]["count"]) == c["samples"]["length"] for c in content["counters"]))
        t.equal("the heap's counter", sum(heap["samples"]["count"]), totals["live_bytes"])
        marks = t.ask(profile, "marks")["marks"]
        main = content["threads"][0]
        t.equal("marks", [(main["stringArray"][n], d["live_bytes"]) for n, d in zip(main["markers"]["name"], main["markers"]["data"])],
                [(m["label"], m["live_bytes"]) for m in marks])
        stamps = [m for m in t.ask(profile, "marks", "--stamps")["marks"] if not m["label"]]
        t.equal("RSS at the end", [sum(c["samples"]["count"]) for c in others], [stamps[-1]["rss_bytes"]])


def test_firefox_cpu(t):
    profile = t.record(PYTHON, "-c", "sum(i * i for i in range(3000000))", opts=("--cpu",))
    content = json.loads(read(export(t, profile, "firefox", "--metric", "cpu")))
    t.equal("samples", sum(sum(x["samples"]["weight"]) for x in content["threads"]), sum(v[1] for v in stacks(t, profile, "cpu").values()))


def test_chrome(t):
    """By these rules of the trace event format: each event has a phase, a name, pid, tid and a time in microseconds;
    counters have numbers; instants have a scope; complete events have a duration; metadata has a name."""
    for kind in RECORDINGS:
        profile = record(t, kind)
        events = json.loads(read(export(t, profile, "chrome")))["traceEvents"]
        t.true("every event", all({"ph", "name", "pid", "tid", "ts", "args"} <= set(e) and e["ts"] >= 0 for e in events), events[:1])
        t.equal("phases", {e["ph"] for e in events} - {"i"}, {"M", "C", "X"})
        t.true("details", all({"i": e.get("s") == "p", "X": e.get("dur", -1) >= 0, "M": "name" in e["args"],
                               "C": all(isinstance(v, int) for v in e["args"].values())}[e["ph"]] for e in events))
        totals = t.report(profile)["totals"]
        last = {}
        for e in events:
            if e["ph"] == "C":
                last[e["name"]] = list(e["args"].values())[0]
        t.equal("live heap at the end", last["live heap"], totals["live_bytes"])
        rows = t.report(profile, "live", "--by", "thread")["rows"]
        t.equal("threads at the end", {k[len("live heap of "):]: v for k, v in last.items() if k.startswith("live heap of ") and v},
                {r["name"]: r["self_bytes"] for r in rows if r["self_bytes"]})
        marks = t.ask(profile, "marks")["marks"]
        t.equal("marks", [(e["name"], e["args"]["index"], e["args"]["live_bytes"]) for e in events if e["ph"] == "i"],
                [(m["label"], m["index"], m["live_bytes"]) for m in marks])
        t.equal("values of marks", [e["args"].get("blocks") for e in events if e["name"] == "high"], [110] if marks else [])


def test_chrome_processes(t):
    profile = t.record("/bin/sh", "-c", "%s -c 'x = bytearray(1 << 20)'; %s -c 'pass'" % (PYTHON, PYTHON))
    events = json.loads(read(export(t, profile, "chrome")))["traceEvents"]
    t.equal("every process", sorted({e["pid"] for e in events}), sorted(p["pid"] for p in t.report(profile)["processes"]))
    pid = t.report(profile)["pid"]
    one = json.loads(read(export(t, profile, "chrome", "--process", str(pid))))["traceEvents"]
    t.equal("one of them", {e["pid"] for e in one}, {pid})


# --- html, and the command itself

def test_html(t):
    profile = record(t, "native")
    t.run("view", profile, "--no-open", "-o", t.file("view.html"))
    path = t.file("export.html")
    t.equal("the page of view", (t.run("export", profile, "--format", "html", "-o", path)[2], read(path)), (0, read(t.file("view.html"))))


def test_where_it_goes(t):
    profile = record(t, "native")
    named = t.file("app.tide")
    os.rename(profile, named)
    for form, ending in (("pprof", "pb.gz"), ("folded", "folded"), ("sqlite", "sqlite"), ("heaptrack", "heaptrack.gz")):
        stdout, _, status = t.run("export", named, "--format", form)
        t.equal(form, (stdout, status, os.path.exists(t.file("app." + ending))), ("app.%s\n" % ending, 0, True))
    t.equal("a table", t.run("export", named, "--format", "csv", "--table", "marks")[0], "app.marks.csv\n")
    t.equal("stdout", t.run("export", named, "--format", "folded", "-o", "-")[0], read(t.file("app.folded")))
    before = read(named)
    stdout, stderr, status = t.run("export", named, "--format", "folded", "-o", named)
    t.equal("a recording stays", (stdout, status, read(named)), ("", 1, before))
    t.true("and why", "is a recording and is not overwritten" in stderr, stderr)
    stdout, stderr, status = t.run("export", named, "--format", "pprof", "-o", t.file("no/such/folder"))
    t.equal("no folder", (stdout, stderr.count("\n"), status), ("", 1, 1))
    t.equal("nothing is left behind", [n for n in os.listdir(t.dir) if "part-" in n], [])


def test_documented(t):
    """The formats of --help are those of the manual page and of docs/export.md, with their endings."""
    text = t.run("export", "--help")[0]
    shown = re.findall(r"^ {19}(\w+) +\S", text.split("one of:")[1].split("-o FILE")[0], re.MULTILINE)
    t.equal("formats", shown, ["pprof", "folded", "speedscope", "firefox", "callgrind", "massif", "dhat", "heaptrack", "chrome", "sqlite", "csv", "npy", "otlp", "html"])
    table = re.findall(r"^\| `(\w+)` \| `\.([\w.]+)` \|", read(os.path.join(ROOT, "docs", "export.md")), re.MULTILINE)
    t.equal("docs/export.md", [name for name, _ in table], shown)
    page = read(os.path.join(ROOT, "docs", "man", "tidemark-export.1"))
    t.equal("the manual page", [n for n in shown if not re.search(r"^\.It Cm .*\b%s\b" % n, page, re.MULTILINE)], [])
    os.rename(record(t, "native"), t.file("app.tide"))
    t.equal("endings", [t.run("export", "app.tide", "--format", name)[0] for name in shown], ["app.%s\n" % ending for _, ending in table])
    db = sqlite3.connect(t.file("app.sqlite"))
    document = read(os.path.join(ROOT, "docs", "export.md"))
    names = [row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')")]
    t.equal("tables and views that the document has not", [n for n in names if "`%s`" % n not in document], [])
    for table in ("processes", "functions", "frames", "stacks", "sites", "intervals", "changes"):
        columns = [row[1] for row in db.execute("PRAGMA table_info(%s)" % table)]
        t.equal("columns of " + table, [c for c in columns if "`%s`" % c not in document], [])
    for sql in re.findall(r"```sql\n(.*?)```", document, re.DOTALL):
        for question in sql.split(";")[:-1]:
            t.true("an example has an answer", db.execute(question).fetchall(), question)


def test_wrong_usage(t):
    profile = record(t, "native")
    for arguments, status, words in (((), 2, "--format is missing"), (("--format", "pprov"), 2, "one of pprof, folded"),
                                     (("--format", "massif", "--since", "high"), 2, "leave out --since"), (("--format", "dhat", "--metric", "live"), 2, "leave out --metric"),
                                     (("--format", "heaptrack", "--at", "high"), 2, "leave out --at"), (("--format", "massif", "--metric", "total"), 2, "live, mapped, pool, gpu or tensor"),
                                     (("--format", "firefox", "--metric", "faults"), 2, "live, total or cpu"), (("--format", "firefox", "--at", "peak"), 2, "the peak is inside of one"), (("--format", "pprof", "--table", "marks"), 2, "leave out --table"),
                                     (("--format", "csv", "--table", "mark"), 2, "one of report, leaks"), (("--format", "sqlite", "-o", "-"), 2, "name a file"),
                                     (("--format", "sqlite", "--within", "main"), 2, "holds the whole recording"), (("--format", "html", "--process", "1"), 2, "leave out --process"),
                                     (("--format", "pprof", "--metric", "cpu"), 1, "no CPU samples"), (("--format", "pprof", "--process", "1"), 1, "no process 1"),
                                     (("--format", "csv", "--table", "threads", "--metric", "total"), 2, "leave out --metric"), (("--format", "npy", "--table", "growth", "--at", "50%"), 2, "leave out --at"),
                                     (("--format", "csv", "--table", "marks", "--within", "main"), 2, "such as --within"), (("--format", "csv", "--table", "peaks", "--min", "5"), 2, "leave out --min"),
                                     (("--format", "csv", "--table", "processes", "--process", "1"), 2, "leave out --process"), (("--format", "csv", "--table", "marks", "--process", "all"), 2, "--process PID"),
                                     (("--format", "pprof", "--within", "nothing"), 1, "--within"), (("--formt", "x"), 2, "--format")):
        stdout, stderr, got = t.run("export", profile, *arguments)
        t.equal("status of %s" % (arguments,), (got, stdout, stderr.count("\n")), (status, "", 1))
        t.true("%s says what is right" % (arguments,), words in stderr, stderr)
