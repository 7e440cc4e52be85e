"""tidemark peaks and tree: numbered peaks of threads that rise and fall, and the calls that led there."""
import csv
import io
import os
import re
import shlex

import browser
from harness import ROOT, cases, slow

API = ("-I", os.path.join(ROOT, "include"))
KIB = 1024


def record(t):
    return t.record(t.build("thread_peaks.c", "-O1", *API))


def peaks_of(t, profile, *options):
    return t.ask(profile, "peaks", *options)["peaks"]


def test_peaks_of_threads(t):
    peaks = peaks_of(t, record(t), "--peak", "20K")
    t.equal("climber", [p["bytes"] for p in peaks if p["thread"] == "climber"], [300 * KIB, 100 * KIB, 200 * KIB])
    t.equal("walker", [p["bytes"] for p in peaks if p["thread"] == "walker"], [50 * KIB])
    t.equal("numbers", [p["number"] for p in peaks], list(range(1, len(peaks) + 1)))
    t.equal("in order of time", [p["time_ns"] for p in peaks], sorted(p["time_ns"] for p in peaks))
    process = [p for p in peaks if p["thread"] is None]
    t.equal("as many of the process", len(process), 4)
    t.true("and they are no lower", all(p["bytes"] >= 50 * KIB for p in process), process)
    first = [p for p in peaks if p["thread"] == "climber"][0]
    t.equal("its stack", ([f["function"] for f in first["stacks"][0]["stack"]][:3], first["stacks"][0]["bytes"]),
            (["pile_up", "climb", "climber"], 300 * KIB))
    t.equal("legend", first["legend"], "%d: climber>thread_peaks.c:%d:pile_up=>%d"
            % (first["number"], first["stacks"][0]["stack"][0]["line"], 300 * KIB))


def test_one_thread(t):
    """Its line is the process's: each peak is there once. With a part of it in focus both are shown."""
    profile = t.record(t.build("sawteeth.c", "-O1", *API), "3")
    peaks = peaks_of(t, profile)
    t.equal("once each", [(p["thread"], p["bytes"]) for p in peaks], [(None, 100 * KIB * n + 1) for n in (1, 2, 3)])
    t.equal("legend", [p["legend"].split(">")[0] for p in peaks], ["%d: process" % n for n in (1, 2, 3)])
    part = peaks_of(t, profile, "--within", "^pile$")
    t.equal("in focus", [p["bytes"] for p in part if p["thread"] == "main"], [100 * KIB * n for n in (1, 2, 3)])
    tree = t.run("tree", profile, "--peak", "2")[0]
    t.true("the tree finds it", tree.startswith("peak 2: process>"), tree)


def stacks_of(peak):
    return {s["stack"][0]["function"]: (s["bytes"], s["count"]) for s in peak["stacks"]}


def test_peak_inside_an_interval(t):
    """What each stack had follows from what all can have had."""
    profile = t.record(t.build("sawteeth.c", "-O1", *API), "6", "50000")
    peaks = peaks_of(t, profile)
    t.equal("peaks", [p["bytes"] for p in peaks], [100 * KIB * n + 50001 for n in range(1, 7)])
    for n, p in enumerate(peaks, 1):
        t.equal("stacks of %d" % n, stacks_of(p), {"pile": (100 * KIB * n, 10 * n), "spike_of": (50000, 1), "main": (1, 1)})
        t.equal("all of %d" % n, (p["listed_bytes"], p["listed_ns"], p["at_least"]), (p["bytes"], p["time_ns"], False))
    t.equal("when, as in a report", peaks[-1]["time_ns"], t.report(profile)["totals"]["peak_time_ns"])
    less = [p for p in peaks if t.ask(profile, "tree", "--peak", str(p["number"]))["peak"]["listed_bytes"] < p["bytes"]]
    t.true("some are inside an interval", less, peaks)
    n = less[0]["number"]
    tree = t.run("tree", profile, "--peak", str(n))[0]
    peak = t.ask(profile, "tree", "--peak", str(n))["peak"]
    t.equal("the tree's peak", (peak["number"], peak["bytes"]), (n, less[0]["bytes"]))
    t.equal("no peak", t.ask(profile, "tree")["peak"], None)
    t.true("said by the tree", "\nthe peak lies inside an interval; at its end, where this tree ends, " in tree, tree)


def test_peak_known_from_below(t):
    """Two more blocks of 10,000 bytes may have been live at the peak, as far as the recording tells."""
    profile = t.record(t.build("sawteeth.c", "-O1", *API), "6", "50000", "10000")
    peaks = peaks_of(t, profile)
    inside = [p for p in peaks if p["at_least"]]
    t.true("some", inside and peaks[-1] not in inside, peaks)
    for p in inside:
        pile = p["bytes"] - 50001
        t.equal("stacks", stacks_of(p), {"pile": (pile - 20000, None), "spike_of": (30000, None), "main": (1, None)})
        t.equal("their sum", (p["listed_bytes"], p["listed_ns"]), (pile + 10001, p["time_ns"]))
    t.equal("the highest", stacks_of(peaks[-1])["spike_of"], (50000, 1))
    text = t.run("peaks", profile)[0]
    t.equal("in text", text.count("    at least 29.3 KiB: sawteeth.c:"), len(inside))


