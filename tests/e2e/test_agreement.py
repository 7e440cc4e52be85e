"""All commands are asked the same questions of the same recordings: what is lost, who lost it, what grows, what memory is
made of. The truth is in tests/programs/scenarios.c; no command may contradict it, or another one."""
import os
import re

from harness import ROOT, bare, cases, line_of

API = ("-I", os.path.join(ROOT, "include"))
MIB = 1 << 20
# scenario: (kind, function, bytes, count) of the first finding; None: whatever it is
TRUTH = {
    "lost": ("leak", "lose_one", 2000000, 100),
    "tree": ("leak", "plant_tree", 100 * (16 + 63 * 200), 6400),
    "mapped": ("mapped", "map_more", 100 * MIB, 100),
    "shared": ("shared", "share_more", 100 * MIB, 100),
    "retained": ("retention", "burst", None, None),
    "cache": ("growth", "remember", None, None),
    "reserve": ("untouched", "reserve", None, 1),
    "churn": ("churn", "churn", 2000000 * 64, 2000000),
    "early": ("leak", "lose_early", 200000, 200),
    "little": ("peak", "load_once", 81 * MIB, 1),
    "owner": ("leak", "own", 1000000, 100),
    "killed": ("growth", "lose_one", None, None),
    "children": ("leak", "child_loses", 400000, 200),
    "clean": None,
}
LOST = {"lost": 2000000, "tree": 100 * (16 + 63 * 200), "early": 200000, "little": 1700, "owner": 1000000, "children": 400000}
MARKED = ("lost marks", "tree marks", "mapped marks", "cache marks")


class Told:
    """What the commands say of one recording."""

    def __init__(self, t, scenario):
        self.name = scenario.split()[0]
        self.profile = t.file("x.tide")
        self.summary = t.run("run", "-o", self.profile, "--scan=full", "--", t.build("scenarios.c", "-O1", *API), *scenario.split())[1]
        self.findings = t.ask(self.profile, "findings")["findings"]
        self.text = t.run("findings", self.profile)[0]
        self.leaks = t.ask(self.profile, "leaks")
        self.growth = t.ask(self.profile, "growth")
        self.report = t.report(self.profile)
        self.peak = t.report(self.profile, "peak")["totals"]["peak_bytes"]

    def kinds(self, *kinds):
        return [f for f in self.findings if f["kind"] in kinds]


def function(finding):
    return bare(finding["function"])


def check_truth(t, told):
    """The first finding is the planted one, with its line, in the summary of run as well."""
    truth = TRUTH[told.name]
    if not truth:
        t.equal("clean", told.findings, [])
        t.true("and said so", told.text.startswith("There is nothing worth your time."), told.text)
        return
    t.true("something is found", told.findings, told.text)
    if not told.findings:
        return
    first = told.findings[0]
    kind, name, size, count = truth
    t.equal("first", (first["kind"], function(first)), (kind, name))
    t.equal("its figures", (size and first["bytes"], count and first["count"]), (size, count))
    line = "scenarios.c:%d" % first["line"]
    t.true("its line in the summary", re.search(r"^  1\. %s .*\n?.*%s" % (name, line), told.summary, re.MULTILINE), told.summary)
    t.true("the answer comes first", told.text.replace("\n", " ").startswith(first["title"]) and line in told.text.split("\n\n")[0], told.text)
    t.true("in few lines", len(told.text.splitlines()) <= 25, told.text)


def check_lost(t, told):
    """leaks, findings and the summary: the same bytes, and no more than there are."""
    totals = told.leaks["totals"]
    lost = totals["lost_bytes"] + totals["indirect_bytes"] + told.leaks["others"]["lost_bytes"]
    t.equal("lost", lost, LOST.get(told.name, 0))
    found = told.kinds("leak")
    t.true("no more than that in findings", sum(f["bytes"] for f in found) <= lost, (found, lost))
    said = re.findall(r"^  lost (?:by other processes: )?(\S+ \S+) in", told.summary, re.MULTILINE)
    t.equal("said at the end of run", len(said), int(lost > 0))
    text = t.run("leaks", told.profile)[0]
    if lost:
        t.equal("the same words", text.split(" in ")[0], said[0])
        if told.name != "little":
            t.true("who", re.search(r"by %s scenarios.c:" % TRUTH[told.name][1], text.split("\n\n")[0]), text)
    elif told.name == "killed":
        t.true("nobody knows", text.startswith("Whether anything was lost is not known."), text)
    else:
        t.true("nothing", text.startswith("Nothing was lost."), text)


