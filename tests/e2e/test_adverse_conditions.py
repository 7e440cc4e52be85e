"""Disks full, limits reached, processes stopped, calls forbidden: the program does what it does without us, and
what was recorded is exact, or what is missing is said."""
import atexit
import glob
import json
import os
import resource
import shutil
import signal
import stat
import subprocess
import time

from harness import Failed, cases, eventually, memory_group
from unprivileged import AS_NOBODY, NOBODY, give_to_nobody


def known(t):
    """A program that allocates 1,000 blocks of 64 bytes in before_end and ends with 7."""
    return (t.build("late_ends.c", "-O1"), "_Exit")


def record(t, before, *argv, opts=(), env=None, status=7, quiet=True):
    """Records with a command line put before tidemark's; returns the profile's path."""
    t.recorded += 1
    profile = t.file("%d.tide" % t.recorded)
    t.plain(*before, t.tidemark, "run", *(["--quiet"] if quiet else []), "-o", profile, *opts, "--", *argv, env=env)
    t.equal("exit status", t.status, status)
    if not os.path.exists(profile):
        raise Failed("no profile was written; stderr: " + t.stderr.strip()[:500])
    return profile


def exact(t, profile):
    report = t.report(profile)
    totals = report["totals"]
    t.equal("complete", report["complete"], True)
    t.equal("allocations, lost, unknown", [totals[k] for k in ("allocations", "lost_events", "unknown_frees")], [1000, 0, 0])
    t.equal("before_end", t.total(report, "before_end"), (64000, 1000))


def one_line(t, *words):
    t.equal("lines on stderr", len(t.stderr.splitlines()), 1)
    for word in words:
        t.true("stderr says '%s'" % word, word in t.stderr, t.stderr)


def as_root():
    """Mounts, other users: what the machine permits to root alone. Without, there is nothing to try."""
    return os.geteuid() == 0


# Where the recording goes

def saved_elsewhere(t, folder, why="cannot write"):
    """The recording could not be where it should; it is in $TMPDIR, and one line says so."""
    one_line(t, why, "saved as")
    found = glob.glob(os.path.join(folder, "*"))
    t.equal("files in TMPDIR", len(found), 1)
    if found:
        t.true("the line names it", found[0] in t.stderr, t.stderr)
        t.equal("mode", oct(stat.S_IMODE(os.stat(found[0]).st_mode)), "0o600")
        exact(t, found[0])


def spare_folder(t):
    os.mkdir(t.file("spare"))
    return t.file("spare")


def test_full_device(t):
    spare = spare_folder(t)
    t.run("run", "--quiet", "-o", "/dev/full", "--", *known(t), env={"TMPDIR": spare})
    t.equal("the program's status", t.status, 7)
    saved_elsewhere(t, spare)
    t.true("/dev/full is what it was", stat.S_ISCHR(os.stat("/dev/full").st_mode))


DID_NOT_TAKE = {"exit 3": "(status 3)", "cat >/dev/full": "(status 1)", "kill -9 $$": "(killed by signal 9)",
                "no-such-command": "(status 127)", "long": "(status 4)"}


@cases(command=tuple(DID_NOT_TAKE))
def test_command_that_does_not_take_it(t, command):
    """The recording is saved as if a file could not be written."""
    spare = spare_folder(t)
    line = "exec 2>&-; " + ("true %s; exit 4" % (400 * "x") if command == "long" else command)
    t.run("run", "--quiet", "-o", "|" + line, "--", *known(t), env={"TMPDIR": spare})
    t.equal("the program's status", t.status, 7)
    saved_elsewhere(t, spare, "did not take the recording " + DID_NOT_TAKE[command])


def test_full_disk(t):
    if not as_root():
        return
    spare = spare_folder(t)
    os.mkdir(t.file("disk"))
    script = 'mount -t tmpfs -o size=4k none disk && head -c 4096 /dev/zero >disk/full && exec "$@"'
    t.plain("unshare", "-m", "sh", "-c", script, "sh", t.tidemark, "run", "--quiet", "-o", "disk/x.tide", "--",
            *known(t), env={"TMPDIR": spare})
    t.equal("the program's status", t.status, 7)
    saved_elsewhere(t, spare)


