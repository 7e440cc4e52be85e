"""tidemark annotate: a function line by line, instruction by instruction, with what each has."""
import csv
import io
import os
import re
import shutil
import subprocess
import time

from browser import CHROMIUM
from harness import PROGRAMS, Skipped, cases

PAGE = 4096


def annotated(t, profile, function, *arguments):
    return t.ask(profile, "annotate", function, *arguments)


def lines_of(result):
    """{line: its object}, of the one file that a function is in."""
    return {line["line"]: line for part in result["files"] for line in part["lines"]}


def values(thing):
    return tuple(thing[key] for key in ("self_bytes", "self_count", "total_bytes", "total_count"))


def with_values(result):
    return {number: values(line) for number, line in lines_of(result).items() if any(values(line))}


def marked(source, marker):
    """Number of the line with the comment "line MARKER", in any language."""
    with open(os.path.join(PROGRAMS, source)) as text:
        return next(n for n, line in enumerate(text, 1) if re.search(r"(/\*|#|!) line %s( \*/)?$" % marker, line))


def copied(t, source, *flags, strip=False):
    """A program that is this test's own, from a source that is, too."""
    path, program = t.file(source), t.file("program")
    shutil.copy(os.path.join(PROGRAMS, source), path)
    os.utime(path, (time.time() - 1000,) * 2)
    built = t.plain("gcc", "-g", "-O1", "-I", PROGRAMS, path, "-o", program, "-pthread", *flags)
    t.equal("it compiles", built[1:], ("", 0))
    if strip:
        t.plain("strip", program)
    return path, program


@cases(opt=("-O0", "-O2"))
def test_bytes_of_lines(t, opt):
    profile = t.record(t.build("annotated.c", opt))
    result = annotated(t, profile, "lines")
    of = lambda marker: marked("annotated.c", marker)
    t.equal("the function", (result["function"], result["module"], result["kind"]), ("lines", "annotated", "native"))
    t.equal("its sums", values(result), (3100, 4, 78308, 8))
    t.equal("its lines", with_values(result), {
        of("once"): (100, 1, 100, 1),
        of("loop"): (3000, 3, 3000, 3),
        of("call"): (0, 0, 5000, 1),
        of("twice_inlined"): (0, 0, 70008, 2),
        of("inlined"): (0, 0, 200, 1)})
    lines = lines_of(result)
    t.equal("from its name to its end", (min(lines), max(lines)), (of("once") - 2, of("inlined") + 1))
    t.true("text", lines[of("loop")]["text"].strip().startswith("known_sink = malloc(1000);"), lines[of("loop")]["text"])
    inlined = [(i["depth"], i["function"], i["line"], *values(i)) for i in lines[of("twice_inlined")]["inlined"]]
    t.equal("inlined there", inlined, [(1, "outer", of("outer_call"), 0, 0, 70000, 1),
                                       (2, "inner", of("inner"), 70000, 1, 70000, 1),
                                       (1, "outer", of("outer_own"), 8, 1, 8, 1)])
    t.equal("nothing is inlined in a loop", lines[of("loop")]["inlined"], [])


def test_inlined_function_by_its_name(t):
    profile = t.record(t.build("annotated.c", "-O2"))
    result = annotated(t, profile, "inner", "--asm")
    t.equal("the function", (result["kind"], result["inlined_into"]), ("inlined", ["lines"]))
    t.equal("its line", with_values(result), {marked("annotated.c", "inner"): (70200, 2, 70200, 2)})
    code = lines_of(result)[marked("annotated.c", "inner")]["instructions"]
    t.equal("its calls", sorted(values(i) for i in code if any(values(i))), [(200, 1, 200, 1), (70000, 1, 70000, 1)])
    t.run("annotate", profile, "inner")
    t.true("said in the text", "\ninlined into lines\n" in t.stdout, t.stdout)


