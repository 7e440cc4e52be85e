"""Questions about sizes: histograms of sizes and lifetimes, memory never touched, the allocator's rounding."""
import csv
import io
import os

from harness import ROOT, bare, cases
from test_allocators import ALLOCATORS, program

API = ("-I", os.path.join(ROOT, "include"))
MIB = 1 << 20
MS = 1000000

# As in spread.c: {from: (count, bytes)} of one thread.
MANY_SIZES = {0: (2, 1), 2: (2, 5), 4: (2, 11), 8: (2, 23), 16: (1, 16), 512: (2, 2023), 1024: (1, 1024),
              65536: (1, 100000)}
SIZES = {"many_sizes": MANY_SIZES, "one_bucket": {32: (500, 250 * (33 + 63))}, "long_lived": {128: (40, 8000)},
         "never_freed": {32: (30, 30 * 48)}, "grows": {512: (1, 600), 4096: (1, 5000)}}


def buckets(histogram):
    return {b["from"]: (b["count"], b.get("bytes")) for b in histogram["buckets"]}


def times(histogram, n):
    return {start: (count * n, size * n) for start, (count, size) in histogram.items()}


def of_rows(report):
    """{function: histogram}; each of these functions is one row."""
    return {bare(r["name"]): r["histogram"] for r in report["rows"]}


@cases(threads=(1, 8))
def test_sizes(t, threads):
    profile = t.record(t.build("spread.c", "-O1", *API), str(threads))
    t.consistent(profile)
    report = t.ask(profile, "report", "--histogram", "size", "--by", "function")
    t.equal("metric", report["metric"], "total")
    rows = of_rows(report)
    for name, want in SIZES.items():
        t.equal(name, buckets(rows[name]), times(want, threads))
    everything = {}
    for histogram in rows.values():
        for start, (count, size) in buckets(histogram).items():
            have = everything.get(start, (0, 0))
            everything[start] = (have[0] + count, have[1] + size)
    t.equal("the sum of all rows", buckets(report["histogram"]), everything)
    t.equal("all allocations", sum(count for count, _ in everything.values()), report["totals"]["allocations"])
    t.equal("all bytes", sum(size for _, size in everything.values()), report["totals"]["bytes_allocated"])
    for bucket in report["histogram"]["buckets"]:
        t.equal("end of %d" % bucket["from"], bucket["to"], 2 * bucket["from"] or 2)


@cases(pause_us=(0, 5000))
def test_sizes_that_differ_later(t, pause_us):
    """As long as the blocks of a site are alike, only their number is counted."""
    profile = t.record(t.build("alike_then_not.c", "-O1", "-pthread"), str(pause_us))
    t.consistent(profile)
    want = {"total": {"small_first": (6300, 14), "most_when_alike": (10090, 12), "freed_by_another": (592, 5)},
            "live": {"small_first": (200, 2), "most_when_alike": (2040, 3), "freed_by_another": (0, 0)},
            "sitepeak": {"small_first": (5000, 1), "most_when_alike": (10000, 10), "freed_by_another": None},
            "peak": {"small_first": (200, 2), "most_when_alike": (10000, 10), "freed_by_another": (0, 0)},
            "largest": {"small_first": (5000, None), "most_when_alike": (1000, None), "freed_by_another": (200, None)}}
    for metric, rows in want.items():
        report = t.report(profile, metric)
        for function, figures in rows.items():
            row = t.row(report, function)
            count = row["self_count"] if figures and figures[1] is not None else None
            if figures:
                t.equal("%s of %s" % (metric, function), (row["self_bytes"], count), figures)
    sizes = of_rows(t.ask(profile, "report", "--histogram", "size", "--by", "function"))
    t.equal("sizes", buckets(sizes["small_first"]), {64: (13, 1300), 4096: (1, 5000)})
    t.equal("sizes", buckets(sizes["most_when_alike"]), {512: (10, 10000), 32: (2, 90)})
    t.equal("sizes", buckets(sizes["freed_by_another"]), {64: (3, 192), 128: (2, 400)})


