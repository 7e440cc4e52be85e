"""thread_names.py: threads of Python with known names; each leaks one block of a size of its own (ctypes, which gives the
interpreter's lock away) and one by a function that keeps the lock.

Prints one JSON object: the name each thread had at its last allocation, and the bytes it leaked. Ends by _exit.
"""
import concurrent.futures
import ctypes
import json
import os
import sys
import threading

FREE, LOCKED = ctypes.CDLL(None), ctypes.PyDLL(None)
for library in FREE, LOCKED:
    library.malloc.restype, library.malloc.argtypes = ctypes.c_void_p, (ctypes.c_size_t,)
    library.free.restype, library.free.argtypes = None, (ctypes.c_void_p,)
expected = {}
sizes = iter(range(1000003, 2000000, 4096))


def leak(malloc):
    size = next(sizes)
    malloc(size)
    name = threading.current_thread().name
    expected[name] = expected.get(name, 0) + size


def unlocked():
    leak(FREE.malloc)


def locked():
    leak(LOCKED.malloc)


def renames_itself(malloc, last):
    me = threading.current_thread()
    for i in range(5):  # no two of them at one address, and some at an earlier one
        me.name = "job %d of a thread that has many, %s" % (i * 1111, last)
    leak_under_last_name(malloc, me)


def leak_under_last_name(malloc, me):
    size = next(sizes)
    malloc(size)
    expected[me.name] = size  # each name holds for its time
    me.name += " !"
    size += 7
    malloc(size)
    expected[me.name] = size


class Simple(threading.Thread):
    def run(self):
        locked()


class Laden(threading.Thread):
    """Its attributes outgrow what instances of the class share."""

    def run(self):
        for i in range(100):
            setattr(self, "attribute_%d_%d" % (i, id(self)), i)
        unlocked()
        self.name = "laden, renamed"
        locked()


class Opened(threading.Thread):
    def run(self):
        vars(self)["_name"] = "opened, by its dict"
        locked()


class Replaced(threading.Thread):
    def run(self):
        self.__dict__ = dict(self.__dict__)
        unlocked()


class Slotted(threading.Thread):
    __slots__ = ("more", "_of_them")

    def run(self):
        self.more = self._of_them = 1
        locked()


class Mixed(threading.Thread, dict):
    __hash__ = object.__hash__

    def run(self):
        self[1] = 2
        locked()


def waits_for_its_name(ready, go):
    locked()
    ready.set()
    go.wait()
    size = next(sizes)
    LOCKED.malloc(size)
    expected["named by another"] = size


def only_frees(block):
    LOCKED.free(block)
    expected["frees"] = 0


def start(thread):
    thread.start()
    thread.join()


start(threading.Thread(target=unlocked, name="worker-6"))
start(threading.Thread(target=locked, name="worker-7"))
start(threading.Thread(target=unlocked))
start(threading.Thread(target=locked))
start(threading.Thread(target=unlocked, name="a name that is longer than the fifteen bytes of the system"))
start(threading.Thread(target=locked, name="x" * 300))
start(threading.Thread(target=locked, name="caf\u00e9 \u20ac \U0001f40d"))
start(threading.Thread(target=unlocked, name="caf\u00e9"))
start(threading.Thread(target=renames_itself, args=(LOCKED.malloc, "with the lock")))
start(threading.Thread(target=renames_itself, args=(FREE.malloc, "without")))
for kind in Simple, Laden, Opened, Replaced, Slotted, Mixed:
    start(kind(name=kind.__name__.lower()))
ready, go = threading.Event(), threading.Event()
thread = threading.Thread(target=waits_for_its_name, args=(ready, go), name="before")
thread.start()
ready.wait()
thread.name = "named by another"
go.set()
thread.join()
start(threading.Thread(target=only_frees, name="frees", args=(LOCKED.malloc(1234567),)))
with concurrent.futures.ThreadPoolExecutor(3, thread_name_prefix="pool") as pool:
    barrier = threading.Barrier(3)
    for _ in range(3):
        pool.submit(lambda: (barrier.wait(), locked()))
timer = threading.Timer(0, unlocked)
timer.name = "timer"
start(timer)
expected["x" * 124] = expected.pop("x" * 300)
threading.main_thread().name = "the first, renamed"
locked()
print(json.dumps(expected))
sys.stdout.flush()
os._exit(0)
