"""tidemark leaks: what was never freed, folded by stack, as text, JSON and CSV; and its exit status."""
import csv
import io
import os
import re

from harness import ROOT, bare, cases, slow
from test_ctl import Running

API = ("-I", os.path.join(ROOT, "include"))
TOTALS = ["bytes", "blocks", "unique", "lost_bytes", "lost_blocks", "indirect_bytes", "indirect_blocks", "reachable_bytes",
          "reachable_blocks", "unclassified_bytes", "unclassified_blocks", "freed_at_exit_bytes", "freed_at_exit_blocks",
          "ignored_bytes", "ignored_blocks", "outside_bytes", "outside_blocks", "may_match_bytes", "may_match_blocks"]
# (bytes, blocks) that tests/programs/left_behind.c leaves, by function; libc's own for the thread are not among them.
DIRTY = {"lose": (1500, 15), "chain": (4 * 64 + 12 * 32, 16), "keep": (1000, 20), "helper": (30, 3)}


def record(t, how, *opts):
    return t.record(t.build("left_behind.c", "-O1", *API), how, opts=opts)


def leaks(t, profile, *options):
    return t.ask(profile, "leaks", *options)


def by_function(answer, names=DIRTY):
    """(bytes, blocks) of each of our functions that leaves blocks behind, over all entries."""
    found = {}
    for leak in answer["leaks"]:
        for frame in leak["stack"]:
            name = bare(frame["function"])
            if name in names:
                old = found.get(name, (0, 0))
                found[name] = (old[0] + leak["bytes"], old[1] + leak["count"])
                break
    return found


def entries(answer, name):
    return [leak for leak in answer["leaks"] if name == bare(leak["stack"][0]["function"])]


def test_numbers(t):
    profile = record(t, "dirty")
    answer = leaks(t, profile, "--no-presets")
    totals = answer["totals"]
    t.equal("schema", answer["schema"], "tidemark.leaks/1")
    t.equal("members of totals", list(totals), TOTALS)
    t.equal("left behind", by_function(answer), DIRTY)
    live = t.consistent(profile)
    t.equal("all that is live", (totals["bytes"], totals["blocks"]), (live["live_bytes"], live["live_blocks"]))
    kinds = ("lost", "indirect", "reachable", "unclassified")
    for what in ("bytes", "blocks"):
        t.equal("the kinds make up all " + what, sum(totals["%s_%s" % (k, what)] for k in kinds), totals[what])
    for kind in kinds:
        own = [leak for leak in answer["leaks"] if leak["kind"] == kind]
        t.equal("total of " + kind, (sum(e["bytes"] for e in own), sum(e["count"] for e in own)),
                (totals[kind + "_bytes"], totals[kind + "_blocks"]))
    t.equal("unique", totals["unique"], len(answer["leaks"]))
    sizes = [leak["bytes"] for leak in answer["leaks"]]
    t.equal("largest first", sizes, sorted(sizes, reverse=True))
    t.equal("nothing was ignored", (totals["ignored_bytes"], totals["ignored_blocks"]), (0, 0))


def test_kinds(t):
    """What points to each block is what the program's source says."""
    profile = record(t, "dirty")
    answer = leaks(t, profile, "--freed-at-exit")
    found = {(e["kind"], bare(e["stack"][0]["function"]), e["bytes"], e["count"]) for e in answer["leaks"]}
    t.equal("kinds", found, {("lost", "lose", 1000, 10), ("lost", "lose", 500, 5), ("lost", "chain", 256, 4),
                             ("indirect", "chain", 384, 12), ("lost", "helper", 30, 3), ("reachable", "keep", 1000, 20)})
    totals = answer["totals"]
    t.equal("totals", [totals[k] for k in TOTALS[:13]], [3170, 54, 6, 1786, 22, 384, 12, 1000, 20, 0, 0, 4000, 4])
    t.equal("freed at exit", [(bare(e["stack"][0]["function"]), e["bytes"], e["count"]) for e in answer["freed_at_exit"]],
            [("at_exit", 4000, 4)])
    before = leaks(t, profile, "--at", "exit")
    t.equal("before handlers ran", by_function(before, ("keep", "at_exit")), {"keep": (1000, 20), "at_exit": (4000, 4)})
    for kinds in ("lost", "indirect,reachable", "unclassified"):
        some = leaks(t, profile, "--kind", kinds)
        t.equal("--kind " + kinds, some["leaks"], [e for e in answer["leaks"] if e["kind"] in kinds.split(",")])
        t.equal("totals are of all kinds", some["totals"], totals)


