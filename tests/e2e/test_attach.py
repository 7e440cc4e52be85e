"""Programs that run already: tidemark attach and detach. tests/programs/attached.c does what it is told, and counts."""
import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time

from attaching import Attached, SUPPORTED, program, stack_start, state_of
from harness import MIMALLOC_LIBRARY, cases, eventually
from program_code import CONFINES_ITSELF, code_of
from unprivileged import AS_NOBODY, give_to_nobody

ALLOCATORS = {"glibc": None, "jemalloc": "libjemalloc.so.2", "tcmalloc": "libtcmalloc_minimal.so.4", "mimalloc": MIMALLOC_LIBRARY}


def children_of(pid):
    """The children of all its threads: the kernel lists a child under the thread that forked it."""
    found = []
    for tid in os.listdir("/proc/%d/task" % pid):
        with open("/proc/%d/task/%s/children" % (pid, tid)) as text:
            found += [int(child) for child in text.read().split()]
    return found


def totals(report):
    return [report["totals"][name] for name in ("allocations", "frees", "bytes_allocated")]


def since(before, after):
    return [b - a for a, b in zip(before, after)]


@cases(allocator=ALLOCATORS)
def test_server_that_gave_up_root(t, allocator):
    """As workers of apache: /proc/self/mem is root's, so the library reads code in another way."""
    if not SUPPORTED or os.geteuid() != 0:
        return
    with program(t, preload=ALLOCATORS[allocator]) as p:
        p.tell("nobody 65534")
        t.equal("owner of its memory", os.stat("/proc/%d/mem" % p.pid).st_uid, 0)
        before, code = p.tell("large 2"), p.code()
        attached = Attached(t, p.pid)
        p.tell("each 100")
        after = p.tell("small 500")
        report = t.report(attached.detach())
        t.equal("what it did", totals(report), since(before, after))
        t.equal("its code is its own", p.code() == code, True)


@cases(allocator=ALLOCATORS)
def test_counts_are_the_programs_own(t, allocator):
    if not SUPPORTED:
        return
    with program(t, preload=ALLOCATORS[allocator]) as p:
        p.tell("small 1000")
        p.tell("each 3")
        before = p.tell("large 2")
        code = p.code()
        attached = Attached(t, p.pid)
        t.true("its code was changed", p.code() != code)
        p.tell("small 500")
        p.tell("each 100")
        p.tell("drop 450")
        after = p.tell("small 1")
        report = t.report(attached.detach())
        t.equal("what it did", totals(report), since(before, after))
        t.equal("nothing unknown", report["totals"]["unknown_frees"], 0)
        t.equal("nothing lost", report["totals"]["lost_events"], 0)
        t.equal("live", report["totals"]["live_blocks"], 51)
        t.equal("complete", report["complete"], True)
        t.equal("it was detached from", report["attached"]["detached"], True)
        t.equal("frees of blocks from before", report["attached"]["before_frees"], 0)
        t.equal("who", t.row(t.report(attached.profile, "total"), "keep")["self_count"], 501)
        t.equal("its code is its own", p.code() == code, True)

        before = p.tell("small 10")  # and again, with the library that is there
        attached = Attached(t, p.pid)
        after = p.tell("drop 1500")
        report = t.report(attached.detach())
        t.equal("what it did then", totals(report), [0, 0, 0])
        t.equal("all were from before", report["attached"]["before_frees"], after[1] - before[1])
        t.equal("its code is its own again", p.code() == code, True)
        t.equal("it ends as ever", p.end(), 5)


