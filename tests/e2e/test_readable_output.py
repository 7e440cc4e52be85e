"""What people read: tables fit, deep trees can be followed, every command says what it did and what comes next."""
import csv
import io
import os
import re
import shutil

from harness import ROOT, Skipped, cases
from test_ctl import Running

API = ("-I", os.path.join(ROOT, "include"))
WIDTH = 100
MODULE = {"PYTHONPATH": os.path.join(ROOT, "bindings", "python")}
PYTHON = "/usr/bin/python3"
COMMANDS = (("report",), ("report", "--tree"), ("report", "--by", "stack"), ("report", "--by", "line"), ("report", "--by", "thread"),
            ("report", "--by", "file"), ("report", "--by", "library"), ("report", "--metric", "peak"),
            ("report", "--histogram", "size"), ("leaks",), ("leaks", "--all", "--no-presets"), ("marks",), ("marks", "--stamps"),
            ("marks", "--scopes"), ("growth",), ("threads",), ("peaks",), ("tree",), ("tree", "--peak", "1"), ("findings",),
            ("maps",), ("maps", "--by", "mapping"))
LONG = """
import threading, tidemark
def work():
    for i in range(8):
        with tidemark.scope("a scope whose name says at length what it is about"):
            keep = bytearray(1 << 20)
        tidemark.mark_value("a label that says at length what was done just now", "electrons", 123456789 * (i + 1))
thread = threading.Thread(target=work, name="a thread with a name of many words")
thread.start()
thread.join()
"""


MUCH_TO_SAY = """
import threading, tidemark
keep = [bytearray(100000)]
tidemark.mark("event")
with tidemark.paused():
    hidden = bytearray(100000)
tidemark.alloc("pool", 0x1234, 50)
thread = threading.Thread(target=lambda: keep.append(bytearray(200000)))
thread.start()
thread.join()
"""


def program_of(t, name):
    """(words, environment, options of run) of a program of that kind."""
    if name == "perl":
        return ("perl", "-e", "my %h; $h{$_} = 'x' x 100 for 1 .. 3000"), {}, ()
    if name == "git":
        return ("git", "-C", ROOT, "log", "--stat", "-3"), {}, ()
    if name == "c++":
        return (t.build("kept_by_libraries.cpp", "-O1"),), {}, ()
    if name == "marks":
        return (t.build("marks.c", "-O1", *API), "20"), {}, ()
    with open(t.file("long.py"), "w") as out:
        out.write(LONG)
    return (PYTHON, t.file("long.py") if name == "names" else os.path.join(ROOT, "examples", "threads.py")), MODULE, ("--cpu", "--faults")


def width_of(line):
    """Columns of a line; a path is as long as it is, and a command to be copied too: they count as short."""
    return 0 if line.startswith("next: tidemark ") else len(re.sub(r"\S*/\S+", "/path", line))


@cases(name=("perl", "git", "c++", "marks", "threads", "names"))
def test_every_table_fits(t, name):
    words, environment, options = program_of(t, name)
    if not shutil.which(words[0]):
        raise Skipped(words[0] + " is not installed")
    profile = t.record(*words, env=environment, opts=options)
    sampled = (("report", "--metric", "cpu"), ("report", "--metric", "faults"), ("report", "--metric", "touched")) if options else ()
    lines = 0
    for command in (*COMMANDS, *sampled, ("diff", profile), ("diff", profile, "--metric", "total", "--tree")):
        stdout, stderr, status = t.run(command[0], profile, *command[1:], env={"COLUMNS": ""})
        if command == ("tree", "--peak", "1") and status == 1 and "there is no peak" in stderr:
            continue
        what = "%s of %s" % (" ".join(command).replace(profile, "FILE"), name)
        t.equal("status of " + what, (status, stderr), (0, ""))
        lines += len(stdout.splitlines())
        wide = [line for line in stdout.splitlines() if width_of(line) > WIDTH]
        t.equal("wide lines of " + what, wide, [])
    t.true("there is something to measure", lines > 200, lines)


