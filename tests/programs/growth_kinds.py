"""growth_kinds.py EVENTS SIZE: keeps about SIZE bytes of small objects more at every event, each ended by a mark."""
import sys

import tidemark

kept = []


def remember(size):
    kept.extend({"id": i} for i in range(size // 216))  # a dict with one key is 184 bytes, and its value 32


for event in range(int(sys.argv[1])):
    remember(int(sys.argv[2]))
    tidemark.mark("event")
