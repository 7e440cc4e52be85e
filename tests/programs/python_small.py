"""python_small.py HOW: a cache of small objects beside a decoy that is larger than any block of it.

HOW is all (that), mapping (an own mapping of an arena's size is no arena) or fork (a child fills the cache).
The last line on stdout: how many arenas Python says it has, before it ends.
"""
import io
import mmap
import os
import sys


def decoy():
    return bytearray(3000000)


def entry(i):
    return {"id": i, "name": "n%d" % i, "value": i * 1.5}  # entry


def fill(n):
    cache = {}
    for i in range(n):  # number
        cache[i] = entry(i)  # fill
    return cache


def arenas():
    """As sys._debugmallocstats tells them, which writes to the file that is stderr."""
    read, write = os.pipe()
    kept = os.dup(2)
    os.dup2(write, 2)
    sys._debugmallocstats()
    os.dup2(kept, 2)
    os.close(write)
    with io.open(read, "rb") as told:
        text = told.read().decode()
    lines = [l for l in text.splitlines() if l.startswith("# arenas allocated current")]
    return int(lines[0].split("=")[1].replace(",", "")) if lines else 0


kept = decoy()
if sys.argv[1] == "fork":
    pid = os.fork()
    if pid:
        sys.exit(os.waitpid(pid, 0)[1])
if sys.argv[1] == "mapping":
    own = [mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) for size in (256 << 10, 1 << 20)]  # own
cache = fill(100000)
print(arenas())
