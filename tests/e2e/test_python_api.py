"""What Python programs get beyond marks: the module found by itself, figures, scopes, `python3 -m tidemark`, IPython."""
import os
import re
import shutil
import subprocess

from harness import ROOT, Skipped, cases
from test_python_stacks import VERSIONS, interpreter

INCLUDE = ("-I", os.path.join(ROOT, "include"))
PYTHON = "/usr/bin/python3"
BINDINGS = os.path.join(ROOT, "bindings", "python")
ON_PATH = {"PYTHONPATH": BINDINGS}
C_HEAP = """
import ctypes, tidemark
c = ctypes.CDLL(None)
c.malloc.restype, c.malloc.argtypes, c.free.argtypes = ctypes.c_void_p, [ctypes.c_size_t], [ctypes.c_void_p]
"""


def write(t, name, text):
    path = t.file(name)
    with open(path, "w") as out:
        out.write(text)
    return path


def told(t):
    """The program's lines: {first words: [numbers]}."""
    found = [re.match(r"(\D*?) (-?\d.*|none)$", line) for line in t.stdout.splitlines()]
    return {m.group(1): [int(n) for n in m.group(2).split()] if m.group(2) != "none" else None for m in found if m}


# Figures

def test_figures(t):
    program = t.build("figures.c", "-O2", *INCLUDE)
    t.equal("without the recorder", set(t.plain(program)[0].split("\n")) & {"nothing none", "thread none"},
            {"nothing none", "thread none"})
    profile = t.record(program)
    loop = 54000 + 100 * sum(range(1000))
    t.equal("live bytes and blocks, total bytes, allocations, peak", told(t), {
        "nothing": [0, 0, 0, 0, 0],
        "kept": [1000, 1, 1000, 1, 1000],
        "passing": [1000, 1, 51000, 2, 51000],
        "larger": [3000, 1, 54000, 3, 3000],
        "the same": [3000, 1, 54000, 3, 3000],
        "loop": [3000, 1, loop, 100003, 3999],
        "interval": [3000, 1, loop, 100003, 3000],
        "intervals": [3000, 1, loop + 7000, 100004, 10000],
        "freed": [0, 0, loop + 7000, 100004, 3000],
        "paused": [0, 0, loop + 7000, 100004, 3000],
        "resumed": [0, 0, loop + 7000, 100004, 3000],
        "thread": [0, 0, loop + 7000 + 100000300, 101005, 100000],
    })
    # What was asked for in between is in the recording as if nobody had asked: the intervals' peaks too.
    at = [s["live_bytes"] for s in t.ask(profile, "marks")["marks"]]
    t.equal("live at both marks", at[1] - at[0], 0)
    t.equal("peak of the recording", t.report(profile)["totals"]["peak_bytes"] - at[0], 100000 - 3000)


@cases(version=VERSIONS)
def test_watch(t, version):
    program = write(t, "watch.py", C_HEAP + """
def all_at_once(sizes):
    for block in [c.malloc(n) for n in sizes]:
        c.free(block)
for warm in range(2):
    with tidemark.watch() as outer:
        kept = c.malloc(10000)
        all_at_once([100000, 200000])
        with tidemark.watch() as inner:
            all_at_once([40000])
        with tidemark.watch() as none:
            pass
    with tidemark.watch() as less:
        c.free(kept)
for name in "outer", "inner", "none", "less":
    w = globals()[name]
    print(name, w.live_bytes, w.live_blocks, w.total_bytes, w.allocations, w.peak_bytes)
with tidemark.watch() as w:
    kept = bytearray(1 << 20)
print("bytearray", w.live_bytes, w.peak_bytes)
figures = tidemark.figures()
print(figures is not None and figures._fields, tidemark.recorded(), tidemark.active())
""")
    python = interpreter(version)
    stdout, stderr, status = t.plain(python, program, env=ON_PATH)
    t.equal("without the recorder", (stdout.splitlines()[0], stdout.splitlines()[-1], stderr, status),
            ("outer None None None None None", "False False False", "", 0))
    t.record(python, program)
    lines = t.stdout.splitlines()
    t.equal("live bytes and blocks, total, allocations, peak", lines[:4],
            ["outer 10000 1 350000 4 310000", "inner 0 0 40000 1 40000", "none 0 0 0 0 0", "less -10000 -1 0 0 0"])
    t.true("a bytearray", lines[4].startswith("bytearray 10485" if version != "3.15" else "bytearray 10486"), lines[4])
    t.equal("words", lines[5], "('live_bytes', 'live_blocks', 'total_bytes', 'allocations', 'peak_bytes') True True")


