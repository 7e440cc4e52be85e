"""What a Python program may tell the profiler that records it.

    import tidemark

    tidemark.mark("event")                    # report --at event#50, --since event#50 --at end
    tidemark.mark("event", photons=1e6)       # numbers that belong to it
    with tidemark.scope("read"):              # marks "read" at the begin, "read.end" at the end:
        ...                                   # `tidemark marks FILE --scopes` tells what it left behind
    with tidemark.watch() as heap:            # the same, known at once
        ...
    print(heap.peak_bytes, heap.live_bytes)   # the highest, and what is left, beyond the begin
    with tidemark.paused():                   # what is allocated here is not recorded
        ...
    tidemark.alloc("images", address, size)   # a block of an allocator of the program's own,
    tidemark.free("images", address)          # and its end: report --metric pool

Nothing has to be installed or linked for it to work: the functions are those of libtidemark.so, which is
there when the program runs under `tidemark run`. When it does not, all of these do nothing.

The words mean what they mean in C (tidemark.h). scope and paused are decorators too.

`python3 -m tidemark run script.py` records a script with this interpreter. tidemark.pytest_plugin is for
pytest, `%load_ext tidemark` for IPython.
"""
import collections
import contextlib
import ctypes
import functools
import os
import threading

__all__ = ["active", "recorded", "mark", "mark_value", "snapshot", "pause", "resume", "paused", "scope",
           "figures", "Figures", "watch", "thread_name", "alloc", "free"]
__version__ = "0.1.0"

_LABEL_BYTES = 63  # of a label count
_COROUTINE = 0x80  # in the flags of code: inspect.CO_COROUTINE, without all that inspect imports


def _find(loader, name, result, *arguments):
    """The function in the library that is loaded already, or None: not recorded."""
    try:
        function = getattr(loader(None), name)
    except (AttributeError, OSError, TypeError):
        return None
    function.restype, function.argtypes = result, arguments
    return function


class _Numbers(ctypes.Structure):
    """struct tide_heap."""
    _fields_ = [("size", ctypes.c_size_t)] + [(name, ctypes.c_uint64) for name in (
        "live_bytes", "live_blocks", "total_bytes", "allocations", "peak_bytes")]


# PyDLL keeps the interpreter's lock, so that no other thread of it runs between a mark and what follows.
_text, _number = ctypes.c_char_p, ctypes.c_double
_active = _find(ctypes.PyDLL, "tide_active", ctypes.c_int)
_mark = _find(ctypes.PyDLL, "tide_mark", None, _text)
_mark_values = _find(ctypes.PyDLL, "tide_mark_values", None, _text, ctypes.c_uint,
                     ctypes.POINTER(_text), ctypes.POINTER(_number))
_pause = _find(ctypes.PyDLL, "tide_pause", None)
_resume = _find(ctypes.PyDLL, "tide_resume", None)
_thread_name = _find(ctypes.PyDLL, "tide_thread_name", None, _text)
_alloc = _find(ctypes.PyDLL, "tide_alloc", None, _text, ctypes.c_void_p, ctypes.c_size_t)
_free = _find(ctypes.PyDLL, "tide_free", None, _text, ctypes.c_void_p)
# These may wait: not with the lock.
_snapshot = _find(ctypes.CDLL, "tide_snapshot", ctypes.c_int, _text)
_figures = _find(ctypes.CDLL, "tide_figures", ctypes.c_int, ctypes.POINTER(_Numbers), ctypes.c_int)


def _bytes(text):
    return text if isinstance(text, bytes) else str(text).encode("utf-8", "surrogateescape")


def active():
    """() -> bool. Is the program being recorded, and not paused?"""
    return bool(_active and _active())


def recorded():
    """() -> bool. Does the program run under `tidemark run`, be it paused or not?"""
    return figures() is not None


def mark(label, **values):
    """(str, **float) -> None. A moment with a name, and numbers that belong to it, by name.

    63 bytes of the label and of each name count. Marks of one label are numbered from 1.
    """
    if _mark is None:
        return
    if not values:
        _mark(_bytes(label))
        return
    size = len(values)
    _mark_values(_bytes(label), size, (_text * size)(*map(_bytes, values)),
                 (_number * size)(*map(float, values.values())))


def mark_value(label, key, value):
    """(str, str, float) -> None. A mark with one number, for names that are no Python words."""
    if _mark_values is not None:
        _mark_values(_bytes(label), 1, (_text * 1)(_bytes(key)), (_number * 1)(float(value)))


