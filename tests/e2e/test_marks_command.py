"""tidemark marks: the table of marks and stamps, as text, JSON and CSV."""
import csv
import io
import os
import re
import struct

import browser
from harness import ROOT

API = ("-I", os.path.join(ROOT, "include"))
KEYS = ["label", "index", "time_ns", "vm_bytes", "rss_bytes", "anon_bytes", "faults", "live_bytes", "live_blocks",
        "allocations", "allocator_held_bytes", "allocator_free_bytes", "allocator", "values"]


def record(t, count):
    return t.record(t.build("marks.c", "-O1", *API), str(count))


def rows_of(t, profile, *options):
    return t.ask(profile, "marks", *options)["marks"]


def test_json(t):
    rows = rows_of(t, record(t, 20))
    t.true("fields", all(list(m) == KEYS for m in rows), rows[:1])
    t.equal("labels", [(m["label"], m["index"]) for m in rows if m["label"] != "event"],
            [("ten", 1), ("ten", 2), ("before second", 1), ("after second", 1)])
    marked = [m for m in rows if m["label"] == "event"]
    t.equal("events", [(m["index"], m["live_bytes"], m["live_blocks"], m["allocations"], m["values"]) for m in marked],
            [(i, 100 * i, i, 11 * i, {"number": i}) for i in range(1, 21)])
    before, after = rows[-2:]  # libc makes a block for the thread before both
    t.equal("the second thread's", [after[k] - before[k] for k in ("live_bytes", "live_blocks", "allocations")], [7, 1, 1])
    told = [m for m in rows if m["allocator"]]  # not at each: test_allocator_figures.py
    t.true("the allocator's", rows[0] in told and all(m["allocator"] == "glibc" and m["allocator_held_bytes"] > m["allocator_free_bytes"] > 0 for m in told), told)
    times = [m["time_ns"] for m in rows]
    t.equal("in order of time", times, sorted(times))
    t.true("sizes", all(m["vm_bytes"] > m["rss_bytes"] > m["anon_bytes"] > 0 for m in rows), rows)


def test_sizes_and_faults(t):
    before, after = rows_of(t, t.record(t.build("sizes.c", "-O1", *API)))
    grown = {key: after[key] - before[key] for key in ("vm_bytes", "rss_bytes", "anon_bytes", "faults")}
    # The kernel counts resident pages a processor at a time, so they are true to some hundred.
    for key, few in (("vm_bytes", 1), ("rss_bytes", 4), ("anon_bytes", 4)):
        t.true(key, abs(grown[key] - (64 << 20)) <= few << 20, grown)
    t.true("faults", 16384 <= grown["faults"] < 16384 + 200, grown)


def test_text(t):
    profile = record(t, 20)
    lines = t.run("marks", profile, env={"COLUMNS": "140"})[0].splitlines()
    t.equal("heading", lines[1], "24 marks: event#1 to #20, ten#1 to #2, before second#1, after second#1")
    t.equal("titles", lines[3].split(), ["mark", "time", "VM", "RSS", "anon", "faults", "live", "blocks", "allocations", "held", "free", "values"])
    t.equal("rows", len(lines), 4 + 24)
    first, last = lines[4].split(), lines[-3].split("  ")
    t.equal("first", (first[0], first[-9:-4], first[-1]), ("event#1", ["100", "B", "1", "11", first[-5]], "number=1"))
    t.equal("what the allocator said", [w in ("B", "KiB", "MiB") for w in first[-5:-1]], [False, True, False, True])
    t.equal("last", (last[0], [w.strip() for w in last if w][6:9]), ("ten#2", ["2.0 KiB", "20", "220"]))


def test_csv(t):
    profile = record(t, 20)
    text = t.run("marks", profile, "--csv")[0]
    table = list(csv.DictReader(io.StringIO(text)))
    rows = rows_of(t, profile)
    t.equal("titles", list(table[0]), KEYS)
    for row, m in zip(table, rows):
        t.equal("numbers of a row", {k: row[k] for k in list(row)[1:-1]}, {k: "" if m[k] is None else str(m[k]) for k in list(row)[1:-1]})
    t.equal("labels and values", [(r["label"], r["values"]) for r in table],
            [(m["label"], "".join("%s=%d" % v for v in m["values"].items())) for m in rows])


def test_label_and_stamps(t):
    profile = record(t, 2000)
    marks = rows_of(t, profile)
    tens = rows_of(t, profile, "--label", "ten")
    t.equal("only these, with their own numbers", tens, [m for m in marks if m["label"] == "ten"])
    t.equal("their number", [m["index"] for m in tens], list(range(1, 201)))
    merged = rows_of(t, profile, "--stamps")
    stamps = [m for m in merged if not m["label"]]
    t.true("stamps", stamps and all(m["index"] == 0 and m["vm_bytes"] > 0 for m in stamps), stamps)
    t.equal("the marks are all there", [m for m in merged if m["label"]], marks)
    times = [m["time_ns"] for m in merged]
    t.equal("merged by time", times, sorted(times))
    some = rows_of(t, profile, "--stamps", "--label=ten")
    t.equal("both", ([m for m in some if m["label"]], [m for m in some if not m["label"]]), (tens, stamps))


