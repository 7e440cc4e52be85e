"""`tidemark diff A B`: what changed, matched by names."""
import csv
import io
import json
import os

from harness import PROGRAMS, ROOT, Failed, bare, cases

# self bytes and blocks at the end: before, after
KEPT = dict(steady=((500, 10), (500, 10)), moved=((64, 1), (64, 1)), grows=((1000, 10), (3000, 30)),
            shrinks=((600, 15), (200, 5)), fresh=(None, (7, 1)), old=((18, 2), None), cloned=((72, 3), (72, 3)),
            tagged=((20, 1), (20, 1)))


def compiled(t, name, *flags, edit=lambda text: text):
    """diffed.cpp, edited, as a program in the test's own folder."""
    with open(os.path.join(PROGRAMS, "diffed.cpp")) as source:
        text = edit(source.read())
    path = t.file("diffed.cpp")
    with open(path, "w") as out:
        out.write(text)
    program = t.file(name)
    output = t.plain("g++", "-g", "-O1", "-I", PROGRAMS, path, "-o", program, *flags)
    if output[2]:
        raise Failed("diffed.cpp does not compile: " + output[1])
    return program


def versions(t):
    return [t.record(t.build("diffed.cpp", "-O1", *flags)) for flags in ((), ("-DAFTER",))]


def diff(t, a, b, *arguments):
    stdout, stderr, status = t.run("diff", a, b, *arguments, "--json")
    if status:
        raise Failed("tidemark diff %s failed (%d): %s" % (" ".join(arguments), status, stderr.strip()))
    return json.loads(stdout)


def figures(rows):
    """What test_numbers compares, by name without parameters; lambdas by their whole name."""
    return {bare(r["name"]): tuple(r[k] for k in ("a_bytes", "a_count", "b_bytes", "b_count", "change_bytes", "change_count",
                                                  "status")) for r in rows if r["a_bytes"] or r["b_bytes"]}


def test_numbers(t):
    a, b = versions(t)
    result = diff(t, a, b)
    t.equal("schema", [result[k] for k in ("schema", "metric", "by", "since", "at", "same")],
            ["tidemark.diff/1", "live", "function", "start", "end", False])
    rows = figures(result["rows"])
    for name, (before, after) in KEPT.items():
        status = "new" if not before else "gone" if not after else "same" if before == after else "changed"
        before, after = before or (0, 0), after or (0, 0)
        t.equal(name, rows.get(name), (*before, *after, after[0] - before[0], after[1] - before[1], status))
    percent = {bare(r["name"]): r["change_percent"] for r in result["rows"]}
    t.equal("percent", [percent[n] for n in ("grows", "old", "fresh", "steady")], [200, -100, None, 0])
    t.equal("percent of shrinks", round(percent["shrinks"], 6), -66.666667)
    changes = [abs(r["change_bytes"]) for r in result["rows"]]
    t.equal("order", changes, sorted(changes, reverse=True))
    of_a, of_b = t.report(a), t.report(b)
    for key, value in result["totals"]["change"].items():
        t.equal("change of " + key, value, of_b["totals"][key] - of_a["totals"][key])
        t.equal("named as in a report: " + key, result["totals"][key], value)
    t.equal("totals", (result["totals"]["a"], result["totals"]["b"]), (of_a["totals"], of_b["totals"]))
    t.equal("sum", result["sum"]["change"], {"bytes": 1889, "count": 10})
    t.equal("commands", [result[side]["command"] for side in "ab"], [r["command"] for r in (of_a, of_b)])
    t.equal("the second one's", [result[k] for k in ("command", "pid", "exit_code", "duration_ns")],
            [of_b[k] for k in ("command", "pid", "exit_code", "duration_ns")])
    t.equal("rows named as in a report", [[r[k] for k in ("self_bytes", "self_count", "total_bytes", "total_count")] for r in result["rows"]],
            [[r["change_" + k] for k in ("bytes", "count", "total_bytes", "total_count")] for r in result["rows"]])
    main = [r for r in result["rows"] if r["name"] == "main"][0]
    t.equal("main in all", (main["change_total_bytes"], main["change_total_count"], main["status"]), (1889, 10, "changed"))


