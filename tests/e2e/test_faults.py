"""Page faults: each first touch is counted, where it happened; what the kernel touches itself is not seen, and said."""
import os
import shutil
import subprocess

from harness import PROGRAMS, ROOT, Skipped, bare, cases, line_of
from unprivileged import AS_NOBODY, give_to_nobody

PAGE = 4096
START_UP = 400  # faults of loading and leaving, and of the process before it executes the program


def faults_of(t, profile, function, *arguments):
    row = t.row(t.report(profile, "faults", *arguments), function)
    return row["self_bytes"], row["self_count"]


def right_coverage(t, profile, seen, unseen):
    """What was seen and what was not are what the kernel counted, but for the program's start. Right after recording."""
    printed = int(t.stdout.split()[0])
    report = t.report(profile, "faults")
    kernel = report["sampling"]["kernel"]
    counted = kernel["minor_faults"] + kernel["major_faults"]
    t.true("as many as the program was told", abs(counted - printed) < START_UP, (counted, printed))
    t.true("seen", seen <= report["sampling"]["faults"] < seen + START_UP, report["sampling"])
    t.true("not seen", unseen <= counted - report["sampling"]["faults"] < unseen + START_UP, (counted, report["sampling"]))
    t.equal("lost", report["sampling"]["lost_samples"], 0)


@cases(threads=(1, 8), opt=("-O0", "-O2"))
def test_first_touches(t, threads, opt):
    pages = 1000
    profile = t.record(t.build("touches.c", opt), "touch", str(threads), str(pages), opts=("--only-faults",))
    right_coverage(t, profile, threads * pages, 0)
    t.equal("touch", faults_of(t, profile, "touch"), (threads * pages * PAGE, threads * pages))
    lines = {r["line"]: r["self_count"] for r in t.report(profile, "faults", "--by", "line")["rows"] if bare(r["name"]) == "touch"}
    t.equal("its line", lines.get(line_of("touches.c", "line touch")), threads * pages)
    stacks = t.stacks(profile, "touch", "faults")
    t.equal("stacks that were found", sum(n for _, n, _ in stacks), threads * pages)
    by_thread = t.report(profile, "faults", "--by", "thread")["rows"]
    t.equal("threads", sum(r.get("threads", 1) for r in by_thread), threads)
    t.true("each thread its own", all(r["self_count"] >= pages * r.get("threads", 1) for r in by_thread), by_thread)


def test_at_marks(t):
    """A sample counts before a mark if it was taken before it, however late the collector reads it."""
    events = 30
    program = t.build("sampled_marks.c", "-O1", "-I", os.path.join(ROOT, "include"))
    profile = t.record(program, str(events), opts=("--faults", "--cpu=wall"))

    def gained(metric, function, since, at):
        return t.row(t.report(profile, metric, "--since", since, "--at", at), function)

    for i in range(1, events + 1):
        begin, touched, spun, end = "begin#%d" % i, "touched#%d" % i, "spun#%d" % i, "begin#%d" % (i + 1)
        pages = 10 if i % 3 else 20
        t.equal("pages at event %d" % i, gained("faults", "touch", begin, touched)["self_count"], pages)
        t.equal("pages before the next", gained("faults", "touch", touched, end)["self_count"], 0)
        if i % 10:
            continue
        spins = [gained("cpu", "spin", *window)["total_bytes"] / 1e6 for window in ((begin, touched), (touched, spun), (spun, end))]
        t.true("5 ms of spin at event %d, give or take a sample" % i, spins[0] == spins[2] == 0 and 3.5 < spins[1] < 6.5, spins)
        rests = [gained("waiting", "rest", *window)["total_bytes"] / 1e6 for window in ((begin, touched), (touched, spun), (spun, end))]
        t.true("2 ms of rest at event %d" % i, rests[0] == rests[1] == 0 and rests[2] >= 1.9, rests)