def test_what_was_there_before(t):
    """Against mallinfo2, which counts what malloc_info does; loading the library allocates a little."""
    if not SUPPORTED:
        return
    with program(t) as p:
        p.tell("small 20000")
        p.tell("each 10")
        p.tell("large 7")
        p.tell("drop 3")
        p.tell("threads 2000")
        used, mapped = p.tell("info 0")
        t.equal("blocks that are mapped alone", mapped, 4)
        report_file = Attached(t, p.pid).detach()
        report = t.report(report_file)
        before = report["attached"]
        t.equal("known", before["before_known"], True)
        t.true("bytes within 1 %", abs(before["before_bytes"] - used) * 100 <= used, (before, used))
        t.true("blocks within 1 %", abs(before["before_blocks"] - 20004) * 100 <= 20004, before)
        for command in ("report", "leaks"):
            words = " ".join(t.run(command, report_file)[0].split())
            t.true(command + " says what is known", "something pointed to each of the" in words and "types are not known" in words, words)
        words = " ".join(t.run("findings", report_file)[0].split())
        t.true("findings does not call them free", "free, or in blocks that were not recorded" in words and "free but kept" not in words, words)
        leaks = t.ask(report_file, "leaks")
        t.equal("leaks' JSON too", leaks["attached"], before)
        t.equal("nor was asked what points to them", t.report(Attached(t, p.pid, "--only-new").detach())["attached"]["before_reachability"], None)
        t.run("report", Attached(t, p.pid, "--only-new").detach())
        t.true("said", "before the attach" in t.stdout, t.stdout)
    with program(t, preload=ALLOCATORS["jemalloc"]) as p:
        report = t.report(Attached(t, p.pid).detach())
        t.equal("of another allocator it is not known", report["attached"]["before_known"], False)


