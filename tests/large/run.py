#!/usr/bin/env python3
"""Runs giants with and without tidemark: run.py [--build BUILD] [-k NAME] [--list] [--write docs/large.md]

Each entry of giants.py must say and leave behind the same with the recorder as without it, no stack may be cut, and the
first row of the report must name the line of the allocation that is known to be the largest. One row of a table for each:
wall time against that of the plain run, the most memory that the collector had, and so on; what is worse than it may be is
marked. If the collector had more than it may have, it is recorded itself in another run, to see how much of that is names. What is needed is installed once, below BUILD/large. Exit status 1: some row fails; what cannot be installed does.
"""
import argparse
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import giants

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
COLUMNS = ["program", "plain", "ratio", "collector", "cut", "nodes", "file", "end", "first row", "verdict"]
SHORT_S = 10  # those that take less are run again, up to ROUNDS times
ROUNDS = 3
PROCESSES = 200  # asked for cut stacks, at most
NAMES = "^(work_in_background|work_to_the_end|(naming|resolver)_[a-z_]*)$"  # what allocates for names, in the collector


class Run:
    """One run to its end: wall and CPU time, output, exit status, and the peak of its own resident memory."""

    def __init__(self, command, environment, limit_s):
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            begin = time.monotonic()
            child = subprocess.Popen(command, stdout=out, stderr=err, stdin=subprocess.DEVNULL, start_new_session=True,
                                     env={**os.environ, **environment})
            self.peak_bytes, self.own_peak_bytes, self.timed_out, ended = 0, 0, False, 0
            while not ended:
                self.look(child.pid)
                time.sleep(0.02)
                if time.monotonic() - begin > limit_s and not self.timed_out:
                    self.timed_out = True
                    os.killpg(child.pid, signal.SIGKILL)
                ended, status, used = os.wait4(child.pid, os.WNOHANG)
            self.end_s = time.monotonic()
            self.wall_s = self.end_s - begin
            self.cpu_s = used.ru_utime + used.ru_stime
            self.status = child.returncode = os.waitstatus_to_exitcode(status)
            out.seek(0)
            err.seek(0)
            self.stdout, self.stderr = (f.read().decode(errors="replace") for f in (out, err))

    def after_end_s(self):
        """Seconds since the program said that it ends; None: it did not."""
        said = re.search(r"^ended at ([0-9.]+)$", self.stderr, re.M)
        return self.end_s - float(said.group(1)) if said else None

    def look(self, pid):
        """VmHWM never falls; that of wait4 would be that of the program too. Its own: without pages of mapped files."""
        try:
            with open("/proc/%d/status" % pid) as lines:
                found = {line.split(":")[0]: line.split()[1] for line in lines if line.startswith(("VmHWM:", "Rss"))}
        except (OSError, IndexError):
            return
        if "VmHWM" in found:
            self.peak_bytes = max(self.peak_bytes, int(found["VmHWM"]) * 1024)
            self.own_peak_bytes = max(self.own_peak_bytes, (int(found["RssAnon"]) + int(found["RssShmem"])) * 1024)


class Recording:
    def __init__(self, tidemark, path):
        self.tidemark, self.path = tidemark, path

    def ask(self, *options):
        done = subprocess.run([self.tidemark, "report", self.path, "--json", *options], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True)
        if done.returncode:
            raise RuntimeError("report: " + done.stderr.strip()[:200])
        return json.loads(done.stdout)

    def sums(self):
        """(stacks cut, incomplete ones, allocations, nodes, seconds that the first process took) over all processes."""
        first = self.ask("--top", "1")
        cut = incomplete = allocations = nodes = 0
        for process in first["processes"][:PROCESSES]:
            found = self.ask("--top", "1", "--process", str(process["pid"]))
            cut += found["totals"]["truncated_stacks"]
            incomplete += found["totals"]["incomplete_stacks"]
            allocations += found["totals"]["allocations"]
            nodes += found["stack_nodes"]
        root = self.ask("--top", "1", "--process", str(first["processes"][0]["pid"]))
        return cut, incomplete, allocations, nodes, root["duration_ns"] / 1e9


def where(row):
    if row is None:
        return "nothing"
    return "%s:%s" % (os.path.basename(row["file"]), row["line"]) if row.get("file") else row.get("name") or row.get("function")