# The module is found by itself

LOOKS = """
import os, sys
try:
    import tidemark
    print(os.path.dirname(os.path.dirname(os.path.abspath(tidemark.__file__))))
except ImportError:
    print("none")
print(os.environ.get("PYTHONPATH"))
print(":".join(p for p in sys.path[1:] if p and "python3" not in p))
"""


@cases(version=VERSIONS)
def test_module_is_found(t, version):
    t.record(interpreter(version), write(t, "looks.py", LOOKS), env={"PYTHONPATH": "/nowhere:/else"})
    t.equal("behind the user's own", t.stdout, "%s\n/nowhere:/else\n/nowhere:/else:%s\n" % (BINDINGS, BINDINGS))


def test_module_is_found_where_it_should(t):
    program = write(t, "looks.py", LOOKS)
    t.equal("without the recorder", t.plain(PYTHON, program, env={"PYTHONPATH": ""})[0], "none\n\n\n")
    t.record(PYTHON, program, env={"PYTHONPATH": ""})
    t.equal("recorded", t.stdout, "%s\n\n%s\n" % (BINDINGS, BINDINGS))
    for option in "-I", "-E":
        t.record(PYTHON, option, program, env={"PYTHONPATH": "/nowhere"})
        t.equal("isolated: " + option, t.stdout, "none\n/nowhere\n\n")
    t.record(PYTHON, "-c", "import subprocess; subprocess.run([%r, %r], env={})" % (PYTHON, program))
    t.equal("a child with no environment", t.stdout, "%s\nNone\n%s\n" % (BINDINGS, BINDINGS))
    t.record(PYTHON, program, opts=("--only", "something-else"), env={"PYTHONPATH": ""}, status=None)
    t.equal("not recorded", t.stdout, "none\n\n\n")
    os.makedirs(t.file("own/tidemark"))
    write(t, "own/tidemark/__init__.py", "")
    t.record(PYTHON, program, env={"PYTHONPATH": t.file("own")})
    t.equal("the user's own comes first", t.stdout.splitlines()[0], t.file("own"))


def test_other_variables(t):
    program = write(t, "variables.py", """
import ctypes, os
c = ctypes.CDLL(None)
c.getenv.restype, c.getenv.argtypes = ctypes.c_char_p, [ctypes.c_char_p]
for name in b"KEPT", b"EMPTY", b"ABSENT", b"P", b"PYTHONPATHS", b"":
    print(c.getenv(name))
for value in "/other", "/a/longer/one", "/other":
    os.environ["PYTHONPATH"] = value
    print(c.getenv(b"PYTHONPATH").decode())
del os.environ["PYTHONPATH"]
print(c.getenv(b"PYTHONPATH"))
""")
    environment = {"KEPT": "as it was", "EMPTY": "", "P": "p", "PYTHONPATH": "/first"}
    plain = t.plain(PYTHON, program, env=environment)[0]
    t.record(PYTHON, program, env=environment)
    t.equal("as without the recorder", t.stdout, plain)


def test_installed(t):
    """The library, the program and the module as `make install` puts them, elsewhere."""
    os.makedirs(t.file("lib/tidemark/python"))
    os.makedirs(t.file("bin"))
    program, library = t.file("lib/tidemark/tidemark"), t.file("lib/tidemark/libtidemark.so")
    shutil.copy(t.tidemark, program)
    shutil.copy(t.library, library)
    os.symlink(program, t.file("bin/tidemark"))
    module = t.file("lib/tidemark/python")
    shutil.copytree(os.path.join(BINDINGS, "tidemark"), os.path.join(module, "tidemark"),
                    ignore=shutil.ignore_patterns("__pycache__"))
    t.plain(program, "run", "--quiet", "-o", t.file("x.tide"), PYTHON, write(t, "looks.py", LOOKS), env={"PYTHONPATH": ""})
    t.equal("module", t.stdout.splitlines()[0], module)
    t.plain(PYTHON, "-c", "from tidemark import _tool; print(_tool.find())", env={"PYTHONPATH": module, "PATH": "/nowhere"})
    t.equal("program", t.stdout.strip(), t.file("bin/tidemark"))


