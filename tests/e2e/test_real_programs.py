"""What running real programs has shown: `make test-programs` runs the programs themselves."""
import os
import signal
import subprocess
import sys
import time

from harness import ROOT, cases

sys.path.insert(0, os.path.join(ROOT, "tests", "real"))
import guest
import programs

# As a program may find them: started by nohup, by a shell in the background, or by a server that masks signals.
HANDED_ON = {"ignored": (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP, signal.SIGPIPE),
             "child_ignored": (signal.SIGCHLD,),
             "blocked": (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1, signal.SIGCHLD)}


def started_with(argv, how):
    """(stdout, status) of a program that is started with such signals."""
    def before():
        for number in HANDED_ON[how]:
            if how == "blocked":
                signal.pthread_sigmask(signal.SIG_BLOCK, {number})
            else:
                signal.signal(number, signal.SIG_IGN)
    done = subprocess.run(argv, stdout=subprocess.PIPE, preexec_fn=before, restore_signals=False)
    return done.stdout.decode(), done.returncode


@cases(how=tuple(HANDED_ON))
def test_signals_are_handed_on(t, how):
    program = t.build("process_state.c", "-O1")
    want = started_with([program], how)
    for number in HANDED_ON[how]:
        line = "signal %d is blocked" % number if how == "blocked" else "signal %d: handler 1" % number
        t.true("the program alone says '%s'" % line, line in want[0], want[0])
    profile = t.file("p.tide")
    t.equal("what the program sees", started_with([t.tidemark, "run", "--quiet", "-o", profile, "--", program], how), want)
    t.true("a profile", os.path.exists(profile) and t.report(profile)["exit_code"] == want[1])


def test_an_ignored_hangup_does_not_end_the_waiting(t):
    """Under nohup: the program has left a child behind, then the terminal goes away."""
    script = "(while [ ! -e go ]; do sleep 0.05; done; exec /bin/ls / >/dev/null) & echo $$"
    run = subprocess.Popen([t.tidemark, "run", "--quiet", "-o", t.file("p.tide"), "--", "/bin/sh", "-c", script], cwd=t.dir,
                           stdout=subprocess.PIPE, preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    program = int(run.stdout.readline())
    while os.path.exists("/proc/%d" % program):
        time.sleep(0.02)
    run.send_signal(signal.SIGHUP)
    time.sleep(0.2)  # it would stop in this time; if not, the test still is right
    open(t.file("go"), "w").close()
    t.equal("status", run.wait(), 0)
    programs = [os.path.basename(p["command"][0]) for p in t.report(t.file("p.tide"))["processes"]]
    t.true("the child is recorded to its end", "ls" in programs, programs)


@cases(name=("python3", "perl", "bash", "gcc-error"))
def test_program(t, name):
    """The programs of tests/real that every machine has that can build tidemark."""
    visit = guest.Guest(os.path.dirname(t.tidemark), t.file("visit"))
    try:
        programs.ALL[name](visit)
    finally:
        visit.close()
    t.failures += visit.failures
