"""What cannot be recorded runs as always, and the recording says what is missing, why, and what to do."""
import os
import re
import shutil
import subprocess
import tempfile

from harness import Failed, Skipped, cases
from unprivileged import AS_NOBODY, NOBODY, give_to_nobody, set_id_works


def recorded(t, *argv, opts=(), before=()):
    """Runs a program plain and recorded; what it says and how it ends must agree. Returns its report and tidemark's stderr."""
    want = t.plain(*before, *argv)
    profile = t.file("p.tide")
    stdout, stderr, status = t._run([*before, t.tidemark, "run", "-o", profile, *opts, "--", *argv], None)
    t.equal("output and status", (stdout, status), (want[0], want[2]))
    t.true("stderr is the program's and the summary", stderr.startswith(want[1] + "tidemark: "), stderr)
    return t.report(profile), stderr


def says(t, report, stderr, *words):
    """There is a note with all these words, in the report and on stderr."""
    notes = [note for note in report["notes"] if all(word in note for word in words)]
    t.equal("notes with %s" % (words,), len(notes), 1)
    if notes:
        t.true("it is on stderr", "note: " + notes[0] in " ".join(stderr.split()), stderr)
    else:
        t.failures.append("notes: %r" % report["notes"])


@cases(how=("-static", "-static-pie"))
def test_static_program(t, how):
    report, stderr = recorded(t, t.build("ends.c", "-O1", how), "return")
    says(t, report, stderr, "statically linked", "dynamically linked build")
    t.equal("allocations", report["totals"]["allocations"], 0)
    t.equal("exit code", report["exit_code"], 3)


@cases(how=("static", "only"))
def test_no_answer_calls_it_good(t, how):
    """Nothing was examined, so nothing is said to be free of leaks, stable or complete."""
    program = t.build("ends.c", "-O1", *(["-static"] if how == "static" else []))
    profile = t.record(program, "return", opts=["--only", "no-such-name"] if how == "only" else [], status=3)
    why = "statically linked" if how == "static" else "what --only asks for"
    report, findings, growth = t.report(profile), t.ask(profile, "findings"), t.ask(profile, "growth")
    t.equal("complete", [a["complete"] for a in (report, findings, growth)], [False] * 3)
    t.equal("clean", (findings["clean"], findings["basis"]), (False, "not recorded"))
    t.equal("verdict", growth["verdict"], None)
    t.true("its reason", why in growth["answer"] and "longer" not in growth["answer"], growth["answer"])
    for command in ("report", "leaks", "findings"):
        t.run(command, profile)
        t.true(command + " says that nothing was recorded", "not recorded: " in t.stdout and why in " ".join(t.stdout.split()), t.stdout)
        t.true(command + " does not say that all is well", "othing was lost" not in t.stdout and "worth your time" not in t.stdout, t.stdout)
    for option, status in (("--fail", 0), ("--fail=all", 3)):
        t.run("leaks", profile, option)
        t.equal("status of leaks " + option, t.status, status)
        t.true("leaks %s says that it is not known" % option, "was not recorded, so what it lost is not known" in t.stderr, t.stderr)


def test_script_of_a_static_interpreter(t):
    script = t.file("script")
    with open(script, "w") as out:
        out.write("#!%s wait\n" % t.build("not_recorded.c", "-O1", "-static", "-Wno-error"))
    os.chmod(script, 0o755)
    report, stderr = recorded(t, script)
    says(t, report, stderr, script, "a script for", "not_recorded", "statically linked")


def test_32_bit_program(t):
    program = t.build("thirty_two.c", "-O1", "-m32", "-nostdlib", "-static", "-fno-pic", "-no-pie")
    try:
        subprocess.run([program])
    except OSError:
        return  # this kernel has no 32-bit programs
    report, stderr = recorded(t, program)
    says(t, report, stderr, "32-bit", "64-bit build")


def test_program_of_another_c_library(t):
    if not shutil.which("musl-gcc"):
        raise Failed("no musl-gcc: install musl-tools")
    report, stderr = recorded(t, t.build("ends.c", "-O1", cc="musl-gcc"), "return")
    says(t, report, stderr, "another C library")



STARTERS = {"sh": ("sh", "-c", '"$0" return; echo status $?'),
            "exec": ("sh", "-c", 'exec "$0" return'),
            "env -i": ("sh", "-c", 'env -i "$0" return; echo status $?'),
            "python": ("/usr/bin/python3", "-c", "import subprocess, sys; print(subprocess.run([sys.argv[1], 'return']).returncode)"),
            "spawn": ("/usr/bin/python3", "-c", "import os, sys; print(os.waitpid(os.posix_spawn(sys.argv[1], [sys.argv[1], 'return'], "
                      "os.environ), 0)[1])"),
            "make": ("make", "-s", "-f", "makefile")}


