"""Code that comes and goes, and code without unwind information."""
import os

from harness import bare, cases

LOOP = 20  # as in reloads.c


def inner(t, profile, metric="total"):
    """{(innermost function, its module): (bytes, count)}"""
    found = {}
    for row in t.report(profile, metric, "--by", "stack")["rows"]:
        frame = row["stack"][0]
        key = bare(frame["function"]), os.path.basename(frame["module"] or "")
        size, count = found.get(key, (0, 0))
        found[key] = (size + row["bytes"], count + row["count"])
    return found


def two_plugins(t):
    """Two libraries in files of their own names, alike but for the names of their functions."""
    return [t.build("plugin_life.c", "-O1", "-DNAME=" + name, "-Wl,-soname,%s.so" % name, shared=True) for name in "ab"]


@cases(how=("plain", "unseen"))
def test_another_library_at_the_same_address(t, how):
    first, second = two_plugins(t)
    profile = t.record(t.build("reloads.c", "-O1"), how, first, second)
    t.consistent(profile)
    rows = t.report(profile, "total", "--by", "stack")["rows"]
    found = {}
    for row in rows:
        names = [bare(f["function"]) for f in row["stack"]]
        if os.path.basename(row["stack"][0]["module"] or "") == "plugin_life.so":
            t.equal("stack of %s ends in main" % names[0], [n for n in names if n in ("visit", "main")], ["visit", "main"])
            size, count = found.get(names[0], (0, 0))
            found[names[0]] = (size + row["bytes"], count + row["count"])
    want = {}
    for name, size in (("a", 303), ("b", 304)):
        want.update({name + "_begins": (301 * LOOP, LOOP), name + "_work": (size * LOOP, LOOP), name + "_ends": (302 * LOOP, LOOP)})
    t.equal("functions", found, want)


def test_more_libraries_at_one_address(t):
    """4,095 are; the one after them has no name rather than another's."""
    plugins = [t.build("plugin.c", "-O1", "-DNAME=" + name, shared=True) for name in ("first", "second")]
    profile = t.record(t.build("reloads_often.c", "-O1"), *plugins, "4096", t.file("link"))
    by_function = {}
    for (function, _), (size, count) in inner(t, profile).items():
        total = by_function.get(function, (0, 0))
        by_function[function] = total[0] + size, total[1] + count
    t.equal("first, second", (by_function.get("first"), by_function.get("second")), ((111 * 4095, 4095), None))
    t.equal("without a name", [v for f, v in by_function.items() if v == (111 + 222, 2)], [(333, 2)])


def test_deepbind(t):
    """Such a library prefers libc's malloc to what is preloaded: it is bound to ours once its constructors have run."""
    first, second = two_plugins(t)
    profile = t.record(t.build("reloads.c", "-O1"), "deepbind", first, second)
    t.consistent(profile)
    t.equal("seen of the libraries", {name: figures for (name, module), figures in inner(t, profile).items() if module == "plugin_life.so"},
            {"a_work": (303 * LOOP, LOOP), "a_ends": (302 * LOOP, LOOP), "b_work": (304 * LOOP, LOOP), "b_ends": (302 * LOOP, LOOP)})
    notes = [note for note in t.report(profile)["notes"] if "RTLD_DEEPBIND" in note]
    t.equal("notes on what was not seen: %r" % notes, len(notes), 1)
    t.true("names one and counts the other", "plugin_life.so (and by 1 more libraries)" in notes[0] and "first allocations" in notes[0], notes)


@cases(bind=("now", "lazy"))
def test_deepbind_pairs(t, bind):
    """What the program allocates and such a library frees, and the other way round, is no leak: in each of 20 runs."""
    plugin, program = t.build("plugin_pairs.c", "-O1", "-Wl,-z," + bind, shared=True), t.build("deep_pairs.c", "-O1")
    for _ in range(10):
        profile = t.record(program, plugin)
        t.equal("unknown frees", t.report(profile)["totals"]["unknown_frees"], 0)
        made = {name: figures for (name, _), figures in inner(t, profile).items() if name in ("round_trip", "pair_give")}
        t.equal("allocated", made, {"round_trip": (500, 5), "pair_give": (1000, 5)})
        t.equal("live", [name for name, _ in inner(t, profile, "live") if name in made], [])
        t.equal("status of leaks --fail", t.run("leaks", "--fail", profile)[2], 0)
        t.equal("notes", t.report(profile)["notes"], [])


