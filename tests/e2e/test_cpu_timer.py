"""CPU time sampled by timers in the program: run --cpu=timer. Shares are those of counted work, however busy the machine is."""
import math
import os

from harness import PROGRAMS, ROOT, bare, cases
from test_python_stacks import VERSIONS, interpreter

PARTS = {"six": 0.6, "three": 0.3, "one": 0.1}
ROUNDS = 200000  # of shares.c: about 0.8 s of CPU time
PYTHON_MS = 800  # of CPU time, in cpu_shares.py
TIMER = ("--cpu=timer", "--cpu=250")
CALLS = ("nanosleep", "clock_nanosleep", "usleep", "poll", "ppoll", "select", "pselect", "epoll_wait", "sem_timedwait", "recv",
         "read", "sigtimedwait")


def right_shares(t, report, weight=4):
    """Within what chance allows: 6.5 standard deviations, exceeded once in 100 million, if the kernel lets `weight` periods
    pass from one signal to the next; and 2 % for the calls themselves."""
    samples = report["sum"]["count"]
    t.true("enough samples to say something", samples > 60, samples)
    counts = {}
    for row in report["rows"]:
        counts[bare(row["name"])] = counts.get(bare(row["name"]), 0) + row["self_count"]
    for name, share in PARTS.items():
        room = 6.5 * math.sqrt(weight * samples * share * (1 - share)) + samples * 0.02
        got = counts.get(name, 0)
        t.true("samples in %s of %d within %.0f" % (name, samples, room), abs(got - samples * share) <= room, counts)


