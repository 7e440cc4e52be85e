"""What points to each block that is left: exact, by blocks whose sizes tell them apart."""
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import time

from harness import MIMALLOC_LIBRARY, ROOT, Skipped, cases
from scans import ASKED, END, EXIT, processes, scans
from unprivileged import AS_NOBODY, give_to_nobody

LEFT = {"lost": [1005, 1006, 1008, 1010, 1020, 1030, 1050, 1051], "indirect": [1011, 1021, 1022, 1052],
        "reachable": [0, 1001, 1002, 1003, 1040, 1041, 1042]}
ALLOCATORS = {"libc": "", "jemalloc": "libjemalloc.so.2", "tcmalloc": "libtcmalloc.so.4",
              "tcmalloc_minimal": "libtcmalloc_minimal.so.4", "mimalloc": MIMALLOC_LIBRARY}


def program(t, *flags):
    return t.build("scanned.c", "-O1", "-I", os.path.join(ROOT, "include"), *flags)


def of_program(sizes):
    """Without what an allocator allocates for itself, or libc: only sizes that our programs use."""
    return {kind: [s for s in all if s < 4096 and s not in (16, 512)] for kind, all in sizes.items()}


@cases(allocator=tuple(ALLOCATORS))
def test_what_points_to_a_block(t, allocator):
    preload = {"LD_PRELOAD": ALLOCATORS[allocator]} if ALLOCATORS[allocator] else {}
    found = scans(t, t.record(t.build("leaks.c", "-O1"), env=preload))
    t.equal("kinds of scan", [scan.kind for scan in found], [EXIT, END])
    for scan in found:
        t.equal("no reason", scan.reason, "")
        t.equal("blocks", of_program(scan.sizes()), LEFT)


def test_agrees_with_other_tools(t):
    """The fast part of `make test-leaks`: valgrind and LeakSanitizer, by allocating function."""
    sys.path.insert(0, os.path.join(ROOT, "tests", "leaks"))
    import agree
    lines, wrong = agree.compare("leaks.c", [t.build("leaks.c", "-O1")], t.dir, t.tidemark, "leaks.c")
    t.true("differences: " + "; ".join(lines[1:]), wrong == 0)
    t.true("all that is lost, and by both tools", re.search("12 blocks, +12286 bytes: valgrind, sanitizer", lines[0]), lines)


@cases(allocator=tuple(ALLOCATORS))
def test_stale_memory_keeps_nothing(t, allocator):
    """What points to these blocks was given back, in the first thread and in one that has ended."""
    preload = {"LD_PRELOAD": ALLOCATORS[allocator]} if ALLOCATORS[allocator] else {}
    for scan in scans(t, t.record(program(t), "stale", env=preload)):
        sizes = scan.sizes()
        t.equal("lost", [s for s in sizes["lost"] if s == 2060], [2060] * 2000)
        t.equal("lost beside them", [s for s in sizes["lost"] if s != 2060], [])


def test_pointers_with_a_counter(t):
    for scan in scans(t, t.record(t.build("counted_pointers.c", "-O1"))):
        sizes = of_program(scan.sizes())
        t.equal("blocks", (sizes["lost"], sizes["reachable"]), ([56], [48] * 100))


@cases(taken_back=(False, True))
def test_the_kernel_points_to_them(t, taken_back):
    """What epoll returns, what a timer's signal brings, and where signal handlers run: no pointer is in the program."""
    given = [3001, 3002, 3003, 65540, 65541]
    profile = t.record(t.build("kernel_pointers.c", "-O1"), *(["removed"] if taken_back else []))
    for scan in scans(t, profile):
        sizes = scan.sizes()
        t.equal("no reason", scan.reason, "")
        t.equal("lost", sizes["lost"], (given[:3] if taken_back else []) + [3009] + (given[3:] if taken_back else []))
        t.equal("reachable", [s for s in sizes.get("reachable", []) if s in given], [] if taken_back else given)


def test_code_points_to_them(t):
    """Constants in code that the program generated, at odd addresses; and data that it made read-only."""
    for scan in scans(t, t.record(t.build("code_pointers.c", "-O1"))):
        lost = [3009] if platform.machine() == "x86_64" else [3001, 3002, 3003, 3009]
        t.equal("lost", scan.sizes().get("lost"), lost)


@cases(mode=("exit", "return", "quick_exit", "handler", "vfork"))
def test_freed_at_exit(t, mode):
    """Before destructors ran, and after; what they allocate is not in the interval before."""
    found = scans(t, t.record(program(t), mode))
    t.equal("kinds of scan", [scan.kind for scan in found], [EXIT, END])
    t.equal("before", found[0].sizes(), {"lost": [2010], "reachable": [2020]})
    t.equal("after", found[1].sizes(), {"lost": [2010, 2021]})
    t.true("intervals", found[0].intervals < found[1].intervals, [scan.intervals for scan in found])


