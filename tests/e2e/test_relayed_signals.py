"""Signals that tidemark gets in place of the program: each reaches the program once, as if it ran alone."""
import os
import signal
import subprocess

from harness import Failed, cases, eventually

NUMBERS = tuple(int(getattr(signal, name)) for name in ("SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGINT", "SIGQUIT"))


@cases(how=("group", "child"))
def test_signals_to_the_group(t, how):
    """The program has them already when tidemark gets them too."""
    program = t.build("counts_signals.c", "-O1")
    for number in NUMBERS:
        for argv in ((program,), (t.tidemark, "run", "--quiet", "-o", t.file("p.tide"), "--", program)):
            done = subprocess.run([*argv, str(number), how], stdout=subprocess.PIPE, start_new_session=True)
            t.equal("signal %d by %s, status" % (number, os.path.basename(argv[0])), (done.stdout, done.returncode), (b"3\n" if how == "group" else b"1\n", 0))


def test_signals_to_the_parent(t):
    """A program that tells its parent something does not get it back."""
    program = t.build("counts_signals.c", "-O1")
    done = subprocess.run([t.tidemark, "run", "--quiet", "-o", t.file("p.tide"), "--", program, str(int(signal.SIGUSR1)), "parent"],
                          stdout=subprocess.PIPE, start_new_session=True)
    t.equal("signals, status", (done.stdout, done.returncode), (b"0\n", 0))


def ends_with(t, run, tool, number):
    try:
        if run.stdout.readline() != b"waits\n":
            raise Failed("the program did not start")
        os.kill(tool, number)
        try:
            t.equal("signal %d, status" % number, (run.communicate(timeout=120)[0], run.returncode), (b"1\n", 0))
        except subprocess.TimeoutExpired:
            raise Failed("signal %d did not reach the program" % number)
    finally:
        if run.poll() is None:
            run.kill()


def test_signals_to_tidemark(t):
    """From another process, not from the terminal: only tidemark gets them."""
    for number in NUMBERS:
        run = subprocess.Popen([t.tidemark, "run", "--quiet", "-o", t.file("p.tide"), "--", t.build("counts_signals.c", "-O1"),
                                str(number), "waits"], stdout=subprocess.PIPE)
        ends_with(t, run, run.pid, number)


def test_signals_to_a_container(t):
    """Its first process is tidemark, and the signal comes from outside, as with 'docker stop'."""
    if os.geteuid() != 0:
        return
    for number in NUMBERS:
        run = subprocess.Popen(["unshare", "-pf", "--mount-proc", t.tidemark, "run", "--quiet", "-o", t.file("p.tide"), "--",
                                t.build("counts_signals.c", "-O1"), str(number), "waits"], stdout=subprocess.PIPE,
                               start_new_session=True)
        children = "/proc/%d/task/%d/children" % (run.pid, run.pid)
        tool = int(eventually("tidemark runs", lambda: open(children).read().split())[0])
        ends_with(t, run, tool, number)
