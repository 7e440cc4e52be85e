"""growth_kinds.py EVENTS SIZE: keeps about SIZE bytes of small objects more at every event, each ended by a mark. At last
it says how many bytes an event kept."""
import sys

import tidemark

kept = []


def remember(size):
    kept.extend({"id": i} for i in range(size // 216))  # a dict with one key is 184 bytes, and its value 32


for event in range(int(sys.argv[1])):
    remember(int(sys.argv[2]))
    tidemark.mark("event")
of_an_event = kept[:int(sys.argv[2]) // 216]
print(sum(sys.getsizeof(d) + (32 if d["id"] > 256 else 0) for d in of_an_event))  # smaller numbers exist once