def test_where_it_was_called(t):
    """The same instruction on the same stack, called from two lines: so few that no stack can be lost."""
    profile = t.record(t.build("touches.c", "-O1"), "twice", "1", "160", opts=("--only-faults",))
    rows = t.report(profile, "faults", "--by", "stack")["rows"]
    found = {}
    for row in rows:
        if bare(row["stack"][0]["function"]) == "touch":
            found[row["stack"][1]["line"]] = found.get(row["stack"][1]["line"], 0) + row["count"]
    t.equal("faults by the caller's line", found,
            {line_of("touches.c", "line first"): 80, line_of("touches.c", "line second"): 80})


@cases(how=("populate", "read"))
def test_what_the_kernel_touches(t, how):
    pages = 1500
    profile = t.record(t.build("touches.c", "-O1"), how, "1", str(pages), opts=("--only-faults",))
    right_coverage(t, profile, 0, pages)
    t.true("next to nothing is charged", sum(faults_of(t, profile, f)[1] for f in ("touch", "fill", "map")) <= 1,
           t.report(profile, "faults")["rows"][:3])


def test_copies_after_a_fork(t):
    """They are faults, but no more is resident than before."""
    pages = 500
    profile = t.record(t.build("touches.c", "-O1"), "fork", "1", str(pages), opts=("--only-faults",))
    parent, child = t.report(profile, "faults")["processes"]
    t.equal("parent", faults_of(t, profile, "touch", "--process", str(parent["pid"])), (pages * PAGE, pages))
    t.equal("child", faults_of(t, profile, "touch_again", "--process", str(child["pid"])), (0, pages))
    copies = t.report(profile, "faults", "--process", str(child["pid"]))["sampling"]["copy_faults"]
    t.true("copies", pages <= copies < pages + 50, copies)


