"""Families of processes: each has its own profile with exact numbers, whatever way it came to be."""
import os
import shutil
import subprocess

from harness import PROGRAMS, cases
from unprivileged import AS_NOBODY

PARENT, CHILD = (1000, 10), (7000, 7)
PYTHON = "/usr/bin/python3"


def processes(t, profile):
    return t.report(profile)["processes"]


def names_of(all_processes):
    """How --process calls each: a pid has several profiles if it became another program."""
    seen = {}
    for p in all_processes:
        seen[p["pid"]] = seen.get(p["pid"], 0) + 1
        yield "%d#%d" % (p["pid"], seen[p["pid"]]), p


def counted(t, profile, function):
    """[(bytes, count) of a function] of all profiles, those without it left out."""
    found = []
    for name, _ in names_of(processes(t, profile)):
        row = t.total(t.report(profile, "total", "--process", name), function)
        if row != (0, 0):
            found.append(row)
    return found


def check_family(t, profile, parents, children):
    t.equal("parent", counted(t, profile, "in_parent"), parents)
    t.equal("children", counted(t, profile, "in_child"), children)


# exec with an environment of its own

EXECS = ("execve", "null", "execle", "execvpe", "fexecve", "execveat", "execv", "execl", "execvp", "execlp")


@cases(how=EXECS)
def test_exec_without_our_variables(t, how):
    profile = t.record(t.build("executes.c", "-O1"), how, status=5)
    check_family(t, profile, [PARENT], [CHILD])
    t.equal("pids", len({p["pid"] for p in processes(t, profile)}), 1)
    t.equal("exit codes", [p["exit_code"] for p in processes(t, profile)], [None, 5])


@cases(how=("vfork", "posix_spawn", "posix_spawnp"))
def test_spawn_without_our_variables(t, how):
    profile = t.record(t.build("executes.c", "-O1"), how)
    check_family(t, profile, [(2000, 20)], [CHILD])
    parent, child = processes(t, profile)
    t.equal("child of", child["ppid"], parent["pid"])
    t.equal("exit codes", (parent["exit_code"], child["exit_code"]), (0, 5))


def test_exec_keeps_their_preload(t):
    """Theirs stays, ours is first; a list that has ours is not changed."""
    program = t.build("executes.c", "-O1")
    theirs = os.path.realpath("/lib/x86_64-linux-gnu/libm.so.6")
    t.record(program, "execve", "SHOW=1", "LD_PRELOAD=" + theirs, status=5)
    t.equal("LD_PRELOAD", t.stdout, t.library + ":" + theirs)
    both = theirs + " " + t.library
    profile = t.record(program, "execve", "SHOW=1", "LD_PRELOAD=" + both, status=5)
    t.equal("LD_PRELOAD with ours", t.stdout, both)
    check_family(t, profile, [PARENT], [CHILD])


def test_exec_of_another_session_is_left_to_it(t):
    """A recording inside a recording: the inner one records its program, the outer one the inner collector."""
    inner, program = t.file("inner.tide"), t.build("executes.c", "-O1")
    outer = t.record(t.tidemark, "run", "--quiet", "-o", inner, "--", program, "execve", status=5)
    t.equal("in the outer", counted(t, outer, "in_parent"), [])
    check_family(t, inner, [PARENT], [CHILD])


def test_exec_with_too_many_variables_still_runs(t):
    profile = t.record(t.build("executes.c", "-O1"), "many", status=5)
    check_family(t, profile, [PARENT], [])


def test_exec_that_fails_keeps_errno(t):
    t.record(t.build("executes.c", "-O1"), "errno")


def test_exec_when_not_recorded_changes_nothing(t):
    """Loaded without a session (the collector is gone, say): the environment is passed on as it is."""
    stdout, _, status = t.plain(t.build("executes.c", "-O1"), "execve", "SHOW=1", env={"LD_PRELOAD": t.library})
    t.equal("LD_PRELOAD, status", (stdout, status), ("", 5))


def test_only_reaches_through_programs_that_are_not_recorded(t):
    program = t.build("executes.c", "-O1")
    profile = t.record("sh", "-c", "env -i '%s' child; env -i sh -c \"'%s' child\"; exit 4" % (program, program),
                       opts=("--only", "execut"), status=4)
    t.equal("programs", [os.path.basename(p["command"][0]) for p in processes(t, profile)], ["executes"] * 2)
    check_family(t, profile, [], [CHILD, CHILD])


