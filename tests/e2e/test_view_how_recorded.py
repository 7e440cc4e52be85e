"""What the viewer's page says of recordings that are sampled, attached, merged or imported: what the commands say."""
import json
import re

from browser import Browser
from attaching import SUPPORTED, Attached, program
from test_merge import merge, ranks
from test_sample import sampled
from test_view_page import VIEWS, Page

ORIGIN = "return [...document.querySelectorAll('.origin')].map((line) => [line.dataset.origin, line.textContent])"
TILES = ("return Object.fromEntries([...document.querySelectorAll('.tile')].map((tile) =>"
         " [tile.querySelector('.tile-title').textContent, tile.textContent]))")


def badge(page):
    return page.run("return document.getElementById('badge').textContent.trim()")


def summary_line(t, profile, label, *words):
    """A line of the report's summary, as one text."""
    text = t.run("report", profile, *words)[0]
    found = re.search(r"^%s +(.*(?:\n {11}.*)*)" % label, text, re.MULTILINE)
    return re.sub(r"\n +", " ", found.group(1)) if found else None


def test_sampled(t):
    profile = sampled(t)
    with Browser() as browser:
        page = Page(t, browser, profile)
        said = [["sampled", "sampled " + summary_line(t, profile, "sampled")]]
        for view in VIEWS:
            page.go("view=" + view)
            t.equal("said above " + view, page.run(ORIGIN), said)
        t.equal("badge", badge(page), "sampled")
        for metric in ("live", "total"):
            page.go("view=table&metric=" + metric)
            answer = page.answer()
            halves = [(row["high_bytes"] - row["low_bytes"]) // 2 for row in answer["rows"]][:100]
            t.equal("half of each interval of " + metric, [row["estimate"] for row in page.rows("report")], halves)
            t.true("they are wide", max(halves) > 1000, halves)
        page.go("view=table&metric=largest")
        t.true("what has no interval has no column", all("estimate" not in row for row in page.rows("report")))
        page.go("view=tree&metric=live&min=0")
        interval = page.run("return document.querySelector('#sum-interval').textContent")
        t.true("the sum has its interval in the tree: " + interval, re.fullmatch(r"\([\d.]+ [KM]iB to [\d.]+ [KM]iB\)", interval))
        page.go("")
        live = summary_line(t, profile, "live")
        t.true("tiles have intervals: " + live, re.search(r"\((.*?)\)", live).group(1) in page.run(TILES)["live at end"])
        t.equal("nothing is thrown", browser.complaints(), [])


def test_attached(t):
    if not SUPPORTED:
        return
    with program(t) as p:
        p.tell("small 1000")
        first = Attached(t, p.pid)
        p.tell("small 10")
        p.tell("drop 1005")
        profile = first.detach()
        other = Attached(t, p.pid, "--only-new").detach()
    with Browser() as browser:
        for file in (profile, other):
            page = Page(t, browser, file)
            line = summary_line(t, file, "before").replace("the figures above", "these figures")
            t.true("the frees are told", "of such blocks since" in line, line)
            for view in ("summary", "table", "flame"):
                page.go("view=" + view)
                t.equal("said above " + view, page.run(ORIGIN), [["attached", "attached " + line]])
            t.true("it went on", "went on when tidemark detached" in page.run("return document.getElementById('head').textContent"))
            t.equal("badge", badge(page), "✓ complete")
            t.true("no free is called unknown", "every free" not in page.run("return document.querySelector('.popover').textContent"))
            t.equal("nothing is thrown", browser.complaints(), [])


def test_merged(t):
    merged = merge(t, "job.tide", *ranks(t, 6, multiples={4: 60}))
    with Browser() as browser:
        page = Page(t, browser, merged)
        said = summary_line(t, merged, "merged")
        for view in ("summary", "table", "flame", "tree"):
            page.go("view=" + view)
            t.equal("said above " + view, page.run(ORIGIN), [["merged", "merged " + said]])
        for metric in ("live", "total", "peak"):
            page.go("view=table&metric=" + metric)
            text = page.run("return document.getElementById('view').innerText")
            spread = summary_line(t, merged, "spread", "--metric", metric)
            t.true("spread of %s: %s" % (metric, spread), spread + " inputs" in text, text[:600])
            outliers = summary_line(t, merged, "outliers", "--metric", metric)
            t.true("the outlier of %s: %s" % (metric, outliers), outliers.startswith("rank 4: ") and outliers in text, text[:600])
            answer = page.answer()
            t.equal("each row's spread", [[row["mean_bytes"], row["max_bytes"], row["max_input"]] for row in page.rows("report")],
                    [[row["mean_bytes"], row["max_bytes"], row["max_input"] or ""] for row in answer["rows"]][:100])
        page.go("view=table&within=solve")
        t.true("not kept with a filter", "not kept for this question" in page.run("return document.getElementById('spread').textContent"))
        page.go("")
        t.true("the largest on the first screen", "(rank 4)" in page.run(TILES)["peak"], page.run(TILES))
        t.true("and who differs", "rank 4: " in page.run("return document.getElementById('outliers').textContent"))
        t.true("no line over time", page.run("return document.getElementById('timeline').hidden"))
        t.equal("no picture to save", page.run("return document.getElementById('save-svg')"), None)
        page.go("view=processes")
        t.equal("its command", page.command(), "tidemark merge --list job.tide")
        inputs = json.loads(t.run("merge", "--list", merged, "--json")[0])["inputs"]
        t.equal("what was merged", [[row["peak"], row["live"], row["allocated"], row["calls"], row["end"]] for row in page.rows("inputs")],
                [[one["peak_bytes"], one["live_bytes"], one["bytes_allocated"], one["allocations"], "exit status 0"] for one in inputs])
        t.equal("nothing is thrown", browser.complaints(), [])


def test_imported(t):
    folded = t.file("a.folded")
    with open(folded, "w") as out:
        out.write("main;f;g 10\nmain;f 5\n")
    t.run("import", folded, "-o", t.file("imported.tide"))
    with Browser() as browser:
        page = Page(t, browser, t.file("imported.tide"))
        unknown = t.report(t.file("imported.tide"), "samples")["imported"]["not_known"]
        t.equal("said", page.run(ORIGIN), [["imported", "imported from folded stacks (a.folded); not known: " + ", ".join(unknown)]])
        t.equal("badge", badge(page), "imported")
        t.equal("no picture to save", page.run("return document.getElementById('save-svg')"), None)
