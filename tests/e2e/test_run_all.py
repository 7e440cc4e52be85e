"""All processes of a user, or all there are: programs that run already are found, with their shares."""
import json
import os
import shutil
import signal
import subprocess
import time

from harness import bare, eventually
from test_cpu import counts_of, right_shares
from unprivileged import AS_NOBODY, give_to_nobody

# Ends when each of the processes named has used so many ticks of 10 ms of CPU time since it began.
UNTIL = """
import sys, time
def used(pid):
    with open("/proc/%s/stat" % pid) as text:
        return int(text.read().rsplit(")", 1)[1].split()[11])
before = {pid: used(pid) for pid in sys.argv[1:]}
while any(used(pid) < before[pid] + 40 for pid in before):
    time.sleep(0.02)
"""


class Busy:
    """Two programs of ours that work until they are told to stop."""

    def __init__(self, t, prefix):
        self.t, self.prefix, self.running, self.shells = t, prefix, {}, []

    def start(self, name, threads=1):
        program = self.t.file(name)
        shutil.copy(self.t.build("shares.c", "-O2"), program)
        self.running[name] = subprocess.Popen([*self.prefix, program, str(threads), "1000000000"], stdout=subprocess.DEVNULL)
        return str(self.running[name].pid)

    def start_in_shell(self, name):
        """As a child of a shell of the same user, as most programs are; the shell ends with it."""
        program = self.t.file(name)
        shutil.copy(self.t.build("shares.c", "-O2"), program)
        shell = subprocess.Popen([*self.prefix, "sh", "-c", '"$0" 1 1000000000 >/dev/null & echo $!; trap "kill $!; wait $!" TERM; wait', program],
                                 stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.shells.append(shell)
        return shell.stdout.readline().strip()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self.running.values():
            process.kill()
            process.wait()
        for shell in self.shells:
            shell.terminate()
            shell.wait()


def who(t):
    """How to run as whom: root sees all there are; as nobody, who has no processes but ours."""
    if os.geteuid() == 0:
        yield "root", (), t.tidemark, t.dir
        tool = give_to_nobody(t)
        yield "nobody", AS_NOBODY, tool, os.path.dirname(tool)
    else:
        yield "user", (), t.tidemark, t.dir


def own_name(t, name):
    """Of a program that nobody else has: the same test may run elsewhere, and root sees that too. At most 15 letters:
    of a program that has ended already the kernel tells no more."""
    return ("%s-%s" % (name, os.path.basename(t.dir)[-8:]))[:15]


def found(t, profile, pids):
    """The processes of the recording that are ours, by their program's name; their shares are right."""
    names = {}
    for process in t.report(profile, "cpu")["processes"]:
        if str(process["pid"]) in pids and process["cpu_ns"]:
            report = t.report(profile, "cpu", "--process", str(process["pid"]))
            right_shares(t, counts_of(report), report["sum"]["count"])
            t.equal("as the list says", process["cpu_ns"], report["sum"]["bytes"])
            names[os.path.basename(process["command"][0])] = report
    return names


def test_programs_that_run_already(t):
    for name, prefix, tool, folder in who(t):
        with Busy(t, prefix) as busy:
            pids = [busy.start("busy-one"), busy.start("busy-two", threads=2)]
            profile = os.path.join(folder, name + ".tide")
            # As root there is no telling what else runs here, and how long it takes to find its names.
            only = ("--only", "busy-one", "--only", "busy-two") if name == "root" else ()
            t.plain(*prefix, tool, "run", "--quiet", "--all", "--only-cpu", *only, "-o", profile, "--",
                    "python3", "-c", UNTIL, *pids)
            t.equal("status, stderr", (t.status, t.stderr), (0, ""))
            reports = found(t, profile, pids)
            t.equal("as %s: both are found" % name, set(reports), {"busy-one", "busy-two"})
            threads = t.report(profile, "cpu", "--by", "thread", "--process", pids[1])["rows"]
            t.equal("threads", sum(r.get("threads", 1) for r in threads), 2)
            if not only:
                commands = [p["command"] for p in t.report(profile, "cpu")["processes"]]
                t.true("and the program itself", any(c[:3] == ["python3", "-c", UNTIL] for c in commands), commands)


def test_children_of_programs_that_run_already(t):
    """A parent with events of its own does not mean that a child which was there before has any."""
    for name, prefix, tool, folder in who(t):
        with Busy(t, prefix) as busy:
            pids, profile = [busy.start_in_shell("busy-child"), busy.start_in_shell("busy-other")], os.path.join(folder, name + ".tide")
            only = ("--only", "busy-child", "--only", "busy-other") if name == "root" else ()
            t.plain(*prefix, tool, "run", "--quiet", "--all", "--only-cpu", *only, "-o", profile, "--", "python3", "-c", UNTIL, *pids)
            t.equal("status, stderr", (t.status, t.stderr), (0, ""))
            reports = found(t, profile, pids)
            t.equal("as %s: both are found" % name, set(reports), {"busy-child", "busy-other"})
            for report in reports.values():
                used = report["sampling"]["kernel"]["user_ns"]
                t.true("once", report["sum"]["bytes"] <= used * 1.5, (report["sum"], used))


def test_by_name(t):
    for name, prefix, tool, folder in who(t):
        with Busy(t, prefix) as busy:
            wanted = own_name(t, "wanted")
            pids = [busy.start(wanted), busy.start("other")]
            profile = os.path.join(folder, name + ".tide")
            t.plain(*prefix, tool, "run", "--quiet", "--all", "--only", wanted, "-o", profile, "--", "python3", "-c", UNTIL, *pids)
            t.equal("status, stderr", (t.status, t.stderr), (0, ""))
            t.equal("as " + name, set(found(t, profile, pids)), {wanted})
            t.equal("and nobody else", [os.path.basename(p["command"][0]) for p in t.report(profile, "cpu")["processes"]],
                    [wanted])


def test_until_it_is_stopped(t):
    """Without a program: Ctrl-C ends it. A program that was started meanwhile is found, too."""
    for name, prefix, tool, folder in who(t):
        with Busy(t, prefix) as busy:
            names = [own_name(t, "first"), own_name(t, "later")]
            first, profile = busy.start(names[0]), os.path.join(folder, name + ".tide")
            run = subprocess.Popen([*prefix, tool, "run", "--all", "--only", names[0], "--only", names[1], "-o", profile],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True)
            while run.poll() is None and t.plain(*prefix, tool, "ctl", str(run.pid), "status")[2]:
                time.sleep(0.02)
            pids, snapshot = [first, busy.start(names[1])], os.path.join(folder, name + ".snapshot")

            def both_seen():
                """For long enough, in a snapshot."""
                t.plain(*prefix, tool, "ctl", str(run.pid), "snapshot", snapshot)
                eventually("a snapshot is written", lambda: os.path.exists(snapshot))
                told, _, status = t.run("report", snapshot, "--metric", "cpu", "--json")
                os.remove(snapshot)
                # The first one may come before the first sample.
                used = {str(p["pid"]): p["cpu_ns"] for p in json.loads(told)["processes"]} if status == 0 else {}
                return all(used.get(pid, 0) > 300000000 for pid in pids)

            eventually("both are found", both_seen)
            os.killpg(run.pid, signal.SIGINT)
            stderr = run.communicate()[1]
            t.equal("both", set(found(t, profile, pids)), set(names))
            t.true("the summary names them", all(n in stderr for n in names) and "tidemark report" in stderr, stderr)


def test_faults(t):
    """Page faults of a program that begins while all are recorded."""
    for name, prefix, tool, folder in who(t):
        profile, program = os.path.join(folder, name + ".tide"), t.file(own_name(t, "touch"))
        shutil.copy(t.build("touches.c", "-O1"), program)
        t.plain(*prefix, tool, "run", "--quiet", "--all", "--only", own_name(t, "touch"), "--only-faults", "-o", profile, "--",
                program, "touch", "2", "300")
        t.equal("status, stderr", (t.status, t.stderr), (0, ""))
        rows = {bare(r["name"]): r["self_count"] for r in t.report(profile, "faults")["rows"]}
        t.equal("as %s: touch" % name, rows.get("touch"), 600)


def test_wrong_usage(t):
    t.run("run", "--all", "--cpu=wall", "--", "/bin/true")
    t.equal("status, lines", (t.status, len(t.stderr.splitlines())), (2, 1))
    t.plain(t.build("forbids.c", "-O1"), "perf_event_open", t.tidemark, "run", "--all", "-o", t.file("x.tide"), "--", "/bin/true")
    t.equal("forbidden: status, lines", (t.status, len(t.stderr.splitlines())), (125, 1))