def test_disk_with_room_for_one_recording(t):
    """The checkpoint is there, and the recording has room in its place only: it takes that."""
    if not as_root():
        return
    os.mkdir(t.file("disk"))
    script = ("/usr/bin/python3 -I -c pass; %s; status=$?; rm -f disk/x.tide; while [ ! -s disk/x.tide ]; do :; done; "
              "cat /dev/zero >disk/fill 2>disk/said; truncate -s -%d disk/fill; exit $status")
    mount = 'mount -t tmpfs -o size=4m none disk && "$@"; status=$?; cp disk/x.tide kept; exit $status'
    sizes = []
    for room in (4 << 20, None):
        if room is None:
            room = sizes[0] // 2  # not enough for another file beside the checkpoint
        t.plain("unshare", "-m", "sh", "-c", mount, "sh", t.tidemark, "run", "--quiet", "-o", "disk/x.tide", "--", "sh", "-c",
                script % (" ".join(known(t)), room), env={"TMPDIR": t.file("no-such-folder")})
        t.equal("the program's status, stderr", (t.status, t.stderr), (7, ""))
        report = t.report(t.file("kept"))
        pid = [p["pid"] for p in report["processes"] if p["command"][-1:] == ["_Exit"]]
        t.equal("complete, processes of the program", (report["complete"], len(pid)), (True, 1))
        if pid:
            t.equal("before_end", t.total(t.report(t.file("kept"), "live", "--process", str(pid[0])), "before_end"), (64000, 1000))
        sizes.append(os.path.getsize(t.file("kept")))


def test_nowhere_to_write(t):
    """The status is the program's all the same."""
    t.run("run", "--quiet", "-o", "/dev/full", "--", "/bin/true", env={"TMPDIR": t.file("no-such-folder")})
    t.equal("status", t.status, 0)
    one_line(t, "/dev/full", "No space left", "nor could it be saved")


@cases(where=("/dev/full", "|cat >/dev/full"))
def test_summary_of_a_recording_that_is_nowhere(t, where):
    """It has the figures, and no name of a file that is not there."""
    t.run("run", "-o", where, "--", *known(t), env={"TMPDIR": t.file("no-such-folder")})
    t.equal("status", t.status, 7)
    t.true("figures", "never freed" in t.stderr, t.stderr)
    for words in ("written to", "passed to", "next:", "tidemark leaks"):
        t.true("no " + words, words not in t.stderr, t.stderr)


def test_device_is_written_to_and_not_replaced(t):
    t.run("run", "--quiet", "-o", "/dev/null", "--", *known(t))
    t.equal("status, stderr", (t.status, t.stderr), (7, ""))
    t.true("/dev/null is what it was", stat.S_ISCHR(os.stat("/dev/null").st_mode))
    done = subprocess.run([t.tidemark, "run", "--quiet", "-o", "/dev/stdout", "--", *known(t)], stdout=subprocess.PIPE)
    with open(t.file("piped.tide"), "wb") as out:
        out.write(done.stdout)
    exact(t, t.file("piped.tide"))


@cases(what=("directory", "pipe"))
def test_name_is_taken_by_something_else(t, what):
    (os.mkdir if what == "directory" else os.mkfifo)(t.file("taken"))
    t.run("run", "--quiet", "-o", t.file("taken"), "--", "/usr/bin/touch", t.file("ran"))
    t.equal("status", t.status, 125)
    one_line(t, "taken", "a directory" if what == "directory" else "not a regular file")
    t.equal("the program did not run", os.path.exists(t.file("ran")), False)


@cases(how=("removed", "read-only"))
def test_output_directory_during_the_run(t, how):
    if how == "read-only" and not as_root():
        return
    spare = spare_folder(t)
    os.mkdir(t.file("out"))
    program = " ".join(known(t))
    inside = "rmdir out" if how == "removed" else "mount -o remount,ro out"
    before = () if how == "removed" else ("unshare", "-m", "sh", "-c", 'mount -t tmpfs none out && exec "$@"', "sh")
    t.plain(*before, t.tidemark, "run", "--quiet", "--only", "late_ends", "-o", "out/x.tide", "--", "sh", "-c",
            "%s && exec %s" % (inside, program), env={"TMPDIR": spare})
    t.equal("the program's status", t.status, 7)
    saved_elsewhere(t, spare)


