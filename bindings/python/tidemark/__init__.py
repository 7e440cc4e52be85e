"""What a Python program may tell the profiler that records it.

    import tidemark

    tidemark.mark("event")                    # report --at event#50, --since event#50 --at end
    tidemark.mark("event", photons=1e6)       # numbers that belong to it
    with tidemark.scope("read"):              # marks "read" at the begin, "read.end" at the end
        ...
    with tidemark.paused():                   # what is allocated here is not recorded
        ...
    tidemark.alloc("images", address, size)   # a block of an allocator of the program's own,
    tidemark.free("images", address)          # and its end: report --metric pool

Nothing has to be installed or linked for it to work: the functions are those of libtidemark.so, which is
there when the program runs under `tidemark run`. When it does not, all of these do nothing.

The words mean what they mean in C (tidemark.h). scope and paused are decorators too.
"""
import contextlib
import ctypes
import os

__all__ = ["active", "mark", "mark_value", "snapshot", "pause", "resume", "paused", "scope", "thread_name",
           "alloc", "free"]
__version__ = "0.1.0"

_LABEL_BYTES = 63  # of a label count


def _find(loader, name, result, *arguments):
    """The function in the library that is loaded already, or None: not recorded."""
    try:
        function = getattr(loader(None), name)
    except (AttributeError, OSError, TypeError):
        return None
    function.restype, function.argtypes = result, arguments
    return function


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
_snapshot = _find(ctypes.CDLL, "tide_snapshot", ctypes.c_int, _text)  # may wait: not with the lock


def _bytes(text):
    return text if isinstance(text, bytes) else str(text).encode("utf-8", "surrogateescape")


def active():
    """() -> bool. Is the program being recorded, and not paused?"""
    return bool(_active and _active())


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


@contextlib.contextmanager
def scope(name):
    """(str) -> context manager, decorator. Marks NAME at its begin, NAME.end at its end."""
    mark(name)
    try:
        yield
    finally:
        end = b".end"
        mark(_bytes(name)[:_LABEL_BYTES - len(end)] + end)