def test_csv(t):
    """A row for each line, each line inlined there and each instruction, with the numbers of JSON."""
    profile = t.record(t.build("annotated.c", "-O1"))
    found = t.ask(profile, "annotate", "lines", "--asm")
    rows = list(csv.DictReader(io.StringIO(t.run("annotate", profile, "lines", "--asm", "--csv")[0])))
    lines = [line for file in found["files"] for line in file["lines"]]
    for kind, want in (("line", lines), ("inlined", [i for line in lines for i in line["inlined"]]),
                       ("instruction", [i for line in lines for i in line["instructions"]] + found["instructions"])):
        t.true("some " + kind, want)
        t.equal(kind, [[r[key] for key in ("self_bytes", "self_count", "total_bytes", "total_count")] for r in rows if r["kind"] == kind],
                [[str(w[key]) for key in ("self_bytes", "self_count", "total_bytes", "total_count")] for w in want])
    t.equal("the text", [r["text"] for r in rows if r["kind"] == "line"], [line["text"] for line in lines])


def test_function_that_calls_itself(t):
    result = annotated(t, t.record(t.build("annotated.c", "-O2")), "descend")
    t.equal("each stack counts once", values(result), (50, 5, 50, 5))
    t.equal("its lines", with_values(result), {marked("annotated.c", "level"): (50, 5, 50, 5),
                                              marked("annotated.c", "again"): (0, 0, 40, 4)})


def test_instructions(t):
    """The sum over instructions is the line's; what is charged are calls of malloc."""
    program = t.build("annotated.c", "-O1")
    result = annotated(t, t.record(program), "lines", "--asm")
    hot = []
    for number, line in lines_of(result).items():
        sums = [sum(column) for column in zip(*(values(i) for i in line["instructions"]), (0, 0, 0, 0))]
        t.equal("line %d: bytes with callees" % number, sums[2], line["total_bytes"])
        hot += [i for i in line["instructions"] if i["total_bytes"]]
    t.equal("calls", sorted(i["text"].split("<")[-1] for i in hot), ["helper>"] + ["malloc>"] * 5)
    disassembly = subprocess.run(["objdump", "-d", "--no-show-raw-insn", "--disassemble=lines", program],
                                 stdout=subprocess.PIPE, text=True).stdout
    expected = [int(address, 16) for address in re.findall(r"^ *([0-9a-f]+):\t", disassembly, re.MULTILINE)]
    shown = sorted(int(i["address"], 16) for line in lines_of(result).values() for i in line["instructions"])
    t.equal("the same instructions as objdump has", shown, [a for a in expected if a <= shown[-1]])
    t.true("calls where objdump has them",
           all(re.search(r"^ *%s:\tcall" % i["address"][2:], disassembly, re.MULTILINE) for i in hot), hot)


def test_moments_and_focus(t):
    profile = t.record(t.build("annotated.c", "-O1"))
    t.equal("within", annotated(t, profile, "main", "--metric", "total", "--within", "descend")["total_bytes"], 50)
    t.equal("from start to end", annotated(t, profile, "lines", "--since", "start", "--at", "end")["total_bytes"], 78308)
    t.equal("nothing at the start", (t.run("annotate", profile, "lines", "--at", "start")[2], t.stdout), (1, ""))
    t.run("annotate", profile, "lines", "--within", "descend")
    t.equal("out of focus", (t.status, t.stdout), (1, ""))
    t.true("said so", "is in this recording, but not in the stacks" in t.stderr, t.stderr)
    t.equal("largest", lines_of(annotated(t, profile, "lines", "--metric", "largest"))[
        marked("annotated.c", "loop")]["self_bytes"], 1000)