def test_without_marks(t):
    profile = t.record(t.build("phases.c", "-O1"))
    lines = t.run("marks", profile)[0].splitlines()
    t.true("one line says how they are made", "tide_mark(" in lines[1] and "tidemark ctl PID mark LABEL" in lines[1], lines)
    t.true("stamps are shown", len(lines) > 4 and " 0 s " in lines[4], lines)
    t.equal("stamps", len(lines) - 4, len(rows_of(t, profile, "--stamps")))
    t.equal("data is what was asked for", rows_of(t, profile), [])


def test_wrong_usage(t):
    profile = record(t, 10)
    for arguments, status, words in ((("--label", "nothing"), 1, "event#1 to #10"), (("--metric", "live"), 2, "--metric"),
                                     (("--labl", "x"), 2, "--label"), (("--process", "1"), 1, "no process 1"),
                                     (("--json", "--csv"), 2, "exclude"), (("--label",), 2, "needs a value")):
        stdout, stderr, got = t.run("marks", profile, *arguments)
        t.equal("status of %s" % (arguments,), (got, stdout, stderr.count("\n")), (status, "", 1))
        t.true("%s says what is right" % (arguments,), words in stderr, stderr)
    t.equal("no such file", t.run("marks", t.file("none.tide"))[2], 1)


def test_npy(t):
    """Read as the format's description says; numpy, where it is there, must agree."""
    profile, path = record(t, 20), t.file("marks.npy")
    t.equal("nothing is printed", t.run("marks", profile, "--npy", path), ("", "", 0))
    with open(path, "rb") as file:
        content = file.read()
    t.equal("magic", content[:8], b"\x93NUMPY\x02\x00")
    size, = struct.unpack("<I", content[8:12])
    t.equal("aligned", (12 + size) % 64, 0)
    header = eval(content[12:12 + size].decode())  # as numpy does, with literal_eval
    names = [name for name, _ in header["descr"]]
    t.equal("shape", (header["shape"], header["fortran_order"]), ((24,), False))
    row = struct.Struct("<64s12qd")
    t.equal("rows", len(content) - 12 - size, 24 * row.size)
    rows = [dict(zip(names, row.unpack_from(content, 12 + size + i * row.size))) for i in range(24)]
    want = [m for m in rows_of(t, profile) if m["label"] == "event"]
    got = [r for r in rows if r["label"].rstrip(b"\0") == b"event"]
    t.equal("events", [(r["index"], r["time_ns"], r["rss_bytes"], r["live_bytes"], r["value_number"]) for r in got],
            [(m["index"], m["time_ns"], m["rss_bytes"], m["live_bytes"], m["values"]["number"]) for m in want])
    fields = ("allocator_held_bytes", "allocator_free_bytes")
    t.equal("-1 is not known", [[r[f] for f in fields] for r in got], [[-1 if m[f] is None else m[f] for f in fields] for m in want])


def test_plot(t):
    profile, path = record(t, 20), t.file("marks.svg")
    t.run("marks", profile, "--plot", path)
    with open(path) as file:
        svg = file.read()
    seen = browser.look(t, svg, """
        seen.push(window.tidemark.lines.map((l) => l.name).join(', '));
        seen.push(document.querySelectorAll('.m').length);
        const end = 960;  // where the last mark is; when the first was made is the machine's affair
        const texts = window.tidemark.show(end);
        seen.push(texts.length, texts.some((x) => x.startsWith('live heap  ')));
        window.tidemark.toggle(0);
        seen.push(window.tidemark.show(end).length, window.tidemark.show(5).length);
        """)
    t.true("what the lines are", ">dashed lines: 24 marks</text>" in svg)
    many = record(t, 100)
    t.run("marks", many, "--plot", path)
    with open(path) as file:
        svg = file.read()
    heights = {round(float(b) - float(a)) for a, b in re.findall(r'class="m" d="M[0-9.]+ ([0-9.]+)V([0-9.]+)"', svg)}
    t.equal("many are ticks", (heights, len(re.findall(r">ticks on the time axis: 112 marks</text>", svg))), ({7}, 1))
    t.equal("in the browser", seen, ["VM, RSS, anonymous RSS, live heap, held by the allocator, free in the allocator", "24", "7", "true", "6", "0"])


def test_gnuplot(t):
    profile, path = record(t, 20), t.file("marks.dat")
    t.run("marks", profile, "--gnuplot", path)
    with open(path) as file:
        blocks = file.read().split("\n\n\n")
    t.equal("lines", [line for b in blocks for line in b.splitlines() if line.startswith('"')],
            ['"VM"', '"RSS"', '"anonymous RSS"', '"live heap"', '"held by the allocator"', '"free in the allocator"'])
    live = [tuple(map(float, line.split())) for line in blocks[3].splitlines()[1:]]
    t.true("live bytes of every event", {100.0 * i for i in range(1, 21)} <= {y for _, y in live}, live)
