"""Which stacks are in a report: filters together, defaults kept by run, suppression files, presets."""
import json
import os
import re
import shutil

from harness import Failed, PROGRAMS, Skipped, bare, slow

SUPPRESSIONS = os.path.join(PROGRAMS, "suppressed.supp")


def phases(t, *opts):
    return t.record(t.build("phases.c", "-O1"), opts=opts)


def left_out(report):
    """What was left out and what was kept add up to everything; (bytes, count) of the ignored."""
    ignored = report["ignored"]
    assert ignored["bytes"] == sum(r["bytes"] for r in ignored["by"])
    return ignored["bytes"], ignored["count"]


def test_several_options_at_once(t):
    profile = phases(t)
    everything = t.report(profile, "total")["sum"]
    report = t.report(profile, "total", "--within", "phase$", "--within", "both", "--ignore", "^first", "--merge",
                      "s/^(second_phase|spike)$/both/", "--thread", "main")
    t.equal("rows", {r["name"]: (r["self_bytes"], r["self_count"]) for r in report["rows"] if r["self_bytes"]},
            {"both": (8_000_000 + 4_500_000, 8 + 3)})
    t.equal("ignored", left_out(report), (10_000_000, 20))
    t.equal("outside", report["outside"], {"bytes": 12345 + 500500, "count": 1001})
    t.equal("nothing is lost", [report["sum"][k] + report["ignored"][k] + report["outside"][k] for k in ("bytes", "count")],
            [everything["bytes"], everything["count"]])
    callers = t.report(profile, "total", "--callers", "main", "--ignore", "spike", "--fold", "phase$")
    t.equal("--callers, --ignore and --fold", [callers["of_values"][k] for k in ("self_bytes", "total_bytes")],
            [18_000_000, 18_000_000 + 12345 + 500500])
    callees = t.report(profile, "total", "--callees", "main", "--within", "churn|spike", "--ignore", "churn")
    t.equal("--callees", {r["name"]: r["total_bytes"] for r in callees["rows"]}, {"spike": 4_500_000})
    tree = t.report(profile, "total", "--tree", "--within", "^churn$", "--fold", "^main$|^_|^call_")
    t.equal("--tree", [(r["name"], r["total_bytes"]) for r in tree["rows"]], [("churn", 500500)])


def test_what_was_ignored_is_shown(t):
    profile = phases(t)
    text = t.run("report", profile, "--metric", "total", "--ignore", "spike")[0]
    t.true("text", "\nignored    4.3 MiB in 3 calls by --ignore, not in the table\n" in text, text)
    t.equal("json", left_out(t.report(profile, "total", "--ignore", "spike")), (4_500_000, 3))
    t.equal("nothing", t.report(profile, "total")["ignored"], {"bytes": 0, "count": 0, "by": []})


def test_defaults_are_kept_in_the_file(t):
    with open(t.file("s.supp"), "w") as out:
        out.write("leak:^churn$\n")
    profile = phases(t, "--within", "phase$", "--within", "churn|spike", "--ignore", "^spike$", "--suppressions", "s.supp")
    report = t.report(profile, "total")
    t.equal("applied", (left_out(report), report["outside"]), ((4_500_000 + 500500, 1003), {"bytes": 12345, "count": 1}))
    t.equal("rows", sorted(r["name"] for r in report["rows"] if r["self_bytes"]), ["first_phase", "second_phase"])
    text = " ".join(t.run("report", profile)[0].split())
    t.true("the summary says so", "defaults --within phase$, --within churn|spike, --ignore ^spike$, --suppressions s.supp "
                                  "were given to run; --no-defaults leaves them out" in text, text)
    full = t.report(profile, "total", "--no-defaults")
    t.equal("--no-defaults", (left_out(full), full["outside"]["bytes"], full["sum"]["bytes"]),
            ((0, 0), 0, full["totals"]["bytes_allocated"]))
    other = t.report(profile, "total", "--within", "base_load", "--ignore", "first")
    t.equal("--within replaces, --ignore adds", (other["sum"]["bytes"], left_out(other)), (12345, (0, 0)))
    more = t.report(profile, "total", "--ignore", "^first")
    t.equal("more is ignored", left_out(more), (4_500_000 + 500500 + 10_000_000, 1023))
    os.remove(t.file("s.supp"))
    t.equal("the file is not needed any more", left_out(t.report(profile, "total")), (5_000_500, 1003))
    result = json.loads(t.run("diff", profile, phases(t), "--metric", "total", "--json")[0])
    t.equal("diff", [left_out(result[side]) for side in "ab"], [(5_000_500, 1003), (0, 0)])


def test_run_checks_before_it_starts(t):
    marker = t.file("started")
    for options, says in ((("--within", "("), "--within '(' is not an extended regular expression"),
                          (("--ignore", ""), "--ignore needs a regular expression"),
                          (("--ignore", "(a{90}){90}"), "repeats too much"),
                          (("--suppressions", "none.supp"), "cannot open the suppression file none.supp"),
                          (("--suppressions", "bad.supp"), "bad.supp:2: 'nonsense' is neither")):
        with open(t.file("bad.supp"), "w") as out:
            out.write("# one\nnonsense\n")
        _, stderr, status = t.run("run", *options, "touch", marker)
        t.equal("status of %s" % (options,), (status, os.path.exists(marker), stderr.count("\n")), (2, False, 1))
        t.true("it says why", says in stderr, stderr)
    profile = phases(t)
    _, stderr, status = t.run("report", profile, "--suppressions", "bad.supp")
    t.equal("report", (status, stderr[:27]), (2, "tidemark report: bad.supp:2"))


def by_name(report):
    return {r["name"]: (r["bytes"], r["count"]) for r in report["ignored"]["by"] if r["kind"] == "suppression"}