# Scopes

def test_scopes(t):
    program = write(t, "scopes.py", C_HEAP + """
import asyncio, os, threading, time
def keep(size):
    c.malloc(size)
def passing(size):
    c.free(c.malloc(size))
keep(1)
for i in range(10):
    with tidemark.scope("event"):
        keep(1000 * (i + 1))
        passing(100000)
@tidemark.scope("decorated")
def decorated(n):
    keep(10)
    return n and decorated(n - 1)
decorated(2)
@tidemark.scope("awaited")
async def awaited():
    await asyncio.sleep(0)
    return 5
async def several():
    return await asyncio.gather(*(awaited() for _ in range(3)))
assert asyncio.run(several()) == [5, 5, 5] and awaited.__name__ == "awaited"
def in_thread():
    try:
        with tidemark.scope("thread"):
            keep(77)
            raise KeyError
    except KeyError:
        pass
for _ in range(2):
    thread = threading.Thread(target=in_thread)
    thread.start()
    thread.join()
while len(os.listdir("/proc/self/task")) > 1:
    time.sleep(0.001)  # a thread frees more after the join
tidemark.scope("open").__enter__()
tidemark.scope("open").__enter__()
keep(300)
tidemark.scope("open").__exit__()
block = c.malloc(500)
with tidemark.scope("frees"):
    c.free(block)
tidemark.mark("no scope")
""")
    profile = t.record(PYTHON, program)
    answer = t.ask(profile, "marks", "--scopes")
    t.equal("schema", answer["schema"], "tidemark.scopes/1")
    scopes = {s["name"]: s for s in answer["scopes"]}
    figures = {name: [s[k] for k in ("entered", "open", "live_bytes", "live_blocks", "most_bytes", "peak_bytes", "allocations")]
               for name, s in scopes.items() if name not in ("awaited", "thread")}
    t.equal("entered, open, live, blocks, most, peak, allocations", figures, {
        "event": [10, 0, 55000, 10, 10000, 110000, 20],
        "decorated": [3, 0, 30, 3, 30, 30, 3],
        "open": [2, 1, 300, 1, 300, 300, 1],
        "frees": [1, 0, -500, -1, -500, 0, 0],
    })
    t.equal("in coroutines", [scopes["awaited"][k] for k in ("entered", "open")], [3, 0])
    t.equal("in threads", [scopes["thread"][k] for k in ("entered", "open")], [2, 0])
    t.equal("largest first", answer["scopes"][0]["name"], "event")
    marks = t.ask(profile, "marks")["marks"]
    for name, s in scopes.items():
        rss = depth = 0  # of the outermost: no two threads are in one at once
        for m in marks:
            if m["label"] == name:
                rss, depth = rss - m["rss_bytes"] * (depth == 0), depth + 1
            elif m["label"] == name + ".end":
                rss, depth = rss + m["rss_bytes"] * (depth == 1), depth - 1
        if not s["open"]:
            t.equal("RSS of " + name, s["rss_bytes"], rss)
    t.equal("one of them", [s["name"] for s in t.ask(profile, "marks", "--scopes", "--label", "frees")["scopes"]], ["frees"])
    text = t.run("marks", profile, "--scopes")[0]
    t.true("as text", re.search(r"^event +10 +0 +\S+ \S+ +53\.7 KiB +10 +9\.8 KiB +107\.4 KiB", text, re.MULTILINE), text)
    t.true("told of", "--scopes" in t.run("marks", profile)[0])
    t.equal("no such scope", t.run("marks", profile, "--scopes", "--label", "no scope")[1:],
            ("tidemark marks: no scope is called 'no scope'; without --label all are shown\n", 1))
    t.equal("no picture of them", t.run("marks", profile, "--scopes", "--plot", "x.svg")[2], 2)
    none = t.record(PYTHON, "-c", "import tidemark; tidemark.mark('alone')")
    t.equal("without any", t.ask(none, "marks", "--scopes")["scopes"], [])
    t.true("as text", "no scopes;" in t.run("marks", none, "--scopes")[0])


