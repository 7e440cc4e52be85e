"""Allocation functions that are called by other names than malloc's: those of jemalloc, mimalloc and tcmalloc."""
import os
import subprocess

from harness import LIBRARIES, MIMALLOC_LIBRARY, Failed, cases
from test_allocation_functions import KEPT, ROUNDS

JEMALLOC = dict(by_mallocx=2001, by_aligned_mallocx=2003)
COMMON = dict(by_malloc=1001, by_calloc=707, by_realloc=1303, by_posix_memalign=1507)
MIMALLOC = dict(by_zalloc=601, by_malloc_aligned=613, by_zalloc_aligned=617, by_realloc_aligned=619, by_strdup=9)
# Of jemalloc, what is under the names of malloc's family, and what is not for others to see.
PLAIN_NAMES = ("malloc", "calloc", "realloc", "free", "posix_memalign", "aligned_alloc", "memalign", "valloc",
               "malloc_usable_size", "mallocx", "rallocx", "xallocx", "sallocx", "nallocx", "dallocx", "sdallocx", "mallctl",
               "mallctlbymib", "mallctlnametomib", "malloc_stats_print", "malloc_conf", "malloc_message",
               "__libc_calloc", "__libc_free", "__libc_malloc", "__libc_memalign", "__libc_realloc", "__libc_valloc",
               "__posix_memalign", "__free_hook", "__malloc_hook", "__realloc_hook", "__memalign_hook")


def prefixed_jemalloc(t, prefix):
    """An archive of jemalloc with this before all its names, as a build of its own would have it."""
    archive, names = t.file(prefix + "jemalloc.a"), t.file("names")
    with open(names, "w") as out:
        out.writelines("%s %s%s\n" % (name, prefix, name) for name in PLAIN_NAMES)
    original = os.path.join(LIBRARIES, "libjemalloc_pic.a")
    for command in (["objcopy", "--redefine-syms=" + names, original, archive],):
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode:
            raise Failed("%s: %s" % (" ".join(command), done.stdout))
    members = subprocess.run(["ar", "t", archive], stdout=subprocess.PIPE, text=True, check=True).stdout.split()
    subprocess.run(["ar", "d", archive, *[m for m in members if "cpp" in m]], check=True)
    return archive


def check(t, profile, sizes, threads, with_x):
    totals = t.consistent(profile)
    t.equal("notes", t.report(profile)["notes"], [])
    live, total = t.report(profile), t.report(profile, "total")
    for name, size in sizes.items():
        t.equal(name + " live", t.total(live, name), (size * KEPT * threads, KEPT * threads))
        t.equal(name + " total", t.total(total, name), (size * ROUNDS * threads, ROUNDS * threads))
    if with_x:
        for name, before, size in (("by_rallocx", 16, 3001), ("by_xallocx", 100000, 90000)):
            t.equal(name + " live", t.total(live, name), (size * KEPT * threads, KEPT * threads))
            t.equal(name + " total", t.total(total, name), ((before + size) * ROUNDS * threads, 2 * ROUNDS * threads))
    return totals


def linked(t, library, *flags):
    return t.build("other_names.c", "-O2", "-Wl,--no-as-needed", os.path.join(LIBRARIES, library), "-Wl,--as-needed", *flags)


def test_mozilla(t):
    """Firefox has malloc and pthread_create in its executable, and functions that take an arena."""
    profile = t.record(t.build("mozilla_malloc.c", "-O2", "-fno-builtin", "-rdynamic", "-Wno-missing-prototypes", "-ldl"))
    totals = t.consistent(profile)
    t.equal("notes", t.report(profile)["notes"], [])
    live, total = t.report(profile), t.report(profile, "total")
    for name, size in dict(by_arena_malloc=801, by_arena_calloc=633, by_arena_memalign=1301, by_malloc=1001).items():
        t.equal(name + " live", t.total(live, name), (size * 7, 7))
        t.equal(name + " total", t.total(total, name), (size * 100, 100))
    t.equal("realloc live", t.total(live, "by_arena_realloc"), (1203 * 7, 7))
    t.equal("realloc total", t.total(total, "by_arena_realloc"), ((16 + 1203) * 100, 200))
    t.equal("unknown frees", totals["unknown_frees"], 0)


