"""Python frames: stacks as the interpreter itself tells them, in order with the native ones, on every interpreter."""
import glob
import json
import os
import re
import shutil
import zipfile

from harness import NO_ARENAS, PROGRAMS, ROOT, Skipped, cases

MODES = ((), ("--python=objects",))  # how code objects are told apart differs
NEW = os.environ.get("TIDEMARK_PYTHONS", os.path.join(ROOT, "build", "pythons"))  # scripts/new-pythons.sh; make test-new-pythons


def new_interpreter(version):
    return os.path.join(NEW, version, "usr", "bin", "python" + version)


VERSIONS = ("3.8", "3.9", "3.10", "3.11", "3.12", "3.13", "system") + tuple(v for v in ("3.14", "3.15") if os.path.exists(new_interpreter(v)))
LOOP = "_PyEval_EvalFrameDefault"
SMALLEST = 1000000


def interpreter(version):
    if version == "system":
        found = ["/usr/bin/python3"]
    elif os.path.exists(new_interpreter(version)):
        found = [new_interpreter(version)]
    else:
        found = sorted(glob.glob(os.path.expanduser("~/.pyenv/versions/%s.*/bin/python3" % version)))
    if not found or not os.path.exists(found[-1]):
        raise Skipped("Python %s is not installed" % version)
    return found[-1]


def expected(path):
    with open(path) as lines:
        return [json.loads(line) for line in lines]


def python_frames(stack):
    return [[f["file"], f["line"], f["function"]] for f in stack if f["kind"] == "python"]


def by_stack(t, profile, pid, *arguments):
    """{Python stack: (bytes, [whole stack, ...])} of the blocks that the program tells of: all others are small."""
    found = {}
    rows = t.report(profile, "live", "--by", "stack", "--process", str(pid), "--top", "500", *NO_ARENAS, *arguments)["rows"]
    t.true("no large ones are left out", len(rows) < 500 or rows[-1]["bytes"] < SMALLEST, len(rows))
    for row in rows:
        if row["bytes"] >= SMALLEST:
            size, stacks = found.setdefault(json.dumps(python_frames(row["stack"])), (0, []))
            found[json.dumps(python_frames(row["stack"]))] = size + row["bytes"], stacks + [row["stack"]]
    return {stack: found[stack] for stack in found if stack != "[]"}


def groups(stack):
    """Runs of Python frames, each with the native function that follows it outwards."""
    found, run = [], 0
    for frame in stack:
        if frame["kind"] == "python":
            run += 1
        elif run and frame["kind"] == "native":
            found.append((run, frame["function"]))
            run = 0
    return found + ([(run, None)] if run else [])


def check_native(t, stack, version, folded):
    if folded:
        left = [f["function"] for f in stack if re.match(r"(lib)?python3", f["module"] or "")]
        t.equal("C code of the interpreter in a folded stack", left, [])
        return
    for run, function in groups(stack):
        # Debian's is stripped: parts of the loop have no name there.
        t.true("run by the evaluation loop",
               function == LOOP or (version in ("system", "3.14", "3.15") and function and "+0x" in function), (function, stack))
        t.true("one frame a loop", run == 1 or version not in ("3.8", "3.9", "3.10"), (run, stack))


def check_callbacks(t, stack):
    """Python calls qsort, which calls Python, which calls qsort, which calls Python."""
    order = [f["function"].split(".")[-1] for f in stack
             if f["kind"] == "python" or re.match("_*qsort(_r)?$", f["function"])]
    order = ["qsort" if "qsort" in f else f for f in order]
    order = [f for i, f in enumerate(order) if i == 0 or order[i - 1] != f]
    t.equal("order", order, ["probe", "by_probe", "qsort", "sort_with", "by_probe", "qsort", "sort_with", "callbacks",
                             "main", "<module>"])


