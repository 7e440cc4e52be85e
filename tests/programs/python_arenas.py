"""python_arenas.py HOW: fills arenas, empties most of them, tells how full they are, and ends at once.

HOW is end or fork (a child tells). On stderr: sys._debugmallocstats().
"""
import os
import sys

objects = [object() for _ in range(200000)]
kept = objects[::50]
del objects
texts = ["text %d" % i for i in range(30000)]
if sys.argv[1] == "fork":
    pid = os.fork()
    if pid:
        os.waitpid(pid, 0)
        os._exit(0)
    texts = None
sys._debugmallocstats()
os._exit(0)
