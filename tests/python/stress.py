"""stress.py SECONDS: everything that moves frames and code about, at random, in threads, children and subinterpreters.

Code is compiled, run and thrown away, so that its addresses are used again; frames belong to functions, generators
and coroutines that are left in every way; everything allocates. Ends with 0, or with 9 if a child did not.
"""
import ctypes
import os
import random
import sys
import threading
import time
import weakref

LIBC = ctypes.CDLL(None)
LIBC.malloc.restype, LIBC.malloc.argtypes = ctypes.c_void_p, (ctypes.c_size_t,)
LIBC.free.argtypes = (ctypes.c_void_p,)
END = time.time() + float(sys.argv[1])


def allocate():
    LIBC.free(LIBC.malloc(random.randrange(1000, 5000)))
    return bytearray(1000)


def recurse(n):
    return recurse(n - 1) if n else allocate()


def generate(n):
    for _ in range(n):
        yield allocate()


def throw_away(r):
    name, scope = "f%d" % r.randrange(1000), {}
    text = "\n" * r.randrange(50) + "def %s(a):\n" % name + "  y = a()\n" * r.randrange(1, 30) + "  return y\n"
    exec(compile(text, "made%d.py" % r.randrange(5), "exec"), scope)
    f = scope.pop(name)
    f(allocate)
    weak = weakref.ref(f.__code__, lambda _: allocate())
    del f, scope
    return weak


async def wait_for(n):
    allocate()
    if n:
        await wait_for(n - 1)


class Dying:
    def __del__(self):
        allocate()
        list(generate(2))


def start_and_drop(r):
    g = generate(3)
    next(g)


def coroutine(r):
    try:
        wait_for(r.randrange(10)).send(None)
    except StopIteration:
        pass


def fail(r):
    try:
        try:
            1 / 0
        finally:
            allocate()
    except ZeroDivisionError:
        allocate()


DEEDS = (lambda r: recurse(r.randrange(150)), lambda r: list(generate(5)), throw_away, coroutine, lambda r: Dying(),
         start_and_drop, lambda r: [allocate() for _ in range(3)], fail)


def work(seed):
    r = random.Random(seed)
    while time.time() < END:
        r.choice(DEEDS)(r)


def subinterpreters():
    for name in ("_interpreters", "_xxsubinterpreters"):
        try:
            return __import__(name)
        except ImportError:
            pass


def visit(module):
    made = module.create()
    module.run_string(made, "def f():\n" + "\n" * random.randrange(9) + "  return bytearray(3000)\nf()\n")
    module.destroy(made)


def child():
    pid = os.fork()
    if pid == 0:
        recurse(20)
        list(generate(3))
        throw_away(random)
        os._exit(0)
    if os.waitpid(pid, 0)[1]:
        os._exit(9)


def main():
    module = subinterpreters()
    threads = [threading.Thread(target=work, args=(i,), daemon=i % 2 == 0) for i in range(4)]
    for t in threads:
        t.start()
    while time.time() < END:
        if module:
            visit(module)
        if random.random() < 0.05:
            child()
        recurse(5)
        time.sleep(0.005)


main()
