"""tidemark export: stacks in other tools' formats, each read by the tool itself; its numbers are the report's."""
import gzip
import json
import os
import re
import subprocess

from browser import Browser
from exported import EVIL, LONG, RECORDINGS, add, by_name, export, nonzero, record, same, stacks
from harness import cases

METRICS = ("live", "total", "temporary", "peak")
DH_VIEW = "file:///usr/libexec/valgrind/dh_view.html"


def run(t, *command):
    done = subprocess.run(command, capture_output=True, cwd=t.dir)
    t.equal("status of " + command[0], (done.returncode, done.stderr.decode(errors="replace")[:300] if done.returncode else ""), (0, ""))
    return done.stdout.decode(errors="replace")


def number(text):
    return int(text.replace(",", ""))


# --- pprof

def fields(data):
    """The fields of a protobuf message: [(number, value)]; bytes stay bytes."""
    found, at = [], 0

    def varint():
        nonlocal at
        value, shift = 0, 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        tag = varint()
        if tag & 7 == 0:
            found.append((tag >> 3, varint()))
        elif tag & 7 == 1:
            found.append((tag >> 3, int.from_bytes(data[at:at + 8], "little")))
            at += 8
        else:
            size = varint()
            found.append((tag >> 3, data[at:at + size]))
            at += size
    return found


def packed(data):
    """Packed numbers, signed."""
    values, value, shift = [], 0, 0
    for byte in data:
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            values.append(value - (1 << 64) if value >> 63 else value)
            value = shift = 0
    return values


class Pprof:
    def __init__(self, path):
        with gzip.open(path) as file:
            self.fields = fields(file.read())
        self.strings = [v.decode() for n, v in self.fields if n == 6]
        functions = {f[1]: self.strings[f[2]] for f in (dict(fields(v)) for n, v in self.fields if n == 5)}
        self.locations = {}
        for n, v in self.fields:
            if n == 4:
                location = fields(v)
                self.locations[dict(location)[1]] = [functions[dict(fields(line))[1]] for k, line in location if k == 4]
        self.types = [self.strings[dict(fields(v))[1]] for n, v in self.fields if n == 1]
        self.mappings = [dict(fields(v)) for n, v in self.fields if n == 3]

    def stacks(self):
        """{stack: values}, and the same by thread."""
        sums, threads = {}, {}
        for n, v in self.fields:
            if n != 2:
                continue
            sample = fields(v)
            stack = [name for at in packed(dict(sample)[1]) for name in self.locations[at]]
            add(sums, tuple(stack), *packed(dict(sample)[2]))
            labels = [dict(fields(label)) for k, label in sample if k == 3]
            for label in labels:
                if self.strings[label[1]] == "thread":
                    add(threads, self.strings[label[2]], *packed(dict(sample)[2]))
        return sums, threads


@cases(kind=RECORDINGS)
def test_pprof_stacks(t, kind):
    """Decoded by the rules of profile.proto: every stack with its four values, threads, build ids."""
    profile = record(t, kind)
    got = Pprof(export(t, profile, "pprof"))
    t.equal("sample types", got.types, ["alloc_objects", "alloc_space", "inuse_objects", "inuse_space"])
    total, live = stacks(t, profile, "total"), stacks(t, profile, "live")
    want = {s: (*reversed(total.get(s, (0, 0))), *reversed(live.get(s, (0, 0)))) for s in {*total, *live}}
    found, threads = got.stacks()
    same(t, "stacks", nonzero(found), want)
    rows = t.report(profile, "live", "--by", "thread")["rows"]
    t.equal("threads", {n: v[2:] for n, v in threads.items() if any(v[2:])}, {r["name"]: (r["self_count"], r["self_bytes"]) for r in rows})
    t.true("build ids", any(len(got.strings[m.get(6, 0)]) == 40 for m in got.mappings), got.mappings)
    if kind == "hostile":
        names = {name for stack in found for name in stack}
        t.true("names as they are", EVIL in names, sorted(names)[:3])
    if kind == "long":
        t.true("a name of 100,000 characters, of which a recording has 65,536", any(LONG[:65536] in stack for stack in found))


def top(t, path, index):
    """({function: flat}, {function: cum}) that pprof prints."""
    unit = "-unit=count" if index.endswith("objects") else "-unit=B"
    text = run(t, "go", "tool", "pprof", "-top", unit, "-nodecount=0", "-nodefraction=0", "-edgefraction=0", "-sample_index=" + index, path)
    flat, cum = {}, {}
    for a, b, name in re.findall(r"^ *(-?\d+)(?:B|count)? +\S+% +\S+% +(-?\d+)(?:B|count)? +\S+% +(.*)$", text, re.MULTILINE):
        name = re.sub(r" \((partial-)?inline\)$", "", name)
        flat[name], cum[name] = flat.get(name, 0) + int(a), max(cum.get(name, 0), int(b))
    return flat, cum


