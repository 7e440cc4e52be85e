"""Threads, forks, libraries, exceptions, signals and all allocation functions at once. `make soak` goes on for
minutes, with sanitizers, stops and kills."""
import os
import sys

from harness import ROOT

sys.path.insert(0, os.path.join(ROOT, "tests", "soak"))
import soak


def test_everything_at_once(t):
    build = os.path.dirname(t.tidemark)
    one = soak.Round(t.tidemark, t.tidemark, soak.Programs(build), seed=7, steps=30000, threads=4, forks=6,
                     timeout_s=300)
    for what in one.run():
        t.true(what, False)
    # Six forks or spawns; those that allocate before they execute another program have two profiles.
    t.true("processes", 7 <= one.processes <= 13, one.processes)
