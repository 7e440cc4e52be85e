"""Arrays that grow: the program says what its arrays did, growth and findings must say the same; and what only looks like one."""
import os

from harness import cases, line_of

# Events in the Opticks series: as it was, and ten times smaller, which keeps its shape.
FULL, SMALL = "1", "10"
THOUSANDS = (10, 50, 60, 80, 10, 100, 30, 300, 20, 10)
MANY = "10" if "GROWTH_SEEDS" not in os.environ else FULL  # make test-growth: the thousand events in full, too


def record(t, kind, events, scale, leak=0, opt="-O1"):
    """(profile, what the program says: arrays, growths, bytes copied, largest size). Where the machine was too busy for every
    step of growth, which a note says, it is recorded again."""
    for _ in range(10):
        profile = t.record(t.build("opticks.cpp", opt), kind, str(events), scale, str(leak))
        known = [int(n) for n in t.stdout.split()]
        if not any("had no time" in note for note in t.report(profile)["notes"]):
            break
    return profile, known


def figures(chain):
    return [chain[key] for key in ("count", "growths", "copied_bytes", "final_bytes")]


# Kind, line that allocates, item size that can be told, smallest size, factor.
KINDS = (("kept", "pushed", 96, 96, 2), ("fresh", "pushed", 96, 96, 2), ("half", "half", 96, 96, 1.5),
         ("interleaved", "pushed", 96, 96, 2), ("strings", "pushed", 32, 32, 2), ("paths", "pushed", 96, 96, 2),
         ("threads", "pushed", 96, 96, 2))


@cases(kind=tuple(k[0] for k in KINDS))
def test_exact(t, kind):
    check(t, kind, "-O1")


@cases(kind=("paths", "strings", "half"), opt=("-O0", "-O2"))
def test_exact_however_compiled(t, kind, opt):
    check(t, kind, opt)


