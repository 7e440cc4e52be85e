"""workers.py METHOD: three worker processes of multiprocessing; worker n allocates n blocks of 1,000,000 + n bytes."""
import ctypes
import multiprocessing
import sys


def work(n):
    libc = ctypes.CDLL(None)
    libc.malloc.restype = ctypes.c_void_p
    for _ in range(n):
        libc.malloc(ctypes.c_size_t(1000000 + n))
    sys.exit(n)


if __name__ == "__main__":
    context = multiprocessing.get_context(sys.argv[1])
    workers = [context.Process(target=work, args=(n,)) for n in (10, 20, 30)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    print([worker.exitcode for worker in workers])
