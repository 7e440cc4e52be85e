"""python_objects.py HOW OUT: makes objects whose sizes Python itself tells, and writes to OUT what lives where.

Each function below makes N of a kind and nothing else that stays. OUT gets a line for each process: {"pid": ...,
"functions": {name: [bytes, blocks]}, "lines": {number: [bytes, blocks]}}, the latter as tracemalloc has it (HOW is
traced). HOW: main, threads, traced, fork, subinterpreter: ends by os._exit while all of it lives; end: falls off its
end, which frees it.
"""
import gc
import json
import os
import sys
import threading

N = 1000
NAMES = ["name %d" % i for i in range(20)]


class Slots:
    __slots__ = ("a", "b")


def small_bytes(keep):
    for i in range(N):
        keep[i] = bytes(i % 600)


def large_bytes(keep):
    for i in range(N):
        keep[i] = bytes(600 + i)


def texts(keep):
    for i in range(N):
        keep[i] = "text %d" % (i + 10)


def floats(keep):
    for i in range(N):
        keep[i] = i + 0.5


def slots(keep):
    for i in range(N):
        keep[i] = Slots()


def tuples(keep):
    for i in range(N):
        keep[i] = (keep, None, Slots)


def lists(keep):
    for i in range(N):
        keep[i] = [None] * 20


def grown_lists(keep):
    for i in range(N):
        keep[i] = []
        for _ in range(i % 200 + 1):
            keep[i].append(None)


def dicts(keep):
    for i in range(N):
        keep[i] = dict.fromkeys(NAMES)


def sets(keep):
    for i in range(N):
        keep[i] = set(NAMES)


def byte_arrays(keep):
    for i in range(N):
        keep[i] = bytearray(i + 1)


def huge(keep):
    for i in range(20):
        keep[i] = bytes(i << 16)


KINDS = {small_bytes: 1, large_bytes: 1, texts: 1, floats: 1, slots: 1, tuples: 1, lists: 2, grown_lists: 2, dicts: 2,
         sets: 2, byte_arrays: 2, huge: 1}


# The interpreter keeps no objects of these kinds to use them again, so that threads do not get each other's.
UNSHARED = [small_bytes, large_bytes, texts, slots, sets, byte_arrays, huge]


def make(kind):
    keep = [None] * N
    gc.collect()  # empties the lists of objects that wait to be used again
    kind(keep)
    gc.collect()
    return keep


def tell(out, kept, kinds=tuple(KINDS), times=1):
    functions = {}
    for kind, keep in zip(kinds, kept):
        there = [x for x in keep if x is not None]
        empty = kind is small_bytes and sum(not x for x in there)  # of these Python has one
        functions[kind.__name__] = [times * (sum(map(sys.getsizeof, there)) - empty * sys.getsizeof(b"")),
                                    times * (len(there) * KINDS[kind] - empty)]
    if kept[-1][0] == b"":
        functions["huge"] = [functions["huge"][0] - times * sys.getsizeof(b""), functions["huge"][1] - times]
    lines = {}
    if "tracemalloc" in sys.modules:
        for trace in sys.modules["tracemalloc"].take_snapshot().traces:
            frame = trace.traceback[0]
            if os.path.samefile(frame.filename, __file__) if os.path.exists(frame.filename) else False:
                bytes_, blocks = lines.get(frame.lineno, (0, 0))
                lines[frame.lineno] = bytes_ + trace.size, blocks + 1
        lines = {line: lines[line] for line in lines if any(
            k.__code__.co_firstlineno < line < k.__code__.co_firstlineno + 5 for k in KINDS)}
    with open(out, "a") as f:
        f.write(json.dumps({"pid": os.getpid(), "functions": functions, "lines": lines}) + "\n")


def main(how, out):
    global kept
    gc.disable()
    if how == "traced":
        import tracemalloc
        tracemalloc.start()
    if how == "threads":
        alls = []
        threads = [threading.Thread(target=lambda: alls.append([make(kind) for kind in UNSHARED])) for _ in range(5)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        alls.pop()  # by another thread than made it
        gc.collect()
        kept = alls[0]
        tell(out, kept, UNSHARED, 4)
        os._exit(0)
    if how == "subinterpreter":
        code = "import sys; sys.path.insert(0, %r); sys.argv = ['x', 'main', %r]; import python_objects as p; p.main('main', %r)" \
            % (os.path.dirname(os.path.abspath(__file__)), out, out)
        if sys.version_info >= (3, 13):
            import _interpreters
            _interpreters.exec(_interpreters.create("legacy"), code)
        else:
            import _xxsubinterpreters
            _xxsubinterpreters.run_string(_xxsubinterpreters.create(), code)
    kept = [make(kind) for kind in KINDS]
    tell(out, kept)
    if how == "fork":
        pid = os.fork()
        if pid == 0:
            kept = None  # what is inherited goes
            kept = [make(kind) for kind in KINDS]
            tell(out, kept)
            os._exit(0)
        os.waitpid(pid, 0)
    if how != "end":
        os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])
