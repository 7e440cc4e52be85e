"""run --sample: estimates whose intervals hold the truth, frees that match, and commands that say so."""
import subprocess
import time

from harness import cases, slow

SEEDS = 40


def sampled(t, *arguments, size="128KiB", seed=1, opts=()):
    program = t.build("sampled.c", "-O1", "-pthread")
    return t.record(program, *arguments, opts=("--sample=" + size, *opts), env={"TIDEMARK_SAMPLE_SEED": str(seed)})


def selves(report):
    return {row["name"]: row for row in report["rows"]}


@slow
def test_intervals_hold_the_truth(t):
    exact = t.record(t.build("sampled.c", "-O1", "-pthread"))
    truth = {m: selves(t.report(exact, m, "--top", "0")) for m in ("live", "total")}
    inside = cases_ = 0
    ratios = []
    for seed in range(1, SEEDS + 1):
        profile = sampled(t, seed=seed)
        for metric, known in truth.items():
            rows = selves(t.report(profile, metric, "--top", "0", "--min", "0"))
            whole = sum(row["self_bytes"] for row in known.values())
            for name, row in known.items():
                true = row["self_bytes"]
                if true < whole / 20:
                    continue
                t.true("%s is sampled, seed %d" % (name, seed), name in rows)
                cases_ += 1
                inside += rows[name]["low_bytes"] <= true <= rows[name]["high_bytes"]
                ratios.append(rows[name]["self_bytes"] / true)
    t.equal("functions above 5 %", cases_, SEEDS * 10)
    t.true("at least 93 % are inside", inside >= 0.93 * cases_, (inside, cases_))
    mean = sum(ratios) / len(ratios)
    t.true("estimates are right on average", abs(mean - 1) < 0.02, mean)


def test_same_seed_same_blocks(t):
    first, second = (t.report(sampled(t, seed=7), "total") for _ in range(2))
    for key in ("bytes_allocated", "live_bytes", "peak_bytes"):
        t.equal(key, first["totals"][key], second["totals"][key])
    other = t.report(sampled(t, seed=8), "total")
    t.true("another seed", other["totals"]["bytes_allocated"] != first["totals"]["bytes_allocated"])


def test_what_the_end_leaves_out_is_noted_once(t):
    """The mappings of 400 MB take too long, when the process begins to end and once more after its destructors."""
    notes = t.report(t.record(t.build("holds.c", "-O1"), "400000000", opts=("--sample",)))["notes"]
    t.equal("notes of the mappings", len([n for n in notes if n.startswith("the list of mappings at the end was left out")]), 1)
    t.equal("every note once", sorted(notes), sorted(set(notes)))


def is_empty(t, report):
    totals = report["totals"]
    t.equal("nothing is live", (totals["live_bytes"], totals["live_blocks"]), (0, 0))
    t.equal("all was freed", totals["frees"], totals["allocations"])
    t.equal("no unknown frees, nothing lost", (totals["unknown_frees"], totals["lost_events"]), (0, 0))
    t.true("something was recorded", totals["bytes_allocated"] > 1 << 20, totals)


@cases(how=("free", "threads"))
def test_frees_are_exact(t, how):
    """What an allocation adds, its free takes away: also in another thread, and after realloc."""
    profile = sampled(t, how, size="4KiB")
    report = t.report(profile, "total")
    is_empty(t, report)
    t.true("reallocations are seen", report["totals"]["reallocations"] > 0)
    t.true("temporary ones too", 0 < report["totals"]["temporary_allocations"] < report["totals"]["allocations"])
    t.consistent(profile)


def test_fork(t):
    """A child knows which of its parent's blocks were recorded."""
    profile = sampled(t, "fork", size="16KiB")
    processes = t.report(profile)["processes"]
    t.equal("processes", len(processes), 2)
    for process in processes:
        is_empty(t, t.report(profile, "total", "--process", str(process["pid"])))
    child = t.report(profile, "total", "--process", str(processes[1]["pid"]))["inherited"]
    t.true("it inherited blocks", child["blocks"] > 1000, child)
    t.equal("and freed all of them", (child["freed_blocks"], child["freed_bytes"]), (child["blocks"], child["bytes"]))