def test_what_text_lists(t):
    profile = record(t, "dirty")

    def kinds(*options):
        return re.findall(r"^\d+\. ([a-z ]+): (.*) in", t.run("leaks", profile, *options)[0], re.MULTILINE)

    usual = [("lost", "1000 B"), ("lost", "640 B"), ("lost", "500 B"), ("lost", "30 B")]  # 256 B, and 384 that they lead to
    t.equal("by size, with what hangs on them", kinds(), usual)
    t.equal("--kind lost,indirect lists each", kinds("--kind", "lost,indirect"),
            [("lost", "1000 B"), ("lost", "500 B"), ("lost", "256 B"), ("lost", "30 B"), ("indirect", "384 B")])
    t.equal("--all", kinds("--all"), [*usual, ("reachable", "1000 B")])
    t.equal("--kind", kinds("--kind", "reachable"), [("reachable", "1000 B")])
    t.equal("--freed-at-exit", kinds("--freed-at-exit"), [*usual, ("freed at exit", "3.9 KiB")])
    t.equal("--min is a share of that", kinds("--min", "25"), usual[:2])  # of 2,170 B: 640 B are 29 %, 256 B would be 12 %
    top = t.run("leaks", profile, "--top", "1")[0]
    t.true("what is left out counts with what hangs on it", "\n... 3 more stacks with 1.1 KiB in 24 blocks;" in top, top)
    answer, summary = t.run("leaks", profile)[0].split("\n\n")[:2]
    t.equal("the answer", answer, "2.1 KiB in 34 blocks were lost, 1000 B of it by lose left_behind.c:26.")
    for line in ("lost       1.7 KiB in 22 blocks from 4 stacks: nothing points to them any more",
                 "indirect   384 B in 12 blocks from 1 stack: only lost blocks point to them",
                 "reachable  1000 B in 20 blocks from 1 stack: something still points to them; --all lists them",
                 "at exit    3.9 KiB in 4 blocks more were freed as the program ended; --freed-at-exit lists them"):
        t.true(line, line in summary.splitlines(), summary)


def test_only_kept(t):
    """Reachable blocks are no leak: not listed, and no reason to fail."""
    profile = record(t, "kept")
    text, stderr, status = t.run("leaks", profile, "--fail=all")
    t.equal("status", (status, stderr), (0, ""))
    t.true("nothing was lost", "\nlost       nothing was lost\nreachable  1000 B in 20 blocks from 1 stack" in text, text)
    t.true("what to do", text.endswith("\nnext: tidemark leaks %s --all\n" % profile), text)


def test_unclassified(t):
    """--no-scan: nobody looked, and it says so."""
    profile = record(t, "dirty", "--no-scan")
    answer = leaks(t, profile)
    t.equal("kinds", {e["kind"] for e in answer["leaks"]}, {"unclassified"})
    t.equal("left behind", by_function(answer), DIRTY)
    text, stderr, status = t.run("leaks", profile, "--fail")
    t.true("text", re.search(r"^unknown .* unclassified: .+$", text, re.MULTILINE), text)
    t.true("--fail cannot know", status == 0 and "is not known (" in stderr and "--fail=all" in stderr, (status, stderr))
    t.equal("--fail=all counts them", t.run("leaks", profile, "--fail=all")[2], 3)


def test_run_says_what_was_lost(t):
    program, path = t.build("left_behind.c", "-O1", *API), t.file("x.tide")
    stderr = t.run("run", "-o", path, "--", program, "dirty")[1]
    t.true("lost", "\n  lost 2.1 KiB in 34 blocks that nothing points to any more: tidemark leaks %s\n" % path in stderr, stderr)
    stderr = t.run("run", "-o", path, "--", program, "kept")[1]
    t.true("nothing lost", "lost" not in stderr, stderr)


