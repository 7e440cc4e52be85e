"""worker_pools.py METHOD: jobs 10, 20 and 30 in worker processes; job n leaks n blocks of 1,000,000 + n bytes.

METHOD: fork, spawn or forkserver (multiprocessing.Pool), futures-METHOD (concurrent.futures), subprocess;
together: three processes that hold their blocks at the same time and free them before they end;
in-turn: three processes, one after the other;
killed: likewise, and the collector hears of each death when the next process asks to be recorded.
"""
import concurrent.futures
import ctypes
import multiprocessing
import os
import signal
import subprocess
import sys
import time

LIBC = ctypes.CDLL(None)
LIBC.malloc.restype, LIBC.malloc.argtypes = ctypes.c_void_p, (ctypes.c_size_t,)
LIBC.free.restype, LIBC.free.argtypes = None, (ctypes.c_void_p,)
JOBS = 10, 20, 30


def work(n):
    return [LIBC.malloc(1000000 + n) for _ in range(n)]


def job(n):
    work(n)
    return n


def hold(n, barrier):
    import tidemark
    blocks = work(n)
    barrier.wait()
    tidemark.mark("held")  # an interval ends: what each has then is known
    barrier.wait()
    for block in blocks:
        LIBC.free(block)


def killed(n, collector):
    job(n)
    time.sleep(0.02)  # the collector has read it, as a rule, and waits for news
    os.kill(collector, signal.SIGSTOP)
    os.kill(os.getpid(), signal.SIGKILL)


def waits(pid):
    with open("/proc/%d/stat" % pid) as stat:
        return stat.read().rsplit(")", 1)[1].split()[0] in "SZ"  # asleep, or it has been answered and has ended


def main(method):
    if method == "subprocess":
        workers = [subprocess.Popen([sys.executable, __file__, str(n)]) for n in JOBS]
        return [worker.wait() for worker in workers]
    if method == "together":
        context = multiprocessing.get_context("fork")
        barrier = context.Barrier(len(JOBS))
        workers = [context.Process(target=hold, args=(n, barrier)) for n in JOBS]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        return [worker.exitcode for worker in workers]
    if method == "in-turn":
        for n in JOBS:
            worker = multiprocessing.get_context("fork").Process(target=job, args=(n,))
            worker.start()
            worker.join()
        return []
    if method == "killed":
        for n in JOBS:
            worker = multiprocessing.get_context("fork").Process(target=killed, args=(n, os.getppid()))
            worker.start()
            while not waits(worker.pid):  # for an answer of the collector
                time.sleep(0.001)
            os.kill(os.getppid(), signal.SIGCONT)
            worker.join()
        os.kill(os.getppid(), signal.SIGCONT)
        return []
    context = multiprocessing.get_context(method.split("-")[-1])
    if method.startswith("futures"):
        with concurrent.futures.ProcessPoolExecutor(3, mp_context=context) as pool:
            return list(pool.map(job, JOBS))
    pool = context.Pool(3)
    done = pool.map(job, JOBS, chunksize=1)
    pool.close()
    pool.join()
    return done


if __name__ == "__main__":
    if sys.argv[1].isdigit():
        job(int(sys.argv[1]))
    else:
        print(main(sys.argv[1]))
