"""tidemark growth: programs that grow in a known way get the right verdict, and the right numbers."""
import csv
import io
import os
import re
import shutil
import subprocess

from harness import ROOT, Skipped, cases, eventually

API = ("-I", os.path.join(ROOT, "include"))
FIRST = int(os.environ.get("GROWTH_FIRST", "1"))
SEEDS = range(FIRST, FIRST + int(os.environ.get("GROWTH_SEEDS", "2")))

STAMPS_LEAST = 8  # to be compared where there are no marks

PARTS = ("live", "rounding", "held", "free", "mapped", "stacks", "text", "data", "files", "shared", "kernel", "recorder",
         "python_arenas")

# Kind of program, events, verdict, function that grows.
KINDS = (("leak", 20, "leak", "lost"),
         ("slow", 100, "leak", "lost"),
         ("steps-leak", 100, "leak", "lost"),
         ("reachable", 20, "growth", "linked"),
         ("cleared", 20, "growth", "linked"),
         ("mapped", 20, "mapped", "mapped"),
         ("cache", 60, "warm-up", None),
         ("steps", 10, "warm-up", None),
         ("steps", 100, "warm-up", None),
         ("sawtooth", 60, "stable", None),
         ("stable", 40, "stable", None),
         ("noise", 100, "stable", None),
         ("table", 30, "stable", None),
         ("pinned", 40, "fragmentation", "pinned"),
         ("burst", 30, "retention", None),
         ("arenas", 20, "retention", "stays"),
         ("space", 20, "address-space", "mapped"))


def record(t, kind, events, seed, *opts):
    return t.record(t.build("grows.c", "-O1", *API), kind, str(events), str(seed), opts=opts)


def sites(growth):
    return [site["function"] for site in growth["sites"]]


def adds_up(t, what, account):
    """The parts are RSS, but for what is not explained; at the end that is 2 % at the most."""
    last = account[-1]
    for a in account:
        known = sum(a[part + "_bytes"] for part in PARTS)
        t.equal("sum of %s %s" % (what, a["kind"]), a["unexplained_bytes"],
                a["unknown_bytes"] + abs(a["rss_bytes"] - a["unknown_bytes"] - known))
    t.equal("%s: looked at at the end" % what, (last["kind"], last["exact"], last["partial"]), ("exit", True, False))
    t.true("%s: explained" % what, last["unexplained_bytes"] <= 0.02 * last["rss_bytes"], last)


@cases(kind=tuple("%s-%d" % (kind, events) for kind, events, _, _ in KINDS), seed=tuple(SEEDS))
def test_verdict(t, kind, seed):
    kind, events, verdict, function = next(k for k in KINDS if "%s-%d" % k[:2] == kind)
    growth = t.ask(record(t, kind, events, seed), "growth")
    last = growth["footprints"][-1]
    t.equal("verdict", growth["verdict"], verdict)
    t.equal("marks", (growth["mark"], growth["n"]), ("event", events))
    t.equal("functions", sites(growth), [function] if function else [])
    t.true("evidence", len(growth["evidence"]) >= 5, growth["evidence"])
    adds_up(t, kind, growth["footprints"])
    if kind == "pinned":
        pin = growth["pinned"][0]
        t.true("who keeps pages", pin["function"] == "pinned" and pin["pinned_bytes"] > 0.99 * last["held_bytes"], pin)
        t.true("says so", any("blocks of pinned," in e for e in growth["evidence"]), growth["evidence"])
    if kind == "arenas":
        t.equal("arenas", last["arenas"], events)
        t.true("says so", any("in %d arenas" % events in e for e in growth["evidence"]), growth["evidence"])
    for line in growth["slopes"].values():
        t.true("the slope lies in its interval", line["low"] <= line["bytes_per_mark"] <= line["high"], line)