def test_an_entry(t):
    profile = record(t, "dirty")
    answer = leaks(t, profile)
    stacks = [(leak["kind"], tuple(tuple(f.items()) for f in leak["stack"])) for leak in answer["leaks"]]
    t.equal("a stack of one kind is one entry", len(set(stacks)), len(stacks))
    helper, = entries(answer, "helper")
    t.equal("thread", (helper["thread"], helper["threads"]), ("helper", 1))
    keep, = entries(answer, "keep")
    t.equal("thread of the program", keep["thread"], "main")
    reported = [r for r in t.report(profile, "live", "--by", "stack")["rows"] if bare(r["stack"][0]["function"]) == "keep"]
    t.equal("frames as in reports", keep["stack"], reported[0]["stack"])
    t.equal("usable", keep["usable_bytes"], 20 * 56)
    t.true("times", 0 <= keep["first_ns"] <= keep["last_ns"] <= answer["at_ns"] <= answer["duration_ns"], keep)
    t.equal("the moment", (answer["at"], answer["since"]), ("end", "start"))


def test_since_a_mark(t):
    """Marks end an interval: exactly what was allocated after it."""
    answer = leaks(t, record(t, "dirty"), "--since", "middle")
    t.equal("left behind since", by_function(answer), {"lose": (500, 5), "chain": DIRTY["chain"], "helper": DIRTY["helper"]})


def test_looks_that_were_asked_for(t):
    """'tidemark ctl PID leaks' while it runs: --at leaks#N shows that look, --since what came after it."""
    run = Running(t, t.file("s.%I.tide"))
    run.ctl("leaks")
    run.ctl("leaks")
    profile = run.end()
    hundred = ("hundred",)
    for word in ("leaks", "leaks#1", "leaks#2", "leaks#-1"):
        answer = leaks(t, profile, "--at", word)
        t.equal("blocks at " + word, by_function(answer, hundred), {"hundred": (2000, 200)})
        t.equal("its name", answer["at"], "leaks#1" if word in ("leaks", "leaks#1") else "leaks#2")
        t.equal("all but the last are lost", answer["totals"]["lost_blocks"], 199)
    t.equal("at the end", by_function(leaks(t, profile), hundred), {"hundred": (3000, 300)})
    t.equal("since", by_function(leaks(t, profile, "--since", "leaks#2"), hundred), {"hundred": (1000, 100)})
    between = leaks(t, profile, "--since", "snapshot#1", "--at", "leaks#1")
    t.equal("between two moments", by_function(between, hundred), {"hundred": (1000, 100)})
    for word in ("leaks#3", "snapshot#1"):
        _, stderr, status = t.run("leaks", profile, "--at", word)
        t.true("no look at " + word, status == 2 and "leaks#1 (" in stderr and "leaks#2 (" in stderr, (status, stderr))


