"""Files that are cut, damaged, made to hurt, or no recordings; and a program that ruins its shared memory.

scripts/fuzz.sh --check does the same to every bit and every length of a file, with sanitizers; here the
command itself is run, with little memory and little time to hang in.
"""
import ctypes
import ctypes.util
import gzip
import json
import os
import resource
import struct
import subprocess

from harness import OWN_HEADERS, cases

MEMORY = 512 << 20
SECONDS = 20  # of processor time, where well under one is normal


def limited():
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))


def report(t, path, *arguments, stdin=subprocess.DEVNULL, command="report"):
    """`tidemark report PATH` with limits; returns (stdout, stderr, status)."""
    done = subprocess.run([t.tidemark, command, path, *arguments], stdin=stdin, preexec_fn=limited,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace", cwd=t.dir)
    return done.stdout, done.stderr, done.returncode


def refused(t, what, got, sentence=None):
    """The file was refused with one sentence, and nothing else was said."""
    stdout, stderr, status = got
    t.equal("status, " + what, status, 1)
    t.equal("output, " + what, stdout, "")
    t.true("one sentence, " + what, stderr.startswith("tidemark report: ") and stderr.count("\n") == 1, stderr)
    if sentence:
        t.equal("the sentence, " + what, stderr.strip(), "tidemark report: " + sentence)


def opened(t, what, got):
    """The file was opened; returns the sentence that says what is missing, or None."""
    stdout, stderr, status = got
    t.equal("status, " + what, (status, stderr), (0, ""))
    lines = [line for line in stdout.splitlines() if line.startswith("incomplete ")]
    return lines[0] if lines else None


def little(t):
    with open(t.record(t.build("little.c", "-O1")), "rb") as recording:
        return recording.read()


def saved(t, content, name="bad.tide"):
    with open(t.file(name), "wb") as out:
        out.write(content)
    return t.file(name)


@cases(command=("findings", "flame", "growth", "leaks", "marks", "peaks", "threads", "tree", "report --csv"))
def test_every_command_tells(t, command):
    """What has no summary says on stderr that the file was cut, and answers from what there is."""
    whole = little(t)
    name, *arguments = command.split()
    t.equal("whole", report(t, saved(t, whole), *arguments, command=name)[1:], ("", 0))
    path = saved(t, whole[:-1])
    _, stderr, status = report(t, path, *arguments, command=name)
    t.equal("cut", (stderr.count("\n"), stderr.startswith("tidemark %s: %s is incomplete: the file " % (name, path)), status),
            (1, True, 0))


def test_cut_files(t):
    content = little(t)
    # The first 16 bytes, the first chunk's header, its end, and lengths all over the rest.
    first = 16 + 24 + struct.unpack_from("<I", content, 16 + 8)[0]
    for size in (1, 15, 16, 39, 40, first - 1, first, *range(first + 1, len(content), len(content) // 25)):
        got = report(t, saved(t, content[:size]))
        if size < first:
            refused(t, "%d bytes" % size, got)
        else:
            t.true("incomplete, %d bytes" % size, opened(t, "%d bytes" % size, got))
    t.equal("whole", opened(t, "whole", report(t, saved(t, content))), None)


def test_flipped_bits(t):
    content = little(t)
    for bit in range(128, len(content) * 8, len(content) * 8 // 40):
        changed = bytearray(content)
        changed[bit // 8] ^= 1 << bit % 8
        got = report(t, saved(t, changed))
        if got[2]:
            refused(t, "bit %d" % bit, got)
        else:
            t.true("incomplete, bit %d" % bit, opened(t, "bit %d" % bit, got))


# What is no recording

def test_no_recordings(t):
    content = little(t)
    small = gzip.compress(content)
    t.equal("gzip, whole", opened(t, "gzip", report(t, saved(t, small, "x.tide.gz"))), None)
    for size in (12, 30, len(small) // 2, len(small) * 3 // 4):
        got = report(t, saved(t, small[:size], "short.tide.gz"))
        if got[2]:
            refused(t, "gzip, %d bytes" % size, got)
        else:
            t.true("gzip, %d bytes: incomplete" % size, opened(t, "gzip", got))
    refused(t, "gzip of something else", report(t, saved(t, gzip.compress(b"x" * 100000), "no.gz")))
    path = saved(t, packed(content), "x.tide.zst")
    refused(t, "zstd", report(t, path), "%s is compressed with zstd; unpack it first: zstd -dk %s" % (path, path))
    refused(t, "a folder", report(t, t.dir), t.dir + " is a folder, not a tidemark recording")
    for device in ("/dev/zero", "/dev/null"):
        refused(t, device, report(t, device), device + " is a device, not a tidemark recording")
    refused(t, "empty", report(t, saved(t, b"")), t.file("bad.tide") + " is empty, not a tidemark recording")
    refused(t, "text", report(t, saved(t, b"hello " * 99)), t.file("bad.tide") + " is not a tidemark recording")
    os.mkfifo(t.file("fifo"))
    refused(t, "a FIFO without a writer", report(t, t.file("fifo")), t.file("fifo") + " is empty, not a tidemark recording")
    refused(t, "none", report(t, t.file("none")), "cannot open %s: No such file or directory" % t.file("none"))


def test_huge_files_with_nothing_in_them(t):
    """10 GB on paper: neither read nor taken into memory."""
    content = little(t)
    os.truncate(saved(t, b"", "zeros"), 10 << 30)
    refused(t, "only zeros", report(t, t.file("zeros")), t.file("zeros") + " is not a tidemark recording")
    os.truncate(saved(t, content, "tail"), 10 << 30)
    t.equal("zeros after the end", opened(t, "zeros after the end", report(t, t.file("tail"))),
            "incomplete the file is damaged at byte %d; what came before it is shown" % len(content))


def test_recording_through_a_pipe(t):
    content = little(t)
    from_file = report(t, saved(t, content), "--json")
    cat = subprocess.Popen(["cat", t.file("bad.tide")], stdout=subprocess.PIPE)
    from_pipe = report(t, "/dev/stdin", "--json", stdin=cat.stdout)
    cat.stdout.close()
    cat.wait()
    t.equal("the same", from_pipe, from_file)


# Made to hurt: every checksum is right

def library(name, function, result, *arguments):
    f = getattr(ctypes.CDLL(ctypes.util.find_library(name) or {"zstd": "libzstd.so.1", "xxhash": "libxxhash.so.0"}[name]), function)
    f.restype, f.argtypes = result, arguments
    return f


def packed(raw):
    compress = library("zstd", "ZSTD_compress", ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p,
                       ctypes.c_size_t, ctypes.c_int)
    out = ctypes.create_string_buffer(len(raw) + (len(raw) >> 7) + 1024)
    size = compress(out, len(out), raw, len(raw), 1)
    return out.raw[:size]


def chunk(kind, raw, process=0, says=None, stored_says=None):
    """`says`: a false size of what it unpacks to, `stored_says`: of what is in the file."""
    xxh64 = library("xxhash", "XXH64", ctypes.c_uint64, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint64)
    payload = packed(raw)
    header = struct.pack("<4sIII", kind.encode(), process, len(payload) if stored_says is None else stored_says,
                         len(raw) if says is None else says)
    return header + struct.pack("<Q", xxh64(payload, len(payload), xxh64(header, 16, 0))) + payload


def varints(*numbers):
    out = bytearray()
    for n in numbers:
        while n >= 0x80:
            out.append(n & 0x7f | 0x80)
            n >>= 7
        out.append(n)
    return bytes(out)


HEADER = b"tidemark" + struct.pack("<II", 1, 0)
PROCESS = chunk("PROC", varints(1, 0, 1, 1) + b"x" + varints(1) + b"x" + varints(1) + b"h" + varints(0, 0, 0, 0, 1, 0, 0, 0, 0))
THREADS = chunk("THRD", varints(1, 1, 4) + b"main" + varints(0, 0))
NODES = chunk("NODE", varints(1, 4096, 2, 1, 1, 0, 0))
SITES = chunk("SITE", varints(1, 2, *[0] * 10))
NONSENSE = "a chunk before byte %d makes no sense"


def missing(t, what, content, *arguments):
    return opened(t, what, report(t, saved(t, content), *arguments))


def test_hostile_contents(t):
    """Numbers that point nowhere and counts of what is not there, each in a file that is right up to it."""
    base = HEADER + PROCESS + THREADS + NODES + SITES
    t.equal("all of it", missing(t, "no end", base), "incomplete the file has no end mark: recording was cut short")
    before = HEADER + PROCESS + THREADS
    for what, content in (
            ("a node that is its own parent", before + chunk("NODE", varints(1, 4096, 2, 0, 1, 0, 0))),
            ("a parent before the root", before + chunk("NODE", varints(1, 4096, 2, 1, 3, 0, 0))),
            ("an address out of range", before + chunk("NODE", varints(1, 4096, 2, 1, 1, 0, 1))),
            ("2^32 nodes", before + chunk("NODE", varints(1, 4096, 1 << 32, 1, 1))),
            ("a site of no node", before + NODES + chunk("SITE", varints(1, 6, *[0] * 10))),
            ("a site of no thread", before + NODES + chunk("SITE", varints(1, 2, 1, *[0] * 9))),
            ("2^64 - 1 sites", before + NODES + chunk("SITE", varints((1 << 64) - 1, *[0] * 20))),
            ("2^32 rows", base + chunk("IVAL", varints(1, 1, 0, 0, 0, 0, 0, 1 << 32, 1, 0))),
            ("a row of no site", base + chunk("IVAL", varints(1, 1, 0, 0, 0, 0, 0, 1, 2, 0))),
            ("2^40 sizes", base + chunk("HIST", varints(1 << 40, 0, 0, 0, 0))),
            ("sizes of no site", base + chunk("HIST", varints(1, 1, 0, 1, 1, 0, 0))),
            ("sizes of a site before the first", base + chunk("HIST", varints(1, (1 << 64) - 1, 0, 1, 1, 0, 0))),
            ("sizes in no bucket", base + chunk("HIST", varints(1, 0, 64, 1, 1, 0, 0))),
            ("sizes twice in a bucket", base + chunk("HIST", varints(2, 0, 3, 1, 1, 0, 3, 1, 1, 0, 0))),
            ("lifetimes in no bucket", base + chunk("HIST", varints(0, 1, 0, 46, 1, 0))),
            ("large blocks of no site", base + chunk("HIST", varints(0, 0, 1, 1, 1, 1, 1, 1))),
            ("large blocks of a site twice", base + chunk("HIST", varints(0, 0, 2, 0, 1, 1, 1, 1, 0, 1, 1, 1, 1))),
            ("large blocks cut short", base + chunk("HIST", varints(0, 0, 1, 0, 1, 1, 1))),
            ("2^40 chains", base + chunk("CHNS", varints(1 << 40, *[0] * 16))),
            ("chains of no site", base + chunk("CHNS", varints(1, 1, *[1] * 15))),
            ("chains of a site before the first", base + chunk("CHNS", varints(1, (1 << 64) - 1, *[1] * 15))),
            ("chains of a site twice", base + chunk("CHNS", varints(2, 0, *[1] * 15, 0, *[1] * 15))),
            ("chains cut short", base + chunk("CHNS", varints(1, 0, *[1] * 14))),
            ("2^63 stamps", base + chunk("STMP", varints(1 << 63, *[0] * 9))),
            ("2^60 captures", base + chunk("MAPS", varints(0, 1 << 60, 0, 0, 0))),
            ("2^60 mappings", base + chunk("MAPS", varints(1, 0, 1, 0, 0, 1 << 60, *[1] * 20))),
            ("a mapping of no name", base + chunk("MAPS", varints(1, 0, 1, 0, 0, 1, 0, 4096, 0, 0, 1, *[0] * 10))),
            ("a mapping of no size", base + chunk("MAPS", varints(1, 0, 1, 0, 0, 1, 4096, 0, 0, 0, 0, *[0] * 10))),
            ("a mapping beyond the end", base + chunk("MAPS", varints(1, 0, 1, 0, 0, 1, 1 << 63, 1 << 63, 0, 0, 0, *[0] * 10))),
            ("2^60 looks at arenas", base + chunk("PYTH", varints(1, 1, 1 << 60, 0, 0, 0, 0, 0))),
            ("looks at arenas back in time", base + chunk("PYTH", varints(1, 1, 2, 5, 1, 1, 1, 1, 4, 1, 1, 1, 1))),
            ("an interpreter's end after all intervals", base + chunk("PYTH", varints(1, 1, 0, 1 << 60))),
            ("node 1024", base + chunk("MAPS", varints(1, 0, 1, 0, 0, 1, 0, 4096, 0, 0, 0, *[0] * 9, 1, 1024, 0))),
            ("4,097 accounts", base + chunk("FOOT", varints(4097, *[0] * 9 * 4097))),
            ("2^60 accounts", base + chunk("FOOT", varints(1 << 60, *[0] * 9))),
            ("2^60 parts", base + chunk("FOOT", varints(1, 0, 0, 0, 0, 0, 1 << 60, *[0] * 8))),
            ("2^60 pins", base + chunk("FOOT", varints(1, 0, 0, 0, 0, 0, 0, 0, 0, 1 << 60, 0, 0, 0))),
            ("a pin of no site", base + chunk("FOOT", varints(1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0))),
            ("an account before the last", base + chunk("FOOT", varints(2, 0, 9, *[0] * 8, 8, *[0] * 7))),
            ("a name of 2^40 bytes", base + chunk("NOTE", varints(1, 1 << 40))),
            ("runs of 2^32 frames", base + chunk("FRAM", varints(1, 2, 1 << 32, 0, 0, 0, 0, 0))),
            ("process 7 of one", base + chunk("PROC", varints(*[0] * 15), process=7)),
            ("process 2^32 - 1", base + chunk("PROC", varints(*[0] * 15), process=0xffffffff))):
        t.equal(what, missing(t, what, content),
                "incomplete %s; what came before it is shown" % (NONSENSE % len(content)))
    frames = chunk("FRAM", varints(1, 8192, 1, 1 << 31, 1 << 31, 1 << 31, 7, 0))
    whole = base + frames + chunk("STRS", varints(1, 0)) + chunk("DONE", b"")
    t.equal("strings out of range", missing(t, "strings", whole), None)


def test_hostile_leaks(t):
    """Live blocks whose numbers are as large as can be, and rows that point nowhere."""
    most = (1 << 64) - 1
    base = HEADER + PROCESS + THREADS + NODES + SITES + chunk("IVAL", varints(1, 1, 0, 0, 0, 0, 0, 0))
    end = chunk("FRAM", varints(0, 0)) + chunk("STRS", varints(1, 0)) + chunk("DONE", b"")

    def scan(kind, *rows):
        return varints(kind, most, 1, most, 1, 0, len(rows)) + b"".join(varints(*row) for row in rows)

    huge = [(0, 0, reach, most, most, most, most, most, most) for reach in range(4)]
    content = base + chunk("LIVE", varints(3) + scan(0, *huge) + scan(1, *huge, *huge) + scan(2, *huge)) + end
    for arguments in ((), ("--json",), ("--csv",), ("--freed-at-exit", "--older", "1h"), ("--at", "exit"), ("--fail",)):
        stdout, stderr, status = report(t, saved(t, content), "--all", *arguments, command="leaks")
        t.equal("status of %s" % (arguments,), status, 3 if "--fail" in arguments else 0)
        t.true("output of %s" % (arguments,), stdout, stderr)
    got = json.loads(report(t, saved(t, content), "--json", command="leaks")[0])
    t.equal("sums wrap", (got["totals"]["bytes"], got["totals"]["lost_bytes"]), (4 * most & most, most))
    for what, row in (("no site", (1, 0, 0)), ("no interval", (0, 1, 0)), ("no kind", (0, 0, 4)), ("a far site", (most, 0, 0))):
        bad = base + chunk("LIVE", varints(1) + scan(2, (*row, 1, 1, 1, 1, 1, 1)))
        t.equal(what, missing(t, what, bad), "incomplete %s; what came before it is shown" % (NONSENSE % len(bad)))


def test_hostile_functions(t):
    """annotate reads files that the recording names, and sums by lines that it makes up: frames inlined 200,000 deep."""
    deep, most = 200000, (1 << 32) - 1
    os.mkfifo(t.file("fifo"))
    os.truncate(saved(t, b"", "zeros"), 10 << 30)
    site = chunk("SITE", varints(1, 2, 0, 0, 16, 0, *[1 << 62] * 5, 2))
    texts = ("", "f", t.file("fifo"), "/dev/zero", t.file("zeros"), t.dir, "f+0x1000", "g\033[31m")
    strings = chunk("STRS", varints(len(texts)) + b"".join(varints(len(s)) + s.encode() for s in texts))
    for what, path, function, run in (("a FIFO", 2, 1, 1), ("a device", 3, 1, 1), ("10 GB of zeros", 4, 1, 1), ("a folder", 5, 1, 1),
                                      ("no symbol", 4, 6, 1), ("deep", 4, 7, deep)):
        text = texts[path].encode()
        module = chunk("MODS", varints(1, 0, 1 << 47, (1 << 64) - 1, 0) + varints(len(text)) + text + varints(0))
        functions = [function] * run
        functions[-1] = function if run == 1 else 1
        lines = range(most - run, most)
        content = (HEADER + PROCESS + module + THREADS + NODES + site + chunk("FRAM", varints(
            1, 2 * 4096, run, *functions, *[0] * run, *[path] * run, *lines, *[1] * run)) + strings + chunk("DONE", b""))
        for arguments in ((), ("--asm", "--json"), ("--html", "-", "--context", "all")):
            got = report(t, saved(t, content), texts[1] if run > 1 else texts[function], "--metric", "sitepeak", *arguments, command="annotate")
            t.equal("%s %s" % (what, arguments), (got[2], got[1]), (0, ""))
            t.true("%s %s: something" % (what, arguments), got[0] and "\033" not in got[0], got[0][:300])


def test_sizes_that_lie(t):
    base = HEADER + PROCESS
    impossible = "incomplete a chunk of the file has an impossible size; what came before it is shown"
    t.equal("more than it is", missing(t, "more", base + chunk("NOTE", b"\0" * 9, says=1 << 20)), impossible)
    t.equal("less than it is", missing(t, "less", base + chunk("NOTE", b"\0" * 9999, says=3)), impossible)
    t.true("beyond the limit", "unpacks to more" in missing(t, "limit", base + chunk("NOTE", b"\0", says=0xffffffff)))
    t.equal("stored: more than there is", missing(t, "stored", base + chunk("NOTE", b"\0", stored_says=1 << 29)),
            "incomplete the file is cut at byte %d, inside a chunk; what came before it is shown"
            % len(base + chunk("NOTE", b"\0")))
    t.equal("stored: more than there can be", missing(t, "stored", base + chunk("NOTE", b"\0", stored_says=0xffffffff)),
            "incomplete the file is damaged at byte %d; what came before it is shown" % len(base))


@cases(kind=("PROC", "MODS", "THRD", "NODE", "SITE", "IVAL", "STMP", "MARK", "FORK", "ATCH", "SAMP", "LIVE", "MAPS", "FOOT", "PYTH", "HIST",
             "CHNS", "NOTE", "FRAM", "STRS", "FOCS"))
def test_bombs(t, kind):
    """Zeros pack 30,000 to 1: a few KB that unpack to 4 MB, and to 16 MB, of the smallest things there are."""
    before = HEADER + PROCESS + THREADS + NODES
    if kind in ("IVAL", "MARK", "LIVE", "HIST", "FOOT", "CHNS"):
        before += SITES
    if kind in ("THRD", "NODE"):
        before = HEADER + PROCESS
    leading = {"PROC": (0, 0), "NODE": (0,), "MAPS": (0,), "PYTH": (0x030b07f0, 0)}.get(kind, ())
    for size, much in ((4 << 20) - 4096, False), (16 << 20, True):
        least = {"MODS": 6, "THRD": 4, "NODE": 2, "SITE": 11, "IVAL": 7, "STMP": 9, "MARK": 12, "LIVE": 7, "MAPS": 3, "HIST": 4,
                 "FOOT": 9, "PYTH": 5, "CHNS": 16, "FRAM": 2}.get(kind, 1)
        raw = varints(*leading, (size - 64) // least)
        content = before + chunk(kind, raw + b"\0" * (size - len(raw)))
        t.true("it is small", len(content) < 16384, len(content))
        for arguments in ((), ("--json", "--by", "stack"), ("--tree",)):
            what = "%d bytes of %s %s" % (size, kind, " ".join(arguments))
            got = report(t, saved(t, content), *arguments)
            t.equal("status, " + what, (got[2], got[1]), (0, ""))
        if kind == "MAPS":
            got = report(t, saved(t, content), "--json", command="maps")
            t.equal("status, maps of %d" % size, (got[2], got[1].count("\n")), (1, 1) if much else (0, 0))
        if kind in ("MODS", "NODE", "SITE", "FRAM"):
            got = report(t, saved(t, content), ".", command="annotate")
            said = [line for line in got[1].splitlines() if " is incomplete: " not in line]
            t.true("annotate, %d" % size, got[2] in (0, 1, 2) and (len(said) == 1) == (got[2] > 0), got[1:])
        if kind in ("NODE", "SITE", "LIVE"):
            got = report(t, saved(t, content), "--freed-at-exit", command="leaks")
            t.equal("leaks, %d" % size, (got[2], got[1].count("\n"), " is incomplete: " in got[1]), (0, 1, True))
        refused = "unpacks to more" in (missing(t, "as text", content) or "")
        t.true("refused, %d" % size, refused or not much)


def filled(kind, raw):
    """A chunk with as many bytes in the file as 64 bytes of content each ask for."""
    payload = packed(raw)
    filling = max(len(raw) // 64 - len(payload) - 8, 0)
    payload += struct.pack("<II", 0x184d2a50, filling) + bytes(filling)
    xxh64 = library("xxhash", "XXH64", ctypes.c_uint64, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint64)
    header = struct.pack("<4sIII", kind.encode(), 0, len(payload), len(raw))
    return header + struct.pack("<Q", xxh64(payload, len(payload), xxh64(header, 16, 0))) + payload


@cases(kind=("IVAL", "NODE", "SITE", "NOTE", "LIVE"))
def test_memory_in_proportion(t, kind):
    """1 MB that unpacks to 64 MB of the smallest things there are: in memory they would take up to 2.7 GB."""
    size, sites = 64 << 20, 10000
    many = filled("SITE", varints(sites) + bytes(11 * sites))
    rows = size // (2 * sites + 9)
    content = HEADER + PROCESS + THREADS + {
        "IVAL": lambda: NODES + many + filled("IVAL", varints(rows) + varints(*[0] * 6, sites) * rows + b"\1\0" * sites * rows),
        "NODE": lambda: filled("NODE", varints(1, 4711, size // 2) + b"\1" * (size // 2) + bytes(size // 2)) + SITES,
        "SITE": lambda: NODES + filled("SITE", varints(size // 11) + bytes(size)),
        "NOTE": lambda: NODES + SITES + filled("NOTE", varints(size) + bytes(size)),
        "LIVE": lambda: NODES + many + filled("IVAL", varints(1) + bytes(7)) + filled("LIVE", varints(1) + bytes(5) + varints(size // 9) + bytes(size)),
    }[kind]()
    t.true("about 1 MB", 1 << 20 <= len(content) < 1200000, len(content))
    path = saved(t, content)
    for command in ("report", "leaks", "findings"):
        child = subprocess.Popen([t.tidemark, command, path], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        t.equal(command, child.returncode, 0)
        t.true("memory, " + command, usage.ru_maxrss < 700 << 10, "%d MiB" % (usage.ru_maxrss >> 10))


# A program that writes over what it shares with the collector

@cases(seed=(1, 2, 3))
def test_scribbled_memory(t, seed):
    """The program ends as it does alone, the file opens, and its child is exact."""
    profile = t.record(t.build("scribbles.c", "-O1", *OWN_HEADERS), str(seed), status=7)
    t.equal("stderr", t.stderr, "")
    whole = t.report(profile, "total")
    t.equal("processes", len(whole["processes"]), 2)
    child = whole["processes"][1]["pid"]
    of_child = t.report(profile, "total", "--process", str(child))
    t.equal("the child's own", t.total(of_child, "in_child"), (50000, 500))
    t.equal("the child's losses", of_child["totals"]["lost_events"], 0)
    t.equal("the child's end", (of_child["exit_code"], of_child["complete"]), (3, True))
