"""Growth names whom other commands name, and says nothing that its own table denies."""
import os
import re

from harness import ROOT

API = ("-I", os.path.join(ROOT, "include"))


def record(t, kind, events, *more):
    return t.record(t.build("growth_agreement.c", "-O1", *API), kind, str(events), *more, opts=("--scan=full",))


def test_who_lost_a_tree(t):
    """What hangs on a lost block is its owner's, as leaks and findings have it."""
    profile = record(t, "tree", 60)
    growth = t.ask(profile, "growth")
    leak = next(f for f in t.ask(profile, "findings")["findings"] if f["kind"] == "leak")
    t.equal("verdict", growth["verdict"], "leak")
    t.true("named", ": make_root, growth_agreement.c" in growth["answer"] and "add_child" not in growth["answer"], growth["answer"])
    t.equal("whom findings name", leak["function"], "make_root")
    lost = {s["function"]: s["lost_bytes"] for s in growth["sites"] + growth["other_sites"]}
    # 21 blocks of 536 bytes for an event; a register may point to the last one or two.
    t.true("all of it", 56 * 21 * 536 <= lost["make_root"] <= 59 * 21 * 536 and lost["add_child"] == 0, lost)
    t.true("its rows", "indirectly  add_child" in t.run("growth", profile)[0], t.run("growth", profile)[0])


def test_a_burst_has_no_rate(t):
    growth = t.ask(record(t, "burst", 60), "growth")
    t.true("verdict", growth["verdict"] in ("retention", "fragmentation"), growth["answer"])
    t.true("nothing grows", growth["answer"].startswith("Nothing grows, but ") and "per event" not in growth["answer"], growth["answer"])
    t.equal("rate", (growth["rate"], growth["began"], growth["stopped"]), (0, None, None))
    t.true("nor has the account", abs(growth["account"]["rss"]) < 20000, growth["account"])


def test_a_leak_without_marks(t):
    """Lost evenly from the start on: no beginning is told, and headline and table have one rate."""
    growth = t.ask(record(t, "lose", 250, "unmarked"), "growth")
    site = next(s for s in growth["sites"] + growth["other_sites"] if s["function"] == "lose")
    t.equal("verdict", (growth["verdict"], growth["mark"]), ("leak", None))
    t.equal("from the start to the end", (growth["began"], growth["stopped"]), (None, None))
    t.equal("one rate", growth["rate"], site["rate"])


def test_two_losses_in_all(t):
    """What was lost before the first stamp and after the last belongs to the sum."""
    profile = record(t, "twice", 2, "unmarked")
    totals = t.ask(profile, "leaks")["totals"]
    growth = t.ask(profile, "growth")
    lost = totals["lost_bytes"] + totals["indirect_bytes"]
    t.equal("lost", lost, 4000000)
    t.true("in all", growth["verdict"] != "leak" or growth["stopped"] is None or "3.8 MiB in all" in growth["answer"], growth["answer"])


def test_hardly_any_growth(t):
    """32 bytes for an event are a fact, and of 50 MiB no verdict."""
    profile = record(t, "little", 60)
    growth = t.ask(profile, "growth")
    t.equal("verdict", growth["verdict"], "stable")
    t.true("told all the same", growth["answer"].startswith("Hardly anything grows, 32 B per event: from event 1 to "), growth["answer"])
    t.equal("by whom", [s["function"] for s in growth["sites"]], ["keep_little"])


def test_mapped_in_less_than_a_second(t):
    """A straight ramp without marks is what its table says, however short."""
    profile = record(t, "map", 60, "unmarked")
    growth = t.ask(profile, "growth")
    grows = [s["function"] for s in growth["sites"]]
    t.equal("what the table says", (growth["verdict"], growth["answer"].startswith("It maps ")),
            ("mapped", True) if grows == ["map_more"] else (growth["verdict"], False))
    t.true("what is skipped is for --why", "not counted" not in t.run("growth", profile)[0], growth["answer"])


def test_what_rss_gained_besides(t):
    """4000 bytes are lost at each event; 20 MB that the allocator keeps came at one of them, and are not left out."""
    growth = t.ask(record(t, "both", 60), "growth")
    t.equal("verdict", growth["verdict"], "leak")
    t.true("not flat", "stays flat" not in growth["answer"] and "free in the allocator" in growth["answer"], growth["answer"])


def test_what_others_lost(t):
    """Growth is about the parent, and does not keep silent about the child."""
    profile = record(t, "fork", 20)
    text = t.run("growth", profile)[0]
    others = t.ask(profile, "leaks")["others"]
    t.true("the child lost it", others["processes"] == 1 and others["lost_bytes"] >= 18 * 20000, others)
    t.equal("in JSON", t.ask(profile, "growth")["others"], others)
    t.true("one line", re.search(r"\nothers     1 other process lost [0-9.]+ KiB in \d+ blocks; see tidemark leaks\n", text), text)


def test_a_dict_of_small_objects(t):
    """Few arenas and a doubling table are no steady series, but that the objects grow is known: findings name who makes them."""
    program = t.file("remember.py")
    with open(program, "w") as out:
        out.write("import tidemark\n"
                  "cache = {}\n"
                  "def remember(event):\n"
                  "    for key in range(event * 1000, event * 1000 + 1000): cache[key] = None\n"
                  "for event in range(60):\n"
                  "    remember(event)\n"
                  "    tidemark.mark('event')\n")
    profile = t.record("/usr/bin/python3", program)
    growth = t.ask(profile, "growth")
    t.equal("growth", (growth["verdict"], [s["function"] for s in growth["sites"]]), ("growth", ["remember"]))
    t.true("named", ": remember, remember.py:4" in growth["answer"], growth["answer"])
    t.equal("findings", [(f["kind"], f["function"]) for f in t.ask(profile, "findings")["findings"]], [("growth", "remember")])
