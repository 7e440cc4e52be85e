"""Snapshots, and what is asked of a running recording from outside."""
import os
import re
import select
import signal
import socket
import subprocess

from harness import ROOT, cases, eventually

API = ("-I", os.path.join(ROOT, "include"))


class Running:
    """tests/programs/snapshots.c under tidemark, at the point where it waits."""

    count = 0

    def __init__(self, t, pattern, *options):
        Running.count += 1
        self.t, self.go, self.profile = t, t.file("go.%d" % Running.count), t.file("p.tide")
        self.tool = subprocess.Popen([t.tidemark, "run", "--quiet", "-o", self.profile, *options, "--",
                                      t.build("snapshots.c", "-O1", *API), pattern, self.go],
                                     stdout=subprocess.PIPE, cwd=t.dir)
        t.equal("it is ready", self.tool.stdout.readline(), b"ready\n")

    def ctl(self, *words, pid=None, status=0):
        stdout, stderr, got = self.t.run("ctl", str(pid or self.tool.pid), *words)
        self.t.equal("status of ctl %s (%s)" % (" ".join(words), stderr), got, status)
        return stdout

    def end(self):
        open(self.go, "w").close()
        self.t.equal("exit status", self.tool.wait(), 0)
        return self.profile


def hundreds(t, profile, *moments):
    return t.row(t.report(profile, "total", *moments), "hundred")["self_count"]


def wait_for(path):
    eventually(path + " is written", lambda: os.path.exists(path))
    return path


def test_snapshots_from_the_program(t):
    run = Running(t, t.file("s.%I.tide"))
    profile = run.end()
    for number in (1, 2):
        snapshot = t.file("s.%d.tide" % number)
        t.equal("blocks in snapshot %d" % number, hundreds(t, snapshot), 100 * number)
        t.equal("and at that moment of the whole", hundreds(t, profile, "--at", "snapshot#%d" % number), 100 * number)
        report = t.report(snapshot)
        t.equal("not the end of the process", report["complete"], False)
    t.equal("the whole", hundreds(t, profile), 300)


def test_snapshots_through_a_command(t):
    run = Running(t, "|cat > " + t.file("piped.%I"))
    run.end()
    t.equal("the second", hundreds(t, t.file("piped.2")), 200)


def test_packed_snapshots_are_read_as_they_are(t):
    run = Running(t, "|gzip -9c > " + t.file("x.%I.tide.gz"))
    run.end()
    t.equal("the second", hundreds(t, t.file("x.2.tide.gz")), 200)


def test_snapshots_from_outside(t):
    run = Running(t, t.file("s.%I.tide"))
    run.ctl("snapshot", t.file("third.%I.tide"))
    run.ctl("snapshot")
    t.equal("the third", hundreds(t, wait_for(t.file("third.3.tide"))), 200)
    t.equal("the fourth, named after the recording", hundreds(t, wait_for(t.file("p.snapshot4.tide"))), 200)
    t.true("status", "snapshots 4" in run.ctl("status"))
    t.equal("all", hundreds(t, run.end(), "--at", "snapshot#4"), 200)


def test_status_has_the_figures_of_this_moment(t):
    run = Running(t, t.file("s.%I.tide"))
    t.equal("200 blocks of 10 bytes, none freed", run.ctl("status").splitlines()[2], "live 2.0 KiB, peak 2.0 KiB, 200 events")
    run.end()


def test_snapshot_is_there_when_ctl_has_said_so(t):
    """Also through a command; a name is one of the folder of who asks, which is not a pattern."""
    run = Running(t, t.file("s.%I.tide"))
    os.mkdir(t.file("100%p here"))
    for words in (t.file("third.tide"), "fourth.tide", "|cat > " + t.file("fifth.tide")):
        subprocess.run([t.tidemark, "ctl", str(run.tool.pid), "snapshot", words], cwd=t.file("100%p here"), stdout=subprocess.PIPE,
                       check=True)
    for name in ("third.tide", "100%p here/fourth.tide", "fifth.tide"):
        t.equal(name, hundreds(t, t.file(name)), 200)
    run.ctl("snapshot", "|exit 3", status=1)
    run.end()


@cases(which=("program", "collector"))
def test_marks_from_outside(t, which):
    run = Running(t, t.file("s.%I.tide"))
    with open("/proc/%d/task/%d/children" % (run.tool.pid, run.tool.pid)) as children:
        program = int(children.read().split()[0])
    run.ctl("mark", "by hand", pid=program if which == "program" else None)
    profile = run.end()
    t.equal("blocks at the mark", hundreds(t, profile, "--at", "by hand#1"), 200)
    t.equal("and since", hundreds(t, profile, "--since", "by hand"), 100)


def test_pause_from_outside(t):
    run = Running(t, t.file("s.%I.tide"))
    run.ctl("pause")
    t.true("status says so", "paused" in run.ctl("status"))
    t.equal("blocks", hundreds(t, run.end()), 200)
    again = Running(t, t.file("again.%I.tide"))
    again.ctl("pause")
    again.ctl("resume")
    t.equal("blocks after resuming", hundreds(t, again.end()), 300)


def test_started_paused(t):
    run = Running(t, t.file("s.%I.tide"), "--paused")
    run.ctl("resume")
    profile = run.end()
    t.equal("blocks", hundreds(t, profile), 100)
    t.true("a note", any("paused" in note for note in t.report(profile)["notes"]))
    never = t.report(t.record(t.build("heap_family.c", "-O1"), opts=("--paused",)))
    t.equal("never resumed", never["totals"]["allocations"], 0)
    t.equal("it is not said to have made none", [n for n in never["notes"] if "no allocations" in n], [])