def test_cpu_time(t):
    """Nearly all samples are on one line; that all are accounted for is exact."""
    profile = t.record(t.build("annotated.c", "-O2"), "60000000", opts=("--only-cpu",), status=None)
    if t.run("report", profile, "--metric", "cpu")[2]:
        raise Skipped("no samples can be taken here")
    result = annotated(t, profile, "spin", "--asm")
    row = t.row(t.report(profile, "cpu"), "spin")
    t.true("enough samples to say something", row["self_count"] > 20, row)
    t.equal("as in the report", values(result), tuple(row[k] for k in ("self_bytes", "self_count", "total_bytes", "total_count")))
    t.equal("all samples have a line", sum(line["self_count"] for line in lines_of(result).values()), row["self_count"])
    hot = lines_of(result)[marked("annotated.c", "hot")]
    t.true("most of them this one", hot["self_count"] > row["self_count"] * 0.6, (hot["self_count"], row["self_count"]))
    t.equal("all samples have an instruction", sum(i["self_count"] for line in lines_of(result).values()
                                                   for i in line["instructions"]), row["self_count"])


@cases(threads=(1, 4))
def test_faults(t, threads):
    pages = 500
    profile = t.record(t.build("touches.c", "-O1"), "touch", str(threads), str(pages), opts=("--only-faults",), status=None)
    if t.run("report", profile, "--metric", "faults")[2]:
        raise Skipped("no faults can be recorded here")
    result = annotated(t, profile, "touch", "--asm")
    expected = (threads * pages * PAGE, threads * pages) * 2
    t.equal("its line", with_values(result), {marked("touches.c", "touch"): expected})
    code = lines_of(result)[marked("touches.c", "touch")]["instructions"]
    hot = [i for i in code if any(values(i))]
    t.equal("one instruction", [values(i) for i in hot], [expected])
    t.true("a store", hot and hot[0]["text"].startswith("movb"), hot)


def test_templates_and_overloads(t):
    profile = t.record(t.build("annotated.cpp", "-O2"))
    t.run("annotate", profile, "grab")
    t.equal("three are meant", (t.status, t.stdout, len(t.stderr.splitlines())), (2, "", 1))
    for name in ("void grab<char>(int)", "void grab<long>(int)", "grab(double)"):
        t.true("listed: " + name, name + " in annotated" in t.stderr, t.stderr)
    template = marked("annotated.cpp", "template")
    t.equal("of char", with_values(annotated(t, profile, "grab<char>")), {template: (300, 3) * 2})
    t.equal("of long", with_values(annotated(t, profile, "void grab<long>(int)")), {template: (1600, 2) * 2})
    t.equal("a regular expression", annotated(t, profile, "grab.long")["function"], "void grab<long>(int)")
    t.equal("overload", with_values(annotated(t, profile, "grab(double)")),
            {marked("annotated.cpp", "overload"): (77, 1) * 2})


def test_standard_library(t):
    """What it allocates is charged to the line that used it, and where it was inlined is told on request."""
    profile = t.record(t.build("annotated.cpp", "-O2"))
    reserve, grow = marked("annotated.cpp", "reserve"), marked("annotated.cpp", "grow")
    result = annotated(t, profile, "fill", "--metric", "total")
    t.equal("lines", with_values(result), {reserve: (8000, 1) * 2, grow: (16000, 1) * 2})
    shown = lines_of(annotated(t, profile, "Box::fill", "--metric", "total", "--no-fold"))
    t.equal("self is theirs", (values(shown[reserve])[0], values(shown[reserve])[2]), (0, 8000))
    inlined = shown[reserve]["inlined"]
    t.true("inlined from where", inlined and all("std::" in i["function"] or "operator new" in i["function"] for i in inlined)
           and all("/c++/" in (i["file"] or "/c++/") for i in inlined), inlined)