def started(t, how, program):
    """The command line that runs a program below another."""
    with open(t.file("makefile"), "w") as out:
        out.write("all:\n\t%s return || echo status $$?\n" % program)
    return STARTERS[how] if how == "make" else (*STARTERS[how], program)


@cases(how=tuple(STARTERS))
def test_child_of_another_c_library(t, how):
    """Its loader would give up if it were told to load our library: it is not told."""
    program = t.build("ends.c", "-O1", cc="musl-gcc")
    report, stderr = recorded(t, *started(t, how, program))
    says(t, report, stderr, program, "another C library", "build for glibc")


@cases(how=("sh", "python"))
def test_child_with_another_loader(t, how):
    """A loader by another name stands for every other C library."""
    with tempfile.TemporaryDirectory(dir="/tmp", prefix="t") as folder:
        loader, other = os.path.join(folder, "ld-other.so"), t.file("other")
        os.symlink("/lib64/ld-linux-x86-64.so.2", loader)
        shutil.copy(t.build("ends.c", "-O1"), other)
        with open(other, "r+b") as file:
            content = file.read()
            want = b"/lib64/ld-linux-x86-64.so.2\0"
            file.seek(content.index(want))
            file.write(loader.encode().ljust(len(want), b"\0"))
        report, stderr = recorded(t, *started(t, how, other))
        says(t, report, stderr, other, "another C library")


@cases(how=("sh", "python"))
def test_child_that_is_a_script_of_another_c_library(t, how):
    script, program = t.file("script"), t.build("ends.c", "-O1", cc="musl-gcc")
    with open(script, "w") as out:
        out.write("#! %s\n" % program)
    os.chmod(script, 0o755)
    report, stderr = recorded(t, *started(t, how, script))
    says(t, report, stderr, program, "another C library")


def test_child_of_another_c_library_among_others(t):
    """Those that can be recorded are, and many of one program make one note."""
    musl, program = t.build("ends.c", "-O1", cc="musl-gcc"), t.build("executes.c", "-O1")
    report, stderr = recorded(t, "sh", "-c", 'for i in 1 2 3 4 5 6 7 8; do "$0" return; done; "$1" child; echo $?', musl, program)
    says(t, report, stderr, musl, "another C library", "8 times")
    shell = str(report["processes"][0]["pid"])
    t.equal("the shell was recorded", t.report(t.file("p.tide"), "live", "--process", shell)["complete"], True)
    t.equal("recorded", [p["exit_code"] for p in report["processes"] if p["command"][-1] == "child"], [5])


def test_go_program(t):
    """Known by the section that the Go linker writes."""
    program = t.file("program")
    with open(t.file("section"), "w") as out:
        out.write("Go buildinf:")
    subprocess.run(["objcopy", "--add-section", ".go.buildinfo=" + t.file("section"),
                    t.build("ends.c", "-O1", "-static"), program], check=True)
    report, stderr = recorded(t, program, "return")
    says(t, report, stderr, "Go program", "Go's own profiler")


OWN = {"exported": "-DOWN=", "static": "-DOWN=static", "hidden": "-DOWN=__attribute__((visibility(\"hidden\")))"}


@cases(how=tuple(OWN))
def test_program_with_its_own_malloc(t, how):
    # -O2 pads functions: an empty `free` with another function right behind it leaves no room for a jump
    report, stderr = recorded(t, t.build("own_malloc.c", "-O2" if how == "exported" else "-O1", "-fno-builtin", OWN[how]))
    if how == "exported":
        t.equal("allocations", report["totals"]["allocations"], 7)
        t.equal("notes", report["notes"], [])
    else:
        says(t, report, stderr, "own_malloc", "malloc of its own is linked into it", "shared library")


def test_program_with_its_own_malloc_that_does_not_call_it(t):
    report, stderr = recorded(t, t.build("own_malloc.c", "-O2", "-fno-builtin", OWN["exported"], "-DIDLE"))
    says(t, report, stderr, "it made no allocations")


def test_program_with_its_own_malloc_and_no_symbols(t):
    report, stderr = recorded(t, t.build("own_malloc.c", "-O1", "-fno-builtin", OWN["static"], "-s"))
    says(t, report, stderr, "own_malloc", "without symbols", "shared library")