def scopes_of(t, profile, *fields):
    return {s["name"]: [s[k] for k in fields] for s in t.ask(profile, "marks", "--scopes")["scopes"]}


def test_scopes_within_their_own(t):
    """What lies in several of one name counts once, also if the outer ones are never left."""
    program = write(t, "recursion.py", C_HEAP + """
@tidemark.scope("recursive")
def recursive(n):
    c.malloc(100000)
    if n > 1:
        recursive(n - 1)
        c.free(c.malloc(7))
recursive(4)
@tidemark.scope("tree")
def tree(n):
    c.malloc(10)
    for _ in range(2 if n else 0):
        tree(n - 1)
tree(3)
tree(3)
tidemark.mark("torn")
for size in 1000, 2000:
    with tidemark.scope("torn"):
        c.malloc(size)
        with tidemark.scope("torn"):
            c.malloc(50)
c.malloc(9)
""")
    t.equal("entered, open, live, blocks, allocations, most", scopes_of(
        t, t.record(PYTHON, program), "entered", "open", "live_bytes", "live_blocks", "allocations", "most_bytes"), {
            "recursive": [4, 0, 400000, 4, 7, 400000],
            "tree": [30, 0, 300, 30, 30, 150],
            "torn": [5, 1, 3100, 4, 4, 2050],
        })


BODIES = C_HEAP + """
import asyncio, functools, types
@tidemark.scope("generator")
def generator(n):
    "its words"
    got = []
    for i in range(n):
        c.malloc(1000)
        try:
            got.append((yield i))
        except KeyError as e:
            got.append(e.args[0])
    return got
assert (generator.__name__, generator.__doc__) == ("generator", "its words")
unused = generator(5)                                   # no step: no scope
assert list(generator(3)) == [0, 1, 2]
g = generator(3)
assert [next(g), g.send("a"), g.throw(KeyError("b"))] == [0, 1, 2]
try:
    g.send("c")
except StopIteration as e:
    assert e.value == ["a", "b", "c"]
g = generator(9)
next(g)
g.close()
assert next(g, None) is None

@tidemark.scope("async")
async def values(n):
    got = []
    try:
        for i in range(n):
            c.malloc(100)
            await asyncio.sleep(0)
            try:
                got.append((yield i))
            except KeyError as e:
                got.append(e.args[0])
    finally:
        await asyncio.sleep(0)
        ended.append(got)
ended = []
async def use():
    assert [v async for v in values(3)] == [0, 1, 2]
    v = values(3)
    assert [await v.asend(None), await v.asend("a"), await v.athrow(KeyError("b"))] == [0, 1, 2]
    try:
        await v.asend("c")
        assert False
    except StopAsyncIteration:
        pass
    v = values(9)
    await v.__anext__()
    await v.aclose()
    v = values(9)
    await v.__anext__()
    try:
        await v.athrow(OSError("from outside"))
        assert False
    except OSError as e:
        assert e.args == ("from outside",)
    global left
    left = values(9)                                    # to the loop's end
    await left.__anext__()
asyncio.run(use())
assert ended == [[None] * 3, ["a", "b", "c"], [], [], []], ended

@tidemark.scope("old")
@types.coroutine
def old():
    c.malloc(5)
    yield
    c.malloc(5)
async def waits():
    await old()
asyncio.run(waits())

def two(a, b):
    yield c.malloc(a)
    yield c.malloc(b)
list(tidemark.scope("partial")(functools.partial(two, 20))(30))

@tidemark.paused()
def quiet():
    yield c.malloc(64 << 20)
@tidemark.paused()
async def quiet_too():
    await asyncio.sleep(0)
    c.malloc(64 << 20)
async def quiet_values():
    yield c.malloc(64 << 20)
async def use_quiet():
    await quiet_too()
    async for _ in tidemark.paused()(quiet_values)():
        pass
@tidemark.paused()
def quiet_call(n):
    c.malloc(64 << 20)
    if n:
        quiet_call(n - 1)
    c.malloc(64 << 20)
list(quiet())
asyncio.run(use_quiet())
quiet_call(2)
p = tidemark.paused()
with p, p:
    c.malloc(64 << 20)
print("active", int(tidemark.active()))
"""