def test_exit_without_destructors(t):
    found = scans(t, t.record(program(t), "_exit"))
    t.equal("scans", [(scan.kind, scan.sizes()) for scan in found], [(END, {"lost": [2010], "reachable": [2020]})])


UNSEEN = {"abort": (134, "signal 6"), "killed": (137, "signal 9"), "exec": (0, "exec"), "system_call": (0, "system call of its own"),
          "filter": (0, "seccomp filter of its own, so"), "descriptors": (0, "had no file descriptor left")}


@cases(mode=tuple(UNSEEN))
def test_ends_that_cannot_be_seen(t, mode):
    status, reason = UNSEEN[mode]
    found = scans(t, t.record(program(t), mode, status=status))
    t.equal("kinds of scan", [scan.kind for scan in found], [END])
    t.equal("blocks", found[0].sizes(), {"unknown": [2010, 2021 if status == 0 and mode in ("filter", "descriptors") else 2020]})
    t.true("reason", reason in found[0].reason, found[0].reason)


def test_scan_switched_off(t):
    found = scans(t, t.record(program(t), "exit", opts=("--no-scan",)))
    t.equal("scans", [(scan.kind, scan.sizes()) for scan in found], [(END, {"unknown": [2010, 2021]})])
    t.true("reason", "--no-scan" in found[0].reason, found[0].reason)


@cases(allocator=tuple(ALLOCATORS))
def test_empty_arrays(t, allocator):
    """new T[0] of a type with a destructor: what is kept is one past the block, and keeps it."""
    preload = {"LD_PRELOAD": ALLOCATORS[allocator]} if ALLOCATORS[allocator] else {}
    for scan in scans(t, t.record(t.build("empty_arrays.cpp", "-O0"), env=preload)):
        t.equal("lost", scan.sizes().get("lost"), [8, 8 + 7 * 4])
        reachable = scan.sizes()["reachable"]
        t.true("kept", {8, 16, 8 + 5 * 4} <= set(reachable), reachable)


def test_unusual_holders(t):
    """Data of keys, of a library and of its threads hold a block; other disguises, the kernel and what was unloaded do not."""
    library, closed = (t.build("plugin_roots.c", flag, shared=True) for flag in ("-O1", "-O2"))
    program = t.build("leak_roots.c", "-O1")
    for scan in scans(t, t.record(program, library, closed)):
        if scan.kind != EXIT:
            continue  # afterwards the keys' and the library's data are as before, but the loader has cleaned up
        sizes = scan.sizes()
        t.equal("held", [s for s in sizes["reachable"] if 3100 <= s < 3300], [3100, 3101, 3120, 3121])
        t.equal("not held", [s for s in sizes["lost"] + sizes.get("indirect", []) if s >= 3100],
                [3200, 3201, 3202, 3203, 3210, 3211, 3221, 3222, 3223, 3230, 3231, 3264, 5000000])


def test_exit_from_a_thread(t):
    """The first thread waits elsewhere; the block on the stack of the one that ends is reachable."""
    for scan in scans(t, t.record(program(t), "thread")):
        sizes = scan.sizes()
        t.equal("lost", sizes["lost"], [2010])
        t.true("on the stack", 2011 in sizes["reachable"], sizes)


def test_threads_that_still_run(t):
    """They allocate while the program ends: it is looked at before its destructors run, and not made to wait after them."""
    found = scans(t, t.record(program(t), "running"))
    t.equal("kinds of scan", [(scan.kind, scan.reason) for scan in found], [(EXIT, ""), (END, "")])
    for scan in found:
        t.equal("lost", (scan.sizes().get("lost"), scan.sizes().get("indirect")), ([2003], None))
    t.equal("unknown before", found[0].sizes().get("unknown"), None)


@cases(thread=("none", "python", "native"))
def test_python_with_threads(t, thread):
    """Threads of Python, or of a library, that wait or work when it ends."""
    start = {"none": "pass", "python": "threading.Thread(target=time.sleep, args=(600,), daemon=True).start()",
             "native": "ctypes.CDLL('%s').pool_start(3)" % t.build("thread_pool.c", "-O1", shared=True)}[thread]
    # glibc maps such blocks one by one: nothing that Python has freed can still point to what was there before.
    size = (32 << 20) + 54321
    script = ("import ctypes, threading, time; malloc = ctypes.CDLL(None).malloc; malloc.restype = ctypes.c_void_p; malloc.argtypes = [ctypes.c_size_t]\n"
              "%s\nfor i in range(20): malloc(%d)\nmalloc = None" % (start, size))
    found = scans(t, t.record("/usr/bin/python3", "-c", script))
    t.equal("kinds of scan", [(scan.kind, scan.reason) for scan in found], [(EXIT, ""), (END, "")])
    for scan in found:
        lost = sum(s == size for s in scan.sizes().get("lost", []))
        t.true("lost", 15 <= lost <= 20, lost)  # the last addresses may be left in memory that Python has freed
        t.true("kept", scan.total("reachable")[0] > 100, scan.total("reachable"))


