"""`tidemark run`: names of the result, messages, exit statuses."""
import glob
import os
import re
import shlex
import socket

from harness import cases


def program(t):
    return t.build("heap_family.c", "-O1")


def written(t):
    return sorted(os.path.basename(path) for path in glob.glob(t.file("*")))


def test_default_name(t):
    t.run("run", "--quiet", "--", program(t))
    t.true("heap_family.PID.tide", len(written(t)) == 1 and re.fullmatch(r"tidemark\.heap_family\.\d+\.tide", written(t)[0]),
           written(t))


def test_name_patterns(t):
    t.run("run", "--quiet", "-o", "%n-%h-%q{TIDE_TEST}-100%%.tide", "--", program(t), env={"TIDE_TEST": "value"})
    t.equal("files", written(t), ["heap_family-%s-value-100%%.tide" % socket.gethostname()])


def test_pid_in_name_is_the_programs(t):
    t.run("run", "--quiet", "-o", "%p.tide", "--", program(t))
    names = written(t)
    t.equal("files", len(names), 1)
    for name in names:
        t.equal("pid", t.report(t.file(name))["pid"], int(name.split(".")[0]))


def test_child_that_had_most(t):
    """Of a script, what it is about is a child."""
    shell = ("sh", "-c", "/usr/bin/python3 -c 'bytearray(30000000)'; true")
    err = t.run("run", "-o", t.file("x.tide"), "--", *shell)[1]
    said = re.search(r"these figures are of process (\d+) \(python3 -c .*\), as in reports.*(?:\n    .*)?\n  peak (\d+)\.\d MiB", err)
    t.true("the child", said and 28 <= int(said.group(2)) < 40, err)
    t.equal("its report", said and t.report(t.file("x.tide"))["pid"], said and int(said.group(1)))
    err = t.run("run", "-o", t.file("y.tide"), "--", "/usr/bin/python3", "-c", "bytearray(30000000); __import__('os').system('true')")[1]
    t.true("not if it is the first", "(and 1 more process)" in err and "these figures are of process" not in err, err)


def test_time_in_name(t):
    t.run("run", "--quiet", "-o", "at-%t.tide", "--", program(t))
    t.true("at-TIME.tide", len(written(t)) == 1 and re.fullmatch(r"at-\d[-\dT:]*\.tide", written(t)[0]), written(t))



def test_a_value_in_a_name_asks_for_no_command(t):
    """Only the pattern does; and a name of which nothing is left is refused before the program runs."""
    t.run("run", "--quiet", "-o", "%q{TIDE_TEST}", "--", program(t), env={"TIDE_TEST": "|touch ran"})
    t.equal("files", (t.status, written(t)), (0, ["|touch ran"]))
    t.run("run", "--quiet", "-o", '|cat >"%q{TIDE_TEST}"', "--", program(t), env={"TIDE_TEST": "a b;`touch no`$(touch no)'\"é"})
    t.equal("in a command it is a word", (t.status, written(t)), (0, ["a_b__touch_no___touch_no___é", "|touch ran"]))
    for name in ("%q{TIDE_UNSET}", "| %q{TIDE_UNSET}"):
        one_line(t, ("run", "--quiet", "-o", name, "--", "/usr/bin/touch", t.file("ran")), 125, "nothing is left", name)
    t.equal("the program did not run", os.path.exists(t.file("ran")), False)


def test_pipe(t):
    t.run("run", "--quiet", "-o", "|cat >piped.tide", "--", program(t))
    t.equal("files", written(t), ["piped.tide"])
    t.equal("allocations", t.report(t.file("piped.tide"))["totals"]["allocations"], 550)


def test_summary(t):
    stdout, stderr, status = t.run("run", "-o", "x.tide", "--", program(t))
    t.equal("status", status, 0)
    t.equal("stdout", stdout, "")
    lines = stderr.splitlines()
    t.true("1 to 12 lines", 1 <= len(lines) <= 12, lines)
    t.true("names the result", "x.tide" in stderr, stderr)


def test_quiet(t):
    t.equal("output", t.run("run", "--quiet", "-o", "x.tide", "--", program(t)), ("", "", 0))


def one_line(t, arguments, status, *words):
    """The command fails with this status and one line on stderr that has these words."""
    stdout, stderr, got = t.run(*arguments)
    what = " ".join(arguments)
    t.equal("status of " + what, got, status)
    t.equal("stdout of " + what, stdout, "")
    t.equal("lines on stderr of " + what, len(stderr.splitlines()), 1)
    for word in words:
        t.true("%s says '%s'" % (what, word), word in stderr, stderr)