def test_peak_that_is_not_known(t):
    """Each of three blocks may have made it: none of their lines is named, nor that of the pile."""
    profile = t.record(t.build("sawteeth.c", "-O1", *API), "6", "5000000", "5000000")
    peaks = peaks_of(t, profile)
    unknown = [p for p in peaks if p["listed_bytes"] < p["bytes"]]
    t.true("some", unknown and peaks[-1] not in unknown, peaks)
    text = t.run("peaks", profile)[0]
    for p in unknown:
        t.equal("legend", p["legend"], "%d: process>(not known)=>%d" % (p["number"], p["bytes"]))
    t.equal("said of each", text.count("the stacks at the peak itself are not known; these are of "), len(unknown))
    rows = list(csv.DictReader(io.StringIO(t.run("peaks", profile, "--csv")[0])))
    t.equal("place in CSV", sum(r["place"] == "" for r in rows), len(unknown))


def test_thresholds(t):
    profile = record(t)
    only = ("--thread", "climber")
    heights = lambda *options: [p["bytes"] // KIB for p in peaks_of(t, profile, *only, *options) if p["thread"]]
    t.equal("height", heights("--peak", "150K"), [300, 200])
    t.equal("change", heights("--peak", "20K", "--peak-delta-value", "150K"), [300, 200])
    t.equal("time", heights("--peak", "20K", "--peak-delta-time", "100"), [300])


def test_top_in_every_format(t):
    """--top leaves out rows of JSON and CSV as it does of text, and JSON counts them; without it data is complete."""
    profile = record(t)
    for command, key in (("peaks", "peaks"), ("threads", "threads"), ("tree", "calls")):
        everything = t.ask(profile, command)
        rows = everything[key]
        t.true("%s: more than two rows" % command, len(rows) > 2, len(rows))
        t.equal("%s: left out without --top" % command, everything[key + "_left_out"], 0)
        wanted = rows[:2]
        if command == "peaks":  # the highest, in order of time
            wanted = sorted(sorted(rows, key=lambda r: (-r["bytes"], r["number"]))[:2], key=lambda r: r["number"])
        some = t.ask(profile, command, "--top", "2")
        t.equal("%s --top 2" % command, some[key], wanted)
        t.equal("%s --top 2: left out" % command, some[key + "_left_out"], len(rows) - 2)
        t.equal("%s --top 0" % command, len(t.ask(profile, command, "--top", "0")[key]), len(rows))
        for options, count in (((), len(rows)), (("--top", "2"), 2)):
            table = t.run(command, profile, "--csv", *options)[0]
            t.equal("%s --csv %s: rows" % (command, options), len(list(csv.reader(table.splitlines()))) - 1, count)


def test_tree_of_a_peak(t):
    profile = record(t)
    options = ("--peak-least", "20K")
    peaks = peaks_of(t, profile, "--peak", "20K")
    third = [p for p in peaks if p["thread"] == "climber"][2]
    calls = t.ask(profile, "tree", *options, "--peak", str(third["number"]))["calls"]
    by_name = {c["function"]: c for c in calls}
    t.equal("gained", {n: (by_name[n]["gained_bytes"], by_name[n]["count"]) for n in ("climber", "climb", "pile_up")},
            {n: (200 * KIB, 20) for n in ("climber", "climb", "pile_up")})
    t.equal("its own", (by_name["pile_up"]["self_gained_bytes"], by_name["climb"]["self_gained_bytes"]), (200 * KIB, 0))
    t.true("callers come first", by_name["climber"]["depth"] < by_name["climb"]["depth"] < by_name["pile_up"]["depth"], calls)
    t.true("not the walker", "walker" not in by_name, list(by_name))
    text = t.run("tree", profile, *options, "--peak", str(third["number"]))[0]
    t.true("heading", text.startswith("peak %s\n" % third["legend"]), text)


def test_tree_of_a_window(t):
    profile = record(t)
    calls = t.ask(profile, "tree", "--thread", "climber", "--since", "top#1", "--at", "foot#2", "--order", "size")["calls"]
    piles = [c for c in calls if c["function"] == "pile_up"]  # one for each line that calls climb
    t.equal("gained and freed", [sum(c[k] for c in piles) for k in ("gained_bytes", "freed_bytes", "count")],
            [100 * KIB, 400 * KIB, 10])
    t.equal("the largest first", [c["freed_bytes"] for c in piles], [300 * KIB, 100 * KIB])
    whole = [c for c in t.ask(profile, "tree", "--prefix", ROOT + "/")["calls"] if c["function"] == "pile_up"]
    t.equal("prefix", {c["file"] for c in whole}, {"tests/programs/thread_peaks.c"})


def test_tree_as_csv(t):
    """The same calls with the same figures as in JSON, in the same order; what is unknown is empty."""
    profile = record(t)
    for options in ((), ("--peak", "1"), ("--order", "size", "--prefix", ROOT + "/")):
        calls = t.ask(profile, "tree", *options)["calls"]
        rows = list(csv.DictReader(io.StringIO(t.run("tree", profile, *options, "--csv")[0])))
        t.equal("calls %s" % (options,), rows, [{k: "" if v is None else str(v) for k, v in c.items()} for c in calls])
        if "--peak" not in options:
            t.equal("all of the hills", sum(int(r["self_gained_bytes"]) for r in rows if r["function"] == "pile_up"), 650 * KIB)


@slow
def test_picture(t):
    profile, path = record(t), t.file("peaks.svg")
    t.run("peaks", profile, "--peak", "20K", "--plot", path)
    with open(path) as file:
        svg = file.read()
    seen = browser.look(t, svg, """
        const peaks = Array.from(document.querySelectorAll('.p'));
        seen.push(peaks.length, peaks.map((p) => p.querySelector('text').textContent).join(' '));
        seen.push(peaks.some((p) => p.querySelector('title').textContent.includes('climber>thread_peaks.c')));
        """)
    t.equal("in the browser", seen, ["8", "1 2 3 4 5 6 7 8", "true"])


def test_wrong_usage(t):
    profile = record(t)
    for arguments, wants, code in ((("peaks", profile, "--peak", "much"), "--peak 'much' is not a size", 2),
                                   (("peaks", profile, "--peak-delta-time", "-"), "is not a time", 2),
                                   (("tree", profile, "--peak", "9999"), "there is no peak 9999; there are ", 1),
                                   (("tree", profile, "--order", "name"), "--order takes 'time' or 'size'", 2)):
        _, stderr, status = t.run(*arguments)
        t.true(wants, status == code and wants in stderr and stderr.count("\n") == 1, (status, stderr))


def test_the_command_that_follows_has_the_filters(t):
    """The suggested tree command shows the same peak 2 as the filtered list of peaks."""
    profile = record(t)
    asked = ("--within", "^pile_up$", "--thread", "climber", "--peak", "20K", "--peak-delta-time", "0.001", "--since", "top#1")
    text = t.run("peaks", profile, *asked)[0]
    following = [line for line in text.splitlines() if line.startswith("next: ")][0]
    words = shlex.split(following[len("next: tidemark "):])
    highest = max(peaks_of(t, profile, *asked), key=lambda peak: peak["bytes"])["number"]
    t.equal("options", words[2:], ["--within", "^pile_up$", "--thread", "climber", "--since", "top#1", "--peak-least", "20480",
                                   "--peak-delta-time", "0.001s", "--peak", str(highest)])
    for peak in peaks_of(t, profile, *asked):
        tree = t.run(*words[:-1], str(peak["number"]))[0]
        t.true("peak %d" % peak["number"], tree.startswith("peak " + peak["legend"]), (tree[:100], peak["legend"]))


def points(svg, name):
    line = re.search(r'points="([^"]*)"><title>%s</title>' % re.escape(name), svg).group(1)
    return [tuple(float(c) for c in p.split(",")) for p in line.split()]


def test_dots_lie_on_the_line(t):
    """Of a part of the heap too; and lines hold a value until the next one, so all their parts are level or upright."""
    profile, path = record(t), t.file("peaks.svg")
    for filters, name in (((), "heap of the process"), (("--within", "^walker$"), "heap of the process, as filtered")):
        t.run("peaks", profile, "--plot", path, *filters)
        with open(path) as file:
            svg = file.read()
        line = points(svg, name)
        t.true("steps", all(a[0] == b[0] or a[1] == b[1] for a, b in zip(line, line[1:])), line[:20])
        process = [p for p in peaks_of(t, profile, *filters) if p["thread"] is None]
        t.true("peaks of the process", process)
        for p in process:
            dot = re.search(r'<title>%s</title><circle cx="([0-9.]+)" cy="([0-9.]+)"' % re.escape(
                p["legend"].replace("&", "&amp;").replace(">", "&gt;")), svg)
            t.true("dot %d" % p["number"], dot and (float(dot.group(1)), float(dot.group(2))) in line, p["legend"])


@cases(size=(300, 3000, 200000))
def test_bound_of_contended_peak(t, size):
    """Eight threads are highest at the same time. The peak is as far from the truth as the report says, at most."""
    profile = t.record(t.build("contended_peak.c", "-O1", "-pthread"), str(size))
    text = t.run("report", profile)[0]
    bound = re.search(r"^peak .* may be off by up to ([0-9.]+) (KiB|MiB): several threads", text, re.M)
    t.true("a bound is printed", bound, text[:600])
    most = float(bound[1]) * {"KiB": 1 << 10, "MiB": 1 << 20}[bound[2]]
    at_peak = {row["name"]: row["self_bytes"] for row in t.report(profile, "peak", "--top", "0", "--min", "0")["rows"]}
    t.true("the bound holds", abs(at_peak["hold"] - 8 * 100 * size) <= most, (at_peak, most))
    t.equal("sites make up the peak", sum(at_peak.values()), t.report(profile)["totals"]["peak_bytes"])
    t.consistent(profile)