def check_claims(t, told):
    """Findings of one moment are about different bytes."""
    live = [f["bytes"] for f in told.kinds("leak", "growth")]
    if told.name != "children":
        t.true("at the end", sum(live) <= told.peak, (live, told.peak))
    t.true("at the peak", sum(f["bytes"] for f in told.kinds("peak")) <= told.peak, told.findings)
    for at in {f["moment_ns"] for f in told.findings if f["moment"] == "resident"}:
        some = [f for f in told.findings if f.get("moment_ns") == at]
        t.true("resident at %d" % at, sum(f["bytes"] for f in some) <= min(f["of_bytes"] for f in some), some)
    children = told.name == "tree" and [f for f in told.findings if function(f) == "grow_branch"]
    t.true("what hangs on a lost block is nobody else's", not children, children)


def check_growth(t, told):
    """What grows, grows in both; what is lost is not called reachable."""
    verdict, sites = told.growth["verdict"], {bare(s["function"]) for s in told.growth["sites"]}
    for f in told.kinds("growth"):
        t.true("%s grows in growth as well" % function(f), function(f) in sites, (verdict, sites))
    if told.name in ("cache", "killed"):
        t.equal("verdict", verdict, "growth")
    if told.name in ("lost", "tree"):
        t.equal("verdict", verdict, "leak")
    if told.name == "clean":
        t.equal("nothing grows", sites, set())


def check_mapped(t, told):
    """What is mapped is as much in report, and resident in maps."""
    for f in told.kinds("mapped", "shared"):
        rows = t.report(told.profile, "mapped", "--at", "%.6fs" % (f["moment_ns"] / 1e9))
        t.equal("in report", t.row(rows, function(f))["self_bytes"], f["bytes"])
        maps = t.ask(told.profile, "maps")["totals"]["rss_bytes"]
        t.true("in maps", f["bytes"] <= maps, maps)
    if told.name == "retained":
        kept = told.kinds("retention")[0]["bytes"]
        look = told.growth.get("footprints", told.growth["account"])[-1]
        t.equal("as in the account of growth", kept, look["free_bytes"] + look["held_bytes"])
        t.true("all of it", 60000 * 1000 <= kept <= 66 << 20, kept)


def check_totals(t, told):
    totals = told.leaks["totals"]
    if told.name != "children":
        t.equal("live at the end", totals["bytes"] + totals["ignored_bytes"], told.report["totals"]["live_bytes"])
    said = re.search(r"^  (?:\d+\. )", told.summary, re.MULTILINE)
    t.equal("findings in the summary", bool(said), bool(told.findings))


@cases(scenario=(*TRUTH, *MARKED))
def test_all_commands(t, scenario):
    told = Told(t, scenario)
    for check in (check_truth, check_lost, check_claims, check_growth, check_mapped, check_totals):
        check(t, told)


def test_when_it_was_lost(t):
    """A leak that stopped is not told to go on; one that destructors made is told so."""
    early, lost, owner = (Told(t, name).findings[0]["why"] for name in ("early", "lost", "owner"))
    t.true("stopped", early.endswith(": none since") or "the last at" not in early, early)
    t.true("goes on", lost.endswith(": a longer run loses more"), lost)
    t.true("by destructors", owner.startswith("nothing points to them since destructors ran; until then something did"), owner)


def test_lost_by_stacks_that_are_cut(t):
    """Nobody is named, but what is lost is counted, and the program is not clean."""
    profile = t.file("x.tide")
    summary = t.run("run", "-o", profile, "--scan=full", "--", t.build("scenarios.c", "-O1", *API), "deep")[1]
    t.true("cut", t.report(profile)["totals"]["truncated_stacks"] >= 50, t.stdout)
    found = t.ask(profile, "findings")
    t.equal("clean", (found["findings"], found["clean"]), ([], False))
    t.true("counted", "50 were lost (976.6 KiB)" in found["basis"], found["basis"])
    text = t.run("findings", profile)[0]
    t.true("the answer", text.startswith("It lost 976.6 KiB in 50 blocks, by unknown code"), text)
    t.true("what comes next", all(s.endswith("next: tidemark leaks %s\n" % profile) for s in (text, summary)), (text, summary))


