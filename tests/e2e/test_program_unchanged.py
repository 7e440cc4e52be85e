"""The recorder is a guest in the program: what the program sees and does is the same with it as without."""
import os
import re
import struct
import subprocess

from harness import cases


def same(t, program, *arguments, env=None, opts=()):
    """Runs a program plain and recorded and compares all that it says; returns the profile."""
    want = t.plain(program, *arguments, env=env)
    profile = t.record(program, *arguments, env=env, opts=opts, status=None)
    got = (t.stdout, t.stderr, t.status)
    t.equal("status", got[2], want[2])
    for stream, (a, b) in dict(stdout=(got[0], want[0]), stderr=(got[1], want[1])).items():
        if a != b:
            differing = [(x, y) for x, y in zip(a.splitlines() + [""], b.splitlines() + [""]) if x != y][:5]
            t.equal(stream, *zip(*differing) if differing else (a, b))
    return profile


@cases(opt=("-O0", "-O2"))
def test_errno_is_kept(t, opt):
    same(t, t.build("errno_kept.c", opt, "-fno-builtin"))


def test_signals_limits_and_name_are_untouched(t):
    same(t, t.build("process_state.c", "-O1"), "an argument", env={"TIDE_TEST": "a value"})


def test_nothing_is_added_to_the_output(t):
    same(t, t.build("writes_output.c", "-O1"))


def test_stdin_reaches_the_program(t):
    done = subprocess.run([t.tidemark, "run", "--quiet", "-o", t.file("p.tide"), "--", "/bin/cat"], input=b"line\n" * 1000,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    t.equal("output", (done.stdout, done.stderr, done.returncode), (b"line\n" * 1000, b"", 0))


STATUS = {"return": 3, "exit": 0, "_exit": 4, "quick_exit": 5, "exit_in_thread": 6,
          "abort": 128 + 6, "segv": 128 + 11, "term": 128 + 15, "kill": 128 + 9}


@cases(how=tuple(STATUS))
def test_every_end_is_passed_on_and_loses_nothing(t, how):
    profile = t.record(t.build("ends.c", "-O1"), how, status=STATUS[how])
    report = t.report(profile)
    t.equal("before_end", t.total(report, "before_end"), (64000, 1000))
    t.equal("at_exit", t.total(report, "at_exit"), (320, 10) if how in ("return", "exit", "exit_in_thread") else (0, 0))
    by_signal = STATUS[how] > 128
    t.equal("signal", report["signal"], STATUS[how] - 128 if by_signal else None)
    if not by_signal:
        t.equal("exit code", report["exit_code"], STATUS[how])


def test_closing_all_descriptors(t):
    profile = t.record(t.build("closes_all.c", "-O1"))
    t.consistent(profile)
    live = t.report(profile)
    t.equal("before_close", t.total(live, "before_close"), (48000, 1000))
    t.equal("after_close", t.total(live, "after_close"), (2400000, 100000))
    t.equal("in_new_thread", t.total(live, "in_new_thread"), (192, 2))


@cases(opts=((), ("--paused",), ("--sample",)))
def test_blocks_that_are_freed_twice(t, opts):
    """The allocator finds it, and not the recorder: a block that was given back may lie at the end of the heap."""
    program = t.build("frees_twice.c", "-O1", "-Wno-use-after-free", "-fno-builtin")
    for size in (24, 1000, 5000, 100000):
        same(t, program, str(size), opts=opts)
        t.equal("status", t.status, 128 + 6)


def test_core_dumps_leave_out_our_memory(t):
    """The kernel would write all of it, and first make the pages that nobody has touched."""
    t.record("/bin/cat", "/proc/self/smaps")
    ours = re.findall(r"/memfd:tidemark.*\nSize: +(\d+) kB\n[^/]*?^VmFlags:(.*)$", t.stdout, re.M)
    large = [(size, flags) for size, flags in ours if int(size) > 16]
    t.true("large shared mappings", len(large) > 2, ours)
    t.equal("those that would be written", [(size, flags) for size, flags in large if "dd" not in flags.split()], [])


def with_oracle(t, *argv, opts=()):
    """Records a program that has another library preloaded, which counts too; returns (its counts, the profile)."""
    counts = t.file("counts")
    oracle = t.build("oracle.c", "-O2", shared=True)
    profile = t.record(*argv, env={"LD_PRELOAD": oracle, "ORACLE_FILE": counts}, opts=("--no-follow", *opts))
    if not os.path.exists(counts):
        t.failures.append("the program's own LD_PRELOAD was not kept")
        return None, profile
    with open(counts, "rb") as file:
        return dict(zip(("allocations", "frees", "bytes"), struct.unpack("<3Q", file.read()))), profile


def agree(t, *argv, opts=()):
    counts, profile = with_oracle(t, *argv, opts=opts)
    totals = t.report(profile)["totals"]
    if counts:
        t.equal("allocations", totals["allocations"], counts["allocations"])
        t.equal("bytes", totals["bytes_allocated"], counts["bytes"])
        t.equal("frees", totals["frees"] + totals["unknown_frees"], counts["frees"])
    return profile


@cases(threads=(1, 8))
def test_preload_is_kept_and_agrees(t, threads):
    profile = agree(t, t.build("heap_family.c", "-O2"), str(threads))
    t.consistent(profile)


def test_agrees_on_cpp(t):
    agree(t, t.build("standard_library.cpp", "-O2"))


def test_agrees_on_a_large_program(t):
    text = t.file("input.c")
    with open(text, "w") as out:
        out.write("".join("int f%d(int a) { return a * %d; }\n" % (i, i) for i in range(300)))
    cc1 = subprocess.run(["gcc", "-print-prog-name=cc1"], stdout=subprocess.PIPE, text=True).stdout.strip()
    agree(t, cc1, "-quiet", "-O2", text, "-o", t.file("out.s"))


def test_agrees_on_an_interpreter(t):
    """Without Python's arenas, which are mapped, and which the other library does not count."""
    program = "import json; print(len(json.dumps({str(i): [i] * 3 for i in range(20000)})))"
    agree(t, "/usr/bin/python3", "-I", "-c", program, opts=("--python=off",))


def test_environment_is_handed_on(t):
    """The program sees its own LD_PRELOAD entries still in place, behind ours."""
    oracle = t.build("oracle.c", "-O2", shared=True)
    t.record("/usr/bin/env", env={"LD_PRELOAD": oracle, "KEPT": "as it was"})
    seen = dict(line.split("=", 1) for line in t.stdout.splitlines() if "=" in line)
    t.equal("KEPT", seen.get("KEPT"), "as it was")
    t.true("LD_PRELOAD ends with the program's own", seen.get("LD_PRELOAD", "").endswith(oracle), seen.get("LD_PRELOAD"))


def test_getenv_before_the_library_is_ready(t):
    """The loader calls what chooses an IFUNC before it has come to us; libc answers then that there is nothing."""
    chosen = t.build("ifunc_chosen.c", "-DPART=1", "-Wl,-z,now", shared=True)
    calls = t.build("ifunc_chosen.c", "-DPART=2", "-Wl,--no-as-needed,-z,now", chosen, shared=True)
    program = t.build("ifunc_chosen.c", "-DPART=3", "-Wl,--no-as-needed", calls, chosen)
    t.equal("status", t.status if same(t, program) else None, 0)
