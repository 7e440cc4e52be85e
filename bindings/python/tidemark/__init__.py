"""How a Python program talks to the profiler that records it.

    import tidemark

    tidemark.mark("event")                    # report --at event#50, --since event#50 --at end
    tidemark.mark("event", photons=1e6)       # numbers that belong to it
    with tidemark.scope("read"):              # marks "read" at the begin, "read.end" at the end:
        ...                                   # `tidemark marks FILE --scopes` shows what it left behind
    with tidemark.watch() as heap:            # the same figures, available at once
        ...
    print(heap.peak_bytes, heap.live_bytes)   # the highest, and what is left, beyond the begin
    with tidemark.paused():                   # what is allocated here is not recorded
        ...
    tidemark.alloc("images", address, size)   # reports a block of the program's own allocator,
    tidemark.free("images", address)          # and its end: report --metric pool

    with tidemark.Tracker("part.tide"):       # records this block of a program that was started without tidemark
        ...

Nothing has to be installed or linked for it to work: the functions are those of libtidemark.so, which is
there when the program runs under `tidemark run`. When it does not, all of these but Tracker do nothing.

The words mean what they mean in C (tidemark.h). scope and paused are decorators too.

`python3 -m tidemark run script.py` records a script with this interpreter. tidemark.pytest_plugin is for
pytest, `%load_ext tidemark` for IPython. tidemark.show("app.tide") shows the page of `tidemark view` in a notebook.
"""
import collections
import ctypes
import functools
import os
import sys
import threading

__all__ = ["active", "recorded", "mark", "mark_value", "snapshot", "pause", "resume", "paused", "scope",
           "figures", "Figures", "watch", "thread_name", "alloc", "free", "show", "Tracker", "TrackerError"]
__version__ = "0.1.0"

_LABEL_BYTES = 63  # of a label count
# In the flags of code: inspect.CO_COROUTINE and CO_ITERABLE_COROUTINE, CO_GENERATOR, CO_ASYNC_GENERATOR, without
# all that inspect imports.
_COROUTINE, _GENERATOR, _ASYNC_GENERATOR = 0x80 | 0x100, 0x20, 0x200


def _find(loader, name, result, *arguments):
    """The function in the loaded library; None: the program is not recorded."""
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


# PyDLL keeps the interpreter's lock, so that no other Python thread runs between a mark and what follows.
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
# These may block, so they release the lock.
_snapshot = _find(ctypes.CDLL, "tide_snapshot", ctypes.c_int, _text)
_figures = _find(ctypes.CDLL, "tide_figures", ctypes.c_int, ctypes.POINTER(_Numbers), ctypes.c_int)


def _bytes(text):
    if isinstance(text, bytes):
        return text
    try:
        return str(text).encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return str(text).encode("utf-8", "replace")


def _float(key, value):
    """The number of a mark. A wrong type is refused even if nothing is recorded, because the call stays in the program."""
    try:
        return float(value)
    except OverflowError:
        problem = "%s is too large" % (key,)
    except (TypeError, ValueError):
        problem = "%s is %.80r, which is no number" % (key, value)
    raise TypeError("mark: " + problem)


def active():
    """() -> bool. Is the program being recorded, and not paused?"""
    return bool(_active and _active())


def recorded():
    """() -> bool. Does the program run under `tidemark run`, be it paused or not?"""
    return figures() is not None


def mark(label, **values):
    """(str, **float) -> None. Marks a moment with a name, and numbers that belong to it, by name.

    63 bytes of the label and of each name count. Marks of one label are numbered from 1. TypeError, recorded or
    not: float() does not take one of the values.
    """
    numbers = [_float(key, value) for key, value in values.items()] if values else ()
    if _mark is None:
        return
    if not values:
        _mark(_bytes(label))
        return
    size = len(values)
    _mark_values(_bytes(label), size, (_text * size)(*map(_bytes, values)), (_number * size)(*numbers))


def mark_value(label, key, value):
    """(str, str, float) -> None. A mark with one number, for names that are not Python identifiers."""
    number = _float(key, value)
    if _mark_values is not None:
        _mark_values(_bytes(label), 1, (_text * 1)(_bytes(key)), (_number * 1)(number))


def snapshot(path):
    """(str or os.PathLike) -> bool. Writes the profile so far to a file, or with a leading | to a command.

    The program goes on meanwhile. %I in the path counts snapshots from 1, %p is the process id. False: the
    program is not recorded, or writing could not begin.
    """
    path = os.fsencode(path)
    return _snapshot is not None and _snapshot(path) == 0


def pause():
    """() -> None. Until resume(), allocations are not recorded in any thread; frees of known blocks are."""
    if _pause is not None:
        _pause()


def resume():
    """() -> None. Ends a pause."""
    if _resume is not None:
        _resume()


def thread_name(name):
    """(str) -> None. Sets the calling thread's name in reports; 128 bytes of it count."""
    if _thread_name is not None:
        _thread_name(_bytes(name))


def alloc(pool, address, size):
    """(str, int, int) -> None. Reports a block of the program's own pool; counted separately from the heap."""
    if _alloc is not None:
        _alloc(_bytes(pool), address, size)


def free(pool, address):
    """(str, int) -> None. Reports that a block was freed. Call it before the pool can return the block again."""
    if _free is not None:
        _free(_bytes(pool), address)


