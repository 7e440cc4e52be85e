"""What the viewer's page shows, in a real browser: its numbers against --json, every button, keys, brush and files."""
import itertools
import json
import os
import shlex
import time

from browser import Browser
from harness import ROOT, cases

API = ("-I", os.path.join(ROOT, "include"))
SETTLED = ("(() => { const v = document.getElementById('view'); return v && v.dataset.drawn && v.dataset.drawn === v.dataset.wanted"
           " && !v.hasAttribute('aria-busy'); })()")
VIEWS = ("summary", "table", "flame", "tree", "callers", "leaks", "growth", "threads", "processes", "sizes", "maps", "marks", "source")

# A table of the page: rows of {column: value}, where a value is the exact number behind the text.
ROWS = """const table = document.querySelector('table.data%s');
return [...table.querySelectorAll('tbody tr:not(.opened)')].map((row) => Object.fromEntries([...row.querySelectorAll('td[data-column]')].map((cell) =>
    [cell.dataset.column, 'value' in cell.dataset ? Number(cell.dataset.value) : cell.title || cell.textContent])));"""

HOSTILE = """
import sys
def plain(kept):
    kept.append(bytearray(70000))
kept = []
for name in (sys.argv[1], "n" * 100000):
    code = plain.__code__.replace(co_name=name)
    plain.__code__ = code.replace(co_qualname=name) if hasattr(code, "co_qualname") else code
    plain(kept)
"""
# Threads that keep what they allocate, and a child of its own.
PYTHON = """
import json, subprocess, sys, threading
def keeps(kept, size):
    for i in range(20):
        kept.append(bytearray(size + i))
kept = []
threads = [threading.Thread(target=keeps, args=(kept, size), name="worker-%d" % size) for size in (1000, 20000)]
for thread in threads: thread.start()
for thread in threads: thread.join()
subprocess.run([sys.executable, "-c", "x = [bytearray(50000) for _ in range(30)]"], check=True)
"""
EVIL = "<img src=x onerror='globalThis.evil=1'><script>globalThis.evil=1</script>\"'&"


class Page:
    """A recording's page in a browser."""

    def __init__(self, t, browser, *files):
        self.t, self.browser, self.files = t, browser, files
        out, err, status = t.run("view", "--no-open", *files)
        t.equal("view", (err, status), ("", 0))
        self.address = "file://" + os.path.join(t.dir, out.strip())
        browser.open(self.address)
        browser.wait(SETTLED)

    def go(self, state):
        self.browser.run("location.hash = %s" % json.dumps(state))
        time.sleep(0.02)
        self.browser.wait(SETTLED)

    def settle(self):
        time.sleep(0.02)
        self.browser.wait(SETTLED)

    def run(self, script):
        return self.browser.run(script)

    def press(self, selector):
        """Clicks an element as a script does; the view that follows is drawn when it returns."""
        self.run("document.querySelector(%s).click()" % json.dumps(selector))
        self.settle()

    def hash(self):
        return self.run("return decodeURIComponent(location.hash.slice(1))")

    def command(self):
        return self.run("return document.getElementById('command').textContent")

    def words(self):
        """The command at the bottom, without where it would write a picture."""
        words = shlex.split(self.command())
        return words[:-2] if words[-2] == "-o" else words

    def answer(self):
        """What the command at the bottom of the page answers outside of it."""
        words = self.words()
        self.t.equal("a command of tidemark", words[0], "tidemark")
        out, err, status = self.t.run(*words[1:], "--json")
        self.t.equal("%s: %s" % (" ".join(words), err), status, 0)
        return json.loads(out)

    def rows(self, name=""):
        return self.run(ROWS % (("[data-name=%s]" % name) if name else ""))

    def problem(self):
        return self.run("return document.querySelector('.problem')?.textContent || ''")


def events(t, *arguments, opts=()):
    program = t.build(os.path.join(ROOT, "examples", "events.cpp"), "-O1", *API)
    return t.record(program, *arguments, opts=opts)


