"""Stacks are whole and right, whatever the frames look like."""
import os

from harness import bare, cases, line_of, slow

LEVELS = ("-O0", "-O2")


@cases(opt=LEVELS, cc=("gcc", "clang"))
def test_deep_stack_is_whole(t, opt, cc):
    depth = 900
    profile = t.record(t.build("recursion.c", opt, cc=cc), str(depth))
    stacks = t.stacks(profile, "at_the_bottom")
    t.equal("stacks", len(stacks), 1)
    for size, count, names in stacks:
        t.equal("bytes and count", (size, count), (777, 1))
        t.equal("recursions", names.count("deep"), depth)
        t.equal("what calls deep", names[1 + depth:2 + depth], ["main"])
    t.equal("truncated stacks", t.consistent(profile)["truncated_stacks"], 0)


@cases(opt=LEVELS)
def test_too_deep_stack_loses_its_outer_end(t, opt):
    profile = t.record(t.build("recursion.c", opt), "100000")
    totals = t.consistent(profile)
    t.equal("truncated stacks", totals["truncated_stacks"], 1)
    stacks = t.stacks(profile, "at_the_bottom")
    t.equal("stacks", len(stacks), 1)
    for size, count, names in stacks:
        t.equal("bytes and count", (size, count), (777, 1))
        t.true("at least 1,023 recursions", names.count("deep") >= 1023, names.count("deep"))
        t.equal("innermost frames", set(names[1:1001]), {"deep"})
    after = t.stacks(profile, "after")
    t.equal("the next stack is whole", [names[:2] for _, _, names in after], [["after", "main"]])


@slow
@cases(cc=("gcc", "clang"))
def test_more_stacks_than_any_table(t, cc):
    """Half a million different stacks: none is cut, each is there with its one block, and the tree takes little memory."""
    depth = {"gcc": 19, "clang": 17}[cc]
    profile = t.record(t.build("many_stacks.c", "-O1", cc=cc), str(depth))
    totals = t.consistent(profile)
    t.equal("cut, not followed", (totals["truncated_stacks"], totals["incomplete_stacks"]), (0, 0))
    report = t.report(profile, "live", "--by", "line", "--top", "0", "--min", "0")
    rows = report["rows"]
    t.true("stacks", report["stack_nodes"] >= 1 << depth, report["stack_nodes"])
    t.equal("blocks of leaf", [r["self_count"] for r in rows if r["name"] == "leaf"], [1 << depth])
    calls = [r["total_count"] for r in rows if r["name"] == "branch"]
    t.true("each line of branch calls half of them at least", len(calls) > 1 and min(calls) >= 1 << depth - 1, calls)


@slow
def test_no_memory_for_stacks(t):
    """When the kernel gives no more memory, stacks lose their outer frames, and say so; the innermost are there."""
    depth = 17
    profile = t.record(t.build("many_stacks.c", "-O1"), str(depth), "6000")
    totals = t.consistent(profile)
    cut = totals["truncated_stacks"]
    t.equal("the program ended well, and every block counts", (t.status, totals["live_blocks"] >= 1 << depth), (0, True))
    t.true("some were cut, some were not", 1000 < cut < (1 << depth) - 1000, cut)
    rows = t.report(profile, "live", "--by", "stack", "--top", "0", "--min", "0")["rows"]
    leaves = [([f["function"] for f in r["stack"]], r["count"]) for r in rows if r["bytes"] == 16 * r["count"]]
    t.equal("the innermost frame of each", {names[0] for names, _ in leaves}, {"leaf"})
    t.equal("all blocks", sum(count for _, count in leaves), 1 << depth)
    t.equal("blocks in stacks that end with [cut]", sum(count for names, count in leaves if names[-1] == "[cut]"), cut)
    t.equal("frames of those", {len(names) for names, _ in leaves if names[-1] == "[cut]"}, {9})
    t.equal("frames of the others", {names[depth + 1:depth + 3] == ["branch", "main"] for names, _ in leaves
                                     if names[-1] != "[cut]"}, {True})
    t.run("findings", profile)
    t.true("findings say what they leave out", "whose outer frames are missing" in t.stdout, t.stdout)
    found = t.ask(profile, "findings")["findings"]
    t.equal("no finding rests on them", [f for f in found if any(s["function"] == "[cut]" for s in f["stack"])], [])


@cases(opt=LEVELS, cc=("gcc", "clang"), frame=("-fomit-frame-pointer", "-fno-omit-frame-pointer"))
def test_frame_shapes(t, opt, cc, frame):
    profile = t.record(t.build("shapes.c", opt, frame, cc=cc))
    t.equal("truncated stacks", t.consistent(profile)["truncated_stacks"], 0)
    stacks = t.stacks(profile, "leaf")
    for size, path in {1: ["plain_frame"], 2: ["large_frame"], 3: ["variable_frame"], 4: ["aligned_frame"],
                       5: ["many_arguments", "passes_many"]}.items():
        t.equal("size %d" % size, [names[1:2 + len(path)] for total, _, names in stacks if total == size], [path + ["main"]])
    sorts = [names for total, _, names in stacks if "compare" in names]
    t.equal("through qsort", [(names[1], "through_qsort" in names, "main" in names) for names in sorts],
            [("compare", True, True)])
    saved = [(total, count) for total, count, names in stacks if names[1] == "saves_registers"]
    t.equal("saves_registers", (sum(s[0] for s in saved), sum(s[1] for s in saved)), (14, 2))
    varying = {names.count("varying"): (total, count, names[1 + names.count("varying")])
               for total, count, names in stacks if "varying" in names}
    t.equal("varying depths", varying, {depth: (8 * 50, 50, "main") for depth in range(1, 21)})


