"""What is written down is so: options, chunk types, files and tests that the documents name, and the format itself."""
import ctypes
import ctypes.util
import glob
import os
import re
import shutil
import subprocess

from harness import HERE, ROOT, cases

DOCUMENTS = ("README.md", "CHANGELOG.md", "docs/ARCHITECTURE.md", "docs/FORMAT.md", "docs/SAFETY.md", "docs/api.md",
             "docs/attach.md", "docs/export.md", "docs/leaks.md", "docs/production.md", "docs/python.md",
             "docs/slow.md", "docs/threads.md", "docs/tutorial.md",
             *sorted(os.path.relpath(path, ROOT) for path in glob.glob(os.path.join(ROOT, "docs", "internals", "*.md"))))
PAGES = sorted(os.path.relpath(path, ROOT) for path in glob.glob(os.path.join(ROOT, "docs", "man", "*.[0-9]")))
FOLDERS = "bench|bindings|docs|examples|include|scripts|src|tests"


def text_of(name):
    with open(os.path.join(ROOT, name), encoding="utf-8") as text:
        return text.read()


# Options and commands

def options_in_help(t, command):
    """-o and --option of the part before the examples, which are of other programs too."""
    text = t.run(command, "--help")[0].split("\nExamples:")[0]
    return set(re.findall(r"(?<![\w'-])--?[a-z][a-z-]*", text))


def options_in_page(name):
    """mdoc: .It Fl o, .It Fl -option , Fl -other."""
    items = re.findall(r"^\.It (Fl .*)", text_of(name), re.MULTILINE)
    return {"-" + flag for item in items for flag in re.findall(r"\bFl ([\w-]+)", item)}


def commands():
    """Those with a manual page: all of them, as another test sees to."""
    return sorted(re.findall(r"docs/man/tidemark-(\w+)\.1", " ".join(PAGES)))


@cases(command=tuple(commands()))
def test_options_are_those_of_the_help(t, command):
    shown, page = options_in_help(t, command), options_in_page("docs/man/tidemark-%s.1" % command)
    t.true("options in --help", len(shown) > (0 if command in ("ctl", "detach") else 1 if command == "doctor" else 5), shown)
    t.equal("in --help and not in the manual page", sorted(shown - page), [])
    t.equal("in the manual page and not in --help", sorted(page - shown), [])


def test_every_variable_has_an_entry(t):
    """Those in quotes; the others are macros."""
    files = [path for folder, kind in (("src", "**/*.[ch]"), ("bindings", "*/*/*.py"))
             for path in glob.glob(os.path.join(ROOT, folder, kind), recursive=True)]
    used = {name for path in files for name in re.findall(r'"(TIDEMARK_[A-Z_]+)"', text_of(path))}
    t.true("there are some", {"TIDEMARK_OPTIONS", "TIDEMARK_SOCKET"} <= used, used)
    entries = " ".join(re.findall(r"^\.It Ev (.*)", text_of("docs/man/tidemark.1"), re.MULTILINE))
    t.equal("without an entry in tidemark.1", used - set(re.findall(r"\w+", entries)), set())


def test_every_command_has_a_page(t):
    commands = re.findall(r"^  ([a-z]+) +\S", t.run("--help")[0].split("\nExamples:")[0], re.MULTILINE)
    t.true("commands", {"run", "report", "marks"} <= set(commands), commands)
    page = text_of("docs/man/tidemark.1")
    for command in commands:
        t.true("docs/man/tidemark-%s.1" % command, "docs/man/tidemark-%s.1" % command in PAGES)
        t.true("tidemark.1 has " + command, ".It Cm %s\n" % command in page)
    for name in PAGES:
        stem = os.path.basename(name).split(".")[0].replace("tidemark-", "")
        t.true("%s is of a command that exists" % name, stem in [*commands, "tidemark", "format"])


