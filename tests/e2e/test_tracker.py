"""Programs that record parts of themselves: tidemark.Tracker in Python, tide_start and tide_stop in C."""
import os
import subprocess
import sys

from harness import ROOT, cases

PYTHONS = ("/usr/bin/python3", sys.executable)
SUPPORTED = os.uname().machine == "x86_64"  # elsewhere test_other_machines has all there is to say
SIZE = 40000  # of a bytearray: one block of a byte more
INCLUDE = ("-I", os.path.join(ROOT, "include"))

MAKE = """
import os, sys, tidemark
kept = []
def make(n):
    for i in range(n):
        kept.append(bytearray(%d))
""" % SIZE


def environment(t, **more):
    return {"PYTHONPATH": os.path.join(ROOT, "bindings", "python"), "PYTHONDONTWRITEBYTECODE": "1", "TIDEMARK": t.tidemark, **more}


def python(t, text, *, interpreter=PYTHONS[0], **more):
    script = t.file("script.py")
    with open(script, "w") as out:
        out.write(MAKE + text)
    return t.plain(interpreter, script, env=environment(t, **more))


def made(t, profile, *arguments):
    """(bytes, blocks) that the function make allocated."""
    row = t.row(t.report(profile, "total", "--python-only", *arguments), "make")
    return row["self_bytes"], row["self_count"]


def blocks(count):
    return count * (SIZE + 1), count


@cases(interpreter=tuple(dict.fromkeys(PYTHONS)))
def test_two_blocks(t, interpreter):
    if not SUPPORTED:
        return
    text = """
make(7)
t = tidemark.Tracker("first.tide")
print(t.path)
with t as same:
    make(30)
print(t is same, t.path)
make(9)
os.mkdir("folder")
with tidemark.Tracker(options=["-o", "second.tide", "--only-new"]) as t:
    os.chdir("folder")
    make(5)
    kept.clear()
print(t.path)
make(3)
try:
    os.wait()
except ChildProcessError:
    print("no child is left")
print(sorted(os.listdir("/proc/self/fd")) == fds)
"""
    text = text.replace("make(7)", "make(7)\nfds = sorted(os.listdir('/proc/self/fd'))", 1)
    first, second = t.file("first.tide"), t.file("second.tide")
    t.equal("what it says", python(t, text, interpreter=interpreter),
            ("None\nTrue %s\n%s\nno child is left\nTrue\n" % (first, second), "", 0))
    t.equal("the first block", made(t, first), blocks(30))
    report = t.report(first)
    t.equal("complete", report["complete"], True)
    t.equal("nothing unknown", report["totals"]["unknown_frees"], 0)
    t.equal("nothing lost", report["totals"]["lost_events"], 0)
    t.equal("it was detached from", report["attached"]["detached"], True)
    t.equal("what was before is known", report["attached"]["before_known"], True)
    t.equal("the second block", made(t, second), blocks(5))
    t.equal("frees of blocks from before", t.report(second)["attached"]["before_frees"] >= 46, True)
    stacks = [[f["function"] for f in row["stack"]] for row in t.report(first, "total", "--by", "stack", "--python-only")["rows"]
              if row["bytes"] == 30 * (SIZE + 1)]
    t.equal("call stack", stacks, [["make", "<module>"]])


def test_threads(t):
    if not SUPPORTED:
        return
    t.equal("what it says", python(t, """
import threading
go, stop = threading.Event(), threading.Event()
def work():
    go.wait()
    make(12)
    stop.wait()
threads = [threading.Thread(target=work) for i in range(4)]
for each in threads:
    each.start()
def main():
    with tidemark.Tracker("threads.tide"):
        go.set()
        while len(kept) < 48:
            pass
    stop.set()
one = threading.Thread(target=main)
one.start()
one.join()
for each in threads:
    each.join()
"""), ("", "", 0))
    t.equal("blocks of all threads", made(t, t.file("threads.tide")), blocks(48))