def test_first_screen(t):
    profile = events(t)
    with Browser() as browser:
        page = Page(t, browser, profile)
        report, found = t.report(profile), t.ask(profile, "findings")
        tiles = page.run("return Object.fromEntries([...document.querySelectorAll('.tile')].map((tile) =>"
                         " [tile.querySelector('.tile-title').textContent, Number(tile.querySelector('strong').dataset.value)]))")
        totals = report["totals"]
        t.equal("numbers of the run", {name: tiles[name] for name in ("peak", "live at end", "allocated", "temporary", "lost")},
                {"peak": totals["peak_bytes"], "live at end": totals["live_bytes"], "allocated": totals["bytes_allocated"],
                 "temporary": totals["temporary_allocations"], "lost": t.ask(profile, "leaks")["totals"]["lost_bytes"]})
        cards = page.run("return [...document.querySelectorAll('.finding')].map((card) => [card.dataset.kind,"
                         " card.querySelector('h3').title, Number(card.querySelector('.amount').dataset.value)])")
        t.equal("findings", cards, [[f["kind"], f["title"], f["bytes"]] for f in found["findings"]])
        t.equal("the badge", page.run("return document.getElementById('badge').textContent"), "✓ complete")
        t.equal("the command", page.command(), "tidemark findings 1.tide")
        page.press(".finding[data-kind=leak] .primary")
        t.equal("evidence of the leak", page.run("return document.getElementById('view').dataset.shows"), "leaks")
        page.run("history.back()")
        page.settle()
        t.equal("back", page.run("return document.getElementById('view').dataset.shows"), "summary")
        t.equal("nothing is requested", browser.requested(), [page.address])
        t.equal("nothing is thrown", browser.complaints(), [])


def test_numbers_on_screen(t):
    """Tables of many questions: every number is that of the command that the page shows."""
    profile = events(t)
    metrics = ("live", "total", "peak", "sitepeak", "largest", "temporary")
    groups = ("function", "line", "file", "library", "thread")
    moments = ("", "&at=event%2330", "&mode=difference&since=event%2320&at=event%2360", "&mode=total&since=25%25&at=80%25")
    focus = ("", "&within=Job", "&ignore=%5Emain%24", "&fold=Job%3A%3Aevent")
    every = list(itertools.product(metrics, groups, moments, focus))
    shown = 0
    with Browser() as browser:
        page = Page(t, browser, profile)
        for metric, by, moment, stacks in every[::7]:
            page.go("view=table&metric=%s&by=%s%s%s" % (metric, by, moment, stacks))
            words = page.words()
            out, err, status = t.run(*words[1:], "--json")
            if status:  # a question that has no answer: the page says so with the same words
                t.true("the same problem", err.strip().split(": ", 1)[1] in page.problem(), (err, page.problem()))
                continue
            answer = json.loads(out)
            t.equal("%s: the sum" % " ".join(words), page.run("return Number(document.getElementById('sum').dataset.value)"),
                    answer["sum"]["bytes"])
            want = [[row["name"], row["self_bytes"], row["self_count"], row["total_bytes"]] for row in answer["rows"]][:100]
            got = [[row["name"], row["self"], row["count"], row.get("total", row["self"])] for row in page.rows("report")]
            t.equal("%s: the rows" % " ".join(words), got, want)
            shown += 1
        t.true("cases", shown >= 50, shown)
        for by in ("stack",):
            page.go("view=table&by=stack&metric=total")
            answer = page.answer()
            t.equal("stacks", [[row["self"], row["count"]] for row in page.rows("report")],
                    [[row["bytes"], row["count"]] for row in answer["rows"]][:100])
        page.go("view=tree&min=0&metric=total")
        page.press("#open-all")
        flat, stack = [], list(reversed(page.answer()["rows"]))
        while stack:
            row = stack.pop()
            flat.append([row["total_bytes"], row["self_bytes"]])
            stack.extend(reversed(row["children"]))
        t.equal("the tree", [[row["total"], row["self"]] for row in page.rows()], flat)
        page.go("view=callers&select=main&metric=total")
        answer = page.answer()
        t.equal("callers", [row["total"] for row in page.rows("Callers")], [row["total_bytes"] for row in answer["rows"]])
        callees = t.report(profile, "total", "--callees", "main")
        t.equal("callees", [row["total"] for row in page.rows("Callees")], [row["total_bytes"] for row in callees["rows"]])
        t.equal("nothing is thrown", browser.complaints(), [])


