"""What the allocator holds and what of it is free, at marks: the program asks it too, at the same place."""
import os

from harness import ROOT, cases
from test_allocators import WAYS, program
from test_own_malloc import static, with_own_malloc

API = ("-I", os.path.join(ROOT, "include"))
STATES = ("few", "mapped", "holes", "threads")


def told(t):
    """What the program printed: (allocator, held, free or None) for each mark."""
    return [(name, int(held), None if int(free) < 0 else int(free))
            for name, held, free in (line.split() for line in t.stdout.splitlines())]


def known(row):
    return row["allocator"], row["allocator_held_bytes"], row["allocator_free_bytes"]


def stamps_that_know(t, profile):
    return [m["allocator"] for m in t.ask(profile, "marks", "--stamps")["marks"] if not m["label"] and m["allocator"]]


def check(t, path, state, env=None):
    profile = t.record(path, state, env=env, opts=("--only", "heap_figures"))
    want = told(t)
    t.equal("at the mark", [known(m) for m in t.ask(profile, "marks")["marks"]], want)
    return want


@cases(state=STATES)
def test_glibc(t, state):
    check(t, t.build("heap_figures.c", "-O1", *API), state)


@cases(name=("jemalloc", "tcmalloc", "mimalloc"), way=WAYS, state=("holes", "threads"))
def test_others(t, name, way, state):
    path, env = program(t, "heap_figures.c", name, way, "-O1", *API)
    t.equal("it is this one", [row[0] for row in check(t, path, state, env)], [name])


def test_marks_close_to_each_other(t):
    """Where asking takes no time, every mark knows."""
    profile = t.record(t.build("heap_figures.c", "-O1", *API), "few", "100", "0")
    want = told(t)
    t.equal("at the marks", [known(m) for m in t.ask(profile, "marks")["marks"]], want)


def test_many_marks(t):
    """Asking takes 20 ms and then 1 % of the time, so some marks may not know; those that do are exact."""
    profile = t.record(t.build("heap_figures.c", "-O1", *API), "holes", "300", "2")
    want, rows = told(t), t.ask(profile, "marks")["marks"]
    t.equal("marks", (len(rows), known(rows[0])), (300, want[0]))
    t.equal("known and different", [(i, known(m), w) for i, (m, w) in enumerate(zip(rows, want)) if m["allocator"] and known(m) != w], [])
    t.equal("not known is all or nothing", {known(m) for m in rows if not m["allocator"]} - {(None, None, None)}, set())
    t.true("stamps that know: the one at exit, if there was time", len(stamps_that_know(t, profile)) <= 1)


@cases(name=("jemalloc", "tcmalloc_minimal"), flags=("-rdynamic", "-DHIDDEN"))
def test_static_allocator(t, name, flags):
    """The executable's own: asked where its functions are exported."""
    path = static(t, "heap_figures.c", name, "-O1", "-DLINKED_IN", flags, *API)
    profile = t.record(path, "holes")
    want = told(t) if flags == "-rdynamic" else [(None, None, None)]
    t.equal("at the mark", [known(m) for m in t.ask(profile, "marks")["marks"]], want)


def test_no_statistics(t):
    """Allocators that tell nothing: a library with a malloc alone, and a program with one. libc's heap is not theirs."""
    whole = t.build("whole_malloc.c", "-O1", "-fno-builtin", shared=True)
    preloaded = t.record(t.build("marks.c", "-O1", *API), "5", env={"LD_PRELOAD": whole}, opts=("--only", "marks"))
    own = t.record(with_own_malloc(t, "marks.c", "-O1", *API), "5")
    for which, profile in (("preloaded", preloaded), ("own", own)):
        rows = t.ask(profile, "marks")["marks"]
        t.equal(which, (len(rows), {known(m) for m in rows}), (7, {(None, None, None)}))
        t.true("the table has no such columns", "held" not in t.run("marks", profile)[0])


def test_handler_inside_the_allocator(t):
    """A mark made where the thread itself holds the lock; it would never return if the allocator were asked."""
    profile = t.record(t.build("allocator_locked.c", "-O1", *API), "handler")
    rows = t.ask(profile, "marks")["marks"]
    t.equal("before", rows[0]["allocator"], "glibc")
    t.equal("in the handler", {known(m) for m in rows[1:]}, {(None, None, None)})
    t.equal("all are there", len(rows), 41)


def test_handler_that_allocates(t):
    """It may, where it interrupts nothing of libc; a mark at that function holds no lock when it comes."""
    profile = t.record(t.build("allocator_locked.c", "-O1", *API), "computes", opts=("--mark-on", "computes"))
    t.true("asked", "glibc" in {m["allocator"] for m in t.ask(profile, "marks")["marks"]})


def test_forked_children(t):
    """After fork libc has seen to the locks of other threads; after _Fork and clone nobody has."""
    profile = t.record(t.build("allocator_locked.c", "-O1", *API), "children")
    rows = [m for p in t.report(profile)["processes"]
            for m in t.ask(profile, "marks", "--process", str(p["pid"]))["marks"]]
    t.equal("who was asked", sorted((m["label"], m["allocator"]) for m in rows),
            [("by _Fork", None), ("by clone", None), ("by fork", "glibc"), ("parent", "glibc")])


def test_marks_at_functions(t):
    """Functions of the allocator may hold its lock when they are entered; those of the program do not."""
    profile = t.record(t.build("allocator_locked.c", "-O1", *API), "trims",
                       opts=("--mark-on", "harmless", "--mark-on", "malloc_trim"))
    t.equal("who was asked", [(m["label"], m["allocator"]) for m in t.ask(profile, "marks")["marks"]],
            [("harmless", "glibc"), ("malloc_trim", None)])


def test_snapshots_and_exit(t):
    """In the thread that asks for a snapshot, and when the program begins to end, if it was marked before."""
    path, snapshot = t.build("heap_figures.c", "-O1", *API), t.file("snapshot.tide")
    profile = t.record(path, "few", "1", "0", snapshot)
    want, rows = told(t), t.ask(profile, "marks")["marks"]
    t.equal("the snapshot", [(m["label"], known(m)) for m in rows[:1]], [("snapshot", want[0])])
    t.equal("the snapshot's file", known(t.ask(snapshot, "marks")["marks"][0]), want[0])
    t.equal("at the end", stamps_that_know(t, profile), ["glibc"])
    t.equal("never marked, and not asked", stamps_that_know(t, t.record(path, "few", "0")), [])
    path, env = program(t, "heap_figures.c", "jemalloc", "linked", "-O1", *API)
    t.equal("jemalloc, never marked", stamps_that_know(t, t.record(path, "holes", "0")), ["jemalloc"])