def test_other_namespace(t):
    """A second C library allocates by itself. That is not seen, and does no harm to what is."""
    first, _ = two_plugins(t)
    profile = t.record(t.build("other_namespace.c", "-O1"), first)
    t.consistent(profile)
    found = {name: figures for (name, _), figures in inner(t, profile).items() if name in ("in_program", "a_work", "a_begins", "a_ends")}
    t.equal("functions", found, {"in_program": (311 * 500, 500)})


@cases(how=("framed", "odd", "near", "far"), opt=("-O0", "-O2"))
def test_code_made_at_run_time(t, how, opt):
    profile = t.record(t.build("jit.c", opt, "-fno-omit-frame-pointer"), how)
    totals = t.consistent(profile)
    t.equal("allocations", totals["allocations"], 100)
    rows = t.report(profile, "live", "--by", "stack")["rows"]
    found = {tuple(bare(f["function"]) for f in r["stack"][2:] if f["function"] != "_start"): r["count"] for r in rows}
    t.equal("innermost", {bare(r["stack"][0]["function"]) for r in rows}, {"allocates"})
    t.true("the made code has no name", all(r["stack"][1]["module"] in (None, "") for r in rows), [r["stack"][1] for r in rows])
    if how == "framed":
        t.equal("incomplete stacks", totals["incomplete_stacks"], 0)
        t.equal("up to main", {names[:names.index("main") + 1]: count for names, count in found.items()},
                {("calls", "main"): 50, ("calls", "calls_deeper", "main"): 50})
    else:
        t.equal("incomplete stacks", totals["incomplete_stacks"], 100)



def known_stacks(t, profile, innermost):
    """The 100 allocations of 77 bytes by the program holes: {names up to main: count}, and incomplete stacks."""
    report = t.report(profile, "total", "--by", "stack")
    stacks = {}
    for row in report["rows"]:
        names = [bare(f["function"]) for f in row["stack"]]
        if names[0] == innermost:
            end = names.index("main") + 1 if "main" in names else len(names)
            stacks[tuple(names[:end])] = (row["bytes"], row["count"])
    return stacks, report["totals"]["incomplete_stacks"]


@cases(page=("4096", "65536", "0x200000"), how=(("-fPIE", "-pie"), ("-fno-pie", "-no-pie")), opt=("-O0", "-O2"))
def test_holes_between_segments(t, page, how, opt):
    """A file linked for large pages: its tables are in another segment than its code, with nothing in between."""
    profile = t.record(t.build("holes.c", opt, *how, "-Wl,-z,max-page-size=" + page), "direct")
    t.consistent(profile)
    t.equal("stacks, incomplete", known_stacks(t, profile, "inner"), ({("inner", "middle", "outer", "main"): (7700, 100)}, 0))


@cases(page=("65536", "0x200000"))
def test_holes_between_segments_of_a_library(t, page):
    library = t.build("plugin_deep.c", "-O2", "-Wl,-z,max-page-size=" + page, shared=True)
    profile = t.record(t.build("holes.c", "-O2"), "library", library)
    t.consistent(profile)
    t.equal("stacks, incomplete", known_stacks(t, profile, "deep_inner"),
            ({("deep_inner", "deep_middle", "deep_outer", "main"): (7700, 100)}, 0))
    modules = {os.path.basename(f["module"]) for row in t.report(profile, "total", "--by", "stack")["rows"]
               for f in row["stack"] if f["function"].startswith("deep_")}
    t.equal("module", modules, {"plugin_deep.so"})


def older_libc(t):
    """Before 2.35 there is no _dl_find_object. A libc without that name stands for an older one: words before a command."""
    folder = t.file("lib")
    os.mkdir(folder)
    with open(os.path.realpath("/lib/x86_64-linux-gnu/libc.so.6"), "rb") as file:
        content = file.read()
    t.true("libc has it", b"_dl_find_object\0" in content)
    with open(os.path.join(folder, "libc.so.6"), "wb") as out:
        out.write(content.replace(b"_dl_find_object\0", b"_dl_lost_object\0"))
    return "env", "LD_LIBRARY_PATH=" + folder