def test_exceptions_pass(t):
    if not SUPPORTED:
        return
    t.equal("what it says", python(t, """
try:
    with tidemark.Tracker("x.tide"):
        make(4)
        raise KeyError("its own")
except KeyError as e:
    print(e)
with tidemark.Tracker("y.tide"):
    make(6)
    sys.exit(3)
"""), ("'its own'\n", "", 3))
    t.equal("kept", made(t, t.file("x.tide")), blocks(4))
    t.equal("kept at exit", made(t, t.file("y.tide")), blocks(6))


def test_one_at_a_time(t):
    if not SUPPORTED:
        return
    t.equal("what it says", python(t, """
with tidemark.Tracker("outer.tide") as outer:
    try:
        with tidemark.Tracker("inner.tide"):
            print("not here")
    except tidemark.TrackerError as e:
        print(e)
    try:
        with outer:
            print("not here")
    except tidemark.TrackerError as e:
        print(e)
    make(8)
print(os.path.exists("inner.tide"))
"""), ("a tidemark.Tracker is on already in this process; one at a time can be\n" * 2 + "False\n", "", 0))
    t.equal("the outer one goes on", made(t, t.file("outer.tide")), blocks(8))


def test_fork_inside(t):
    """The child leaves the block too; the recording is its parent's, and has both."""
    if not SUPPORTED:
        return
    t.equal("what it says", python(t, """
with tidemark.Tracker("fork.tide") as t:
    make(2)
    child = os.fork()
    if not child:
        make(6)
        try:
            with tidemark.Tracker("child.tide"):
                pass
        except tidemark.TrackerError as e:
            print("already being recorded" in str(e), flush=True)
    else:
        print(os.waitpid(child, 0)[1], flush=True)
        make(3)
if not child:
    make(1)
    print("child", t.path, flush=True)
    os._exit(0)
print(t.path)
"""), ("True\nchild None\n0\n%s\n" % t.file("fork.tide"), "", 0))
    processes = t.report(t.file("fork.tide"))["processes"]
    t.equal("processes", len(processes), 2)
    numbers = [made(t, t.file("fork.tide"), "--process", str(p["pid"])) for p in processes]
    t.equal("of both", numbers, [blocks(5), blocks(7)])


def test_interrupt_is_the_programs(t):
    """Ctrl-C reaches all of the terminal's group, but not the tool."""
    if not SUPPORTED:
        return
    t.equal("what it says", python(t, """
import signal
os.setpgid(0, 0)
signal.signal(signal.SIGTERM, signal.SIG_IGN)
try:
    with tidemark.Tracker("x.tide") as t:
        print(os.getsid(t._process.pid) == t._process.pid)
        make(2)
        try:
            os.killpg(0, signal.SIGINT)
            while True:
                pass
        except KeyboardInterrupt:
            make(3)
        raise KeyboardInterrupt
except KeyboardInterrupt:
    print("interrupted")
"""), ("True\ninterrupted\n", "", 0))
    t.equal("all of it", made(t, t.file("x.tide")), blocks(5))


def test_under_run(t):
    script = t.file("script.py")
    with open(script, "w") as out:
        out.write(MAKE + """
make(2)
with tidemark.Tracker("none.tide") as t:
    make(4)
make(1)
print(t.path, os.path.exists("none.tide"))
with tidemark.Tracker():
    make(3)
""")
    profile = t.record(PYTHONS[0], script, env=environment(t))
    t.equal("no file of its own", t.stdout, "None False\n")
    t.equal("it says so", t.stderr, "tidemark: this process was started by 'tidemark run'; Tracker only makes the marks 'tracker' "
            "and 'tracker.end' in its recording\n" * 2)
    for number, count in ((1, 4), (2, 3)):
        t.equal("block %d" % number, made(t, profile, "--since", "tracker#%d" % number, "--at", "tracker.end#%d" % number),
                blocks(count))
    t.equal("all", made(t, profile), blocks(10))


FAIL = """
def fail(*words, **named):
    try:
        with tidemark.Tracker(*words, **named):
            print("not here")
    except tidemark.TrackerError as e:
        print(e)
        assert e.__context__ is None or e.__suppress_context__
"""