def test_file_size_limit(t):
    """Shared memory counts as a file: a soft limit is the program's alone, a hard one is said before it runs."""
    exact(t, record(t, ("prlimit", "--fsize=1000:unlimited"), *known(t)))
    exact(t, record(t, ("prlimit", "--fsize=33554432"), *known(t)))
    t.plain("prlimit", "--fsize=1000", t.tidemark, "run", "--quiet", "-o", t.file("x.tide"), "--", *known(t))
    t.equal("status", t.status, 125)
    one_line(t, "ulimit -f")


# Limits

@cases(limit=("as=268435456", "data=67108864", "stack=65536:unlimited", "stack=262144", "memlock=0", "nofile=16"))
def test_small_limits(t, limit):
    exact(t, record(t, ("prlimit", "--" + limit), *known(t)))


def test_limit_on_processor_time(t):
    """A soft one is for each process. The collector may need more than the program: if it died, so would the recording."""
    record(t, ("prlimit", "--cpu=1000:2000"), "/bin/sh", "-c", 'grep "cpu time" /proc/$PPID/limits; ulimit -S -t', status=0)
    t.equal("limits of the collector and of the program", t.stdout.split()[3:5] + t.stdout.split()[-1:], ["2000", "2000", "1000"])


def test_what_the_program_inherits(t):
    """The collector's own limits and ignored signals are not handed on; those of its parent are."""
    program = t.build("process_state.c", "-O1")
    before = ("prlimit", "--nofile=50:100", "--fsize=1000000:unlimited", "--stack=1000000:2000000", "--as=4000000000:8000000000",
              "env", "--ignore-signal=PIPE,INT,XFSZ", "--block-signal=USR1")
    want = t.plain(*before, program)
    record(t, before, program, status=0)
    t.equal("output", t.stdout, want[0])
    t.true("limits are those set", "32 64" in t.stdout, t.stdout)


def test_no_more_processes(t):
    """No thread for the collector: names are found all the same."""
    if not as_root():
        return
    os.chown(t.dir, NOBODY, NOBODY)
    exact(t, record(t, (*AS_NOBODY, "prlimit", "--nproc=2"), *known(t)))
    t.plain(*AS_NOBODY, "prlimit", "--nproc=1", t.tidemark, "run", "--quiet", "-o", t.file("x.tide"), "--", *known(t))
    t.equal("status", t.status, 125)
    one_line(t, "cannot start a process")


@cases(limit=("30:100", "30:30"))
def test_program_without_descriptors(t, limit):
    """Below the hard limit there is a way; else what could not be recorded is counted: 16 of 19 threads have a ring."""
    profile = record(t, ("prlimit", "--nofile=" + limit), t.build("crowded.c", "-O1"), "descriptors", status=0)
    report = t.report(profile)
    whole = limit == "30:100"
    t.equal("before", t.total(report, "before"), (64000, 1000))
    t.equal("in_threads", t.total(report, "in_threads"), (32 * 1800, 1800) if whole else (32 * 1500, 1500))
    t.equal("lost", report["totals"]["lost_events"], 0 if whole else 300)
    t.equal("processes", len(report["processes"]), 2 if whole else 1)
    t.equal("notes", [n for n in report["notes"] if n.startswith("1 child process was not recorded")] != [], not whole)


def test_collector_without_descriptors(t):
    """More children at once than it has descriptors for: all run and all are recorded."""
    profile = record(t, ("prlimit", "--nofile=40"), t.build("crowded.c", "-O1"), "children", "60", status=0)
    report = t.report(profile)
    children = [p for p in report["processes"] if p["pid"] != report["pid"]]
    t.equal("children", len(children), 60)
    t.equal("their parent", {p["ppid"] for p in children}, {report["pid"]})
    for child in (children[0], children[30], children[59]):
        each = t.report(profile, "live", "--process", str(child["pid"]))
        t.equal("allocations of one", t.total(each, "in_child"), (320, 20))


