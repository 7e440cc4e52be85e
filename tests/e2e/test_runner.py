"""The runner of these tests itself: what it writes for CI, and the list of the slowest tests."""
import argparse
import os
import re
import subprocess
import sys
from xml.etree import ElementTree

import harness
import runner

RESULTS = [runner.Result("exact.counts", [], False, 0.25, 0.125),
           runner.Result("exact.names[-O2 -g]", ["got <1>, want \x1b[2m & more", "second line"], False, 2.5, 1.5),
           runner.Result("cpu.kernel", ["no kernel here"], True, 0.125, 0.0625)]


def test_junit_of_failures(t):
    suite = ElementTree.fromstring(runner.junit(RESULTS).encode())
    t.equal("counts", {name: suite.get(name) for name in ("name", "tests", "failures", "errors", "skipped", "time")},
            {"name": "end-to-end", "tests": "3", "failures": "1", "errors": "0", "skipped": "1", "time": "2.875"})
    t.equal("cases", [(c.get("classname"), c.get("name"), c.get("time"), [e.tag for e in c]) for c in suite],
            [("exact", "counts", "0.250", []), ("exact", "names[-O2 -g]", "2.500", ["failure"]), ("cpu", "kernel", "0.125", ["skipped"])])
    failure = suite[1][0]
    t.equal("message", failure.get("message"), "got <1>, want ?[2m & more")
    t.equal("text", failure.text, "got <1>, want ?[2m & more\nsecond line")
    t.equal("why it was skipped", suite[2][0].text, "no kernel here")


def test_slowest(t):
    t.equal("two of three", runner.slowest(RESULTS, 2),
            ["the 2 slowest of 3 tests took 3 s of 3 s, 2 s of 2 s of CPU:",
             "    2.5 s     1.5 s of CPU  exact.names[-O2 -g]", "    0.2 s     0.1 s of CPU  exact.counts"])
    t.equal("no more than these", runner.slowest(RESULTS, 3), [])


def test_junit_of_a_run(t):
    """The command line: all tests of a file pass, and the results say so."""
    path = t.file("results.xml")
    done = subprocess.run([sys.executable, os.path.join(harness.HERE, "runner.py"), "--build", os.path.dirname(t.tidemark),
                           "-k", "layers.", "--junit", path, "--slowest", "1"], stdout=subprocess.PIPE, text=True)
    suite = ElementTree.parse(path).getroot()
    t.equal("exit status", done.returncode, 0)
    names = sorted(c.get("name") for c in suite)
    with open(os.path.join(harness.HERE, "test_layers.py")) as source:
        defined = sorted(re.findall(r"^def test_(\w+)", source.read(), re.MULTILINE))
    t.equal("tests", names, defined)
    t.equal("nothing failed", (suite.get("tests"), suite.get("failures"), suite.get("skipped")), (str(len(defined)), "0", "0"))
    lines = done.stdout.splitlines()
    t.true("the slowest one", lines[0].startswith("the 1 slowest of %d tests took" % len(defined)), lines[0])
    t.equal("the end", lines[-1], "%d passed, 0 failed" % len(defined))


def test_quick_names_files(t):
    """`make check` runs whole files, which must exist."""
    missing = [name for name in runner.QUICK if not os.path.exists(os.path.join(harness.HERE, "test_%s.py" % name))]
    t.equal("files of --quick that are not there", missing, [])


def run_tests(t, tests, timeout):
    """{name: result} of functions as the runner runs them."""
    options = argparse.Namespace(j=len(tests), build=os.path.dirname(t.tidemark), timeout=timeout)
    return {r.name: r for r in runner.run_all(tests, options)}


def test_ends(t):
    """How the process of a test ends becomes its result: failures, a skip, an exit, a signal, too long a time."""
    def skips(_):
        raise harness.Skipped("nothing here")
    chosen = {"passes": lambda _: print("this is not shown"), "fails": lambda test: test.equal("a", 1, 2), "skips": skips,
              "exits": lambda _: sys.exit(0), "killed": lambda _: os.kill(os.getpid(), 9)}
    results = run_tests(t, chosen, 600)
    t.equal("tests", sorted(results), sorted(chosen))
    t.equal("exits", results.pop("exits").lines[-1:], ["SystemExit: 0"])
    t.equal("the others", {name: (r.lines, r.skipped) for name, r in results.items()},
            {"passes": ([], False), "fails": (["a: got 1, want 2"], False), "skips": (["nothing here"], True),
             "killed": (["the test process ended with -9"], False)})
    hangs = run_tests(t, {"hangs": lambda _: subprocess.run(["sleep", "600"])}, 1)["hangs"]
    t.equal("hangs", (hangs.lines, hangs.skipped), (["not finished after 1 s"], False))