@cases(version=VERSIONS, opts=MODES)
def test_stacks_are_the_interpreters_own(t, version, opts):
    python = interpreter(version)
    out = t.file("expected")
    profile = t.record(python, os.path.join(PROGRAMS, "python_stacks.py"), out, opts=opts)
    probes = expected(out)
    t.true("at least 25 cases", len({p["case"] for p in probes}) >= 25, len({p["case"] for p in probes}))
    t.equal("processes", len({p["pid"] for p in probes}), 2)
    nested = 0
    for pid in {p["pid"] for p in probes}:
        want, case = {}, {}
        for p in (p for p in probes if p["pid"] == pid):
            stack = json.dumps(p["stack"])
            want[stack] = want.get(stack, 0) + p["size"]
            case[stack] = p["case"]
        for view, arguments in (("as recorded", ["--no-fold"]), ("folded", [])):
            if opts and view == "folded":
                continue  # small objects that were made in the same lines are part of the rows then
            got = by_stack(t, profile, pid, *arguments)
            for stack in want:
                if stack not in got or got[stack][0] != want[stack]:
                    t.equal("%s (%s): bytes at %s" % (case[stack], view, stack), got.get(stack, (0,))[0], want[stack])
            t.equal("stacks that should not be there (%s)" % view, sorted(set(got) - set(want)), [])
            for stack in (s for python in got for s in got[python][1]):
                check_native(t, stack, version, view == "folded")
            for stack in (s for p in got for s in got[p][1] if case.get(p) == "callbacks" and p.count("sort_with") > 1):
                check_callbacks(t, stack)
                nested += 1
    t.true("callbacks within callbacks", nested)
    t.equal("stacks cut off or incomplete", t.report(profile)["totals"]["truncated_stacks"], 0)


def between(stack):
    """For each pair of Python frames with native ones between: the names of those of the interpreter, and of the others."""
    found, run = [], None
    for frame in stack:
        if frame["kind"] == "python":
            if run and (run[0] or run[1]):
                found.append(run)
            run = [], []
        elif run and frame["kind"] == "native":
            run[0 if re.match(r"(lib)?python3", frame["module"] or "") else 1].append(frame["function"])
    return found


CALLS_THROUGH_C = """import ctypes
malloc = ctypes.CDLL(None).malloc
def deep(n):
    if n:
        return max([n], key=lambda k: deep(n - 1))  # by C code of the interpreter
    malloc(2000000)
    return 1
compare = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)(lambda a, b: deep(3) and 0)
ctypes.CDLL(None).qsort(ctypes.create_string_buffer(16), 2, 8, compare)
"""


@cases(version=VERSIONS)
def test_interpreter_between_python_frames(t, version):
    """What the interpreter does between two Python frames is one frame, its loop; C functions of others stay, and so does what
    is outside of all Python frames, or within."""
    program = t.file("x.py")
    with open(program, "w") as out:
        out.write(CALLS_THROUGH_C)
    profile = t.record(interpreter(version), program)
    rows = t.report(profile, "live", "--by", "stack", "--no-fold")["rows"]
    stack = next(r["stack"] for r in rows if r["bytes"] == 2000000)
    runs = between(stack)
    t.true("max was called thrice, qsort once", len(runs) >= 4, stack)
    t.equal("calls of the loop", [len(own) for own, _ in runs], [1] * len(runs))
    if version != "system":
        t.equal("which are that", {own[0] for own, _ in runs}, {LOOP})
    t.equal("calls of qsort", sum(any("qsort" in f for f in others) for _, others in runs), 1)
    native = [f["function"] for f in stack if f["kind"] == "native"]
    t.true("from the start of the program", "Py_BytesMain" in native and native[-1] == "_start", native)
    t.equal("native only", [f["function"] for f in next(
        r["stack"] for r in t.report(profile, "live", "--by", "stack", "--native-only")["rows"] if r["bytes"] == 2000000)
        if f["kind"] == "native"], native)


def test_program_that_has_the_interpreter_in_it(t):
    """Of a program that is more than an interpreter, nothing is left out."""
    program, python = t.file("x.py"), t.file("calculator")
    with open(program, "w") as out:
        out.write(CALLS_THROUGH_C)
    shutil.copy(os.path.realpath("/usr/bin/python3"), python)
    profile = t.record(python, program)
    rows = t.report(profile, "live", "--by", "stack", "--no-fold")["rows"]
    stack = next(r["stack"] for r in rows if r["bytes"] == 2000000)
    others = [f for _, f in between(stack)]
    t.true("more than the loop", others and min(map(len, others)) > 1, stack)


