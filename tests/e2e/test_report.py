"""`tidemark report`: the same figures, cut in every way."""
import csv
import io
import os

from harness import bare


def recorded(t):
    return t.record(t.build("phases.c", "-O1"))


def test_fields(t):
    profile = recorded(t)
    report = t.ask(profile, "report")
    t.equal("defaults", [report[k] for k in ("schema", "since", "at", "metric", "by")],
            ["tidemark.report/1", "start", "end", "live", "function"])
    t.equal("command", [os.path.basename(word) for word in report["command"]], ["phases"])
    t.equal("processes", [(p["pid"], p["exit_code"], p["signal"]) for p in report["processes"]], [(report["pid"], 0, None)])
    t.equal("exit", (report["exit_code"], report["signal"], report["complete"]), (0, None, True))
    t.true("peak within the run", 0 <= report["totals"]["peak_time_ns"] <= report["duration_ns"])
    row = [r for r in report["rows"] if r["name"] == "second_phase"][0]
    t.equal("row", (os.path.basename(row["module"]), os.path.basename(row["file"])), ("phases", "phases.c"))


def test_libraries(t):
    profile = t.record(t.build("standard_library.cpp", "-O1"))
    totals = t.report(profile)["totals"]
    rows = t.report(profile, "live", "--by", "library")["rows"]
    t.equal("self of all libraries", sum(r["self_bytes"] for r in rows), totals["live_bytes"])
    t.true("the program is one", "standard_library" in {os.path.basename(r["name"]) for r in rows})


def test_files(t):
    rows = t.report(recorded(t), "live", "--by", "file")["rows"]
    by_file = {os.path.basename(r["name"]): r["self_bytes"] for r in rows}
    t.equal("phases.c", by_file.get("phases.c"), 8_012_345)


def test_csv(t):
    profile = recorded(t)
    stdout, _, status = t.run("report", profile, "--csv")
    t.equal("status", status, 0)
    rows = list(csv.DictReader(io.StringIO(stdout)))
    figures = {r["name"]: (int(r["self_bytes"]), int(r["self_count"])) for r in rows if r.get("name")}
    t.equal("second_phase", figures.get("second_phase"), (8_000_000, 8))


def test_order_and_top(t):
    profile = recorded(t)
    rows = t.report(profile, "total")["rows"]
    t.equal("largest self first", [bare(r["name"]) for r in rows if r["self_bytes"]][:2], ["first_phase", "second_phase"])
    t.equal("--top", len(t.report(profile, "total", "--top", "2")["rows"]), 2)


def test_within_and_ignore(t):
    profile = recorded(t)
    t.equal("--within", t.total(t.report(profile, "total", "--within", "^spike$"), "main"), (4_500_000, 3))
    t.equal("--ignore", t.total(t.report(profile, "total", "--ignore", "^spike$"), "spike"), (0, 0))


def test_callers_and_callees(t):
    profile = t.record(t.build("shapes.c", "-O1"))
    for option, function in (("--callers", "many_arguments"), ("--callees", "passes_many")):
        report = t.report(profile, "live", option, function)
        names = {bare(r["name"]) for r in report["rows"]}
        t.true("%s %s" % (option, function), {"--callers": "passes_many", "--callees": "many_arguments"}[option] in names, names)


def test_text(t):
    profile = recorded(t)
    stdout, stderr, status = t.run("report", profile)
    t.equal("status and stderr", (status, stderr), (0, ""))
    t.true("names the function", "second_phase" in stdout, stdout[:500])
    stdout, stderr, status = t.run("report", profile, "--tree")
    t.equal("status and stderr of --tree", (status, stderr), (0, ""))
    t.true("the tree has main above second_phase", 0 <= stdout.find("main") < stdout.find("second_phase"), stdout[:500])


def test_what_is_next(t):
    """The last line asks the same moments, and of a script the process that has the memory."""
    program = t.build("phases.c", "-O1")
    profile = t.record(program)
    last = t.run("report", profile, "--since", "25%", "--at", "end", "--metric", "total")[0].splitlines()[-1]
    t.true("moments are kept", last.startswith("next: tidemark report %s --since 25%% --at end --" % profile), last)
    last = t.run("report", profile, "--within", "phase", "--ignore", "a b", "--thread", "main", "--top", "1")[0].splitlines()[-1]
    want = "next: tidemark report %s --within phase --ignore 'a b' --thread main --" % profile
    t.true("which stacks is kept", last.startswith(want), last)
    profile = t.record("sh", "-c", "%s; true" % program)
    processes = t.report(profile)["processes"]
    t.equal("processes", len(processes), 2)
    t.true("the larger process", "; this is about %d, phases," % processes[1]["pid"] in t.run("report", profile)[0], t.stdout[:200])
    t.true("findings name them too", "\nprocesses  2, this is about all" in t.run("findings", profile)[0], t.stdout[:400])
