"""tidemark findings: the planted problem is named first, and programs that are fine are left alone."""
import csv
import io
import os
import re
import shutil

from harness import ROOT, Skipped, cases, slow

API = ("-I", os.path.join(ROOT, "include"))


def findings_of(t, profile, *options):
    return t.ask(profile, "findings", *options)


def record(t, number, *arguments):
    return t.record(t.build("planted.cpp", "-O1", *API), str(number), *arguments)


@cases(planted=(("1", "leak", "planted_leak"), ("2", "growth", "planted_cache"), ("3", "chain", "planted_doubling"),
                ("4", "churn", "planted_temporary"), ("5", "untouched", "planted_oversized"), ("6", "overhead", "planted_small"),
                ("7", "peak", "planted_copy"), ("8", "chain", "planted_vector"), ("9", "untouched", "planted_unused"),
                ("10", "leak", "planted_list")))
def test_planted(t, planted):
    number, kind, function = planted
    found = findings_of(t, record(t, number, *(("marks",) if kind == "growth" else ())))
    t.equal("clean", found["clean"], False)
    first = found["findings"][0]
    t.equal("first", (first["kind"], first["function"].split("(")[0]), (kind, function))
    t.equal("stack", first["stack"][0]["function"].split("(")[0], function)
    t.true("sentences", all(first[key] for key in ("title", "why", "do")), first)
    t.true("place", first["file"].endswith("planted.cpp") and first["line"] > 0, first)


def test_csv(t):
    """What JSON has, a row for each finding."""
    profile = record(t, 10)
    found = findings_of(t, profile)["findings"]
    rows = list(csv.DictReader(io.StringIO(t.run("findings", profile, "--csv")[0])))
    same = ("kind", "pid", "title", "why", "do", "bytes", "count", "indirect_bytes", "function", "file", "line")
    t.equal("rows", [[r[key] for key in same] for r in rows], [[str(f.get(key, "")) for key in same] for f in found])
    t.equal("stacks", [r["stack"].split(";") for r in rows], [[s["function"] for s in f["stack"]] for f in found])


@slow
def test_numbers(t):
    for number, want in ((1, (100, 40000)), (4, (2000000, 2000000 * 64)), (10, (2000, 256000))):  # of lists all, not their heads
        first = findings_of(t, record(t, number))["findings"][0]
        t.equal("count and bytes of %d" % number, (first["count"], first["bytes"]), want)
    unused = findings_of(t, record(t, 9))["findings"][0]  # the page that libc's header is on was touched
    t.true("untouched", (128 << 20) - 4096 <= unused["bytes"] < 128 << 20 and unused["count"] == 1, unused)
    chain = findings_of(t, record(t, 3))["findings"][0]
    # From 64 bytes to 4 MiB, 100 times: all sizes but the last are copied, unless libc can do without.
    t.equal("growths", chain["count"], 1600)
    t.true("copies", 0 < chain["bytes"] <= 100 * ((4 << 20) - 64), chain["bytes"])
    chain = findings_of(t, record(t, 8))["findings"][0]  # of 4 bytes, from 1 to 524,288
    t.equal("growths and copies of a vector", (chain["count"], chain["bytes"]), (1900, 100 * 4 * 524287))


def test_growth_by_marks(t):
    """With marks the growth is counted by event, after the first fifth of them."""
    found = findings_of(t, record(t, 2, "marks"))
    first = found["findings"][0]
    t.equal("first", (first["kind"], first["function"].split("(")[0]), ("growth", "planted_cache"))
    t.true("by event", "for each mark 'event'" in first["why"], first)