def test_numbers(t):
    profile = record(t, "leak", 20, 1)
    growth = t.ask(profile, "growth")
    live = growth["slopes"]["live"]
    t.equal("live", [live[key] for key in ("bytes_per_mark", "low", "high", "detectable", "model")],
            [10000, 10000, 10000, 0, "ramp"])
    site = growth["sites"][0]
    t.equal("function", (site["bytes"], site["count"], site["bytes_per_mark"]), (190000, 19, 10000))
    t.true("its place", site["file"].endswith("grows.c") and site["stack"][1]["function"] == "main", site)
    row, *_ = csv.DictReader(io.StringIO(t.run("growth", profile, "--csv")[0]))
    t.equal("the same in CSV", (row["grows"], row["function"], row["bytes"], row["count"], row["bytes_per_mark"], row["lost_bytes"]),
            ("true", "lost", "190000", "19", "10000", "190000"))
    t.equal("its stack", row["stack"].split(";"), [f["function"] for f in site["stack"]])
    text = t.run("growth", profile)[0]
    t.true("the answer is first", text.startswith("leak: It leaks 9.8 KiB per event: lost, grows.c:"), text)
    t.true("text", re.search(r" RSS (otherwise stays flat\.\n|gained another \d+\.\d KiB,|\+1\d\.\d KiB per event = 9\.8 KiB lost )", text)
           and "20 of 'event'" in text, text)
    drawn = t.file("growth.svg")
    t.equal("plot", t.run("growth", profile, "--plot", drawn)[2], 0)
    with open(drawn) as picture:
        svg = picture.read()
    t.true("three lines and the marks", all(word in svg for word in ("live heap", "RSS", "VM", "event#20")), svg[:400])
    names = re.findall(r"<title>([^<]*)</title></polyline>", svg)
    t.true("where they begin", re.fullmatch(r"live heap, from [0-9.]+ [KM]?i?B", names[0]), names)
    t.true("the fit", "live heap, fitted: +9.8 KiB per event" in names, names)
    points = [tuple(map(float, p.split(","))) for p in re.search(r'data-i="0"[^>]*points="([^"]*)"', svg).group(1).split()]
    t.equal("steps, not slopes", [a for a, b in zip(points, points[1:]) if a[0] != b[0] and a[1] != b[1]], [])
    t.equal("each mark is one", len({y for _, y in points}), 20)
    t.true("from the bottom to the top", points[0][1] - points[-1][1] > 100, points)
    notes = re.findall(r'<text [^>]*class="n">([^<]*)</text>', svg)
    t.equal("what is drawn", notes[:2], ["dashed lines: 20 marks", "Each line begins at 0, and shows what came to it since."])
    t.true("who grows, with its line", re.fullmatch(r"\+9\.8 KiB per event: lost grows\.c:\d+", notes[2]), notes)


def test_freed_after_the_last_mark(t):
    """It grows from mark to mark all the same, but nothing is left that could be reached."""
    for kind, freed, title in (("reachable", 0, "per event more, and something still points to it: linked, "),
                               ("cleared", 190000, "per event more, and frees it after the last one: linked, ")):
        profile = record(t, kind, 20, 1)
        growth, text = t.ask(profile, "growth"), t.run("growth", profile)[0]
        t.equal(kind, [(s["bytes"], s["freed_bytes"]) for s in growth["sites"]], [(190000, freed)])
        t.true("answer of " + kind, title in text, text)
        t.equal("says so of " + kind, sum("freed 185.5 KiB of their gain after the last mark" in e for e in growth["evidence"]), int(freed > 0))


def test_one_function_for_several(t):
    """A function that allocates for others is named once in the answer, and has a row for each of its callers."""
    profile = record(t, "wrapped", 20, 1)
    text = t.run("growth", profile)[0]
    t.equal("verdict", text.split(":")[0], "growth")
    t.equal("named once", text.split("\n\n")[0].count("grab"), 1)
    t.equal("rows", re.findall(r"grab < (\w+)", text), ["first", "second"])


def test_functions_explain_the_gain(t):
    """An array that doubles for ever is no ramp, but most of what was gained."""
    profile = record(t, "history", 40, 1)
    growth, text = t.ask(profile, "growth"), t.run("growth", profile)[0]
    t.equal("a ramp, and steps", (sites(growth), [(s["function"], s["model"]) for s in growth["other_sites"]]),
            (["lost"], [("collected", "steps")]))
    listed = growth["sites"] + growth["other_sites"]
    t.equal("add up", sum(s["bytes"] for s in listed), growth["gained_bytes"])
    marks = 1 + listed[0]["count"]  # those that count: one block is lost at each
    capacity = 1024
    while capacity < 1000 * (40 - marks + 1):
        capacity *= 2
    t.equal("gained", [s["bytes"] for s in listed], [5000 * (marks - 1), 96 * (65536 - capacity)])
    t.true("in the table", any("in steps" in line and "collected" in line for line in text.splitlines()), text)