def test_a_long_table(t):
    """Its first rows are there at once; the others when they are asked for, sorted or searched."""
    functions = 1300
    with open(t.file("many.c"), "w", encoding="utf-8") as out:
        out.write("#include <stdlib.h>\nvoid *volatile p;\n")
        out.writelines("__attribute__((noipa)) void f%d(void) { p = malloc(%d); free(p); }\n" % (i, 16 * i + 16) for i in range(functions))
        out.write("int main(void) { %s return 0; }\n" % " ".join("f%d();" % i for i in range(functions)))
    profile = t.record(t.build(t.file("many.c"), "-O1"))
    want = [[row["name"], row["self_bytes"]] for row in t.report(profile, "total")["rows"]]
    t.true("long", len(want) >= functions, len(want))
    shown = lambda: [[row["name"], row["self"]] for row in page.rows("report")]
    with Browser() as browser:
        page = Page(t, browser, profile)
        page.go("view=table&metric=total")
        t.true("how many there are", "%s rows" % format(len(want), ",") in page.run("return document.querySelector('.view-bar').textContent"))
        for number in range(500, len(want) + 400, 400):
            page.press("p.more button")
            page.browser.wait("document.querySelectorAll('table.data tbody tr').length >= %d" % min(number, len(want)))
        t.equal("all rows", shown(), want)
        page.go("view=table&metric=total&sort=self")
        t.equal("sorted: the smallest first", shown()[0][1], min(row[1] for row in want))
        page.go("view=table&metric=total&search=%5Ef7%24")
        t.equal("a small one is found", shown(), [["f7", 128]])
        t.equal("nothing is thrown", browser.complaints(), [])


def test_other_views(t):
    profile = events(t)
    with Browser() as browser:
        page = Page(t, browser, profile)
        page.go("view=leaks")
        answer = page.answer()
        t.equal("leaks", [[row["bytes"], row["count"], row["kind"]] for row in page.rows("leaks")],
                [[leak["bytes"], leak["count"], leak["kind"]] for leak in answer["leaks"]])
        page.press(".kind[data-kind=lost]")
        t.equal("lost alone", [row["bytes"] for row in page.rows("leaks")],
                [leak["bytes"] for leak in answer["leaks"] if leak["kind"] == "lost"])
        page.go("view=growth")
        answer = page.answer()
        t.equal("verdict", page.run("return document.getElementById('verdict').textContent"), answer["verdict"])
        wide = page.run("return [...document.querySelectorAll('figure.small svg')].map((svg) => svg.getBoundingClientRect().width)")
        t.true("pictures are large enough to be read", len(wide) >= 3 and min(wide) >= 250, wide)
        t.equal("who grows", [[row["rate"], row["bytes"], row["lost"]] for row in page.rows("sites")],
                [[site["bytes_per_mark"], site["bytes"], site["lost_bytes"]] for site in answer["sites"]])
        page.go("view=threads")
        answer = page.answer()
        t.equal("threads", [[row["highest"], row["live"], row["allocated"]] for row in page.rows("threads")],
                [[one["highest_bytes"], one["live_bytes"], one["allocated_bytes"]] for one in answer["threads"]])
        t.equal("a picture for each", page.run("return document.querySelectorAll('figure[data-thread]').length"), 2)
        for by in ("kind", "library", "mapping"):
            page.go("view=maps&maps=" + by)
            answer = page.answer()
            t.equal("maps by " + by, [[row["rss_bytes"], row["size_bytes"]] for row in page.rows("maps")],
                    [[row["rss_bytes"], row["size_bytes"]] for row in answer["rows"]][:100])
        page.go("view=marks")
        answer = page.answer()
        t.equal("marks", [[row["live_bytes"], row["rss_bytes"]] for row in page.rows("marks")],
                [[mark["live_bytes"], mark["rss_bytes"]] for mark in answer["marks"]])
        for spread in ("size", "lifetime"):
            page.go("view=sizes&spread=" + spread)
            answer = page.answer()
            first = page.run("return [...document.querySelectorAll('.heatmap tbody tr:first-child td')].map((cell) => Number(cell.dataset.value))")
            histogram = answer["histogram"]
            t.equal("blocks by " + spread, first, [b["count"] for b in histogram["buckets"]] + ([histogram["never"]] if histogram.get("never") else []))
            t.equal("they are all allocations", sum(first), answer["sum"]["count"])
        page.go("view=processes")
        t.equal("processes", [row["peak"] for row in page.rows("processes")], [p["peak_bytes"] for p in t.report(profile)["processes"]])
        t.equal("nothing is thrown", browser.complaints(), [])