def test_python(t):
    source = os.path.join(PROGRAMS, "annotated.py")
    profile = t.record("/usr/bin/python3", source)
    result = annotated(t, profile, "Store.keep", "--metric", "total", "--asm")
    loop, call = marked("annotated.py", "loop"), marked("annotated.py", "call")
    t.equal("the function", (result["kind"], result["module"], result["files"][0]["file"]), ("python", "annotated.py", source))
    t.equal("its lines", with_values(result), {loop: (15 * 100001, 15) * 2, call: (0, 0, 2 * ((1 << 20) + 1), 2)})
    t.equal("from def to its end", (min(lines_of(result)), max(lines_of(result))), (loop - 3, call + 2))
    t.true("no instructions, and said so", any("Python" in note for note in result["notes"]), result["notes"])
    t.equal("by its last part", annotated(t, profile, "keep", "--metric", "total")["function"], "Store.keep")
    t.run("annotate", profile, "<module>", "--metric", "total")
    t.true("many modules", t.status == 2 and "add --library" in t.stderr, t.stderr)
    t.equal("one of them", annotated(t, profile, "<module>", "--metric", "total", "--library", "annotated.py")["files"][0]["file"], source)


def test_nothing_of_the_metric(t):
    """A function of that very name comes before those whose names contain it, and the metrics that have it are named."""
    source = t.file("loads.py")
    with open(source, "w") as out:
        out.write("def load():\n    return [bytearray(100000) for _ in range(10)]\n\n"
                  "def unload_all():\n    load()\n\nload()\nunload_all()\n")
    profile = t.record("/usr/bin/python3", source)
    for function in ("load", "unload_all"):
        t.run("annotate", profile, function)
        t.equal("status, output", (t.status, t.stdout), (1, ""))
        t.true("the sentence", re.fullmatch(r"tidemark annotate: %s \(loads\.py:\d+\) has no live bytes at the end; "
                                            r"try --metric (peak, )?total\n" % function, t.stderr), t.stderr)
    t.run("annotate", profile, "load", "--at", "start")
    t.true("at a moment", "has no live bytes at start; try --metric " in t.stderr, t.stderr)
    t.equal("what it says works", annotated(t, profile, "load", "--metric", "total")["function"], "load")
    t.run("annotate", profile, "load", "--metric", "mapped")
    t.true("of another metric", t.status == 1 and "load (loads.py:" in t.stderr and "has nothing of metric 'mapped'; try" in t.stderr, t.stderr)


def test_stripped(t):
    """The function around an address, by its unwind information; and how to get lines."""
    source, program = copied(t, "annotated.c", strip=True)
    profile = t.record(program)
    rows = [r for r in t.report(profile)["rows"] if r["module"] == "program" and r["self_bytes"] == 3000]
    result = annotated(t, profile, rows[0]["name"])
    code = [i for i in result["instructions"] if any(values(i))]
    t.equal("its calls", sorted(i["total_bytes"] for i in code), [8, 100, 200, 3000, 5000, 70000])
    t.equal("all of it", (result["total_bytes"], result["total_count"]), (78308, 8))
    t.true("what to do", any("compile it with -g" in note for note in result["notes"]), result["notes"])
    t.true("a function begins like this", re.match(r"push|sub|endbr", result["instructions"][0]["text"]), result["instructions"][0])


def test_package_of_debug_information(t):
    if not os.path.exists("/var/lib/dpkg/info/coreutils.list"):
        raise Skipped("coreutils is no package here")
    profile = t.record("/bin/ls", "/")
    own = [r for r in t.report(profile, "total")["rows"] if r["module"] == "ls"]
    if any(r["file"] for r in own):
        raise Skipped("its debug information is installed")
    result = annotated(t, profile, own[0]["name"], "--metric", "total")
    t.true("named", any(note.endswith("Debian's package coreutils-dbgsym has it") for note in result["notes"]), result["notes"])
    t.true("instructions all the same", any(any(values(i)) for i in result["instructions"]), result)


