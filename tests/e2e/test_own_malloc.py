"""Programs that define malloc themselves, for all to see: counted as any other, once, and not harmed."""
import hashlib
import os

from harness import LIBRARIES, PROGRAMS, Skipped, cases
from test_allocators import check_own_new
from test_allocation_functions import HEAP_FAMILY, KEPT, OPERATOR_NEW, ROUNDS, check_family

FLAGS = ("-O0", "-O2", "-O3 -fno-plt", "-O2 -no-pie", "-O0 -no-pie", "-O2 -fcf-protection", "-O0 -fcf-protection",
         "-O2 -fcf-protection=none", "-O2 -fno-omit-frame-pointer")
COMMON = {name: size for name, size in HEAP_FAMILY.items() if name not in ("by_valloc", "by_pvalloc")}


def with_own_malloc(t, source, *flags, cc=None):
    """The allocator is a source file of its own: calls within one are often not made."""
    allocator = os.path.join(PROGRAMS, "whole_malloc.c")
    with open(allocator, "rb") as content:
        version = hashlib.sha256(content.read()).hexdigest()[:16]
    flags = [*flags, "-fno-builtin", "-DALLOCATOR_VERSION=0x" + version]
    if not source.endswith(".cpp"):
        return t.build(source, *flags, allocator, cc=cc)
    return t.build(source, *flags, "-Wno-error", "-x", "c", allocator, "-x", "c++", cc=cc)


def static(t, source, name, *flags):
    archive = os.path.join(LIBRARIES, "lib%s.a" % name)
    if not os.path.exists(archive):
        raise Skipped("%s is not installed" % archive)
    return t.build(source, *flags, "-Wl,--whole-archive", archive, "-Wl,--no-whole-archive", "-lstdc++", "-lm")


@cases(flags=FLAGS, cc=("gcc", "clang"))
def test_own_malloc(t, flags, cc):
    profile = t.record(with_own_malloc(t, "heap_family.c", *flags.split(), "-DONLY_COMMON=1", cc=cc), "1")
    totals = check_family(t, profile, COMMON, 1)
    t.equal("notes", t.report(profile)["notes"], [])
    t.equal("allocations", totals["allocations"], ROUNDS * len(COMMON))
    t.equal("frees", totals["frees"], (ROUNDS - KEPT) * len(COMMON))
    t.equal("bytes", totals["bytes_allocated"], ROUNDS * sum(COMMON.values()))
    t.equal("innermost frames", [(size, count) for size, count, _ in t.stacks(profile, "by_malloc")],
            [(KEPT * HEAP_FAMILY["by_malloc"], KEPT)])


@cases(opt=("-O0", "-O2"))
def test_own_malloc_and_threads(t, opt):
    profile = t.record(with_own_malloc(t, "heap_family.c", opt, "-DONLY_COMMON=1"), "8")
    check_family(t, profile, COMMON, 8)


@cases(opt=("-O0", "-O2"))
def test_own_operator_new_and_malloc(t, opt):
    check_own_new(t, t.record(with_own_malloc(t, "own_new.cpp", opt)))


@cases(kind=(1, 4, 5), pie=("-pie", "-no-pie"))
def test_odd_beginnings(t, kind, pie):
    """Registers that malloc leaves alone stay alone; the stack need not be aligned."""
    profile = t.record(t.build("odd_malloc.c", "-O1", "-fno-builtin", "-DKIND=%d" % kind, pie), status=5)
    totals = t.consistent(profile)
    t.equal("seen", (totals["allocations"], totals["frees"]), (10, 7))
    t.equal("takes", t.total(t.report(profile, "total"), "takes"), (7000, 7))
    t.equal("left_alone", t.total(t.report(profile, "total"), "left_alone"), (3 * 1001, 3))


@cases(kind=(2, 3))
def test_beginnings_that_cannot_be_replaced(t, kind):
    """All or nothing: the program is left as it is, and that is said."""
    profile = t.record(t.build("odd_malloc.c", "-O1", "-fno-builtin", "-DKIND=%d" % kind, "-pie"), status=5)
    report = t.report(profile)
    t.equal("seen", [report["totals"][k] for k in ("allocations", "frees", "lost_events", "unknown_frees")], [0, 0, 0, 0])
    t.equal("complete", report["complete"], False)
    t.true("a note says so", "malloc of its own" in " ".join(report["notes"]))


