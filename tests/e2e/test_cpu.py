"""CPU time by function, sampled by the kernel. Shares are those of counted work, however busy the machine is."""
import math
import os
import re
import shutil
import subprocess

from harness import PROGRAMS, bare, cases
from unprivileged import AS_NOBODY, give_to_nobody

PARTS = {"six": 0.6, "three": 0.3, "one": 0.1}
ROUNDS = 80000  # about a third of a second of CPU time
FRAMES = ("-fomit-frame-pointer", "-fno-omit-frame-pointer")


def right_shares(t, counts, samples, lost=0):
    """Within what chance allows (6.5 standard deviations, exceeded once in 100 million), and half a percent for the calls
    themselves. Those that were lost may all have been of one function."""
    t.true("enough samples to say something", samples > 100, samples)
    for name, share in PARTS.items():
        room = 6.5 * math.sqrt(samples * share * (1 - share)) + samples * 0.005 + lost
        got = counts.get(name, 0)
        t.true("samples in %s of %d within %.0f" % (name, samples, room), abs(got - samples * share) <= room, got)


OUTER = ("_start", "clone3", "__clone3")  # or, on aarch64, code of libc behind clone, which has no symbol


def counts_of(report):
    return {bare(row["name"]): row["self_count"] for row in report["rows"]}


def whole_stacks(t, profile):
    """Each of the three was called by work, and that by main or as a thread."""
    for row in t.report(profile, "cpu", "--by", "stack")["rows"]:
        names = [bare(f["function"]) for f in row["stack"]]
        if names[0] in PARTS:
            t.equal("who called " + names[0], names[1], "work")
            t.true("the outer end", names[2:] and (names[-1] in OUTER or len(names) == 4 and names[-1].startswith("libc.so.6+")), names)