@cases(threads=(1, 8))
def test_lifetimes(t, threads):
    """What slept 150 ms between two marks lived that long at least; how long the others lived is the machine's affair."""
    profile = t.record(t.build("spread.c", "-O1", *API), str(threads))
    report = t.ask(profile, "report", "--histogram", "lifetime", "--by", "function")
    rows = of_rows(report)

    def ended(name, least_ms=0):
        return sum(b["count"] for b in rows[name]["buckets"] if b["from"] >= least_ms * MS)

    t.equal("long_lived", (ended("long_lived"), ended("long_lived", 128), rows["long_lived"]["never"]),
            (40 * threads, 40 * threads, 0))
    t.equal("grows", (ended("grows"), ended("grows", 128), rows["grows"]["never"]), (threads, threads, threads))
    t.equal("never_freed", (ended("never_freed"), rows["never_freed"]["never"]), (0, 30 * threads))
    t.equal("many_sizes", (ended("many_sizes"), rows["many_sizes"]["never"]), (13 * threads, 0))
    t.equal("one_bucket", (ended("one_bucket"), rows["one_bucket"]["never"]), (500 * threads, 0))
    totals = report["totals"]
    t.equal("all frees", sum(b["count"] for b in report["histogram"]["buckets"]), totals["frees"])
    t.equal("all that stay", report["histogram"]["never"], totals["live_blocks"])
    for bucket in report["histogram"]["buckets"]:
        t.equal("end of %d" % bucket["from"], bucket["to"], 2 * bucket["from"] or MS)


def test_groupings_agree(t):
    """However they are grouped, and as JSON, CSV or text, histograms are of the same blocks."""
    profile = t.record(t.build("spread.c", "-O1", *API), "4")
    for kind in ("size", "lifetime"):
        whole = t.ask(profile, "report", "--histogram", kind)
        t.true("no histograms in rows", "histogram" not in whole["rows"][0])
        want = {b["from"]: b["count"] for b in whole["histogram"]["buckets"]}
        never = whole["histogram"].get("never", 0)
        for by in ("function", "line", "stack", "library", "file", "thread"):
            got, left = {}, 0
            for row in t.ask(profile, "report", "--histogram", kind, "--by", by)["rows"]:
                for b in row["histogram"]["buckets"]:
                    got[b["from"]] = got.get(b["from"], 0) + b["count"]
                left += row["histogram"].get("never", 0)
            t.equal("%s by %s" % (kind, by), (got, left), (want, never))
            table = list(csv.DictReader(io.StringIO(t.run("report", profile, "--histogram", kind, "--by", by, "--csv")[0])))
            got = {}
            for line in table:
                got[line["from"]] = got.get(line["from"], 0) + int(line["count"])
            t.equal("%s by %s, CSV" % (kind, by), got,
                    {**{str(k): v for k, v in want.items()}, **({"never": never} if kind == "lifetime" else {})})
    within = t.ask(profile, "report", "--histogram", "size", "--within", "^grows$")["histogram"]
    t.equal("within", buckets(within), times(SIZES["grows"], 4))
    top = t.ask(profile, "report", "--histogram", "size", "--by", "stack", "--top", "1")["rows"]
    t.equal("one row, with its own", [buckets(r["histogram"]) for r in top], [times(MANY_SIZES, 4)])


def test_text(t):
    profile = t.record(t.build("spread.c", "-O1", *API))
    lines = t.run("report", profile, "--histogram", "size", "--within", "many_sizes|one_bucket")[0].split("\n")
    at = next(i for i, line in enumerate(lines) if line.startswith("sizes of all allocations"))
    t.equal("the fullest bucket", lines[at + 7].split(), ["32", "B", "64", "B", "500", "97.5", "23.4", "KiB", "#" * 32])
    t.equal("a gap", lines[at + 8].split(), ["64", "B", "512", "B", "0", "0.0", "0", "B"])
    lines = t.run("report", profile, "--histogram", "lifetime", "--by", "function", "--within", "never_freed")[0]
    t.true("never", "never" in lines and "#" * 32 in lines, lines)
    for wrong, sentence in (
            (("--metric", "live"), "--histogram size is of all allocations (--metric total), not of live"),
            (("--at", "50%"), "--histogram size is known for the whole run only; leave out --since and --at"),
            (("--size", "usable"), "--histogram size is of requested sizes; leave out --size usable"),
            (("--tree",), "--histogram cannot be combined with --tree, --callers or --callees")):
        got = t.run("report", profile, "--histogram", "size", *wrong)
        t.equal(" ".join(wrong), got[1:], ("tidemark report: %s\n" % sentence, 2))
    got = t.run("report", profile, "--histogram", "depth")
    t.equal("an unknown one", got[1:],
            ("tidemark report: --histogram 'depth' is not known; it is one of size, lifetime\n", 2))


# Never touched

# As in untouched.c: of each block the first page is touched by libc, which keeps 16 bytes there, and the last has 16
# bytes of the block: (untouched bytes, blocks) of one block, and its size.
UNTOUCHED = {"every_fourth": (48 * MIB, 64 * MIB), "by_calloc": (16 * MIB - 4080, 16 * MIB), "all_of_it": (0, 8 * MIB),
             "just_large": (256 * 1024 - 4080, 256 * 1024), "grown": (2 * MIB - 4080, 2 * MIB)}


