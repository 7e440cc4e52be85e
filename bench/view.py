#!/usr/bin/env python3
"""How fast the page of `tidemark view` is in a real browser: bench/view.py [--tidemark PATH] [FILE]

FILE is a recording; without it a compiler is recorded (600,000 stack nodes). Prints the size of the page; the time
from opening it until its first screen is drawn, findings and timeline; the median time from a change of the state
until the view is drawn; and the median time of answers alone. Everything is asked for the first time: nothing comes
from the page's cache.
"""
import argparse
import os
import statistics
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tests", "e2e"))
sys.path.insert(0, os.path.join(ROOT, "bench"))
from browser import Browser  # noqa: E402
import workloads  # noqa: E402

ROUNDS = 7
# The words of each question; {i} is another number each time.
QUESTIONS = {
    "a moment": ["report", "--json", "--top", "{i}", "--at", "5{i}%"],
    "a brush": ["report", "--json", "--top", "100", "--since", "1{i}%", "--at", "6{i}%"],
    "another metric": ["report", "--json", "--top", "10{i}", "--metric", "peak"],
    "metric total": ["report", "--json", "--top", "10{i}", "--metric", "total"],
    "a search": ["report", "--json", "--top", "100", "--within", "Pars{i}*"],
    "flame, brushed": ["flame", "--json", "--min-width", "0.5{i}", "--since", "2{i}%", "--at", "7{i}%"],
    "a tree": ["report", "--json", "--tree", "--min", "0.{i}"],
    "findings": ["findings", "--json", "--process", "{pid}"],
    "peaks": ["peaks", "--json", "--top", "{i}"],
}

# What the reader does, as states of the page; {i} is another number each time.
CHANGES = {
    "table: brush": "view=table&mode=difference&since=1{i}%25&at=6{i}%25",
    "table: metric": "view=table&metric={metric}",
    "table: search": "view=table&search=Pars{i}",
    "flame: brush": "view=flame&mode=difference&since=2{i}%25&at=7{i}%25",
    "flame: metric": "view=flame&metric={metric}",
    "flame: search": "view=flame&search=Pars{i}",
    "tree: moment": "view=tree&at=4{i}%25",
}
METRICS = ("total", "peak", "sitepeak", "largest", "temporary")

# Drawn, and on the screen: the frame after the one that has it has begun.
DRAWN = """
const frame = () => new Promise(requestAnimationFrame);
const drawn = () => { const v = document.getElementById("view");
    return v && v.dataset.drawn && v.dataset.drawn === v.dataset.wanted && !v.hasAttribute("aria-busy"); };
"""
FIRST = DRAWN + """
while (!(drawn() && document.querySelector(".summary") && document.querySelector("svg.timeline"))) await frame();
await frame();
return performance.now();
"""
CHANGE = DRAWN + """
const before = document.getElementById("view").dataset.wanted, started = performance.now();
location.hash = %r;
while (document.getElementById("view").dataset.wanted === before || !drawn()) await frame();
await frame();
return performance.now() - started;
"""
ASK = """
const started = performance.now();
await tidemark.core.ask(%r);
return performance.now() - started;
"""


# Until the page has nothing more to ask by itself.
SETTLED = DRAWN + """
while (!drawn()) await frame();
for (let last = 0; last !== tidemark.core.kept.size;) {
    last = tidemark.core.kept.size;
    await Promise.all(tidemark.core.kept.values());
    await new Promise((done) => setTimeout(done, 100));
}
return 0;
"""


def tell(name, times):
    print("%-24s %8.0f ms (median of %d)" % (name, statistics.median(times), len(times)), flush=True)


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--tidemark", default=os.path.join(ROOT, "build", "tidemark"))
    options.add_argument("file", nargs="?")
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        file = given.file
        if not file:
            file = os.path.join(folder, "clang.tide")
            os.makedirs(workloads.SCRATCH, exist_ok=True)
            subprocess.run([given.tidemark, "run", "--quiet", "-o", file, "--", *workloads.clang().argv], check=True)
        page = os.path.join(folder, "page.html")
        subprocess.run([given.tidemark, "view", "--no-open", file, "-o", page], check=True, stdout=subprocess.DEVNULL)
        print("%-24s %8d bytes of a recording of %d" % ("page", os.path.getsize(page), os.path.getsize(file)))
        first = []
        with Browser(folder) as browser:
            for _ in range(ROUNDS):
                browser.open("file://" + page)
                first.append(browser.run(FIRST))
            tell("first screen", first)
            for name, state in CHANGES.items():
                times = []
                for i in range(1, ROUNDS + 1):
                    if "{metric}" in state and i > len(METRICS):
                        break
                    browser.open("about:blank")  # what was asked is forgotten
                    browser.open("file://%s#view=%s" % (page, state[5:10].split("&")[0]))
                    browser.run(SETTLED)
                    times.append(browser.run(CHANGE % state.replace("{i}", str(i)).replace("{metric}", METRICS[i % len(METRICS)])))
                tell(name, times)
            pid = browser.run('return (await tidemark.core.ask(["report", "--json", "--top", "1"])).pid')
            for name, words in QUESTIONS.items():
                times = []
                for i in range(1, ROUNDS + 1):
                    asked = [word.replace("{i}", str(i)).replace("{pid}", str(pid)) for word in words]
                    try:
                        times.append(browser.run(ASK % asked))
                    except RuntimeError as error:
                        print("%-24s %s" % (name, error))
                        break
                    if "{i}" not in " ".join(words):
                        break
                if times:
                    tell("answer: " + name, times)


main()
