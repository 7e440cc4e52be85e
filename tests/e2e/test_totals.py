"""Whatever is recorded, all commands, shapes and formats add up to the same numbers, and what one command suggests works."""
import csv
import io
import json
import os
import re
import shlex
import sqlite3

from harness import ROOT, cases

WAYS = ("function", "line", "stack", "library", "file", "thread")
WIDTH = 100
THREADS = """
import json, threading, zlib
kept = []
def work(n):
    for i in range(200):
        text = json.dumps({str(k): list(range(50)) for k in range((i + n) % 20)}).encode()
        if i % 5 == 0:
            kept.append(zlib.compress(text))
threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
for each in threads: each.start()
for each in threads: each.join()
print(len(kept))
"""
PROCESSES = "for i in 1 2 3; do ls /usr | sort >/dev/null; done; (exec ls / >/dev/null); %s lost; exec %s cache"


class Asked:
    """A recording, and what its commands say about one process or all of them."""

    def __init__(self, t, profile, *process):
        self.t, self.profile, self.process = t, profile, process
        self.totals = self.ask("report")["totals"]

    def ask(self, command, *words):
        return self.t.ask(self.profile, command, *words, *self.process)

    def text(self, command, *words):
        stdout, stderr, status = self.t.run(command, self.profile, *words, *self.process)
        self.t.equal("status of %s %s: %s" % (command, words, stderr), status, 0)
        return stdout

    def rows(self, command, *words):
        return list(csv.DictReader(io.StringIO(self.text(command, *words, "--csv"))))


def added_up(rows, stacks):
    names = ("bytes", "count") if stacks else ("self_bytes", "self_count")
    return tuple(sum(int(row[name]) for row in rows) for name in names)


def check_reports(t, a):
    """By function, by line, ...: the rows of each way add up to the total, as JSON and as CSV."""
    total = {"live": ("live_bytes", "live_blocks"), "total": ("bytes_allocated", "allocations")}
    for metric in ("live", "total", "peak", "temporary", "mapped"):
        sums = a.ask("report", "--metric", metric)["sum"]
        want = sums["bytes"], sums["count"]
        if metric in total:
            t.equal(metric, want, tuple(a.totals[name] for name in total[metric]))
        for by in WAYS:
            words = ("--metric", metric, "--by", by)
            t.equal("%s by %s" % (metric, by), added_up(a.ask("report", *words)["rows"], by == "stack"), want)
            t.equal("%s by %s, CSV" % (metric, by), added_up(a.rows("report", *words), by == "stack"), want)
        folded = a.text("flame", "--folded", "--metric", metric).splitlines()
        t.equal("%s, folded" % metric, sum(int(line.rsplit(" ", 1)[1]) for line in folded), want[0])
        tree = a.ask("report", "--tree", "--metric", metric)["rows"]
        t.equal("%s, tree" % metric, sum(row["total_bytes"] for row in tree), want[0])
    t.equal("the peak", a.ask("report", "--metric", "peak")["sum"]["bytes"], a.totals["peak_bytes"])
    t.equal("blocks", a.totals["allocations"] - a.totals["frees"], a.totals["live_blocks"])
    for kind, count in (("size", "allocations"), ("lifetime", "frees")):
        buckets = a.ask("report", "--histogram", kind)["histogram"]["buckets"]
        t.equal("histogram of %s" % kind, sum(b["count"] for b in buckets), a.totals[count])


def check_moments(t, a):
    """What is live at two moments, and the difference between them."""
    for since, at in (("start", "50%"), ("25%", "75%"), ("50%", "end")):
        then, now = (a.ask("report", "--at", moment)["sum"]["bytes"] for moment in (since, at))
        t.equal("from %s to %s" % (since, at), a.ask("report", "--since", since, "--at", at)["sum"]["bytes"], now - then)