def test_pprof_top(t):
    profile = record(t, "native")
    path = export(t, profile, "pprof")
    for index, metric, which in (("inuse_space", "live", 0), ("inuse_objects", "live", 1), ("alloc_space", "total", 0), ("alloc_objects", "total", 1)):
        own, total = by_name(stacks(t, profile, metric))
        flat, cum = top(t, path, index)
        same(t, index + " flat", {n: v for n, v in flat.items() if v}, {n: v[which] for n, v in own.items() if v[which]})
        same(t, index + " cum", {n: v for n, v in cum.items() if v}, {n: v[which] for n, v in total.items() if v[which]})
    raw = run(t, "go", "tool", "pprof", "-raw", path)
    t.equal("the program is the first mapping", re.search(r"^File: (.*)", run(t, "go", "tool", "pprof", "-top", path), re.M).group(1),
            os.path.basename(t.report(profile)["command"][0]))
    samples = [[int(n) for n in line.split(":")[0].split()] for line in re.search(r"inuse_space/bytes\[dflt\]\n(.*)Locations", raw, re.DOTALL).group(1).splitlines() if re.match(r" +\d+ ", line)]
    totals = t.report(profile)["totals"]
    t.equal("raw sums", [sum(s[i] for s in samples) for i in range(4)],
            [totals[k] for k in ("allocations", "bytes_allocated", "live_blocks", "live_bytes")])
    t.true("raw: thread and period", 'thread:[work;er "1" <b>]' in raw and "PeriodType: space bytes" in raw, raw[-800:])


def test_pprof_questions(t):
    """Metrics, moments, differences and filters are those of report."""
    profile = record(t, "native")
    for metric, options in (("peak", ()), ("temporary", ()), ("sitepeak", ()), ("live", ("--at", "high")), ("live", ("--since", "high")),
                            ("live", ("--since", "high", "--at", "done")), ("total", ("--size", "usable")), ("live", ("--within", "outer|sizes")),
                            ("live", ("--ignore", "keep")), ("live", ("--fold", "^middle$|^inner$")), ("live", ("--thread", 'work;er "1" <b>')),
                            ("live", ("--merge", "s/keep|grow/held/")), ("live", ("--process", "all"))):
        got = Pprof(export(t, profile, "pprof", "--metric", metric, *options)).stacks()[0]
        want = {s: tuple(reversed(v)) for s, v in stacks(t, profile, metric, *options).items()}
        same(t, "%s %s" % (metric, options), nonzero(got), want)


def test_pprof_cpu(t):
    profile = t.record("/usr/bin/python3", "-c", "sum(i * i for i in range(3000000))", opts=("--cpu",))
    got = Pprof(export(t, profile, "pprof", "--metric", "cpu"))
    t.equal("sample types", got.types, ["samples", "cpu"])
    same(t, "stacks", got.stacks()[0], {s: tuple(reversed(v)) for s, v in stacks(t, profile, "cpu").items()})


# --- folded and speedscope

@cases(kind=RECORDINGS)
def test_folded(t, kind):
    profile = record(t, kind)
    for metric in ("live", "total", "peak"):
        with open(export(t, profile, "folded", "--metric", metric), encoding="utf-8", errors="replace", newline="\n") as file:
            text = file.read()
        t.equal("as flame has it", text, t.run("flame", profile, "--folded", "--metric", metric)[0])
        got = {line.rsplit(" ", 1)[0]: int(line.rsplit(" ", 1)[1]) for line in text.split("\n") if line}
        want = {}
        for stack, values in stacks(t, profile, metric).items():
            add(want, ";".join(reversed([n.replace(";", ":").replace("\n", " ") for n in stack])), values[0])
        same(t, metric, got, {s: v[0] for s, v in want.items() if v[0]})


def read_speedscope(t, path):
    """{profile: {stack innermost first: weight}}, by the rules of speedscope's file-format-spec: frames are shared and
    numbered, a sampled profile has as many weights as samples, and its values go from 0 to their sum."""
    with open(path) as file:
        content = json.load(file)
    t.equal("schema", content["$schema"], "https://www.speedscope.app/file-format-schema.json")
    frames = content["shared"]["frames"]
    t.true("frames", all(set(f) <= {"name", "file", "line", "col"} and f["name"] for f in frames))
    found = {}
    for p in content["profiles"]:
        t.equal("a profile", (p["type"], p["startValue"], p["endValue"], len(p["weights"])), ("sampled", 0, sum(p["weights"]), len(p["samples"])))
        t.true("unit", p["unit"] in ("bytes", "nanoseconds"), p["unit"])
        sums = found[p["name"]] = {}
        for sample, weight in zip(p["samples"], p["weights"]):
            add(sums, tuple(frames[i]["name"] for i in reversed(sample)), weight)
    return found


