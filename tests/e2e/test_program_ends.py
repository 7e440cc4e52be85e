"""Ends that test_program_unchanged.py's nine do not cover: each event up to the end is in the profile, and how it ended."""
import shutil
import struct

from harness import Skipped, memory_group

BEFORE, GOES_ON = (64000, 1000), (48 * 700, 700)


def program(t):
    return t.build("late_ends.c", "-O1")


def ended(t, report, status):
    by_signal = status > 128
    t.equal("signal", report["signal"], status - 128 if by_signal else None)
    if not by_signal:
        t.equal("exit code", report["exit_code"], status)


def test_exit_without_handlers(t):
    profile = t.record(program(t), "_Exit", status=7)
    t.equal("allocations", t.consistent(profile)["allocations"], 1000)
    ended(t, t.report(profile), 7)


def test_a_real_fault(t):
    """Not raise(SIGSEGV): the kernel's own, from a bad address."""
    profile = t.record(program(t), "fault", status=128 + 11)
    t.equal("allocations", t.consistent(profile)["allocations"], 1000)
    ended(t, t.report(profile), 128 + 11)


def test_first_thread_leaves_and_the_process_goes_on(t):
    profile = t.record(program(t), "first_leaves")
    report = t.report(profile)
    t.consistent(profile)
    t.equal("before_end", t.total(report, "before_end"), BEFORE)
    t.equal("goes_on", t.total(report, "goes_on"), (2 * GOES_ON[0], 2 * GOES_ON[1]))
    ended(t, report, 0)


def test_last_thread_leaves_by_pthread_exit(t):
    profile = t.record(program(t), "all_leave")
    report = t.report(profile)
    t.consistent(profile)
    t.equal("both threads", (t.total(report, "before_end"), t.total(report, "goes_on")), (BEFORE, GOES_ON))
    ended(t, report, 0)


def test_exec_of_a_recorded_program(t):
    """The same process is two programs: both are whole, and the first says that it went on as another."""
    profile = t.record(program(t), "exec", program(t), "_Exit", status=7)
    report = t.report(profile)
    t.equal("profiles", [p["pid"] for p in report["processes"]], [report["pid"]] * 2)
    for which in ("%d#1" % report["pid"], str(report["pid"])):
        each = t.report(profile, "live", "--process", which)
        t.equal("before_end in " + which, t.total(each, "before_end"), BEFORE)
        t.equal("complete", each["complete"], True)
    ended(t, t.report(profile, "live", "--process", str(report["pid"])), 7)


def test_exec_of_a_static_program(t):
    """It cannot be recorded; what came before is whole, its status is passed on, and the report says so."""
    static = t.build("lingers.c", "-O1", "-static")
    profile = t.record(program(t), "exec", static, status=17)
    report = t.report(profile)
    t.equal("allocations", t.consistent(profile)["allocations"], 1000)
    t.equal("before_end", t.total(report, "before_end"), BEFORE)
    ended(t, report, 17)
    t.true("a note names the static program", any(static in note for note in report["notes"]), report["notes"])


def test_exec_that_fails(t):
    profile = t.record(program(t), "exec", "/no/such/program", status=8)
    report = t.report(profile)
    t.equal("allocations", t.consistent(profile)["allocations"], 1030)
    t.equal("after_failure", t.total(report, "after_failure"), (480, 30))
    t.equal("one profile", len(report["processes"]), 1)
    ended(t, report, 8)


def test_killed_for_want_of_memory(t):
    """The kernel's out-of-memory killer, in a cgroup of 32 MiB; the program counted its blocks in a file."""
    counted = t.file("counted")
    with memory_group(t, 32 << 20) as group:
        if not group:
            raise Skipped("no memory cgroup can be made here")
        enter = 'echo $$ >%s/cgroup.procs && exec "$@"' % group
        profile = t.record("sh", "-c", enter, "sh", program(t), "memory", counted, opts=("--only", "late_ends"), status=128 + 9)
    with open(counted, "rb") as file:
        count, = struct.unpack("<q", file.read())
    report = t.report(profile)
    t.equal("before_end", t.total(report, "before_end"), BEFORE)
    t.true("some blocks", count >= 10, count)
    # It dies while it touches a block that was counted, or in malloc, or between malloc and the count.
    t.true("as many as it counted, or one in flight", t.total(report, "touch_without_end")[1] - count in (0, 1),
           (t.total(report, "touch_without_end"), count))
    t.equal("lost", report["totals"]["lost_events"], 0)
    ended(t, report, 128 + 9)


def test_program_file_replaced_while_it_runs(t):
    """By an equal one, as a build does: its functions still have names."""
    copy = t.file("copy")
    shutil.copy(program(t), copy)
    script = "exec 9<copy; cp copy new; mv new copy; exec /proc/self/fd/9 _Exit"
    profile = t.record("sh", "-c", script, opts=("--only", "copy"), status=7)
    t.equal("before_end", t.total(t.report(profile), "before_end"), BEFORE)