def script(t, name):
    """One that works for a while, with a loop of its own."""
    path = os.path.join(t.dir, name)
    with open(path, "w") as out:
        out.write("#!/bin/sh\ni=0; while [ $i -lt 300000 ]; do i=$((i + 1)); done\n")
    os.chmod(path, 0o755)
    return path


def calls(path):
    """A shell that runs the script, and a program by another name."""
    return ("bash", "-c", "'%s'; (exec -a renamed_by_caller sleep 0); true" % path)


@cases(opts=((), ("--only-cpu",)))
def test_only_by_the_name_of_a_script(t, opts):
    path = script(t, "chosen_by_its_long_name")
    for command in ((path,), calls(path)):
        profile = t.record(*command, opts=("--only", "by_its_long", *opts))
        report = t.report(profile, "cpu" if opts else "live")
        t.equal("processes of " + command[0], [p["command"] for p in report["processes"]], [["/bin/sh", path]])
        t.true("nothing is said to be missing: " + t.stderr, "could be seen" not in t.stderr and "nothing was recorded" not in t.stderr)


def test_only_by_the_name_it_was_called_by(t):
    profile = t.record(*calls(script(t, "another")), opts=("--only", "renamed_by_caller"))
    t.equal("processes", [p["command"] for p in processes(t, profile)], [["renamed_by_caller", "0"]])


@cases(how=("posix_spawn", "vfork"))
def test_no_follow_with_an_environment_of_its_own(t, how):
    profile = t.record(t.build("executes.c", "-O1"), how, opts=("--no-follow",))
    check_family(t, profile, [(2000, 20)], [])
    t.equal("processes", len(processes(t, profile)), 1)


def test_no_follow_follows_exec(t):
    """The program that becomes another one is not its own child."""
    profile = t.record(t.build("executes.c", "-O1"), "execve", opts=("--no-follow",), status=5)
    check_family(t, profile, [PARENT], [CHILD])


# fork and its kin

def test_forked_child_that_runs_for_long(t):
    profile = t.record(t.build("descendants.c", "-O1"), "long")
    t.equal("in the child", counted(t, profile, "at_length"), [(200000 * 64, 400000)])
    child = processes(t, profile)[1]["pid"]
    totals = t.report(profile, "live", "--process", str(child))["totals"]
    t.equal("child's live, lost", (totals["live_bytes"], totals["live_blocks"], totals["lost_events"]),
            (200000 * 16, 200000, 0))


def test_popen(t):
    profile = t.record(t.build("descendants.c", "-O1"), "popen")
    check_family(t, profile, [PARENT], [CHILD])


@cases(how=("daemon", "early"))
def test_daemon_outlives_its_parent(t, how):
    """`daemon` allocates nothing before the program is gone: it is waited for all the same."""
    profile = t.record(t.build("descendants.c", "-O1"), how, status=3)
    check_family(t, profile, [PARENT], [CHILD if how == "daemon" else (14000, 14)])
    parent, between, daemon = processes(t, profile)
    t.equal("exit codes", [p["exit_code"] for p in (parent, between, daemon)], [3, 0, 5])
    t.equal("who forked whom", (between["ppid"], daemon["ppid"]), (parent["pid"], between["pid"]))


def test_program_left_behind_is_waited_for(t):
    """The parent ends while its child is still being loaded, and has not been heard of."""
    profile = t.record(t.build("descendants.c", "-O1"), "spawn-and-leave", status=3)
    check_family(t, profile, [PARENT], [CHILD])


def test_change_of_directory(t):
    profile = t.record(t.build("descendants.c", "-O1"), "chdir", "/")
    check_family(t, profile, [PARENT], [CHILD, CHILD])


def reachable_tools(t, folder, mode):
    """Copies of tidemark, its library and the program where another user finds them, or not."""
    os.chmod(t.dir, 0o755)
    os.mkdir(folder)
    for path in (t.tidemark, t.library):
        shutil.copy(path, folder)
    os.chmod(folder, mode)
    program = shutil.copy(t.build("descendants.c", "-O1"), t.dir)
    t.tidemark = os.path.join(folder, "tidemark")
    return program


def test_change_of_user(t):
    if os.geteuid() != 0:
        return
    profile = t.record(reachable_tools(t, t.file("tools"), 0o755), "uid")
    t.equal("stderr", t.stderr, "")
    check_family(t, profile, [PARENT], [CHILD, CHILD])


def test_change_of_user_who_cannot_read_the_library(t):
    """What is executed cannot be recorded, but runs, and nothing is printed."""
    if os.geteuid() != 0:
        return
    profile = t.record(reachable_tools(t, t.file("tools"), 0o700), "uid")
    t.equal("stderr", t.stderr, "")
    check_family(t, profile, [PARENT], [CHILD])