def test_destructors(t):
    before, after = scans(t, t.record(t.build("scanned.cpp", "-O1")))
    own = lambda scan: [s for s in scan.sizes().get("reachable", []) if 3000 <= s < 3010]
    t.equal("before", (own(before), before.sizes().get("lost")), ([3000, 3001, 3002], None))
    t.equal("after", (own(after), after.sizes().get("lost")), ([], None))


def test_forked_child(t):
    """An inherited block is no block of the child's, but keeps one."""
    parent, child = processes(t, t.record(program(t), "fork"))
    t.equal("parent", parent[-1].sizes(), {"reachable": [2030], "lost": [2031]})
    t.equal("child", child[-1].sizes(), {"reachable": [2032], "lost": [2033]})


def test_killed_meanwhile(t):
    """The memory of a process that is killed is gone. What was not read by then says nothing about what is lost."""
    profile = t.record(t.build("killed_at_end.c", "-O1"), opts=("--scan=full",))
    for process in t.report(profile)["processes"]:
        leaks = t.ask(profile, "leaks", "--process", str(process["pid"]))["totals"]
        t.equal("lost by %d" % process["pid"], leaks["lost_bytes"], 0)


def test_mappings_of_the_program(t):
    t.equal("blocks", scans(t, t.record(program(t), "mapped"))[-1].sizes(), {"reachable": [2040, 2041]})


def test_blocks_that_were_never_announced(t):
    """They may hold pointers: what they point to is not called lost."""
    t.equal("blocks", scans(t, t.record(program(t), "paused"))[-1].sizes(), {"reachable": [2071]})


def test_pages_never_touched(t):
    page = os.sysconf("SC_PAGESIZE")
    for scan in scans(t, t.record(program(t), "untouched")):
        rows = [row for row in scan.rows if row[2] == 1 << 20]
        # libc's header is on its first page, 16 bytes before the block.
        t.equal("untouched", [row[3] for row in rows], [(1 << 20) - (page - 16) - 2 * page])
        t.equal("known", scan.residency, 1)


def test_not_permitted(t):
    """Another user may not look into a program that is not dumpable."""
    if os.geteuid() != 0:
        raise Skipped("needs root, to become another user")
    profile = os.path.join(os.path.dirname(give_to_nobody(t)), "p.tide")
    t.plain(*AS_NOBODY, give_to_nobody(t), "run", "--quiet", "-o", profile, "--", shutil.copy(program(t), t.file("copy")), "undumpable")
    t.equal("exit status", t.status, 0)
    found = scans(t, profile)
    t.equal("blocks", found[-1].sizes(), {"unknown": [2050]})
    t.true("reason", "permitted" in found[-1].reason, found[-1].reason)


class Running:
    """tests/programs/scanned.c under tidemark, at the point where it waits."""

    def __init__(self, t, *arguments, before=()):
        self.t, self.profile = t, t.file("running.tide")
        self.tool = subprocess.Popen([*before, t.tidemark, "run", "--quiet", "-o", self.profile, "--", program(t), *arguments],
                                     stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=t.dir)
        t.equal("it is ready", self.tool.stdout.readline(), b"ready\n")
        with open("/proc/%d/task/%d/children" % (self.tool.pid, self.tool.pid)) as children:
            self.program = int(children.read().split()[0])

    def leaks(self, status=0):
        stdout, stderr, got = self.t.run("ctl", str(self.program), "leaks")
        self.t.equal("status of ctl (%s)" % stderr, got, status)
        return stdout + stderr

    def end(self):
        stderr = self.tool.communicate()[1].decode()
        self.t.equal("exit status (%s)" % stderr, self.tool.returncode, 0)
        return scans(self.t, self.profile), stderr


def states(pid):
    return {open("/proc/%d/task/%s/stat" % (pid, tid)).read().rsplit(")", 1)[1].split()[0]
            for tid in os.listdir("/proc/%d/task" % pid)}


