"""The code of a running program, to see whether tidemark left it as it was; and a program that confines itself."""

CONFINES_ITSELF = """
import ctypes, struct, time
libc = ctypes.CDLL(None)
class Program(ctypes.Structure):
    _fields_ = [("count", ctypes.c_ushort), ("code", ctypes.c_char_p)]
libc.prctl(38, 1, 0, 0, 0)
allow = Program(1, struct.pack("HBBI", 6, 0, 0, 0x7fff0000))
libc.prctl(22, 2, ctypes.byref(allow))
"""  # a seccomp filter that allows all
import contextlib


def code_of(pid):
    """The bytes of each executable mapping of a file in process pid: {(file, offset): bytes}. Without the recorder itself."""
    found = {}
    with open("/proc/%d/maps" % pid) as maps, open("/proc/%d/mem" % pid, "rb") as memory:
        for line in maps:
            fields = line.split(None, 5)
            if len(fields) == 6 and "x" in fields[1] and fields[5].startswith("/") and "memfd:" not in fields[5]:
                start, end = (int(n, 16) for n in fields[0].split("-"))
                memory.seek(start)
                with contextlib.suppress(OSError):  # it was unloaded just now
                    found[fields[5], fields[2]] = memory.read(end - start)
    return found