def test_summary_has_twelve_lines_at_most(t):
    """However much there is to say; what was left out and the notes stay, and what is dropped is in the JSON."""
    with open(t.file("much.py"), "w") as out:
        out.write(MUCH_TO_SAY)
    profile = t.record(PYTHON, t.file("much.py"), env=MODULE)
    for options in ((), ("--since", "event"), ("--since", "event", "--ignore", "Hashable", "--within", "lambda")):
        lines = t.run("report", profile, *options)[0].split("\n\n")[0].splitlines()
        labels = [line.split()[0] for line in lines if not line.startswith(" ")]
        t.true("%d lines with %s" % (len(lines), options), len(lines) <= 12, lines)
        t.true("what matters most", {"command", "ran", "allocated", "live", "peak", "complete", "note"} <= set(labels), labels)
        t.equal("what was left out", "ignored" in labels, "--ignore" in options)


def test_what_needs_no_recording_fits(t):
    commands = re.findall(r"^  (\w+) ", t.run("--help")[0].split("Examples:")[0], re.MULTILINE)
    t.true("commands", {"run", "report", "doctor"} <= set(commands), commands)
    for words in (("--help",), ("doctor",), *((command, "--help") for command in commands)):
        lines = t.run(*words)[0].splitlines()
        t.equal("wide lines of " + " ".join(words), [line for line in lines if width_of(line) > WIDTH], [])
        t.true("examples of " + " ".join(words), words == ("doctor",) or "\nExamples:\n" in t.stdout, t.stdout)


def test_columns_that_have_no_room(t):
    """They go as a whole, a line says which; the others have the numbers that a wide table has."""
    profile = t.record(t.build("marks.c", "-O1", *API), "20")
    wide = [line.split("  ") for line in t.run("marks", profile, env={"COLUMNS": "200"})[0].splitlines()[3:]]
    narrow = t.run("marks", profile, env={"COLUMNS": ""})[0].splitlines()[3:]
    gone = re.fullmatch(r"no room for: (.*); COLUMNS=200 or --csv shows them", narrow.pop()).group(1).split(", ")
    t.true("some", {"held", "free"} <= set(gone), gone)
    cells = [[cell.strip() for cell in row if cell.strip()] for row in wide]
    kept = [i for i, title in enumerate(cells[0]) if title not in gone]
    for row, line in zip(cells, narrow):
        if len(row) == len(cells[0]):  # with values
            t.equal("numbers of " + row[0], re.split(r" {2,}", line), [row[i] for i in kept])


def test_deep_trees(t):
    """A chain of calls stays on one indentation, with depths beside it; calls of one caller go in."""
    profile = t.record(t.build("recursion.c", "-O1"), "30")
    tree = [(c["depth"], c["function"]) for c in t.ask(profile, "tree")["calls"]]
    t.true("it is deep", max(depth for depth, _ in tree) > 30, tree)
    for command, title, times in ((("tree", "--top", "0"), "call", 2), (("report", "--tree", "--top", "0", "--min", "0"), "call tree", 1)):
        lines = t.run(command[0], profile, *command[1:])[0].splitlines()
        start = next(i for i, line in enumerate(lines) if " depth  %s" % title in line)
        at = lines[start].index(title, lines[start].index("depth"))
        rows = []
        for line in lines[start + 1:]:
            if not line.strip():
                break
            name = line[at:]
            rows.append((int(line[:at].split()[-1]), name.split()[0], len(name) - len(name.lstrip())))
        mains = [i for i, row in enumerate(rows) if row[1] == "main"]
        t.equal("mains of %s: a tree of lines has each of them" % command[0], len(mains), times)
        if times == 2:
            t.equal("depths", [row[:2] for row in rows], tree)
        t.equal("before main: a chain", [row[2] for row in rows[:mains[0]]], [0] * mains[0])
        t.equal("main", {rows[i][2] for i in mains}, {2 if times == 2 else 0})
        t.equal("what main calls", {row[2] for row in rows[mains[0] + 1:] if row[1] != "main"}, {2})
        t.equal("all of it", sum(row[1] == "deep" for row in rows), 30)