def test_huge_pages(t):
    """That a page is huge is found out while the process lives, so it lives until its faults have been read."""
    pages, profile, go = 8192, t.file("x.tide"), t.file("go")
    tool = subprocess.Popen([t.tidemark, "run", "--quiet", "--only-faults", "-o", profile, "--",
                             t.build("touches.c", "-O1"), "huge", "1", str(pages), go], stdout=subprocess.PIPE)
    huge = int(tool.stdout.readline().split()[1])
    for _ in range(4):  # each is answered in another pass over the rings
        t.run("ctl", str(tool.pid), "status")
        t.equal("status of ctl", t.status, 0)
    open(go, "w").close()
    t.equal("status", tool.wait(), 0)
    report = t.report(profile, "faults")
    t.equal("huge pages", report["sampling"]["huge_faults"], huge >> 21)
    size, count = faults_of(t, profile, "touch")
    t.equal("what became resident", size, pages * PAGE)
    t.equal("faults", count, (huge >> 21) + pages - huge // PAGE)


def test_files_are_told_apart(t):
    profile = t.record(t.build("touches.c", "-O1"), "touch", "1", "100", opts=("--only-faults",))
    files = t.report(profile, "faults")["sampling"]["file_faults"]
    t.true("pages of the program, its loader and libc", 10 < files < START_UP, files)


def test_every_nth(t):
    pages, period = 4000, 10
    profile = t.record(t.build("touches.c", "-O1"), "touch", "1", str(pages), opts=("--only-faults=%d" % period,))
    size, count = faults_of(t, profile, "touch")
    t.true("about all of them", abs(count - pages) <= period, count)
    t.equal("bytes", size, count * PAGE)


@cases(program=("dynamic", "static"))
def test_static_and_with_the_heap(t, program):
    pages = 700
    built = t.build("touches.c", "-O1", *(("-static",) if program == "static" else ()))
    profile = t.record(built, "touch", "2", str(pages), opts=("--faults", "--cpu"))
    t.equal("touch", faults_of(t, profile, "touch"), (2 * pages * PAGE, 2 * pages))
    t.run("report", profile, "--metric", "cpu")
    t.equal("status", t.status, 0)


def test_pages_of_the_recorder(t):
    """They are made resident inside the program's calls, but are none of its: a first malloc is charged for no more than libc does."""
    profile = t.record(t.build("early_peak.c", "-O1"), opts=("--faults",))
    report = t.report(profile, "faults")
    t.true("told apart", t.row(report, "[tidemark]")["self_count"] > 10, t.row(report, "[tidemark]"))
    t.equal("early itself", faults_of(t, profile, "early"), (0, 0))
    stacks = [r["stack"] for r in t.report(profile, "faults", "--by", "stack")["rows"] if r["stack"][0]["function"] == "[tidemark]"]
    t.equal("by nobody", {len(s) for s in stacks}, {1})
    t.equal("the sum", sum(r["self_count"] for r in report["rows"]), report["sampling"]["faults"])


def test_who_allocated_it(t):
    """All is touched in one function; who allocated it is told too. libc itself touches the first page of a block."""
    pages = 400
    profile = t.record(t.build("owners.c", "-O1"), str(pages), opts=("--faults",))
    seen = faults_of(t, profile, "touch")[1]
    t.true("who touched", 6 * pages - 3 <= seen <= 6 * pages, seen)
    touched = t.report(profile, "touched")
    for function, share in (("large_block", 1), ("another", 2), ("own_mapping", 3)):
        size, count = t.total(touched, function)
        t.true(function, share * pages - 1 <= count <= share * pages and size == count * PAGE, (size, count))
    t.equal("the sum", touched["sum"]["count"], touched["sampling"]["touched_faults"])
    t.run("report", t.record(t.build("touches.c", "-O1"), "touch", "1", "10", opts=("--only-cpu",)), "--metric", "touched")
    t.equal("not recorded", (t.status, len(t.stderr.splitlines())), (1, 1))


def test_a_routine_that_initialises_arrays(t):
    """From "who makes memory resident" to the routine, and to its line."""
    gfortran = next((name for name in ("gfortran", "gfortran-12", "gfortran-13", "gfortran-14") if shutil.which(name)), None)
    if not gfortran:
        raise Skipped("no gfortran here")
    program, modules = t.file("initialises"), t.file("modules")
    os.mkdir(modules)
    source = os.path.join(PROGRAMS, "initialises.f90")
    built = t.plain(gfortran, "-g", "-O1", "-fno-inline", "-J", modules, source, "-o", program)
    t.equal("it compiles", built[2], 0)
    profile = t.record(program, opts=("--only-faults",))
    first = t.report(profile, "faults")["rows"][0]
    t.true("the routine", "initialise" in first["name"] and first["self_bytes"] >= 1990 * PAGE, first)
    with open(source) as lines:
        line = next(n for n, text in enumerate(lines, 1) if "! line initialise" in text)
    rows = [r for r in t.report(profile, "faults", "--by", "line")["rows"] if r["line"] == line]
    t.equal("its line", sum(r["self_bytes"] for r in rows), first["self_bytes"])


def touches_as_nobody(t, pages, *before):
    """The profile of 8 threads that touch so many pages each, recorded by nobody; `before` comes before the command."""
    tool, program = give_to_nobody(t), t.file("touches")
    shutil.copy(t.build("touches.c", "-O1"), program)
    profile = os.path.join(os.path.dirname(tool), "x.tide")
    t.plain(*before, *AS_NOBODY, tool, "run", "--quiet", "--only-faults", "-o", profile, "--", program, "touch", "8", str(pages))
    t.equal("status, stderr", (t.status, t.stderr), (0, ""))
    return profile


def test_as_nobody(t):
    if os.geteuid() != 0:
        return
    profile = touches_as_nobody(t, 100)  # as many as the small rings hold, should the collector get no turn meanwhile
    right_coverage(t, profile, 800, 0)
    t.equal("touch", faults_of(t, profile, "touch"), (800 * PAGE, 800))


def test_what_does_not_fit_is_counted_as_lost(t):
    """With little memory to lock, the rings are small: what they cannot hold while the collector stands still is told."""
    if os.geteuid() != 0:
        return
    profile = touches_as_nobody(t, 2000, "prlimit", "--memlock=65536")
    seen, lost = faults_of(t, profile, "touch")[1], t.report(profile, "faults")["sampling"]["lost_samples"]
    if tuple(int(n) for n in os.uname().release.split(".")[:2]) >= (6, 0):
        t.true("what is not seen is lost, to the last one", 16000 <= seen + lost <= 16000 + 2 * START_UP and seen <= 16000, (seen, lost))
    else:  # the kernel tells of a loss when it has room again, so not of the last one
        t.true("what is not seen is lost", seen <= 16000 and (lost > 0 or seen == 16000), (seen, lost))


def test_no_more_memory_to_lock(t):
    """Recordings of one user share it: when those that run have all of it, the next is told, and has the heap alone."""
    if os.geteuid() != 0:
        return
    tool, running, refused = give_to_nobody(t), [], None
    command = ["prlimit", "--memlock=65536", *AS_NOBODY, tool, "run", "--quiet", "-o", "/dev/null"]
    try:
        while not refused and len(running) < 20:  # each leaves less than half of what there was
            run = subprocess.Popen([*command, "--only-faults", "--", "/bin/cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
            running.append(run)
            try:
                run.stdin.write("x\n")
                run.stdin.flush()
            except BrokenPipeError:
                pass
            if run.stdout.readline() != "x\n":
                refused = run.stderr.read()
        t.true("one is refused, with one sentence", refused and len(refused.splitlines()) == 1 and "ulimit -l" in refused, refused)
        t.equal("status", running[-1].wait(), 125)
        t.plain(*command, "--faults", "--", "/bin/echo", "runs")
        t.equal("with the heap", (t.stdout, t.stderr, t.status), ("runs\n", refused, 0))
    finally:
        for run in running:
            run.communicate()


def test_the_same_with_the_heap(t):
    """A large mapping without blocks: to find that there are none must not take so long that faults are lost."""
    pages = 20000
    profile = t.record(t.build("touches.c", "-O1"), "touch", "1", str(pages), opts=("--faults", "--cpu"))
    seen, lost = faults_of(t, profile, "touch")[1], t.report(profile, "faults")["sampling"]["lost_samples"]
    t.true("faults", seen <= pages and (seen == pages or lost >= pages - seen), (seen, lost))
    t.equal("who made the mapping", t.total(t.report(profile, "touched"), "map")[1], seen)


def test_deep_after_shallow(t):
    """The copy of the stack becomes small when stacks are shallow. Of those that are too deep for it, the rest is that of
    later ones, when it is large again."""
    pages, profile, go = 1000, t.file("x.tide"), [t.file("first"), t.file("second")]
    tool = subprocess.Popen([t.tidemark, "run", "--quiet", "--only-faults", "-o", profile, "--",
                             t.build("touches_deep.c", "-O1"), str(pages), *go], stdout=subprocess.PIPE, text=True)
    for path in go:
        t.equal("it waits", tool.stdout.readline(), path + "\n")
        for _ in range(4):  # each is answered in another pass over the rings
            t.run("ctl", str(tool.pid), "status")
            t.equal("status of ctl", t.status, 0)
        open(path, "w").close()
    t.equal("status", tool.wait(), 0)
    found = {"shallow": 0, "deep": 0}
    for _, count, names in t.stacks(profile, "touch", "faults"):
        if "main" in names:
            name = names[1]
            t.equal("frames of %s" % name, names.count(name), 40 if name == "deep" else 1)
            found[name] += count
    t.equal("whole stacks", found, {"shallow": pages, "deep": 2 * pages})
    t.equal("lost", t.report(profile, "faults")["sampling"]["lost_samples"], 0)


def test_text(t):
    profile = t.record(t.build("touches.c", "-O1"), "touch", "1", "1000", opts=("--faults",))
    text = t.run("report", profile, "--metric", "faults")[0]
    t.true("heading, unit", "memory made resident by page faults by function: " in text and " MiB" in text, text)
    t.true("coverage", "\ncoverage   " in text and " faults the kernel counted (" in text, text)