def test_source_elsewhere(t):
    source, program = copied(t, "annotated.c")
    profile = t.record(program)
    moved = os.path.join(t.dir, "moved")
    os.mkdir(moved)
    os.rename(source, os.path.join(moved, "annotated.c"))
    gone = annotated(t, profile, "lines")
    loop = marked("annotated.c", "loop")
    t.equal("no text", (gone["files"][0]["found"], lines_of(gone)[loop]["text"]), (None, None))
    t.true("where it was looked for", any("looked for %s)" % source in note for note in gone["notes"]), gone["notes"])
    t.true("instructions instead", any(i["total_bytes"] == 3000 for i in lines_of(gone)[loop]["instructions"]), gone)
    for way in ("%s=%s" % (t.dir, moved), moved):
        there = annotated(t, profile, "lines", "--source-path", way)
        t.equal("found by " + way, there["files"][0]["found"], os.path.join(moved, "annotated.c"))
        t.true("its text", "malloc(1000)" in lines_of(there)[loop]["text"], lines_of(there)[loop])
        t.equal("the same values", with_values(there), with_values(gone))
    t.run("annotate", profile, "lines", "--source-path", t.file("nowhere"))
    t.equal("neither folder nor rule", (t.status, len(t.stderr.splitlines())), (2, 1))


def test_source_changed(t):
    source, program = copied(t, "annotated.c")
    profile = t.record(program)
    t.equal("in order", annotated(t, profile, "lines")["notes"], [])
    os.utime(source, (time.time() + 1000,) * 2)
    notes = annotated(t, profile, "lines")["notes"]
    t.true("changed", len(notes) == 1 and "was changed after the program was built" in notes[0], notes)


@cases(how=("replaced", "gone"))
def test_program_changed(t, how):
    """Lines and values are in the recording; instructions are not, and those of another file are not shown."""
    _, program = copied(t, "annotated.c")
    profile = t.record(program)
    before = with_values(annotated(t, profile, "lines"))
    os.unlink(program)
    if how == "replaced":
        shutil.copy(t.build("touches.c", "-O1"), program)
    result = annotated(t, profile, "lines", "--asm")
    t.equal("the same lines", with_values(result), before)
    t.equal("no instruction", [i for line in lines_of(result).values() for i in line["instructions"]], [])
    words = "another build id" if how == "replaced" else "cannot be read"
    t.true("said so", len([note for note in result["notes"] if words in note and program in note]) == 1, result["notes"])


def test_text(t):
    source, program = copied(t, "annotated.c")
    profile = t.record(program)
    t.run("annotate", profile, "lines")
    loop = marked("annotated.c", "loop")
    rows = [line for line in t.stdout.splitlines() if "malloc(1000)" in line]
    t.true("a line", rows and rows[0].split()[:8] == ["2.9", "KiB", "3.8", "2.9", "KiB", "3.8", "3", str(loop)], rows)
    t.true("inlined", re.search(r"68\.4 KiB +89\.4 +68\.4 KiB +89\.4 +1 +inlined inner, annotated\.c:\d+: return malloc", t.stdout), t.stdout)
    t.true("no instructions unless asked for", "callq" not in t.stdout, t.stdout)
    t.true("some if asked for", t.run("annotate", profile, "lines", "--asm")[0].count("callq") == 6, t.stdout)
    t.run("annotate", profile, "lines", "--context", "0")
    shown = [line for line in t.stdout.splitlines() if re.search(r"^ .* {2}\d+ {2}", line)]
    t.true("no context: gaps", t.stdout.count("...\n") >= 1 and len(shown) < 9, t.stdout)
    coloured = subprocess.run(["script", "-qec", "%s annotate %s lines" % (t.tidemark, profile), "/dev/null"],
                              stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True,
                              env={**os.environ, "TERM": "xterm", "NO_COLOR": ""}).stdout
    hot = [line for line in coloured.splitlines() if "outer(70000)" in line]
    t.true("hot lines are red", hot and hot[0].startswith("\033[1;31m"), hot)
    cold = [line for line in coloured.splitlines() if "malloc(100);" in line]
    t.true("others are not", cold and not cold[0].startswith("\033[1;31m"), cold)