def test_small_memory_cgroup(t):
    """Rings and stacks that the program touches are charged to it: they must fit beside a small program."""
    with memory_group(t, 24 << 20) as group:
        if group:
            enter = 'echo $$ >%s/cgroup.procs && exec "$@"' % group
            profile = record(t, (), "sh", "-c", enter, "sh", t.build("handover.c", "-O1"), "8", opts=("--only", "handover"), status=0)
            t.equal("give", t.total(t.report(profile, "total"), "give"), (43378560, 160000))


def test_collector_that_cannot_even_answer(t):
    """All its descriptors are gone when a process asks: that one is sent away, runs, and is counted."""
    profile, script = t.file("p.tide"), "touch ready; until [ -e go ]; do sleep 0.01; done; exec %s" % t.build("pairs.c", "-O1")
    tool = subprocess.Popen([t.tidemark, "run", "--quiet", "-o", profile, "--only", "pairs", "--", "sh", "-c", script], cwd=t.dir)
    eventually("the script runs", lambda: os.path.exists(t.file("ready")))
    used = sorted(map(int, os.listdir("/proc/%d/fd" % tool.pid)))
    t.equal("no gap", used, list(range(len(used))))
    resource.prlimit(tool.pid, resource.RLIMIT_NOFILE, (len(used), 100))
    opened(t)
    t.equal("exit status", tool.wait(), 7)
    notes = t.report(profile)["notes"]
    t.true("a note", "nothing was recorded of sh: the collector had no file descriptor" in notes[0], notes)


# Processes that stand still

def start(t, *options, before=()):
    """pairs.c recorded in a process group of its own, waiting for opened(); returns (tidemark, the program's pid, profile)."""
    profile = t.file("p.tide")
    command = [*before, t.tidemark, "run", "--quiet", "-o", profile, *options, "--", t.build("pairs.c", "-O1"), "ready", "go"]
    tool = subprocess.Popen(command, cwd=t.dir, process_group=0)
    atexit.register(end_group, tool)
    eventually("the program runs", lambda: os.path.exists(t.file("ready")))
    with open("/proc/%d/task/%d/children" % (tool.pid, tool.pid)) as children:
        return tool, int(children.read().split()[0]), profile


def end_group(tool):
    """A test that failed leaves nothing behind. Not waited for yet, it keeps its number and its group."""
    if tool.poll() is None:
        os.killpg(tool.pid, signal.SIGKILL)


def opened(t):
    with open(t.file("go"), "w"):
        pass


def state(pid):
    try:
        with open("/proc/%d/stat" % pid) as text:
            return text.read().rsplit(")", 1)[1].split()[0]
    except OSError:
        return None


def stop(pid, how=signal.SIGSTOP):
    os.kill(pid, how)
    eventually("it stops", lambda: state(pid) == "T")


def whole(t, tool, profile):
    t.equal("exit status", tool.wait(), 7)
    totals = t.consistent(profile)
    t.equal("allocations, frees", (totals["allocations"], totals["frees"]), (401000, 400000))
    t.equal("stay", t.total(t.report(profile), "stay"), (64000, 1000))


def test_collector_stopped_and_the_program_waits(t):
    """At its end alone, where the collector looks at what it leaves."""
    tool, pid, profile = start(t)
    stop(tool.pid)
    opened(t)
    time.sleep(2)  # more than it would need
    t.true("the program waits", state(pid) in ("S", "R", "D"), state(pid))
    os.kill(tool.pid, signal.SIGCONT)
    whole(t, tool, profile)


@cases(how=("once", "again and again"))
def test_collector_stopped_and_nothing_is_lost(t, how):
    """Nobody reads until the program ends, or now and then. It counts itself, so all of it is recorded."""
    tool, pid, profile = start(t, "--on-full=drop")
    stop(tool.pid)
    opened(t)
    while how != "once" and state(pid) not in ("Z", None):
        os.kill(tool.pid, signal.SIGCONT)
        time.sleep(0.001)
        os.kill(tool.pid, signal.SIGSTOP)
        time.sleep(0.003)
    eventually("the program ends", lambda: state(pid) in ("Z", None))
    os.kill(tool.pid, signal.SIGCONT)
    t.equal("exit status", tool.wait(), 7)
    totals = t.report(profile)["totals"]
    t.equal("allocations, frees", (totals["allocations"], totals["frees"]), (401000, 400000))
    t.equal("lost, unknown", (totals["lost_events"], totals["unknown_frees"]), (0, 0))