def test_not_found_is_127(t):
    one_line(t, ("run", "--quiet", "-o", "x.tide", "--", "/no/such/program"), 127, "/no/such/program")
    one_line(t, ("run", "--quiet", "-o", "x.tide", "--", "no-such-program-anywhere"), 127, "no-such-program-anywhere")


def test_not_executable_is_126(t):
    with open(t.file("data"), "w") as out:
        out.write("no program\n")
    one_line(t, ("run", "--quiet", "-o", "x.tide", "--", "./data"), 126, "data")
    one_line(t, ("run", "--quiet", "-o", "x.tide", "--", "/tmp"), 126, "/tmp")


def test_own_failure_is_125(t):
    one_line(t, ("run", "--quiet", "-o", "/no/such/folder/x.tide", "--", "/bin/true"), 125, "/no/such/folder")


@cases(arguments=(("run", "--no-such-option"), ("no-such-command",), ("report", "--no-such-option", "x"),
                  ("run",), ("report",), ("help", "no-such-command"),
                  ("run", "--only", "", "--", "/bin/true"), ("run", "-o", "", "--", "/bin/true"), ("run", "-o", "|", "--", "/bin/true"), ("run", "-o", "| ", "--", "/bin/true")))
def test_usage_is_2(t, arguments):
    one_line(t, arguments, 2)


@cases(options=("--mark-on main", "--plant-leak 1MiB", "--python=objects", "--snapshot-at peak", "--snapshot-at live+5%", "--dormant",
                "--sample"))
def test_without_the_recorder_it_cannot_be_done(t, options):
    """Nor is it said that it was done."""
    words = options.split()
    for alone in ("--only-cpu", "--only-faults", "--all"):
        one_line(t, ("run", alone, *words, "--", "/bin/true"), 2, words[0], "recorder")


@cases(size=(250, 225))
def test_name_that_is_too_long(t, size):
    """The temporary name beside it is longer. It is refused before the program runs, not after."""
    one_line(t, ("run", "--quiet", "-o", size * "z" + ".tide", "--", "/usr/bin/touch", t.file("ran")), 125, "too long", "-o")
    t.equal("the program did not run", os.path.exists(t.file("ran")), False)
    t.run("run", "--quiet", "-o", 200 * "z" + ".tide", "--", "/bin/true")
    t.equal("200 letters", (t.status, written(t)), (0, [200 * "z" + ".tide"]))


@cases(name=("with space.tide", "it's.tide", "a\nb.tide", "\x1b[31m.tide"))
def test_odd_names_in_the_summary(t, name):
    """What it names can be pasted into a shell; control characters do not reach the terminal."""
    t.run("run", "-o", name, "--", program(t))
    t.equal("no control characters", [c for c in t.stderr if ord(c) < 32 and c != "\n"], [])
    lines = t.stderr.splitlines()
    t.equal("lines of 'written to' and 'next:'", [sum(s.startswith(w) for s in lines) for w in ("  written to ", "next: tidemark ")], [1, 1])
    for command in re.findall(r"tidemark (?:report|leaks|findings) .*", t.stderr):
        if name.isprintable():
            t.equal("the name in " + command, shlex.split(command)[2], name)


def test_name_that_looks_like_an_option(t):
    t.run("run", "-o", "-x.tide", "--", program(t))
    command = re.search(r"^next: (tidemark .*)", t.stderr, re.M).group(1)
    t.equal("what it suggests", command, "tidemark leaks ./-x.tide")
    t.equal("status of that", t.run(*shlex.split(command)[1:])[2], 0)


def test_a_device_is_not_to_be_read(t):
    t.run("run", "-o", "/dev/null", "--", program(t))
    t.true("no command for it", "written to /dev/null\n" in t.stderr and "tidemark report" not in t.stderr, t.stderr)


@cases(given=("reprot", "lekas", "finding", "/bin/true", "--json", "bogus"))
def test_commands_that_do_not_exist(t, given):
    right = {"reprot": "did you mean report?", "lekas": "did you mean leaks?", "finding": "did you mean findings?",
             "/bin/true": "tidemark run /bin/true", "--json": "tidemark COMMAND", "bogus": "tidemark --help"}
    one_line(t, (given, "x.tide"), 2, "'%s'" % given, right[given])