def _kind_of(function):
    """The flags of the function's code; 0: it has none."""
    while isinstance(function, functools.partial):
        function = function.func
    code = getattr(function, "__code__", None)
    return code.co_flags if code else 0


class _Cover:
    """A decorator that covers a function's body, also if a call only creates an object that runs it later."""

    def _anew(self):
        """A context manager for one call."""
        return self

    def __call__(self, function):
        if not callable(function):
            raise TypeError("@tidemark.%s() stands before a function, this is of type %s; write it below @classmethod "
                            "and the like" % (type(self).__name__, type(function).__name__))
        kind = _kind_of(function)
        if kind & _COROUTINE:
            async def inside(*arguments, **named):
                with self._anew():
                    return await function(*arguments, **named)
        elif kind & _GENERATOR:
            def inside(*arguments, **named):
                with self._anew():
                    return (yield from function(*arguments, **named))
        elif kind & _ASYNC_GENERATOR:
            async def inside(*arguments, **named):
                with self._anew():
                    body = function(*arguments, **named)
                    # An event loop that ends closes all generators that it knows at once, so it must know only the outer one.
                    hooks = sys.get_asyncgen_hooks()
                    sys.set_asyncgen_hooks(None, None)
                    first = body.__anext__()
                    sys.set_asyncgen_hooks(*hooks)
                    try:
                        value = await first
                        while True:  # like `yield from`, which async generators do not have
                            try:
                                sent = yield value
                            except GeneratorExit:
                                await body.aclose()
                                raise
                            except BaseException as e:
                                value = await body.athrow(e)
                            else:
                                value = await body.asend(sent)
                    except StopAsyncIteration:
                        pass
        else:
            def inside(*arguments, **named):
                with self._anew():
                    return function(*arguments, **named)
        return functools.update_wrapper(inside, function)


class paused(_Cover):
    """() -> context manager, decorator. Pauses the recording; inside another one, or in a pause, it changes nothing."""

    def __init__(self, *function):
        if function:
            raise TypeError("paused takes no argument; as a decorator write @tidemark.paused()")
        self._was_active = []  # one for each time it was entered

    def _anew(self):
        return paused()

    def __enter__(self):
        self._was_active.append(active())
        pause()

    def __exit__(self, *_):
        if self._was_active.pop():
            resume()


class scope(_Cover):
    """(str) -> context manager, decorator. Marks NAME at its begin, NAME.end at its end.

    Before a coroutine or generator function it covers the body, from its first step to its end.
    """

    def __init__(self, name):
        if callable(name):
            word = getattr(name, "__name__", "name")
            raise TypeError('scope takes a name, not a function; as a decorator write @tidemark.scope("%s")' % word)
        self._begin, end = _bytes(name), b".end"
        most = size = _LABEL_BYTES - len(end)
        while size > most - 3 and 0x80 <= (self._begin + bytes(most))[size] < 0xc0:
            size -= 1  # no half of a character
        self._end = self._begin[:size] + end

    def __enter__(self):
        mark(self._begin)
        return self

    def __exit__(self, *_):
        mark(self._end)


Figures = collections.namedtuple("Figures", "live_bytes live_blocks total_bytes allocations peak_bytes")

_watches = []  # open ones: a new one must not hide from the others what was highest before
_watches_lock = threading.Lock()


def _forked():
    """In a forked child: the thread that held the lock does not exist there."""
    global _watches_lock
    _watches_lock = threading.Lock()


if hasattr(os, "register_at_fork"):  # not in 3.6
    os.register_at_fork(after_in_child=_forked)


def _look(begins=None):
    """The figures; if a watch begins, its peak counts from here."""
    numbers = _Numbers(size=ctypes.sizeof(_Numbers))
    with _watches_lock:
        if _figures is None or _figures(numbers, begins is not None):
            return None
        for w in _watches:
            w._highest = max(w._highest, numbers.peak_bytes)
        if begins is not None:
            _watches.append(begins)
    # Not Figures(...): the allocation must be charged to a line of this file, which tables of lines leave out.
    return tuple.__new__(Figures, [getattr(numbers, name) for name in Figures._fields])


def figures():
    """() -> Figures, or None if not recorded. The present heap of this process, from the collector.

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


def show(recording=None, other=None, *, height=720, embed=None):
    """(path, path) -> None. Shows the page of `tidemark view` in a notebook; for two recordings, their difference.

    Without a recording: the one that goes on, so far; else that of the last %%tidemark. The page is `height` pixels
    high and becomes a part of the notebook, which stays larger by it when it is saved. A page of more than 2.5 MB is
    written beside the recording, and its path is shown; embed=True puts it into the notebook all the same,
    embed=False never does. Outside of a notebook, in IPython in a terminal too, this is `tidemark view`: the page is
    written, opened if there is a display, and its path is printed. ValueError: there is no such recording, or none at
    all.
    """
    from tidemark import _notebook
    return _notebook.show(recording, other, height, embed)


def load_ipython_extension(shell):
    """`%load_ext tidemark`: the cell magic %%tidemark."""
    from tidemark import _ipython
    _ipython.load(shell)


from tidemark._tracker import Tracker, TrackerError  # noqa: E402: it needs the definitions above