def test_imported(t):
    """What another tool does not know is not known in the page either, and every view says so or shows what there is."""
    folded, massif = t.file("a.folded"), t.file("massif.out")
    with open(folded, "w") as out:
        out.write("main;f;g 10\nmain;f 5\n")
    with open(massif, "w") as out:
        out.write("desc: x\ncmd: ./app\ntime_unit: i\n#-\nsnapshot=0\n#-\ntime=7\nmem_heap_B=2048\nmem_heap_extra_B=0\nmem_stacks_B=0\n"
                  "heap_tree=peak\nn1: 2048 (heap allocation functions) malloc\n n0: 2048 0x1: f (a.c:1)\n")
    with Browser() as browser:
        for source, tiles, rows in ((folded, {"peak": "not known", "allocated": "not known", "samples": "15"}, [10, 5]),
                                    (massif, {"peak": "2.0 KiB", "live at end": "2.0 KiB", "allocated": "not known", "temporary": "not known"}, [2048])):
            t.run("import", source, "-o", t.file("imported.tide"))
            page = Page(t, browser, t.file("imported.tide"))
            shown = page.run("return Object.fromEntries([...document.querySelectorAll('.tile')].map((e) => "
                             "[e.querySelector('.tile-title').textContent, e.querySelector('strong').textContent]))")
            t.equal("tiles of " + source, {k: v for k, v in shown.items() if k in tiles}, tiles)
            t.equal("badge", page.run("return document.getElementById('badge').textContent"), "imported")
            text = page.run("return document.body.innerText")
            t.true("no null, NaN or undefined", not any(word in text for word in ("null", "NaN", "undefined")), text)
            t.true("findings are not known", "Whether anything is worth fixing is not known" in text, text)
            page.go("view=table")
            t.equal("rows", [r["self"] for r in page.rows() if r["self"]], rows)
            for view in VIEWS:
                page.go("view=" + view)
                shown = page.run("return document.getElementById('view').innerText")
                t.true("%s of %s" % (view, source), shown and not any(word in shown for word in ("NaN", "undefined", "null")), shown)


def test_flame(t):
    profile = events(t)
    with Browser() as browser:
        page = Page(t, browser, profile)
        for state in ("metric=total", "metric=total&from=leaf", "metric=total&shape=flame&color=library", "mode=difference&since=event%2350"):
            page.go("view=flame&" + state)
            t.equal("%s: the whole" % state, page.run("return Number(document.querySelector('.flame-details [data-value]').dataset.value)"),
                    page.answer()["now"][0])
            drawn = page.run("const c = document.querySelector('canvas.flame'); const data = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;"
                             "let n = 0; for (let i = 3; i < data.length; i += 4) n += data[i] > 0; return n / (c.width * c.height)")
            t.true("%s: something is drawn" % state, drawn > 0.1, drawn)
        page.go("view=flame&metric=total&search=layer_name")
        page.run("while (!document.getElementById('matched').dataset.value) await new Promise((d) => setTimeout(d, 20))")
        t.equal("what matches", page.run("return Number(document.getElementById('matched').dataset.value)"),
                t.report(profile, "total", "--within", "layer_name")["sum"]["bytes"])
        box = page.run("const r = document.querySelector('canvas.flame').getBoundingClientRect();"
                       "document.querySelector('canvas.flame').scrollIntoView({block: 'center'});"
                       "const s = document.querySelector('canvas.flame').getBoundingClientRect(); return [s.x + s.width * 0.9, s.y + 5 * 20 + 10]")
        browser.click(*box)
        page.settle()
        t.true("a click zooms", "zoom=" in page.hash(), page.hash())
        t.true("the box says its name", page.run("return document.querySelector('.flame-details b').textContent").startswith("Job::event"),
               page.run("return document.querySelector('.flame-details b').textContent"))
        page.press("#zoom-out")
        t.true("and out", "zoom=" not in page.hash(), page.hash())
        page.run("document.querySelector('canvas.flame').focus()")
        for key in ("ArrowDown", "ArrowDown", "ArrowUp", "ArrowRight", "ArrowLeft", "Enter"):
            browser.key(key)
        page.settle()
        t.true("the keyboard zooms, too", "zoom=" in page.hash(), page.hash())
        t.equal("nothing is thrown", browser.complaints(), [])