def test_tree_in_leaks(t):
    """A lost tree is one entry with all of it; each kind can still be had apart."""
    profile = t.record(t.build("scenarios.c", "-O1", *API), "tree")
    text = t.run("leaks", profile)[0]
    entries = re.findall(r"^\d+\. (.*)", text, re.MULTILINE)
    t.equal("one entry", entries, ["lost: 1.2 MiB in 6,400 blocks: 100 blocks of 16 B, and 1.2 MiB that only these blocks lead to"])
    lost = [e for e in t.ask(profile, "leaks")["leaks"] if e["kind"] == "lost"]
    t.equal("data", [(e["bytes"], e["count"], e["indirect_bytes"], e["indirect_count"]) for e in lost],
            [(1600, 100, 100 * 63 * 200, 6300)])
    t.true("--kind indirect", "indirect: " in t.run("leaks", profile, "--kind", "indirect")[0], t.stdout)


def test_children(t):
    """Of workers that lose, all are told in one sentence, and the default of leaks is about them."""
    told = Told(t, "children")
    basis = t.ask(told.profile, "findings")["basis"]
    t.true("the others are not called clean", basis.endswith("the other 4 processes lost 390.6 KiB"), basis)
    t.true("in findings", "in 4 of 4 workers of scenarios" in told.findings[0]["title"], told.findings[0])
    text = t.run("leaks", told.profile)[0]
    t.true("in leaks", "all by child_loses scenarios.c:%d, in 4 of 5 processes." % line_of("scenarios.c", "a child's")
           in text.replace("\n", " "), text)
    t.true("entry", "1. lost: 390.6 KiB in 200 blocks of 2.0 KiB" in text, text)
    t.true("in the summary", "child_loses loses 390.6 KiB in 200 blocks, in 4 of 4 workers" in told.summary, told.summary)
    all_threads = t.ask(told.profile, "threads", "--process", "all")
    t.equal("the peak of all", all_threads["peak_bytes"], t.ask(told.profile, "report", "--metric", "peak", "--process", "all")["totals"]["peak_bytes"])


def test_more_children_than_are_looked_at(t):
    """Of the 270 that there are, the parent's largest 256 are looked at; what all of them lost is in the summary too."""
    profile = t.file("x.tide")
    summary = t.run("run", "-o", profile, "--scan=full", "--", t.build("scenarios.c", "-O1", *API), "children", "270")[1]
    others = t.ask(profile, "leaks")["others"]
    t.equal("lost by all", (others["processes"], others["lost_blocks"]), (270, 270 * 50))
    said = re.search(r"lost by other processes: (at least )?(\S+ \S+) in ([0-9,]+) blocks", summary)
    t.equal("in the summary", said and said.group(1, 2, 3), (None, "%.1f MiB" % (others["lost_bytes"] / MIB), "{:,}".format(others["lost_blocks"])))
    found = t.ask(profile, "findings")
    t.equal("left out", found["processes_left_out"], 14)
    first = found["findings"][0]
    t.equal("of all", (len(first["pids"]), first["of_processes"]), (256, 271))
    t.true("in words", "in at least 256 of 270 workers of scenarios" in first["title"], first["title"])


def test_highest_of_threads_of_all(t):
    """A thread's highest is the same whether its process is looked at alone or with all others."""
    profile = t.record(t.build("scenarios.c", "-O1", *API), "spikes")
    together = {line["tid"]: line["highest_bytes"] for line in t.ask(profile, "threads", "--process", "all")["threads"]}
    for process in t.ask(profile, "report")["processes"]:
        for line in t.ask(profile, "threads", "--process", str(process["pid"]))["threads"]:
            t.equal("of %d" % line["tid"], together[line["tid"]], line["highest_bytes"])
    t.equal("spikes", sorted(together.values()), [10 * MIB, 20 * MIB, 30 * MIB])


def test_freed_after_the_last_destructor(t):
    """What libc frees after the scan at the end is not live at the end, in any command."""
    library = t.build("many_handlers.c", "-O1", shared=True)
    profile = t.record(t.build("left_blocks.c", "-O1"), "keep", "3", "1000", env={"LD_PRELOAD": library}, opts=("--scan=full",))
    report, leaks = t.report(profile)["totals"], t.ask(profile, "leaks", "--no-presets")
    totals = leaks["totals"]
    t.true("libc freed its lists", report["frees"] >= 5, report)
    t.equal("bytes", totals["bytes"], report["live_bytes"])
    t.equal("blocks", totals["blocks"], report["live_blocks"])
    t.equal("listed", sum(e["bytes"] for e in leaks["leaks"]), report["live_bytes"])
    t.equal("lost", (totals["lost_bytes"], totals["lost_blocks"]), (2000, 2))