@cases(kind=RECORDINGS)
def test_speedscope(t, kind):
    profile = record(t, kind)
    got = read_speedscope(t, export(t, profile, "speedscope"))
    t.equal("profiles", len(got), 4)
    for metric, found in zip(METRICS, got.values()):
        same(t, metric, found, {s: v[:1] for s, v in stacks(t, profile, metric).items() if v[0]})


def test_speedscope_differences(t):
    profile = record(t, "native")
    want = stacks(t, profile, "live", "--since", "high")
    shrank = -sum(v[0] for v in want.values() if v[0] < 0)
    got = read_speedscope(t, export(t, profile, "speedscope", "--metric", "live", "--since", "high", notes=[
        "tidemark export: speedscope holds no stacks that shrank: %d bytes of live bytes are left out" % shrank]))
    t.equal("what grew", list(got.values()), [{s: v[:1] for s, v in want.items() if v[0] > 0}])


# --- callgrind

def annotate(t, path, inclusive):
    """{(file, function, library): [numbers]} that callgrind_annotate prints; levels of recursion are told apart."""
    text = run(t, "callgrind_annotate", "--inclusive=" + inclusive, "--threshold=100", "--auto=no", path)
    found = {}
    for line in text.splitlines():
        columns = re.match(r"^((?: *(?:[\d,]+|\.)(?: \([ \d.]+%\))?)+)  (.*?)(?: \[([^]]*)\])?$", line)
        if columns and ":" in columns.group(2) and columns.group(2) != "file:function":
            numbers = re.findall(r"(?:^| )([\d,]+|\.)(?= |$)", re.sub(r"\([ \d.]+%\)", "", columns.group(1)))
            file, name = columns.group(2).strip().split(":", 1)
            add(found, (file, name, columns.group(3)), *(number(n) if n != "." else 0 for n in numbers))
    return found


def identity(frame):
    return frame["file"] or "???", frame["function"], frame["module"] or "???"




@cases(kind=("native", "python"))
def test_callgrind(t, kind):
    profile = record(t, kind)
    path = export(t, profile, "callgrind")
    found = [by_name(stacks(t, profile, metric, name=identity)) for metric in METRICS]
    for inclusive, which in (("no", 0), ("yes", 1)):
        want = {}
        for name in set().union(*(f[which] for f in found)):
            want[name] = sum((f[which].get(name, (0, 0)) for f in found), ())
        got = {}
        for (file, name, library), values in annotate(t, path, inclusive).items():
            base = re.sub(r"'\d+$", "", name)
            if inclusive == "no" or base == name:  # the outermost call has all that is below
                add(got, (file, base, library), *values)
        everything = got.pop(("???", "[all]", "???"), None)
        if inclusive == "yes":
            t.equal("[all]", everything, sum((tuple(sum(v[i] for v in stacks(t, profile, m).values()) for i in (0, 1)) for m in METRICS), ()))
        same(t, "inclusive=" + inclusive, nonzero(got), nonzero(want))


def test_callgrind_hostile(t):
    profile = record(t, "hostile")
    path = export(t, profile, "callgrind", "--metric", "live")
    totals = t.report(profile)["totals"]
    text = run(t, "callgrind_annotate", "--threshold=100", "--auto=no", path)
    t.equal("totals", [number(n) for n in re.search(r"^([\d,]+) \(100.0%\) +([\d,]+) \(100.0%\) +PROGRAM TOTALS", text, re.MULTILINE).groups()],
            [totals["live_bytes"], totals["live_blocks"]])
    t.true("names in one line", re.sub(r"[\n\t\x01]", " ", EVIL) in text, text[:500])


# --- massif

def snapshots(t, path):
    """[(useful bytes, extra bytes, {(function, ...): bytes})] that ms_print prints; the stacks of those with a tree."""
    text = run(t, "ms_print", "--threshold=0", path)
    found, stack = [], []
    for line in text.splitlines():
        row = re.match(r"^ *\d+ +[\d,]+ +[\d,]+ +([\d,]+) +([\d,]+) +0$", line)
        node = re.match(r"^((?:\| |  )*)->[\d.]+% \(([\d,]+)B\) 0x[0-9A-F]+: (.*?)(?: \((?:in )?[^()]*\))?$", line)
        if row:
            found.append((number(row.group(1)), number(row.group(2)), {}))
        elif node:
            depth = len(node.group(1)) // 2
            stack[depth:] = [node.group(3)]
            found[-1][2][tuple(stack)] = found[-1][2].get(tuple(stack), 0) + number(node.group(2))
            if depth:
                found[-1][2][tuple(stack[:-1])] -= number(node.group(2))
    return text, found