@cases(version=VERSIONS)
def test_ends_with_threads_at_work(t, version):
    """The interpreter frees the states of its threads while they allocate: none of them may be looked at."""
    python = interpreter(version)
    program = os.path.join(PROGRAMS, "python_ends.py")
    for how, status in (("exit", 0), ("fork", 0), ("_exit", 3), ("raise", 4), ("signal", 143)):
        profile = t.record(python, "-W", "ignore", program, how, status=status)
        t.equal("stderr", t.stderr, "")
        t.true("allocations", t.report(profile)["totals"]["allocations"] > 1000)


NATIVE_PATHS = """import collections, ctypes, json, os, random, sys
call = ctypes.PyDLL(sys.argv[1]).call
call.argtypes = [ctypes.c_char_p]
def first(path):
    call(path)
def second(path):
    call(path)
random.seed(int(sys.argv[2]))
calls, path = collections.Counter(), ''
for i in range(20000):
    path = path[:random.randrange(len(path) + 1)] + ''.join(random.choices('abc', k=random.randrange(4)))
    function = random.choice((first, first, first, first, second))
    function(path[:12].encode())
    calls[function.__name__ + ' ' + path[:12]] += 1
with open(sys.argv[3], 'w') as out:
    json.dump(calls, out)
os._exit(0)
"""


@cases(version=VERSIONS, seed=(1, 2))
def test_native_frames_inside_python_ones(t, version, seed):
    """Each native stack below each Python line has its own count, however the one before it went."""
    library = t.build("native_paths.c", shared=True)
    script, told = t.file("paths.py"), t.file("calls.json")
    with open(script, "w") as out:
        out.write(NATIVE_PATHS)
    profile = t.record(interpreter(version), script, library, str(seed), told)
    found = {}
    for row in t.report(profile, "live", "--by", "stack", "--top", "0", "--min", "0", "--within", "^call$")["rows"]:
        names = [f["function"] for f in row["stack"]]
        python = [f["function"] for f in row["stack"] if f["kind"] == "python"]
        key = python[0] + " " + "".join(f for f in reversed(names[:names.index("call")]) if f in "abc")
        found[key] = found.get(key, 0) + row["count"]
    t.equal("blocks by stack", found, json.load(open(told)))


@cases(version=("3.8", "3.11", "3.12", "3.13"))
def test_embedded(t, version):
    """libpython comes with dlopen and goes with dlclose, again and again (3.12 itself does not survive that)."""
    python = interpreter(version)
    library = glob.glob(os.path.join(os.path.dirname(python), "..", "lib", "libpython%s.so.1.0" % version))
    if not library:
        raise Skipped("there is no libpython%s.so" % version)
    rounds = 1 if version == "3.12" else 3
    profile = t.record(t.build("embeds_python.c"), library[0], str(rounds),
                       env={"PYTHONHOME": os.path.dirname(os.path.dirname(python))})
    rows = [r for r in t.report(profile, "live", "--by", "stack")["rows"] if r["bytes"] % 30000 == 0]
    t.equal("blocks of Python's", sum(r["count"] for r in rows), rounds)
    for row in rows:
        names = [f["function"] for f in row["stack"] if f["kind"] == "python"]
        t.equal("Python frames", names, ["in_python", "<module>"])
        functions = [f["function"] for f in row["stack"]]
        t.true("called by main", functions.index("<module>") < functions.index("embed") < functions.index("main"),
               functions)
    t.equal("outside", t.total(t.report(profile), "outside"), (1000 + 4000 * rounds, 1 + 4 * rounds))