def test_words_of_the_report(t):
    """The words that --metric, --by and --size take, as their error messages list them, are in the page."""
    profile = t.record("/bin/true")
    page = text_of("docs/man/tidemark-report.1")
    marked = set(re.findall(r"\w+", " ".join(re.findall(r"\.(?:It )?Cm (.*)", page))))
    for option in ("--metric", "--by", "--size"):
        stderr = t.run("report", profile, option, "nonsense")[1]
        words = set(re.findall(r"[a-z]+", stderr.split("one of ")[-1])) - {"and", "or"}
        t.true("%s lists its words" % option, len(words) > 2, stderr)
        # Reserved by the contract; no recording has them yet, and --help does not offer them.
        t.equal("words of %s not in the page" % option, sorted(words - marked - {"cpu", "faults"}), [])


@cases(name=PAGES)
def test_page_is_well_formed(t, name):
    if not shutil.which("man") or not shutil.which("groff"):
        return
    done = subprocess.run(["man", "--warnings", "-E", "UTF-8", "-l", os.path.join(ROOT, name)],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, "MANPAGER": "cat"})
    t.equal("warnings", (done.returncode, done.stderr), (0, ""))
    t.true("says something", len(done.stdout) > 500, len(done.stdout))


@cases(name=(*DOCUMENTS, *PAGES))
def test_lines_are_short(t, name):
    t.equal("lines of more than 110 characters",
            [number for number, line in enumerate(text_of(name).splitlines(), 1) if len(line) > 110], [])


# Things that the documents name

def test_files_exist(t):
    named = 0
    for document in (*DOCUMENTS, *PAGES):
        text = text_of(document)
        paths = set(re.findall(r"\b(?:%s)/[\w./*-]*[\w*]" % FOLDERS, text))
        for target in re.findall(r"\]\(([^)#:]+)\)", text):
            paths.add(os.path.normpath(os.path.join(os.path.dirname(document), target)))
        for path in sorted(paths):
            named += 1
            t.true("%s names %s, which is not there" % (document, path), glob.glob(os.path.join(ROOT, path)))
    t.true("files named", named > 40, named)


def test_tests_exist(t):
    """docs/SAFETY.md names a test for each rule."""
    defined = {}
    for path in glob.glob(os.path.join(HERE, "test_*.py")):
        with open(path) as source:
            for name in re.findall(r"^def (test_\w+)", source.read(), re.MULTILINE):
                defined[name] = os.path.basename(path)
    text = re.sub(r"tests/unit/\w+\.c", "", " ".join(text_of("docs/SAFETY.md").split()))  # test_files_exist has these
    named = set(re.findall(r"\btest_\w+(?!\.py)\b", text)) - {os.path.splitext(f)[0] for f in defined.values()}
    t.true("tests named", len(named) > 15, len(named))
    t.equal("named and not defined", sorted(named - set(defined)), [])
    for file, name in re.findall(r"(test_\w+\.py): (test_\w+)", text):
        t.equal("file of " + name, file, defined.get(name))


def test_hooks_are_named(t):
    """Every function that libtidemark.so exports is in docs/SAFETY.md; operators are described, not listed."""
    text = text_of("docs/SAFETY.md").split("## What is hooked")[1].split("\n## ")[0]
    names = set(re.findall(r"^    (\w+);", text_of("src/record/exports.map"), re.MULTILINE))
    t.equal("not named", sorted(n for n in names if not n.startswith("_Z") and not re.search(r"\b%s\b" % n, text)), [])
    operators = len([n for n in names if n.startswith("_Z")])
    t.true("number of operators", "all %d forms" % operators in text, operators)


# The format

def chunk_types():
    found = re.findall(r"CHUNK_TYPE\('(.)', '(.)', '(.)', '(.)'\)", text_of("src/store/chunk.h"))
    return ["".join(letters) for letters in found]


def test_chunk_types_are_documented(t):
    types = chunk_types()
    t.true("types in chunk.h", len(types) >= 11, types)
    headings = re.findall(r"^## ([A-Z]{4}):", text_of("docs/FORMAT.md"), re.MULTILINE)
    t.equal("headings of docs/FORMAT.md", sorted(headings), sorted(types))
    items = re.findall(r"^\.It Li ([A-Z]{4})$", text_of("docs/man/tidemark-format.5"), re.MULTILINE)
    t.equal("items of tidemark-format(5)", sorted(items), sorted(types))