@cases(kind=("reachable", "cleared"))
def test_growth_until_the_last_mark(t, kind):
    """What is freed before the program ends is not held at its end; the figure is that of growth."""
    profile = t.record(t.build("grows.c", "-O1", *API), kind, "20", "1")
    found = [f for f in findings_of(t, profile)["findings"] if f["kind"] == "growth"]
    t.equal("bytes, as growth has them", [(f["function"], f["bytes"]) for f in found],
            [(s["function"], s["bytes"]) for s in t.ask(profile, "growth")["sites"]])
    t.equal("bytes", found[0]["bytes"], 190000)
    t.equal("title", found[0]["title"], "linked grew by 185.5 KiB up to the last mark, and never shrank from one to the next" +
            ("; all of it freed afterwards" if kind == "cleared" else ""))


def test_growth_from_one_high_to_the_next(t):
    """In between all is freed: it is not said that it never shrank."""
    profile = t.record(t.build("highs.c", *API))
    found = next(f for f in findings_of(t, profile)["findings"] if f["kind"] == "growth")
    t.equal("title", found["title"].split("; ")[0], "rise grew by 3.7 MiB up to the last mark, and never shrank from one to the next")
    t.true("why", found["why"].startswith("its live bytes rose from each mark to the next, by 97.7 KiB for each mark 'high'"), found["why"])
    lows = {m["live_bytes"] for m in t.ask(profile, "marks", "--label", "low")["marks"]}
    t.equal("live at the marks in between", lows, {0})


def test_honest_program(t):
    """The same work without a planted problem."""
    profile = record(t, 0)
    found = findings_of(t, profile)
    t.equal("clean", (found["clean"], found["findings"], found["not_recorded"]), (True, [], None))
    text = t.run("findings", profile)[0]
    t.true("text", "nothing worth your time" in text and "peak 4." in text, text)


def test_line_with_most(t):
    """The line of a finding is the one that has most, by however many calls."""
    source = os.path.join(ROOT, "tests", "programs", "two_lines.c")
    with open(source) as text:
        line = next(n for n, code in enumerate(text, 1) if code.rstrip().endswith("/* most */"))
    profile = t.record(t.build("two_lines.c", "-O1"))
    found = findings_of(t, profile)["findings"]
    t.equal("finding", [(f["kind"], f["function"], f["line"], f["bytes"]) for f in found[:1]], [("leak", "lose", line, 1400000)])
    rows = t.ask(profile, "report", "--by", "line")["rows"]
    t.equal("report", [(r["line"], r["self_bytes"]) for r in rows if r["name"] == "lose"], [(line, 800000), (line - 1, 600000)])


REAL = {
    "python3": ("/usr/bin/python3", "-c", "import json; print(len(json.dumps([{'n': i, 's': str(i)} for i in range(20000)])))"),
    "perl": ("perl", "-e", "my %h; $h{$_ % 1000} = \"x\" x 50 for 1 .. 50000; print scalar(keys %h), \"\\n\";"),
    "git": ("git", "--version"),
    "clang": ("clang", "-O1", "-x", "c", "-c", "/dev/null", "-o", "/dev/null"),
    "sort": ("sort", "/etc/services"),
    "tar": ("tar", "-cf", "/dev/null", "/etc/terminfo"),
    "bash": ("bash", "-c", "for i in $(seq 2000); do x[$i]=$i; done; echo ${#x[@]}"),
}


@cases(program=tuple(REAL))
def test_real_programs_without_a_problem(t, program):
    if not shutil.which(REAL[program][0]):
        raise Skipped("there is no " + program)
    found = findings_of(t, t.record(*REAL[program]))
    t.equal("nothing worth anybody's time", [(f["kind"], f["function"], f["title"]) for f in found["findings"]], [])
    t.equal("clean", found["clean"], True)


PYTHON = "/usr/bin/python3"


def own_line(how):
    with open(os.path.join(ROOT, "tests", "programs", "own_lines.py")) as lines:
        return next(n for n, line in enumerate(lines, 1) if line.rstrip().endswith("# own: " + how))


def run_python(t, how):
    profile = t.file("python.tide")
    summary = t.run("run", "-o", profile, "--", PYTHON, os.path.join(ROOT, "tests", "programs", "own_lines.py"), how)[1]
    return profile, summary