def test_reports_say_so(t):
    profile = sampled(t)
    for command in ("report", "leaks", "findings", "growth", "peaks", "threads", "marks", "tree"):
        t.run(command, profile)
        t.true(command + " says that it was sampled", "one allocation per 128.0 KiB; figures are estimates" in t.stdout, t.stdout[:600])
        t.true(command + " claims nothing exact", "exact" not in t.stdout, t.stdout[:600])
    report = t.report(profile, "live")
    t.equal("JSON", report["sampled"], {"bytes": 131072})
    for row in report["rows"]:
        t.true("interval of " + row["name"], row["low_bytes"] <= row["self_bytes"] <= row["high_bytes"], row)
        t.true("of its total", row["total_low_bytes"] <= row["total_bytes"] <= row["total_high_bytes"], row)
    live = report["intervals"]["live_bytes"]
    t.true("interval of all", live["low_bytes"] < report["totals"]["live_bytes"] < live["high_bytes"], live)
    exact = t.record(t.build("sampled.c", "-O1", "-pthread"))
    plain = t.report(exact, "live")
    t.true("an exact one has none", "sampled" not in plain and "low_bytes" not in plain["rows"][0] and "intervals" not in plain)
    t.run("diff", exact, profile)
    t.true("diff says which", "b one allocation per 128.0 KiB; figures are estimates" in t.stdout, t.stdout[:600])
    # How much of the run is its end depends on the machine. What is since the start is no change.
    since = [t.report(profile, "live", "--since", moment) for moment in ("5%", "20%", "50%")]
    changed = [row for r in since if r["since_ns"] for row in r["rows"]]
    t.equal("a change has no interval", {row["low_bytes"] for row in changed} - {None}, set())


def test_history_and_export_say_so(t):
    """Other tools, and tables of many runs, would take the figures for exact."""
    profile, exact = sampled(t), t.record(t.build("sampled.c", "-O1", "-pthread"))
    db = t.file("runs.db")
    t.run("history", db, "add", exact)
    t.run("history", db)
    t.true("nothing of exact ones", "sampled" not in t.stdout, t.stdout)
    t.run("history", db, "add", profile)
    text = t.run("history", db)[0]
    t.true("history says which", "are estimates" in text and text.count("one per 128.0 KiB") == 1, text)
    runs = t.ask(db, "history")["runs"]
    t.equal("JSON", [run["sampled_bytes"] for run in runs], [None, 131072])
    runs = t.ask(db, "history", "--metric", "mapped")["runs"]
    t.equal("mappings are not sampled", [run["sampled_bytes"] for run in runs], [None, None])
    for format in ("pprof", "folded", "csv", "sqlite"):
        t.run("export", profile, "--format", format, "-o", t.file("out." + format))
        t.true(format + " says so", "one allocation per 128.0 KiB: figures of the heap are estimates" in t.stderr, t.stderr)
        t.run("export", exact, "--format", format, "-o", t.file("exact." + format))
        t.true(format + " of an exact one does not", "estimates" not in t.stderr, t.stderr)


def test_the_collector_wakes_less_and_less_often(t):
    """In production nobody wants to be woken a hundred times a second for a program that waits."""
    tool = subprocess.Popen([t.tidemark, "run", "--quiet", "--sample", "-o", t.file("p.tide"), "--", "sleep", "5"])

    def wakings():
        with open("/proc/%d/status" % tool.pid) as status:
            return int(next(line.split()[1] for line in status if line.startswith("voluntary_ctxt_switches")))

    def rate():
        before, begun = wakings(), time.monotonic()
        time.sleep(0.4)
        return (wakings() - before) / (time.monotonic() - begun)
    time.sleep(1.2)
    rates = [rate() for _ in range(4)]  # on a busy machine, it has work of its own in some of these
    t.true("at most every 20 ms", min(rates) < 70, rates)
    t.equal("status", tool.wait(), 0)
    t.true("it has the whole time", t.report(t.file("p.tide"))["duration_ns"] > 4900000000)


def test_nothing_was_sampled(t):
    """That is not the same as having made no allocations."""
    program = t.build("heap_family.c", "-O1")
    t.run("run", "--quiet", "-o", "x.tide", "--sample=1GiB", "--", program, env={"TIDEMARK_SAMPLE_SEED": "7"})
    t.equal("notes", t.report(t.file("x.tide"))["notes"], ["it made no allocations that were sampled"])


@cases(options=("--sample=10", "--sample=no", "--sample --python=objects", "--sample --faults", "--sample --only-cpu",
                "--sample --scan=full", "--sample --plant-leak=1KiB"))
def test_refused(t, options):
    t.run("run", *options.split(), "--", "true")
    t.equal("status, lines", (t.status, len(t.stderr.splitlines())), (2, 1))
