"""The code of a running program, to see whether tidemark left it as it was."""
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