def test_wrappers_of_malloc(t):
    """perl allocates through functions of its own: the hint names them, and does what it says."""
    if not shutil.which("perl"):
        raise Skipped("perl is not installed")
    profile = t.record("perl", "-e", "my %h; $h{$_} = 'x' x 100 for 1 .. 3000")
    text = " ".join(t.run("report", profile)[0].split())
    hint = re.search(r"hint: ([\d.]+) % is charged to (\w+) and \d like it, which allocate for others; to see for whom: --fold '(\S+)'",
                     text)
    if not hint:
        raise Skipped("this perl has no names: " + text[-300:])
    rows = t.report(profile)["rows"]
    t.equal("the largest is named", hint.group(2), rows[0]["name"])
    folded = t.report(profile, "live", "--fold", hint.group(3))["rows"]
    t.true("its callers are charged", folded[0]["self_bytes"] > 0 and not re.search(hint.group(3), folded[0]["name"]), folded[0])
    t.true("no hint any more", "hint:" not in t.run("report", profile, "--fold", hint.group(3))[0])
    t.true("none where there is no wrapper", "hint:" not in t.run("report", t.record(t.build("heap_family.c", "-O1")))[0])


def test_growth_without_a_verdict(t):
    profile = t.record(t.build("heap_family.c", "-O1"))
    text = t.run("growth", profile)[0]
    t.true("none", text.startswith("No verdict: "), text)
    t.true("what to do", "or record it again with 'tidemark run --mark-on FUNCTION'" in " ".join(text.split()), text)
    t.true("and how", re.search(r"^next: tidemark run --mark-on FUNCTION .*(heap_family|[.]{3})$", text, re.MULTILINE), text)
    marked = t.record(t.build("marks.c", "-O1", *API), "20")
    t.true("not with marks", "next: tidemark run" not in t.run("growth", marked)[0])


def test_ctl_says_what_it_did(t):
    run = Running(t, t.file("s.%I.tide"))
    t.equal("mark", run.ctl("mark", "here"), "marked this moment: use its label with --at and --since\n")
    t.equal("pause", run.ctl("pause"), "paused: allocations are not recorded, frees are\n")
    t.equal("resume", run.ctl("resume"), "allocations are recorded again\n")
    t.equal("snapshot", run.ctl("snapshot", t.file("x.%I.tide")), "snapshot 3, written to %s\n" % t.file("x.3.tide"))
    t.equal("through a command", run.ctl("snapshot", "|cat > " + t.file("y")), "snapshot 4, passed to cat > %s\n" % t.file("y"))
    status = run.ctl("status")
    t.true("status", re.search(r"^live [\d.]+ (B|KiB), peak [\d.]+ (B|KiB), [\d,]+ events$", status, re.MULTILINE), status)
    leaks = run.ctl("leaks")
    t.true("leaks", re.match(r"process \d+: (lost [\d.]+ (B|KiB) in \d+ blocks?, .*stopped for [\d.]+ (us|ms|s)|\w)", leaks)
           and "bytes" not in leaks, leaks)
    run.end()


def test_no_recording_on_stdout(t):
    stdout, stderr, status = t.run("run", "-o", "-", "--", "/bin/true")
    t.equal("refused", (stdout, status, len(stderr.splitlines())), ("", 2, 1))
    t.true("what to do", "-o '|command'" in stderr, stderr)
    t.true("no such file", not os.path.exists(t.file("-")))


def test_what_was_lost_is_told_of_a_pipe_too(t):
    program = t.build("leaks.c", "-O1")
    said = [re.search(r"  lost (.*) that nothing points to any more: tidemark leaks (\S+)", t.run("run", "-o", output, "--", program)[1])
            for output in ("x.tide", "|cat > y.tide")]
    t.true("both", all(said), (t.stderr, said))
    t.equal("the same", said[0].group(1), said[1].group(1))
    t.equal("and where", [s.group(2) for s in said], ["x.tide", "FILE"])


def test_killed_by_a_signal(t):
    stderr = t.run("run", "-o", "x.tide", "--", "sh", "-c", "kill -SEGV $$")[1]
    t.equal("status", t.status, 139)
    t.true("run says so", re.match(r"tidemark: .*, killed by SIGSEGV \(signal 11\)\n", stderr), stderr)
    t.true("the report does", ", killed by SIGSEGV (signal 11), pid" in t.run("report", "x.tide")[0], t.stdout)
    t.true("nothing of others", "killed" not in t.run("run", "-o", "y.tide", "--", "sh", "-c", "exit 3")[1])


def test_next_command_of_growth(t):
    profile = t.record(t.build("planted.cpp", "-O1", *API), "2", "marks")
    command = re.search(r"^next: (tidemark growth .*)$", t.run("findings", profile)[0], re.MULTILINE).group(1)
    stdout, stderr, status = t.plain("sh", "-c", command.replace("tidemark", t.tidemark, 1))
    t.equal("status of " + command, (status, stderr), (0, ""))
    t.true("it names the function", "planted_cache" in stdout, stdout)