def test_program_that_makes_no_allocations(t):
    report, stderr = recorded(t, t.build("not_recorded.c", "-O1"), "nothing")
    t.equal("notes", report["notes"], [])
    report, stderr = recorded(t, "/bin/true")
    says(t, report, stderr, "it made no allocations")


@cases(how=("exported", "hidden"))
def test_library_with_its_own_malloc(t, how):
    plugin = t.build("own_malloc.c", "-O1", "-fno-builtin", OWN[how], shared=True)
    report, stderr = recorded(t, t.build("not_recorded.c", "-O1"), "deepbind", plugin)
    says(t, report, stderr, plugin, "RTLD_DEEPBIND" if how == "exported" else "linked into it")
    t.equal("the program's", t.total(report, "in_parent"), (1000, 10))


@cases(how=("exported", "hidden"))
def test_library_with_its_own_malloc_in_a_short_program(t, how):
    """It is loaded and called between two looks of the collector, so the look at the end must find it."""
    plugin = t.build("own_malloc.c", "-O1", "-fno-builtin", OWN[how], shared=True)
    report, stderr = recorded(t, t.build("not_recorded.c", "-O1"), "brief", plugin)
    says(t, report, stderr, plugin, "RTLD_DEEPBIND" if how == "exported" else "linked into it")


def test_library_whose_malloc_is_not_used(t):
    """Loaded as usual, a library's own malloc comes after ours: all is seen, and there is nothing to say."""
    plugin = t.build("own_malloc.c", "-O1", "-fno-builtin", OWN["exported"], shared=True)
    report, stderr = recorded(t, t.build("not_recorded.c", "-O1"), "load", plugin)
    t.equal("notes", report["notes"], [])
    t.equal("the plugin's", t.total(t.report(t.file("p.tide"), "total"), "plugin_work"), (7000, 7))


@cases(how=("deepbind", "load"))
def test_library_that_would_call_libc_past_us(t, how):
    """Without a malloc of its own, and loaded to prefer what it is linked with: its calls are seen all the same."""
    plugin = t.build("plugin_calls.c", "-O1", shared=True)
    report, stderr = recorded(t, t.build("not_recorded.c", "-O1"), how, plugin)
    t.equal("notes", report["notes"], [])
    t.equal("the program's", t.total(report, "in_parent"), (1000, 10))
    t.equal("the plugin's", t.total(t.report(t.file("p.tide"), "total"), "plugin_work"), (7000, 7))


@cases(how=("deepbind", "load"))
def test_library_that_is_searched_for(t, how):
    """dlopen searches where its caller says. Then a library that calls libc's malloc is only found afterwards, and named."""
    plugin = t.build("plugin_calls.c", "-O1", shared=True)
    program = t.build("not_recorded.c", "-O1", "-Wl,--enable-new-dtags,-rpath," + os.path.dirname(plugin))
    report, stderr = recorded(t, program, how, os.path.basename(plugin))
    if how == "deepbind":
        says(t, report, stderr, plugin, "libc's malloc", "RTLD_DEEPBIND")
    else:
        t.equal("notes", report["notes"], [])
        t.equal("the plugin's", t.total(t.report(t.file("p.tide"), "total"), "plugin_work"), (7000, 7))


def test_file_that_is_only_read(t):
    """A file with code in it, of which nothing can be run, is not a library: debug information, say."""
    report, stderr = recorded(t, t.build("not_recorded.c", "-O1"), "read",
                              t.build("own_malloc.c", "-O1", "-fno-builtin", OWN["hidden"], shared=True))
    t.equal("notes", report["notes"], [])


@cases(limit=("--nofile=4:4", "--as=9000000"))
def test_program_without_room_for_us(t, limit):
    """It connects, but cannot take what it is given. That is not the same as having made no allocations."""
    report, stderr = recorded(t, "prlimit", limit, t.build("not_recorded.c", "-O1"), "nothing")
    t.equal("exit code", report["exit_code"], 9)
    says(t, report, stderr, "nothing could be seen in", "not_recorded", "ulimit")


def test_program_that_has_room_later(t):
    """Whatever the recorder had no room for, the program is none the worse for it, then and later."""
    t.record(t.build("little_space.c", "-O1"), status=0)
    t.equal("stderr", [line for line in t.stderr.splitlines() if line.startswith("with ")], [])


@cases(how=("exec", "quick"))
def test_program_that_becomes_a_static_one(t, how):
    """Seen while it lives, or, if it does not live long enough, by its name when it has ended."""
    static = t.file("other")
    shutil.copy(t.build("not_recorded.c", "-O1", "-static", "-Wno-error"), static)
    report, stderr = recorded(t, t.build("not_recorded.c", "-O1"), how, static)
    says(t, report, stderr, "became another program, ", static if how == "exec" else "other", "statically linked")
    t.equal("what came before", t.total(report, "in_parent"), (1000, 10))