def test_forked_child_and_its_threads(t):
    profile = t.record(with_own_malloc(t, "own_malloc_forks.c", "-O2"), status=3)
    report = t.report(profile)
    t.equal("processes", len(report["processes"]), 2)
    parent = str(report["processes"][0]["pid"])
    t.equal("parent", t.total(t.report(profile, "live", "--process", parent), "in_parent"), (2000, 20))
    child = str(report["processes"][1]["pid"])
    t.equal("child live", t.total(t.report(profile, "live", "--process", child), "in_child"), (8 * 7000, 8 * 7))
    t.equal("child total", t.total(t.report(profile, "total", "--process", child), "in_child"), (8 * 50000, 8 * 50))


@cases(name=("tcmalloc_minimal", "jemalloc"), threads=(1, 8))
def test_static_allocator_c(t, name, threads):
    sizes, flags = dict(HEAP_FAMILY), []
    if name == "jemalloc":  # it has no pvalloc, and libc's is not to be mixed with it
        sizes, flags = COMMON, ["-DONLY_COMMON=1"]
    check_family(t, t.record(static(t, "heap_family.c", name, "-O2", *flags), str(threads)), sizes, threads)


@cases(name=("tcmalloc_minimal", "jemalloc"), threads=(1, 8))
def test_static_allocator_operator_new(t, name, threads):
    program = static(t, "operator_new.cpp", name, "-O2", "-std=c++17", "-fsized-deallocation")
    check_family(t, t.record(program, str(threads)), OPERATOR_NEW, threads)


@cases(name=("tcmalloc_minimal", "jemalloc"))
def test_static_allocator_exceptions(t, name):
    """bad_alloc and what new_handlers throw pass through."""
    program = static(t, "throws.cpp", name, "-O1")
    want = t.plain(program, "and new fails")
    profile = t.record(program, "and new fails", status=want[2])
    t.consistent(profile)
    live = t.report(profile)
    t.equal("takes", t.total(live, "takes"), ((71 * 9 + 72 + 73 + 74 + 76) * 100, 13 * 100))
    t.equal("reserves are freed", t.row(live, "new_fails")["self_count"], 0)


@cases(sanitizer=("address", "thread"))
def test_sanitized_program_is_left_alone(t, sanitizer):
    """A sanitizer's malloc in the executable is not touched, and that is said."""
    quiet = {"ASAN_OPTIONS": "detect_leaks=0"}
    program = t.build("heap_family.c", "-O1", "-DONLY_COMMON=1", "-fsanitize=" + sanitizer, "-static-lib%ssan" % sanitizer[0], cc="gcc")
    want = t.plain(program, "1", env=quiet)
    profile = t.record(program, "1", env=quiet, opts=("--only", "heap_family"), status=want[2])
    t.equal("its status", want[2], 0)
    t.equal("seen", t.report(profile)["totals"]["allocations"], 0)
    t.true("a note says so", "malloc of its own" in " ".join(t.report(profile)["notes"]), t.report(profile)["notes"])


@cases(sanitizer=("address", "thread"), how=("program", "child"))
def test_sanitizer_in_a_library_is_left_alone(t, sanitizer, how):
    """It must be the first library: AddressSanitizer refuses to run after another, and ThreadSanitizer crashes."""
    quiet = {"ASAN_OPTIONS": "detect_leaks=0"}
    program = t.build("heap_family.c", "-O1", "-DONLY_COMMON=1", "-fsanitize=" + sanitizer, cc="gcc")
    command = (program, "1") if how == "program" else ("sh", "-c", '"$0" 1; echo status $?', program)
    want = t.plain(*command, env=quiet)
    t.equal("its status", want[2], 0)
    profile = t.record(*command, env=quiet, status=want[2])
    t.equal("its output", t.stdout, want[0])
    notes = t.report(profile)["notes"]
    t.equal("notes that say so: %r" % notes, len([n for n in notes if program in n and "sanitizer" in n]), 1)