def test_older(t):
    profile = record(t, "dirty")
    everything = leaks(t, profile)
    t.equal("0s", leaks(t, profile, "--older", "0s")["leaks"], everything["leaks"])
    t.equal("nothing is that old", leaks(t, profile, "--older", "1h")["totals"]["blocks"], 0)
    # Between the two ages of an entry's blocks: only those that are surely older are left.
    ages = sorted(everything["at_ns"] - leak["last_ns"] for leak in everything["leaks"])
    limit = ages[len(ages) // 2]
    old = leaks(t, profile, "--older", "%dns" % limit)
    t.true("some are left", 0 < old["totals"]["blocks"] <= everything["totals"]["blocks"], old["totals"])
    t.true("and all of them are that old", all(e["last_ns"] <= old["at_ns"] - limit for e in old["leaks"]), old)


def test_focus(t):
    profile = record(t, "dirty")
    everything = leaks(t, profile, "--no-presets")["totals"]
    within = leaks(t, profile, "--within", "^lose$", "--no-presets")
    t.equal("within", (within["totals"]["bytes"], by_function(within)), (1500, {"lose": DIRTY["lose"]}))
    t.equal("outside", within["totals"]["outside_bytes"], everything["bytes"] - 1500)
    ignoring = leaks(t, profile, "--ignore", "^lose$", "--ignore", "chain", "--no-presets")["totals"]
    t.equal("ignored", (ignoring["ignored_bytes"], ignoring["ignored_blocks"]), (1500 + 640, 15 + 16))
    t.equal("the rest", ignoring["bytes"], everything["bytes"] - 1500 - 640)
    t.equal("of one thread", leaks(t, profile, "--thread", "helper")["totals"]["bytes"], 30)
    merged = leaks(t, profile, "--merge", "s/^(keep|lose)$/it/")
    t.equal("renamed", sum(e["bytes"] for e in entries(merged, "it")), 2500)


def test_suppressions(t):
    profile = record(t, "dirty")
    listed = t.file("list.supp")
    with open(listed, "w") as out:
        out.write("leak:lose\nleak:helper\n")
    totals = leaks(t, profile, "--suppressions", listed, "--no-presets")["totals"]
    t.equal("suppressed", (totals["ignored_bytes"], totals["ignored_blocks"]), (1530, 18))
    summary = t.run("leaks", profile, "--suppressions", listed)[0]
    t.true("the summary says so", "\nignored    1.5 KiB in 18 blocks by suppressions" in summary, summary)


def test_suppressions_of_a_kind(t):
    """valgrind's may be for some kinds of leaks only."""
    profile = record(t, "dirty")
    for kinds, ignored in (("definite", 256), ("indirect", 384), ("definite,indirect", 640), ("reachable", 0), ("all", 640)):
        listed = t.file("%s.supp" % kinds)
        with open(listed, "w") as out:
            out.write("{\n   chains\n   Memcheck:Leak\n   match-leak-kinds: %s\n   fun:calloc\n   fun:chain\n   ...\n}\n" % kinds)
        answer = leaks(t, profile, "--suppressions", listed, "--no-presets")
        t.equal("ignored: " + kinds, answer["totals"]["ignored_bytes"], ignored)
        t.equal("by which: " + kinds, [(r["name"], r["bytes"]) for r in answer["ignored"]["by"]],
                [("chains", ignored)] if ignored else [])


def test_text(t):
    profile = record(t, "dirty")
    text, stderr, status = t.run("leaks", profile, "--all", "--within", "lose|keep")
    t.equal("status", (status, stderr), (0, ""))
    summary, *rest = text.split("\n\n")
    t.true("at most 12 lines", len(summary.splitlines()) <= 12, summary)
    first, second = [r.splitlines() for r in rest if "    lose  " in r]  # called from two lines
    t.true("heading", re.fullmatch(r"[12]\. \w+: 1000 B in 10 blocks of 100 B", first[0]), first)
    t.true("of the other", re.fullmatch(r"[23]\. \w+: 500 B in 5 blocks of 100 B", second[0]), second)
    t.true("times", re.fullmatch(r"    (first at .*, last at|allocated at) .*; thread main", first[1]), first)
    t.equal("frames", [line.split()[0] for line in first[2:5]], ["lose", "dirty", "main"])
    t.true("places", all(re.search(r"left_behind\.c:\d+$", line) for line in first[2:5]), first)
    t.true("what to do next", rest[-1].startswith("next: "), rest[-1:])
    top = t.run("leaks", profile, "--all", "--within", "lose|keep", "--top", "1")[0]
    t.true("the others are counted", re.search(r"^\.\.\. 2 more stacks with 1\.5 KiB in (15|25) blocks", top, re.MULTILINE), top)


def test_csv(t):
    profile = record(t, "dirty")
    rows = list(csv.DictReader(io.StringIO(t.run("leaks", profile, "--csv")[0])))
    answer = leaks(t, profile)
    t.equal("the numbers of JSON", [(r["kind"], int(r["bytes"]), int(r["count"]), int(r["first_ns"]), int(r["last_ns"]),
                                     r["thread"], r["stack"].split(";")) for r in rows],
            [(e["kind"], e["bytes"], e["count"], e["first_ns"], e["last_ns"], e["thread"],
              [f["function"] for f in e["stack"]]) for e in answer["leaks"]])


def test_clean(t):
    profile = record(t, "clean")
    answer = leaks(t, profile)
    t.equal("nothing is left", (answer["totals"]["bytes"], answer["totals"]["blocks"], answer["leaks"]), (0, 0, []))
    text = t.run("leaks", profile)[0]
    t.true("it says so", "\nlost       nothing was lost" in text, text)
    t.equal("--fail", t.run("leaks", profile, "--fail")[1:], ("", 0))
    t.equal("--fail=all", t.run("leaks", profile, "--fail=all")[1:], ("", 0))


def test_fail(t):
    profile = record(t, "dirty")
    for option, words in (("--fail", "lost"), ("--fail=lost", "lost"), ("--fail=all", "did not free")):
        stdout, stderr, status = t.run("leaks", profile, option, "--json")
        t.equal("status of " + option, status, 3)
        t.true("one line says why", re.fullmatch(r"tidemark leaks: process \d+ %s 2.1 KiB in 34 blocks\n" % words, stderr), stderr)
        t.true("the output is there as well", stdout.startswith('{"schema":"tidemark.leaks/1"'), stdout[:80])
    for status, options in ((3, ("--top", "1", "--min", "100")), (3, ("--kind", "reachable")), (3, ("--ignore", "lose|helper")),
                            (3, ("--within", "chain")), (0, ("--ignore", "dirty|helper")), (0, ("--within", "keep")),
                            (0, ("--older", "1h")), (0, ("--since", "end")), (3, ("--at", "exit"))):
        t.equal("status with %s" % (options,), t.run("leaks", profile, "--fail", *options)[2], status)
    t.equal("without it", t.run("leaks", profile)[2], 0)


def test_fail_of_children(t):
    profile = record(t, "children")
    report = t.report(profile)
    _, dirty, clean = [p["pid"] for p in report["processes"]]
    t.equal("the child's", by_function(leaks(t, profile, "--process", str(dirty)), ("lose", "chain", "helper")),
            {k: v for k, v in DIRTY.items() if k != "keep"})
    t.equal("one of them", t.run("leaks", profile, "--process", str(clean), "--fail=all")[1:], ("", 0))
    _, stderr, status = t.run("leaks", profile, "--fail=all")
    t.equal("all of them", status, 3)
    t.true("which", "process %d did not free" % dirty in stderr and str(clean) not in stderr, stderr)


def test_wrong_usage(t):
    profile = record(t, "clean")
    for arguments, status, words in ((("--kind", "lots"), 2, "lost, indirect, reachable, unclassified"),
                                     (("--older", "soon"), 2, "10s, 500ms or 5m"), (("--older",), 2, "needs a value"),
                                     (("--fail=some",), 2, "one of lost, all"), (("--at", "middle"), 2, "end ("),
                                     (("--at", "leaks#1"), 2, "there was no leak scan at 'leaks#1'"),
                                     (("--since", "nowhere"), 2, "not a moment"), (("--metric", "live"), 2, "--metric"),
                                     (("--oldr", "1s"), 2, "--older"), (("--process", "1"), 1, "no process 1"),
                                     (("--thread", "nobody"), 1, "no thread"), (("--json", "--csv"), 2, "exclude")):
        stdout, stderr, got = t.run("leaks", profile, *arguments)
        t.equal("status of %s" % (arguments,), (got, stdout, stderr.count("\n")), (status, "", 1))
        t.true("%s says what is right" % (arguments,), words in stderr, stderr)
    t.equal("no such file", t.run("leaks", t.file("none.tide"))[2], 1)
    t.equal("no file", t.run("leaks")[2], 2)


def test_nothing_recorded(t):
    """A program that allocates nothing, and one of which nothing can be seen."""
    answer = leaks(t, t.record("/bin/true"), "--no-presets")
    t.equal("blocks", (answer["totals"]["blocks"], answer["leaks"]), (0, []))


@slow
@cases(depth=(17,))
def test_many_stacks(t, depth):
    """131,072 stacks: each is an entry, and each is there down to its end."""
    profile = t.record(t.build("many_stacks.c", "-O1"), str(depth))
    answer = leaks(t, profile, "--top", "3")
    t.equal("entries", (answer["totals"]["unique"], answer["totals"]["blocks"]), (1 << depth, 1 << depth))
    t.equal("one is as the other", [(e["bytes"], e["count"], len(e["stack"])) for e in answer["leaks"]],
            [(16, 1, len(answer["leaks"][0]["stack"]))] * 3)
    depths, ends = set(), set()
    for line in t.run("leaks", profile, "--csv")[0].splitlines()[1:]:
        frames = line.split(",")[-1].split(";")
        depths.add(frames.count("branch"))
        ends.add(frames[-1])
    t.equal("depths and outermost frames", (depths, ends), ({depth + 1}, {"_start"}))


@slow
def test_ten_million_blocks(t):
    """One stack: one entry, whatever the number of blocks; the figures are exact."""
    profile = t.record(t.build("ten_million.c", "-O1"), opts=("--no-scan",))
    answer = leaks(t, profile)
    t.equal("entries", [(e["bytes"], e["count"]) for e in answer["leaks"]], [(240000000, 10000000)])
    t.true("the file is small", os.path.getsize(profile) < 100000, os.path.getsize(profile))


@cases(flags=("-O0", "-O2", "-O2 -no-pie", "-O0 -no-pie", "-O2 -rdynamic -s"))
def test_suppressions_inside_the_program(t, flags):
    """What __lsan_default_suppressions returns counts for leaks, and for nothing else."""
    profile = t.record(t.build("suppressed_inside.c", *flags.split()))
    report = t.ask(profile, "leaks", "--no-presets")
    stripped = "-s" in flags  # known by the exported function, but the stacks have no names
    t.equal("lost", report["totals"]["bytes"], 7000 if stripped else 4000)
    t.equal("ignored", report["totals"]["ignored_bytes"], 0 if stripped else 3000)
    t.equal("without them", t.ask(profile, "leaks", "--no-presets", "--no-defaults")["totals"]["bytes"], 7000)
    t.equal("a report has all", t.report(profile)["sum"]["bytes"], 7000)
    if not stripped:
        text = t.run("leaks", profile)[0]
        t.true("the text says so", "the suppressions inside suppressed_inside are for LeakSanitizer" in " ".join(text.split()), text)


def test_suppressions_that_are_computed(t):
    profile = t.record(t.build("suppressed_inside.c", "-O1", "-DCOMPUTED"))
    t.equal("all are told", t.ask(profile, "leaks", "--no-presets")["totals"]["bytes"], 7000)
    t.true("a note", any("__lsan_default_suppressions" in n for n in t.report(profile)["notes"]), t.report(profile)["notes"])


def test_cut_stacks_may_match(t):
    """A cut stack may have lost the wanted function, so its leaks count as possible matches."""
    program = t.build("deep_leak.c", "-O1", "-fno-optimize-sibling-calls")
    whole, cut = t.record(program, "10"), t.record(program, "20000")
    for profile, lost, may in ((whole, 20000, 0), (cut, 0, 20000)):
        totals = leaks(t, profile, "--within", "wanted")["totals"]
        t.equal("lost, may match", (totals["lost_bytes"], totals["may_match_bytes"]), (lost, may))
        t.equal("--fail", t.run("leaks", profile, "--within", "wanted", "--fail")[2], 3)
    t.true("it is said", "tidemark leaks: process" in t.stderr and "whose stacks were cut off: they may match" in t.stderr, t.stderr)
    t.true("and in the text", "\nmay match  19.5 KiB in 20 blocks" in t.stdout, t.stdout)
    t.equal("of a whole stack it is known", t.run("leaks", whole, "--within", "other", "--fail")[2], 0)
    t.equal("nor is it lost where nobody asks", leaks(t, cut)["totals"]["may_match_bytes"], 0)