@cases(planted=(("7", "planted_copy", "peak"), ("8", "planted_vector", "total")))
def test_next_command_of_findings(t, planted):
    """It can be copied as it is."""
    profile = t.record(t.build("planted.cpp", "-O1", *API), planted[0], "marks")
    text = t.run("findings", profile)[0]
    command = re.search(r"^next: (tidemark report .*)$", text, re.MULTILINE).group(1)
    stdout, stderr, status = t.plain("sh", "-c", command.replace("tidemark", t.tidemark, 1))
    t.equal("status of " + command, (status, stderr), (0, ""))
    t.true("its callers", ", callers of " + planted[1] in stdout, stdout)
    t.true("in the finding's own terms", " --metric %s " % planted[2] in command, command)


def test_next_command_is_of_the_same_stacks(t):
    """Of a file with a space in its name, and as often as it is followed."""
    with open(t.file("grows.py"), "w") as out:
        out.write("import ctypes\nctypes.CDLL(None).malloc(54321)\n")
    t.run("run", "-o", "a file.tide", "--", "/usr/bin/python3", "grows.py")
    command = "tidemark report 'a file.tide' --within-path grows.py --python-only"
    for _ in range(2):
        text = t.plain("sh", "-c", command.replace("tidemark", t.tidemark, 1))[0]
        t.true("its block", "53.0 KiB" in text, text)
        command = re.search(r"^next: (tidemark report .*)$", text, re.MULTILINE).group(1)
        t.equal("next", command.split(" --by ")[0].split(" --tree")[0],
                "tidemark report 'a file.tide' --within-path grows.py --python-only")


def test_findings_and_run_count_what_is_lost_alike(t):
    """With what only lost blocks point to: a list of which the head is lost."""
    program = t.build("planted.cpp", "-O1", *API)
    lost = re.search(r"  lost (\S+ \w+) in ([\d,]+) blocks? that", t.run("run", "-o", "x.tide", "--", program, "10")[1])
    t.true("something is lost", lost, t.stderr)
    t.true("and leads to more", t.ask(t.file("x.tide"), "leaks")["totals"]["indirect_blocks"] > 0)
    basis = t.ask(t.file("x.tide"), "findings")["basis"]
    t.true("the same", " left at the end %s w" % lost.group(2) in basis and " lost (%s)" % lost.group(1) in basis, (lost.group(), basis))


def test_a_script_that_becomes_the_program(t):
    """The summary is of the program that reports are of."""
    program = t.build("heap_family.c", "-O1")
    stderr = t.run("run", "-o", "x.tide", "--", "sh", "-c", "exec " + program)[1]
    totals = t.report(t.file("x.tide"))["totals"]
    t.equal("allocations", stderr.split()[1], "{:,}".format(totals["allocations"]))
    t.true("no other process", "more process" not in stderr, stderr)


def test_presets_have_one_wording(t):
    profile = t.record(t.build("kept_by_libraries.cpp", "-O1"))
    said = {command: re.findall(r"^presets    hide \S+ KiB (.*?) in [\d,]+ \w+ of (.*?); see --no-presets$", t.run(*words)[0], re.MULTILINE)
            for command, words in (("report", ("report", profile, "--presets")), ("leaks", ("leaks", profile)),
                                   ("findings", ("findings", profile)), ("growth", ("growth", profile)))}
    t.equal("what is counted", {c: [w for w, _ in s] for c, s in said.items()},
            {"report": ["live"], "leaks": ["live"], "findings": ["allocated"], "growth": ["allocated"]})
    t.true("libc is among them", all("libc" in s[0][1] for s in said.values() if s), said)


def test_peaks_csv(t):
    profile = t.record(t.build("thread_peaks.c", "-O1", *API))
    rows = list(csv.DictReader(io.StringIO(t.run("peaks", profile, "--csv")[0])))
    peaks = t.ask(profile, "peaks")["peaks"]
    t.true("there are some", len(peaks) > 0)
    t.equal("the columns", list(rows[0]), ["number", "thread", "time_ns", "bytes", "place", "listed_bytes", "listed_ns", "at_least"])
    for key in ("number", "bytes", "listed_bytes", "listed_ns"):
        t.equal(key, [int(r[key]) for r in rows], [p[key] for p in peaks])
