"""tidemark merge: sums, spreads, and that the grouping of inputs does not show."""
import json
import os
import random
import shutil
import subprocess

from browser import Browser
from harness import cases, slow
from test_view_page import VIEWS, Page

METRICS = ("live", "total", "peak", "sitepeak", "largest", "temporary", "mapped")
GROUPINGS = ("function", "line", "library", "file", "thread", "stack")


def ranks(t, count, *arguments, opts=(), multiples=None):
    """Recordings of rank.c, as the ranks of a job make them."""
    program = t.build("rank.c", "-O1")
    return [t.record(program, str((multiples or {}).get(rank, 1)), *arguments, opts=opts,
                     env={"RANK": str(rank), "OMPI_COMM_WORLD_RANK": str(rank), "OMPI_COMM_WORLD_SIZE": str(count)})
            for rank in range(count)]


def merge(t, name, *files, status=0):
    out = t.file(name)
    t.run("merge", out, *files)
    t.equal("exit status of merge", t.status, status)
    return out


def key_of(row, by):
    if by == "stack":
        return json.dumps([row["thread"], row["stack"]])
    # what makes one row: the file and line that it is shown with may differ between inputs
    return {"function": (row["name"], row["module"]), "line": (row["name"], row["module"], row["file"], row["line"])}.get(by, row["name"])