def test_collector_stopped_and_a_child_begins(t):
    """It would wait for an answer for ever. With --on-full=drop it runs, unrecorded, and a note says so."""
    profile = record(t, (), "sh", "-c", 'kill -STOP $PPID; "$0" child; echo $?; kill -CONT $PPID', t.build("executes.c", "-O1"),
                     opts=("--on-full=drop",), status=0)
    t.equal("the child's status", t.stdout, "5\n")
    report = t.report(profile)
    t.equal("recorded", [p["command"][0] for p in report["processes"]], ["sh"])
    t.true("a note", any("1 process was not recorded" in n and "--on-full=drop" in n for n in report["notes"]), report["notes"])


@cases(how=("STOP", "TSTP"))
def test_program_stopped_and_continued(t, how):
    tool, pid, profile = start(t)
    stop(pid, getattr(signal, "SIG" + how))
    time.sleep(0.3)
    t.true("the collector goes on", state(tool.pid) in ("S", "R", "D"), state(tool.pid))
    opened(t)
    os.kill(pid, signal.SIGCONT)
    whole(t, tool, profile)


def test_both_stopped_from_the_terminal(t):
    """Ctrl-Z goes to the whole process group, and so does what `fg` sends."""
    tool, pid, profile = start(t)
    os.killpg(tool.pid, signal.SIGTSTP)
    eventually("both stop", lambda: state(pid) == "T" and state(tool.pid) == "T")
    opened(t)
    os.killpg(tool.pid, signal.SIGCONT)
    whole(t, tool, profile)


def test_wall_clock_goes_back(t):
    """Only the moment of the start is from the wall clock; times of the run are from the monotonic one."""
    jumps = t.build("clock_jumps.c", "-O1", shared=True)
    begin = time.monotonic_ns()
    profile = record(t, (), *known(t), env={"LD_PRELOAD": jumps})
    report = t.report(profile)
    exact(t, profile)
    t.true("a duration that can be", 0 < report["duration_ns"] < time.monotonic_ns() - begin, report["duration_ns"])


# Surroundings

def test_no_shared_memory_directory(t):
    if not as_root():
        return
    hide = 'mount -t tmpfs -o ro,mode=000 none /dev/shm && exec "$@"'
    exact(t, record(t, ("unshare", "-m", "sh", "-c", hide, "sh"), *known(t)))


def test_program_that_nobody_may_read(t):
    """Its child has allocated nothing when the program ends, and its environment cannot be read: it is waited for all the same."""
    if not as_root():
        return
    os.chown(t.dir, NOBODY, NOBODY)
    profile = record(t, AS_NOBODY, t.build("undumpable.c", "-O1"))
    report = t.report(profile)
    t.equal("before", t.total(report, "before"), (64000, 1000))
    t.equal("processes", len(report["processes"]), 2)
    child = report["processes"][-1]["pid"]
    t.equal("in_child", t.total(t.report(profile, "live", "--process", str(child)), "in_child"), (16000, 500))


def test_no_proc(t):
    """In a chroot, say: one line says so, before the program runs."""
    if not as_root():
        return
    hide = 'mount -t tmpfs none /proc && exec "$@"'
    t.plain("unshare", "-m", "sh", "-c", hide, "sh", t.tidemark, "run", "-o", t.file("x.tide"), "--", "/usr/bin/touch", t.file("ran"))
    t.equal("status", t.status, 125)
    one_line(t, "/proc is not mounted")
    t.equal("the program did not run", os.path.exists(t.file("ran")), False)