@cases(how=("lingers", "stays"))
def test_embedded_and_threads_at_the_end(t, how):
    """If Python has ended and other threads run, the program is not made to wait, and what asks for its end says so.
    A program that never ends its interpreter is scanned like any other."""
    python = interpreter("3.11")
    library = glob.glob(os.path.join(os.path.dirname(python), "..", "lib", "libpython3.11.so.1.0"))
    if not library:
        raise Skipped("there is no libpython3.11.so")
    profile = t.record(t.build("embeds_python.c"), library[0], "1", how,
                       env={"PYTHONHOME": os.path.dirname(os.path.dirname(python))})
    totals = t.ask(profile, "leaks")["totals"]
    _, stderr, status = t.run("report", profile, "--at", "exit")
    if how == "stays":
        t.equal("not classified, status", (totals["unclassified_bytes"], status), (0, 0))
        return
    t.equal("not classified", totals["unclassified_bytes"], totals["bytes"])
    t.true("the reason is there", status == 2 and stderr.count("\n") == 1 and
           "other threads ran on after its Python interpreter had ended" in stderr, (status, stderr))


@cases(version=VERSIONS, objects=("pools", "watched", "malloc"))
def test_code_at_addresses_used_before(t, version, objects):
    """Compiled, run once and dropped: the next has the addresses of the last, and of all its parts."""
    program = t.file("drops.py")
    with open(program, "w") as out:
        out.write("def by_file(i): exec(compile('bytearray(200000)', 'file%04d.py' % i, 'exec'))\n"
                  "def by_name(i):\n"
                  "    exec(compile('def f%04d(): bytearray(300000)\\nf%04d()' % (i, i), 'name.py', 'exec'), {})\n"
                  "def by_line(i): exec(compile('\\n' * i + 'bytearray(400000)', 'line.py', 'exec'))\n"
                  "def by_copy(i): exec(by_copy.code.replace(co_filename='copy%04d.py' % i))\n"
                  "by_copy.code = compile('bytearray(500000)', 'copy.py', 'exec')\n"
                  "def by_path(i): exec(compile('bytearray(600000)', 'in%04d/a_package/of_some/__init__.py' % i, 'exec'))\n"
                  "def by_end(i):\n"  # names at every place, also across the ends of pages
                  "    by_end.held += ['held%04d.py' % i] * (i % 2)\n"
                  "    exec(by_end.code.replace(co_filename='ends%04d.py' % i))\n"
                  "by_end.held, by_end.code = [], compile('bytearray(700000)', 'ends.py', 'exec')\n"
                  "for kind in by_file, by_name, by_line, by_copy, by_path:\n"
                  "    for i in range(100): kind(i)\n"
                  "for i in range(1000): by_end(i)\n")
    profile = t.record(interpreter(version), program, opts=["--python=objects"] if objects == "watched" else [],
                       env={"PYTHONMALLOC": "malloc"} if objects == "malloc" else {})
    got, head = {}, 33 if version == "3.15" else 1  # its bytearray has a bytes in it
    rows = t.report(profile, "total", "--by", "stack", "--no-fold", "--top", "2000", "--min", "0")["rows"]
    t.true("no large ones are left out", len(rows) < 2000 or rows[-1]["bytes"] < 200000, len(rows))
    for row in rows:
        if row["bytes"] % row["count"] == 0 and row["bytes"] // row["count"] in range(200000 + head, 700001 + head, 100000):
            place = tuple(python_frames(row["stack"])[0])
            got[place] = got.get(place, 0) + row["count"]
    want = {("ends%04d.py" % i, 1, "<module>"): 1 for i in range(1000)}
    for i in range(100):
        want.update({("file%04d.py" % i, 1, "<module>"): 1, ("name.py", 1, "f%04d" % i): 1,
                     ("line.py", i + 1, "<module>"): 1, ("copy%04d.py" % i, 1, "<module>"): 1,
                     ("in%04d/a_package/of_some/__init__.py" % i, 1, "<module>"): 1})
    t.equal("allocations by file, line and name that differ", sorted(set(got.items()) ^ set(want.items()))[:10], [])