def test_ordinary_user(t):
    """What /proc and pidfds tell root they tell everybody of their own processes."""
    if os.geteuid() != 0:
        return  # the other tests are this one
    program, out = reachable_tools(t, t.file("tools"), 0o755), t.file("out")
    os.mkdir(out)
    os.chmod(out, 0o777)
    profile = os.path.join(out, "p.tide")
    t.plain(*AS_NOBODY, t.tidemark, "run", "--quiet", "-o", profile,
            "--", program, "daemon")
    t.equal("status", t.status, 3)
    check_family(t, profile, [PARENT], [CHILD])
    t.equal("exit codes", [p["exit_code"] for p in processes(t, profile)], [3, 0, 5])


def test_change_of_root(t):
    """No library in there: the forked child is recorded, the executed program runs as always, and a note names it."""
    if os.geteuid() != 0:
        return
    program, root = t.build("descendants.c", "-O1"), t.file("root")
    os.mkdir(root)
    shutil.copy(program, os.path.join(root, "descendants"))
    listed = subprocess.run(["ldd", program], stdout=subprocess.PIPE, text=True, check=True).stdout
    for path in [word for word in listed.split() if word.startswith("/")]:
        os.makedirs(root + os.path.dirname(path), exist_ok=True)
        shutil.copy(path, root + path)
    profile = t.record(program, "chroot", root)
    t.equal("stderr", t.stderr, "")
    check_family(t, profile, [PARENT], [CHILD])
    t.equal("exit codes", sorted(p["exit_code"] for p in processes(t, profile)), [0, 5])
    notes = [note for note in t.report(profile)["notes"] if "library cannot be read there" in note]
    t.equal("notes", ["/descendants, " in note for note in notes], [True])


# the tree

def test_tree_of_processes(t):
    """sh, its child sh, and that one's child: pid and ppid of each as they were."""
    program = t.build("executes.c", "-O1")
    script = "echo $$; sh -c 'echo $$; \"%s\" child; exit 6'; exit 7" % program
    profile = t.record("sh", "-c", script, status=7)
    outer, inner = (int(pid) for pid in t.stdout.split())
    last = {}
    for p in processes(t, profile):
        last[p["pid"]] = p
    t.equal("first", processes(t, profile)[0]["pid"], outer)
    t.equal("inner's parent, exit code", (last[inner]["ppid"], last[inner]["exit_code"]), (outer, 6))
    leaves = [p for p in last.values() if os.path.basename(p["command"][0]) == "executes"]
    t.equal("leaf's parent, exit code", [(p["ppid"], p["exit_code"]) for p in leaves], [(inner, 5)])
    t.equal("outer's exit code", last[outer]["exit_code"], 7)
    t.equal("how many", len(last), 3)


def test_many_commands(t):
    program = t.build("executes.c", "-O1")
    profile = t.record("sh", "-c", "i=0; while [ $i -lt 300 ]; do '%s' child; i=$((i + 1)); done" % program)
    ends = [p["exit_code"] for p in processes(t, profile) if os.path.basename(p["command"][0]) == "executes"]
    t.equal("exit codes", ends, [5] * 300)


# Python's own

@cases(method=("fork", "spawn", "forkserver"))
def test_python_multiprocessing(t, method):
    """Blocks allocated through ctypes come from libffi, and nothing else does."""
    profile = t.record(PYTHON, os.path.join(PROGRAMS, "workers.py"), method)
    t.equal("what it says", t.stdout.strip(), "[10, 20, 30]")
    found, pid_of = [], {}
    everybody = list(names_of(processes(t, profile)))
    for name, p in everybody:
        rows = t.report(profile, "total", "--by", "library", "--process", name)["rows"]
        for row in rows:
            if row["name"].startswith("libffi"):
                found.append((row["self_count"], row["self_bytes"], p["exit_code"]))
                pid_of[p["exit_code"]] = p
    t.equal("workers", sorted(found), [(n, n * (1000000 + n), n) for n in (10, 20, 30)])
    main = everybody[0][1]["pid"]
    parents = {p["ppid"] for p in pid_of.values()}
    t.equal("parents", len(parents), 1)
    if method == "forkserver":
        servers = [p for _, p in everybody if p["pid"] in parents]
        t.equal("the server's parent", {p["ppid"] for p in servers}, {main})
    else:
        t.equal("parent", parents, {main})