def snapshot(path):
    """(str or os.PathLike) -> bool. Writes the profile so far to a file, or with a leading | to a command.

    The program goes on meanwhile. %I in the path counts snapshots from 1, %p is the process id. False: the
    program is not recorded, or writing could not begin.
    """
    return _snapshot is not None and _snapshot(os.fsencode(path)) == 0


def pause():
    """() -> None. Until resume(), no thread's allocations are recorded; frees of known blocks are."""
    if _pause is not None:
        _pause()


def resume():
    """() -> None. Ends a pause."""
    if _resume is not None:
        _resume()


def thread_name(name):
    """(str) -> None. The calling thread's name in reports; 128 bytes of it count."""
    if _thread_name is not None:
        _thread_name(_bytes(name))


def alloc(pool, address, size):
    """(str, int, int) -> None. A pool of the program's own has handed out a block; counted apart from the heap."""
    if _alloc is not None:
        _alloc(_bytes(pool), address, size)


def free(pool, address):
    """(str, int) -> None. The block goes back to its pool. To be called before it can be handed out again."""
    if _free is not None:
        _free(_bytes(pool), address)


@contextlib.contextmanager
def paused():
    """() -> context manager, decorator. Paused inside; one inside another, or in a pause, changes nothing."""
    was_active = active()
    pause()
    try:
        yield
    finally:
        if was_active:
            resume()


class scope(contextlib.ContextDecorator):
    """(str) -> context manager, decorator, also of coroutines. Marks NAME at its begin, NAME.end at its end."""

    def __init__(self, name):
        self._begin, end = _bytes(name), b".end"
        self._end = self._begin[:_LABEL_BYTES - len(end)] + end

    def __enter__(self):
        mark(self._begin)
        return self

    def __exit__(self, *_):
        mark(self._end)

    def __call__(self, function):
        code = getattr(function, "__code__", None)
        if code is None or not code.co_flags & _COROUTINE:
            return super().__call__(function)

        @functools.wraps(function)
        async def inside(*arguments, **named):
            with self:
                return await function(*arguments, **named)
        return inside


Figures = collections.namedtuple("Figures", "live_bytes live_blocks total_bytes allocations peak_bytes")

_watches = []  # that are open: one that begins must not hide from the others what was highest before
_watches_lock = threading.Lock()


def _forked():
    """In a child: whoever held it is not there."""
    global _watches_lock
    _watches_lock = threading.Lock()


if hasattr(os, "register_at_fork"):  # not in 3.6
    os.register_at_fork(after_in_child=_forked)


def _look(begins=None):
    """The figures; with a watch that begins, its peak does too."""
    numbers = _Numbers(size=ctypes.sizeof(_Numbers))
    with _watches_lock:
        if _figures is None or _figures(numbers, begins is not None):
            return None
        for w in _watches:
            w._highest = max(w._highest, numbers.peak_bytes)
        if begins is not None:
            _watches.append(begins)
    # Not Figures(...): what is allocated shall be by a line of this file, which tables of lines leave out.
    return tuple.__new__(Figures, [getattr(numbers, name) for name in Figures._fields])


def figures():
    """() -> Figures, or None when not recorded. The heap of this process now, asked of the collector.

    live_bytes and live_blocks are allocated and not freed, total_bytes and allocations all so far. Exact for
    what this thread did. peak_bytes is the highest of live_bytes since the last watch() began, or the process.
    """
    return _look()


class watch:
    """() -> context manager. How the heap of the process changes inside.

    Afterwards live_bytes, live_blocks and allocations are what came to it, live ones less those that went, and
    peak_bytes how far the live bytes rose above those at the begin. All are None when not recorded. One may be
    inside another.
    """

    def __init__(self):
        self.live_bytes = self.live_blocks = self.total_bytes = self.allocations = self.peak_bytes = None

    def __enter__(self):
        self._highest = 0
        self._begin = _look(self)
        return self

    def __exit__(self, *_):
        begin, end = self._begin, _look()
        if begin:
            with _watches_lock:
                _watches.remove(self)
        if begin and end:
            self.live_bytes = end.live_bytes - begin.live_bytes
            self.live_blocks = end.live_blocks - begin.live_blocks
            self.total_bytes = end.total_bytes - begin.total_bytes
            self.allocations = end.allocations - begin.allocations
            self.peak_bytes = max(0, self._highest - begin.live_bytes)


def load_ipython_extension(shell):
    """`%load_ext tidemark`: the cell magic %%tidemark."""
    from tidemark import _ipython
    _ipython.load(shell)