def first_row(giant, recording):
    """(is the marked line named, what is)"""
    if not giant.source:
        return True, where(next(iter(recording.ask("--metric", giant.metric, "--top", "1")["rows"]), None))
    line = giants.marked_line(giant.source)
    wanted = "%s:%d" % (os.path.basename(giant.source), line)
    if giant.in_stack:
        rows = recording.ask("--metric", giant.metric, "--by", "stack", "--top", "1")["rows"]
        stack = rows[0]["stack"] if rows else []
        return any(where(f) == wanted for f in stack), wanted if any(where(f) == wanted for f in stack) else where(next(iter(stack), None))
    found = {}
    for option in ((), ("--python-only",)):
        rows = recording.ask("--metric", giant.metric, "--by", "line", "--top", "1", *option)["rows"]
        found[option] = where(rows[0] if rows else None)
    named, python = found.values()
    if named != wanted and python == wanted:
        return False, "%s; with --python-only %s" % (named, python)
    return named == wanted, named


def share(part, whole):
    percent = 100 * part / whole
    return "0" if not part else "%.0f %%" % percent if percent >= 1 else "%.1g %%" % percent


def leaves(giant, run):
    try:
        return giant.leaves(run.stdout)
    except OSError as error:
        return str(error).encode()


def empty(folder):
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)


def names_bytes(tidemark, make, options, kept, fresh):
    """What names take of the collector's heap when that is largest: the collector itself is recorded."""
    empty(fresh)
    giant = make(giants.Place(kept, fresh))
    outer, inner = (os.path.join(os.path.dirname(fresh), name) for name in ("collector.tide", "again.tide"))
    Run([tidemark, "run", "--quiet", "-o", outer, "--", tidemark, "run", "--quiet", "-o", inner, "--"] + giant.command,
        giant.environment, options.limit)
    try:
        collector = Recording(tidemark, outer)
        pid = str(collector.ask("--top", "1")["processes"][0]["pid"])
        return collector.ask("--process", pid, "--metric", "peak", "--within", NAMES, "--top", "1")["sum"]["bytes"]
    finally:
        for path in (outer, inner):
            if os.path.exists(path):
                os.remove(path)