@cases(threads=(1, 4))
def test_shares(t, threads):
    profile = t.record(t.build("shares.c", "-O2", "-fomit-frame-pointer"), str(threads), str(ROUNDS // threads), opts=TIMER)
    report = t.report(profile, "cpu")
    right_shares(t, report)
    for row in t.report(profile, "cpu", "--by", "stack")["rows"]:
        names = [bare(f["function"]) for f in row["stack"]]
        if names[0] in PARTS:
            t.equal("who called " + names[0], names[1], "work")
            t.true("the outer end", names[-1] in ("_start", "clone3", "__clone3"), names)
    t.equal("lost, cut", [report["sampling"][k] for k in ("lost_samples", "truncated_stacks")], [0, 0])
    t.equal("source", report["sampling"]["cpu_source"], "timer")
    t.equal("threads", len(t.report(profile, "cpu", "--by", "thread")["rows"]) <= threads, True)


@cases(threads=(1, 4))
def test_sum_is_the_kernels(t, threads):
    profile = t.record(t.build("shares.c", "-O2"), str(threads), str(ROUNDS // threads), opts=TIMER)
    used_ns = int(t.stdout) * 1000
    report = t.report(profile, "cpu")
    t.true("within 2 % of what getrusage says, and a little for start and end",
           abs(report["sum"]["bytes"] - used_ns) < used_ns * 0.02 + 20e6, (report["sum"]["bytes"], used_ns))
    t.equal("rows by thread add up", sum(r["self_bytes"] for r in t.report(profile, "cpu", "--by", "thread")["rows"]),
            report["sum"]["bytes"])
    t.consistent(profile)


@cases(version=VERSIONS)
def test_python(t, version):
    """As py-spy does, lines of Python are named; chosen by itself, and a line says so."""
    profile = t.file("python.tide")
    t.run("run", "--cpu=250", "-o", profile, "--", interpreter(version), os.path.join(PROGRAMS, "cpu_shares.py"), "threads", "2",
          str(PYTHON_MS // 2))
    t.equal("status", t.status, 0)
    t.equal("lines that say so", sum("sampled by timers in it, with Python frames" in line for line in t.stderr.splitlines()), 1)
    report = t.report(profile, "cpu", "--python-only")
    right_shares(t, report)
    for row in report["rows"]:
        if bare(row["name"]) in PARTS:
            t.equal("file of " + row["name"], os.path.basename(row["file"]), "cpu_shares.py")
    lines = t.report(profile, "cpu", "--python-only", "--by", "line")
    loop = [r["self_count"] for r in lines["rows"] if bare(r["name"]) == "six" and r["line"] in (13, 14)]
    t.true("the lines of the loop", sum(loop) >= 0.4 * report["sum"]["count"], lines["rows"][:5])


def test_children(t):
    """Each forked child has timers, from its beginning on."""
    profile = t.record("/usr/bin/python3", os.path.join(PROGRAMS, "cpu_shares.py"), "children", "3", str(PYTHON_MS), opts=TIMER)
    for line in t.stdout.splitlines()[:3]:
        pid, used = line.split()
        report = t.report(profile, "cpu", "--process", pid)
        t.true("sum of %s" % pid, abs(report["sum"]["bytes"] - int(used) * 1000) < int(used) * 50 + 40e6, (report["sum"], used))
        right_shares(t, t.report(profile, "cpu", "--process", pid, "--python-only"))


@cases(how=("fork", "_Fork"))
def test_child_before_its_first_allocation(t, how):
    profile = t.record(t.build("works_after_fork.c", "-O1"), how, opts=TIMER)
    report = t.report(profile, "cpu", "--process", t.stdout.split()[0])
    t.true("CPU time of the child", 200e6 < report["sum"]["bytes"] < 600e6, report["sum"])


@cases(call=("nanosleep", "ppoll", "select", "sem_timedwait", "sigtimedwait"))
def test_no_call_is_interrupted(t, call):
    t.record(t.build("blocking_calls.c", "-O1", "-pthread"), call, "60", opts=("--cpu=timer", "--cpu=1000"))
    t.equal("calls that ended with EINTR", int(t.stdout.split()[1]), 0)


@cases(call=CALLS)
def test_interrupted_calls_are_restarted(t, call):
    """Older kernels send a timer's signal in the middle of a call, which the handler makes again."""
    program = t.build("blocking_calls.c", "-O1", "-pthread")
    t.plain(program, call, "1", "0")
    t.equal("status without signals", t.status, 0)
    t.record(program, call, "1", "100", opts=TIMER)
    t.equal("calls that ended with EINTR", int(t.stdout.split()[1]), 0)


@cases(call=("handler", "ppoll", "pselect", "epoll_pwait", "sigsuspend"))
def test_a_handler_ends_a_call(t, call):
    """It computes for several periods with all signals blocked: EINTR is its own, and must not be taken for ours."""
    t.record(t.build("handles_slowly.c", "-O1", "-D_GNU_SOURCE"), call, opts=TIMER)
    t.equal("how the call ended", t.stdout, "EINTR\n")


def test_signals_of_the_program(t):
    """It handles SIGPROF and the highest real-time signals, blocks all, and waits for any."""
    program = t.build("uses_signals.c", "-O1", "-pthread")
    t.plain(program)
    plain = t.stdout
    t.true("what it sees without us", "unused 31 ignored 1 prof 1 strange 0" in plain, plain)
    profile = t.record(program, opts=TIMER)
    t.equal("what it sees with us", t.stdout, plain)
    threads = t.report(profile, "cpu", "--by", "thread")["rows"]
    t.equal("threads that were sampled", len(threads), 2)
    t.true("each for most of its 150 ms", all(r["self_bytes"] > 80e6 for r in threads), threads)
    t.equal("notes", t.report(profile, "cpu")["notes"], [])
    profile = t.record(program, opts=TIMER + ("--cpu-signal", "63"))
    t.equal("with a signal that it uses", t.stdout, plain)
    t.true("the note", any("--cpu-signal" in note for note in t.report(profile, "cpu")["notes"]), t.report(profile, "cpu")["notes"])
    profile = t.record(program, opts=TIMER + ("--cpu-signal", "40"))
    t.equal("with one that it does not use", (t.stdout, t.report(profile, "cpu")["notes"]), (plain, []))


def test_heap_is_exact(t):
    """A program that does little else than allocate: its time is charged to the functions that do, and no event is lost."""
    program = t.build("temporary.c", "-O1")
    alone = t.report(t.record(program))["totals"]
    profile = t.record(program, opts=("--cpu=timer", "--cpu=2000"))
    both = t.report(profile)["totals"]
    for key in ("allocations", "frees", "bytes_allocated", "live_bytes", "unknown_frees", "lost_events"):
        t.equal(key, both[key], alone[key])
    t.consistent(profile)
    stacks = t.report(profile, "cpu", "--by", "stack")["rows"]
    t.equal("frames of the recorder", [f["function"] for row in stacks for f in row["stack"] if f["module"] == "libtidemark.so"], [])


def test_forbidden(t):
    """Where perf events are forbidden, timers are used, and a line says so; --cpu=perf insists."""
    forbids, profile = t.build("forbids.c", "-O1"), t.file("x.tide")
    program = (t.build("shares.c", "-O2"), "1", str(ROUNDS // 4))
    t.plain(forbids, "perf_event_open", t.tidemark, "run", "--cpu=250", "-o", profile, "--", *program)
    t.equal("status", t.status, 0)
    t.equal("lines that say so", sum("perf_event_open" in line and "--cpu=timer" in line for line in t.stderr.splitlines()), 1)
    t.true("samples", t.report(profile, "cpu")["sum"]["count"] > 20, t.report(profile, "cpu")["sum"])
    t.plain(forbids, "perf_event_open", t.tidemark, "run", "--cpu=perf", "-o", profile, "--", "/usr/bin/touch", t.file("ran"))
    t.equal("insisting: status, lines, ran", (t.status, len(t.stderr.splitlines()), os.path.exists(t.file("ran"))), (125, 1, False))


@cases(wrong=(("--cpu=timer", "--cpu=wall"), ("--only-cpu=timer",), ("--cpu=timer", "--all"), ("--cpu-signal", "40"),
              ("--cpu=timer", "--cpu-signal", "9"), ("--cpu=perf", "--cpu-signal", "40"), ("--cpu=timer", "--only-faults")))
def test_wrong_usage(t, wrong):
    t.run("run", *wrong, "--", "/bin/true")
    t.equal("status, lines", (t.status, len(t.stderr.splitlines())), (2, 1))


def test_at_marks(t):
    """A sample counts between the two marks between which it was taken, however many marks one pass of the collector reads."""
    events = 40
    profile = t.record(t.build("sampled_marks.c", "-O1", "-I", os.path.join(ROOT, "include")), str(events), opts=TIMER)
    found = {"touched": 0, "spun": 0, "begin": 0}
    for i in range(1, events + 1):
        for since, at in (("begin#%d", "touched#%d"), ("touched#%d", "spun#%d")):
            found[at[:-3]] += t.total(t.report(profile, "cpu", "--since", since % i, "--at", at % i), "spin")[1]
        found["begin"] += t.total(t.report(profile, "cpu", "--since", "spun#%d" % i, "--at", "begin#%d" % (i + 1)), "spin")[1]
    every = t.total(t.report(profile, "cpu"), "spin")[1]
    t.true("samples", every >= 10, every)
    t.equal("by the mark after them", found, {"touched": 0, "spun": every, "begin": 0})
