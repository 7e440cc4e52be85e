"""python_leaks.py HOW: keeps 500 blocks of bytes(600) more after each of 40 steps, all of them made by leak().

A step takes 30 ms or more, so that most of the run is steps, even if the last one has to wait for a processor. Each ends
with a mark, of the same label if HOW is marks, else each of its own. earlier: first has and frees 200 MB.
_exit: ends by os._exit while all of them live; others fall off the end, where the interpreter frees them.
"""
import os
import sys
import time

import tidemark

STEPS, EACH = 40, 500
how = sys.argv[1]
kept = [None] * (STEPS * EACH)


def leak(first):
    for i in range(first, first + EACH):
        kept[i] = bytes(600)


if how == "earlier":
    bytes(200000000)
for step in range(STEPS):
    leak(step * EACH)
    time.sleep(0.03)
    tidemark.mark("step" if how == "marks" else "step %d" % step)
if how == "_exit":
    os._exit(0)
