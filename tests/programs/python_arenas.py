"""python_arenas.py HOW: fills arenas, empties most of them, tells how full they are, and ends at once.

HOW is end, fork (a child tells) or finalize: it tells last of all, when it has made some more, and is torn down.
On stderr: sys._debugmallocstats().
"""
import atexit
import os
import signal
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
if sys.argv[1] == "finalize":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # it may have been ignored when we began
    atexit.register(sys._debugmallocstats)
    atexit.register(lambda: texts.extend("more %d" % i for i in range(300000)))
    sys.exit(0)
sys._debugmallocstats()
os._exit(0)