@cases(threads=(1, 4))
def test_jemalloc(t, threads):
    profile = t.record(linked(t, "libjemalloc.so.2", "-DPREFIX="), str(threads))
    check(t, profile, JEMALLOC, threads, True)
    t.equal("leaks", t.ask(profile, "leaks", "--all")["complete"], True)


def test_static_jemalloc(t):
    """In an executable that has malloc as well: both are taken."""
    program = t.build("other_names.c", "-O2", "-DPREFIX=", "-rdynamic", "-Wl,--whole-archive", os.path.join(LIBRARIES, "libjemalloc.a"),
                      "-Wl,--no-whole-archive", "-lstdc++", "-lm")
    check(t, t.record(program, "1"), JEMALLOC, 1, True)


@cases(prefix=("je_", "_rjem_"), exported=("exported", "hidden"))
def test_prefixed_jemalloc(t, prefix, exported):
    """Beside libc's malloc, in the program: exported, or in a program of Rust, by its table of symbols."""
    if prefix == "je_" and exported == "hidden":
        return
    archive = prefixed_jemalloc(t, prefix)
    flags = ["-rdynamic"] if exported == "exported" else ["-DRUST"]
    program = t.build("other_names.c", "-O2", "-DWHOLE", "-DPREFIX=" + prefix, *flags, "-Wl,--whole-archive", archive,
                      "-Wl,--no-whole-archive", "-lm")
    check(t, t.record(program, "4"), {**JEMALLOC, **COMMON}, 4, True)


def test_prefixed_and_hidden(t):
    """In a program of another language nobody looks for it before the end, and that is said."""
    program = t.build("other_names.c", "-O2", "-DWHOLE", "-DPREFIX=_rjem_", "-Wl,--whole-archive", prefixed_jemalloc(t, "_rjem_"),
                      "-Wl,--no-whole-archive", "-lm")
    report = t.report(t.record(program, "1"))
    t.true("a note", any("blocks of the jemalloc inside" in note for note in report["notes"]), report["notes"])


@cases(threads=(1, 4), flags=("", "-no-pie"))
def test_mimalloc(t, threads, flags):
    """Without -pie an executable exports nothing, and its table of hashes does not say what it needs."""
    program = linked(t, MIMALLOC_LIBRARY, "-DPREFIX=mi_", "-DMIMALLOC", *flags.split())
    check(t, t.record(program, str(threads)), {**COMMON, **MIMALLOC}, threads, False)


def test_own_functions_of_like_names(t):
    """zalloc as zlib has it is no function of jemalloc's, though the program exports both."""
    program = t.build("other_names.c", "-O2", "-DPREFIX=", "-DOWN_ZALLOC", "-rdynamic", "-Wl,--whole-archive",
                      os.path.join(LIBRARIES, "libjemalloc.a"), "-Wl,--no-whole-archive", "-lstdc++", "-lm")
    check(t, t.record(program, "1"), JEMALLOC, 1, True)
    t.equal("status", t.status, 0)


@cases(library=("libtcmalloc.so.4", "libtcmalloc_minimal.so.4"), threads=(1, 4))
def test_tcmalloc(t, library, threads):
    program = linked(t, library, "-DPREFIX=tc_", "-DTCMALLOC")
    check(t, t.record(program, str(threads)), COMMON, threads, False)


@cases(library=("", "-DDEFINES_THEM"))
def test_free_sized(t, library):
    """C23: where the allocator has none, free does it."""
    program = t.build("frees_sized.c", "-O2")
    env = {}
    if library:
        env = {"LD_PRELOAD": t.build("whole_malloc.c", "-O1", "-fno-builtin", "-DWITH_FREE_SIZED", shared=True)}
    profile = t.record(program, env=env, opts=("--only", "frees_sized"))
    totals = t.consistent(profile)
    t.equal("seen", (totals["allocations"], totals["frees"]), (300, 250))
    t.equal("kept", t.total(t.report(profile), "keeps"), (50 * 71, 50))
