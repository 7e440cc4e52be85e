"""CPU time of code that was made at run time: stacks go on behind it, and perf's map file has its names."""
import glob
import os

from harness import bare, cases
from test_cpu import right_shares

ROUNDS = "30000"


@cases(kind=("sub", "push"), frame=("-fomit-frame-pointer", "-fno-omit-frame-pointer"))
def test_trampolines(t, kind, frame):
    profile = t.record(t.build("trampolines.c", "-O2", frame), kind, ROUNDS, opts=("--only-cpu",))
    whole = t.report(profile, "cpu")
    os.unlink("/tmp/perf-%d.map" % whole["pid"])
    samples = t.total(whole, "evaluate_outer")[1]
    counts = {name: t.total(whole, name)[1] for name in ("six", "three", "one")}
    right_shares(t, counts, samples)
    t.true("nearly all", samples > 0.9 * whole["sum"]["count"], (samples, whole["sum"]))
    t.equal("its file", {r["file"] for r in whole["rows"] if bare(r["name"]) in counts}, {"/work/script.py"})
    for r in t.report(profile, "cpu", "--by", "stack")["rows"]:
        names = [bare(f["function"]) for f in r["stack"]]
        if names[0] == "evaluate":
            t.true("who called " + names[1], names[1] in counts, names)
            t.equal("and that", names[2:5], ["evaluate_outer", "outer", "main"])


def test_python_with_perf_trampolines(t):
    """Where there is a CPython that has them (3.12)."""
    found = [p for v in ("3.12", "3.13", "3.14") for p in sorted(glob.glob(os.path.expanduser("~/.pyenv/versions/%s.*/bin/python3" % v)))]
    for python in found[:2]:
        script = t.file("script.py")
        with open(script, "w") as file:
            # For a second of CPU time, on every machine.
            file.write("import time\n\ndef work(n):\n    s = 0\n    for i in range(n):\n        s += i * i % 7\n\n"
                       "def three(n):\n    work(3 * n)\n\ndef one(n):\n    work(n)\n\n"
                       "while time.process_time() < 1:\n    three(1000)\n    one(1000)\n")
        profile = t.record(python, "-X", "perf", script, opts=("--only-cpu",))
        report = t.report(profile, "cpu")
        os.unlink("/tmp/perf-%d.map" % report["pid"])
        module = t.total(report, "<module>")[1]
        three, one = t.total(report, "three")[1], t.total(report, "one")[1]
        t.true("samples", three + one > 60, (three, one))
        t.true("most stacks are whole", report["sampling"]["incomplete_stacks"] < 0.1 * report["sum"]["count"] + 5, report["sampling"])
        t.true("called by the script", three + one <= module, (three, one, module))
        all_of = three + one
        t.true("three to one", abs(three - 0.75 * all_of) <= 6.5 * (all_of * 0.75 * 0.25) ** 0.5 + 0.02 * all_of, (three, one))
        t.equal("first", bare(report["rows"][0]["name"]), "work")
