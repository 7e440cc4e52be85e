"""SIGKILL at random moments: nothing is missing but what was under way. `make kills` does it 1,000 times."""
import os
import random
import sys

from harness import ROOT

sys.path.insert(0, os.path.join(ROOT, "tests", "soak"))
import kills


def test_killed_at_random_moments(t):
    program = t.build("killed.c", "-O2")
    recorded = 0
    for seed in range(12):
        events, wrong = kills.one_kill(t.tidemark, program, random.Random(seed), least=1100 if seed == 0 else 0)
        recorded += events
        for what in wrong:
            t.true("kill %d: %s" % (seed, what), False)
    t.true("events were recorded", recorded > 1000, recorded)
