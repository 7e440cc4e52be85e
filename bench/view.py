#!/usr/bin/env python3
"""How fast the page of `tidemark view` is in a real browser: bench/view.py [--tidemark PATH] [--serve] [FILE]

FILE is a recording; without it a compiler is recorded (600,000 stack nodes), or with --serve a program with
5,000,000 stack nodes. Prints the size of the page; the time from opening it until its first screen is drawn,
findings and timeline; the median time from a change of the state until the view is drawn; and the median time of
answers alone. Everything is asked for the first time: nothing comes from the page's cache. With --serve the page is
that of `tidemark view --serve`, which answers for recordings of any size. Without FILE and --serve, the limits are
checked: the exit status is 1 if one is missed.
"""
import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time

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

# Most ms that each may take, for a recording of about 600,000 stack nodes, and at least NODES.
NODES = 550_000
LIMITS = {"first screen": 1500, **{name: 150 for name in CHANGES}}

# A program with about 5 million stack nodes: ten levels of calls, four at each, and a tail of four; 320 functions.
LEVELS, WIDTH = 10, 32
MANY_STACKS = 1_000_000

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


missed = []


def tell(name, times, limit=None):
    median = statistics.median(times)
    print("%-24s %8.0f ms (median of %d)%s" % (name, median, len(times), "" if not limit else ", limit %d" % limit), flush=True)
    if limit and median > limit:
        missed.append(name)


def many_stacks():
    lines = ["#include <stdlib.h>", "typedef void call(unsigned long);", "static void *volatile kept[%d]; static unsigned long count;" % MANY_STACKS]
    lines += ["static call f%d_%d;" % (level, i) for level in range(LEVELS) for i in range(WIDTH)]
    lines += ["static call *const table[%d][%d] = {%s};" % (LEVELS, WIDTH, ", ".join(
        "{%s}" % ", ".join("f%d_%d" % (level, i) for i in range(WIDTH)) for level in range(LEVELS)))]
    plain = "__attribute__((noinline, noclone)) static void"
    lines += [plain + " tail0(unsigned long path) { void *volatile p = malloc(16 + path % 512); if (path % 3) free(p); else kept[count++] = p; }"]
    lines += [plain + ' tail%d(unsigned long path) { tail%d(path); __asm__ volatile("" ::: "memory"); }' % (i, i - 1) for i in range(1, 4)]
    for level in range(LEVELS):
        to = "table[%d][(path * 7 + %%d) %% %d]" % (level + 1, WIDTH) if level + 1 < LEVELS else "tail3"
        for i in range(WIDTH):
            calls = " ".join('case %d: %s(path); __asm__ volatile("nop /* %d */" ::: "memory"); break;' % (k, to.replace("%d", str(i)).replace("%%", "%"), k)
                             for k in range(4))
            lines += [plain + " f%d_%d(unsigned long path) { switch (path >> %d & 3) { %s } }" % (level, i, 2 * level, calls)]
    lines += ["int main(void) { for (unsigned long i = 0; i < %d; i++) table[0][i %% %d](i); return 0; }" % (MANY_STACKS, WIDTH)]
    return [line + "\n" for line in lines]


def compiled_stacks():
    source = workloads.text("many_stacks.c", many_stacks)
    return workloads.made("many_stacks", lambda path: subprocess.run(["cc", "-O1", "-o", path, source], check=True))


class Served:
    """A running `tidemark view --serve`."""

    def __init__(self, tidemark, file):
        started = time.monotonic()
        self.process = subprocess.Popen([tidemark, "view", "--no-open", file, "--serve"], stdout=subprocess.PIPE, text=True)
        self.address = self.process.stdout.readline().strip()
        tell("until it listens", [(time.monotonic() - started) * 1000])

    def end(self):
        self.process.send_signal(signal.SIGINT)
        self.process.wait()


def record(tidemark, file, serve):
    os.makedirs(workloads.SCRATCH, exist_ok=True)
    argv = [compiled_stacks()] if serve else workloads.clang().argv
    subprocess.run([tidemark, "run", "--quiet", "-o", file, "--", *argv], check=True)


def measure_page(browser, address, limits):
    first = []
    for _ in range(ROUNDS):
        browser.open("about:blank")
        browser.open(address)
        first.append(browser.run(FIRST))
    tell("first screen", first, limits.get("first screen"))
    for name, state in CHANGES.items():
        times = []
        for i in range(1, ROUNDS + 1):
            if "{metric}" in state and i > len(METRICS):
                break
            browser.open("about:blank")  # what was asked is forgotten
            browser.open("%s#view=%s" % (address, state[5:10].split("&")[0]))
            browser.run(SETTLED)
            times.append(browser.run(CHANGE % state.replace("{i}", str(i)).replace("{metric}", METRICS[i % len(METRICS)])))
        tell(name, times, limits.get(name))


def measure_answers(browser):
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


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--tidemark", default=os.path.join(ROOT, "build", "tidemark"))
    options.add_argument("--serve", action="store_true")
    options.add_argument("file", nargs="?")
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        file = given.file
        if not file:
            file = os.path.join(folder, "recording.tide")
            record(given.tidemark, file, given.serve)
        report = json.loads(subprocess.run([given.tidemark, "report", file, "--json", "--top", "1"], check=True, capture_output=True).stdout)
        nodes = report["stack_nodes"]
        print("%-24s %8d stack nodes, load %.1f" % ("recording", nodes, os.getloadavg()[0]))
        page = os.path.join(folder, "page.html")
        if not given.serve:
            subprocess.run([given.tidemark, "view", "--no-open", file, "-o", page], check=True, stdout=subprocess.DEVNULL)
            print("%-24s %8d bytes of a recording of %d" % ("page", os.path.getsize(page), os.path.getsize(file)))
        served = Served(given.tidemark, file) if given.serve else None
        limits = {} if given.file or given.serve else LIMITS
        with Browser() as browser:
            measure_page(browser, served.address if served else "file://" + page, limits)
            measure_answers(browser)
        if served:
            served.end()
        if limits and nodes < NODES:
            missed.append("%d stack nodes, not %d" % (nodes, NODES))
    print("missed: " + ", ".join(missed) if missed else "within all limits" if limits else "no limits here")
    return 1 if missed else 0


sys.exit(main())