def test_failures(t):
    t.equal("no such tool", python(t, FAIL + "fail()", TIDEMARK="/nowhere/tidemark"),
            ("TIDEMARK is /nowhere/tidemark, which is not a program that can be run\n", "", 0))
    broken = t.file("broken")
    with open(broken, "w") as out:
        out.write("#!/nowhere/at/all\n")
    os.chmod(broken, 0o755)
    t.equal("a tool that cannot be run", python(t, FAIL + "fail()", TIDEMARK=broken),
            ("%s cannot be run: No such file or directory\n" % broken, "", 0))
    t.equal("a tool that ends", python(t, FAIL + "fail()", TIDEMARK="/bin/false"),
            ("tidemark attach could not attach (status 1)\n", "", 0))
    t.equal("wrong options", python(t, FAIL + "fail(options=['--nothing'])"),
            ("tidemark attach: unknown option '--nothing'; tidemark attach --help lists the options\n", "", 0))
    if not SUPPORTED:
        return
    t.equal("no such folder", python(t, FAIL + "fail('/nowhere/x.tide')\nfail('/nowhere/x.tide')"),
            ("tidemark attach: cannot write recordings to /nowhere: No such file or directory; choose another place with -o\n" * 2, "", 0))


def test_the_tool_is_killed(t):
    """The program goes on, and can be recorded again."""
    if not SUPPORTED:
        return
    t.equal("what it says", python(t, """
import signal
def kill(t):
    os.kill(t._process.pid, signal.SIGKILL)
try:
    with tidemark.Tracker("x.tide") as t:
        make(4)
        kill(t)
        make(4)
except tidemark.TrackerError as e:
    print(e, t.path)
try:
    with tidemark.Tracker("y.tide") as t:
        kill(t)
        raise KeyError("its own")
except KeyError as e:
    print(e)
with tidemark.Tracker("z.tide") as t:
    make(4)
with tidemark.Tracker("|cat > command.tide") as to_command:
    make(2)
print(to_command.path, len(os.listdir("/proc/self/fd")))
"""), ("tidemark attach ended before its file was written (status -9) None\n'its own'\nNone 4\n",
          "tidemark: tidemark attach ended before its file was written (status -9)\n", 0))
    t.equal("the last", made(t, t.file("z.tide")), blocks(4))
    t.equal("to a command", made(t, t.file("command.tide")), blocks(2))


def test_attached_by_another(t):
    if not SUPPORTED:
        return
    stdout, stderr, status = python(t, FAIL + """
import subprocess
tool = subprocess.Popen([os.environ["TIDEMARK"], "attach", "-o", "other.tide", str(os.getpid())], stderr=subprocess.PIPE)
tool.stderr.readline()
fail()
tool.terminate()
tool.communicate()
with tidemark.Tracker("own.tide"):
    make(2)
print(os.getpid())
""")
    pid = stdout.split()[-1]
    t.equal("attach's own sentence (%s)" % stderr, stdout,
            "tidemark attach: process %s is already being recorded; 'tidemark detach %s' ends that\n%s\n" % (pid, pid, pid))
    t.equal("then it can", made(t, t.file("own.tide")), blocks(2))


def test_who_may_trace(t):
    """Yama's exception: any child while the tool starts, then the tool, in the end nobody."""
    if not SUPPORTED:
        return
    log = t.build("prctl_log.c", "-O1", "-D_GNU_SOURCE", shared=True)
    wanted = "itself\nchild\nnobody\n"
    python(t, "with tidemark.Tracker('x.tide'):\n    make(1)\n", LD_PRELOAD=log, PTRACERS=t.file("python"))
    with open(t.file("python")) as text:
        t.equal("Python", text.read(), wanted)
    t.plain(t.build("tracked.c", "-O1", *INCLUDE), "pipe", env={"TIDEMARK": t.tidemark, "LD_PRELOAD": log, "PTRACERS": t.file("c")})
    with open(t.file("c")) as text:
        t.equal("C", text.read(), wanted)


# C

