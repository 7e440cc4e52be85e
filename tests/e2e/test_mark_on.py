"""run --mark-on FUNCTION: a mark at each entry of a function, in programs that know nothing of it."""
import os
import platform
import shutil

from harness import Skipped, cases

COUNT = 100


def labels(t, profile, *arguments):
    """{label: marks} of one process."""
    counts = {}
    for mark in t.ask(profile, "marks", *arguments)["marks"]:
        counts[mark["label"]] = counts.get(mark["label"], 0) + 1
    return counts


def notes(t, profile):
    return [note for note in t.report(profile)["notes"] if "--mark-on" in note]


def check_events(t, profile, count=COUNT):
    """What event() keeps is known at each of its entries."""
    t.equal("marks", labels(t, profile), {"event": count})
    t.equal("notes", notes(t, profile), [])
    for mark in t.ask(profile, "marks")["marks"]:
        t.equal("index", mark["index"] <= count, True)
    first = t.report(profile, "live", "--at", "event#1")["totals"]
    for n in (1, 2, 50, count):
        at = t.report(profile, "live", "--at", "event#%d" % n)
        t.equal("in event() at #%d" % n, t.total(at, "event"), (100 * (n - 1), n - 1))
        t.equal("allocations at #%d" % n, at["totals"]["allocations"] - first["allocations"], 2 * (n - 1))
    rest = t.report(profile, "live", "--since", "event#50", "--at", "end")
    t.equal("from #50 to the end", t.total(rest, "event"), (100 * (count - 49), count - 49))
    kept = t.stacks(profile, "event")
    t.equal("one stack, whole", [(size, number) for size, number, _ in kept], [(100 * count, count)])
    t.true("it goes through the function to main", kept and "main" in kept[0][2], kept)
    totals = t.report(profile)["totals"]
    t.equal("stacks not followed", (totals["truncated_stacks"], totals["incomplete_stacks"]), (0, 0))


@cases(flags=("-O0", "-O2", "-O2 -no-pie", "-O0 -no-pie", "-O2 -fcf-protection=none", "-O3 -fno-plt"), cc=("gcc", "clang"))
def test_in_the_executable(t, flags, cc):
    """Not exported: its name is in the symbol table alone."""
    program = t.build("entered.c", *flags.split(), cc=cc)
    check_events(t, t.record(program, "event", str(COUNT), opts=("--mark-on", "event")))


@cases(opt=("-O0", "-O2"))
def test_in_a_library(t, opt):
    library = t.build("entered.c", opt, "-DLIBRARY", shared=True)
    folder, name = os.path.split(library)
    program = t.build("entered.c", opt, "-DNO_EVENT", "-L" + folder, "-l:" + name, "-Wl,-rpath," + folder,
                      "-Wl,--no-as-needed", "-Wl,-z,lazy", library)
    check_events(t, t.record(program, "event", str(COUNT), opts=("--mark-on", "event")))


@cases(opt=("-O0", "-O2"))
def test_in_a_library_loaded_later(t, opt):
    library = t.build("entered.c", opt, "-DLIBRARY", shared=True)
    program = t.build("entered.c", opt, "-DNO_EVENT", "-DNO_DIRECT")
    check_events(t, t.record(program, "event", str(COUNT), library, opts=("--mark-on", "event")))
    again = t.record(program, "again", "20", library, opts=("--mark-on", "event"))
    t.equal("loaded 20 times", labels(t, again), {"event": 20})
    relative = t.file("here.so")
    shutil.copy(library, relative)
    check_events(t, t.record(program, "event", str(COUNT), "./here.so", opts=("--mark-on", "event")))


def test_stripped(t):
    """A function that is exported is known without a symbol table; another is not, and that is said."""
    program = t.build("entered.c", "-O2", "-rdynamic", "-s")
    check_events(t, t.record(program, "event", str(COUNT), opts=("--mark-on", "event")))
    profile = t.record(program, "descend", "3", opts=("--mark-on", "descend"))
    t.equal("marks", labels(t, profile), {})
    t.true("a note says so", any("no function descend was found" in note for note in notes(t, profile)), notes(t, profile))