def check(t, kind, opt):
    _, marker, item, first, factor = next(k for k in KINDS if k[0] == kind)
    profile, known = record(t, kind, 10, SMALL, opt=opt)
    chains = t.ask(profile, "growth")["chains"]
    t.equal("chains", [figures(c) for c in chains], [known])
    for c in chains[:1]:
        t.equal("item and first size", (c["item_bytes"], c["first_bytes"]), (item, first))
        t.true("factor", abs(c["factor"] - factor) < 0.01, c["factor"])
        t.equal("realloc", (c["realloc_growths"], c["in_place_growths"]), (0, 0))
        t.equal("line", c["stack"][0]["line"], line_of("opticks.cpp", marker))
        t.true("advice", c["advice"].startswith("reserve %s items of %d bytes (" % (format(known[3] // item, ","), item))
               and ") at opticks.cpp:%d: " % line_of("opticks.cpp", marker) in c["advice"], c["advice"])


def test_sizes(t):
    """One array that doubles from 1 to 32,768 items."""
    chain, = t.ask(record(t, "kept", 10, SMALL)[0], "growth")["chains"]
    t.equal("length", chain["length"], 16)
    t.equal("old and new block during the last copy", chain["transient_peak_bytes"], 96 * (32768 + 16384))
    t.equal("left behind in freed blocks", chain["kept_bytes"], 96 * 32767)


@cases(opt=("-O0", "-O1", "-O2"))
def test_reserved_before(t, opt):
    """Its first block is reserve()'s; 7 of the 10 events need more. How many items that was cannot be told."""
    profile, known = record(t, "reserved", 10, SMALL, opt=opt)
    chain, = t.ask(profile, "growth")["chains"]
    t.equal("figures", figures(chain), [7] + known[1:])
    t.equal("from what was reserved", (chain["first_bytes"], chain["item_bytes"]), (96000, None))
    t.true("advice", chain["advice"].startswith("reserve 3,072,000 bytes at opticks.cpp:"), chain["advice"])


@cases(kind=("realloc", "realloc-kept"), scale=(FULL, SMALL))
def test_realloc(t, kind, scale):
    """What moved is known to the program, too; large blocks are moved by the kernel, so it was copied at most."""
    profile, known = record(t, kind, 10, scale)
    chain, = t.ask(profile, "growth")["chains"]
    t.equal("figures", figures(chain), known)
    t.equal("all by realloc", chain["realloc_growths"], known[1])
    t.equal("some in place", 0 < chain["in_place_growths"] < known[1], True)
    t.true("at most", " growths and at most " in chain["advice"], chain["advice"])
    t.true("says how", "by realloc (%d of %d in place)" % (chain["in_place_growths"], known[1])
           in " ".join(t.run("growth", profile, "--why")[0].split()), t.stdout)


def test_many_arrays_in_turn(t):
    """Each step of each of 1,000 small arrays counts, however many others grow between two of them."""
    for _ in range(10):  # as in record()
        profile = t.record(t.build("many_arrays.c", "-O1"), "1000")
        growths = int(t.stdout)
        if not any("had no time" in note for note in t.report(profile)["notes"]):
            break
    chain, = t.ask(profile, "growth")["chains"]
    t.equal("growths, sizes", [chain[k] for k in ("growths", "first_bytes", "final_bytes")], [growths, 16, 2048])
    # An array may be taken for the one that had its address before, within the same millisecond.
    t.true("arrays, length", 1000 <= chain["count"] <= 1050 and 7 <= chain["length"] <= 8, chain)


@cases(kind=("double-buffer", "two-buffers", "shuffled", "sawtooth"))
def test_no_chain(t, kind):
    """Blocks of any size that replace each other."""
    profile, _ = record(t, kind, 10, SMALL)
    t.equal("growth", t.ask(profile, "growth")["chains"], [])
    t.equal("findings", [f for f in t.ask(profile, "findings")["findings"] if f["kind"] == "chain"], [])


def reservation(scale):
    items = 32768 if scale == SMALL else 524288
    return "reserve %s items of 96 bytes (%s) at opticks.cpp:%d: " % (
        format(items, ","), "3.0 MiB" if scale == SMALL else "48.0 MiB", line_of("opticks.cpp", "pushed"))


@cases(kind=("kept", "fresh"), events=(10, 100, 1000))
def test_opticks(t, kind, events):
    """Growth to new maxima is no leak; with one in a hundred items lost it is one, of that size."""
    scale = MANY if events == 1000 else FULL
    for leak in (0, 1):
        profile, known = record(t, kind, events, scale, leak)
        growth = t.ask(profile, "growth")
        what = "%s, leak %d" % (kind, leak)
        chain, = growth["chains"]
        t.equal("figures, " + what, figures(chain), known)
        t.true("reservation, " + what, chain["advice"].startswith(reservation(scale)), chain["advice"])
        if kind == "fresh" and scale == FULL:
            t.true("per event", ": about 16 growths and 9.4 MiB of copying per 'event' saved" in chain["advice"], chain["advice"])
        if not leak:  # an array that is made anew is given back, and the allocator keeps it
            t.true("verdict of " + what, growth["verdict"] in
                   (("warm-up", "stable") if kind == "kept" else ("warm-up", "stable", "retention")), growth["verdict"])
            continue
        t.equal("verdict of " + what, growth["verdict"], "leak")
        lost = [THOUSANDS[i % 10] * 1000 // int(scale) * 96 // 100 for i in range(events)]
        truth = sum(lost[1:]) / (events - 1)
        t.true("%s: %g is lost for each event" % (what, truth), growth["lost"]["low"] <= truth <= growth["lost"]["high"],
               growth["lost"])
        if events > 10:  # fewer cannot tell a function's growth from chance
            t.equal("the leak is named, " + what, [s["function"].split("(")[0] for s in growth["sites"]], ["lose"])


def test_findings(t):
    profile, known = record(t, "fresh", 10, FULL)
    found = [f for f in t.ask(profile, "findings")["findings"] if f["kind"] == "chain"]
    t.equal("one, with its figures", [(f["count"], f["bytes"]) for f in found], [(known[1], known[2])])
    t.true("what to do", found and found[0]["do"].startswith(reservation(FULL)), found)


def test_text(t):
    text = t.run("growth", record(t, "kept", 10, SMALL)[0], "--why")[0]
    flat = " ".join(text.split())
    t.true("heading", "arrays that grow step by step" in text, text)
    t.true("history", "from 96 B to 3.0 MiB by a factor of 2, in up to 15 growths; 4.5 MiB during a copy, "
           "3.0 MiB left behind in freed blocks; reserve 32,768 items of 96 bytes" in flat, text)
    fixed = "reserve this maximum once and keep it, not the size that each event needs"
    t.true("one array is of no event", "of copying saved" in flat and fixed not in flat, text)
    flat = " ".join(t.run("growth", record(t, "fresh", 10, SMALL)[0], "--why")[0].split())
    t.true("a fixed maximum", fixed in flat, flat)