def test_python_line_of_the_user(t):
    """What a library allocates is told with the line of the script, and the next command shows the peak."""
    profile, summary = run_python(t, "library")
    place = "own_lines.py:%d" % own_line("library")
    held = re.search(r"^  at the peak load holds (\d+\.\d) MiB of (\d+\.\d) MiB: %s$" % place, summary, re.MULTILINE)
    t.true("in the summary", held and 23 < float(held.group(1)) <= float(held.group(2)) < 60, summary)  # the parts, and the whole
    following = re.search(r"^next: tidemark (.*)$", summary, re.MULTILINE).group(1)
    t.true("the peak comes next", following.startswith("report ") and "--metric peak" in following, following)


def test_python_objects_by_line(t):
    """250,000 small dictionaries are most of what is resident, though no block of the heap is."""
    profile, summary = run_python(t, "objects")
    first = findings_of(t, profile)["findings"][0]
    t.equal("who", (first["function"], os.path.basename(first["file"]), first["line"]), ("explode", "own_lines.py", own_line("objects")))
    t.true("how much", 40 << 20 <= first["bytes"] <= 90 << 20, first)
    t.true("in the summary", "explode holds " in summary and "own_lines.py:%d" % own_line("objects") in summary, summary)
    rows = t.report(profile, "peak")
    t.equal("as in report", t.row(rows, "explode")["self_bytes"], first["bytes"])


@cases(way=(("mmap", "mapped", "map_more", "100"), ("shared", "shared", "map_more", "100"), ("pool", "growth", "from_pool", "99")))
def test_growth_beside_the_heap(t, way):
    """100 KiB an event, mapped or from a pool, is much of a small process: once, and with its line."""
    name, kind, function, events = way
    found = findings_of(t, t.record(t.build("growth_kinds.c", "-O1", *API), name, "100", "1", "102400", "0"))["findings"]
    t.equal("what", [(f["kind"], f["function"], os.path.basename(f["file"]), f["bytes"]) for f in found],
            [(kind, function, "growth_kinds.c", int(events) * 102400)])
    t.true("by event", "by 100.0 KiB for each mark 'event'" in found[0]["why"], found)


def test_arenas_of_threads(t):
    """Every thread frees 1 MB in an arena of its own, and the next one has no use for it."""
    found = findings_of(t, t.record(t.build("growth_kinds.c", "-O1", *API), "arena", "20", "1", "1000000", "0"))["findings"]
    t.equal("what", [(f["kind"], f["function"]) for f in found], [("retention", "stays")])
    t.true("nearly all of it", 18 * 1000000 <= found[0]["bytes"] <= 23 << 20, found)
    t.true("where", " arenas" in found[0]["why"] and "MALLOC_ARENA_MAX" in found[0]["do"], found)


def test_untouched_mappings_are_no_growth(t):
    found = findings_of(t, t.record(t.build("grows.c", "-O1", *API), "space", "20", "1"))["findings"]
    t.equal("findings", found, [])


def test_python_without_a_finding(t):
    profile, summary = run_python(t, "little")
    t.equal("clean", findings_of(t, profile)["clean"], True)
    t.true("what comes next", summary.endswith("next: tidemark report %s --metric peak\n" % profile), summary)


def test_frozen_modules_get_no_advice(t):
    """Nobody can change how Python itself imports."""
    profile = t.record(PYTHON, "-c", "import asyncio, decimal, email.mime.text, http.server, unittest.mock, xml.dom.minidom")
    t.equal("findings", [f for f in findings_of(t, profile)["findings"] if (f["file"] or "").startswith("<frozen")], [])
    t.true("nor in growth", "<frozen" not in t.run("growth", profile)[0].split("arrays that grow")[-1] or "arrays that grow" not in t.stdout, t.stdout)