def test_another_user(t):
    """No ptrace rights, no home, no temporary directory; the profile is theirs alone."""
    if not as_root():
        return
    os.chown(t.dir, NOBODY, NOBODY)
    before = (*AS_NOBODY, "--bounding-set=-all",
              "--no-new-privs", "env", "-u", "HOME", "TMPDIR=/no/such/folder")
    profile = record(t, before, *known(t))
    exact(t, profile)
    found = os.stat(profile)
    t.equal("owner and mode", (found.st_uid, oct(stat.S_IMODE(found.st_mode))), (NOBODY, "0o600"))


@cases(closed=("0<&-", "1>&-", "2>&-", "0<&- 1>&- 2>&-"))
def test_closed_streams(t, closed):
    """Neither the program nor the collector finds something of ours where a closed stream was."""
    program, plain, seen = t.build("descriptors.c", "-O1"), t.file("plain"), t.file("seen")
    t.equal("plain status", t.plain("sh", "-c", 'exec "$@" %s' % closed, "sh", program, plain)[2], 0)
    profile = record(t, ("sh", "-c", 'exec "$@" %s' % closed, "sh"), program, seen, status=0, quiet=False)
    with open(plain) as a, open(seen) as b:
        t.equal("open descriptors", b.read(), a.read())
    t.equal("allocations", t.report(profile)["totals"]["allocations"], 1)


def test_collector_puts_nothing_where_closed_streams_were(t):
    tool, _, profile = start(t, before=("sh", "-c", 'exec "$@" 0<&- 1>&- 2>&-', "sh"))
    t.equal("its streams", {os.readlink("/proc/%d/fd/%d" % (tool.pid, fd)) for fd in range(3)}, {"/dev/null"})
    opened(t)
    whole(t, tool, profile)


def test_long_command_line_and_environment(t):
    words = ["w%d-%s" % (i, "x" * 1000) for i in range(900)]
    env = {"LONG_%d" % i: "y" * 100000 for i in range(5)}
    profile = record(t, (), *known(t), *words, env=env)
    exact(t, profile)
    t.equal("command", t.report(profile)["command"][1:], ["_Exit", *words])


def test_name_with_odd_characters(t):
    folder = os.fsencode(t.dir)
    odd = os.path.join(folder, b'odd "name"\n\x01\xff\xc3\\')
    shutil.copy(known(t)[0], odd)
    t.recorded += 1
    subprocess.run([t.tidemark, "run", "--quiet", "--", odd, b"_Exit", b"\xfe\n"], cwd=t.dir)
    written = [name for name in os.listdir(folder) if name.endswith(b".tide")]
    t.equal("files", len(written), 1)
    shutil.move(os.path.join(folder, written[0]), t.file("p.tide"))
    for by in ("function", "stack", "thread", "library"):
        done = subprocess.run([t.tidemark, "report", t.file("p.tide"), "--by", by, "--json"], stdout=subprocess.PIPE)
        report = json.loads(done.stdout.decode("utf-8", "strict"))
    t.equal("command", report["command"][1:], ["_Exit", "\ufffd\n"])
    exact(t, t.file("p.tide"))


# System calls that are forbidden

OURS = ("socket", "connect", "sendmsg", "recvmsg", "memfd_create", "nanosleep", "sched_yield", "gettid", "getpid", "tgkill",
        "prctl", "getcwd", "readlink", "prlimit64", "shared_mmap", "other_advice")


@cases(action=("errno", "kill"), calls=(("memfd_create", "socket", "connect", "shared_mmap"), OURS))
def test_filter_installed_by_the_program(t, action, calls):
    """After it we make no call that it could forbid. Four threads have a ring; what others do is counted as lost."""
    profile = record(t, (), t.build("filtered.c", "-O1"), action, "now", *calls, status=4)
    report = t.report(profile)
    t.equal("before_filter", t.total(report, "before_filter"), (64000, 1000))
    t.equal("in_first_thread", t.total(t.report(profile, "total"), "in_first_thread"), (48 * 300000, 300000))
    t.equal("in_threads", t.total(report, "in_threads"), (32 * 300, 300))
    t.equal("lost", report["totals"]["lost_events"], 300)
    t.true("a note", any("1 child process was not recorded" in n for n in report["notes"]), report["notes"])


