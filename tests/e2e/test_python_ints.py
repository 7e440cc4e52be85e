"""Blocks of C that a Python program keeps as ints are not lost: ctypes returns pointers as ints."""
import os

from harness import PROGRAMS, cases
from test_python_stacks import VERSIONS, interpreter

KEPT, LOST, SIZE_KEPT, SIZE_LOST = 100, 50, 20000, 30000  # of python_handles.py
STALE = 20  # of freed ints the memory is not always used again, and the last ones are on the stack


def check(t, profile, *arguments):
    """How many of each are lost or reachable. Without Python frames, both have the same stack."""
    kept, lost = {}, {}
    for leak in t.ask(profile, "leaks", "--all", *arguments)["leaks"]:
        larger, rest = divmod(leak["bytes"] - SIZE_KEPT * leak["count"], SIZE_LOST - SIZE_KEPT)
        if rest or not 0 <= larger <= leak["count"]:
            continue
        for found, count in ((kept, leak["count"] - larger), (lost, larger)):
            if count:
                found[leak["kind"]] = found.get(leak["kind"], 0) + count
    t.equal("kept", kept, {"reachable": KEPT})
    t.true("lost", LOST - STALE <= lost.get("lost", 0) <= LOST, lost)


@cases(version=VERSIONS)
def test_every_version(t, version):
    check(t, t.record(interpreter(version), os.path.join(PROGRAMS, "python_handles.py")))


@cases(options=("--python=objects", "--python=off"), allocator=("pymalloc", "malloc"))
def test_every_way(t, options, allocator):
    """Ints are in arenas, or blocks themselves; Debian's interpreter is at low addresses, with ints of one digit."""
    check(t, t.record("/usr/bin/python3", os.path.join(PROGRAMS, "python_handles.py"), opts=(options,),
                      env={**os.environ, "PYTHONMALLOC": allocator}))


def test_forked(t):
    profile = t.record("/usr/bin/python3", os.path.join(PROGRAMS, "python_handles.py"), "fork")
    child = t.report(profile)["processes"][1]["pid"]
    check(t, profile, "--process", str(child))
