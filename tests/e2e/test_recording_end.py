"""Recordings end when the last process has, whatever was lost and whoever does not wait for its children."""
import ctypes
import json
import os
import signal
import subprocess

from harness import eventually

COPIES = 4
SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER
ROUNDS = "20"  # of 4,096 page faults each: more than a ring buffer holds
LONG_S = 120  # for what takes a second or two: it has hung


def state_of(pid):
    """The letter that the kernel shows; None: there is no such process."""
    try:
        with open("/proc/%d/stat" % pid) as file:
            return file.read().rsplit(")", 1)[1].split()[0]
    except OSError:
        return None


def child_of(pid):
    with open("/proc/%d/task/%d/children" % (pid, pid)) as file:
        return next(iter(map(int, file.read().split())), None)


def fill_ring(folder, name, count, recorder):
    """Lets `count` processes go while nobody reads what the kernel tells: it has no room to tell that they end."""
    def ready():
        pids = [int(f.split(".")[1]) for f in os.listdir(folder) if f.startswith(name + ".") and not f.endswith(".go")]
        return pids if len(pids) == count else None

    pids = eventually("%d processes are ready" % count, ready)
    collector = eventually("a recorder", recorder)
    os.kill(collector, signal.SIGSTOP)
    eventually("the recorder is stopped", lambda: state_of(collector) == "T")
    open(os.path.join(folder, name + ".go"), "w").close()
    eventually("all have ended", lambda: all(state_of(p) in ("Z", None) for p in pids))
    os.kill(collector, signal.SIGCONT)
    return pids


def ended(t, tool):
    """Its stdout; a tool that hangs is ended, and that is a failure."""
    try:
        stdout, stderr = tool.communicate(timeout=LONG_S)
    except subprocess.TimeoutExpired:
        os.killpg(tool.pid, signal.SIGKILL)
        tool.communicate()
        t.true("it ended within %d s" % LONG_S, False)
        return ""
    t.equal("status, stderr", (tool.returncode, stderr), (0, ""))
    return stdout


def test_copies_whose_end_was_lost(t):
    """Copies stay zombies until the recorder ends, and so answer a signal 0."""
    program, name = t.build("fills_ring.c", "-O1"), t.file("name")
    script = "exec %s %s $(cat %s) %s" % (program, t.dir, name, ROUNDS)
    with open(name, "w") as out:
        out.write("alone")
    tool = subprocess.Popen([t.tidemark, "compare", "--quiet", "--copies", str(COPIES), "--json", "--", "/bin/sh", "-c", script],
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
    for phase, count in (("alone", 1), ("together", COPIES)):
        with open(name, "w") as out:
            out.write(phase)
        fill_ring(t.dir, phase, count, lambda: child_of(tool.pid))
    found = json.loads(ended(t, tool) or "null")
    if found:
        together = found["together"]
        t.true("records were lost", together["faults"] < together["kernel"]["minor_faults"] / 2, together)
        t.equal("exit codes", [r["exit_code"] for r in (found["alone"], *found["runs"])], [0] * (COPIES + 1))


def test_child_that_nobody_waits_for(t):
    """Its parent has ended, and who has it now does not wait for it, like the first process of many containers."""
    program, profile = t.build("fills_ring.c", "-O1"), t.file("p.tide")
    ctypes.CDLL(None).prctl(SUBREAPER, 1, 0, 0, 0)
    tool = subprocess.Popen([t.tidemark, "run", "--quiet", "--only-faults", "-o", profile, "--", program, t.dir, "child", ROUNDS, "fork"],
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
    child, = fill_ring(t.dir, "child", 1, lambda: tool.pid)
    ended(t, tool)
    t.equal("it was a zombie all the time", os.waitpid(child, 0), (child, 0))
    found = t.report(profile, "faults", "--process", str(child))
    t.equal("how it ended", (found["exit_code"], found["signal"]), (0, None))


def test_sigchld_ignored(t):
    """By who starts us: the kernel then reaps the copies itself and tells nobody. The program inherits it."""
    program = ("import os, signal\n"
               "ignored = signal.getsignal(signal.SIGCHLD) == signal.SIG_IGN\n"
               "os._exit(9 if not ignored else 5 if os.environ['TIDEMARK_COPY'] == '3' else 0)")
    tool = subprocess.Popen([t.tidemark, "compare", "--quiet", "--copies", str(COPIES), "--json", "--", "/usr/bin/python3", "-c", program],
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
                            preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
    try:
        stdout, stderr = tool.communicate(timeout=LONG_S)
    except subprocess.TimeoutExpired:
        os.killpg(tool.pid, signal.SIGKILL)
        stdout, stderr = tool.communicate()
    t.equal("status", tool.returncode, 5)
    t.equal("exit codes", [r["exit_code"] for r in json.loads(stdout or '{"runs": []}')["runs"]], [0, 0, 5, 0])


def test_no_run_hangs(t):
    program = t.build("fills_ring.c", "-O1")
    open(t.file("all.go"), "w").close()
    for _ in range(6):
        tool = subprocess.Popen([t.tidemark, "compare", "--quiet", "--copies", str(COPIES), "--json", "--", program, t.dir, "all", "2"],
                                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True)
        ended(t, tool)
        if t.failures:
            break