def test_wherever_code_comes_from(t):
    """Files with odd names, an archive, the command line, stdin: as the interpreter calls them."""
    code = "import ctypes\nm = ctypes.CDLL(None).malloc\ndef f():\n    m(54321)\nf()\n"
    python = interpreter("3.8")  # keeps names as they are given
    odd = [t.file(name) for name in ("a name.py", "naïve 文件.py", "new\nline.py")]
    for path in odd:
        with open(path, "w") as out:
            out.write(code)
    archive = t.file("packed.pyz")
    with zipfile.ZipFile(archive, "w") as out:
        out.writestr("__main__.py", code)
    ways = [([path], path) for path in odd]
    ways += [([archive], archive + "/__main__.py"), (["-c", code], "<string>"), (["-X", "dev", odd[0]], odd[0])]
    for arguments, file in ways:
        profile = t.record(python, *arguments)
        rows = [r for r in t.report(profile, "live", "--by", "stack", "--top", "0", "--min", "0")["rows"] if r["bytes"] == 54321]
        # An archive is run by a module of Python's own.
        inner = [python_frames(r["stack"])[:2] for r in rows]
        t.equal("stacks of %r" % arguments, inner, [[[file, 4, "f"], [file, 5, "<module>"]]])


@cases(how=((), ("confined",)))
def test_is_not_unloaded_while_it_is_read(t, how):
    library = t.build("unloads_python.c", "-DLIBRARY", shared=True)
    t.record(t.build("unloads_python.c"), library, *how, status=3)


@cases(what=("sigaction", "dlclose", "fork"))
def test_is_read_again(t, what):
    """A handler jumps out of a hook that asks it; or a child is made while another thread unloads something."""
    plugin = [t.build("leaves_python.c", "-DPLUGIN", shared=True)] if what == "fork" else []
    t.record(t.build("leaves_python.c", "-rdynamic"), what, *plugin, status=3)


@cases(version=("3.12", "3.13"))
def test_state_of_nobody(t, version):
    """What the interpreter says is this thread's state is no such thing: it is the recorder's own memory."""
    home = os.path.dirname(os.path.dirname(interpreter(version)))
    library = os.path.join(home, "lib", "libpython%s.so.1.0" % version)
    profile = t.record(t.build("mistaken_state.c", "-O1", "-rdynamic", "-ldl"), library,
                       env={"PYTHONHOME": home, "PYTHONDONTWRITEBYTECODE": "1"})
    t.equal("blocks", t.total(t.report(profile), "allocates"), (100100, 100))
    t.true("Python frames", any(f["kind"] == "python" for r in t.report(profile, "live", "--by", "stack")["rows"]
                                for f in r["stack"]))


def fake(t, *flags):
    profile = t.record(t.build("fake_python.c", "-rdynamic", *flags), status=3)
    t.equal("blocks", t.total(t.report(profile), "allocates"), (10000, 100))
    return t.report(profile)["notes"]


def test_interpreters_that_are_not_what_they_seem(t):
    """States and frames that lead nowhere: nothing is read there, native stacks go on, a note says why."""
    for version in ("0x030800f0", "0x030900f0", "0x030a00f0", "0x030b02f0", "0x030c01f0"):
        notes = fake(t, "-DVERSION=" + version)
        t.true("a note for " + version, len(notes) == 1 and "does not have the layout of its release" in notes[0], notes)
    notes = fake(t, "-DVERSION=0x030d00f0", "-DCOOKIE")
    t.true("offsets that make no sense", len(notes) == 1 and "does not have the layout of its release" in notes[0], notes)
    notes = fake(t, "-DVERSION=0x030d00f0", "-DCOOKIE", "-DFREE_THREADED")
    t.true("without a lock", len(notes) == 1 and "without the global interpreter lock" in notes[0], notes)
    for version in ("0x030e00f0", "0x030f00f0"):
        notes = fake(t, "-DVERSION=" + version, "-DCOOKIE")
        t.true("offsets that make no sense, " + version, len(notes) == 1 and "does not have the layout of its release" in notes[0], notes)
        notes = fake(t, "-DVERSION=" + version, "-DCOOKIE", "-DFREE_THREADED")
        t.true("without a lock, " + version, len(notes) == 1 and "without the global interpreter lock" in notes[0], notes)
    for version, name in (("0x031000f0", "3.16.0"), ("0x030f00b1", "3.15.0"), ("0x030700f0", "3.7.0"), ("0x030c00a1", "3.12.0"),
                          ("0", "0.0.0")):
        notes = fake(t, "-DVERSION=" + version)
        t.true("a note for " + name, len(notes) == 1 and "Python %s is not supported: stacks have native frames only" % name in notes[0],
               notes)
    for text, name in (("2.7.18 (default, ...", "2.7.18"), ("3.6.15 (default, ...", "3.6.15")):
        notes = fake(t, "-DVERSION=0", '-DOLD="%s"' % text)
        t.true("a note for " + name, len(notes) == 1 and "Python %s is not supported: stacks have native frames only" % name in notes[0],
               notes)