def test_valgrind_leaves_out_the_same(t):
    """Every suppression of suppressed.supp takes the same blocks out of valgrind's leaks and out of the report."""
    if not shutil.which("valgrind"):
        raise Skipped("valgrind is not installed")
    program = t.build("suppressed.cpp", "-O0")
    output = t.plain("valgrind", "-v", "--leak-check=full", "--show-leak-kinds=all", "--suppressions=" + SUPPRESSIONS, program)[1]
    used = {name: (int(size.replace(",", "")), int(blocks.replace(",", ""))) for name, size, blocks in
            re.findall(r"used_suppression: +\d+ (\S+) \S+suppressed\.supp:\d+ suppressed: ([\d,]+) bytes in ([\d,]+) blocks", output)}
    if not used:
        raise Failed("valgrind used no suppression: " + output[-500:])
    t.equal("suppressions that valgrind used", len(used), 11)
    profile = t.record(program)
    t.equal("by name", by_name(t.report(profile, "live", "--suppressions", SUPPRESSIONS)), used)
    kept = t.report(profile, "live", "--suppressions", SUPPRESSIONS, "--within", "^main$")["sum"]
    lost = re.search(r"definitely lost: ([\d,]+) bytes in ([\d,]+) blocks", output)
    t.equal("what is left", (kept["bytes"], kept["count"]), tuple(int(n.replace(",", "")) for n in lost.groups()))


@slow
def test_generated_suppressions_leave_nothing(t):
    """What valgrind writes with --gen-suppressions=all leaves nothing of the leaks."""
    if not shutil.which("valgrind"):
        raise Skipped("valgrind is not installed")
    program = t.build("suppressed.cpp", "-O0")
    output = t.plain("valgrind", "--leak-check=full", "--gen-suppressions=all", program)[1]
    blocks = re.findall(r"^\{\n.*?^\}\n", output, re.MULTILINE | re.DOTALL)
    t.true("generated", len(blocks) >= 13, len(blocks))
    with open(t.file("all.supp"), "w") as out:
        out.writelines(blocks)
    report = t.report(t.record(program), "live", "--suppressions", "all.supp", "--within", "^main$")
    t.equal("left", (report["sum"], report["ignored"]["bytes"] > 65000), ({"bytes": 0, "count": 0}, True))


@slow
def test_sanitizer_leaves_out_the_same(t):
    """LeakSanitizer counts what each pattern suppressed; so do we."""
    checked = t.build("suppressed.cpp", "-O0", "-fsanitize=leak")
    profile = t.record(t.build("suppressed.cpp", "-O0"))
    for pattern in ("^plain$", "middle", "libc.so.6", "shop::*fill", "suppressed.cpp", "^again", "in$", "Box", "no such"):
        with open(t.file("l.supp"), "w") as out:
            out.write("# one\nleak:%s\n" % pattern)
        stdout, stderr, _ = t.plain(checked, env={"LSAN_OPTIONS": "suppressions=l.supp:print_suppressions=1:fast_unwind_on_malloc=0"})
        if "LeakSanitizer has encountered a fatal error" in stderr:
            raise Skipped("LeakSanitizer may not trace here")
        used = re.search(r"^ +(\d+) +(\d+) %s$" % re.escape(pattern), stdout + stderr, re.MULTILINE)
        want = {"leak:" + pattern: (int(used.group(2)), int(used.group(1)))} if used else {}
        t.equal(pattern, by_name(t.report(profile, "live", "--suppressions", "l.supp")), want)


def test_presets(t):
    """What the libraries keep is hidden, what a constructor or main allocates is not."""
    profile = t.record(t.build("kept_by_libraries.cpp", "-O1"))
    shown = t.report(profile, "live", "--presets")
    own = {bare(r["name"]): (r["self_bytes"], r["self_count"]) for r in shown["rows"] if r["self_bytes"]}
    t.equal("the program's own", own, {"Early::Early": (4321, 1), "leak": (200, 2)})
    named = {r["name"]: (r["bytes"], r["count"]) for r in shown["ignored"]["by"]}
    t.true("whose", {"libc", "libstdc++", "the loader"} <= set(named), named)
    t.equal("the pool of libstdc++", named["libstdc++"][1], 1)
    everything = t.report(profile)
    t.equal("not by default", (left_out(everything), everything["sum"]["bytes"]), ((0, 0), everything["totals"]["live_bytes"]))
    t.equal("all is accounted for", shown["sum"]["bytes"] + shown["ignored"]["bytes"], everything["sum"]["bytes"])
    t.equal("the last one counts", left_out(t.report(profile, "live", "--presets", "--no-presets")), (0, 0))
    text = t.run("report", profile, "--presets")[0]
    t.true("text", re.search(r"^presets    hide \S+ KiB live in \d+ blocks of the loader, libc and libstdc\+\+; see --no-presets$", text, re.MULTILINE), text)


def test_rust_library_is_folded(t):
    """What Vec and Box do to get memory is charged to who uses them, whichever way names are mangled."""
    profile = t.record(t.build("rust_names.c", "-O1", "-fno-optimize-sibling-calls"))
    report = t.report(profile, "total")
    t.equal("charged", {r["name"]: (r["self_bytes"], r["self_count"]) for r in report["rows"] if r["self_bytes"]},
            {"app::grows": (10000, 10), "app::boxes": (14000, 7)})
    report = t.report(profile, "total", "--no-fold")
    t.equal("as it is", {r["name"]: r["self_bytes"] for r in report["rows"] if r["self_bytes"]}, {"alloc::alloc::alloc": 24000})
    t.equal("all names", [r["total_bytes"] for r in report["rows"] if r["name"] == "<alloc::raw_vec::RawVecInner>::finish_grow"], [10000])
