"""tidemark history: totals of many runs in a database, what changed when, and limits for CI."""
import json
import sqlite3

from test_merge import merge, ranks


def history(t, db, *arguments):
    stdout, stderr, status = t.run("history", db, *arguments, "--json")
    return json.loads(stdout) if stdout else {}, stderr, status


def added(t, count=4):
    """A database of so many runs; run N keeps N blocks of 1000 bytes in solve."""
    db, files = t.file("runs.db"), ranks(t, count)
    for i, file in enumerate(files):
        t.run("history", db, "add", file, "--label", "commit=c%d" % i, "--label", "branch=" + ("main" if i != 2 else "topic"))
        t.equal("status of add", (t.status, t.stdout), (0, ""))
    return db, files


def test_runs_and_changes(t):
    db, files = added(t)
    answer = history(t, db, "--metric", "live")[0]
    t.equal("schema", (answer["schema"], answer["metric"], answer["unit"]), ("tidemark.history/1", "live", "bytes"))
    live = [4096 + 1000 * (i + 1) + 300 * (i % 2) for i in range(4)]
    t.equal("bytes", [r["bytes"] for r in answer["runs"]], live)
    t.equal("change", [r["change_bytes"] for r in answer["runs"]], [None] + [b - a for a, b in zip(live, live[1:])])
    t.equal("labels", answer["runs"][2]["labels"], {"commit": "c2", "branch": "topic"})
    t.equal("functions of the second", answer["runs"][1]["functions"],
            [{"name": "solve", "module": "rank", "before_bytes": 1000, "after_bytes": 2000},
             {"name": "lose", "module": "rank", "before_bytes": 0, "after_bytes": 300}])
    t.equal("reports say the same", [r["bytes"] for r in answer["runs"]], [t.report(f)["sum"]["bytes"] for f in files])
    main = history(t, db, "--metric", "live", "--label", "branch=main")[0]
    t.equal("of one branch", [(r["id"], r["change_bytes"]) for r in main["runs"]], [(1, None), (2, 1300), (4, 2000)])
    text = t.run("history", db, "--metric", "live", "--top", "2")[0]
    t.true("text", "commit=c3" in text and "solve +1000 B" in text and "commit=c1" not in text, text)
    t.equal("csv", [line.split(",")[0] for line in t.run("history", db, "--csv")[0].splitlines()], ["id", "1", "2", "3", "4"])


def test_limits(t):
    db, _ = added(t)
    for limits, broken in ((("live +2 KiB",), False), (("live +1300",), False), (("live +1299",), True), (("live 1 GiB",), False),
                           (("live 1000", "total +50 %"), True), (("total +50 %",), False)):
        arguments = [word for limit in limits for word in ("--limit", limit)]
        answer, stderr, status = history(t, db, *arguments)
        t.equal("status with %s" % (limits,), status, 3 if broken else 0)
        t.equal("said with %s" % (limits,), "allows" in stderr, broken)
        t.equal("limits in JSON", [l["broken"] for l in answer["limits"]].count(True), int(broken))
    answer, _, status = history(t, db, "--limit", "live +1 KiB", "--against", "commit=c0")
    t.equal("against the first", (status, answer["limits"][0]["before"], answer["limits"][0]["after"]), (3, 5096, 8396))
    t.run("history", db, "--limit", "live +1 KiB", "--against", "commit=none")
    t.true("against what is not there", t.status == 1 and "commit=none" in t.stderr, t.stderr)
    t.run("history", db, "--limit", "cpu 5s")
    t.true("a metric that was not recorded", t.status == 1 and "cpu" in t.stderr, t.stderr)


def test_the_tables(t):
    """docs/many.md documents them."""
    db, _ = added(t, 2)
    with sqlite3.connect(db) as connection:
        rows = connection.execute("SELECT commit_.value, amount FROM total JOIN label AS commit_ USING(run)"
                                  " WHERE metric = 'live' AND key = 'commit' ORDER BY run").fetchall()
        t.equal("totals", rows, [("c0", 5096), ("c1", 6396)])
        t.equal("functions", connection.execute("SELECT self_amount, self_count FROM function WHERE run = 2 AND metric = 'live'"
                                                " AND name = 'solve'").fetchall(), [(2000, 2)])


def test_a_merged_job(t):
    db, files = t.file("runs.db"), ranks(t, 3)
    t.run("history", db, "add", merge(t, "job.tide", *files), "--label", "job=1")
    run = history(t, db, "--metric", "live")[0]["runs"][0]
    t.equal("its sum", (run["bytes"], run["inputs"]), (3 * 4096 + 6000 + 300, 3))


def test_what_is_wrong(t):
    db, files = added(t, 1)
    t.run("history", db, "add", files[0])
    t.true("twice", t.status == 1 and "already" in t.stderr, t.stderr)
    t.run("history", t.file("absent.db"))
    t.true("no database", t.status == 1 and "absent.db" in t.stderr, t.stderr)
    t.run("history", files[0])
    t.true("not a database", t.status == 1 and "not a database" in t.stderr, t.stderr)
    with sqlite3.connect(t.file("other.db")) as other:
        other.execute("CREATE TABLE x(y)")
    for arguments in (("add", files[0]), ()):
        t.run("history", t.file("other.db"), *arguments)
        t.true("another's database", t.status == 1 and "not a history of tidemark" in t.stderr, t.stderr)
    t.run("history", db, "add", t.file("absent.tide"))
    t.equal("no recording", t.status, 1)
    for arguments in ((), (db, "remove"), (db, "add"), (db, "--label", "x"), (db, "--limit", "much"), (db, "--top", "x"), (db, "--metric", "x"),
                      (db, "add", files[0], "--json")):
        t.run("history", *arguments)
        t.true("usage %s" % (arguments,), t.status == 2 and t.stderr.count("\n") == 1, t.stderr)
    t.equal("nothing was added", len(history(t, db)[0]["runs"]), 1)