def test_brush(t):
    profile = events(t)
    with Browser() as browser:
        page = Page(t, browser, profile)
        page.go("view=table")
        page.run("while (!document.querySelector('.small-peak, .cpu') && performance.now() < 20000) await new Promise((d) => setTimeout(d, 50))")
        places = page.run("const svg = document.querySelector('svg.timeline'), box = svg.getBoundingClientRect();"
                          "return {marks: [...svg.querySelectorAll('.mark')].map((m) => [m.querySelector('title').textContent.split(' ')[0],"
                          " m.getBoundingClientRect().x]), y: box.y + 40}")
        (first, from_x), (last, to_x) = places["marks"][0], places["marks"][-1]
        browser.drag(from_x, places["y"], to_x, places["y"])
        page.settle()
        state = dict(word.split("=", 1) for word in page.hash().split("&"))
        t.equal("dragging takes a difference", state.get("mode"), "difference")
        peaks = {one["time_ns"] for one in t.ask(profile, "peaks")["peaks"]}
        for name in ("since", "at"):
            word = state.get(name, "")
            t.true("snapped to a mark or a peak", word == "peak" or "event#" in word or round(float(word[:-1]) * 1e9) in peaks, word)
        t.equal("its numbers", page.run("return Number(document.getElementById('sum').dataset.value)"), page.answer()["sum"]["bytes"])
        page.press("[data-value=total]")
        total = page.answer()
        t.equal("the total in that window", (total["metric"], page.run("return Number(document.getElementById('sum').dataset.value)")),
                ("total", total["sum"]["bytes"]))
        page.press("[data-value=at]")
        t.true("one moment", "--since" not in page.command() and "--at" in page.command(), page.command())
        page.press("#whole-run")
        t.equal("the whole run", page.command(), "tidemark report 1.tide")
        page.run("document.querySelector('svg.timeline').focus()")
        browser.key("ArrowLeft")
        page.settle()
        t.true("the arrow keys move the moment", "--at" in page.command(), page.command())
        t.equal("nothing is thrown", browser.complaints(), [])


def test_keys(t):
    profile = events(t)
    with Browser() as browser:
        page = Page(t, browser, profile)
        browser.key("?", "?")
        t.equal("help", page.run("return document.getElementById('help').open"), True)
        browser.key("Escape")
        t.equal("closed", page.run("return document.getElementById('help').open"), False)
        for key, view in zip("tfrclghpzmkos", ("table", "flame", "tree", "callers", "leaks", "growth", "threads", "processes", "sizes", "maps", "marks",
                                                "source", "summary")):
            browser.key(key, key)
            page.settle()
            t.equal("key " + key, page.run("return document.getElementById('view').dataset.shows"), view)
        browser.key("t", "t")
        page.settle()
        browser.key("/", "/")
        t.equal("search has the keyboard", page.run("return document.activeElement.id"), "search")
        for letter in "Calib":
            browser.key(letter, letter)
        page.run("while (!location.hash.includes('search=Calib')) await new Promise((d) => setTimeout(d, 20))")
        page.settle()
        t.true("only what matches", page.rows("report") and all("Calib" in row["name"] for row in page.rows("report")), page.rows("report"))
        browser.key("Escape")
        browser.key("Escape")
        page.settle()
        before = page.command()
        browser.key("]", "]")
        page.settle()
        t.equal("next metric", (before, page.command()), ("tidemark report 1.tide", "tidemark report 1.tide --metric total"))
        browser.key("b", "b")
        page.settle()
        t.equal("next grouping", page.command(), "tidemark report 1.tide --metric total --by line")
        page.go("view=tree")
        page.run("document.querySelector('table.tree tbody tr').focus()")
        rows = len(page.rows())
        browser.key("ArrowLeft")
        t.true("a row closes", len(page.rows()) < rows, rows)
        browser.key("ArrowRight")
        t.equal("and opens", len(page.rows()), rows)
        t.equal("nothing is thrown", browser.complaints(), [])


