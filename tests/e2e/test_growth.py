"""tidemark growth: programs that grow in a known way get the right verdict, and the right numbers."""
import os

from harness import ROOT, cases

API = ("-I", os.path.join(ROOT, "include"))
SEEDS = range(1, 1 + int(os.environ.get("GROWTH_SEEDS", "2")))

# Kind of program, events, verdict, function that grows.
KINDS = (("leak", 20, "leak", "lost"),
         ("slow", 100, "leak", "lost"),
         ("steps-leak", 100, "leak", "lost"),
         ("reachable", 20, "growth", "linked"),
         ("mapped", 20, "growth", None),
         ("cache", 60, "warm-up", None),
         ("steps", 10, "warm-up", None),
         ("steps", 100, "warm-up", None),
         ("sawtooth", 60, "stable", None),
         ("stable", 40, "stable", None),
         ("noise", 100, "stable", None),
         ("pinned", 40, "fragmentation", "pinned"),
         ("burst", 30, "retention", None),
         ("space", 20, "address-space", None))


def record(t, kind, events, seed, *opts):
    return t.record(t.build("grows.c", "-O1", *API), kind, str(events), str(seed), opts=opts)


def sites(growth):
    return [site["function"] for site in growth["sites"]]


@cases(kind=tuple("%s-%d" % (kind, events) for kind, events, _, _ in KINDS))
def test_verdict(t, kind):
    kind, events, verdict, function = next(k for k in KINDS if "%s-%d" % k[:2] == kind)
    for seed in SEEDS:
        growth = t.ask(record(t, kind, events, seed), "growth")
        what = "%s, seed %d" % (kind, seed)
        t.equal("verdict of " + what, growth["verdict"], verdict)
        t.equal("marks of " + what, (growth["mark"], growth["n"]), ("event", events))
        t.equal("functions of " + what, sites(growth), [function] if function else [])
        t.true("evidence of " + what, len(growth["evidence"]) >= 5, growth["evidence"])
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
    text = t.run("growth", profile)[0]
    t.true("text", "leak: 9.8 KiB are lost at each mark" in text and "20 of 'event'" in text, text)
    drawn = t.file("growth.svg")
    t.equal("plot", t.run("growth", profile, "--plot", drawn)[2], 0)
    with open(drawn) as picture:
        svg = picture.read()
    t.true("three lines and the marks", all(word in svg for word in ("live heap", "RSS", "VM", "event#20")), svg[:400])


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
    profile = t.record(t.build("grows.c", "-O1", *API), "leak", "100", "1", "5")
    growth = t.ask(profile, "growth")
    t.equal("mark", growth["mark"], None)
    t.true("enough of them", growth["n"] >= 8, growth["n"])
    t.true("says so", any("no marks, so the collector's stamps" in e for e in growth["evidence"]), growth["evidence"])
    t.equal("grows by what was lost", [(s["function"], s["bytes"] > 0, s["lost_bytes"] > 0) for s in growth["sites"]],
            [("lost", True, True)])
    _, stderr, status = t.run("growth", profile, "--per", "items")
    t.true("no values", status == 1 and "tide_mark_value" in stderr, stderr)


def test_planted_leak(t):
    """What was planted is found: live exactly, RSS and VM within 1 %."""
    for kind, own in (("stable", 0), ("leak", 10000)):
        growth = t.ask(record(t, kind, 20, 1, "--plant-leak", "10MB"), "growth")
        want = 10000000 + own
        t.equal(kind + ": verdict", (growth["verdict"], growth["planted_bytes"]), ("leak", 10000000))
        live, others = growth["slopes"]["live"], [growth["slopes"][line]["bytes_per_mark"] for line in ("rss", "vm")]
        t.true("live of %s is exact" % kind, max(abs(live[k] - want) for k in ("bytes_per_mark", "low", "high")) < 1, live)
        t.true("RSS and VM of %s within 1 %%" % kind, all(abs(slope - want) < 0.01 * want for slope in others), others)
        t.true("says so", any("--plant-leak: 9.5 MiB" in e and ("inside" in e) == (not own) for e in growth["evidence"]),
               growth["evidence"])
    marked = t.ask(record(t, "leak", 20, 1, "--plant-leak", "1MB", "--mark-on", "lost"), "growth", "--mark", "lost")
    live = marked["slopes"]["live"]["bytes_per_mark"]
    t.true("at entries, and at the marks of the program too", abs(live - 2010000) < 1, live)
    for size in ("banana", "0", "-1"):
        _, stderr, status = t.run("run", "--plant-leak", size, "true")
        t.true("%s is refused" % size, status == 2 and "--plant-leak takes a size" in stderr, stderr)


def test_what_is_missing(t):
    """No verdict from too little; and without a look at what is lost, growth is not called a leak."""
    few = t.ask(record(t, "leak", 3, 1), "growth")
    t.equal("three marks", (few["verdict"], few["n"], few["slopes"]), (None, 3, {}))
    t.true("says so", "with 3 marks 'event' growth cannot be told" in few["evidence"][0], few["evidence"])
    unscanned = t.ask(record(t, "leak", 20, 1, "--no-scan"), "growth")
    t.equal("nobody looked", (unscanned["verdict"], unscanned["lost"]), ("growth", None))
    t.true("says so", any("a leak cannot be told" in e for e in unscanned["evidence"]), unscanned["evidence"])
    none = t.ask(record(t, "leak", 0, 1), "growth")
    t.equal("no marks", (none["mark"], none["verdict"]), (None, None))
    _, stderr, status = t.run("growth", record(t, "leak", 5, 1), "--mark", "nothing")
    t.equal("an unknown label", status, 1)
    t.true("says which there are", "event#1 to #5" in stderr, stderr)
