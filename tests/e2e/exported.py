"""What the tests of `tidemark export` share: recordings, and what a report says of them."""
import os

from harness import ROOT, Failed
from test_view import HOSTILE

API = ("-I", os.path.join(ROOT, "include"))
PYTHON = "/usr/bin/python3"
LONG = "n" * 100000  # the name of a function
EVIL = "a\"b'c;d<e>&f\\g\nh\ti(j)k,l=m%n\x01\u202eo"
SCRIPT = """
import marshal
def keep():
    return [bytearray(1000 + i) for i in range(50)]
def climb(n):
    return climb(n - 1) if n else bytearray(100000)
kept, top = keep(), climb(20)
for i in range(3):
    big = [bytearray(20000) for _ in range(10 + i)]
    marshal.loads(marshal.dumps({str(k): [k] * 20 for k in range(100)}))
"""
RECORDINGS = ("native", "python", "hostile", "long")


def record(t, kind):
    if kind == "native":
        return t.record(t.build("exported.c", "-O1", *API))
    if kind == "python":
        # Without the modules that site imports, it has three thousand stacks: tests in Python read each of them.
        return t.record(PYTHON, "-I", "-S", "-c", SCRIPT, opts=("--python=objects",))
    if kind == "long":
        return t.record(t.build("exported.c", "-O1", "-DLONG_NAME=" + LONG, *API))
    return t.record(PYTHON, "-c", HOSTILE, EVIL, b"\xff\xfe".decode(errors="surrogateescape"))


def export(t, profile, form, *options, notes=None):
    """Exports; returns the path. Nothing goes wrong, and stderr says only what the format loses."""
    path = t.file("out." + form)
    stdout, stderr, status = t.run("export", profile, "--format", form, "-o", path, *options)
    if status:
        raise Failed("export --format %s failed: %s" % (form, stderr))
    t.equal("where it is", stdout, path + "\n")
    said = stderr.splitlines()
    t.true("what it loses", form == "csv" or said and said[0].startswith("tidemark export: %s holds no " % form), said)
    t.equal("notes of " + form, said[1:], notes or [])
    return path


def add(sums, key, *values):
    old = sums.get(key, (0,) * len(values))
    sums[key] = tuple(a + b for a, b in zip(old, values))


def stacks(t, profile, metric, *options, name=lambda frame: frame["function"]):
    """{(function, ...) innermost first: (bytes, count)}, whatever the thread and the lines."""
    sums = {}
    for row in t.report(profile, metric, "--by", "stack", *options)["rows"]:
        add(sums, tuple(name(f) for f in row["stack"]), row["bytes"], row["count"])
    return {key: value for key, value in sums.items() if value != (0, 0)}


def by_name(found):
    """{name: self}, {name: with all that it calls} of {stack: (bytes, count)}."""
    own, total = {}, {}
    for stack, values in found.items():
        add(own, stack[0], *values)
        for name in set(stack):
            add(total, name, *values)
    return own, total


def nonzero(sums):
    return {key: value for key, value in sums.items() if any(value)}


def same(t, what, got, want):
    """Like t.equal of two dictionaries, but a failure shows a few of the differences only."""
    keys = [k for k in {**got, **want} if got.get(k) != want.get(k)]
    t.equal("%s (%d keys, %d differ)" % (what, len(want), len(keys)), {str(k)[:200]: got.get(k) for k in keys[:3]},
            {str(k)[:200]: want.get(k) for k in keys[:3]})
