"""python_stacks.py OUT: allocations whose Python stack is known; OUT gets one JSON object a line.

Each probe allocates a block of a size that nothing else has, and on the same line notes the stack as the
interpreter itself tells it: {"case", "pid", "size", "stack": [[file, line, name], ...]}, innermost first.
The blocks are never freed, as the program ends by _exit. Name is the qualified one where the version has it (3.11 and later).
"""
import asyncio
import collections
import concurrent.futures
import contextlib
import ctypes
import functools
import gc
import inspect
import itertools
import json
import os
import signal
import sys
import threading
import types
import weakref

OUT = open(sys.argv[1], "a", buffering=1)
LIBC = ctypes.CDLL(None)
malloc = LIBC.malloc
malloc.restype, malloc.argtypes = ctypes.c_void_p, (ctypes.c_size_t,)
LOCKED = ctypes.PyDLL(None).malloc  # the same, with the lock of the interpreter held
LOCKED.restype, LOCKED.argtypes = ctypes.c_void_p, (ctypes.c_size_t,)
HEAD = 33 if sys.version_info >= (3, 15) else 1  # bytes of a bytearray beside its own: a NUL, or all of a bytes object
keep = []
numbers = itertools.count(1)
CASES = []
case_name = None


def new():
    return 1000003 + 4096 * next(numbers) + 1000 * (os.getpid() % 4)


def note(size):
    frame, stack = sys._getframe(1), []
    while frame:
        code = frame.f_code
        stack.append((code.co_filename, frame.f_lineno, getattr(code, "co_qualname", code.co_name)))
        frame = frame.f_back
    OUT.write(json.dumps({"case": case_name, "pid": os.getpid(), "size": size, "stack": stack}) + "\n")


def case(function):
    CASES.append(function)
    return function


def probe():
    s = new(); keep.append(malloc(s)); note(s)


@case
def plain():
    s = new(); keep.append(malloc(s)); note(s)


@case
def with_the_lock():
    s = new(); keep.append(LOCKED(s)); note(s)


@case
def interpreters_own():
    s = new(); keep.append(bytearray(s - HEAD)); note(s)


@case
def closures():
    x = 1

    def outer():
        def inner():
            nonlocal x
            x += 1
            s = new(); keep.append(malloc(s)); note(s)
        inner()
    outer()


class Thing:
    def __init__(self, value=0):
        self.value = value
        s = new(); keep.append(malloc(s)); note(s)

    def method(self):
        s = new(); keep.append(malloc(s)); note(s)

    @classmethod
    def of_class(cls):
        s = new(); keep.append(malloc(s)); note(s)

    @staticmethod
    def static():
        s = new(); keep.append(bytearray(s - HEAD)); note(s)

    @property
    def prop(self):
        s = new(); keep.append(malloc(s)); note(s)

    def __getattr__(self, name):
        s = new(); keep.append(malloc(s)); note(s)

    def __call__(self):
        s = new(); keep.append(malloc(s)); note(s)

    def __add__(self, other):
        s = new(); keep.append(malloc(s)); note(s)
        return self

    def __iter__(self):
        s = new(); keep.append(malloc(s)); note(s)
        return iter(())


class Child(Thing):
    def __init__(self):
        super().__init__(2)


@case
def methods():
    t = Thing()
    t.method()
    Thing.of_class()
    Thing.static()
    bound = t.method
    bound()


@case
def constructors():
    for _ in range(3):  # the third time by another way, where calls are specialised
        Thing()
    Child()


@case
def special_methods():
    t = Thing()
    t.prop
    t.missing
    t()
    t + t
    list(t)


@case
def lambdas():
    (lambda: probe())()
    f = lambda n: n and f(n - 1) or probe()
    f(3)


@case
def comprehensions():
    [probe() for _ in range(1)]
    {probe() for _ in range(1)}
    {1: probe() for _ in range(1)}
    list(probe() for _ in range(1))