def test_values_are_refused_by_the_name_of_their_option(t):
    one_line(t, ("run", "--push", "localhost", "--", "/bin/true"), 2, "--push takes a URL")
    one_line(t, ("view", t.record(program(t)), "--limit", "10 MiB"), 2, "--limit '10 MiB'", "peak 500 MiB")


@cases(where=(">/dev/full", ">&-"))
def test_output_that_is_lost_is_1(t, where):
    profile = t.record(program(t))
    for words in (("report", profile), ("report", profile, "--json"), ("flame", profile), ("doctor",), ("--version",), ("--help",),
                  ("report", "--help")):
        t.plain("sh", "-c", 'exec "$0" "$@" ' + where, t.tidemark, *words)
        t.equal("status, lines of " + " ".join(words), (t.status, len(t.stderr.splitlines())), (1, 1))


def test_missing_file_is_1(t):
    one_line(t, ("report", "/no/such/file.tide"), 1, "/no/such/file.tide")


@cases(command=("report", "leaks", "marks", "growth", "threads", "peaks", "tree", "flame", "findings", "maps", "annotate", "diff"))
def test_no_profile_is_1(t, command):
    more = {"annotate": ("main",), "diff": ("data",)}.get(command, ())
    with open(t.file("data"), "w") as out:
        out.write("no profile\n" * 100)
    one_line(t, (command, "data", *more), 1, "data")


def test_options_in_the_environment(t):
    """Words as in a shell."""
    os.mkdir(t.file("a folder"))
    options = "--quiet -o '%s' --ignore \"no such function\"  --interval\\=5" % t.file("a folder/x.tide")
    t.equal("output", t.run("run", "--", program(t), env={"TIDEMARK_OPTIONS": options}), ("", "", 0))
    t.equal("allocations", t.report(t.file("a folder/x.tide"))["totals"]["allocations"], 550)


def test_wrong_words_are_2(t):
    profile = t.record(program(t))
    one_line(t, ("report", profile, "--metric", "nonsense"), 2, "nonsense", "live")
    one_line(t, ("report", profile, "--by", "nonsense"), 2, "nonsense", "function")


def test_a_cut_file_says_so(t):
    profile = t.record(program(t))
    with open(profile, "rb") as whole, open(t.file("cut.tide"), "wb") as cut:
        content = whole.read()
        cut.write(content[:len(content) - 20])
    stdout, stderr, status = t.run("report", t.file("cut.tide"), "--json")
    t.true("opens and says so, or says why not", (status == 0 and '"complete": false' in stdout.replace('":f', '": f'))
           or (status == 1 and len(stderr.splitlines()) == 1), (status, stderr))


@cases(command=("", "run", "report"))
def test_help_and_version(t, command):
    stdout, stderr, status = t.run(*([command] if command else []), "--help")
    t.equal("status and stderr", (status, stderr), (0, ""))
    t.true("says how it is used", "tidemark " + command in stdout, stdout)
    t.equal("the same in other words", t.run("help", *([command] if command else [])), (stdout, "", 0))
    if not command:
        stdout, stderr, status = t.run("--version")
        t.equal("status", status, 0)
        t.true("version, and what it was built with", re.fullmatch(
            r"tidemark \d+(\.\d+)+\n"
            r"built by \S.* \d+\.\S+ for %s and glibc 2\.\d+\n"
            r"with elfutils 0\.\d+, SQLite \S+, zstd \S+, zlib \S+, libdeflate \S+, capstone \d\.\d; with(out)? the viewer\n"
            % os.uname().machine, stdout), stdout)


@cases(options=("--quiet word", "word --quiet", "--", "--quiet --", "--quiet 'word", '--quiet "', "--quiet -o",
                "--quiet --only", "--quite", "--quiet --scan=some", "--interval x --quiet"))
def test_wrong_options_in_the_environment(t, options):
    """None of them is taken for the program to run, and the program not for the value of one."""
    stdout, stderr, status = t.run("run", "--", program(t), env={"TIDEMARK_OPTIONS": options})
    t.equal("status, lines, files", (status, len(stderr.splitlines()), written(t)), (2, 1, []))
    t.true("names the variable", "TIDEMARK_OPTIONS" in stderr, stderr)


def test_options_from_the_environment(t):
    t.run("run", "--quiet", "--", program(t), env={"TIDEMARK_OPTIONS": "-o from-environment.tide"})
    t.equal("files", written(t), ["from-environment.tide"])


def test_options_with_equals(t):
    profile = t.record(program(t))
    t.equal("--metric=total", t.ask(profile, "report", "--metric=total")["metric"], "total")