def spread_of(values, labels, count):
    """What a merge must say of a row that has these values in the inputs, in order of rank."""
    there = [(v, label) for v, label in zip(values, labels) if v]
    highest = max((v for v, _ in there), default=0)
    return {"inputs": len(there), "min_bytes": min(values), "max_bytes": highest,
            "max_input": next((label for v, label in there if v == highest), None),
            "mean_bytes": (sum(values) + count // 2) // count}


def test_numbers_of_a_job(t):
    """Six ranks: rank R keeps R + 1 blocks of 1000 bytes, and the odd ones lose 300."""
    merged = merge(t, "job.tide", *ranks(t, 6))
    live = t.report(merged)
    t.equal("what it is", (live["merged"]["inputs"], live["merged"]["hosts"], live["complete"], live["together"]), (6, 1, True, 6))
    row = next(r for r in live["rows"] if r["name"] == "solve")
    t.equal("solve", {k: row[k] for k in ("self_bytes", "self_count", "inputs", "min_bytes", "mean_bytes", "max_bytes", "max_input")},
            {"self_bytes": 21000, "self_count": 21, "inputs": 6, "min_bytes": 1000, "mean_bytes": 3500, "max_bytes": 6000,
             "max_input": "rank 5"})
    row = next(r for r in live["rows"] if r["name"] == "lose")
    t.equal("lose", (row["self_bytes"], row["inputs"], row["min_bytes"], row["mean_bytes"], row["max_bytes"], row["max_input"]),
            (900, 3, 0, 150, 300, "rank 1"))
    row = next(r for r in live["rows"] if r["name"] == "main")
    t.equal("main with all that it calls", (row["total_bytes"], row["total_max_bytes"], row["total_max_input"], row["total_inputs"]),
            (21000 + 900 + 6 * 4096, 6000 + 300 + 4096, "rank 5", 6))
    t.equal("totals", (live["totals"]["live_bytes"], live["totals"]["live_blocks"], live["totals"]["peak_time_ns"]),
            (21000 + 900 + 6 * 4096, 21 + 3 + 6, None))
    t.equal("spread of a total", live["merged"]["totals"]["live_blocks"], {"min": 2, "max": 8, "max_input": "rank 5", "mean": 5})
    leaks = t.ask(merged, "leaks")
    t.equal("leaks", [(e["kind"], e["bytes"], e["count"], e["stack"][0]["function"]) for e in leaks["leaks"] if e["kind"] == "lost"],
            [("lost", 900, 3, "lose")])
    t.consistent(merged)
    text = t.run("report", merged)[0]
    t.true("text says what it is", "6 ranks on 1 host" in text and "the sum of the peaks of all" in text, text)
    t.true("stacks show their spread", "4.0 KiB in each of 6" in t.run("report", merged, "--by", "stack")[0], t.stdout)


@cases(by=GROUPINGS)
def test_spreads_are_those_of_the_inputs(t, by):
    """What a merge says of each row is what reports on the inputs say."""
    files = ranks(t, 4, "thread")
    merged = merge(t, "job.tide", *files)
    labels = ["rank %d" % i for i in range(4)]
    for metric in METRICS:
        amount = "bytes" if by == "stack" else "self_bytes"
        each = []
        for file in files:
            rows = {}
            for row in t.report(file, metric, "--by", by)["rows"]:
                rows[key_of(row, by)] = rows.get(key_of(row, by), 0) + row[amount]
            each.append(rows)
        together = t.report(merged, metric, "--by", by)["rows"]
        t.true("rows of %s" % metric, together or metric == "mapped", metric)
        for row in together:
            values = [rows.get(key_of(row, by), 0) for rows in each]
            t.equal("sum of %s in %s" % (metric, row.get("name")), row[amount], max(values) if metric == "largest" else sum(values))
            if metric != "largest":
                t.equal("spread of %s in %s" % (metric, row.get("name")), {k: row[k] for k in spread_of(values, labels, 4)},
                        spread_of(values, labels, 4))


def answers(t, merged):
    """Everything that commands say of a file, but for its name."""
    out = {}
    for metric in METRICS:
        for by in GROUPINGS:
            out[metric, by] = t.run("report", merged, "--metric", metric, "--by", by, "--json")[0]
    for command in ("report", "--tree"), ("report", "--at", "exit"), ("leaks",), ("findings",), ("report", "--histogram", "size"), \
            ("report", "--histogram", "lifetime"):
        out[command] = t.run(command[0], merged, *command[1:], "--json")[0]
    out["folded"] = t.run("flame", merged, "--folded")[0]
    out["inputs"] = t.run("merge", "--list", merged, "--json")[0]
    return out


def same_answers(t, what, got, want):
    for key, answer in want.items():
        t.true("%s: %s is answered" % (what, key), len(answer) > 2)
        if got[key] != answer:
            t.failures.append("%s: %s differs" % (what, key))


def varied(t):
    """Recordings that have little in common: of C, of Python, of several processes, cut, with a filter, with samples."""
    files = ranks(t, 4, multiples={3: 40}) + [t.record(t.build("rank.c", "-O1"), "2", "thread")]
    files.append(t.record("/usr/bin/python3", "-c", "import json; x = [json.dumps([i]) for i in range(2000)]", opts=("--python=objects",)))
    files.append(t.record(t.build("family.c", "-O1"), "2", opts=("--faults",)))
    files.append(t.record(t.build("rank.c", "-O1"), opts=("--ignore", "churn", "--no-scan")))
    files.append(t.record(t.build("rank.c", "-O1"), env={"KILL": "0"}, status=137))
    return files


def test_a_merge_of_merges_is_the_merge_of_all(t):
    """Random groupings and orders, byte for byte."""
    files = varied(t)
    flat = merge(t, "flat.tide", *files)
    want = answers(t, flat)
    chance = random.Random(7)
    for attempt in range(4):
        left = list(files)
        chance.shuffle(left)
        level = 0
        while len(left) > 1:
            groups = []
            while left:
                size = min(len(left), chance.randint(1, 3))
                groups.append([left.pop() for _ in range(size)])
            left = [merge(t, "%d.%d.%d.tide" % (attempt, level, i), *group) for i, group in enumerate(groups)]
            level += 1
        if attempt == 0:
            same_answers(t, "grouping", answers(t, left[0]), want)
        with open(left[0], "rb") as a, open(flat, "rb") as b:
            t.true("grouping %d gives the same file" % attempt, a.read() == b.read())
    by_jobs = t.file("jobs.tide")
    t.run("merge", "-j", "3", by_jobs, *files)
    with open(by_jobs, "rb") as a, open(flat, "rb") as b:
        t.true("so do three jobs", a.read() == b.read())


def test_one_input_answers_as_itself(t):
    """A merge of one recording has the numbers of that recording."""
    file = t.record("/usr/bin/python3", "-c", "import json; x = [json.dumps([i]) for i in range(2000)]")
    merged = merge(t, "one.tide", file)
    for metric in METRICS:
        for by in GROUPINGS:
            a, b = t.report(file, metric, "--by", by), t.report(merged, metric, "--by", by)
            # the line that a function is shown with, and the order of equal rows, may be others
            keys = [k for k in (a["rows"] or [{}])[0] if k != "threads" and (by in ("line", "stack") or k not in ("file", "line"))]
            one, other = (sorted(json.dumps([r[k] for k in keys]) for r in report["rows"]) for report in (a, b))
            t.true("%s by %s: %s" % (metric, by, set(one) ^ set(other)), one == other)
    for histogram in "size", "lifetime":
        a, b = (t.ask(f, "report", "--histogram", histogram)["histogram"] for f in (file, merged))
        t.equal("histogram of %s" % histogram, b, a)
    a, b = t.ask(file, "leaks"), t.ask(merged, "leaks")
    t.equal("leaks", b["totals"], a["totals"])


def test_names_once_for_each_build_id(t):
    """An input without symbols gets the names that another input of the same build has."""
    program = t.build("rank.c", "-O1")
    stripped = t.file("rank")
    subprocess.run(["strip", "-o", stripped, program], check=True)
    files = [t.record(program, env={"RANK": "1"}), t.record(stripped, env={"RANK": "2"})]
    t.equal("no name in the second", [r for r in t.report(files[1])["rows"] if r["name"] == "solve"], [])
    row = next(r for r in t.report(merge(t, "both.tide", *files))["rows"] if r["name"] == "solve")
    t.equal("solve of both", (row["self_bytes"], row["self_count"]), (5000, 5))
    t.equal("its spread is not known: the report on the second has no such row", row["max_bytes"], None)


@cases(command=("report", "leaks", "findings"))
def test_all_processes_of_a_merge_are_the_merge(t, command):
    merged = merge(t, "job.tide", *ranks(t, 2))
    t.equal("the same answer", t.ask(merged, command, "--process", "all"), t.ask(merged, command))


def test_outliers(t):
    merged = merge(t, "job.tide", *ranks(t, 7, multiples={4: 400}))
    report = t.report(merged)
    t.equal("outliers", report["merged"]["outliers"], [{"input": "rank 4", "bytes": 5 * 400000 + 4096}])
    text = " ".join(t.run("report", merged)[0].split())
    t.true("text names it", "rank 4: 1.9 MiB" in text, text)


def test_filters_and_spreads(t):
    """A filter that leaves a row as it is leaves its spread; one that changes it makes it unknown."""
    merged = merge(t, "job.tide", *ranks(t, 3))
    rows = t.report(merged, "live", "--within", "solve")["rows"]
    solve, main = (next(r for r in rows if r["name"] == name) for name in ("solve", "main"))
    t.equal("solve", (solve["max_bytes"], solve["max_input"]), (3000, "rank 2"))
    t.equal("main", (main["total_bytes"], main["total_max_bytes"], main["total_max_input"]), (6000, None, None))


def test_what_is_not_kept_is_said(t):
    merged = merge(t, "job.tide", *ranks(t, 2))
    for command in "growth", "marks", "maps", "threads", "peaks", "tree":
        t.run(command, merged)
        t.true(command, t.status == 1 and "keeps no timeline" in t.stderr and "2 recordings" in t.stderr, t.stderr)
    entry = t.ask(merged, "leaks")["leaks"][0]
    t.equal("when blocks were allocated", (entry["first_ns"], entry["last_ns"], entry["grew"]), (None, None, None))
    for option in ("--since", "50%"), ("--older", "1s"):
        t.run("leaks", merged, *option)
        t.true(option[0], t.status == 2 and "does not keep when" in t.stderr, t.stderr)
    t.true("text of leaks", "at 0 s" not in t.run("leaks", merged)[0] and "at 0 s" not in t.run("findings", merged)[0], t.stdout)
    t.run("report", merged, "--at", "50%")
    t.true("a time", t.status == 2 and "start, exit, peak and end" in t.stderr, t.stderr)


def test_other_commands_open_it(t):
    files = ranks(t, 4)
    a, b = merge(t, "a.tide", *files[:2]), merge(t, "b.tide", *files[2:])
    change = next(r for r in t.ask(a, "diff", b)["rows"] if r["name"] == "solve")
    t.equal("diff", change["self_bytes"], 7000 - 3000)
    lines = t.ask(a, "annotate", "solve")
    t.equal("annotate", (lines["total_bytes"], lines["total_count"]), (3000, 3))
    t.true("flame", "solve" in t.run("flame", a, "--folded")[0])
    t.run("view", a, "-o", t.file("page.html"))
    t.true("view", t.status == 0 and os.path.getsize(t.file("page.html")) > 100000, t.stderr)
    t.true("findings", t.ask(a, "findings")["findings"] is not None)


def test_bad_inputs(t):
    files = ranks(t, 2)
    broken = t.file("broken.tide")
    with open(broken, "wb") as out:
        out.write(b"not a recording")
    merged = merge(t, "job.tide", *files, broken, t.file("absent.tide"), status=1)
    t.true("both are named", "broken.tide" in t.stderr and "absent.tide" in t.stderr and "2 files could not be read" in t.stderr, t.stderr)
    report = t.report(merged)
    t.equal("the others are merged", report["merged"]["inputs"], 2)
    t.equal("and it is noted", sum("not merged" in note for note in report["notes"]), 2)
    t.run("merge", t.file("none.tide"), broken)
    t.true("nothing good", t.status == 1 and not os.path.exists(t.file("none.tide")), t.stderr)
    t.run("merge", t.file("twice.tide"), files[0], files[0])
    t.true("twice", t.status == 1 and "count twice" in t.stderr and not os.path.exists(t.file("twice.tide")), t.stderr)
    t.run("merge", t.file("twice.tide"), merge(t, "part.tide", files[0]), files[0])
    t.true("twice, in a merge", t.status == 1 and "count twice" in t.stderr, t.stderr)
    t.run("merge", t.file("x.tide"))
    t.equal("usage", t.status, 2)
    with open(files[0], "rb") as first:
        before = first.read()
    t.run("merge", *files)  # OUT was forgotten
    with open(files[0], "rb") as first:
        t.true("a recording is not overwritten", t.status == 2 and "is a recording of its own" in t.stderr and first.read() == before,
               t.stderr)
    merge(t, "job.tide", *files)  # a merge is
    t.run("merge", "--list", files[0])
    t.true("not a merge", t.status == 1 and "not a merge" in t.stderr, t.stderr)
    with open(merged, "rb") as whole, open(broken, "wb") as out:
        out.write(whole.read()[:-60])
    t.run("report", broken)
    t.true("a cut merge still opens", t.status == 0 and "incomplete" in t.stdout, t.stdout + t.stderr)


def test_a_folder(t):
    folder = t.file("ranks")
    os.mkdir(folder)
    for i, file in enumerate(ranks(t, 3)):
        shutil.move(file, os.path.join(folder, "%d.tide" % i))
    t.equal("inputs", t.report(merge(t, "job.tide", folder))["merged"]["inputs"], 3)
    os.mkdir(t.file("empty"))
    t.run("merge", t.file("x.tide"), t.file("empty"))
    t.true("an empty one", t.status == 1 and "no file *.tide" in t.stderr, t.stderr)


@slow
def test_many_large_ones(t):
    """Recordings of 1 MB with 8,000 call sites: memory does not grow with their number."""
    generator = os.path.join(os.path.dirname(t.tidemark), "ranks")
    folder = t.file("ranks")
    os.mkdir(folder)
    subprocess.run([generator, folder, "30"], check=True)
    peaks = []
    for count in 10, 30:
        files = [os.path.join(folder, "rank.%05d.tide" % i) for i in range(count)]
        done = subprocess.run(["/usr/bin/python3", "-c", "import os, subprocess, sys, resource\n"
                               "subprocess.run(sys.argv[1:], check=True)\n"
                               "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)",
                               t.tidemark, "merge", "-j1", "--quiet", t.file("job.tide"), *files], stdout=subprocess.PIPE)
        t.equal("status", done.returncode, 0)
        peaks.append(int(done.stdout))
    t.true("30 take little more than 10 (KiB)", peaks[1] < peaks[0] * 1.25, peaks)
    report = t.report(t.file("job.tide"))
    t.equal("ranks", report["merged"]["inputs"], 30)


def test_page_of_a_merge(t):
    """Every view of the page has an answer, or says what the command says."""
    merged = merge(t, "job.tide", *ranks(t, 3))
    with Browser() as browser:
        page = Page(t, browser, merged)
        for view in VIEWS:
            page.go("view=" + view)
            wrong = page.problem()
            if wrong:
                t.true("%s: %s" % (view, wrong), view in ("growth", "threads", "maps", "marks") and "keeps no timeline" in wrong)
        page.go("view=table")
        t.true("the table has the sums", "solve" in page.run("return document.querySelector('table.data').textContent"))


def test_freed_at_exit(t):
    """A handler frees three blocks, and then a thread allocates two more with the same call stack."""
    profile = t.record(t.build("works_at_exit.c", "-O1", "-pthread"))
    once = merge(t, "once.tide", profile)
    again = merge(t, "again.tide", once)
    for name, file in (("recording", profile), ("merge", once), ("merge of the merge", again)):
        totals = t.ask(file, "leaks", "--within", "^keep$")["totals"]
        t.equal("freed at exit, " + name, (totals["freed_at_exit_blocks"], totals["freed_at_exit_bytes"]), (3, 3000))
        t.equal("left, " + name, (totals["blocks"], totals["bytes"]), (2, 2000))