def check_commands(t, a):
    """threads, peaks, tree and leaks have the totals of report."""
    threads = a.ask("threads")
    for name in ("live_bytes", "live_blocks", "allocations", "frees", "bytes_allocated"):
        t.equal("threads: " + name, sum(line[name] for line in threads["threads"]), a.totals[name])
    t.equal("threads: at the peak", sum(line["at_peak_bytes"] for line in threads["threads"]), a.totals["peak_bytes"])
    calls = [call for call in a.ask("tree")["calls"] if not call["depth"]]
    t.equal("tree", tuple(sum(call[name] for call in calls) for name in ("gained_bytes", "count")),
            (a.totals["bytes_allocated"], a.totals["allocations"]))
    leaks = a.ask("leaks")
    kinds = {kind: [leak for leak in leaks["leaks"] if leak["kind"] == kind] for kind in ("lost", "indirect", "reachable", "unclassified")}
    for kind, found in kinds.items():
        t.equal(kind, (sum(leak["bytes"] for leak in found), sum(leak["count"] for leak in found)),
                (leaks["totals"][kind + "_bytes"], leaks["totals"][kind + "_blocks"]))
    counted = leaks["totals"]["bytes"] + leaks["totals"]["ignored_bytes"] + leaks.get("python", {}).get("arena_live_bytes", 0)
    t.true("leaks counts all that is live, and what is freed after the scan", counted >= a.totals["live_bytes"], (counted, a.totals))
    lost = leaks["totals"]["lost_bytes"] + leaks["totals"]["indirect_bytes"] + leaks["others"]["lost_bytes"]
    found = sum(f["bytes"] for f in t.ask(a.profile, "findings")["findings"] if f["kind"] == "leak")
    t.true("findings", found <= lost or a.process, (found, lost))


def check_peaks(t, a):
    """The highest of the process's peaks is the one of all commands."""
    t.equal("peaks", max(p["bytes"] for p in a.ask("peaks")["peaks"] if p["thread"] is None), a.totals["peak_bytes"])


def check_exports(t, a):
    for kind, read in (("folded", lambda path: sum(int(line.rsplit(" ", 1)[1]) for line in open(path))),
                       ("speedscope", lambda path: sum(json.load(open(path))["profiles"][0]["weights"])),
                       ("csv", lambda path: added_up(csv.DictReader(open(path)), False)[0])):
        path = t.file("exported")
        t.run("export", a.profile, "--format", kind, "-o", path)
        t.equal("export --format " + kind, read(path), a.totals["live_bytes"])
    path = t.file("exported.db")
    t.run("export", a.profile, "--format", "sqlite", "-o", path)
    with sqlite3.connect(path) as database:
        t.true("tables", database.execute("select count(*) from sqlite_master").fetchone()[0] > 5)
    same = t.ask(a.profile, "diff", a.profile)
    t.equal("diff with itself", (same["same"], same["sum"]["change"]), (True, {"bytes": 0, "count": 0}))


def check_texts(t, a):
    """Lines fit, and what a command suggests can be typed as it is."""
    commands = [(c,) for c in ("report", "leaks", "findings", "growth", "threads", "peaks", "tree", "marks", "maps")]
    commands += [("report", "--metric", m) for m in ("peak", "total", "temporary", "mapped", "untouched")]
    for words in commands:
        text = a.text(*words)
        t.equal("long lines of " + " ".join(words), [line for line in text.splitlines() if len(line) > WIDTH and line[:5] != "next:"], [])
        for line in re.findall(r"^next: tidemark (.*)$", text, re.MULTILINE):
            if not line.startswith("run "):
                stdout, stderr, status = t.run(*shlex.split(line))
                t.true("next: " + line, status == 0 and stdout, stderr)
        for pattern in re.findall(r"--fold '([^']*)'", " ".join(text.split())):
            t.equal("--fold " + pattern, t.run("report", a.profile, "--fold", pattern)[2], 0)


def record(t, what):
    if what == "threads":
        with open(t.file("threads.py"), "w") as script:
            script.write(THREADS)
        return t.record("/usr/bin/python3", t.file("threads.py"))
    program = t.build("scenarios.c", "-O1", "-I", os.path.join(ROOT, "include"))
    if what == "processes":
        return t.record("sh", "-c", PROCESSES % (program, program))
    return t.record(t.build("contended_peak.c", "-O1", "-pthread"), "1000")


@cases(what=("threads", "processes", "contended"))
def test_totals(t, what):
    profile = record(t, what)
    a = Asked(t, profile)
    for check in (check_reports, check_moments, check_commands, check_peaks, check_exports, check_texts):
        check(t, a)
    if what == "processes":
        a = Asked(t, profile, "--process", "all")
        for check in (check_reports, check_commands):
            check(t, a)