@cases(how=("exec", "spawn"))
def test_program_in_another_network(t, how):
    """The collector's socket is not there: the program runs as always, and is named."""
    inside = t.file("inside")
    with open(inside, "w") as out:
        out.write("#!/bin/sh\nexec unshare -n '%s' \"$@\"\n" % t.build("not_recorded.c", "-O1"))
    os.chmod(inside, 0o755)
    if subprocess.run(["unshare", "-n", "true"], stderr=subprocess.DEVNULL).returncode:
        raise Skipped("no network namespace can be made here")
    report, stderr = recorded(t, t.build("not_recorded.c", "-O1"), how, inside)
    notes = [note for note in report["notes"] if "not_recorded" in note and "another network namespace" in note]
    t.equal("notes on the program inside: %r" % report["notes"], len(notes), 1)


@cases(how=("spawn", "thread"))
def test_static_child(t, how):
    """The kernel lists a child under the thread that started it."""
    static = t.build("not_recorded.c", "-O1", "-static", "-Wno-error")
    report, stderr = recorded(t, t.build("not_recorded.c", "-O1"), how, static)
    says(t, report, stderr, static, "statically linked")
    t.equal("the parent's", t.total(report, "in_parent"), (1000, 10))


@cases(how=tuple(STARTERS))
def test_brief_static_child(t, how):
    """The collector need not see it while it lives: who executes it says so."""
    program = t.build("ends.c", "-O1", "-static")
    report, stderr = recorded(t, *started(t, how, program))
    says(t, report, stderr, program, "statically linked")
    t.equal("notes on it: %r" % report["notes"], len([n for n in report["notes"] if "statically" in n]), 1)
    found = t.ask(t.file("p.tide"), "findings")
    t.true("findings do not hide it", "statically linked" in (found["not_recorded"] or ""), found["not_recorded"])
    t.true("nor in words", found["findings"] or "statically linked" in found["basis"], found["basis"])


def test_brief_static_children_among_others(t):
    """Many of one program make one note."""
    program = t.build("ends.c", "-O1", "-static")
    report, stderr = recorded(t, "sh", "-c", 'for i in 1 2 3 4 5 6 7 8; do "$0" return; done; true', program)
    says(t, report, stderr, program, "statically linked", "8 times")


def test_not_missed_if_not_asked_for(t):
    static = t.file("other")
    shutil.copy(t.build("not_recorded.c", "-O1", "-static", "-Wno-error"), static)
    for opts in (("--only", "not_recorded"), ("--no-follow",)):
        report, stderr = recorded(t, t.build("not_recorded.c", "-O1"), "spawn", static, opts=opts)
        t.equal("notes with " + opts[0], report["notes"], [])


def test_children_of_a_static_program(t):
    """The program is the first process, and why it is empty is said; its child is recorded."""
    static = t.build("not_recorded.c", "-O1", "-static", "-Wno-error")
    report, stderr = recorded(t, static, "spawn", t.build("not_recorded.c", "-O1"))
    says(t, report, stderr, "statically linked")
    t.equal("processes", len(report["processes"]), 2)
    child = report["processes"][1]
    t.equal("its parent", child["ppid"], report["processes"][0]["pid"])
    t.equal("the report is of the child", report["pid"], child["pid"])
    t.equal("the child's", t.total(report, "in_child"), (7000, 7))


@cases(how=("first", "below"))
def test_other_c_library_below_a_static_program(t, how):
    """Nobody looks at what a static program executes. glibc's loader is told of us there, and others do not understand it."""
    static, musl = t.build("not_recorded.c", "-O1", "-static", "-Wno-error"), t.build("ends.c", "-O1", cc="musl-gcc")
    program = t.build("executes.c", "-O1")
    runner = t.build("runs.c", "-O1", "-static")
    argv = (runner, "sh", "-c", '"$0" "$1" return; echo $?; "$0" "$2" child; echo $?', runner, musl, program)
    report, stderr = recorded(t, *(argv if how == "first" else argv[1:]))
    t.equal("recorded", [p["exit_code"] for p in report["processes"] if p["command"][-1] == "child"], [5])


# Other rights

def copy_of(t, name, owner=0, mode=0o755, capability=None):
    """A copy of not_recorded with these rights, where everybody can run it."""
    path = t.file(name)
    shutil.copy(t.build("not_recorded.c", "-O1"), path)
    os.chown(path, owner, owner)
    os.chmod(path, mode)
    if capability:
        subprocess.run(["setcap", capability, path], check=True)
    return path