# What can be pressed: of those that are alike the first few. The frame around the views is the same in all of them.
BUTTONS = """const seen = new Map(), names = [];
[...document.querySelectorAll('button, select, summary, tr[aria-expanded]')].forEach((one, i) => {
    const alike = one.id || (one.className + '|' + one.closest('[id]')?.id + '|' + (one.closest('table') ? '' : one.textContent));
    seen.set(alike, (seen.get(alike) || 0) + 1);
    const inside = one.closest('#view, #tools');
    if (seen.get(alike) <= %d && (inside || %s) && !one.disabled && one.getClientRects().length) names.push(i);
});
return names;"""
PRESS = """const one = document.querySelectorAll('button, select, summary, tr[aria-expanded]')[%d];
if (!one) return '';
const name = one.id || one.textContent.slice(0, 40);
if (one.tagName === 'SELECT') {
    const other = [...one.options].find((option) => !option.selected && !option.disabled);
    if (other) { one.value = other.value; one.dispatchEvent(new Event('change')); }
} else one.click();
return name;"""


def recordings(t, kind):
    if kind == "demo":
        return [events(t, "20")]
    if kind == "two":
        return [events(t, "20"), events(t, "30")]
    if kind == "compiler":
        source = t.file("a.c")
        with open(source, "w") as out:
            out.writelines("int g%d(int x) { return x + %d; }\n" % (i, i) for i in range(200))
        return [t.record("gcc", "-O1", "-c", source, "-o", t.file("a.o"))]
    if kind == "python":
        return [t.record("/usr/bin/python3", "-c", PYTHON)]
    return [t.record(t.build("shares.c", "-O2"), "2", "20000", opts=("--cpu", "--faults"))]


@cases(kind=("demo", "compiler", "python", "sampled", "two"))
def test_every_button(t, kind):
    """The demo has each kind of button in each view pressed three times, the others once."""
    recorded, demo = recordings(t, kind), kind == "demo"
    pressed = kept = 0
    with Browser() as browser:
        page = Page(t, browser, *recorded)
        page.run("globalThis.saved = []; HTMLAnchorElement.prototype.click = function () { saved.push(this.download); }")
        views = ("diff", "flame", "table") if kind == "two" else VIEWS
        for view in views:
            start = "view=%s%s" % (view, "&mode=difference&since=20%25&within=." if view in ("table", "flame") else "")
            page.go(start)
            frame = demo or view == "table"  # it has all controls
            for number in page.run(BUTTONS % (3 if demo else 1, "true" if frame else "false")):
                name = page.run(PRESS % number)
                page.settle()
                if name.startswith("save-"):  # it may take a while
                    page.run("for (let i = 0; i < 250 && saved.length === %d; i++) await new Promise((d) => setTimeout(d, 20))" % kept)
                kept = page.run("return saved.length")
                pressed += 1
                wrong = page.problem()
                if wrong:  # a question that has no answer: the command has none either
                    out, err, status = t.run(*page.words()[1:], "--json")
                    t.true("%s: %s: %s" % (view, name, wrong), status and err.strip().split(": ", 1)[1] in wrong, (page.words(), err))
                page.run("document.querySelector('dialog[open]')?.close()")
                if page.run("return location.hash") != "#" + start:
                    page.go("")
                    page.go(start)
        t.true("many were pressed", pressed > {"demo": 150, "two": 30}.get(kind, 70), pressed)
        saved = page.run("return saved")
        wanted = {"tidemark-table.csv", "tidemark-flame.svg", "tidemark-flame.png"}
        t.true("files were saved", wanted <= set(saved), saved)
        if kind == "sampled":
            page.go("view=summary")
            page.run("while (!document.querySelector('rect.cpu')) await new Promise((d) => setTimeout(d, 50))")
            parts = t.report(recorded[0], "cpu")["sampling"]["cpu_over_time"]
            t.equal("CPU over time", page.run("return document.querySelectorAll('rect.cpu').length"), len(parts))
        t.equal("nothing is thrown", browser.complaints(), [])
        t.equal("nothing is requested", browser.requested(), [page.address])