@cases(opt=("-O0", "-O2"), name=("descend", "wide", "adds", "leaps", "handles", "raises"))
def test_what_functions_do(t, opt, name):
    """Recursion (20 calls, 0 to 19 deep), wide vectors, variable arguments, longjmp, signal handlers."""
    with open("/proc/cpuinfo") as about:
        if name == "wide" and " avx " not in about.read():
            raise Skipped("this processor has no AVX")
    program = t.build("entered.c", opt, "-fno-optimize-sibling-calls")
    profile = t.record(program, "handles" if name == "raises" else name, "20", opts=("--mark-on", name))
    t.equal("marks", labels(t, profile), {name: 210 if name == "descend" else 20})
    t.equal("notes", notes(t, profile), [])


def test_registers(t):
    source = {"x86_64": "entered_registers.c", "aarch64": "entered_registers_aarch64.c"}[platform.machine()]
    with open("/proc/cpuinfo") as about:
        if platform.machine() == "x86_64" and " avx " not in about.read():
            raise Skipped("this processor has no AVX")
    for pie in ("-pie", "-no-pie"):
        program = t.build(source, "-O1", pie)
        t.equal("plain", t.plain(program)[2], 0)
        profile = t.record(program, opts=("--mark-on", "looks"))
        t.equal("marks", labels(t, profile), {"looks": 25})


@cases(opt=("-O0", "-O2"))
def test_threads(t, opt):
    program = t.build("entered.c", opt)
    profile = t.record(program, "threads", "500", opts=("--mark-on", "event"))
    t.equal("marks", labels(t, profile), {"event": 8 * 500})
    t.equal("kept", t.total(t.report(profile), "event"), (8 * 500 * 100, 8 * 500))
    last = t.report(profile, "live", "--at", "event#-1")
    t.true("at the last entry all but the last are there", t.total(last, "event")[1] <= 8 * 500 - 1, t.total(last, "event"))


def test_children(t):
    profile = t.record(t.build("entered.c", "-O1"), "forks", "30", opts=("--mark-on", "event"))
    pids = [p["pid"] for p in t.report(profile)["processes"]]
    t.equal("processes", len(pids), 2)
    t.equal("marks", [labels(t, profile, "--process", str(pid)) for pid in pids], [{"event": 30}, {"event": 60}])
    script = "%s event 7; %s event 9; exit 0" % ((t.build("entered.c", "-O1"),) * 2)
    profile = t.record("/bin/sh", "-c", script, opts=("--mark-on", "event"))
    pids = [p["pid"] for p in t.report(profile)["processes"]]
    t.equal("in programs it runs", [labels(t, profile, "--process", str(pid)) for pid in pids],
            [{}, {"event": 7}, {"event": 9}])
    t.equal("found in some is found", notes(t, profile), [])


def test_names(t):
    """Mangled, or as written and without parameters; several at once; never found; never entered."""
    program = t.build("entered_cxx.cpp", "-O2")
    wanted = ("_ZN9Processor5eventEi", "(anonymous namespace)::Hidden::work", "no_such_function", "getpwnam")
    profile = t.record(program, opts=[word for name in wanted for word in ("--mark-on", name)])
    t.equal("marks", labels(t, profile), {wanted[0]: 100, wanted[1]: 2})
    said = notes(t, profile)
    t.equal("one note each", len(said), 2)
    t.true("not found", "no function no_such_function was found" in said[0] and "nm" in said[0], said)
    t.true("not entered", "getpwnam was found, but never entered" in said[1], said)
    at = t.report(profile, "live", "--at", wanted[0] + "#50")
    t.equal("at the 50th", t.total(at, "Processor::event")[0], 4900)
    profile = t.record(program, opts=("--mark-on", "Processor::event", "--mark-on", wanted[0]))
    t.equal("both overloads", labels(t, profile), {"Processor::event": 105})
    t.true("the other name is the same", any("the same function" in note for note in notes(t, profile)), notes(t, profile))


