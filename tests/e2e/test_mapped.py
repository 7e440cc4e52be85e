"""mmap is a metric of its own, exact to the page."""
from harness import cases

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
