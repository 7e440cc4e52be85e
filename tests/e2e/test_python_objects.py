"""--python=objects: every object of Python's own allocators, once; sizes as Python and tracemalloc tell them."""
import json
import os

from harness import PROGRAMS, cases
from test_python_stacks import VERSIONS, interpreter

SOME = ("3.8", "3.11", "3.13")  # the others have what one of these has
PROGRAM = os.path.join(PROGRAMS, "python_objects.py")
TRACERS = "^tracemalloc_add_trace|^traceback_|^_Py_hashtable"  # the memory of Python's own tracer is not what it traces


def record(t, version, how, *, env=None, options=()):
    out = t.file(how)
    profile = t.record(interpreter(version), *options, PROGRAM, how, out, opts=["--python=objects"],
                       env={"PYTHONDONTWRITEBYTECODE": "1", **(env or {})})
    t.equal("stderr", t.stderr, "")
    with open(out) as lines:
        return profile, [json.loads(line) for line in lines]


def by(t, profile, what, pid, *arguments):
    found = {}
    report = t.report(profile, "live", "--by", what, "--python-only", "--top", "0", "--min", "0", "--process", str(pid),
                      *arguments)
    for row in report["rows"]:
        if row["file"] == PROGRAM:
            key = str(row["line"]) if what == "line" else row["name"]
            sums = found.setdefault(key, [0, 0])
            sums[0] += row["self_bytes"]
            sums[1] += row["self_count"]
    t.equal("unknown frees", report["totals"]["unknown_frees"], 0)
    t.equal("lost", report["totals"]["lost_events"], 0)
    return found


def compare(t, what, got, want):
    for name in want:
        t.equal("%s: bytes and blocks of %s" % (what, name), got.get(name, [0, 0]), want[name])


def check(t, version, how):
    profile, told = record(t, version, how)
    t.equal("processes", len(told), 2 if how == "fork" else 1)
    for process in told:
        compare(t, how, by(t, profile, "function", process["pid"]), process["functions"])


@cases(version=VERSIONS)
def test_objects_are_counted_exactly(t, version):
    check(t, version, "main")


@cases(version=SOME, how=("threads", "fork", "subinterpreter"))
def test_threads_and_processes(t, version, how):
    check(t, version, how)


@cases(version=SOME)
def test_agrees_with_tracemalloc(t, version):
    profile, (told,) = record(t, version, "traced")
    t.true("lines", len(told["lines"]) >= 12, told["lines"])
    compare(t, "traced", by(t, profile, "line", told["pid"], "--ignore", TRACERS), told["lines"])


@cases(version=SOME)
def test_the_end_frees_them(t, version):
    profile, (told,) = record(t, version, "end")
    got = by(t, profile, "function", told["pid"])
    compare(t, "at the end", got, {name: [0, 0] for name in told["functions"]})


@cases(version=SOME)
def test_other_allocators(t, version):
    """They are put in place when the interpreter starts; ours are wrapped around them."""
    for how in ("pymalloc", "debug", "malloc_debug"):
        profile, (told,) = record(t, version, "main", env={"PYTHONMALLOC": how})
        compare(t, how, by(t, profile, "function", told["pid"]), told["functions"])
        os.remove(t.file("main"))
    profile, (told,) = record(t, version, "main", options=["-X", "dev", "-W", "ignore"])
    compare(t, "dev", by(t, profile, "function", told["pid"]), told["functions"])