@cases(action=("errno", "kill"))
def test_filter_installed_by_a_forked_child(t, action):
    """It has not allocated yet: it connects before the filter forbids that, and its parent's recording stays as it was."""
    profile = record(t, (), t.build("filtered.c", "-O1"), action, "child", *OURS, status=4)
    parent, child = (str(p["pid"]) for p in t.report(profile)["processes"])
    t.equal("parent", t.total(t.report(profile, "live", "--process", parent), "before_filter"), (64000, 1000))
    t.equal("child", t.total(t.report(profile, "live", "--process", child), "in_child"), (800, 50))
    t.equal("lost", [t.report(profile, "live", "--process", p)["totals"]["lost_events"] for p in (parent, child)], [0, 0])


def test_filter_in_a_program_that_locks_its_memory(t):
    """Before a filter is installed, addresses are set aside for stacks. They do not become memory because all is locked."""
    record(t, (), t.build("locked.c", "-O1"), status=0)
    t.equal("16 MiB of shared memory more", t.stdout, "0\n")


def locked(t, how, *command):
    """What mlockall said, what of the program's two mappings is resident, and how many MiB more all of it is."""
    t.plain(*how, *command)
    *said, more = t.stdout.split()
    return said, int(more)


@cases(flags=(1, 2, 3, 5, 6, 7, 4, 8))
def test_memory_that_is_locked(t, flags):
    """mlockall locks the program's memory, and makes it resident, but not the addresses that we have set aside."""
    command = (t.build("locks_all.c", "-O1", "-pthread"), str(flags))
    said, more = locked(t, (), *command)
    ours, most = locked(t, (t.tidemark, "run", "--quiet", "-o", t.file("x.tide"), "--"), *command)
    t.equal("as without us", ours, said)
    t.true("16 MiB more at most", most <= more + 16, (more, most))


def test_limit_on_locked_memory(t):
    """What we have set aside does not count."""
    if not as_root():
        return
    tidemark = give_to_nobody(t)
    how = ("prlimit", "--memlock=%d" % (8 << 20), *AS_NOBODY)
    command = (t.build("locks_all.c", "-O1", "-pthread"), "1")
    said = locked(t, how, *command)[0]
    t.equal("plain", said[0], "locked")
    t.equal("recorded", locked(t, (*how, tidemark, "run", "--quiet", "-o", "/dev/null", "--"), *command)[0], said)


@cases(action=("errno", "kill"), calls=(("socket", "connect"), OURS[:-4]))
def test_filter_inherited_by_the_program(t, action, calls):
    """Installed by who starts it: it runs as without us, unrecorded, and the report says so."""
    profile = record(t, (), t.build("filtered.c", "-O1"), action, "other", *calls, "--", t.build("lingers.c", "-O1"), status=17)
    report = t.report(profile)
    t.equal("before_filter", t.total(report, "before_filter"), (64000, 1000))
    t.true("a note", any("seccomp filter" in n for n in report["notes"]), report["notes"])


@cases(call=("memfd_create", "socket"))
def test_collector_under_a_filter(t, call):
    """What it cannot do without: one line, and the program is not started."""
    t.plain(t.build("filtered.c", "-O1"), "errno", "other", call, "--", t.tidemark, "run", "--quiet", "-o", t.file("x.tide"),
            "--", "/usr/bin/touch", t.file("ran"))
    t.equal("status", t.status, 125)
    one_line(t, "memfd_create" if call == "memfd_create" else "socket")
    t.equal("the program did not run", os.path.exists(t.file("ran")), False)


def test_everything_under_a_filter(t):
    """As in a container: a filter that collector and program are under alike forbids no recording."""
    exact(t, record(t, (t.build("filtered.c", "-O1"), "errno", "other", "getcwd", "--"), *known(t)))


def test_exec_with_its_own_environment_under_a_filter(t):
    """What is handed on says that the filter is the collector's too: the child is recorded."""
    before = (t.build("filtered.c", "-O1"), "errno", "other", "getcwd", "--")
    profile = record(t, before, t.build("executes.c", "-O1"), "execve", status=5)
    pid = t.report(profile)["pid"]
    t.equal("after exec", t.total(t.report(profile, "total", "--process", "%d#2" % pid), "in_child"), (7000, 7))
