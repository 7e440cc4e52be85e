"""Three functions at 60, 30 and 10 % of the work, in threads or forked children: cpu_shares.py threads|children N MS, each of
which works for MS of its CPU time, so that there are as many samples on every machine.
Prints the CPU time in microseconds that the process (and each child, one a line) has used."""
import os
import resource
import sys
import threading
import time


def six(n):
    s = 0
    for i in range(6 * n):
        s += i * i & 7
    return s


def three(n):
    s = 0
    for i in range(3 * n):
        s += i * i & 7
    return s


def one(n):
    s = 0
    for i in range(n):
        s += i * i & 7
    return s


def work(ms):
    end = time.thread_time() + ms / 1000
    while time.thread_time() < end:
        for _ in range(10):
            six(100)
            three(100)
            one(100)


def used():
    u = resource.getrusage(resource.RUSAGE_SELF)
    return int((u.ru_utime + u.ru_stime) * 1e6)


kind, number, ms = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
if kind == "threads":
    threads = [threading.Thread(target=work, args=(ms,)) for _ in range(number - 1)]
    for thread in threads:
        thread.start()
    work(ms)
    for thread in threads:
        thread.join()
else:
    for _ in range(number):
        child = os.fork()
        if not child:
            work(ms)
            print(os.getpid(), used(), flush=True)
            os._exit(0)
        os.waitpid(child, 0)
print(os.getpid(), used(), flush=True)