@cases(kind=RECORDINGS)
def test_massif(t, kind):
    profile = record(t, kind)
    text, found = snapshots(t, export(t, profile, "massif"))
    peak = int(re.search(r"(\d+) \(peak\)", text).group(1))
    for at, metric in ((peak, "peak"), (-1, "live")):
        want = {tuple(re.sub(r"[\x00-\x1f]", " ", n) for n in s): v[0] for s, v in stacks(t, profile, metric).items() if v[0]}
        got = {s: v for s, v in found[at][2].items() if v}
        t.equal(metric, found[at][0], sum(want.values()))
        if kind != "hostile":  # a name with parentheses and colons is not to be told from its place
            same(t, metric + " by stack", got, want)
    t.equal("the highest", max(f[0] for f in found), found[peak][0])
    usable = sum(v[0] for v in stacks(t, profile, "live", "--size", "overhead").values())
    t.equal("extra bytes", found[-1][1], usable)
    moment, at = snapshots(t, export(t, profile, "massif", "--at", "50%"))
    t.equal("at a moment", at[-1][0], sum(v[0] for v in stacks(t, profile, "live", "--at", "50%").values()))


# --- DHAT

def test_dhat(t):
    """In valgrind's own page."""
    with Browser() as browser:
        for kind in RECORDINGS:
            profile = record(t, kind)
            with open(export(t, profile, "dhat")) as file:
                content = file.read()
            browser.open(DH_VIEW)
            got = browser.run("""gData = JSON.parse(%s); buildTree(); displayTree(0, 0, 0);
                return {root: [gRoot._totalBytes, gRoot._totalBlocks, gRoot._atTGmaxBytes, gRoot._atTGmaxBlocks, gRoot._atTEndBytes, gRoot._atTEndBlocks],
                        text: document.body.textContent.slice(0, 3000)}""" % json.dumps(content))
            want = [sum(v[i] for v in stacks(t, profile, m).values()) for m in ("total", "peak", "live") for i in (0, 1)]
            t.equal("totals of the page, " + kind, got["root"], want)
            t.true("the page shows them, " + kind, re.search("Total: +{:,} bytes".format(want[0]), got["text"]), got["text"])
            points = json.loads(content)
            for metric, key in (("total", "t"), ("sitepeak", "m"), ("peak", "g"), ("live", "e")):
                found = {}
                for p in points["pps"]:
                    stack = tuple(points["ftbl"][f].split(": ", 1)[1] for f in p["fs"])
                    add(found, stack, p[key + "b"], p[key + "bk"])
                rows = {}
                for row in t.report(profile, metric, "--by", "stack")["rows"]:
                    names = []
                    for f in row["stack"]:
                        place = (" (%s:%d)" % (f["file"].rsplit("/", 1)[-1], f["line"]) if f["file"] and f["line"] else
                                 " (in %s)" % f["module"] if f["module"] else "")
                        names.append(f["function"] + place)
                    add(rows, tuple(names), row["bytes"], row["count"])
                same(t, "%s of %s" % (metric, kind), nonzero(found), nonzero(rows))


# --- heaptrack

@cases(kind=RECORDINGS)
def test_heaptrack(t, kind):
    profile = record(t, kind)
    path = t.file("out.heaptrack.gz")
    stdout, stderr, status = t.run("export", profile, "--format", "heaptrack", "-o", path)
    t.equal("notes", (status, stderr.count("\n")), (0, 1))
    totals = t.report(profile)["totals"]
    for cost, metric, which in (("allocations", "total", 1), ("temporary", "temporary", 1), ("leaked", "live", 0), ("peak", "peak", 0)):
        printed = run(t, "heaptrack_print", "-f", path, "--disable-builtin-suppressions", "--disable-embedded-suppressions",
                      "-F", t.file("folded"), "--flamegraph-cost-type", cost)
        if cost == "allocations":
            t.equal("calls and temporary", re.findall(r"^(?:calls to allocation functions|temporary memory allocations): (\d+)", printed, re.MULTILINE),
                    [str(totals["allocations"]), str(totals["temporary_allocations"])])
        got, want = {}, {}
        with open(t.file("folded"), encoding="utf-8", errors="replace", newline="\n") as file:
            for line in file.read().split("\n"):
                if line and " " in line:
                    names, amount = line.rsplit(" ", 1)
                    add(got, re.sub(r" \([^();]*\)(?=;|$)", "", names.rstrip(";")), int(amount))
        for stack, values in stacks(t, profile, metric).items():
            names = [n.replace("\n", " ") for n in reversed(stack)]
            if "main" in names:  # heaptrack_print leaves out what called main
                names = names[names.index("main"):]
            add(want, ";".join(names), values[which])
        t.equal(cost + " in all", sum(v[0] for v in got.values()), sum(v[0] for v in want.values()))
        if kind == "native":
            same(t, cost, nonzero(got), nonzero(want))