@cases(frame=FRAMES, threads=(1, 4))
def test_shares(t, frame, threads):
    profile = t.record(t.build("shares.c", "-O2", frame), str(threads), str(ROUNDS // threads), opts=("--only-cpu",))
    report = t.report(profile, "cpu")
    right_shares(t, counts_of(report), report["sum"]["count"])
    whole_stacks(t, profile)
    t.equal("lost", report["sampling"]["lost_samples"], 0)
    # A sample may fall into the start of the program or of a thread, where the kernel is still making the stack.
    cut = [row["stack"] for row in t.report(profile, "cpu", "--by", "stack")["rows"] if row["stack"][-1]["function"] == "[cut]"]
    t.equal("cut in the program itself", [stack for stack in cut if any(f["module"] == "shares" for f in stack)], [])
    t.equal("threads", sum(r.get("threads", 1) for r in t.report(profile, "cpu", "--by", "thread")["rows"]), threads)


def test_over_time(t):
    """CPU time of each part of a run, which is what a report of that part says."""
    program = "import time\ndef busy():\n    end = time.process_time() + 0.15\n    while time.process_time() < end: pass\nbusy(); time.sleep(0.3); busy()"
    profile = t.record("/usr/bin/python3", "-c", program, opts=("--only-cpu",))
    report = t.report(profile, "cpu")
    parts = report["sampling"]["cpu_over_time"]
    t.equal("all of it", sum(part["cpu_ns"] for part in parts), report["sum"]["bytes"])
    t.true("not all at once", 10 < len(parts) <= 100, len(parts))
    ends = [part["end_ns"] for part in parts]
    t.equal("in order", ends, sorted(set(ends)))
    for i in range(1, len(parts), 7):
        one = t.report(profile, "cpu", "--since", "%.9fs" % (ends[i - 1] / 1e9), "--at", "%.9fs" % (ends[i] / 1e9))
        t.equal("part %d" % i, (one["sum"]["bytes"], one["at_ns"]), (parts[i]["cpu_ns"], ends[i]))
    quiet = [part for before, part in zip(parts, parts[1:]) if part["cpu_ns"] < 0.3 * (part["end_ns"] - before["end_ns"])]
    t.true("it slept in between", quiet, parts)
    t.true("only of CPU time", "cpu_over_time" not in t.report(t.record("/bin/true", opts=("--cpu",)))["sampling"])


def test_what_was_left_out_is_time(t):
    profile = t.record(t.build("shares.c", "-O2"), "1", str(ROUNDS), opts=("--only-cpu",))
    ignored = t.report(profile, "cpu", "--ignore", "^six")["ignored"]["count"]
    outside = t.report(profile, "cpu", "--within", "^six")["outside"]["count"]
    t.true("some of both", ignored > 0 and outside > 0, (ignored, outside))
    some = r"[0-9.]+ m?s in {:,} samples"
    for words, want in ((("report", profile, "--ignore", "^six"), "ignored    " + some.format(ignored)),
                        (("report", profile, "--within", "^six"), "outside    " + some.format(outside)),
                        (("diff", profile, profile, "--ignore", "^six"), "ignored    a {0}, b {0},".format(some.format(ignored)))):
        text = t.run(*words, "--metric", "cpu")[0]
        t.true(want, re.search(want, text), text[:1500])


@cases(threads=(1, 4))
def test_static_program(t, threads):
    program = t.build("shares.c", "-O2", "-static")
    profile = t.record(program, str(threads), str(ROUNDS // threads), opts=("--only-cpu",))
    report = t.report(profile, "cpu")
    right_shares(t, counts_of(report), report["sum"]["count"])
    whole_stacks(t, profile)
    t.equal("notes", report["notes"], [])


def test_libraries_without_symbols(t):
    paths = []
    for name, times in (("six", 6), ("three", 3), ("one", 1)):
        paths.append(t.file(name + ".so"))
        shutil.copy(t.build("spins.c", "-O2", "-fomit-frame-pointer", "-DTIMES=%d" % times, shared=True), paths[-1])
        subprocess.run(["strip", paths[-1]], check=True)
    profile = t.record(t.build("runs_spins.c", "-O2"), str(ROUNDS), *paths, opts=("--only-cpu",))
    report = t.report(profile, "cpu", "--by", "library")
    counts = {name[:-3]: count for name, count in counts_of(report).items()}
    right_shares(t, counts, report["sum"]["count"])
    # A sample may fall into the start, where the kernel sets up a stack that is not whole yet.
    left = sum(report["sampling"][k] for k in ("truncated_stacks", "incomplete_stacks"))
    t.true("stacks cut or left: %d of %d" % (left, report["sum"]["count"]), left <= 2)


@cases(threads=(1, 4))
def test_sum_is_the_kernels(t, threads):
    profile = t.record(t.build("shares.c", "-O2"), str(threads), str(2 * ROUNDS // threads), opts=("--only-cpu",))
    used_ns = int(t.stdout) * 1000
    user = ("--ignore", r"^\[kernel\]$")  # where the kernel could be sampled too
    report = t.report(profile, "cpu", *user)
    t.equal("unit", report["unit"], "ns")
    # getrusage divides a thread's time into the program's and the kernel's by ticks, so a busy machine shifts it.
    t.true("within 4 % of what getrusage says", abs(report["sum"]["bytes"] - used_ns) < used_ns * 0.04 + 5e6,
           (report["sum"]["bytes"], used_ns))
    t.equal("rows by thread add up", sum(r["self_bytes"] for r in t.report(profile, "cpu", "--by", "thread", *user)["rows"]),
            report["sum"]["bytes"])


def test_with_the_heap(t):
    """Both at once: the heap's figures are exact as ever, in the same file."""
    profile = t.record(t.build("temporary.c", "-O1"), opts=("--cpu=2000",))
    plain = t.record(t.build("temporary.c", "-O1"))
    both, alone = (t.report(p)["totals"] for p in (profile, plain))
    for key in ("allocations", "frees", "bytes_allocated", "live_bytes", "unknown_frees", "lost_events"):
        t.equal(key, both[key], alone[key])
    profile = t.record(t.build("shares.c", "-O2"), "2", str(ROUNDS // 2), opts=("--cpu",))
    report = t.report(profile, "cpu")
    right_shares(t, counts_of(report), report["sum"]["count"])
    t.equal("threads are the same", len(t.report(profile, "total", "--by", "thread")["rows"]) <= 2, True)
    t.consistent(profile)
    tree = t.report(profile, "cpu", "--tree")
    t.equal("the tree's sum", sum(r["total_count"] for r in tree["rows"]), report["sum"]["count"])
    callers = t.report(profile, "cpu", "--callers", "six")
    t.equal("who calls six", [bare(r["name"]) for r in callers["rows"]], ["work"])


def test_since_and_at(t):
    """A mark from outside, while the program waits between two halves of its work."""
    profile, go = t.file("x.tide"), t.file("go")
    tool = subprocess.Popen([t.tidemark, "run", "--quiet", "--only-cpu", "-o", profile, "--", t.build("shares.c", "-O2"), "1",
                             str(ROUNDS // 2), go], stdout=subprocess.PIPE, text=True)
    t.equal("half of it is done", tool.stdout.readline(), "half\n")
    t.equal("mark", t.run("ctl", str(tool.pid), "mark", "half")[2], 0)
    open(go, "w").close()
    tool.communicate()
    t.equal("exit status", tool.returncode, 0)
    whole = t.report(profile, "cpu")["sum"]
    for moment in "half", "50%":  # where the second one is depends on the machine
        first, second = (t.report(profile, "cpu", *window)["sum"] for window in (("--at", moment), ("--since", moment)))
        t.equal("two parts are the whole", [first[k] + second[k] for k in ("bytes", "count")], [whole[k] for k in ("bytes", "count")])
        if moment == "half":
            t.true("each is half of it", min(first["count"], second["count"]) > 0.3 * whole["count"] > 30, (first, second))


@cases(opts=(("--only-cpu",), ("--cpu",)))
def test_family(t, opts):
    """Children of a shell are followed, static ones too, each with its own shares."""
    dynamic, static = t.build("shares.c", "-O2"), t.build("shares.c", "-O2", "-static")
    script = "%s 1 %d & %s 2 %d; wait; true" % (dynamic, ROUNDS, static, ROUNDS // 2)
    profile = t.record("/bin/sh", "-c", script, opts=opts)
    seen = {}
    for process in t.report(profile, "cpu")["processes"]:
        if process["command"][0] in (dynamic, static):
            report = t.report(profile, "cpu", "--process", str(process["pid"]))
            right_shares(t, counts_of(report), report["sum"]["count"])
            seen[process["command"][0]] = process["exit_code"]
    t.equal("both were seen", set(seen), {dynamic, static})


def test_chosen_processes(t):
    program = t.build("shares.c", "-O2")
    profile = t.record("/bin/sh", "-c", "%s 1 1000; true" % program, opts=("--only-cpu", "--only", "shares"))
    t.equal("--only", [p["command"][0] for p in t.report(profile, "cpu")["processes"]], [program])
    profile = t.record("/bin/bash", "-c", "(exec -a renamed_by_caller %s 1 1000); true" % program, opts=("--only-cpu", "--only", "renamed_by"))
    t.equal("--only, the name it was called by", [p["command"][0] for p in t.report(profile, "cpu")["processes"]], ["renamed_by_caller"])
    profile = t.record("/bin/sh", "-c", "%s 1 1000; true" % program, opts=("--only-cpu", "--no-follow"))
    t.equal("--no-follow", [p["command"][0] for p in t.report(profile, "cpu")["processes"]], ["/bin/sh"])


def test_too_deep_a_stack_loses_its_outer_end(t):
    """2,048 frames are kept; what is left is right."""
    profile = t.record(t.build("deep_work.c", "-O1"), "20000", str(ROUNDS), opts=("--only-cpu",))
    report = t.report(profile, "cpu")
    samples = t.row(report, "work")["self_count"]
    t.true("samples", samples > 100, samples)
    t.true("stacks cut off", abs(report["sampling"]["truncated_stacks"] - samples) <= 3, report["sampling"])
    for _, _, names in t.stacks(profile, "work", "cpu"):
        t.true("depth", names.count("deep") > 100, names.count("deep"))
        t.equal("outermost", names[-1], "[cut]")


@cases(depth=(50, 600, 2000))
def test_deep_stacks(t, depth):
    """4 KiB of the stack are copied at first, and more when that was too little: these need 1, 10 and 32 KiB."""
    profile = t.record(t.build("deep_work.c", "-O1"), str(depth), str(2 * ROUNDS), opts=("--only-cpu",))
    whole = cut = 0
    for _, count, names in t.stacks(profile, "work", "cpu"):
        if names[-1] == "[cut]":
            cut += count
        else:
            whole += count
            t.equal("a stack that fits", names[1:depth + 3], ["deep"] * (depth + 1) + ["main"])
    t.true("whole ones", whole > 0, (whole, cut))
    if depth == 50:
        t.equal("cut", cut, 0)
    t.true("those that are cut are counted", t.report(profile, "cpu")["sampling"]["truncated_stacks"] >= cut, cut)


def test_marks_and_pauses_from_outside(t):
    """Nothing is preloaded, but the door is open."""
    go, profile = t.file("go"), t.file("x.tide")
    tool = subprocess.Popen([t.tidemark, "run", "--quiet", "--only-cpu", "-o", profile, "--", "/bin/sh", "-c",
                             "echo ready; while ! test -e %s; do sleep 0.01; done; exec %s 1 %d" %
                             (go, t.build("shares.c", "-O2"), ROUNDS // 4)], stdout=subprocess.PIPE, text=True)
    t.equal("it is ready", tool.stdout.readline(), "ready\n")
    for words in (("mark", "here"), ("snapshot", t.file("s.tide")), ("status",), ("pause",)):
        t.run("ctl", str(tool.pid), *words)
        t.equal("status of ctl " + words[0], (t.status, t.stderr), (0, ""))
    open(go, "w").close()
    t.equal("exit status", tool.wait(), 0)
    processes = t.report(profile, "cpu")["processes"]
    first = str(processes[0]["pid"])
    labels = [m["label"] for m in t.ask(profile, "marks", "--process", first + "#1")["marks"]]
    t.equal("marks", labels, ["here", "snapshot"])
    t.equal("the snapshot opens", t.report(t.file("s.tide"), "cpu")["processes"][0]["pid"], processes[0]["pid"])
    t.equal("nothing was sampled while paused", [p["command"][0] for p in processes if "shares" in p["command"][0]], [])


def test_as_nobody(t):
    if os.geteuid() != 0:
        return  # the others have shown it
    tool, program = give_to_nobody(t), t.file("shares")
    shutil.copy(t.build("shares.c", "-O2", "-fomit-frame-pointer"), program)
    for opts in (("--only-cpu",), ("--cpu", "--faults")):
        profile = os.path.join(os.path.dirname(tool), "x%d.tide" % len(opts))
        t.plain(*AS_NOBODY, tool, "run", "--quiet", *opts, "-o", profile, "--", program, "2", str(ROUNDS // 2))
        t.equal("status, stderr", (t.status, t.stderr), (0, ""))
        # What the kernel is charged with are samples that did not come. On a busy host, others did not come either.
        report = t.report(profile, "cpu", "--ignore", r"^\[kernel\]$")
        # Its rings are small: on a busy machine some are lost.
        right_shares(t, counts_of(report), report["sum"]["count"], report["sampling"]["lost_samples"])


@cases(what=("--cpu=wall", "--faults"))
def test_forbidden(t, what):
    """One sentence, and the heap is recorded; without it there is nothing to record."""
    forbids, profile = t.build("forbids.c", "-O1"), t.file("x.tide")
    program = t.build("temporary.c", "-O1")
    metric = what[2:].split("=")[0]
    t.plain(forbids, "perf_event_open", t.tidemark, "run", "--quiet", what, "-o", profile, "--", program)
    t.equal("status", t.status, 0)
    lines = t.stderr.splitlines()
    t.equal("lines", len(lines), 1)
    t.true("what it says", "perf_event_open" in lines[0] and "doctor" in lines[0], lines)
    plain = t.report(t.record(program))["totals"]
    report = t.report(profile)
    t.equal("allocations", report["totals"]["allocations"], plain["allocations"])
    t.equal("the note", report["notes"], [lines[0].replace("tidemark run: ", "")])
    t.run("report", profile, "--metric", metric)
    t.equal("no such metric", (t.status, len(t.stderr.splitlines())), (1, 1))
    t.plain(forbids, "perf_event_open", t.tidemark, "run", "--only-" + metric, "-o", t.file("y.tide"), "--",
            "/usr/bin/touch", t.file("ran"))
    t.equal("alone: status, ran", (t.status, os.path.exists(t.file("ran"))), (125, False))


@cases(strip=(False, True))
def test_a_library_has_one_name(t, strip):
    """The kernel knows libraries by their files, the loader by links to them: in the heap's stacks and in those of samples
    they are called as the loader calls them."""
    file, program = t.file("liblinked.so.1.2.3"), t.file("linked")
    shutil.copy(t.build("linked_library.cpp", "-O1", "-DLIBRARY", shared=True), file)
    if strip:
        subprocess.run(["strip", file], check=True)
    os.symlink(file, t.file("liblinked.so.1"))
    t.plain("g++", "-g", "-O1", os.path.join(PROGRAMS, "linked_library.cpp"), "-o", program, "-L" + t.dir, "-l:liblinked.so.1",
            "-Wl,-rpath," + t.dir)
    t.equal("status, stderr of the compiler", (t.status, t.stderr), (0, ""))
    profile = t.record(program, str(ROUNDS), opts=("--cpu", "--faults"))
    names = {m: {r["name"] for r in t.report(profile, m, "--by", "library")["rows"]} for m in ("total", "cpu", "faults")}
    for metric, found in names.items():
        t.equal("libraries of " + metric, {"liblinked.so.1", "libstdc++.so.6"} - found, set())
        t.equal("and by no other name", [n for n in found if n.startswith(("liblinked", "libstdc++")) and n.count(".") > 2], [])
    t.equal("pages", t.row(t.report(profile, "faults", "--by", "library"), "liblinked.so.1")["self_count"] >= 64, True)
    functions = [{r["name"] for r in t.report(profile, m)["rows"] if r["module"] == "liblinked.so.1"} for m in names]
    for found in functions:
        t.true("functions", any(n.startswith("liblinked.so.1+0x") if strip else bare(n) == "work_inside" for n in found), found)
        t.equal("by no other place", [n for n in found if ".2.3" in n], [])


def test_text(t):
    profile = t.record(t.build("shares.c", "-O2"), "1", str(ROUNDS // 4), opts=("--only-cpu",))
    text = t.run("report", profile)[0]
    t.true("units", "CPU time by function: " in text and " ms " in text and "samples" in text, text)
    t.true("what the kernel counted", "\nkernel     whole run: " in text, text)
    t.equal("nothing of the heap", "allocated" in text, False)


@cases(wrong=("--cpu=0", "--cpu=ten", "--cpu=", "--cpu=20000", "--faults=0", "--faults=x"))
def test_wrong_usage(t, wrong):
    t.run("run", wrong, "--", "/bin/true")
    t.equal("status, lines", (t.status, len(t.stderr.splitlines())), (2, 1))


@cases(option=("--only-cpu", "--only-faults"))
def test_no_heap_is_not_an_empty_heap(t, option):
    """What needs the heap says that there is none, instead of figures of nothing; what does not begins with what there is."""
    metric = option.replace("--only-", "")
    profile = t.record(t.build("family.c", "-O1"), opts=(option,))
    for command in ("growth",), ("findings",), ("threads",), ("peaks",), ("tree",), ("leaks",), ("report", "--metric", "live"), \
            ("report", "--histogram", "size"), ("flame", "--metric", "peak", "--folded"), ("findings", "--json"):
        t.run(command[0], profile, *command[1:])
        t.equal("status of " + command[0], (t.status, t.stdout, len(t.stderr.splitlines())), (1, "", 1))
        t.true("what to do", "no heap data" in t.stderr and "--metric " + metric in t.stderr, t.stderr)
    for command in "report", "diff":
        answer = t.ask(profile, command, *([profile] if command == "diff" else []))
        t.equal("metric of " + command, answer["metric"], metric)
    folded = t.run("flame", profile, "--folded")[0].splitlines()
    t.equal("flame", sum(int(line.split()[-1]) for line in folded), t.report(profile, metric)["sum"]["bytes"])
    text = t.run("diff", profile, profile)[0]
    t.true("nothing of the heap in a diff", "no difference" in text and "allocated" not in text, text)
