"""mmap is a metric of its own, exact to the page."""
import os

from harness import ROOT, cases

PAGE = 4096


@cases(opt=("-O0", "-O2"))
def test_mapped(t, opt):
    profile = t.record(t.build("mapped.c", opt))
    totals = t.consistent(profile)
    t.equal("no heap allocations", totals["allocations"], 0)
    mapped = t.report(profile, "mapped")
    for name, pages in dict(stays_mapped=16, unmapped=0, partly_unmapped=44, remapped=100, remapped_smaller=5,
                            mapped_over=0, maps_over=12, map_fails=0, two_at_once=0).items():
        t.equal(name, t.row(mapped, name)["total_bytes"], pages * PAGE)


@cases(threads=(2, 8))
def test_places_that_others_take_and_calls_that_fail(t, threads):
    profile = t.record(t.build("remaps.c", "-O1"), str(threads), "3000")
    mapped = t.report(profile, "mapped")
    t.equal("map", t.total(mapped, "map")[0], 0)
    t.equal("keep", t.total(mapped, "keep"), (3000 // 8 * PAGE * threads, 3000 // 8 * threads))
    t.equal("move", t.total(mapped, "move"), (7 * PAGE * threads, threads))
    t.equal("keep_after_failures", t.total(mapped, "keep_after_failures"), (5 * PAGE, 1))


@cases(how=("arena", "reserved", "file", "heap"))
def test_memory_beside_the_heap_is_told(t, how):
    """What a library maps for blocks of its own is in the summary; address space, files and the heap are no news."""
    program = t.build("maps_much.c", "-O1", "-I", os.path.join(ROOT, "include"))
    err = t.run("run", "-o", "x.tide", "--", program, how, t.file("pages"))[1]
    report, text = t.report(t.file("x.tide")), t.run("report", t.file("x.tide"))[0]
    if how != "arena":
        t.true("nothing is said", "mapped_by" not in report and "\nmapped " not in text and "  mapped " not in err, (report.get("mapped_by"), err))
        return
    told = report["mapped_by"]
    t.equal("by whom, how much", (told["module"], told["bytes"]), ("maps_much", 64 << 20))
    t.true("of how much", told["rss_bytes"] > 64 << 20 and told["heap_bytes"] < 1 << 20, told)
    t.true("in the summary", "\nmapped     64.0 MiB by maps_much itself, of " in text and "--metric mapped" in text, text)
    t.true("at the end of run", "\n  1. own_arena mapped 64.0 MiB beside the heap, of " in err and "maps_much.c:17\n" in err, err)
    stack = t.stacks(t.file("x.tide"), "own_arena", "mapped")
    t.equal("with its stack", [(size, names[:2]) for size, _, names in stack], [(64 << 20, ["own_arena", "main"])])