@cases(by=("function", "line", "stack", "library", "file", "thread"))
def test_every_grouping_adds_up(t, by):
    a, b = versions(t)
    for metric in ("live", "temporary"):
        result = diff(t, a, b, "--by", by, "--metric", metric)
        reports = [t.report(p, metric) for p in (a, b)]
        for side, report in zip("ab", reports):
            t.equal("%s of %s by %s" % (side, metric, by),
                    (sum(r[side + "_bytes"] for r in result["rows"]), sum(r[side + "_count"] for r in result["rows"])),
                    (report["sum"]["bytes"], report["sum"]["count"]))
        change = result["sum"]["change"]
        t.equal("change of %s by %s" % (metric, by), (sum(r["change_bytes"] for r in result["rows"]),
                                                      sum(r["change_count"] for r in result["rows"])),
                (change["bytes"], change["count"]))
    t.equal("temporary", change, {"bytes": 80, "count": 5})


def test_stacks_and_tree(t):
    a, b = versions(t)
    rows = diff(t, a, b, "--by", "stack")["rows"]
    stacks = {tuple(bare(f["function"]) for f in r["stack"])[:2]: (r["change_bytes"], r["status"], r["thread"]) for r in rows}
    t.equal("grows", [v for k, v in stacks.items() if "grows" in k], [(2000, "changed", "main")])
    t.equal("named as in a report", [(r["bytes"], r["count"]) for r in rows], [(r["change_bytes"], r["change_count"]) for r in rows])
    t.equal("fresh", [v for k, v in stacks.items() if "fresh" in k], [(7, "new", "main")])
    tree = diff(t, a, b, "--tree")["rows"]
    depth = {bare(r["name"]): r["depth"] for r in tree}
    t.equal("grows below main", depth["grows"], depth["main"] + 1)
    main = [r for r in tree if r["name"] == "main"][0]
    t.equal("main in the tree", (main["change_total_bytes"], main["change_total_count"]), (1889, 10))
    places = [i for i, r in enumerate(tree) if r["depth"] == depth["main"] + 1 and i > tree.index(main)]
    sizes = [abs(tree[i]["change_total_bytes"]) for i in places]
    t.equal("siblings, largest first", sizes, sorted(sizes, reverse=True))
    callees = figures(diff(t, a, b, "--callees", "main")["rows"])
    t.equal("callees", callees["grows"], (1000, 10, 3000, 30, 2000, 20, "changed"))


def test_no_difference(t):
    program = t.build("diffed.cpp", "-O1")
    a, b = t.record(program), t.record(program)
    for arguments in ((), ("--metric", "total", "--by", "stack"), ("--metric", "peak", "--tree"), ("--by", "line"),
                      ("--by", "file"), ("--by", "library"), ("--size", "usable"), ("--metric", "mapped")):
        result = diff(t, a, b, *arguments)
        t.equal("same %s" % (arguments,), (result["same"], {r["status"] for r in result["rows"]} - {"same"}), (True, set()))
        stdout, stderr, status = t.run("diff", a, b, *arguments)
        t.equal("status and stderr", (status, stderr), (0, ""))
        t.true("says so", "result     no difference\n" in stdout and "nothing to show" in stdout, stdout)


def test_lines_that_move_change_nothing(t):
    """Two blank lines before everything and in the middle: by function, stack and tree all is the same."""
    plain = t.record(compiled(t, "plain"))
    shifted = t.record(compiled(t, "shifted", edit=lambda text: "\n\n" + text.replace("static APART", "\n\nstatic APART")))
    lines = [[r["line"] for r in t.report(p)["rows"] if r["name"] == "grows"] for p in (plain, shifted)]
    t.equal("the line did move", lines[1][0] - lines[0][0], 2)
    for arguments in ((), ("--by", "stack"), ("--tree",), ("--by", "file"), ("--by", "library")):
        result = diff(t, plain, shifted, *arguments)
        t.equal("same %s" % (arguments,), (result["same"], {r["status"] for r in result["rows"]} - {"same"}), (True, set()))
    rows = [r for r in diff(t, plain, shifted, "--by", "line")["rows"] if r["name"] == "grows"]
    t.equal("a line is its number", sorted((r["status"], r["line"]) for r in rows), [("gone", lines[0][0]), ("new", lines[1][0])])


def test_function_in_another_library(t):
    inside = t.record(compiled(t, "inside"))
    library = compiled(t, "libmoved.so", "-shared", "-fPIC", "-DONLY_MOVED")
    outside = t.record(compiled(t, "outside", "-DMOVED", library, "-Wl,-rpath," + t.dir))
    names = [[r["module"] for r in t.report(p)["rows"] if r["name"] == "moved"] for p in (inside, outside)]
    t.equal("it did move", names, [["inside"], ["libmoved.so"]])
    result = diff(t, inside, outside)
    t.equal("same", (result["same"], figures(result["rows"])["moved"]), (True, (64, 1, 64, 1, 0, 0, "same")))
    rows = figures(diff(t, inside, outside, "--by", "library")["rows"])
    t.equal("by library it differs", rows["libmoved.so"], (0, 0, 64, 1, 64, 1, "new"))
    t.equal("the programs are one row", [row[-1] for name, row in rows.items() if name in ("inside", "outside")], ["changed"])


