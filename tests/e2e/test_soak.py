"""Threads, forks, libraries, exceptions, signals and all allocation functions at once. `make soak` goes on for
minutes, with sanitizers, stops and kills."""
import os
import sys

from harness import ROOT

sys.path.insert(0, os.path.join(ROOT, "tests", "soak"))
import soak


def test_everything_at_once(t):
    build = os.path.dirname(t.tidemark)
    one = soak.Round(t.tidemark, t.tidemark, soak.Programs(build), seed=7, steps=30000, threads=4, forks=6)
    for what in one.run():
        t.true(what, False)
    t.equal("processes", one.processes, 8)