def test_leak_of_one_in_a_hundred(t):
    """The Opticks events, each losing 1 % of its items: the truth is within the interval."""
    for events in (10, 100):
        growth = t.ask(record(t, "steps-leak", events, 3), "growth")
        marks = t.ask(record(t, "steps-leak", events, 3), "marks")["marks"]
        lost = [int(m["values"]["items"]) * 96 // 100 for m in marks]
        t.equal("verdict of %d events" % events, growth["verdict"], "leak")
        truth = sum(lost[1:]) / (events - 1)
        t.true("%d events: %g" % (events, truth), growth["lost"]["low"] <= truth <= growth["lost"]["high"], growth["lost"])


def test_against_a_value(t):
    """96 bytes are kept for each item, however many items an event has."""
    profile = record(t, "items", 30, 4)
    per = t.ask(profile, "growth", "--per", "items")["per"]
    t.true("bytes per item", abs(per["slopes"]["live"]["bytes_per_unit"] - 96) < 0.001, per)
    t.equal("items", per["units"], sum(m["values"]["items"] for m in t.ask(profile, "marks")["marks"]))
    _, stderr, status = t.run("growth", profile, "--per", "photons")
    t.equal("an unknown value", status, 1)
    t.true("says what to do", "photons" in stderr and "tidemark marks" in stderr, stderr)


def test_without_marks(t):
    """The collector's stamps are compared, which is said; how many there are is the machine's affair."""
    profile, enough = t.file("x.tide"), t.file("enough")
    tool = subprocess.Popen([t.tidemark, "run", "--quiet", "-o", profile, "--", t.build("grows.c", "-O1", *API), "leak", "100", "1",
                             "5", enough])
    # The file has what there was at the last checkpoint.
    eventually("there are enough of them", lambda: os.path.exists(profile) and t.ask(profile, "growth")["n"] >= 2 * STAMPS_LEAST)
    open(enough, "w").close()
    t.equal("exit status", tool.wait(), 0)
    growth = t.ask(profile, "growth")
    t.equal("mark", growth["mark"], None)
    t.true("enough of them", growth["n"] >= STAMPS_LEAST, growth["n"])
    t.true("says so", any("no marks, so the collector's stamps" in e for e in growth["evidence"]), growth["evidence"])
    # Where neither the program nor the collector had time in turns, what it lost may look like steps.
    t.equal("grows by what was lost", [(s["function"], s["bytes"] > 0, s["lost_bytes"] > 0)
                                       for s in growth["sites"] + growth["other_sites"]], [("lost", True, True)])
    _, stderr, status = t.run("growth", profile, "--per", "items")
    t.true("no values", status == 1 and "tide_mark_value" in stderr, stderr)


@cases(seed=tuple(SEEDS))
def test_planted_leak(t, seed):
    """What was planted is found: live exactly, RSS and VM within 1 %."""
    for kind, own in [("stable", 0), ("leak", 10000)][:1 + (seed == FIRST)]:
        growth = t.ask(record(t, kind, 20, seed, "--plant-leak", "10MB"), "growth")
        want = 10000000 + own
        t.equal(kind + ": verdict", (growth["verdict"], growth["planted_bytes"]), ("leak", 10000000))
        live, others = growth["slopes"]["live"], [growth["slopes"][line]["bytes_per_mark"] for line in ("rss", "vm")]
        t.true("live of %s is exact" % kind, max(abs(live[k] - want) for k in ("bytes_per_mark", "low", "high")) < 1, live)
        t.true("RSS and VM of %s within 1 %%" % kind, all(abs(slope - want) < 0.01 * want for slope in others), others)
        t.true("says so", any("--plant-leak: 9.5 MiB" in e and ("inside" in e) == (not own) for e in growth["evidence"]),
               growth["evidence"])
        adds_up(t, kind, growth["footprints"])


def test_planted_leak_at_entries(t):
    profile = record(t, "leak", 20, 1, "--plant-leak", "1MB", "--mark-on", "lost")
    marked = t.ask(profile, "growth", "--mark", "lost")
    t.equal("planted from one mark of a label to the next", marked["planted_bytes"], 2000000)
    t.true("the sentence", "1.9 MiB of them on purpose" in t.run("growth", profile, "--mark", "lost")[0], t.stdout)
    marks = len(t.ask(profile, "marks")["marks"])
    found = t.ask(profile, "findings")
    t.equal("nobody is told to mend it", {f["function"] for f in found["findings"]}, {"lost"})
    t.equal("it is said", found["planted_bytes"], marks * 1000000)
    t.true("and in words", "planted    " in t.run("findings", profile)[0] and "in %d blocks were leaked on purpose" % marks in t.stdout, t.stdout)
    live = marked["slopes"]["live"]["bytes_per_mark"]
    t.true("at entries, and at the marks of the program too", abs(live - 2010000) < 1, live)
    for size in ("banana", "0", "-1"):
        _, stderr, status = t.run("run", "--plant-leak", size, "true")
        t.true("%s is refused" % size, status == 2 and "--plant-leak takes a size" in stderr, stderr)


def test_account_of_known_memory(t):
    """Every page is known: what the program asked for, touched and mapped; and what the kernel says of the rest."""
    profile = t.record(t.build("accounted.c", "-O1", *API), "known")
    growth = t.ask(profile, "growth")
    adds_up(t, "known", growth["footprints"])
    last = growth["footprints"][-1]
    small, large = 500, 100
    t.equal("live, on pages that are there", last["live_bytes"], small * 1000 + large * (10 * 4096 - 16))
    t.equal("headers: 8 bytes a block, 16 where it is mapped alone", last["rounding_bytes"], small * 8 + large * 16)
    t.equal("mapped by the program", last["mapped_bytes"], 1 << 20)
    t.equal("nothing unknown", last["unexplained_bytes"], 0)
    maps = t.ask(profile, "maps")
    kinds = {row["kind"]: row["rss_bytes"] for row in maps["rows"]}
    t.equal("RSS as /proc/PID/smaps has it", last["rss_bytes"], sum(kinds.values()))
    t.equal("the heap", sum(last[part + "_bytes"] for part in ("live", "rounding", "held", "free")), kinds["heap"])
    t.equal("tidemark's", last["recorder_bytes"], kinds["tidemark"])
    t.equal("stacks", last["stacks_bytes"], kinds["stacks"])
    pins = growth["pinned"]
    t.equal("who keeps pages", [pin["function"] for pin in pins], ["small"])
    t.true("all of it", last["held_bytes"] - 1 <= pins[0]["pinned_bytes"] <= last["held_bytes"], (pins, last))
    text = t.run("growth", profile, "--why")[0]
    t.true("text", "resident memory" in text and "not explained" in text, text)


@cases(kind=("burst", "scattered", "threads", "ends"))
def test_trim(t, kind):
    """What malloc_trim(0) gave back is about what the account at a snapshot just before says, and no more than its bound."""
    profile = t.record(t.build("accounted.c", "-O1", *API), kind, t.dir)
    given = int(t.stdout)
    account = [a for a in t.ask(profile, "growth")["footprints"] if a["kind"] == "snapshot"]
    t.equal("one snapshot", len(account), 1)
    told, most = account[0]["trim_bytes"], account[0]["free_bytes"]
    # 7 blocks of each size below 1 KiB are kept for a thread: they may lie anywhere.
    t.true("%s: gave back %d, told %d" % (kind, given, told), abs(given - told) <= 32768, account)
    t.true("%s: gave back %d, at most %d" % (kind, given, most), given <= most, account)
    t.true("much is kept", most > 1 << 20, most)
    t.equal("something to give back", told > 1 << 20, kind != "ends")


@cases(program=("python3", "git", "clang"))
def test_account_of_real_programs(t, program):
    path = shutil.which(program, path="/usr/local/bin:/usr/bin:/bin")
    if not path:
        raise Skipped("there is no " + program)
    source = os.path.join(ROOT, "tests", "programs", "grows.c")
    arguments = {"python3": ("-c", "import json, decimal\nkept = [str(i) for i in range(100000)]\njson.dumps(kept)"),
                 "git": ("hash-object", source),
                 "clang": ("-c", "-O2", "-g", "-I", os.path.join(ROOT, "include"), source, "-o", t.file("out.o"))}[program]
    profile = t.record(path, *arguments)
    adds_up(t, program, t.ask(profile, "growth")["footprints"])


def test_account_of_children(t):
    """A forked process has the blocks of its parent on its pages."""
    profile = t.record("/usr/bin/python3", "-c", "import os\nkept = [bytes(1000) for i in range(10000)]\n"
                       "pid = os.fork()\nif pid: os.waitpid(pid, 0)")
    children = [p["pid"] for p in t.report(profile)["processes"]]
    t.equal("two processes", len(children), 2)
    for pid in children:
        adds_up(t, "process %d" % pid, t.ask(profile, "growth", "--process", str(pid))["footprints"])


def test_looked_at_once_at_the_end(t):
    """When it begins to end, and not again, however long that takes."""
    profile = t.record(t.build("ends_slowly.c", "-O1"), "2000")
    account = t.ask(profile, "growth")["footprints"]
    t.equal("at the end", [a["kind"] for a in account if a["kind"] == "exit"], [a["kind"] for a in account[-1:]])
    adds_up(t, "all", account)
    captures = [c["label"] for c in t.ask(profile, "maps")["captures"]]
    t.equal("mappings too", [c for c in captures if c == "exit"], captures[-1:])


def test_what_is_missing(t):
    """No verdict from too little; and without a look at what is lost, growth is not called a leak."""
    few = t.ask(record(t, "leak", 3, 1), "growth", "--mark", "event")
    t.equal("three marks", (few["verdict"], few["n"], few["slopes"]), (None, 3, {}))
    t.true("says so", "with 3 marks 'event' growth cannot be distinguished" in few["evidence"][0], few["evidence"])
    unscanned = t.ask(record(t, "leak", 20, 1, "--no-scan"), "growth")
    t.equal("nobody looked", (unscanned["verdict"], unscanned["lost"]), ("growth", None))
    t.true("says so", any("a leak looks the same as intended growth" in e for e in unscanned["evidence"]), unscanned["evidence"])
    none = t.ask(record(t, "leak", 0, 1), "growth")
    # A busy machine may take so long that there are enough stamps.
    t.equal("no marks, and %d stamps" % none["n"], (none["mark"], none["verdict"] is None), (None, none["n"] < STAMPS_LEAST))
    _, stderr, status = t.run("growth", record(t, "leak", 5, 1), "--mark", "nothing")
    t.equal("an unknown label", status, 1)
    t.true("says which there are", "event#1 to #5" in stderr, stderr)


def test_one_thread(t):
    """What is lost and what grows is that thread's; the lines are the process's."""
    profile = t.record(t.build("two_leaks.c", "-O1", *API))
    for thread, want in ((("--thread", "second"), {"large": 3000}), (("--thread", "main"), {"small": 1000}),
                         ((), {"large": 3000, "small": 1000})):
        growth = t.ask(profile, "growth", *thread)
        t.equal("sites %s" % (thread,), {s["function"]: s["bytes_per_mark"] for s in growth["sites"]}, want)
        t.equal("live of the process", growth["slopes"]["live"]["bytes_per_mark"], 4000)


def test_how_long_after_a_mark_it_looked(t):
    """An account is made soon after a mark, and maybe in the middle of what follows: the title says how long after."""
    profile = t.record(t.build("event_gaps.c", "-O1", *API))
    times = {"%s#%d" % (m["label"], m["index"]): m["time_ns"] for m in t.ask(profile, "marks")["marks"]}
    account = [a for a in t.ask(profile, "growth", "--mark", "event")["footprints"] if a["kind"] == "mark"]
    t.true("some were made", account)
    for a in account:
        t.equal("after " + a["mark"], a["time_ns"] - a["after_mark_ns"], times[a["mark"]])
    text = t.run("growth", profile, "--mark", "event", "--why")[0]
    t.true("the title", re.search(r"[0-9.]+ (ns|us|ms|s) after event#[0-9]+ ", text), text)
