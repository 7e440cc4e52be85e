"""Keeps KEPT blocks of C as ints, as ctypes returns them, and loses LOST others; then it ends at once.

With the argument "fork", a child does it.
"""
import ctypes
import os
import sys

KEPT, LOST = 100, 50
SIZE_KEPT, SIZE_LOST = 20000, 30000

malloc = ctypes.CDLL(None).malloc
malloc.restype, malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]


def work():
    kept = [malloc(SIZE_KEPT) for _ in range(KEPT)]
    for _ in range(LOST):
        malloc(SIZE_LOST)
    return kept


if sys.argv[1:] == ["fork"] and os.fork():
    os._exit(os.wait()[1])
kept = work()
os._exit(0)
