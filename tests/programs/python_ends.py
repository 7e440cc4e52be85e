"""python_ends.py HOW: ends while threads without the lock go on allocating (ctypes lets go of it for each call).

exit: falls off the end, with daemon threads; _exit: os._exit; raise: an exception; signal: SIGTERM; fork: a forked
child falls off its end first. Threads are made by Python and by C, and nothing here waits for them.
"""
import ctypes
import os
import signal
import sys
import threading

LIBC = ctypes.CDLL(None)
LIBC.malloc.restype, LIBC.malloc.argtypes = ctypes.c_void_p, (ctypes.c_size_t,)
LIBC.free.argtypes = (ctypes.c_void_p,)
LIBC.qsort.argtypes = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_void_p
ready = threading.Barrier(5)


class AtEnd:
    def __del__(self):
        self.x = bytearray(5000)


def work():
    ready.wait()
    while True:
        LIBC.free(LIBC.malloc(3000))
        bytearray(2000)


def main(how):
    for _ in range(4):
        threading.Thread(target=work, daemon=True).start()
    ready.wait()
    global kept
    kept = AtEnd()
    if how == "fork":
        pid = os.fork()
        if pid:
            os.waitpid(pid, 0)
    if how == "_exit":
        os._exit(3)
    if how == "raise":
        raise SystemExit(4)
    if how == "signal":
        os.kill(os.getpid(), signal.SIGTERM)
        while True:
            bytearray(3000)


main(sys.argv[1])