@cases(threads=(1, 64))
def test_threads_that_wait(t, threads):
    """On a stack, in thread-local storage, in a register only; none of their calls is interrupted."""
    run = Running(t, "waiting", str(threads))
    for _ in range(3):
        t.true("ctl tells", "lost 2.0 KiB in 1 block," in run.leaks())
        t.true("nobody is left stopped", not states(run.program) & {"t", "T"}, states(run.program))
    found, stderr = run.end()
    t.equal("kinds of scan", [scan.kind for scan in found], [ASKED] * 3 + [EXIT, END])
    for scan in found:
        sizes = scan.sizes()
        t.equal("lost", sizes["lost"], [2003])
        t.equal("reachable", [s for s in sizes["reachable"] if 2000 <= s < 2100], [2000] * threads + [2001, 2002])
    t.equal("what the program saw", stderr, "0 wrong, 0 signals\n")
    marks = t.ask(run.profile, "marks")["marks"]
    t.equal("marks", [mark["label"] for mark in marks], ["leaks"] * 3)


def test_signals_meanwhile(t):
    """Each arrives, once, at a program that is held again and again."""
    run = Running(t, "signals", "8")
    asking = subprocess.Popen(["sh", "-c", "for i in 1 2 3 4 5 6 7 8 9 10; do %s ctl %d leaks; done" % (t.tidemark, run.program)],
                              stdout=subprocess.DEVNULL)
    for _ in range(100):
        os.kill(run.program, signal.SIGRTMIN)
        time.sleep(0.001)
    t.equal("ctl", asking.wait(), 0)
    found, stderr = run.end()
    t.equal("what the program saw", stderr, "0 wrong, 100 signals\n")
    t.true("all were scanned", all(scan.sizes()["lost"] == [2003] for scan in found), [scan.sizes() for scan in found])


def test_threads_at_work(t):
    """They allocate, reallocate and free at any moment; none of their blocks is called lost."""
    run = Running(t, "working")
    for _ in range(10):
        run.leaks()
    found, _ = run.end()
    t.equal("scans", len(found), 11)
    for scan in found:
        t.equal("lost", (scan.sizes().get("lost"), scan.sizes().get("indirect")), ([2003], None))


def test_stopped_program(t):
    """It stays as it was: stopped."""
    run = Running(t, "waiting", "2")
    os.kill(run.program, signal.SIGSTOP)
    while states(run.program) != {"T"}:
        time.sleep(0.001)
    t.true("ctl tells", "lost 2.0 KiB in 1 block," in run.leaks())
    until = time.monotonic() + 30
    while states(run.program) != {"T"} and time.monotonic() < until:
        time.sleep(0.001)  # threads that are let go stop again, one by one
    t.equal("state", states(run.program), {"T"})
    os.kill(run.program, signal.SIGCONT)
    _, stderr = run.end()
    t.equal("what the program saw", stderr, "0 wrong, 0 signals\n")


def test_traced_by_another(t):
    run = Running(t, "waiting", "2")
    seize = "import ctypes, time; ctypes.CDLL(None).ptrace(0x4206, %d, None, None); time.sleep(600)" % run.program
    tracer = subprocess.Popen(["/usr/bin/python3", "-c", seize])
    status = lambda: open("/proc/%d/status" % run.program).read()
    while "TracerPid:\t0\n" in status() and tracer.poll() is None:
        time.sleep(0.01)
    told = run.leaks(status=1)
    t.true("ctl says who", "process %d" % tracer.pid in told, told)
    tracer.terminate()
    tracer.wait()
    found, _ = run.end()
    t.true("the recording too", "process %d" % tracer.pid in found[0].reason, found[0].reason)
    t.true("later it is permitted", found[-1].reason == "" and found[-1].sizes()["lost"] == [2003], found[-1].sizes())


def test_what_ruby_leaves_is_not_known(t):
    """Its objects are released as it ends, what they own is not. An extension's blocks are judged as always."""
    profile = t.record(t.build("ruby_like.c", "-O1"), t.build("loses_in_extension.c", "-O1", shared=True))
    leaks = t.ask(profile, "leaks", "--top", "0", "--min", "0")
    found = sorted((leak["kind"], leak["stack"][0]["function"], leak["bytes"], leak["count"]) for leak in leaks["leaks"]
                   if leak["stack"][0]["function"] in ("own", "forget", "lose"))
    t.equal("kinds", found, [("lost", "lose", 210, 7), ("unclassified", "forget", 64, 1), ("unclassified", "own", 5000, 50)])
    report = t.report(profile)
    t.equal("one note", [note.split(";")[0] for note in report["notes"] if note.startswith("Ruby")], ["Ruby frees its objects before it ends, so it is not known whether what they owned was lost: 4.9 KiB in 51 blocks"])
    text = t.run("leaks", profile)[0]
    t.true("the text says why", "51 blocks from 2 stacks, unclassified: their owners were freed before the leak scan" in " ".join(text.split()), text)
