"""Every allocation function: what tidemark counts is what the source says."""
import os

from harness import cases

PAGE = os.sysconf("SC_PAGESIZE")  # to a multiple of which pvalloc rounds
LEVELS = ("-O0", "-O2")
THREADS = (1, 8)
ROUNDS, KEPT = 50, 10  # as in heap_family.c and operator_new.cpp

HEAP_FAMILY = dict(by_malloc=1001, by_calloc=707, by_realloc=1303, by_reallocarray=1133, by_posix_memalign=1507,
                   by_aligned_alloc=1664, by_memalign=1709, by_valloc=1811, by_pvalloc=max(8192, PAGE), by_strdup=13, by_strndup=7)
OPERATOR_NEW = dict(by_new=101, by_new_sized_delete=203, by_new_array=307, by_new_array_sized_delete=401,
                    by_new_nothrow=503, by_new_array_nothrow=601, by_new_aligned=701,
                    by_new_aligned_sized_delete=809, by_new_array_aligned=907,
                    by_new_array_aligned_sized_delete=1009, by_new_aligned_nothrow=1103,
                    by_new_array_aligned_nothrow=1201)


def check_family(t, profile, sizes, threads):
    """Each function made ROUNDS blocks in each thread and left KEPT of them; returns the totals."""
    totals = t.consistent(profile)
    live, total = t.report(profile), t.report(profile, "total")
    for name, size in sizes.items():
        t.equal(name + " live", t.total(live, name), (size * KEPT * threads, KEPT * threads))
        t.equal(name + " total", t.total(total, name), (size * ROUNDS * threads, ROUNDS * threads))
    t.equal("truncated stacks", totals["truncated_stacks"], 0)
    return totals


def check_reallocs(t, profile):
    """What reallocs.c does with any allocator; returns the totals, and the reports of live and total."""
    totals = t.consistent(profile)
    live, total = t.report(profile), t.report(profile, "total")
    t.equal("grown live", t.total(live, "grown"), (10 * 200, 10))
    t.equal("grown total", t.total(total, "grown"), (10 * sum(range(20, 201, 20)) + 90 * 300, 190))
    t.equal("shrunk_in_place live", t.total(live, "shrunk_in_place"), (50000, 1))
    t.equal("from_null live", t.total(live, "from_null"), (777, 1))
    t.equal("kept_on_failure live", t.total(live, "kept_on_failure"), (640, 1))
    return totals, live, total


@cases(opt=LEVELS, threads=THREADS, cc=("gcc", "clang"))
def test_heap_family(t, opt, threads, cc):
    profile = t.record(t.build("heap_family.c", opt, cc=cc), str(threads))
    totals = check_family(t, profile, HEAP_FAMILY, threads)
    if threads == 1:  # with more, libc allocates for the threads themselves
        t.equal("allocations", totals["allocations"], ROUNDS * len(HEAP_FAMILY))
        t.equal("frees", totals["frees"], (ROUNDS - KEPT) * len(HEAP_FAMILY))
        t.equal("bytes", totals["bytes_allocated"], ROUNDS * sum(HEAP_FAMILY.values()))
        t.equal("live bytes", totals["live_bytes"], KEPT * sum(HEAP_FAMILY.values()))
        t.equal("temporaries", totals["temporary_allocations"], (ROUNDS - KEPT) * len(HEAP_FAMILY))
        t.equal("reallocations", totals["reallocations"], 0)


@cases(opt=LEVELS, threads=THREADS, cc=("g++", "clang++"))
def test_operator_new(t, opt, threads, cc):
    program = t.build("operator_new.cpp", opt, "-std=c++17", "-fsized-deallocation", cc=cc)
    check_family(t, t.record(program, str(threads)), OPERATOR_NEW, threads)


@cases(opt=LEVELS)
def test_reallocs(t, opt):
    profile = t.record(t.build("reallocs.c", opt))
    totals, live, total = check_reallocs(t, profile)
    t.equal("shrunk_in_place total", t.total(total, "shrunk_in_place"), (150000, 2))
    t.equal("from_null total", t.total(total, "from_null"), (777, 1))
    t.equal("freed_by_zero live", t.total(live, "freed_by_zero"), (0, 0))
    t.equal("freed_by_zero total", t.total(total, "freed_by_zero"), (5 * 9000, 5))
    t.equal("kept_on_failure total", t.total(total, "kept_on_failure"), (640, 1))
    t.equal("allocations", totals["allocations"], 190 + 2 + 1 + 5 + 1)
    t.equal("live blocks", totals["live_blocks"], 13)
    t.equal("reallocations", totals["reallocations"], 91)


@cases(opt=LEVELS)
def test_failed_allocations_are_not_counted(t, opt):
    profile = t.record(t.build("failing.c", opt, "-fno-builtin"))
    totals = t.consistent(profile)
    t.equal("failing", t.total(t.report(profile, "total"), "failing"), (0, 0))
    t.equal("succeeding", t.total(t.report(profile), "succeeding"), (1000, 20))
    t.equal("allocations", totals["allocations"], 20)
    t.equal("frees", totals["frees"], 0)


@cases(opt=LEVELS)
def test_exceptions(t, opt):
    profile = t.record(t.build("exceptions.cpp", opt, "-std=c++17"))
    t.consistent(profile)
    live = t.report(profile)
    t.equal("before_throw", t.total(live, "before_throw"), (40 * 1000, 1000))
    t.equal("after_catch", t.total(live, "after_catch"), (60 * 100, 100))
    # libstdc++ throws and catches inside its nothrow operators, too.
    t.equal("nothrow_fails", t.total(live, "nothrow_fails"), (0, 0))
    t.equal("after_bad_alloc", t.total(live, "after_bad_alloc"), (80 * 100, 100))
    t.equal("exceptions are freed", t.total(live, "new_fails"), (0, 0))


@cases(opt=LEVELS)
def test_temporaries(t, opt):
    profile = t.record(t.build("temporary.c", opt))
    t.consistent(profile)
    temporary = t.report(profile, "temporary")
    t.equal("at_once", t.total(temporary, "at_once"), (32 * 1000, 1000))
    t.equal("nested", t.total(temporary, "nested"), (48 * 100, 100))
    t.equal("with_frees_between", t.total(temporary, "with_frees_between"), (96 * 10, 10))
    t.equal("freed_elsewhere", t.row(temporary, "freed_elsewhere")["self_count"], 0)
