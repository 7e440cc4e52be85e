"""Many threads: handing blocks over, short lives, names."""
from harness import cases

BLOCKS = 20000


@cases(opt=("-O0", "-O2"), threads=(2, 8))
def test_handover(t, opt, threads):
    profile = t.record(t.build("handover.c", opt), str(threads))
    t.consistent(profile)
    live, total = t.report(profile), t.report(profile, "total")
    given = sum(16 + i % 512 for i in range(BLOCKS))
    t.equal("give live", t.total(live, "give"), (0, 0))
    t.equal("give total", t.total(total, "give"), (given * threads, BLOCKS * threads))
    t.equal("leak_some", t.total(live, "leak_some"), (1000 * sum(range(1, threads + 1)), 10 * threads))
    by_thread, total_by_thread = t.report(profile, "live", "--by", "thread"), t.report(profile, "total", "--by", "thread")
    for i in range(threads):
        t.equal("giver-%d live" % i, t.row(by_thread, "giver-%d" % i)["self_bytes"], 1000 * (i + 1))
        t.equal("giver-%d total" % i, t.row(total_by_thread, "giver-%d" % i)["self_count"], BLOCKS + 10)


def test_many_short_threads(t):
    count = 20000
    profile = t.record(t.build("short_threads.c", "-O1"), str(count))
    t.consistent(profile)
    t.equal("live", t.total(t.report(profile), "shortly"), (300 * count, count))
    t.equal("total", t.total(t.report(profile, "total"), "shortly"), (600 * count, 3 * count))


@cases(threads=(15, 20, 100))
def test_rings(t, threads):
    """15 threads and the main one need not ask for rings: they are in the first memory. It is followed by others with 16, 16, 32, 64..."""
    memories = {15: 1, 20: 2, 100: 5}[threads]
    profile = t.record(t.build("thread_rings.c", "-O1"), str(threads), str(memories))
    t.consistent(profile)
    t.equal("live", t.total(t.report(profile), "holds"), (100 * threads, threads))


def test_times_of_short_threads(t):
    """They are the thread's own, however late the collector reads of it: threads run one after another here."""
    found = t.ask(t.record(t.build("short_threads.c", "-O1"), "300"), "threads")
    rows = sorted((r for r in found["threads"] if r["tid"] != found["pid"]), key=lambda r: r["start_ns"])
    t.equal("threads", len(rows), 300)
    t.equal("begin before they end", [r for r in rows if not 0 < r["start_ns"] < r["end_ns"] <= found["duration_ns"]], [])
    t.equal("one after another", [a["end_ns"] for a, b in zip(rows, rows[1:]) if a["end_ns"] > b["start_ns"]], [])
    t.equal("three blocks in its life", [r for r in rows if abs(r["allocations_per_second"] * (r["end_ns"] - r["start_ns"]) / 3e9 - 1) > 1e-6], [])


def test_thread_names(t):
    profile = t.record(t.build("thread_names.c", "-O1"))
    rows = t.report(profile, "live", "--by", "thread", "--within", "^leak$")["rows"]
    sizes = {r["name"]: r["self_bytes"] for r in rows}
    for name, size in {"by-itself": 1100, "by-prctl": 2000, "by-another": 3000, "main": 5000}.items():
        t.equal(name, sizes.get(name), size)
    t.equal("of all threads", sum(sizes.values()), 1100 + 2000 + 3000 + 4000 + 5000)
    only = t.report(profile, "live", "--thread", "by-prctl")
    t.equal("--thread", t.total(only, "leak"), (2000, 1))


def test_each_name_holds_for_its_time(t):
    """A name that a thread had before is the same row again; of very many names the last stands for the rest."""
    profile = t.record(t.build("thread_renames.c", "-O1"))
    t.consistent(profile)
    rows = t.report(profile, "live", "--by", "thread", "--within", "^leak$")["rows"]
    t.equal("sizes", {r["name"]: r["self_bytes"] for r in rows}, {"reading": 9001, "fitting": 2000, "writing": 4000, "main": 5000})
    t.equal("--thread", t.total(t.report(profile, "live", "--thread", "fitting"), "leak"), (2000, 1))
    profile = t.record(t.build("thread_renames.c", "-O1"), "many")
    t.consistent(profile)
    sizes = {r["name"]: r["self_count"] for r in t.report(profile, "live", "--by", "thread", "--within", "^leak$")["rows"]}
    t.equal("sum", sum(sizes.values()), 3001)
    t.equal("first and last", (sizes.get("job-1"), sizes.get("job-2999"), len(sizes)), (1, 3000 - 16, 18))