def test_module_is_not_for_old_interpreters(t):
    """They cannot parse it: a program that goes on without the module would end with a SyntaxError."""
    for flags, offered in ((['-DOLD="2.7.18 (default, ..."'], False), (['-DOLD="3.5.10 (default, ..."'], False),
                           (['-DOLD="3.6.15 (default, ..."'], True), ([], True)):
        t.record(t.build("fake_python.c", "-rdynamic", "-DVERSION=0x030d00f0", *flags), status=3)
        t.equal("PYTHONPATH of %s" % flags, t.stdout.rstrip("\n").endswith("/bindings/python"), offered)


def test_turned_off(t):
    program = t.file("x.py")
    with open(program, "w") as out:
        out.write("import ctypes\ndef f():\n  ctypes.CDLL(None).malloc(54321)\nf()\n")
    for python, wanted in (("off", []), ("auto", ["f", "<module>"])):
        profile = t.record("/usr/bin/python3", program, opts=["--python=" + python])
        row = [r for r in t.report(profile, "live", "--by", "stack")["rows"] if r["bytes"] == 54321][0]
        t.equal("frames", [f["function"] for f in row["stack"] if f["kind"] == "python"], wanted)
        t.equal("notes", t.report(profile)["notes"], [])
    only = t.report(profile, "live", "--by", "stack", "--python-only")["rows"]
    t.equal("Python only", [[f["function"] for f in r["stack"]] for r in only if r["bytes"] == 54321], [["f", "<module>"]])
    others = {f["function"] for r in t.report(profile, "total", "--by", "stack", "--python-only")["rows"] for f in r["stack"]
              if f["kind"] != "python"}
    t.equal("of those without", others, {"[native]"})
    native = t.report(profile, "live", "--by", "stack", "--native-only")["rows"]
    kinds = {f["kind"] for r in native for f in r["stack"]}
    t.true("native only", "python" not in kinds, kinds)
    functions = [f["function"] for r in native if r["bytes"] == 54321 for f in r["stack"]]
    t.true("with the interpreter's", LOOP in functions, functions)
    row = t.row(t.report(profile, "live"), "f")
    t.equal("charged to the line", row["total_bytes"], 54321)
    for word, sentence in (("maybe", "takes 'auto', 'off' or 'objects'"),):
        _, stderr, status = t.run("run", "--python=" + word, "true")
        t.equal("status of " + word, status, 2)
        t.true("one line about " + word, sentence in stderr and stderr.count("\n") == 1, stderr)


REMEMBERED = 8192  # Python frames of a stack


@cases(version=("3.8", "3.10", "3.11", "3.12", "3.13"), before=(0, 4500))
def test_frames_that_come_at_once(t, version, before):
    """A stack that the recorder meets when it is already deep has all of its frames, whatever it remembered before."""
    program = t.file("deep.py")
    with open(program, "w") as out:
        out.write("import ctypes, sys, threading\n"
                  "m = ctypes.CDLL(None).malloc\n"
                  "def other(n):\n"
                  "    if n: return other(n - 1)\n"
                  "    m(60000)\n"
                  "def down(n):\n"
                  "    if n: return down(n - 1)\n"
                  "    m(50000)\n"
                  "def both():\n"
                  "    m(40000); other(%d); down(5000)\n"
                  "sys.setrecursionlimit(100000)\n"
                  "threading.stack_size(400 << 20)\n"
                  "down(10)\n"
                  "t = threading.Thread(target=both)\n"
                  "t.start()\nt.join()\n" % before)
    rows = t.report(t.record(interpreter(version), program), "live", "--by", "stack")["rows"]
    depths = [[f["function"] for f in r["stack"]].count("down") for r in rows if r["bytes"] == 50000]
    t.equal("frames", sorted(depths), [11, 5001])