@cases(version=VERSIONS)
def test_decorators_cover_bodies(t, version):
    python, program = interpreter(version), write(t, "bodies.py", BODIES)
    t.equal("without the recorder", t.plain(python, program, env=ON_PATH), ("active 0\n", "", 0))
    profile = t.record(python, program)
    t.equal("resumed", t.stdout, "active 1\n")
    t.equal("entered, open", scopes_of(t, profile, "entered", "open"),
            {"generator": [3, 0], "async": [5, 0], "old": [1, 0], "partial": [1, 0]})
    scopes = scopes_of(t, profile, "live_bytes")
    t.true("generators' blocks", 7000 <= scopes["generator"][0] < 14000, scopes)
    t.true("asynchronous ones'", scopes["async"][0] >= 900, scopes)
    t.true("partial ones'", scopes["partial"][0] >= 50, scopes)
    t.true("nothing of what was paused", t.report(profile)["totals"]["peak_bytes"] < 64 << 20)


# What is wrong is said the same way, recorded or not

WRONG = """
import tidemark
def f(): pass
def attempt(what):
    try:
        what()
    except TypeError as e:
        print(e)
    else:
        print("taken")
attempt(lambda: tidemark.mark("stage", size=3, name="load"))
attempt(lambda: tidemark.mark("stage", name=None))
attempt(lambda: tidemark.mark("stage", name=10 ** 5000))
attempt(lambda: tidemark.mark_value("stage", "a key", [1]))
attempt(lambda: tidemark.mark("stage", size=3, flag=True, text="2.5"))
attempt(lambda: tidemark.mark("\\ud800", size=3))
attempt(lambda: tidemark.snapshot(3.5))
attempt(lambda: tidemark.scope(f))
attempt(lambda: tidemark.paused(f))
attempt(lambda: tidemark.scope("x")(classmethod(f)))
attempt(lambda: tidemark.paused()(3))
"""


def test_wrong_calls(t):
    program = write(t, "wrong.py", WRONG)
    wanted = """mark: name is 'load', which is no number
mark: name is None, which is no number
mark: name is too large
mark: a key is [1], which is no number
taken
taken
expected str, bytes or os.PathLike object, not float
scope takes a name, not a function; as a decorator write @tidemark.scope("f")
paused takes no argument; as a decorator write @tidemark.paused()
@tidemark.scope() stands before a function, this is of type classmethod; write it below @classmethod and the like
@tidemark.paused() stands before a function, this is of type int; write it below @classmethod and the like
"""
    t.equal("without the recorder", t.plain(PYTHON, program, env=ON_PATH), (wanted, "", 0))
    profile = t.record(PYTHON, program)
    t.equal("recorded", t.stdout, wanted)
    t.equal("marks", [m["label"] for m in t.ask(profile, "marks")["marks"]], ["stage", "?"])


# python3 -m tidemark

def module(t, *arguments, env=None):
    return t.plain(PYTHON, "-m", "tidemark", *arguments, env={**ON_PATH, "TIDEMARK": t.tidemark, **(env or {})})


def test_run_module(t):
    script = write(t, "script.py", "import sys, tidemark\nprint(sys.argv[1:], tidemark.active(), sys.flags.dev_mode)\nsys.exit(3)\n")
    profile = t.file("x.tide")
    options = ("--quiet", "-o", profile, "--python", "off", "--within=nothing")
    t.equal("a script", module(t, "run", *options, script, "-o", "its own"), ("['-o', 'its own'] True False\n", "", 3))
    t.equal("its command", t.report(profile)["command"][-3:], [script, "-o", "its own"])
    os.remove(profile)
    t.equal("a module", module(t, "run", *options, "-m", "script", "a", env={"PYTHONPATH": BINDINGS + ":" + t.dir}),
            ("['a'] True False\n", "", 3))
    t.equal("code", module(t, "run", *options, "-c", "import sys; print(sys.argv)", "-m")[0], "['-c', '-m']\n")
    t.equal("behind --", module(t, "run", *options, "--", script), ("[] True False\n", "", 3))
    t.plain(PYTHON, "-X", "dev", "-m", "tidemark", "run", *options, script, env={**ON_PATH, "TIDEMARK": t.tidemark})
    t.equal("options of the interpreter", t.stdout, "[] True True\n")
    t.equal("another command", module(t, "--version"), t.run("--version"))
    t.equal("help", module(t, "run", "--help")[0], t.run("run", "--help")[0])
    t.equal("no script", module(t, "run", "--quiet")[2], 2)


