"""--python=objects: every object of Python's own allocators, once; sizes as Python and tracemalloc tell them."""
import json
import os
import re
import subprocess

from harness import PROGRAMS, Skipped, cases
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


def stat(text, name):
    return int(re.search(r"# %s +=\s+([\d,]+)" % name, text).group(1).replace(",", ""))


def arenas(t, version, how, mode):
    """As the report has them, and what Python said on stderr."""
    profile = t.record(interpreter(version), os.path.join(PROGRAMS, "python_arenas.py"), how, opts=["--python=" + mode],
                       env={"PYTHONHASHSEED": "0"})
    told, process = t.stderr, str(t.report(profile)["processes"][-1]["pid"])
    python = t.report(profile, "live", "--process", process)["python"]
    t.equal("objects are traced", python["objects"], mode == "objects")
    text, _, _ = t.run("report", profile, "--process", process)
    t.true("one line", len(re.findall(r"(?m)^python .*arenas: .* held, .* in objects \(.* % full\), at ", text)) == 1, text)
    got = python["arenas"]
    t.equal("size of an arena", got["bytes"], got["count"] * (256 << 10 if version in ("3.8", "3.9") else 1 << 20))
    return got, told


def check_arenas(t, version, how):
    got, told = arenas(t, version, how, "auto")
    t.equal("arenas", got["count"], stat(told, "arenas allocated current"))
    # Some objects come and go between what it tells and its end.
    used = stat(told, "bytes in allocated blocks")
    t.true("bytes in use, of %d" % used, abs(got["object_bytes"] - used) < 4096, got)
    return got


@cases(version=VERSIONS)
def test_how_full_arenas_are(t, version):
    check_arenas(t, version, "end")


@cases(version=VERSIONS)
def test_arenas_before_the_interpreter_frees_them(t, version):
    """It ends in good order: what counts is what was there when it began to."""
    check_arenas(t, version, "finalize")


@cases(version=SOME)
def test_arenas_of_children(t, version):
    check_arenas(t, version, "fork")


@cases(version=SOME)
def test_arenas_while_objects_are_traced(t, version):
    """Python does not tell then: it thinks that its own allocator is not in use."""
    want, _ = arenas(t, version, "end", "auto")
    got, told = arenas(t, version, "end", "objects")
    t.true("silence", "arenas" not in told, told)
    t.true("as without, %r" % want, abs(got["object_bytes"] - want["object_bytes"]) < 4096, got)


@cases(version=VERSIONS)
def test_leak_in_an_extension(t, version):
    """Lost by C code that Python called: the stack has the C function, and the line of Python that called it."""
    python = interpreter(version)
    include = subprocess.check_output([python, "-c", "import sysconfig; print(sysconfig.get_paths()['include'])"], text=True)
    if not os.path.exists(os.path.join(include.strip(), "Python.h")):
        raise Skipped("there are no headers of Python %s" % version)
    module = t.build("python_extension.c", "-O1", "-I", include.strip(), shared=True)
    os.symlink(module, t.file("leaks.so"))
    program = t.file("uses.py")
    with open(program, "w") as out:
        out.write("import leaks\n"
                  "def work():\n"
                  "    leaks.leak(123456)\n"
                  "for i in range(200):\n"
                  "    work()\n")
    profile = t.record(python, program)
    found = [leak for leak in t.ask(profile, "leaks")["leaks"] if leak["stack"][0]["function"] == "leak_some"]
    t.equal("bytes", sum(leak["bytes"] for leak in found), 200 * 123456)
    t.true("lost", any(leak["kind"] == "lost" for leak in found), found)
    for leak in found:
        frames = [(f["function"], f["kind"], os.path.basename(f["file"] or ""), f["line"]) for f in leak["stack"]]
        t.equal("stack", [f[:3] for f in frames[:4]],
                [("leak_some", "native", "python_extension.c"), ("leak", "native", "python_extension.c"),
                 ("work", "python", "uses.py"), ("<module>", "python", "uses.py")])
        t.equal("lines of Python", [f[3] for f in frames[2:4]], [3, 5])
    first = t.ask(profile, "findings")["findings"][0]
    t.equal("the finding", (first["kind"], first["function"], first["stack"][0]["function"]), ("leak", "work", "leak_some"))
    t.true("with the line of Python", [program, 3] in [[f["file"], f["line"]] for f in first["stack"]], first["stack"])