def test_html(t):
    profile = t.record(t.build("annotated.cpp", "-O2"))
    page = t.file("page.html")
    t.run("annotate", profile, "grab<char>", "--html", page, "--asm")
    t.equal("status, output", (t.status, t.stdout, t.stderr), (0, "", ""))
    with open(page) as text:
        content = text.read()
    t.equal("nothing is fetched", re.findall(r"<script|https?:|src=|<link|url\(", content), [])
    t.true("markup is escaped", "grab&lt;char&gt;" in content and "<char>" not in content)
    if not CHROMIUM:
        raise Skipped("there is no chromium")
    done = subprocess.run([CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                           "--user-data-dir=" + t.file("chromium"), "--dump-dom", "file://" + page],
                          capture_output=True, timeout=300)
    rows = re.findall(r"<tr class=\"line\"[^>]*>(.*?)</tr>", done.stdout.decode(), re.DOTALL)
    hot = [re.findall(r"<td>(.*?)\s*</td>", row, re.DOTALL) for row in rows if "line template" in row]
    t.equal("the row of a line", [row[:6] for row in hot],
            [["300 B", "100.0", "300 B", "100.0", "3", str(marked("annotated.cpp", "template"))]])


def test_wrong_usage(t):
    profile = t.record(t.build("annotated.c", "-O1"))
    for arguments, status, words in (
            ((profile,), 2, "a function is missing: tidemark annotate FILE FUNCTION"),
            ((), 2, "a recording is missing"),
            ((profile, "lines", "more"), 2, "one argument too many"),
            ((profile, "nothing_like_it"), 1, "no function 'nothing_like_it'"),
            ((profile, "lines", "--library", "libc.so.6"), 1, "of library libc.so.6"),
            ((profile, "lines", "--context", "few"), 2, "neither a number of lines nor 'all'"),
            ((profile, "lines", "--html", "x", "--json"), 2, "exclude each other"),
            ((profile, "lines", "--metric", "cpu"), 1, "cpu"),
            ((t.file("none.tide"), "lines"), 1, "none.tide")):
        t.run("annotate", *arguments)
        t.equal("status of %s" % (arguments[1:],), (t.status, t.stdout), (status, ""))
        t.true("sentence: " + words, words in t.stderr and len(t.stderr.splitlines()) == 1, t.stderr)


def gfortran():
    found = next((name for name in ("gfortran", "gfortran-12", "gfortran-13", "gfortran-14") if shutil.which(name)), None)
    if not found:
        raise Skipped("no gfortran here")
    return found


@cases(opt=("-O0", "-O1"))
def test_a_routine_that_initialises_arrays(t, opt):
    """The time is the kernel's, the faults are a routine's, and they are on one line: two arrays of 1,000 pages."""
    program, modules = t.file("initialises"), t.file("modules")
    os.mkdir(modules)
    source = os.path.join(PROGRAMS, "initialises.f90")
    t.plain(gfortran(), "-g", opt, "-fno-inline", "-J", modules, source, "-o", program)
    t.equal("it compiles", t.status, 0)
    profile = t.record(program, opts=("--cpu", "--faults"))
    if t.run("report", profile, "--metric", "faults")[2]:
        raise Skipped("no faults can be recorded here")
    first = t.report(profile, "faults")["rows"][0]
    t.equal("the routine", first["name"], "__work_MOD_initialise")
    result = annotated(t, profile, "Initialise", "--metric", "faults")
    lines = with_values(result)
    t.equal("its line", list(lines), [marked("initialises.f90", "initialise")])
    # The first page of each block may be libc's, which writes the size there; the last ones may be shared.
    size = next(iter(lines.values()))[0]
    t.true("2,000 pages", 1990 * PAGE <= size <= 2002 * PAGE, size)
    t.equal("as the report has it", size, first["self_bytes"])