def test_files(t):
    """What is saved is what the commands print."""
    profile = events(t, "30")
    with Browser() as browser:
        page = Page(t, browser, profile)
        page.run("globalThis.made = []; const old = URL.createObjectURL; URL.createObjectURL = (blob) => { made.push(blob); return old(blob); };"
                 "HTMLAnchorElement.prototype.click = () => {};")
        take = "for (let i = 0; i < 200 && !made.length; i++) await new Promise((d) => setTimeout(d, 20)); const blob = made.pop(); "
        for view, command in (("table", "report"), ("leaks", "leaks"), ("marks", "marks"), ("threads", "threads"), ("maps", "maps"),
                              ("summary", "findings"), ("growth", "growth")):
            page.go("view=" + view)
            words = page.words()
            page.press("#save-csv")
            t.equal("CSV of " + view, page.run(take + "return await blob.text()"), t.run(*words[1:], "--csv")[0])
        page.go("view=flame&metric=total")
        page.press("#save-svg")
        words = page.words()
        got, want = page.run(take + "return await blob.text()"), t.run(*words[1:], "--min-width", "0.5", "--inverted", "-o", "-")[0]
        t.true("SVG of the flame graph, but for its script", got.split("<script>")[0] == want.split("<script>")[0], got[:300])
        for view in ("summary", "flame", "growth", "threads", "marks"):
            page.go("view=" + view)
            page.press("#save-png")
            t.equal("PNG of " + view, page.run(take + "return [...new Uint8Array(await blob.arrayBuffer())].slice(1, 4)"), [80, 78, 71])
        page.go("view=growth")
        page.press("#save-svg")
        text = page.run(take + "return await blob.text()")
        t.true("SVG of the growth", text.startswith("<svg") and "class=" not in text, text[:200])


def test_hostile_names(t):
    profile = t.record("/usr/bin/python3", "-c", HOSTILE, EVIL)
    with Browser() as browser:
        page = Page(t, browser, profile)
        for view in VIEWS:
            page.go("view=%s&metric=total" % view)
        page.go("view=table&metric=total&search=onerror")
        t.equal("shown as text", [row["name"] for row in page.rows("report")], [EVIL])
        cut = "n" * 4096
        page.go("view=table&metric=total&search=nnnnnnnn")
        t.equal("a name of 100,000 characters says that it was cut", [row["name"] for row in page.rows("report")],
                [cut + "… (names are cut after 4,096 bytes)"])
        page.press("table.data tbody button.link")
        t.equal("its callers", page.run("return document.querySelector('.middle h2').textContent.length") > 0, True)
        t.equal("nothing is thrown", [text for text in browser.complaints() if "img" not in text], [])
        page.go("view=table&metric=total&search=onerror")
        page.press("table.data tbody button.link")
        t.equal("and leads on", page.run("return document.querySelector('.middle h2').textContent"), EVIL)
        page.go("view=%3Cimg%20src=x%3E&search=%3Cscript%3E&select=" + "%3Cimg%20src=x%20onerror=globalThis.evil=1%3E")
        t.equal("nothing ran", page.run("return globalThis.evil ?? null"), None)
        t.equal("nothing is requested", browser.requested(), [page.address])


def test_small_screens(t):
    profile = events(t, "30")
    with Browser() as browser:
        page = Page(t, browser, profile)
        for width in (390, 1024):
            browser.call("Emulation.setDeviceMetricsOverride", width=width, height=800, deviceScaleFactor=1, mobile=width < 500)
            for view in VIEWS:
                page.go("view=" + view)
                wide = page.run("return document.documentElement.scrollWidth")
                t.true("%s does not overflow %d pixels" % (view, width), wide <= width, wide)
        t.equal("nothing is thrown", browser.complaints(), [])