def test_code_that_cannot_be_read(t):
    """A program without unwind tables forbids itself to read a page of its code: what calls end there is not known."""
    program = t.build("guarded_code.c", "-O1", "-fno-omit-frame-pointer", "-fno-asynchronous-unwind-tables", "-fno-unwind-tables")
    profile = t.record(program)
    t.equal("blocks", t.total(t.report(profile, "total"), "allocates"), (300, 10))


@cases(opt=LEVELS)
def test_signal_handlers(t, opt):
    profile = t.record(t.build("in_handler.c", opt))
    stacks = t.stacks(profile, "in_handler")
    by_handler = {names[1]: (size, count, "raiser" in names, "main" in names) for size, count, names in stacks}
    t.equal("in handlers", by_handler, {"on_usr1": (111 * 20, 20, True, True), "on_usr2": (222 * 20, 20, True, True)})
    t.equal("truncated stacks", t.consistent(profile)["truncated_stacks"], 0)


def test_libraries_that_come_and_go(t):
    first = t.build("plugin.c", "-O1", "-DNAME=first", shared=True)
    second = t.build("plugin.c", "-O1", "-DNAME=second", shared=True)
    profile = t.record(t.build("loads_plugins.c", "-O1"), first, "first", second, "second")
    live = t.report(profile)
    t.equal("first", t.total(live, "first"), (100 * 50, 50))
    t.equal("second", t.total(live, "second"), (200 * 50, 50))


def test_libraries_that_bring_the_first_cpp_runtime(t):
    """operator new is then looked up for its caller, and the loader is not made to allocate for it."""
    one = t.build("grabs.cpp", "-O1", "-DNAME=one", shared=True)
    two = t.build("grabs.cpp", "-O1", "-DNAME=two", shared=True)
    profile = t.record(t.build("loads_runtimes.c", "-O1"), one, two)
    t.consistent(profile)
    t.equal("grab", t.total(t.report(profile, "live"), "grab"), (300, 2))
    t.equal("grab in all", t.total(t.report(profile, "total"), "grab"), (2 * 5000 + 300, 4))


@cases(opt=LEVELS)
def test_lines_and_inlined_functions(t, opt):
    program = t.build("lines.c", opt)
    profile = t.record(program)

    def line(marker):
        return line_of("lines.c", "line " + marker)

    rows = t.report(profile, "live", "--by", "line")["rows"]
    figures = {(os.path.basename(r["file"] or ""), r["line"]): (r["self_bytes"], r["total_bytes"]) for r in rows}
    for marker, want in dict(first=(10, 10), second=(20, 20), inlined=(30, 30), call=(0, 30), main_first=(0, 30),
                             main_second=(0, 30)).items():
        t.equal("line " + marker, figures.get(("lines.c", line(marker))), want)

    stack = [s["stack"] for s in t.report(profile, "live", "--by", "stack")["rows"] if s["bytes"] == 30][0][:3]
    t.equal("stack", [(bare(f["function"]), f["line"]) for f in stack],
            [("inlined", line("inlined")), ("calls_inlined", line("call")), ("main", line("main_second"))])
    t.equal("kinds", [f["kind"] for f in stack], ["inlined", "native", "native"])
    t.equal("modules", {os.path.basename(f["module"]) for f in stack}, {"lines"})


def test_without_debug_information(t):
    profile = t.record(t.build("recursion.c", "-g0", "-O1"), "5")
    t.equal("stack", [names[:7] for _, _, names in t.stacks(profile, "at_the_bottom")],
            [["at_the_bottom"] + ["deep"] * 5 + ["main"]])


def test_without_symbols(t):
    profile = t.record(t.build("recursion.c", "-g0", "-O1", "-s"), "5")
    totals = t.consistent(profile)
    t.equal("allocations", totals["allocations"], 2)
    names = {r["name"] for r in t.report(profile)["rows"]}
    t.true("functions read module+0x1234", any(n.startswith("recursion+0x") for n in names), sorted(names))
    t.true("no bare addresses", not any(n.startswith("0x") for n in names), sorted(names))


def test_standard_library_is_folded(t):
    profile = t.record(t.build("standard_library.cpp", "-O1"))
    live = t.report(profile)
    t.equal("fills_vector", t.row(live, "fills_vector")["self_bytes"], 24 + 4000)
    t.equal("makes_string", t.row(live, "makes_string")["self_bytes"], 32 + 100)
    t.equal("fills_map", t.row(live, "fills_map")["self_bytes"], 48 + 100 * 48)
    unfolded = t.report(profile, "live", "--no-fold")
    t.equal("total is the same unfolded", t.row(unfolded, "fills_map")["total_bytes"], 48 + 100 * 48)
    t.true("self is less unfolded", t.row(unfolded, "fills_map")["self_bytes"] < 48 + 100 * 48)


@slow
def test_stacks_that_are_all_alike(t):
    """262,143 stacks that pack into some KB: what was written can be read."""
    nodes = (1 << 18) - 1
    profile = t.record(t.build("binary_tree.c", "-O1"), "17")
    totals = t.consistent(profile)
    t.equal("blocks, bytes", (totals["live_blocks"], totals["live_bytes"]), (nodes, 16 * nodes))
    t.equal("make", t.total(t.report(profile), "make"), (16 * nodes, nodes))