@cases(version=SOME)
def test_modules_of_python_itself_are_folded(t, version):
    """Written in C, and loaded from files of their own: what counts is the line of Python that called them."""
    program = t.file("loads.py")
    with open(program, "w") as out:
        out.write("import json, os\n"
                  "text = json.dumps([['%d' % i] for i in range(5000)])\n"
                  "kept = json.loads(text)\n"
                  "os._exit(0)\n")
    profile = t.record(interpreter(version), program, opts=["--python=objects"])
    decoder = "--within", "raw_decode", "--by", "stack", "--top", "0", "--min", "0"
    inner = t.report(profile, "live", *decoder)["rows"]
    t.true("lists and texts", sum(r["count"] for r in inner) > 14000, inner)  # some lists are used again, some texts shared
    modules = {f["module"] for r in inner for f in r["stack"] if f["kind"] != "python"}
    t.true("no module of Python's", not any("_json" in m for m in modules), modules)
    whole = t.report(profile, "live", *decoder, "--no-fold")["rows"]
    t.true("with --no-fold there is one", any("_json" in (f["module"] or "") for r in whole for f in r["stack"]))


def test_interpreters_that_are_refused(t):
    if not os.path.exists("/usr/bin/python3.11d"):
        raise Skipped("there is no debug build of Python")
    profile = t.record("/usr/bin/python3.11d", "-c", "x = [object() for _ in range(100)]", opts=["--python=objects"])
    notes = t.report(profile)["notes"]
    t.true("two notes", len(notes) == 2 and "a debug build" in notes[0] and "objects are not traced" in notes[1], notes)


@cases(version=SOME, how=("raw", "mem", "debug", "steps"))
def test_allocators_of_the_programs(t, version, how):
    """Set before Python is initialised: what malloc knows nothing of is not asked about, and handlers do no harm."""
    profile = embedded(t, version, how)
    report = t.report(profile, "live", "--by", "stack")
    blocks = [(row["count"], row["bytes"]) for row in report["rows"] if 30001 <= row["bytes"] < 30100]
    t.equal("the bytes of Python's", [count for count, _ in blocks], [1])
    t.equal("lost", report["totals"]["lost_events"], 0)


@cases(version=("3.12", "3.13"), env=({}, {"PYTHONMALLOC": "malloc"}, {"PYTHONDEVMODE": "1"}))
def test_initialised_again(t, version, env):
    """Its allocators are as new then, and replaced after we saw them; code at addresses used before is told apart."""
    profile = embedded(t, version, "again", env=env)
    got = {}
    for row in t.report(profile, "total", "--by", "stack", "--no-fold", "--top", "0", "--min", "0")["rows"]:
        if row["bytes"] // row["count"] in range(200000, 200100):
            name = next(f["function"] for f in row["stack"] if f["kind"] == "python")
            got[name] = got.get(name, 0) + row["count"]
    want = {"%s_%d" % (life, i): 1 for life in ("first", "second") for i in range(100)}
    t.equal("blocks by function that differ", sorted(set(got.items()) ^ set(want.items()))[:10], [])


@cases(version=SOME)
def test_blocks_at_the_end_of_a_page(t, version):
    """Of nothing, which is less than an object: what is behind them cannot be read."""
    program = t.file("nothing.py")
    with open(program, "w") as out:
        out.write("import ctypes, json, decimal\n"
                  "api = ctypes.pythonapi\n"
                  "for name in 'PyMem', 'PyObject':\n"
                  "    make, drop = getattr(api, name + '_Malloc'), getattr(api, name + '_Free')\n"
                  "    make.restype, make.argtypes, drop.argtypes = ctypes.c_void_p, [ctypes.c_size_t], [ctypes.c_void_p]\n"
                  "    for i in range(5): drop(make(0))\n")
    profile = t.record(interpreter(version), program, opts=["--python=objects"],
                       env={"LD_PRELOAD": t.build("edge_malloc.c", shared=True)})
    t.equal("unknown frees", t.report(profile)["totals"]["unknown_frees"], 0)


def test_the_end_with_threads_at_work(t):
    """3.12 frees the lock of its allocators at its end, while other threads allocate."""
    embedded(t, "3.12", "ends", "-rdynamic")


def embedded(t, version, how, *flags, env=None):
    home = os.path.dirname(os.path.dirname(interpreter(version)))
    library = os.path.join(home, "lib", "libpython%s.so.1.0" % version)
    if not os.path.exists(library):
        raise Skipped("there is no libpython%s.so" % version)
    return t.record(t.build("python_allocators.c", "-O1", *flags), library, how, opts=["--python=objects"],
                    env={"PYTHONHOME": home, "PYTHONDONTWRITEBYTECODE": "1", **(env or {})})


@cases(version=("3.12", "3.13"))
def test_names_that_stay_are_no_leaks(t, version):
    """CPython interns the names of code and modules for good, and forgets them at its end."""
    profile = t.record(interpreter(version), "-c", "import json, logging; kept = json.loads('[1]')", opts=["--python=objects"])
    lost = {}
    for options in ((), ("--no-presets",)):
        rows = [r for r in t.ask(profile, "leaks", "--no-fold", *options)["leaks"] if r["kind"] == "lost"]
        lost[options] = sum(r["count"] for r in rows if {"r_object", "PyDict_SetItemString"} & {f["function"] for f in r["stack"]})
    t.equal("lost", lost[()], 0)
    t.true("there were some", lost[("--no-presets",)] > 100, lost)