def tracked(t, what, **more):
    return t.plain(t.build("tracked.c", "-O1", *INCLUDE), what, env={"TIDEMARK": t.tidemark, **more})


def kept(t, profile, *arguments):
    row = t.row(t.report(profile, "total", *arguments), "keep")
    return row["self_bytes"], row["self_count"]


@cases(found=("by TIDEMARK", "on PATH"))
def test_c(t, found):
    if not SUPPORTED:
        return
    where = {"TIDEMARK": "", "PATH": os.path.dirname(t.tidemark)} if found == "on PATH" else {}
    t.equal("what it says", tracked(t, "two", **where),
            ("start 0\nagain -16\nstop 0\nstart 0\nstop 0\nstop -3\nchildren -1\n", "", 0))
    for name, numbers in (("first.tide", (60000, 20)), ("second.tide", (20000, 5))):
        totals = t.report(t.file(name))["totals"]
        t.equal("all of " + name, (totals["bytes_allocated"], totals["allocations"], totals["frees"]), (*numbers, 0))
        t.equal("who, in " + name, kept(t, t.file(name)), numbers)


def test_c_pipe(t):
    if not SUPPORTED:
        return
    t.equal("what it says", tracked(t, "pipe"), ("start 0\nread 0\nstop 0\n", "", 0))


def test_c_fork(t):
    if not SUPPORTED:
        return
    t.equal("what it says", tracked(t, "forked"), ("start 0\nstop 0\nchild 6\n", "", 0))
    processes = t.report(t.file("forked.tide"))["processes"]
    t.equal("of both", [kept(t, t.file("forked.tide"), "--process", str(p["pid"])) for p in processes], [(10000, 5), (8000, 4)])


def test_c_under_run(t):
    profile = t.record(t.build("tracked.c", "-O1", *INCLUDE), "two")
    t.equal("what it says", t.stdout, "start 0\nagain -16\nstop 0\nstart 0\nstop 0\nstop -3\nchildren -1\n")
    t.equal("no file of its own", os.path.exists(t.file("first.tide")), False)
    for number, wanted in ((1, (60000, 20)), (2, (20000, 5))):
        t.equal("part %d" % number, kept(t, profile, "--since", "tracker#%d" % number, "--at", "tracker.end#%d" % number), wanted)


def test_c_failures(t):
    failed = "start %d\nagain %d\nstop -3\nstart %d\nstop -3\nstop -3\nchildren -1\n"
    t.equal("no such tool", tracked(t, "two", TIDEMARK="/nowhere/tidemark"), (failed % (-2, -2, -2), "", 0))
    t.equal("not on PATH", tracked(t, "two", TIDEMARK="", PATH="/nowhere"), (failed % (-2, -2, -2), "", 0))
    t.equal("a tool that ends", tracked(t, "two", TIDEMARK="/bin/false"), (failed % (-5, -5, -5), "", 0))
    static = t.build("tracked.c", "-O1", "-static", *INCLUDE)
    stdout, stderr, status = t.plain(static, "two", env={"TIDEMARK": t.tidemark})
    t.true("a static program", stdout.startswith("start -38\n") or stdout.startswith("start -95\n"), stdout)


# The option of attach that both use

def test_tell(t):
    for words in ("x", "", "-1", "77"):
        t.equal("status of --tell " + words, t.run("attach", "--tell", words, "1")[2], 2)
        t.true("why", "--tell takes the number of an open descriptor" in t.stderr, t.stderr)
    with open("/proc/sys/kernel/pid_max") as limit:
        none = str(int(limit.read()) + 1)
    done = subprocess.run([t.tidemark, "attach", "--tell", "1", none], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    t.equal("no such process", (done.stdout, done.returncode), ("failed %d\n" % (3 if SUPPORTED else 95), 1))


def test_other_machines(t):
    if SUPPORTED:
        return
    stdout, stderr, status = python(t, FAIL + "fail()")
    t.true("says so", "not supported on this kind of machine" in stdout, stdout + stderr)
    t.true("C too", tracked(t, "two")[0].startswith("start -95\n"), t.stdout)