def median(values):
    return sorted(values)[len(values) // 2]


def measure(name, options, kept, fresh):
    """(cells of the row, what fails)"""
    make = giants.ALL[name]
    tidemark = os.path.join(options.build, "tidemark")
    profile, rival = (os.path.join(os.path.dirname(fresh), "giant." + end) for end in ("tide", "heaptrack"))
    ways = {"plain": [], "recorded": [tidemark, "run", "--quiet", "-o", profile, "--"], "heaptrack": ["heaptrack", "-o", rival]}
    failures, runs = [], {way: [] for way in ways}
    giant = make(giants.Place(kept, fresh))
    if not giant.heaptrack:
        del ways["heaptrack"]
    elif not shutil.which("heaptrack"):
        raise giants.Missing("Debian's heaptrack")
    while len(runs["plain"]) < ROUNDS and (not runs["plain"] or max(sum(r.wall_s for r in of) for of in runs.values()) < SHORT_S):
        results = {}
        for way, before in ways.items():
            empty(fresh)
            giant = make(giants.Place(kept, fresh))
            run = Run(before + giant.command, giant.environment, options.limit)
            if run.timed_out:
                return {"verdict": ""}, ["%s ran for more than %d s" % (way, options.limit)]
            runs[way].append(run)
            results[way] = run.status, leaves(giant, run)
            if way == "plain" and run.status:
                return {"verdict": ""}, ["plain: status %d, %s" % (run.status, run.stderr.strip()[-200:])]
            for left in glob.glob(rival + "*"):
                os.remove(left)
        (status, plain_left), (recorded_status, recorded_left) = results["plain"], results["recorded"]
        if status != recorded_status:
            failures.append("exit status %d instead of %d: %s" % (recorded_status, status, runs["recorded"][-1].stderr.strip()[-200:]))
        elif plain_left != recorded_left:
            failures.append("other output: %r instead of %r" % (recorded_left[-60:], plain_left[-60:]))
        if failures:
            break
    recorded, recording = runs["recorded"][-1], Recording(tidemark, profile)
    wall_s = {way: median([r.wall_s for r in runs[way]]) for way in ways}
    cpu_s = {way: median([r.cpu_s for r in runs[way]]) for way in ways}
    ratio = wall_s["recorded"] / wall_s["plain"]
    print("%s: CPU time %s" % (name, ", ".join("%s %.1f s" % of for of in cpu_s.items())), file=sys.stderr)
    cells = {"plain": "%.1f s" % wall_s["plain"], "ratio": "%.2f" % ratio, "collector": "%.0f MB" % (recorded.peak_bytes / 1e6)}
    most = giant.ratio
    if giant.heaptrack:
        theirs = wall_s["heaptrack"] / wall_s["plain"]
        cells["ratio"] += " (heaptrack %.2f)" % theirs
        most = most or theirs
    if not os.path.exists(recording.path):
        return cells, failures + ["no recording: " + recorded.stderr.strip()[-200:]]
    cut, incomplete, allocations, nodes, duration_s = recording.sums()
    end_s = recorded.after_end_s()
    end_s = max(0, recorded.wall_s - duration_s) if end_s is None else end_s
    named, what = first_row(giant, recording)
    cells.update({"cut": share(cut, allocations) + (", incomplete " + share(incomplete, allocations) if incomplete else ""), "nodes": "{:,}".format(nodes),
                  "file": "%.1f MB" % (os.path.getsize(recording.path) / 1e6), "end": "%.1f s" % end_s, "first row": what})
    os.remove(recording.path)
    if cut:
        failures.append("%s of %s stacks cut" % ("{:,}".format(cut), "{:,}".format(allocations)))
    if ratio > most:
        failures.append("ratio above %.1f" % most)
    if recorded.peak_bytes > giant.rss_bytes(nodes):
        recorded.own_peak_bytes -= names_bytes(tidemark, make, options, kept, fresh)
        cells["collector"] += ", %.0f without names" % (recorded.own_peak_bytes / 1e6)
    if min(recorded.peak_bytes, recorded.own_peak_bytes) > giant.rss_bytes(nodes):
        failures.append("collector above %.0f MB" % (giant.rss_bytes(nodes) / 1e6))
    if giant.end_s and end_s > giant.end_s:
        failures.append("ended %.1f s after the program" % end_s)
    if not named:
        failures.append("first row is not the line marked in " + os.path.basename(giant.source))
    return cells, failures


def row_of(name, cells, failures):
    cells = {**cells, "program": name, "verdict": "FAILS: " + "; ".join(failures) if failures else "ok"}
    return "| %s |" % " | ".join(cells.get(c, "").replace("|", "/").replace("\n", " ") for c in COLUMNS)


def head():
    return ["| %s |" % " | ".join(COLUMNS), "|%s" % ("---|" * len(COLUMNS))]


def write(path, rows):
    """Replaces the rows of the table in a document that were made again; the rest stays."""
    with open(path) as file:
        lines = file.read().splitlines()
    begin = lines.index(head()[0])
    end = next((i for i in range(begin, len(lines)) if not lines[i].startswith("|")), len(lines))
    old = {line.split("|")[1].strip(): line for line in lines[begin + 2:end]}
    table = [{**old, **rows}[name] for name in giants.ALL if name in old or name in rows]
    with open(path, "w") as file:
        file.write("\n".join(lines[:begin] + head() + table + lines[end:]) + "\n")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default=os.path.join(ROOT, "build"))
    parser.add_argument("-k", metavar="NAME", default="", help="only giants whose name contains NAME")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--limit", metavar="SECONDS", type=float, default=1800, help="for one run")
    parser.add_argument("--write", metavar="FILE", help="put the rows into the table of this document")
    options = parser.parse_args()
    chosen = [name for name in giants.ALL if options.k.lower() in name.lower()]
    if options.list:
        print("\n".join(chosen))
        return 0
    if not chosen:
        sys.exit("no giant's name contains '%s'; --list shows them" % options.k)
    options.build = os.path.abspath(options.build)
    kept = os.path.join(options.build, "large")
    os.makedirs(kept, exist_ok=True)
    print("\n".join(head()), flush=True)
    rows, failed = {}, 0
    for name in chosen:
        with tempfile.TemporaryDirectory(prefix="tide-large-") as base:
            try:
                cells, failures = measure(name, options, kept, os.path.join(base, "run"))
            except giants.Missing as error:
                cells, failures = {}, ["not installed: %s" % error]
            except Exception as error:
                cells, failures = {}, ["%s: %s" % (type(error).__name__, error)]
        failed += bool(failures)
        rows[name] = row_of(name, cells, failures)
        print(rows[name], flush=True)
        if options.write:
            write(options.write, {name: rows[name]})
    print("%d passed, %d failed" % (len(chosen) - failed, failed))
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