def count(n):
    for i in range(n):
        s = new(); keep.append(malloc(s)); note(s)
        yield i


def delegates(n):
    yield from count(n)


@case
def generators():
    for _ in count(2):
        probe()
    list(delegates(1))
    g = count(1)
    next(g)
    both = zip(count(1), delegates(1))
    next(both)


async def leaf():
    s = new(); keep.append(malloc(s)); note(s)


async def branch():
    await leaf()
    probe()


async def agen():
    s = new(); keep.append(malloc(s)); note(s)
    yield 1


async def consumer():
    async for _ in agen():
        await branch()


@case
def coroutines():
    with contextlib.suppress(StopIteration):
        branch().send(None)


@case
def event_loop():
    async def main():
        await asyncio.gather(leaf(), consumer())
        await asyncio.get_running_loop().run_in_executor(None, probe)
    asyncio.run(main())


@case
def multiple_lines():
    def args(*a):
        pass
    args(
        1,
        probe(),
        args(
            probe()))


@case
def decorated():
    def wraps(f):
        @functools.wraps(f)
        def wrapper(*a):
            return f(*a)
        return wrapper

    @wraps
    @wraps
    def inner():
        probe()
    inner()


@case
def called_from_c():
    functools.partial(probe)()
    list(map(lambda _: probe(), [1]))
    sorted([3, 1], key=lambda x: probe() or x)
    max([1, 2], key=lambda x: probe() or x)
    functools.reduce(lambda a, b: probe(), [1, 2])
    collections.defaultdict(probe)[1]


@case
def metaclasses():
    class Meta(type):
        def __new__(mcs, name, bases, body):
            probe()
            return super().__new__(mcs, name, bases, body)

    class Made(metaclass=Meta):
        probe()
    types.new_class("Other", (), {"metaclass": Meta})


@case
def executed():
    text = "def f():\n\n    probe()\n\n\nf()\n"
    exec(compile(text, "made/up.py", "exec"), {"probe": probe})
    eval("probe()")
    exec("probe()\n\nprobe()")


@case
def addresses_used_again():
    """Code objects that come to lie where the last one was, with lines of their own."""
    for i in range(8):
        text = "x = 1\n" + "\n" * i + "probe()\n" + "y = 1\n" * (8 - i) + "z = 2\n"
        exec(compile(text, "again.py", "exec"), {"probe": probe})
    for i in range(8):
        scope = {"probe": probe}
        exec("def f%d():%s probe()\nf%d()" % (i, "\n" * (8 - i), i), scope)


@case
def not_ascii():
    exec(compile("def ŝtono_石():\n  probe()\nŝtono_石()", "dosierujo/ĉi_石_\U0001f40d.py", "exec"), {"probe": probe})
    exec(compile("def é():\n  probe()\né()", "é.py", "exec"), {"probe": probe})


@case
def threads():
    for _ in range(2):
        t = threading.Thread(target=probe)
        t.start()
        t.join()
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda _: probe(), range(2)))


@case
def threads_of_c():
    """A thread that the interpreter did not make: it calls in, and has a state for that long only."""
    start = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(lambda _: probe())
    create, join = LIBC.pthread_create, LIBC.pthread_join
    create.argtypes = ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p
    join.argtypes = ctypes.c_ulong, ctypes.c_void_p
    for _ in range(2):
        thread = ctypes.c_ulong()
        create(ctypes.byref(thread), None, start, None)
        join(thread.value, None)


def compare_of(depth):
    compare = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)

    def by_probe(a, b):
        probe()
        if depth:
            sort_with(depth - 1)
        return 0
    return compare(by_probe)


def sort_with(depth):
    LIBC.qsort((ctypes.c_int * 2)(2, 1), 2, 4, compare_of(depth))


@case
def callbacks():
    sort_with(1)


@case
def exceptions():
    def fails():
        try:
            raise ValueError
        except ValueError:
            probe()
            raise
        finally:
            probe()
    try:
        fails()
    except ValueError as e:
        probe()
        e.__traceback__.tb_frame


