"""Growth names whom other commands name, and says nothing that its own table denies."""
import os

from harness import ROOT

API = ("-I", os.path.join(ROOT, "include"))


def record(t, kind, events, *more):
    return t.record(t.build("growth_told.c", "-O1", *API), kind, str(events), *more, opts=("--scan=full",))


def test_who_lost_a_tree(t):
    """What hangs on a lost block is its owner's, as leaks and findings have it."""
    profile = record(t, "tree", 60)
    growth = t.ask(profile, "growth")
    leak = next(f for f in t.ask(profile, "findings")["findings"] if f["kind"] == "leak")
    t.equal("verdict", growth["verdict"], "leak")
    t.true("named", ": make_root, growth_told.c" in growth["answer"] and "add_child" not in growth["answer"], growth["answer"])
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