def test_odd_functions(t):
    """What cannot be replaced safely is left alone, and said; the rest works."""
    refused, good = ("tiny", "looping", "inside", "switching"), ("behind", "calling", "branching", "relative")
    for pie in ("-pie", "-no-pie"):
        program = t.build("entered_odd.c", "-O1", pie)
        profile = t.record(program, opts=[word for name in refused + good for word in ("--mark-on", name)])
        t.equal("marks", labels(t, profile), {"behind": 20, "calling": 10, "branching": 10, "relative": 10})
        said = notes(t, profile)
        t.equal("left alone", [name for name in refused if any("entries of %s" % name in note for note in said)], list(refused))
        t.equal("notes", len(said), len(refused))


def test_functions_that_are_counted(t):
    """A hook stands before the functions that allocate: they are not called 'never entered'."""
    names = ("malloc", "calloc", "realloc", "free", "mmap", "munmap")
    profile = t.record(t.build("entered_odd.c", "-O1"), opts=[word for name in names for word in ("--mark-on", name)])
    t.equal("marks", labels(t, profile), {})
    said = notes(t, profile)
    t.equal("why", [name for name in names if any("entries of %s in" % name in note and "counts its calls" in note for note in said)],
            list(names))
    t.equal("notes: %r" % said, len(said), len(names))


@cases(name=("sqlite3 sqlite3_step", "sqlite3 sqlite3_column_text", "xmllint xmlFreeDoc"))
def test_real_programs(t, name):
    """As many marks as a preloaded counter counts calls, and the same output."""
    name, function = name.split()
    program = shutil.which(name)
    if not program:
        raise Skipped("%s is not installed" % name)
    files = [t.file("%d.xml" % i) for i in range(12)]
    for path in files:
        with open(path, "w") as out:
            out.write("<a><b/></a>")
    arguments = {"sqlite3": (":memory:", "create table t(a); insert into t values(1),(2),(3); select * from t; drop table t;"),
                 "xmllint": ("--noout", *files)}[name]
    told = t.file("told")
    counter = t.build("counts_calls.c", "-DFUNCTION=" + function, shared=True)
    plain, _, _ = t.plain(program, *arguments, env={"LD_PRELOAD": counter, "COUNTED": told})
    with open(told) as count:
        calls = int(count.read())
    profile = t.record(program, *arguments, opts=("--mark-on", function))
    t.equal("same output", t.stdout, plain)
    t.equal("entries", labels(t, profile), {function: calls})
    t.true("there are some", calls > 0, calls)
    if name == "xmllint":
        t.equal("one a document", calls, len(files))


def test_interpreters(t):
    """They export their own functions: as many more marks as there are more calls."""
    lua = shutil.which("lua5.4")
    if not lua:
        raise Skipped("lua5.4 is not installed")
    counts = []
    for calls in (9, 34):
        profile = t.record(lua, "-e", "for i = 1, %d do pcall(error, i) end" % calls, opts=("--mark-on", "lua_pcallk"))
        counts.append(labels(t, profile).get("lua_pcallk"))
    t.equal("lua: its own two, and these", counts, [11, 36])
    program = shutil.which("python3")
    counts = []
    for calls in (10, 35):
        code = "for i in range(%d): compile('1', 'x', 'eval')" % calls
        profile = t.record(program, "-I", "-S", "-c", code, opts=("--mark-on", "Py_CompileStringObject"))
        counts.append(labels(t, profile).get("Py_CompileStringObject", 0))
    t.equal("25 calls more", counts[1] - counts[0], 25)
    t.true("and those 10", counts[0] >= 10, counts)


def test_usage(t):
    for name in ("", "f(int)"):
        _, stderr, status = t.run("run", "--mark-on", name, "true")
        t.equal("exit status", status, 2)
        t.true("what is wrong", "without parameters" in stderr, stderr)