@cases(lost=(0, 400))
def test_what_points_to_older_blocks(t, lost):
    """A stale word may keep some; nothing that is in use is lost, nor what a thread has freed and keeps (tcache, fast bins)."""
    if not SUPPORTED:
        return
    with program(t) as p:
        p.tell("waiting 3")
        p.tell("small 5000")
        p.tell("lose %d" % lost)
        p.tell("threads 500")
        p.tell("each 50")
        p.tell("drop 1000")
        p.tell("prepare %d" % (lost // 10))
        attached = Attached(t, p.pid)
        p.tell("hang %d" % (lost // 10))
        p.tell("drop 500")
        p.tell("small 50")
        p.tell("each 20")
        profile = attached.detach()
        report = t.report(profile)
        reach = report["attached"]["before_reachability"]
        blocks, size = 2 * lost + lost // 10, lost * (512 + 720) + lost // 10 * 912
        t.true("those that were left", 0 <= reach["blocks"] - 3500 - blocks < 100, reach)
        t.true("lost ones", blocks * 0.95 <= reach["lost_blocks"] <= blocks, reach)
        t.true("their bytes", size * 0.95 <= reach["lost_bytes"] <= size, reach)
        t.equal("frees", report["attached"]["before_frees"], 500)
        words = " ".join(t.run("report", profile)[0].split())
        t.true("said", ("nothing pointed to" if lost else "something pointed to each") in words, words)
        leaks = t.ask(profile, "leaks")["leaks"]
        t.equal("no new one is lost, also where only a lost one points to it", [leak for leak in leaks if leak["kind"] != "reachable"], [])


def test_threads_and_children(t):
    if not SUPPORTED:
        return
    with program(t) as p:
        p.tell("small 100")
        attached = Attached(t, p.pid)
        p.tell("threads 5000")
        p.tell("map 3")
        p.tell("fork 40")
        profile = attached.detach()
        report = t.report(profile, "total", "--process", str(p.pid))
        t.equal("allocations of the threads", t.row(report, "work")["self_count"], 8 * 5000)
        t.equal("mapped", t.row(t.report(profile, "mapped", "--process", str(p.pid)), "map")["self_count"], 3)
        t.equal("it has a child", len(report["processes"]), 2)
        child = report["processes"][1]
        t.equal("how that ended", child["exit_code"], 3)
        report = t.report(profile, "total", "--process", str(child["pid"]))
        t.equal("allocations of the child", report["totals"]["allocations"], 40)
        t.equal("which it freed", report["totals"]["frees"], 40)
        t.equal("and blocks from before", report["attached"]["before_frees"], 5)
        t.equal("not unknown", report["totals"]["unknown_frees"], 0)


def test_the_program_ends(t):
    if not SUPPORTED:
        return
    with program(t) as p:
        before = p.tell("small 100")
        attached = Attached(t, p.pid)
        after = p.tell("each 20")
        t.equal("it ends as ever", p.end(), 5)
        report = t.report(attached.finish())
        t.equal("what it did", totals(report), since(before, after))
        t.equal("its exit status", report["exit_code"], 5)
        t.equal("complete", report["complete"], True)
        t.equal("not detached from", report["attached"]["detached"], False)


@cases(how=("interrupt", "duration"))
def test_other_ends(t, how):
    if not SUPPORTED:
        return
    with program(t) as p:
        code, before = p.code(), p.tell("small 100")
        attached = Attached(t, p.pid, *(("--duration", "300ms") if how == "duration" else ()))
        if how == "interrupt":
            after = p.tell("each 20")
            attached.tool.send_signal(signal.SIGINT)
            t.equal("what it did", totals(t.report(attached.finish())), since(before, after))
        else:
            t.true("recorded", os.path.exists(attached.finish()))
        t.equal("its code is its own", p.code() == code, True)
        t.equal("it goes on", p.tell("small 1")[0] > before[0], True)


def test_a_killed_collector(t):
    """The program goes on; whoever comes next gives it its code back."""
    if not SUPPORTED:
        return
    with program(t) as p:
        code = p.code()
        for way in ("detach", "attach"):
            attached = Attached(t, p.pid)
            attached.tool.kill()
            attached.finish(-signal.SIGKILL)
            for i in range(20):  # more than fits into a ring: nobody reads it
                p.tell("each 2000")
            if way == "detach":
                stdout, stderr, status = t.run("detach", str(p.pid))
                t.equal("detach (%s)" % stderr, status, 0)
                t.equal("its code is its own", p.code() == code, True)
        attached = Attached(t, p.pid)
        before = p.tell("small 0")
        after = p.tell("each 10")
        t.equal("what it did", totals(t.report(attached.detach())), since(before, after))
        t.equal("its code is its own at last", p.code() == code, True)
        stdout, stderr, status = t.run("detach", str(p.pid))
        t.equal("nothing to detach from", status, 1)
        t.true("says so", "has not been attached to" in stderr, stderr)


@cases(threads=(0, 3))
def test_killed_in_the_middle(t, threads):
    """Whatever tidemark was doing to the program: a thread that it used puts itself back, and the next one restores the code."""
    if not SUPPORTED:
        return
    with program(t) as p:
        code, count = p.code(), p.tell("waiting %d" % threads)[0]
        for i in range(20):
            tool = subprocess.Popen([t.tidemark, "attach", str(p.pid), "--quiet", "-o", t.file("killed.tide")], cwd=t.dir,
                                    stderr=subprocess.PIPE, start_new_session=True)
            at_work = []

            def begun():
                with open("/proc/%d/task/%d/children" % (tool.pid, tool.pid)) as children:
                    at_work[:] = [int(child) for child in children.read().split()]
                return at_work or tool.poll() is not None
            eventually("it is at work", begun)
            time.sleep(0.002 * i)
            for pid in (*at_work, tool.pid):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            tool.communicate()
            count += 1
            t.equal("it goes on after %d" % i, p.tell("small 1")[0], count)
        before = p.tell("small 0")
        attached = Attached(t, p.pid)
        after = p.tell("each 10")
        t.equal("what it did", totals(t.report(attached.detach())), since(before, after))
        t.equal("its code is its own", p.code() == code, True)
        t.equal("it ends as ever", p.end(), 5)


def test_control(t):
    if not SUPPORTED:
        return
    with program(t) as p:
        attached = Attached(t, p.pid)
        p.tell("small 10")
        t.equal("a mark", t.run("ctl", str(p.pid), "mark", "here")[2], 0)
        p.tell("small 20")
        stdout, stderr, status = t.run("attach", str(p.pid))
        t.equal("a second one", status, 1)
        t.true("says why", "already being recorded" in stderr, stderr)
        profile = attached.detach()
        t.equal("since the mark", t.report(profile, "total", "--since", "here")["totals"]["allocations"], 20)
        mappings = t.ask(profile, "maps", "--by", "mapping")["rows"]
        library = {row["kind"] for row in mappings if "libtidemark.so" in (row["name"] or "")}
        t.equal("the library in the program is tidemark's own memory", library, {"tidemark"})


def test_mappings_of_a_moment(t):
    """However short the recording was."""
    if not SUPPORTED:
        return
    with program(t) as p:
        profile = Attached(t, p.pid).detach()
        names = [row["name"] or "" for row in t.ask(profile, "maps", "--by", "mapping")["rows"]]
        t.true("the program's file is mapped", any(name.endswith("/attached") for name in names), names)


def test_pause(t):
    """Blocks of a pause are not those from before the attach."""
    if not SUPPORTED:
        return
    with program(t) as p:
        p.tell("small 100")
        attached = Attached(t, p.pid)
        t.equal("pause", t.run("ctl", str(p.pid), "pause")[2], 0)
        p.tell("small 30")
        before = p.tell("info 0") and p.tell("small 0")
        freed = p.tell("drop 20")[1] - before[1]
        t.equal("resume", t.run("ctl", str(p.pid), "resume")[2], 0)
        report = t.report(attached.detach())
        t.equal("frees of blocks from before the attach", report["attached"]["before_frees"], 0)
        said = [n for n in report["notes"] if "paused for a while" in n]
        t.true("the note says what the frees may be", len(said) == 1 and "%d frees of such blocks or of blocks from before the attach" % freed
               in said[0], report["notes"])


def test_dormant_for_a_while(t):
    """As in a pause: a free of a block that is not known may be one of a block from before the attach."""
    if not SUPPORTED:
        return
    with program(t) as p:
        p.tell("small 100")
        attached = Attached(t, p.pid)
        for action in ("stop", "start"):
            t.equal(action, t.run("ctl", str(p.pid), action)[2], 0)
        before = p.tell("info 0") and p.tell("small 0")
        freed = p.tell("drop 20")[1] - before[1]
        report = t.report(attached.detach())
        t.equal("frees of blocks from before the attach", report["attached"]["before_frees"], 0)
        said = [n for n in report["notes"] if "dormant for a while" in n]
        t.true("the note says what the frees may be", len(said) == 1 and "%d frees of such blocks or of blocks from before the attach;" % freed
               in said[0], report["notes"])


@cases(threads=(0, 5))
def test_a_stopped_program(t, threads):
    """It is attached to as it stands, goes on standing, and is recorded from when it is let go."""
    if not SUPPORTED:
        return
    with program(t) as p:
        code, before = p.code(), p.tell("waiting %d" % threads)
        for cycle in range(3):
            os.kill(p.pid, signal.SIGSTOP)
            eventually("it is stopped", lambda: state_of(p.pid) == "T")
            attached = Attached(t, p.pid)
            # Who is let go of by a tracer is runnable for a moment, until the kernel stops it again.
            eventually("it stays stopped", lambda: state_of(p.pid) == "T")
            t.true("its code was changed", p.code() != code)
            os.kill(p.pid, signal.SIGCONT)
            p.tell("small 10")
            os.kill(p.pid, signal.SIGSTOP)
            eventually("it is stopped again", lambda: state_of(p.pid) == "T")
            profile = attached.detach()
            eventually("it still is", lambda: state_of(p.pid) == "T")
            t.equal("its code is its own", p.code() == code, True)
            t.equal("recorded", t.report(profile)["totals"]["allocations"], 10)
            os.kill(p.pid, signal.SIGCONT)
        t.equal("it goes on", p.tell("small 1")[0], before[0] + 31)


def test_stopped_in_its_allocator(t):
    """Who stands there holds locks: the program is left alone until it goes on."""
    if not SUPPORTED:
        return
    flag = t.file("halt")
    with program(t, preload=t.build("halting_malloc.c", "-O1", shared=True), env={"HALT": flag}) as p:
        with open(flag, "w"):
            pass
        p.process.stdin.write("small 1\n")
        eventually("it is stopped", lambda: state_of(p.pid) == "T")
        stdout, stderr, status = t.run("attach", str(p.pid))
        t.equal("attach", status, 1)
        t.true("says what to do", "kill -CONT" in stderr and stderr.count("\n") == 1, stderr)
        os.kill(p.pid, signal.SIGCONT)
        t.equal("untouched", p.process.stdout.readline(), "1 0 100\n")


def test_children_that_never_allocate(t):
    """They have the changed code, and say nothing: they are found by who forked them, whichever thread that was."""
    if not SUPPORTED:
        return
    with program(t) as p:
        code = p.code()
        attached = Attached(t, p.pid)
        p.tell("silent 8")

        eventually("its children are there", lambda: len(children_of(p.pid)) == 8)
        try:
            attached.detach()
            for child in children_of(p.pid):
                t.equal("the child's code", code_of(child) == code, True)
        finally:
            for child in children_of(p.pid):
                os.kill(child, signal.SIGKILL)


def test_programs_that_it_executes(t):
    """They are not recorded, which a note says of each program, also of the program's own. A child that it forks is."""
    if not SUPPORTED:
        return
    with program(t) as p:
        attached = Attached(t, p.pid)
        p.tell("fork 40")
        p.tell("spawn 3")
        children = children_of(p.pid)
        try:
            t.equal("children", len(children), 6)
            eventually("they run", lambda: all(stack_start(child) not in (0, stack_start(p.pid)) for child in children))
            profile = attached.detach()
        finally:
            for child in children:
                os.kill(child, signal.SIGKILL)
        report = t.report(profile, "total", "--process", str(p.pid))
        t.equal("processes", len(report["processes"]), 2)
        reason = "what an attached program executes is not recorded; attach to its process too, or start all of it with 'tidemark run'"
        for path in (shutil.which("sleep"), os.path.realpath("/proc/%d/exe" % p.pid)):
            t.equal("note on " + path, [note for note in report["notes"] if "in %s, which" % os.path.realpath(path) in note],
                    ["in %s, which was executed 3 times, nothing could be seen: %s" % (os.path.realpath(path), reason)])
        t.equal("the program itself was recorded", report["complete"], True)


def test_a_program_that_becomes_another(t):
    """Even if that is the same file: the recording ends then, says why, and nothing is called lost by what the new one has."""
    if not SUPPORTED:
        return
    with program(t) as p:
        before = p.tell("small 10")
        attached = Attached(t, p.pid)
        after = p.tell("small 30")
        p.process.stdin.write("become 0\n")
        t.equal("it begins again", p.process.stdout.readline(), "ready\n")
        profile = attached.finish()
        report = t.report(profile)
        t.equal("what it did", totals(report), since(before, after))
        notes = [note for note in report["notes"] if "it became another program" in note and "what an attached program executes" in note]
        t.equal("notes", len(notes), 1)
        t.equal("none is lost", [leak for leak in t.ask(profile, "leaks")["leaks"] if leak["kind"] == "lost"], [])
        t.equal("it goes on", p.tell("small 2"), [2, 0, 200])


def test_stopped_while_the_library_is_loaded(t):
    """SIGSTOP comes in the middle of dlopen: that is brought to its end, and the program is stopped then."""
    if not SUPPORTED:
        return
    flag = t.file("halt")
    with program(t, preload=t.build("halting_malloc.c", "-O1", shared=True), env={"HALT": flag}) as p:
        code = p.code()
        with open(flag, "w"):
            pass
        attached = Attached(t, p.pid)
        t.equal("it was asked to stop", os.path.exists(flag), False)
        eventually("it is stopped", lambda: state_of(p.pid) == "T")
        os.kill(p.pid, signal.SIGCONT)
        p.tell("small 10")
        profile = attached.detach()
        t.equal("its code is its own", p.code() == code, True)
        t.equal("recorded", t.report(profile)["totals"]["allocations"], 10)
        t.equal("it goes on", p.tell("small 1")[0], 11)


def test_at_random_moments(t):
    """A program whose threads allocate all the time."""
    if not SUPPORTED:
        return
    with program(t) as p:
        code = p.code()
        p.process.stdin.write("threads 3000000\n")
        p.process.stdin.flush()
        for i in range(8):
            stdout, stderr, status = t.run("attach", str(p.pid), "--duration", "%dms" % (1 + 7 * i), "--quiet", "-o", t.file("r.tide"))
            t.equal("attach %d (%s)" % (i, stderr), status, 0)
            t.equal("its code after %d" % i, p.code() == code, True)
        t.equal("it ends as ever", (p.process.stdout.readline(), p.end()), ("0 0 0\n", 5))


def test_signals_keep_what_came_with_them(t):
    """Also if a thread was stopped on its way to a handler, and has made calls for us since."""
    if not SUPPORTED:
        return
    with program(t, t.build("flooded.c", "-O1", "-D_GNU_SOURCE")) as p:
        for i in range(12):
            stdout, stderr, status = t.run("attach", str(p.pid), "--duration", "1ms", "--quiet", "-o", t.file("f.tide"))
            t.equal("attach %d (%s)" % (i, stderr), status, 0)
        t.equal("it has not ended (9: a signal came without its value)", p.process.poll(), None)


def test_a_program_that_spawns(t):
    """A thread in vfork cannot be stopped; it is waited for, both ways."""
    if not SUPPORTED:
        return
    with program(t, t.build("spawns_slowly.c", "-O1", "-pthread", "-D_GNU_SOURCE")) as p:
        code = p.code()
        attached = Attached(t, p.pid)
        attached.detach()
        t.equal("its code is its own", p.code() == code, True)
        t.equal("it goes on", (p.tell("go"), p.end()), ([0], 5))


def test_python(t):
    if not SUPPORTED:
        return
    script = t.file("script.py")
    with open(script, "w") as out:
        out.write("import sys\nkept = []\ndef inner(n):\n    for i in range(n):\n        kept.append(bytearray(5000))\n"
                  "def outer(n):\n    inner(n)\nprint('ready', flush=True)\n"
                  "for line in sys.stdin:\n    outer(int(line))\n    print(len(kept), flush=True)\n")
    with program(t, sys.executable, script) as p:
        p.tell("10")
        attached = Attached(t, p.pid)
        t.equal("made", p.tell("25"), [35])
        rows = t.report(attached.detach(), "total", "--by", "stack", "--python-only")["rows"]
        stacks = [([f["function"] for f in row["stack"]], row["count"]) for row in rows if row["bytes"] >= 25 * 5000]
        t.equal("blocks by python frames", stacks, [(["inner", "outer", "<module>"], 25)])


def test_namespaces(t):
    """Another mount and process namespace, where neither the library nor the number is known."""
    if not SUPPORTED or os.geteuid():
        return
    with program(t, before=("unshare", "--mount", "--pid", "--fork", "--mount-proc", "--kill-child")) as p:
        with open("/proc/%d/task/%d/children" % (p.pid, p.pid)) as children:
            inner = int(children.read().split()[0])
        before = p.tell("small 10")
        attached = Attached(t, inner)
        after = p.tell("each 30")
        t.equal("what it did", totals(t.report(attached.detach())), since(before, after))
        t.equal("it goes on", p.tell("small 1")[0], after[0] + 1)
    with program(t, before=("unshare", "--net")) as p:
        t.equal("another network", t.run("attach", str(p.pid))[2], 1)
        t.true("says what to do", "nsenter" in t.stderr, t.stderr)


def test_another_user(t):
    if not SUPPORTED or os.geteuid():
        return
    tidemark = give_to_nobody(t)
    with program(t) as p:
        done = subprocess.run([*AS_NOBODY, tidemark, "attach", str(p.pid)], stderr=subprocess.PIPE, text=True, cwd=t.dir)
        t.equal("not one's own", done.returncode, 1)
        t.true("says whose", "belongs to user 0" in done.stderr, done.stderr)
        t.equal("untouched", p.tell("small 1"), [1, 0, 100])


FILTER = CONFINES_ITSELF + 'print("ready", flush=True); time.sleep(1000)\n'


def test_refusals(t):
    if not SUPPORTED:
        return
    def refused(pid, why):
        stdout, stderr, status = t.run("attach", str(pid))
        t.equal("status of %r" % why, status, 1)
        t.true("why: " + why, why in stderr and stderr.count("\n") == 1, stderr)
    with open("/proc/sys/kernel/pid_max") as limit:
        refused(int(limit.read()) + 1, "there is no process")
    gone = subprocess.Popen(["true"])
    eventually("it is a zombie", lambda: open("/proc/%d/stat" % gone.pid).read().rsplit(")")[-1].split()[0] == "Z")
    refused(gone.pid, "has ended")
    gone.wait()
    with program(t, t.build("attached.c", "-O1", "-D_GNU_SOURCE", "-static")) as p:
        refused(p.pid, "linked statically")
        t.equal("untouched", p.tell("small 1"), [1, 0, 100])
    with program(t, t.build("first_thread_ends.c", "-O1", "-D_GNU_SOURCE")) as p:
        eventually("its first thread is a zombie", lambda: state_of(p.pid) == "Z")
        refused(p.pid, "the first thread of process %d has ended, and others run" % p.pid)
    with program(t, sys.executable, "-c", FILTER) as p:
        refused(p.pid, "seccomp filter")
    recorded = subprocess.Popen([t.tidemark, "run", "--quiet", "-o", t.file("run.tide"), "--", t.build("attached.c", "-O1", "-D_GNU_SOURCE")],
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=t.dir)
    recorded.stdout.readline()
    with open("/proc/%d/task/%d/children" % (recorded.pid, recorded.pid)) as children:
        refused(int(children.read().split()[0]), "started by 'tidemark run'")
    recorded.communicate()
    with program(t) as p:
        tracer = subprocess.Popen(["strace", "-o", "/dev/null", "-p", str(p.pid)], stderr=subprocess.PIPE)
        tracer.stderr.readline()
        refused(p.pid, "traces process")
        tracer.terminate()
        tracer.wait()
        t.equal("untouched", p.tell("small 1"), [1, 0, 100])


def test_usage(t):
    for words, why in ((("attach",), "one process id"), (("attach", "12x"), "not a process id"), (("attach", "--nothing", "1"), "unknown option"),
                       (("attach", "--duration", "soon", "1"), "--duration takes"), (("attach", "1", "2"), "one process id"),
                       (("detach",), "one process id"), (("detach", "x"), "not a process id"), (("detach", "--nothing"), "unknown option")):
        stdout, stderr, status = t.run(*words)
        t.equal("status of " + " ".join(words), status, 2)
        t.true("why " + " ".join(words), why in stderr and stderr.count("\n") == 1, stderr)


def test_other_machines(t):
    if SUPPORTED:
        return
    with program(t) as p:
        t.equal("attach", t.run("attach", str(p.pid))[2], 1)
        t.true("says so", "not supported on this kind of machine" in t.stderr, t.stderr)
        t.equal("untouched", p.tell("small 1"), [1, 0, 100])
