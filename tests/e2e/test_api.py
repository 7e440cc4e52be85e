"""What programs say themselves, from C, C++, Python and Fortran: the examples, the header, the helpers."""
import os
import shutil
import subprocess

from harness import NO_ARENAS, ROOT, Failed, Skipped, cases

INCLUDE = ("-I", os.path.join(ROOT, "include"))
PYTHON = "/usr/bin/python3"
PYTHON_PATH = {"PYTHONPATH": os.path.join(ROOT, "bindings", "python"), "PYTHONDONTWRITEBYTECODE": "1"}


def example(name):
    return os.path.join(ROOT, "examples", name)


def fortran():
    for name in ("gfortran", "gfortran-12", "gfortran-13", "gfortran-14"):
        if shutil.which(name):
            return name
    raise Skipped("no gfortran here: the Fortran module is not tested")


def build_fortran(t, *flags):
    program, module = t.file("marks"), os.path.join(ROOT, "bindings", "fortran", "tidemark.f90")
    done = subprocess.run([fortran(), "-std=f2008", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-J", t.dir, *flags,
                           module, example("marks.f90"), "-o", program],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        raise Failed("examples/marks.f90 does not compile:\n" + done.stdout)
    return program


def marks(t, profile, *arguments):
    answer = t.ask(profile, "marks", *arguments)
    t.equal("schema", answer["schema"], "tidemark.marks/1")
    return answer["marks"]


def names(rows):
    return ["%s#%d" % (m["label"], m["index"]) for m in rows]


def exact(t, profile, rows):
    """A report at each mark tells what the mark itself says."""
    for m in rows:
        totals = t.report(profile, "live", "--at", "%s#%d" % (m["label"], m["index"]))["totals"]
        for key in ("live_bytes", "live_blocks", "allocations"):
            t.equal("%s at %s#%d" % (key, m["label"], m["index"]), totals[key], m[key])


def events(last, *others):
    return ["event#%d" % i for i in range(1, last + 1)] + list(others)


# The examples

@cases(opt=("-O0", "-O2"))
def test_c(t, opt):
    program = t.build(example("marks.c"), opt, *INCLUDE)
    t.equal("without the recorder", t.plain(program)[2], 0)
    profile = t.record(program)
    rows = marks(t, profile)
    t.equal("marks", names(rows), events(10, "all done#1", "all freed#1"))
    t.equal("values", [m["values"] for m in rows], [{"number": i} for i in range(1, 11)] + [{}, {}])
    t.equal("live", [(m["live_bytes"], m["live_blocks"]) for m in rows],
            [(1000 * i, i) for i in range(1, 11)] + [(10000, 10), (0, 0)])
    t.equal("allocations", [m["allocations"] for m in rows], [2 * i for i in range(1, 11)] + [20, 20])
    exact(t, profile, rows)
    one = t.report(profile, "total", "--since", "event#5", "--at", "event#6")["totals"]
    t.equal("one event", (one["allocations"], one["frees"], one["bytes_allocated"], one["live_bytes"]), (2, 1, 6000, 1000))
    threads = t.report(profile, "total", "--by", "thread")["rows"]
    t.equal("name of the thread", [r["name"] for r in threads], ["events"])


@cases(opt=("-O0", "-O2"))
def test_cpp(t, opt):
    program = t.build(example("marks.cpp"), opt, *INCLUDE)
    t.equal("without the recorder", t.plain(program)[2], 0)
    profile = t.record(program)
    rows = marks(t, profile)
    t.equal("marks", names(rows), [n for i in range(1, 11) for n in ("event#%d" % i, "event.end#%d" % i)] + ["broken#1"])
    exact(t, profile, rows)
    for number in (1, 5, 9):
        inside = t.report(profile, "total", "--since", "event#%d" % number, "--at", "event.end#%d" % number)["totals"]
        t.equal("event %d" % number, [inside[k] for k in ("allocations", "frees", "bytes_allocated", "live_bytes")],
                [2, 1, 6000, 1000])
    t.equal("nothing between events", [rows[i]["allocations"] - rows[i - 1]["allocations"] for i in range(2, 20, 2)], [0] * 9)
    rest = t.report(profile, "total", "--since", "broken")["totals"]
    t.equal("nothing recorded in the pause", rest["allocations"], 0)


def test_python(t):
    t.equal("without the recorder", t.plain(PYTHON, example("marks.py"), env=PYTHON_PATH)[::2], ("1000000\n", 0))
    profile = t.record(PYTHON, example("marks.py"), env=PYTHON_PATH)
    t.equal("output", t.stdout, "1000000\n")
    rows = marks(t, profile)
    t.equal("marks", names(rows), events(10, "summary#1", "summary.end#1"))
    t.equal("values", [m["values"] for m in rows], [{"number": i, "kept": i} for i in range(1, 11)] + [{}, {}])
    exact(t, profile, rows)
    # A bytearray of n bytes is one block of n + 1.
    kept = t.report(profile, "live", "--since", "event#2", "--at", "event#10", "--by", "function")
    sizes = sorted(r["self_bytes"] for r in kept["rows"] if r["self_bytes"] > 50000)
    t.equal("kept by eight events", sizes, [8 * 100001])
    whole = t.report(profile, "largest", *NO_ARENAS)
    t.true("nothing recorded in the pause", max(r["self_bytes"] for r in whole["rows"]) < 1000000)


def test_python_words(t):
    """Every function of the module, with and without the recorder; labels beyond ASCII and beyond 63 bytes."""
    program = t.file("words.py")
    with open(program, "w") as text:
        text.write("""
import pathlib, sys, tidemark
recorded = sys.argv[1] == "recorded"
assert tidemark.active() is recorded
tidemark.mark("caf\\u00e9")
tidemark.mark_value("value", "no word", 0.1)
tidemark.mark("many", a=1, b=-2.5, c=True)
with tidemark.scope("x" * 100):
    pass
with tidemark.scope("\\u20ac" * 30):
    pass
try:
    with tidemark.scope("left"):
        raise KeyError
except KeyError:
    pass

@tidemark.scope("called")
def called(n):
    return n and called(n - 1) + 1

assert called(2) == 2 and called.__name__ == "called"

@tidemark.paused()
def inside():
    with tidemark.paused():
        pass
    return tidemark.active()

assert inside() is False and tidemark.active() is recorded
tidemark.pause()
with tidemark.paused():
    pass
assert not tidemark.active()
tidemark.resume()
assert tidemark.active() is recorded
tidemark.thread_name("words")
if not recorded:
    assert tidemark.snapshot(pathlib.Path("none.tide")) is False
""")
    t.equal("without the recorder", t.plain(PYTHON, program, "plain", env=PYTHON_PATH)[1:], ("", 0))
    profile = t.record(PYTHON, program, "recorded", env=PYTHON_PATH)
    t.equal("errors", t.stderr, "")
    rows = marks(t, profile)
    t.equal("marks", names(rows),
            ["caf\u00e9#1", "value#1", "many#1", "x" * 63 + "#1", "x" * 59 + ".end#1", "\u20ac" * 21 + "#1",
             "\u20ac" * 19 + ".end#1", "left#1", "left.end#1",
             "called#1", "called#2", "called#3", "called.end#1", "called.end#2", "called.end#3"])
    t.equal("values", [m["values"] for m in rows[:4]], [{}, {"no word": 0.1}, {"a": 1, "b": -2.5, "c": 1}, {}])
    threads = [r["name"] for r in t.report(profile, "total", "--by", "thread")["rows"]]
    t.equal("name of the thread", threads, ["words"])


def test_python_version_is_the_project_s(t):
    version = t.run("--version")[0].split()[1]
    done = subprocess.run([PYTHON, "-c", "import tidemark; print(tidemark.__version__)"], env={**os.environ, **PYTHON_PATH},
                          stdout=subprocess.PIPE, text=True)
    t.equal("of the module", done.stdout.strip(), version)
    with open(os.path.join(ROOT, "bindings", "python", "setup.cfg")) as text:
        t.true("of the package", "\nversion = %s\n" % version in text.read())


@cases(opt=("-O0", "-O2"))
def test_fortran(t, opt):
    program = build_fortran(t, opt)
    t.equal("without the recorder", t.plain(program)[2], 0)
    profile = t.record(program)
    rows = marks(t, profile)
    t.equal("marks", names(rows), events(10, "all done#1", "all freed#1"))
    t.equal("values", [m["values"] for m in rows], [{"number": i} for i in range(1, 11)] + [{}, {}])
    exact(t, profile, rows)
    first = rows[0]  # the Fortran library has blocks of its own
    t.equal("live", [(m["live_bytes"] - first["live_bytes"], m["live_blocks"] - first["live_blocks"]) for m in rows],
            [(8000 * i, i) for i in range(10)] + [(72000, 9), (-8000, -1)])
    t.equal("allocations", [m["allocations"] - first["allocations"] for m in rows], list(range(10)) + [9, 9])


def test_fortran_figures(t):
    source = t.file("figures.f90")
    with open(source, "w") as out:
        out.write("""program figures
    use, intrinsic :: iso_c_binding
    use tidemark
    implicit none
    type(tide_heap) :: before, after
    real(kind=8), allocatable :: kept(:), passing(:)
    integer :: status
    call tide_figures(before, restart=.true., status=status)
    if (status == 0) then
        allocate(kept(1000), passing(50))
        kept = 1
        passing = 2
        deallocate(passing)
        call tide_figures(after)
        if (after%live_bytes - before%live_bytes /= 8000) stop 1
        if (after%live_blocks - before%live_blocks /= 1) stop 2
        if (after%allocations - before%allocations /= 2) stop 3
        if (after%peak_bytes - before%live_bytes /= 8400) stop 4
        if (kept(7) > 1) stop 5
        stop 6
    end if
end program
""")
    program, module = t.file("figures"), os.path.join(ROOT, "bindings", "fortran", "tidemark.f90")
    done = subprocess.run([fortran(), "-std=f2008", "-Wall", "-Wextra", "-J", t.dir, module, source, "-o", program],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    t.equal("compiles", (done.returncode, done.stdout), (0, ""))
    t.equal("without the recorder", t.plain(program)[2], 0)
    t.record(program, status=6)


def test_long_names_in_fortran(t):
    """As in C: 63 bytes of a label count and 128 of a thread's name, and no character is cut."""
    source = t.file("long.f90")
    with open(source, "w") as text:
        text.write("""program long
    use tidemark
    call tide_thread_name(repeat('n', 100))
    call tide_mark_value(repeat('\u00e9', 40), repeat('\u00e9', 40), 1)
end program
""")
    program, module = t.file("long"), os.path.join(ROOT, "bindings", "fortran", "tidemark.f90")
    done = subprocess.run([fortran(), "-J", t.dir, module, source, "-o", program], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    t.equal("compiles", (done.returncode, done.stdout), (0, b""))
    profile = t.record(program)
    t.equal("mark", [(m["label"], m["values"]) for m in marks(t, profile)], [("\u00e9" * 31, {"\u00e9" * 31: 1})])
    t.equal("thread", [row["name"] for row in t.ask(profile, "threads")["threads"]], ["n" * 100])


# The header

STANDARDS = {".c": ("c89", "c99", "c11", "c17"), ".cpp": ("c++11", "c++17", "c++20")}
STRICT = ("-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Wcast-qual", "-Werror")


@cases(compiler=("gcc", "clang"))
def test_header_compiles_without_warnings(t, compiler):
    with open(os.path.join(ROOT, "tests", "programs", "header.c")) as text:
        source = text.read()
    for suffix, standards in STANDARDS.items():
        path = t.file("header" + suffix)
        with open(path, "w") as copy:
            copy.write(source)
        for standard in standards:
            for order in ((), ("-DBEFORE",), ("-DAFTER",)):
                done = subprocess.run([compiler, "-std=" + standard, *STRICT, *order, *INCLUDE, "-c", path, "-o", t.file("o")],
                                      stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
                t.equal("%s %s %s" % (compiler, standard, " ".join(order)), (done.returncode, done.stdout), (0, ""))


@cases(order=((), ("-DBEFORE",), ("-DAFTER",)))
def test_header_with_and_without_the_recorder(t, order):
    program = t.build("header.c", "-O2", *order, *INCLUDE)
    t.equal("without the recorder", t.plain(program)[2], 4)
    profile = t.record(program)
    rows = marks(t, profile)
    t.equal("marks", names(rows), ["plain#1", "one#1", "two#1"])
    t.equal("values", [m["values"] for m in rows], [{}, {"key": 0.5}, {"first": 0.1, "second": -2e300}])


@cases(cc=("g++", "clang++"))
def test_scopes_and_pauses(t, cc):
    program = t.build("scopes.cpp", "-O1", *INCLUDE, cc=cc)
    t.equal("without the recorder", t.plain(program)[2], 0)
    profile = t.record(program)
    longest = "a name of sixty bytes, which is one more than a scope can have.."
    rows = marks(t, profile)
    notes = t.report(profile)["notes"]
    t.equal("no frees are mentioned where there were none", notes, ["recording was paused for a while: allocations made then are not counted"])
    t.equal("marks", names(rows), ["outer#1", "inner#1", "inner.end#1", "outer.end#1", "after pauses#1",
                                   longest[:63] + "#1", longest[:59] + ".end#1",
                                   "\u20ac" * 21 + "#1", "\u20ac" * 19 + ".end#1"])
    scopes = {row["name"]: (row["entered"], row["open"]) for row in t.ask(profile, "marks", "--scopes")["scopes"]}
    t.equal("long names have their ends", (scopes[longest[:63]], scopes["\u20ac" * 21]), ((1, 0), (1, 0)))
    kept = [t.row(t.report(profile, "total", "--at", name), "kept") for name in names(rows[:5])]
    t.equal("kept at each", [(r["self_bytes"], r["self_count"]) for r in kept],
            [(0, 0), (100, 1), (120, 2), (120, 2), (123, 3)])


# The page

def test_examples_are_in_the_page(t):
    with open(os.path.join(ROOT, "docs", "api.md")) as text:
        page = text.read()
    for name in ("marks.c", "pools.c", "marks.cpp", "marks.py", "marks.f90"):
        with open(example(name)) as text:
            t.true("docs/api.md has examples/%s as it is" % name, "\n%s```" % text.read() in page)