def test_run_module_finds_the_program(t):
    write(t, "find.py", "from tidemark import _tool\nprint(_tool.find())")
    own = {**ON_PATH, "TIDEMARK": ""}
    t.equal("in the source tree", os.path.basename(t.plain(PYTHON, t.file("find.py"), env=own)[0].strip()), "tidemark")
    alone = t.file("alone/one/two")
    shutil.copytree(os.path.join(BINDINGS, "tidemark"), os.path.join(alone, "tidemark"))
    elsewhere = {"PYTHONPATH": alone, "TIDEMARK": "", "PATH": os.path.dirname(t.tidemark)}
    t.equal("on PATH", t.plain(PYTHON, t.file("find.py"), env=elsewhere)[0].strip(), t.tidemark)
    t.equal("nowhere", t.plain(PYTHON, "-m", "tidemark", "run", "x.py", env={**elsewhere, "PATH": "/nowhere"}),
            ("", "python3 -m tidemark: the program tidemark is not found; put it on PATH, or its path into the variable "
             "TIDEMARK\n", 1))
    t.equal("misnamed", module(t, "run", "x.py", env={"TIDEMARK": "/nowhere/tidemark"}),
            ("", "python3 -m tidemark: TIDEMARK is /nowhere/tidemark, which is not a program that can be run\n", 1))


def test_options_with_a_value_are_known(t):
    """Those of src/cli/run_options.c and record_options.h that take a word of their own are those of tidemark/__main__.py."""
    wanted = set()
    for name in ("run_options.c", "record_options.h"):
        with open(os.path.join(ROOT, "src", "cli", name)) as source:
            wanted |= {"--" + option for option in re.findall(r'"([\w-]+)", required_argument', source.read())}
    done = subprocess.run([PYTHON, "-c", "from tidemark.__main__ import WITH_VALUE; print(' '.join(WITH_VALUE))"],
                          env={**os.environ, **ON_PATH}, stdout=subprocess.PIPE, text=True)
    t.equal("options", set(done.stdout.split()), wanted | {"-o"})


# pytest


def test_ipython_magic(t):
    if t.plain(PYTHON, "-c", "import IPython")[2]:
        raise Skipped("IPython is not installed for " + PYTHON)
    program = write(t, "cells.py", C_HEAP + """
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
shell.run_line_magic("load_ext", "tidemark")
shell.push({"c": c})
def cell(line, text):
    shell.run_cell("%%tidemark " + line + "\\n" + text)
cell("0", "x = 1")  # what a first cell imports
cell("3", "kept = c.malloc(5000000)\\nc.free(c.malloc(3000000))\\n")
cell("many", "x = 2")
print("x is", shell.user_ns["x"])
""")
    environment = {"IPYTHONDIR": t.dir, "HOME": t.dir}
    profile = t.record(PYTHON, program, env=environment)
    found = re.findall(r"tidemark: (\S+ \S+) at its highest, (\S+ \S+) left in (?:-?1 block|\S+ blocks), [0-9,]+ allocations?\n",
                       t.stdout)
    t.equal("highest and left", found[1:], [("7.6 MiB", "4.8 MiB")])
    t.true("what is left, by line", re.search(r"left, by line:\n +4\.8 MiB in 1 block  \S+:1 ", t.stdout), t.stdout)
    t.true("allocated, by line", re.search(r"allocated, by line:\n +4\.8 MiB in 1 block  \S+:1 .*\n +2\.9 MiB in 1 block  \S+:2 ",
                                           t.stdout), t.stdout)
    t.true("wrong words", "%%tidemark: a kernel that is recorded takes a number of lines, not 'many'" in t.stdout)
    t.true("is not run then", "x is 1" in t.stdout)
    names = [s["name"] for s in t.ask(profile, "marks", "--scopes")["scopes"]]
    t.equal("cells are scopes", sorted(names), ["cell 1", "cell 2"])
