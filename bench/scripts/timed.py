"""Tells how long the work itself took: bench/python.py reads it from the last line."""
import time


def timed(work):
    begin = time.perf_counter()
    work()
    print("work", time.perf_counter() - begin)