@cases(version=("3.8", "3.10", "3.11", "3.12", "3.13"))
def test_more_frames_than_are_remembered(t, version):
    """Outer frames are left out, and counted as such; code that is made without end loses its names, not more."""
    python = interpreter(version)
    program = t.file("deep.py")
    with open(program, "w") as out:
        out.write("import ctypes, sys, threading\n"
                  "m = ctypes.CDLL(None).malloc\n"
                  "def down(n):\n"
                  "    if n % 1000 == 0: m(50000 + n // 1000)\n"
                  "    if n: down(n - 1)\n"
                  "sys.setrecursionlimit(100000)\n"
                  "threading.stack_size(800 << 20)\n"
                  "t = threading.Thread(target=down, args=(12000,))\n"
                  "t.start()\nt.join()\n")
    profile = t.record(python, program)
    rows = {r["bytes"]: r["stack"] for r in t.report(profile, "live", "--by", "stack")["rows"]}
    for n in range(13):
        depth = [f["function"] for f in rows[50000 + n] if f["kind"] == "python"].count("down")
        whole = 12001 - 1000 * n
        t.true("%d frames of %d" % (depth, whole), depth == whole if whole <= REMEMBERED else REMEMBERED // 2 <= depth <= whole, depth)
        inner = next(i for i, f in enumerate(rows[50000 + n]) if f["kind"] == "python")
        own = [f["function"] for f in rows[50000 + n][:inner]]
        t.true("no outer frame is further in", not {"clone3", "start_thread", "thread_run", "pythread_wrapper"} & set(own), own)


def test_no_room_for_more_code(t):
    """With little address space there is room for 2 MiB of names: what comes after has none, and a note says so."""
    program = t.file("many.py")
    with open(program, "w") as out:
        out.write("import ctypes, sys\n"
                  "m = ctypes.CDLL(None).malloc\n"
                  "for i in range(20000):\n"
                  "    exec('def %s_%05d():\\n  m(1000)\\n%s_%05d()' % ('f' * 60, i, 'f' * 60, i))\n"
                  "def LAST():\n"
                  "    m(77777)\n"
                  "LAST()\n".replace("LAST", "last" * 50))
    profile = t.record("/bin/sh", "-c", "ulimit -v 3900000; exec /usr/bin/python3 " + program)
    notes = t.report(profile)["notes"]
    t.true("a note", len(notes) == 1 and "some Python frames have no name" in notes[0], notes)
    rows = t.report(profile, "live", "--by", "stack")["rows"]
    row = [r for r in rows if r["bytes"] == 77777][0]
    t.equal("frames", [f["function"] for f in row["stack"] if f["kind"] == "python"],
            ["[Python code not recorded]", "<module>"])
    blocks = sum(r["count"] for r in rows if any("ffff" in f["function"] or "not recorded" in f["function"]
                                                 for f in r["stack"]) and r["bytes"] >= 1000 * r["count"])
    t.true("every block has its stack", blocks >= 20000, blocks)


@cases(version=VERSIONS)
def test_stacks_of_coroutines_in_c(t, version):
    """Native frames are those of the innermost stack; Python frames that run on others are further out than all of them."""
    python = interpreter(version)
    library, program = t.build("other_stacks.c", "-O1", "-shared", "-fPIC"), t.file("x.py")
    with open(program, "w") as out:
        out.write("import ctypes, sys, threading\n"
                  "run_on, call = ctypes.PyDLL(sys.argv[1]).run_on, ctypes.PYFUNCTYPE(None)\n"
                  "m = ctypes.PyDLL(None).malloc\n"
                  "m.restype, m.argtypes = None, (ctypes.c_size_t,)\n"
                  "def below(): m(3000003)\n"
                  "def above(): m(5000003)\n"
                  "leaf = below\n"
                  "def second(): leaf()\n"
                  "def first():\n"
                  "    global leaf\n"
                  "    for leaf, number in ((below, 2), (above, 6)):\n"
                  "        run_on(on_second, number)\n"
                  "on_first, on_second = call(first), call(second)\n"
                  "def outer(): run_on(on_first, 4)\n"
                  "t = threading.Thread(target=outer)\n"
                  "t.start()\nt.join()\n")
    profile = t.record(python, program, library)
    rows = {r["bytes"]: r["stack"] for r in t.report(profile, "live", "--by", "stack", "--no-fold")["rows"]}
    for size, name in ((3000003, "below"), (5000003, "above")):
        native = max(i for i, f in enumerate(rows[size]) if f["kind"] == "native")
        inner, outer = ([f["function"] for f in part if f["kind"] == "python"] for part in (rows[size][:native], rows[size][native:]))
        t.equal("on its own stack, " + name, inner, [name, "second"])
        t.equal("on others, " + name, outer[:2], ["first", "outer"])


@cases(version=("3.8", "3.11", "3.13"))
def test_no_room_for_any_stack(t, version):
    """A thread whose outermost frame finds no room in the tree of stacks, and which has no Python frames."""
    program = t.file("full.py")
    with open(program, "w") as out:
        out.write("import ctypes, resource\n"
                  "c, thread = ctypes.PyDLL(None), ctypes.c_ulong()\n"
                  "c.malloc.restype, c.malloc.argtypes = None, (ctypes.c_size_t,)\n"
                  "m = c.malloc\n"
                  "def f(depth, path):\n"
                  "    if not depth:\n"
                  "        m(16)\n"
                  "    elif path & 1:\n"
                  "        f(depth - 1, path >> 1)\n"
                  "    else:\n"
                  "        f(depth - 1, path >> 1)\n"
                  "vm = int(open('/proc/self/statm').read().split()[0]) * 4096\n"
                  "resource.setrlimit(resource.RLIMIT_AS, (vm + (8 << 20), resource.RLIM_INFINITY))\n"
                  "for path in range(1 << 17): f(17, path)\n"
                  "resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))\n"
                  "c = ctypes.CDLL(None)\n"
                  "c.pthread_create(ctypes.byref(thread), None, ctypes.cast(c.malloc, ctypes.c_void_p), ctypes.c_void_p(64))\n"
                  "c.pthread_join(thread, None)\n"
                  "print('survived')\n")
    profile = t.record(interpreter(version), program)
    t.equal("it did", (t.stdout, t.status), ("survived\n", 0))
    t.true("cut off, and counted", t.report(profile)["totals"]["truncated_stacks"] > 1000, t.report(profile)["totals"])
    rows = t.report(profile, "total", "--by", "stack", "--top", "0", "--min", "0", "--no-fold")["rows"]
    cut = [r for r in rows if r["stack"][-1]["function"] == "[cut]"]
    t.true("stacks that were cut have their Python line",
           sum(r["count"] for r in cut if [f["function"] for f in r["stack"] if f["kind"] == "python"] == ["f"]) > 1000, cut)


def test_the_python_line_is_charged(t):
    """A table names the innermost Python line; stacks have the C functions beneath it, and --native-only charges them."""
    program = t.file("charged.py")
    with open(program, "w") as out:
        out.write("import ctypes\n"
                  "m = ctypes.CDLL(None).malloc\n"
                  "def keeps():\n"
                  "    m(7000007)\n"
                  "keeps()\n")
    profile = t.record("/usr/bin/python3", program)
    for by in "function", "line":
        row = t.report(profile, "peak", "--by", by)["rows"][0]
        t.equal("by " + by, (row["name"], row["line"], row["self_bytes"] >= 7000007), ("keeps", 4, True))
    row = t.report(profile, "peak", "--by", "file")["rows"][0]
    t.true("by file", row["name"].endswith("charged.py") and row["self_bytes"] >= 7000007, row)
    native = t.report(profile, "peak", "--native-only")["rows"]
    t.equal("natively", [r for r in native if r["name"] == "keeps"], [])
    t.true("natively, a C function", native[0]["self_bytes"] >= 7000007, native[0])
    stack = t.report(profile, "peak", "--by", "stack")["rows"][0]["stack"]
    t.true("the stack begins with C functions", stack[0]["kind"] != "python" and "keeps" in [f["function"] for f in stack], stack)