@cases(threads=(1, 8))
def test_untouched(t, threads):
    profile = t.record(t.build("untouched.c", "-O1"), str(threads))
    t.consistent(profile)
    report = t.report(profile, "untouched")
    for name, (untouched, _) in UNTOUCHED.items():
        row = t.row(report, name)
        t.equal(name, (row["self_bytes"], row["self_count"]), (untouched * threads, threads if untouched else 0))
    live = report["untouched"]["live"]
    t.equal("what stays", t.row(report, "stays")["self_bytes"], 24 * MIB if live else 0)
    t.equal("too small to be looked at", t.row(report, "too_small")["self_count"], 0)
    t.equal("memory used before is there", t.row(report, "used_before")["self_bytes"], 0)
    freed = sum(u for u, _ in UNTOUCHED.values()) * threads
    looked = sum(size for _, size in UNTOUCHED.values()) * threads + 2 * MIB
    t.equal("freed", report["untouched"]["freed"], {"bytes": freed, "count": 4 * threads})
    t.equal("looked at", report["untouched"]["freed_looked_at"], {"bytes": looked, "count": 5 * threads + 2})
    text = t.run("report", profile, "--metric", "untouched")[0]
    t.true("two totals in the summary", "untouched  " in text and " large blocks when they were freed" in " ".join(text.split()), text)


def test_untouched_is_of_the_whole_run(t):
    profile = t.record(t.build("untouched.c", "-O1"))
    got = t.run("report", profile, "--metric", "untouched", "--at", "50%")
    t.equal("at a moment", got[1:], ("tidemark report: --metric untouched is known for the whole run only; leave out "
                                     "--since and --at\n", 2))


def test_untouched_of_a_confined_program(t):
    """Its filter ends it for mincore: after the filter nothing is looked at."""
    profile = t.record(t.build("untouched.c", "-O1"), "confined")
    report = t.report(profile, "untouched")
    t.equal("before the filter", t.row(report, "just_large")["self_bytes"], UNTOUCHED["just_large"][0])
    t.equal("after it", report["untouched"]["freed_looked_at"]["count"], 1)


@cases(name=tuple(ALLOCATORS))
def test_untouched_of_other_allocators(t, name):
    """They may keep pages, so that less is untouched; but never more than the program left."""
    path, env = program(t, "untouched.c", name, "preloaded", "-O1")
    report = t.report(t.record(path, "2", env=env, opts=("--only", "untouched")), "untouched")
    t.equal("looked at", report["untouched"]["freed_looked_at"]["count"], 5 * 2 + 2)
    for function, (untouched, size) in UNTOUCHED.items():
        got = t.row(report, function)["self_bytes"]
        t.true(function, 0 <= got <= 2 * min(size, untouched + 4096), got)


# The allocator's rounding

@cases(name=("libc", *ALLOCATORS))
def test_rounding(t, name):
    """What the allocator says itself of each block."""
    said = t.file("said")
    path, env = (t.build("rounding.c", "-O1"), {}) if name == "libc" else program(t, "rounding.c", name, "preloaded", "-O1")
    profile = t.record(path, said, env=env, opts=("--only", "rounding"))
    with open(said) as lines:
        oracle = {words[0]: [int(w) for w in words[1:]] for words in map(str.split, lines)}
    t.equal("functions", sorted(oracle), ["aligned", "by_realloc", "large", "small"])
    reports = {(metric, size): t.report(profile, metric, "--size", size)
               for metric in ("total", "live") for size in ("requested", "usable", "overhead")}
    largest = t.report(profile, "largest")
    for function, (blocks, size, usable, live, live_usable, most) in oracle.items():
        row = {key: t.row(report, function) for key, report in reports.items()}
        t.equal(function + " blocks", row["total", "usable"]["self_count"], blocks)
        for what, want in ((("total", "requested"), size), (("total", "usable"), usable),
                           (("total", "overhead"), usable - size), (("live", "requested"), live),
                           (("live", "usable"), live_usable), (("live", "overhead"), live_usable - live)):
            t.equal("%s %s %s" % (function, *what), row[what]["self_bytes"], want)
        t.equal(function + " largest", t.row(largest, function)["self_bytes"], most)
    stacks = t.report(profile, "live", "--size", "overhead", "--by", "stack")["rows"]
    got = sum(r["bytes"] for r in stacks if bare(r["stack"][0]["function"]) == "small")
    t.equal("overhead by stack", got, oracle["small"][4] - oracle["small"][3])