def test_copies_and_tags_of_compilers(t):
    """An ABI tag, a clone for constants, and a lambda with another number."""
    one = t.record(compiled(t, "one", "-O2"))
    old_abi = t.record(compiled(t, "old", "-O0", "-D_GLIBCXX_USE_CXX11_ABI=0"))
    tags = [[r["name"] for r in t.report(p)["rows"] if r["name"].startswith("tagged")] for p in (one, old_abi)]
    t.equal("names differ", tags, [["tagged[abi:cxx11](int)"], ["tagged(int)"]])
    rows = figures(diff(t, one, old_abi)["rows"])
    for name in KEPT:
        if KEPT[name][0]:
            t.equal(name, rows.get(name), (*KEPT[name][0] * 2, 0, 0, "same"))
    a, b = versions(t)
    lambdas = [r for r in diff(t, a, b)["rows"] if "lambda" in r["name"] and r["a_bytes"]]
    t.equal("lambdas", [(r["a_bytes"], r["b_bytes"], r["status"]) for r in lambdas], [(33, 333, "changed")])


def test_focus_applies_to_both(t):
    a, b = versions(t)
    result = diff(t, a, b, "--within", "main", "--ignore", "^shrinks", "--merge", "s/^(fresh|old)$/aged/")
    rows = figures(result["rows"])
    t.equal("merged", rows["aged"], (18, 2, 7, 1, -11, -1, "changed"))
    t.equal("ignored", [(result[s]["ignored"]["bytes"], result[s]["ignored"]["count"]) for s in "ab"], [(600, 15), (200, 5)])
    t.true("outside", result["a"]["outside"]["bytes"] == result["b"]["outside"]["bytes"] > 0, result["a"]["outside"])
    t.true("not there", "shrinks" not in rows, rows)
    text = t.run("diff", a, b, "--ignore", "^shrinks")[0]
    t.true("the summary tells", "ignored    a 600 B in 15 blocks, b 200 B in 5 blocks" in text, text)
    t.equal("lines of the summary", len(text.split("\n\n")[0].splitlines()) <= 12, True)
    result = diff(t, a, b, "--top", "1")
    t.equal("--top", ([bare(r["name"]) for r in result["rows"]], result["rows_left_out"] > 3), (["grows"], True))


def test_moments(t):
    a, b = (t.record(t.build("marks.c", "-O1", "-I", os.path.join(ROOT, "include"))) for _ in range(2))
    marks = json.loads(t.run("marks", a, "--json")[0])["marks"]
    label = "%s#%d" % (marks[0]["label"], marks[0]["index"])
    result = diff(t, a, b, "--since", "start", "--at", label)
    t.equal("same until the first mark", (result["same"], result["at"]), (True, label))
    t.equal("its totals", result["totals"]["a"], t.report(a, "live", "--at", label)["totals"])


def test_one_side_has_not_what_is_asked(t):
    a, b = t.record(t.build("thread_names.c", "-O1")), t.record(t.build("phases.c", "-O1"))
    names = [r["name"] for r in t.report(a, "total", "--by", "thread")["rows"] if r["name"] != "main"]
    result = diff(t, a, b, "--metric", "total", "--thread", names[0])
    t.true("the other counts as nothing", "no thread is named" in result["b"]["missing"], result["b"]["missing"])
    t.equal("all is gone", {r["status"] for r in result["rows"]}, {"gone"})
    text = t.run("diff", a, b, "--metric", "total", "--thread", names[0])[0]
    t.true("text", "missing    b counts as nothing: no thread is named" in text, text)
    t.run("diff", a, b, "--thread", "nobody")
    t.equal("neither has it", (t.status, t.stderr.count("\n")), (1, 1))


def test_one_side_has_not_measured_it(t):
    """What was not measured is not nothing: no change is made up."""
    program = t.build("shares.c", "-O2")
    heap, cpu = (t.record(program, "1", "1000", opts=opts) for opts in ((), ("--only-cpu",)))
    for metric, lacks, says in (("cpu", heap, "no CPU samples"), ("live", cpu, "no heap data")):
        for files in ((heap, cpu), (cpu, heap)):
            for output in ((), ("--json",), ("--csv",)):
                t.run("diff", *files, "--metric", metric, *output)
                t.equal("status, output, lines", (t.status, t.stdout, t.stderr.count("\n")), (1, "", 1))
                t.true("which file, and why", t.stderr.startswith("tidemark diff: %s: " % lacks) and says in t.stderr, t.stderr)