def test_version_is_documented(t):
    version = re.search(r"#define FILE_VERSION\s+(\d+)", text_of("src/store/chunk.h")).group(1)
    t.true("docs/FORMAT.md", text_of("docs/FORMAT.md").split("\n\n")[1].startswith("Version %s." % version))
    t.true("tidemark-format(5)", ".tide file, version %s\n" % version in text_of("docs/man/tidemark-format.5"))


class Payload:
    """docs/FORMAT.md, "Basics"."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def varint(self):
        value = shift = 0
        while True:
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 0x7f) << shift
            shift += 7
            if byte < 0x80:
                return value

    def zigzag(self):
        value = self.varint()
        return value >> 1 ^ -(value & 1)

    def string(self):
        size = self.varint()
        self.at += size
        return self.data[self.at - size:self.at]

    def take(self, size):
        self.at += size
        return self.data[self.at - size:self.at]

    def varints(self, count):
        return [self.varint() for _ in range(count)]

    def sums(self, count, number):
        """Numbers that are written as differences from the one before."""
        total, result = 0, []
        for _ in range(count):
            total += number()
            result.append(total)
        return result


def library(name, function, result, *arguments):
    f = getattr(ctypes.CDLL(ctypes.util.find_library(name) or {"zstd": "libzstd.so.1", "xxhash": "libxxhash.so.0"}[name]), function)
    f.restype, f.argtypes = result, arguments
    return f


def chunks_of(t, content):
    """(type, process, payload) of each chunk; checks sizes and checksums."""
    unpack = library("zstd", "ZSTD_decompress", ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t)
    xxh64 = library("xxhash", "XXH64", ctypes.c_uint64, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint64)
    number = lambda at, size: int.from_bytes(content[at:at + size], "little")
    t.equal("file header", (content[:8], number(8, 4), number(12, 4)), (b"tidemark", 1, 0))
    at = 16
    while at < len(content):
        kind, process = content[at:at + 4].decode(), number(at + 4, 4)
        stored, raw = number(at + 8, 4), number(at + 12, 4)
        payload = content[at + 24:at + 24 + stored]
        t.equal("checksum of " + kind, number(at + 16, 8), xxh64(payload, stored, xxh64(content[at:at + 16], 16, 0)))
        buffer = ctypes.create_string_buffer(raw + 1)
        t.equal("size of " + kind, unpack(buffer, raw, payload, stored), raw)
        yield kind, process, Payload(buffer.raw[:raw])
        at += 24 + stored
    t.equal("end of the last chunk", at, len(content))


def read_process(p, out):
    out["pid"], out["ppid"] = p.varints(2)
    out["command"] = [p.string().decode() for _ in range(p.varint())]
    out["executable"], out["host"] = p.string(), p.string()
    out["start"], out["duration"] = p.varints(2)
    out["exit_code"] = p.zigzag()
    out["signal"], out["flags"] = p.varints(2)
    out["peak_bytes"], out["peak_blocks"], out["peak_time"], out["peak_skew"], out["memory_peak"] = p.varints(5)
    out["rank"], out["ranks"], out["sampled"], out["waits"] = p.varints(4)


def read_modules(p, out):
    out["modules"] = [dict(start=p.varint(), size=p.varint(), offset=p.zigzag(), epoch=p.varint(),
                           path=p.string(), build_id=p.string()) for _ in range(p.varint())]


def read_threads(p, out):
    out["threads"] = [dict(tid=p.varint(), name=p.string().decode(), start=p.varint(), end=p.varint())
                      for _ in range(p.varint())]


def read_nodes(p, out):
    addresses = p.sums(p.varint(), p.varint)
    count = p.varint()
    parents = [number - up for number, up in enumerate(p.varints(count), 1)]
    out["nodes"] = [None, *zip(parents, [addresses[place] for place in p.varints(count)])]


SITE = ("thread", "domain", "unit_bytes", "unit_usable", "at_peak_blocks", "at_peak_bytes", "at_peak_usable",
        "own_peak_blocks", "own_peak_bytes")


def read_sites(p, out):
    count = p.varint()
    out["sites"] = [dict(node=node) for node in p.sums(count, p.zigzag)]
    for name in SITE:
        for site, value in zip(out["sites"], p.varints(count)):
            site[name] = value
    for site in out["sites"]:
        site["largest"] = site["unit_bytes"] + p.zigzag()


def predict_column(n, c, unit, over, all_temporary):
    """What docs/FORMAT.md says a column is predicted to be, from the columns c before it."""
    if n in (0, 3):
        return 0
    if n == 1:
        return c[0]
    if n == 2:
        return c[1] if all_temporary else 0
    if n == 4:
        return c[0] * unit
    if n == 5:
        return c[4] if c[1] == c[0] else c[1] * unit
    if n == 6:
        return c[5] if c[2] == c[1] else c[2] * unit
    if n == 7:
        return c[4] + c[0] * over
    return c[7] if c[1] == c[0] else c[5] + c[1] * over


def read_intervals(p, out):
    intervals, end = [], 0
    for _ in range(p.varint()):
        values = p.varints(7)
        end += values[0]
        intervals.append(dict(end=end, peak=values[1], unknown_frees=values[2], rows={}, count=values[6]))
    for interval in intervals:
        number = -1
        for _ in range(interval["count"]):
            number += p.varint()
            mask, site, c = p.varint(), out["sites"][number], []
            for n in range(9):
                predicted = predict_column(n, c, site["unit_bytes"], site["unit_usable"], mask >> 9 & 1)
                c.append((p.zigzag() if mask >> n & 1 else 0) + predicted)
            interval["rows"][number] = c
    out["intervals"] = intervals


def read_stamps(p, out):
    out["stamps"], now = [], [0] * 12
    for _ in range(p.varint()):
        now = [before + p.zigzag() for before in now]
        out["stamps"].append(now)


def read_marks(p, out):
    out["marks"] = [[p.varint() for _ in range(3)] + [p.varint() for _ in range(12)] for _ in range(p.varint())]
    out["mark_values"] = [(p.varint(), p.varint(), p.take(8)) for _ in range(p.varint())]
    out["absent"] = p.varints(len(out["marks"]))


def read_inherited(p, out):
    out["inherited"] = [p.varint() for _ in range(5)]


def read_live(p, out):
    out["scans"] = []
    for _ in range(p.varint()):
        scan = dict(kind=p.varint(), time=p.varint(), intervals=p.varint(), held=p.varint(), residency=p.varint(),
                    reason=p.string(), rows=[])
        site = 0
        for _ in range(p.varint()):
            site += p.varint()
            scan["rows"].append((site, *p.varints(8)))
        out["scans"].append(scan)
    for scan in out["scans"]:
        scan["led_known"], scan["led"], row = p.varint(), {}, 0
        for _ in range(p.varint()):
            row += p.varint()
            scan["led"][row] = p.varints(2)


def read_maps(p, out):
    names = [p.string().decode() for _ in range(p.varint())]
    out["captures"] = []
    for _ in range(p.varint()):
        capture, end = dict(kind=p.varint(), time=p.varint(), mappings=[]), 0
        for _ in range(p.varint()):
            start = end + p.varint()
            end = start + p.varint()
            offset, flags, name, policy, *sizes = p.varints(12)
            nodes = {p.varint(): p.varint() for _ in range(p.varint())}
            capture["mappings"].append((start, end, offset, flags, names[name], names[policy], sizes, nodes))
        out["captures"].append(capture)


def read_footprints(p, out):
    out["footprints"] = []
    for _ in range(p.varint()):
        kind, time, flags, rss, live = p.varints(5)
        parts = p.varints(p.varint())
        trim, arenas = p.varints(2)
        out["footprints"].append(dict(kind=kind, time=time, flags=flags, rss=rss, live=live, parts=parts, trim=trim, arenas=arenas,
                                      pins=[tuple(p.varints(3)) for _ in range(p.varint())]))
    for footprint in out["footprints"]:
        footprint["moved"] = p.varint()


def read_histograms(p, out):
    def rows(numbers):
        site, found = 0, []
        for _ in range(p.varint()):
            site += p.varint()
            found.append((site, *p.varints(numbers)))
        return found
    out["sizes"], out["lifetimes"], out["looks"] = rows(3), rows(2), rows(4)


def read_chains(p, out):
    site, out["chains"] = 0, []
    for _ in range(p.varint()):
        site += p.varint()
        out["chains"].append((site, *p.varints(15)))


def read_notes(p, out):
    out["notes"] = [p.string() for _ in range(p.varint())]


def read_frames(p, out):
    runs = p.varint()
    addresses, sizes = p.sums(runs, p.zigzag), p.varints(runs)
    frames = list(zip(*[p.varints(sum(sizes)) for _ in range(5)]))
    out["frames"] = {address: [frames.pop(0) for _ in range(size)] for address, size in zip(addresses, sizes)}


READERS = dict(PROC=read_process, MODS=read_modules, THRD=read_threads, NODE=read_nodes, SITE=read_sites, IVAL=read_intervals,
               STMP=read_stamps, MARK=read_marks, FORK=read_inherited, LIVE=read_live, MAPS=read_maps, FOOT=read_footprints,
               HIST=read_histograms, CHNS=read_chains, NOTE=read_notes, FRAM=read_frames)


def test_format_is_as_documented(t):
    path = t.record(t.build("phases.c", "-O1"))
    with open(path, "rb") as file:
        content = file.read()
    order, profile, strings = [], {}, []
    for kind, process, payload in chunks_of(t, content):
        order.append(kind)
        t.equal("process of " + kind, process, 0)
        if kind == "STRS":
            strings = [payload.string().decode() for _ in range(payload.varint())]
        elif kind != "DONE":
            READERS[kind](payload, profile)
        t.equal("bytes left in " + kind, len(payload.data) - payload.at, 0)
    t.equal("order", order, "PROC THRD NODE SITE IVAL STMP LIVE MAPS FOOT HIST CHNS MODS FRAM STRS DONE".split())

    report = t.report(path)
    totals = report["totals"]
    t.equal("process", [profile[k] for k in ("pid", "command", "exit_code", "signal", "flags", "duration", "peak_bytes", "peak_time")],
            [report["pid"], report["command"], 0, 0, 1, report["duration_ns"], totals["peak_bytes"], totals["peak_time_ns"]])
    t.equal("threads", [thread["name"] for thread in profile["threads"]], ["main"])
    heap = [[0] * 9 for _ in profile["sites"]]
    for interval in profile["intervals"]:
        for number, columns in interval["rows"].items():
            if profile["sites"][number]["domain"] == 0:
                heap[number] = [a + b for a, b in zip(heap[number], columns)]
    sums = [sum(column) for column in zip(*heap)]
    t.equal("totals", [sums[0], sums[1], sums[2], sums[3], sums[4], sums[4] - sums[5]],
            [totals[k] for k in ("allocations", "frees", "temporary_allocations", "reallocations", "bytes_allocated", "live_bytes")])
    t.true("usable is no less than requested", sums[7] >= sums[4] and sums[8] >= sums[5], sums)
    t.equal("at the peak", sum(s["at_peak_bytes"] for s in profile["sites"] if s["domain"] == 0), totals["peak_bytes"])
    t.equal("blocks at the peak", sum(s["at_peak_blocks"] for s in profile["sites"] if s["domain"] == 0), profile["peak_blocks"])
    t.equal("highest interval", max(i["peak"] for i in profile["intervals"]), totals["peak_bytes"])
    t.equal("end of the last interval", profile["intervals"][-1]["end"], profile["duration"])

    last = profile["scans"][-1]
    t.equal("last scan", (last["kind"], last["intervals"]), (2, len(profile["intervals"])))
    by_site = {}
    for site, interval, reach, blocks, size, *_ in last["rows"]:
        before = by_site.get(site, (0, 0))
        by_site[site] = (before[0] + blocks, before[1] + size)
    t.equal("blocks live at the last scan", by_site,
            {n: (c[0] - c[1], c[4] - c[5]) for n, c in enumerate(heap) if c[0] != c[1]})

    million = 10 ** 6  # spike frees a block of 1 MB directly after it has allocated one of 2 MB
    t.equal("chains", [row[1:] for row in profile["chains"]],
            [(1, 1, 0, 0, 0, 0, million, 2 * million, million, 1, million, 2 * million, 3 * million, million, million)])

    capture, maps = profile["captures"][-1], t.ask(path, "maps", "--by", "mapping")
    t.equal("last capture", (capture["kind"], capture["time"]), (3, maps["at"]["time_ns"]))
    keys = ("rss", "pss", "private", "dirty", "anonymous", "huge", "swap", "locked")
    t.equal("mappings", sorted((start, end, offset, "".join(c if flags >> i & 1 else "-p"[i == 3] for i, c in enumerate("rwxs")),
                                policy or None, *[size * 1024 for size in sizes], {str(n): kib * 1024 for n, kib in nodes.items()})
                               for start, end, offset, flags, _, policy, sizes, nodes in capture["mappings"]),
            sorted((r["start"], r["end"], r["offset"], r["access"], r["policy"], *[r[k + "_bytes"] for k in keys], r["nodes"])
                   for r in maps["rows"]))

    account = t.ask(path, "growth")["footprints"]
    parts = ("live", "rounding", "held", "free", "mapped", "stacks", "text", "data", "files", "shared", "kernel", "recorder",
             "unknown", "python_arenas")
    t.equal("accounts", [(f["time"], bool(f["flags"] & 1), bool(f["flags"] & 2), f["rss"], f["live"], *f["parts"], f["trim"], f["arenas"])
                         for f in profile["footprints"]],
            [tuple(a[k] for k in ("time_ns", "exact", "partial", "rss_bytes", "heap_bytes", *[part + "_bytes" for part in parts],
                                  "trim_bytes", "arenas")) for a in account])
    t.equal("kind of the last", (profile["footprints"][-1]["kind"], account[-1]["kind"]), (3, "exit"))
    t.true("pins name sites", all(pin[0] < len(profile["sites"]) for f in profile["footprints"] for pin in f["pins"]))

    sizes = {n: {} for n, site in enumerate(profile["sites"]) if site["domain"] == 0}
    for site, bucket, blocks, size in profile["sizes"]:
        sizes[site][bucket] = (blocks, size)
    everything = {}
    for n, rows in sizes.items():
        first = max(profile["sites"][n]["unit_bytes"].bit_length() - 1, 0)
        left = [heap[n][0] - sum(r[0] for r in rows.values()), heap[n][4] - sum(r[1] for r in rows.values())]
        for bucket, (blocks, size) in [*rows.items(), (first, left)]:
            have = everything.get(bucket, (0, 0))
            everything[bucket] = (have[0] + blocks, have[1] + size)
    t.equal("sizes", {(2 ** bucket if bucket else 0): v for bucket, v in everything.items() if v[0]},
            {b["from"]: (b["count"], b["bytes"])
             for b in t.ask(path, "report", "--histogram", "size")["histogram"]["buckets"]})
    lifetimes = {0: sums[1] - sum(blocks for _, _, blocks in profile["lifetimes"])}
    for _, bucket, blocks in profile["lifetimes"]:
        lifetimes[10 ** 6 << bucket - 1] = lifetimes.get(10 ** 6 << bucket - 1, 0) + blocks
    t.equal("lifetimes", {start: count for start, count in lifetimes.items() if count},
            {b["from"]: b["count"] for b in t.ask(path, "report", "--histogram", "lifetime")["histogram"]["buckets"]})

    live = {}
    for site, columns in zip(profile["sites"], heap):
        names, node = [], site["node"]
        while node:
            node, address = profile["nodes"][node]
            names += [strings[frame[0]] for frame in profile["frames"][address] if "libtidemark" not in strings[frame[1]]]
        if columns[4] != columns[5]:
            live["/".join(names)] = live.get("/".join(names), 0) + columns[4] - columns[5]
    rows = t.report(path, "live", "--by", "stack", "--no-fold")["rows"]
    t.equal("stacks", live, {"/".join(f["function"] for f in row["stack"]): row["bytes"] for row in rows})
    t.true("stamps", profile["stamps"] and profile["stamps"][0][1] > profile["stamps"][0][2] > 0, profile["stamps"][:1])
    t.true("modules", b"phases" in profile["modules"][0]["path"] and len(profile["modules"][0]["build_id"]) in (0, 20),
           profile["modules"][:1])