def test_ctl_from_within_says_what_it_did(t):
    """The shell and ctl are recorded themselves then."""
    words = "%s ctl $$ snapshot %s" % (t.tidemark, t.file("within.tide"))
    t.record("sh", "-c", words + "; true")
    t.equal("what it says", t.stdout, "snapshot 1, written to %s\n" % t.file("within.tide"))


def test_snapshots_on_a_clock(t):
    run = Running(t, "", "--snapshot-every", "0.1s")
    # How many there were before it was ready is the machine's affair; the next one is of the time since.
    before = int(re.search(r"snapshots (\d+)", run.ctl("status")).group(1))
    t.equal("blocks", hundreds(t, wait_for(t.file("p.snapshot%d.tide" % (before + 1)))), 200)
    run.end()


def test_wrong_requests(t):
    run = Running(t, t.file("s.%I.tide"))
    run.ctl("mark", status=2)
    run.ctl("nonsense", status=2)
    run.ctl("--nonsense", status=2)
    t.true("named", "'--nonsense'" in t.stderr, t.stderr)
    run.ctl("snapshot", t.file("no/such/folder/x.tide"), status=1)
    t.true("the folder is named", t.file("no/such/folder") in t.stderr, t.stderr)
    run.ctl("status", pid=os.getpid(), status=1)
    t.equal("the recording is unharmed", hundreds(t, run.end()), 300)


def test_where_no_heap_is_recorded(t):
    """Only samples are, so there are no blocks. The recording goes on."""
    profile = t.file("p.tide")
    tool = subprocess.Popen([t.tidemark, "run", "--quiet", "--only-faults", "-o", profile, "--", "sh", "-c", "echo ready; read word"],
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    t.equal("it is ready", tool.stdout.readline(), b"ready\n")
    t.run("ctl", str(tool.pid), "leaks")
    t.true("no leaks", t.status == 1 and "the heap is not recorded" in t.stderr, (t.status, t.stderr))
    t.true("it cannot be dormant", "no mark was made" in t.run("ctl", str(tool.pid), "stop")[0])
    t.run("ctl", str(tool.pid), "pause")
    tool.communicate(b"\n")
    t.equal("status", tool.returncode, 0)
    report = t.report(profile, "faults")
    t.equal("notes", report["notes"], ["recording was paused for a while: there are no samples of that time"])


@cases(when=("before it takes the request", "before it answers"))
def test_recording_that_ends_meanwhile(t, when):
    """The kernel has another error than for an address at which nothing listens."""
    name, key = "tidemark-test-%d" % os.getpid(), "0" * 32
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener, subprocess.Popen(
            ["sleep", "60"], env={**os.environ, "TIDEMARK_SOCKET": name, "TIDEMARK_KEY": key}) as program:
        listener.bind("\0" + name)
        listener.listen()
        ctl = subprocess.Popen([t.tidemark, "ctl", str(program.pid), "status"], stderr=subprocess.PIPE)
        if when == "before it answers":
            taken = listener.accept()[0]
            t.equal("a request came", len(taken.recv(1)), 1)
            taken.close()
        else:
            select.select([listener], [], [])
        listener.close()
        said = ctl.communicate()[1].decode()
        program.kill()
    t.equal("status", ctl.returncode, 1)
    t.equal("said", said, "tidemark ctl: the recording of process %d has ended\n" % program.pid)


@cases(how=("kept", "cleared"))
def test_program_that_sets_its_title(t, how):
    """redis, PostgreSQL and nginx overwrite what /proc/PID/environ shows; their environment is elsewhere then, or nowhere."""
    go, profile = t.file("go"), t.file("p.tide")
    tool = subprocess.Popen([t.tidemark, "run", "--quiet", "-o", profile, "--", t.build("titled.c", "-O1"), go, *(["clear"] if how == "cleared" else [])],
                            stdout=subprocess.PIPE)
    t.equal("it is ready", tool.stdout.readline(), b"ready\n")
    with open("/proc/%d/task/%d/children" % (tool.pid, tool.pid)) as children:
        program = int(children.read().split()[0])
    with open("/proc/%d/environ" % program, "rb") as environment:
        t.true("nothing is left of it", b"TIDEMARK" not in environment.read())
    for which, pid in (("the program", program), ("tidemark run", tool.pid)):
        stdout, stderr, status = t.run("ctl", str(pid), "mark", "here")
        t.equal("%s (%s)" % (which, stderr), (status, stdout.split(":")[0]), (0, "marked this moment"))
    open(go, "w").close()
    t.equal("exit status", tool.wait(), 0)
    t.equal("both marks", [m["label"] for m in t.ask(profile, "marks")["marks"]], ["here", "here"])


def test_recording_that_was_killed(t):
    run = Running(t, t.file("s.%I.tide"))
    program = int(t.plain("pgrep", "-x", "-P", str(run.tool.pid), "snapshots")[0])
    run.tool.kill()
    run.tool.wait()
    run.ctl("status", pid=program, status=1)
    os.kill(program, signal.SIGKILL)
    t.equal("said", t.stderr, "tidemark ctl: the recording of process %d has ended\n" % program)
