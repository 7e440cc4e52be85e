"""Small objects by default: each arena counts as live, at the Python line that made it grow."""
import os

from harness import PROGRAMS, cases
from test_python_stacks import VERSIONS, interpreter

SOME = ("3.8", "3.11", "3.13")
PROGRAM = os.path.join(PROGRAMS, "python_small.py")


def arena_size(version):
    return 256 << 10 if version in ("3.8", "3.9") else 1 << 20


def line_of(word):
    with open(PROGRAM) as lines:
        return next(n for n, line in enumerate(lines, 1) if line.rstrip().endswith("# " + word))


def record(t, version, how, *options):
    profile = t.file("small.tide")
    t.run("run", "-o", profile, *options, "--", interpreter(version), PROGRAM, how)
    t.equal("exit status", t.status, 0)
    return profile, int(t.stdout.split()[-1])


def rows(t, profile, metric, *arguments):
    report = t.report(profile, metric, "--by", "line", "--top", "0", "--min", "0", *arguments)
    found = {}
    for row in report["rows"]:
        sums = found.setdefault((os.path.basename(row["file"] or ""), row["line"]), {"self_bytes": 0, "self_count": 0})
        for key in sums:
            sums[key] += row[key]
    return report, found


@cases(version=VERSIONS)
def test_the_line_that_made_arenas_grow(t, version):
    profile, count = record(t, version, "all")
    report, lines = rows(t, profile, "peak")
    size = arena_size(version)
    t.equal("arenas of the peak", report["python"]["arena_live_bytes"], count * size)
    # Python has a few before the program begins.
    cache = sum(lines[("python_small.py", line_of(word))]["self_bytes"] for word in ("entry", "number", "fill") if
                ("python_small.py", line_of(word)) in lines)
    t.true("the cache has them: %d of %d" % (cache, count * size), cache >= count * size - (4 << 20) and cache >= 20 << 20)
    t.equal("before the decoy", max(report["rows"], key=lambda r: r["self_bytes"])["line"], line_of("entry"))
    text, _, _ = t.run("report", profile, "--metric", "peak")
    t.true("says so", "of arenas, each charged to the line that made it grow; see --python=objects" in " ".join(text.split()), text)


@cases(version=SOME)
def test_arenas_are_no_mappings(t, version):
    """The program's own mappings are, whatever their size."""
    profile, count = record(t, version, "mapping")
    report, lines = rows(t, profile, "peak")
    t.equal("arenas", report["python"]["arena_live_bytes"], count * arena_size(version))
    _, mapped = rows(t, profile, "mapped", "--at", "peak")
    t.equal("mapped", mapped[("python_small.py", line_of("own"))]["self_bytes"], (256 << 10) + (1 << 20))


@cases(version=SOME)
def test_objects_instead_of_arenas(t, version):
    profile = t.record(interpreter(version), PROGRAM, "all", opts=["--python=objects"])
    report, lines = rows(t, profile, "peak")
    t.equal("no arenas", report["python"]["arena_live_bytes"], 0)
    t.true("objects", lines[("python_small.py", line_of("entry"))]["self_count"] >= 100000, report["rows"][:3])


@cases(version=SOME)
def test_commands_tell_of_arenas(t, version):
    profile, _ = record(t, version, "all")
    for command in ("peaks", "threads", "growth"):
        text, _, _ = t.run(command, profile)
        t.true(command, "are arenas of Python for small objects" in text, text)
    parts = t.ask(profile, "growth")["footprints"]
    t.true("resident", any(p["python_arenas_bytes"] > 0 for p in parts), parts)


@cases(version=SOME)
def test_arenas_of_a_child(t, version):
    profile, _ = record(t, version, "fork")
    child = t.report(profile)["processes"][-1]["pid"]
    report, lines = rows(t, profile, "peak", "--process", str(child))
    t.true("the child's own", lines[("python_small.py", line_of("entry"))]["self_bytes"] >= 10 << 20, report["rows"][:3])