def test_processes(t):
    a, b = (t.record("/bin/sh", "-c", "/bin/true; %s; /bin/true" % t.build("diffed.cpp", "-O1", *flags))
            for flags in ((), ("-DAFTER",)))
    pids = []
    for profile in (a, b):
        pids += [str(p["pid"]) for p in t.report(profile)["processes"] if os.path.basename(p["command"][0]) == "diffed"]
    result = diff(t, a, b, "--process", ",".join(pids))
    t.equal("of the children", figures(result["rows"])["grows"], (1000, 10, 3000, 30, 2000, 20, "changed"))
    _, stderr, status = t.run("diff", a, b, "--process", pids[0])
    t.equal("one that the other has not", (status, "--process PID,PID" in stderr), (1, True))


def test_any_two_files(t):
    a, b = t.record("/bin/sh", "-c", ":"), t.record("perl", "-e", "my %h = map { $_ => 1 } 1..1000;")
    result = diff(t, a, b, "--metric", "total")
    sums = [t.report(p, "total")["sum"]["bytes"] for p in (a, b)]
    t.equal("sum", result["sum"]["change"]["bytes"], sums[1] - sums[0])
    t.true("text", t.run("diff", a, b, "--metric", "total", "--by", "stack")[2] == 0)


def test_csv(t):
    a, b = versions(t)
    rows = {bare(r["name"]): r for r in csv.DictReader(io.StringIO(t.run("diff", a, b, "--csv")[0]))}
    t.equal("grows", [rows["grows"][k] for k in ("status", "a_bytes", "b_bytes", "change_bytes", "a_count", "b_count",
                                                 "change_count")], ["changed", "1000", "3000", "2000", "10", "30", "20"])
    stacks = list(csv.DictReader(io.StringIO(t.run("diff", a, b, "--by", "stack", "--csv")[0])))
    t.equal("stacks", sum(int(r["change_bytes"]) for r in stacks), 1889)
    t.true("tree", t.run("diff", a, b, "--tree", "--csv")[0].startswith("depth,name,"))


def test_usage(t):
    a = t.record(t.build("phases.c", "-O1"))
    for arguments, status in (((a,), 2), ((a, a, a), 2), ((a, t.file("none")), 1), ((a, a, "--by", "x"), 2),
                              ((a, a, "--at", "nowhere"), 2), ((a, a, "--tree", "--by", "stack"), 2)):
        stdout, stderr, got = t.run("diff", *arguments)
        t.equal("status of %s" % (arguments[1:],), (got, stderr.count("\n"), stdout), (status, 1, ""))


def test_next_command_is_of_the_same_stacks(t):
    text = t.run("diff", *versions(t), "--within", "grows", "--ignore", "no such")[0]
    t.true("the same", text.splitlines()[-1].endswith(" --within grows --ignore 'no such' --by stack --top 3"), text)


def test_sizes_at_marks(t):
    """Live heap, RSS and VM at each mark that both have, as `marks` has them; in the text ten of them."""
    program = t.build("planted.cpp", "-O1", "-I", os.path.join(ROOT, "include"))
    a, b = t.record(program, "0", "marks"), t.record(program, "1", "marks")
    wanted = [{(m["label"], m["index"]): m for m in t.ask(file, "marks")["marks"]} for file in (a, b)]
    marks = diff(t, a, b)["marks"]
    t.equal("all of them", [(m["label"], m["index"]) for m in marks], list(wanted[1]))
    for m in marks:
        for side, want in zip("ab", wanted):
            there = want[m["label"], m["index"]]
            t.equal("%s#%d of %s" % (m["label"], m["index"], side), [m[side][k] for k in ("live_bytes", "rss_bytes", "vm_bytes")],
                    [there[k] for k in ("live_bytes", "rss_bytes", "vm_bytes")])
    grown = [m["b"]["live_bytes"] - m["a"]["live_bytes"] for m in marks]
    t.equal("what was planted", grown[-1] - grown[0], (len(marks) - 1) * 400)
    text = t.run("diff", a, b)[0]
    table = text.split("the process at its marks")[1].split("next:")[0].strip().splitlines()
    t.equal("rows", len(table) - 2, 10)
    t.true("the last one", table[-1].split()[0] == "event#%d" % len(marks), table)
    t.equal("none without marks", diff(t, *versions(t))["marks"], [])
