#!/usr/bin/env python3
"""How fast the page of `tidemark view` is in a real browser: bench/view.py [--tidemark PATH] [FILE]

FILE is a recording; without it a compiler is recorded (600,000 stack nodes). Prints the size of the page, the
time until its first answer is there, and the median time of answers, each asked for the first time: nothing
comes from the page's cache.
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
    "a tree": ["report", "--json", "--tree", "--min", "0.{i}"],
    "findings": ["findings", "--json", "--process", "{pid}"],
    "peaks": ["peaks", "--json", "--top", "{i}"],
}

FIRST = """
const {rows} = await tidemark.core.ask(["report", "--json", "--top", "20"]);
return performance.now();
"""
ASK = """
const started = performance.now();
await tidemark.core.ask(%r);
return performance.now() - started;
"""


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
        print("%-16s %8d bytes of a recording of %d" % ("page", os.path.getsize(page), os.path.getsize(file)))
        first = []
        with Browser(folder) as browser:
            for _ in range(ROUNDS):
                browser.open("file://" + page)
                first.append(browser.run(FIRST))
            print("%-16s %8.0f ms (median of %d)" % ("first answer", statistics.median(first), ROUNDS))
            pid = browser.run('return (await tidemark.core.ask(["report", "--json", "--top", "1"])).pid')
            for name, words in QUESTIONS.items():
                times = []
                for i in range(1, ROUNDS + 1):
                    asked = [word.replace("{i}", str(i)).replace("{pid}", str(pid)) for word in words]
                    try:
                        times.append(browser.run(ASK % asked))
                    except RuntimeError as error:
                        print("%-16s %s" % (name, error))
                        break
                    if "{i}" not in " ".join(words):
                        break
                if times:
                    print("%-16s %8.0f ms (median of %d)" % (name, statistics.median(times), len(times)))


main()