@cases(older=(False, True))
def test_child_of_a_process_with_threads(t, older):
    """The loader's lock may be held for ever there, so an older glibc is not asked: files are found all the same."""
    library = t.build("plugin_deep.c", "-O1", shared=True)
    profile = t.record(*(older_libc(t) if older else ()), t.build("forks_threaded.c", "-O1"), library)
    child = t.report(profile)["processes"][-1]["pid"]
    report = t.report(profile, "total", "--by", "stack", "--process", str(child))
    found = []
    for row in report["rows"]:
        names = [bare(f["function"]) for f in row["stack"]]
        if "outer" in names:
            found.append((row["bytes"], row["count"], *names[:names.index("main") + 1 if "main" in names else None]))
    t.equal("stacks", sorted(found), [(7100, 100, "inner", "outer", "main"), (7200, 100, "inner", "outer", "main"),
                                      (7700, 100, "deep_inner", "deep_middle", "deep_outer", "outer", "main")])
    t.equal("incomplete", report["totals"]["incomplete_stacks"], 0)


@cases(what=("direct", "library", "reloads"))
def test_older_glibc(t, what):
    older = older_libc(t)
    if what == "reloads":
        profile = t.record(*older, t.build("reloads.c", "-O1"), "plain", *two_plugins(t))
        found = {name: figures for (name, module), figures in inner(t, profile).items() if module == "plugin_life.so"}
        want = {name + "_" + what: (size * LOOP, LOOP) for name, sizes in (("a", (301, 303, 302)), ("b", (301, 304, 302)))
                for what, size in zip(("begins", "work", "ends"), sizes)}
        t.equal("functions", found, want)
        t.equal("incomplete", t.report(profile)["totals"]["incomplete_stacks"], 0)
        return
    library = t.build("plugin_deep.c", "-O2", "-Wl,-z,max-page-size=65536", shared=True)
    profile = t.record(*older, t.build("holes.c", "-O2", "-Wl,-z,max-page-size=65536"), what, library)
    names = ("inner", "middle", "outer") if what == "direct" else ("deep_inner", "deep_middle", "deep_outer")
    t.equal("stacks, incomplete", known_stacks(t, profile, names[0]), ({(*names, "main"): (7700, 100)}, 0))


@cases(opt=("-O0", "-O2"))
def test_functions_without_unwind_information(t, opt):
    """A frame pointer that is not theirs would lead past their callers: such a stack is incomplete, and says so."""
    program = t.build("holes.c", opt, "-fno-omit-frame-pointer")
    stacks, incomplete = known_stacks(t, t.record(program, "bare"), "inner")
    t.equal("without a frame pointer", (stacks, incomplete),
            ({("inner", "middle", "outer", "bare_inner", "[no unwind information]"): (7700, 100)}, 100))
    stacks, incomplete = known_stacks(t, t.record(program, "framed"), "inner")
    t.equal("with a frame pointer", (stacks, incomplete),
            ({("inner", "middle", "outer", "framed", "has_frame", "main"): (7700, 100)}, 0))


@cases(where=("first", "thread", "filtered"))
def test_code_made_at_run_time_on_another_stack(t, where):
    """What its frame pointer might be points beyond that stack: it is not read unless it is known to be there."""
    profile = t.record("setarch", "-R", t.build("jit_aside.c", "-O1"), where)
    report = t.report(profile, "live", "--by", "stack")
    found = [row["count"] for row in report["rows"] if row["bytes"] == 50 * 321]
    t.equal("allocations of the made code", found, [50])
    t.equal("incomplete stacks", report["totals"]["incomplete_stacks"], 50)


def test_a_large_file_under_a_limit_of_data(t):
    """A map of the whole file to write to would not be granted: it is read all the same."""
    large, padding = t.file("large"), t.file("padding")
    with open(padding, "wb") as out:
        out.truncate(80 << 20)
    t.plain("objcopy", "--add-section", ".debug_padding=" + padding, t.build("lines.c", "-O1"), large)
    profile = t.file("limited.tide")
    t.plain("sh", "-c", 'ulimit -d 65536; exec "$@"', "sh", t.tidemark, "run", "--quiet", "-o", profile, "--", large)
    t.equal("exit status (%s)" % t.stderr, t.status, 0)
    files = {os.path.basename(f["file"] or "") for row in t.report(profile, "total", "--by", "stack")["rows"]
             for f in row["stack"] if bare(f["function"]) == "main"}
    t.equal("where main is", files, {"lines.c"})