def refused(t, tool, *before, program):
    """One sentence, 126, no file."""
    folder = os.path.dirname(tool)
    stdout, stderr, status = t._run([*before, tool, "run", "-o", os.path.join(folder, "refused.tide"), "--", program, "wait"], None)
    t.equal("status", status, 126)
    t.equal("stdout", stdout, "")
    t.equal("lines on stderr", len(stderr.splitlines()), 1)
    t.true("says why", program in stderr and "setuid" in stderr, stderr)
    t.true("no file", not os.path.exists(os.path.join(folder, "refused.tide")))


def test_programs_that_change_rights_are_refused(t):
    if not set_id_works(t):
        return
    tool = give_to_nobody(t)
    refused(t, tool, program=copy_of(t, "nobodys", NOBODY, 0o4755))
    refused(t, tool, program=copy_of(t, "group", NOBODY, 0o2755))
    refused(t, tool, *AS_NOBODY, program=copy_of(t, "roots", 0, 0o4755))
    refused(t, tool, *AS_NOBODY, program=copy_of(t, "capable", 0, 0o755, "cap_net_raw+ep"))


def test_programs_that_keep_rights_are_not_refused(t):
    """Set-id to who runs it already, and capabilities for root, change nothing: the loader preloads."""
    if not set_id_works(t):
        return
    tool = give_to_nobody(t)
    for before, program in (((), copy_of(t, "roots", 0, 0o4755)),
                            ((), copy_of(t, "capable", 0, 0o755, "cap_net_raw+ep")),
                            (AS_NOBODY, copy_of(t, "nobodys", NOBODY, 0o6755)),
                            ((*AS_NOBODY, "setpriv", "--no-new-privs"), copy_of(t, "roots2", 0, 0o4755))):
        profile = os.path.join(os.path.dirname(tool), "kept.tide")
        status = t._run([*before, tool, "run", "--quiet", "-o", profile, "--", program, "wait"], None)[2]
        t.equal("status of %s" % program, status, 5)
        t.equal("%s was seen" % program, t.total(t.report(profile), "in_child"), (7000, 7))


@cases(who=("root", "nobody"))
def test_children_that_change_rights(t, who):
    """They run as always; the recording names them."""
    if not set_id_works(t):
        return
    tool = give_to_nobody(t)
    before, child = ((), copy_of(t, "child", NOBODY, 0o4755)) if who == "root" else (AS_NOBODY, copy_of(t, "child", 0, 0o4755))
    profile = os.path.join(os.path.dirname(tool), "p.tide")
    stdout, stderr, status = t._run([*before, tool, "run", "-o", profile, "--", copy_of(t, "parent"), "spawn", child], None)
    t.equal("status", status, 5)
    report = t.report(profile)
    says(t, report, stderr, child, "setuid")
    t.equal("the parent's", t.total(report, "in_parent"), (1000, 10))


def test_what_was_not_recorded_is_not_complete(t):
    """A static program: no zeros that look like figures, and no verdict on what nobody saw."""
    profile = t.file("p.tide")
    t._run([t.tidemark, "run", "-o", profile, "--", t.build("ends.c", "-O1", "-static"), "return"], None)
    t.true("at the end of run", t.stderr.startswith("tidemark: nothing recorded in ") and "peak" not in t.stderr, t.stderr)
    t.equal("JSON", t.report(profile)["complete"], False)
    text = t.run("report", profile)[0]
    t.true("report", " incomplete not recorded: nothing could be seen in " in " ".join(text.split()) and "statically linked" in text, text)
    for word in ("complete", "allocated", "live", "peak", "threads", "next:"):
        t.true("no line '%s'" % word, "\n" + word + " " not in text, text)
    text = t.run("leaks", profile)[0]
    t.true("leaks", "\nincomplete not recorded: " in text and "nothing was lost" not in text, text)
    found, text = t.ask(profile, "findings"), t.run("findings", profile)[0]
    t.equal("findings", (found["clean"], found["findings"], found["basis"]), (False, [], "not recorded"))
    t.true("findings in words", "nothing worth your time" not in text and "not recorded: " in text, text)


def test_program_whose_malloc_is_hidden_is_not_complete(t):
    profile = t.record(t.build("own_malloc.c", "-O1", "-fno-builtin", OWN["hidden"]), status=5)
    t.equal("JSON", t.report(profile)["complete"], False)
    text = t.run("report", profile)[0]
    t.true("report", re.search(r"^incomplete (no|only) allocations by ", text, re.MULTILINE) and "\ncomplete " not in text, text)
