"""Other allocators: linked, preloaded, or the program's own. Everything is counted once."""
import os

from harness import LIBRARIES, MIMALLOC_LIBRARY, cases
from test_allocation_functions import HEAP_FAMILY, OPERATOR_NEW, ROUNDS, check_family, check_reallocs

ALLOCATORS = dict(jemalloc="libjemalloc.so.2", tcmalloc="libtcmalloc.so.4", tcmalloc_minimal="libtcmalloc_minimal.so.4",
                  mimalloc=MIMALLOC_LIBRARY)
WAYS = ("linked", "preloaded")


def program(t, source, name, way, *flags):
    """(path, environment) of a program that uses this allocator."""
    library = os.path.join(LIBRARIES, ALLOCATORS[name])
    if way == "linked":
        return t.build(source, "-Wl,--no-as-needed", library, "-Wl,--as-needed", *flags), {}
    return t.build(source, *flags), {"LD_PRELOAD": library}


@cases(name=tuple(ALLOCATORS), way=WAYS, threads=(4,))
def test_heap_family(t, name, way, threads):
    sizes, flags = dict(HEAP_FAMILY), []
    if name == "jemalloc":  # it has no pvalloc, so that libc's is called, and nothing may free it
        size = sizes.pop("by_pvalloc")
        flags = ["-DWITHOUT_PVALLOC_FREE=1"]
    path, env = program(t, "heap_family.c", name, way, "-O2", *flags)
    profile = t.record(path, str(threads), env=env, opts=("--only", "heap_family"))
    check_family(t, profile, sizes, threads)
    if name == "jemalloc":
        t.equal("by_pvalloc", t.total(t.report(profile), "by_pvalloc"), (size * ROUNDS * threads, ROUNDS * threads))


@cases(name=tuple(ALLOCATORS), way=WAYS, threads=(4,))
def test_operator_new(t, name, way, threads):
    path, env = program(t, "operator_new.cpp", name, way, "-O2", "-std=c++17", "-fsized-deallocation")
    profile = t.record(path, str(threads), env=env, opts=("--only", "operator_new"))
    check_family(t, profile, OPERATOR_NEW, threads)


@cases(name=tuple(ALLOCATORS), way=WAYS)
def test_reallocs(t, name, way):
    path, env = program(t, "reallocs.c", name, way, "-O1", "-DANY_ALLOCATOR=1")
    check_reallocs(t, t.record(path, env=env, opts=("--only", "reallocs")))


@cases(name=("jemalloc", "tcmalloc"), way=WAYS)
def test_new_handlers(t, name, way):
    """A new_handler may free, and throw what it likes."""
    path, env = program(t, "throws.cpp", name, way, "-O1")
    want = t.plain(path, "and new fails", env=env)
    profile = t.record(path, "and new fails", env=env, opts=("--only", "throws"), status=None)
    t.equal("status", t.status, want[2])
    t.consistent(profile)
    live = t.report(profile)
    t.equal("takes", t.total(live, "takes"), ((71 * 9 + 72 + 73 + 74 + 76) * 100, 13 * 100))
    t.equal("reserves are freed", t.row(live, "new_fails")["self_count"], 0)


@cases(name=("jemalloc", "mimalloc"), way=WAYS)
def test_hooked_and_replaced(t, name, way):
    """Another library that hooks malloc stands between, and agrees."""
    path, env = program(t, "operator_new.cpp", name, way, "-O2", "-std=c++17", "-fsized-deallocation")
    oracle = t.build("oracle.c", "-O2", shared=True)
    env["LD_PRELOAD"] = ":".join(filter(None, [oracle, env.get("LD_PRELOAD")]))
    profile = t.record(path, "1", env=env, opts=("--only", "operator_new"))
    check_family(t, profile, OPERATOR_NEW, 1)


@cases(more=("", "-DWITH_STRDUP"))
def test_preloaded_malloc_of_the_users(t, more):
    """A library that has a malloc and nothing beyond it; sizes of blocks are not asked of libc. Or one with a strdup that
    does not call malloc, as mimalloc 3 has it."""
    whole = t.build("whole_malloc.c", "-O1", "-fno-builtin", *more.split(), shared=True)
    sizes = {name: size for name, size in HEAP_FAMILY.items() if name not in ("by_valloc", "by_pvalloc")}
    profile = t.record(t.build("heap_family.c", "-O2", "-DONLY_COMMON=1"), "1", env={"LD_PRELOAD": whole},
                       opts=("--only", "heap_family"))
    check_family(t, profile, sizes, 1)


def check_own_new(t, profile):
    """What own_new.cpp allocates."""
    totals = t.consistent(profile)
    t.equal("allocations and frees", (totals["allocations"], totals["frees"]), (150 + runtime(t, profile), 50))
    live, total = t.report(profile), t.report(profile, "total")
    t.equal("keeps", t.total(live, "keeps"), (50 * (411 + 412), 100))
    t.equal("drops live", t.total(live, "drops"), (0, 0))
    t.equal("drops total", t.total(total, "drops"), (50 * 411, 50))


def test_own_operator_new(t):
    check_own_new(t, t.record(t.build("own_new.cpp", "-O1")))


def runtime(t, profile):
    """Allocations that the C++ runtime makes when it starts."""
    total = t.report(profile, "total")
    return total["totals"]["allocations"] - t.total(total, "main")[1]


def test_program_with_its_own_malloc(t):
    """Its definitions come before every preloaded one, and are counted all the same (see test_own_malloc.py)."""
    program = t.build("whole_malloc.c", "-O1", "-fno-builtin", "-DWITH_MAIN", "-rdynamic")
    profile = t.record(program)
    totals = t.consistent(profile)
    t.equal("seen", (totals["allocations"], totals["frees"], totals["reallocations"]), (400, 200, 100))
    t.equal("takes", t.total(t.report(profile), "takes"), (100 * (401 + 8), 200))
