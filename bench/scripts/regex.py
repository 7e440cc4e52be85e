"""Regular expressions over a text: matches, groups, replacements."""
import re

from timed import timed


def work():
    text = "\n".join("2026-%02d-%02d host%d app[%d]: user=%d path=/a/b/%d status=%d" %
                     (i % 12 + 1, i % 28 + 1, i % 9, i, i * 7, i, 200 + i % 5) for i in range(20000))
    pattern = re.compile(r"^(\d+)-(\d+)-(\d+) (\w+) (\w+)\[(\d+)\]: (.*)$", re.MULTILINE)
    total = 0
    for _ in range(30):
        total += sum(len(m.groups()) + len(m.group(7)) for m in pattern.finditer(text))
        total += len(re.sub(r"user=(\d+)", lambda m: "user<%s>" % m.group(1), text))
        total += len(re.split(r"[ =/]", text))
    return total


timed(work)