@case
def with_statements():
    class Manager:
        def __enter__(self):
            probe()

        def __exit__(self, *_):
            probe()

    @contextlib.contextmanager
    def made():
        probe()
        yield
        probe()
    with Manager(), made():
        probe()


@case
def recursion():
    def down(n):
        if n:
            return down(n - 1)
        probe()
    down(100)


@case
def recursion_to_the_limit():
    deepest = [0]

    def down(n):
        deepest[0] = n
        if n == 700:
            s = new(); keep.append(malloc(s)); note(s)
        down(n + 1)
    try:
        down(0)
    except RecursionError:
        probe()


@case
def finalisers():
    class Dying:
        def __del__(self):
            probe()
    x = Dying()
    del x
    a = Dying()
    a.itself = a
    del a
    gc.collect()

    def holds():
        y = Dying()
        return 1
    holds()


@case
def weak_references():
    class Thing2:
        pass
    x = Thing2()
    ref = weakref.ref(x, lambda _: probe())
    del x


@case
def signals():
    signal.signal(signal.SIGUSR1, lambda *_: probe())
    os.kill(os.getpid(), signal.SIGUSR1)
    for _ in range(1000):
        pass
    signal.signal(signal.SIGUSR1, signal.SIG_DFL)


@case
def traced():
    seen = []

    def tracer(frame, event, arg):
        if frame.f_code is probe.__code__ and event == "call" and not seen:
            seen.append(1)
            s = new(); keep.append(malloc(s)); note(s)
        return tracer
    sys.settrace(tracer)
    probe()
    sys.settrace(None)


@case
def profiled():
    def profiler(frame, event, arg):
        if event == "c_call" and not seen:
            seen.append(1)
            s = new(); keep.append(malloc(s)); note(s)
    seen = []
    sys.setprofile(profiler)
    probe()
    sys.setprofile(None)


@case
def imported():
    folder = os.path.join(os.path.dirname(os.path.abspath(sys.argv[1])), "modules")
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "is_imported.py"), "w") as out:
        out.write("import __main__\n\n__main__.probe()\ndef f():\n    __main__.probe()\n")
    sys.path.insert(0, folder)
    import is_imported
    is_imported.f()


@case
def collections_of_garbage():
    def collected(phase, info):
        if phase == "start" and not seen:
            seen.append(1)
            s = new(); keep.append(malloc(s)); note(s)
    seen = []
    gc.callbacks.append(collected)
    gc.collect()
    gc.callbacks.remove(collected)


@case
def forked():
    pid = os.fork()
    if pid == 0:
        probe()
        t = threading.Thread(target=probe)
        t.start()
        t.join()
        list(count(1))
        OUT.flush()
        os._exit(0)
    os.waitpid(pid, 0)
    probe()


SUBINTERPRETER = inspect.getsource(note) + """
import json, os, sys
OUT = open(%r, "a", buffering=1)
case_name = "subinterpreters"
keep = []
def inside():
    s = %d; keep.append(bytearray(s - (33 if sys.version_info >= (3, 15) else 1))); note(s)
[inside() for _ in range(1)]
"""


@case
def subinterpreters():
    for name in ("_interpreters", "_xxsubinterpreters"):
        try:
            module = __import__(name)
            break
        except ImportError:
            module = None
    if not module:
        return
    made = module.create()  # never destroyed: the block in it must live to the end
    keep.append(made)
    module.run_string(made, SUBINTERPRETER % (sys.argv[1], new()))
    probe()


@case
def greenlets():
    try:
        from greenlet import greenlet
    except ImportError:
        return

    def one():
        probe()
        other.switch()
        probe()

    def two():
        [probe() for _ in range(1)]
        first.switch()
    first, other = greenlet(one), greenlet(two)
    first.switch()
    probe()


def main():
    global case_name
    for function in CASES:
        case_name = function.__name__
        function()
    OUT.flush()
    os._exit(0)


main()
