#!/usr/bin/env python3
"""Runs the end-to-end tests: runner.py [--build BUILD] [-k NAME] [--quick] [-j N] [-v] [--junit FILE]

Every function test_* of every file test_*.py beside this one is a test; nothing has to be registered.
Each runs in a process group of its own, so that one that hangs is ended with all it has started.
"""
import argparse
import collections
import concurrent.futures
import glob
import importlib
import os
import re
import signal
import subprocess
import sys
import time
import traceback
from xml.etree import ElementTree

import harness

TIMEOUT_S = 600  # for one that hangs: a busy machine needs ten times as long as a quiet one
SKIPPED = "skipped: "
# The files of `make check`: recording and every kind of answer, with exact numbers; nothing that takes long.
QUICK = ("allocation_functions", "api", "diff", "findings", "focus", "layers", "leaks_command", "maps", "marks",
         "marks_command", "moments", "peaks", "program_ends", "readable_output", "report", "run", "runner", "sizes",
         "stacks", "terminal", "threads", "threads_command")
NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

Result = collections.namedtuple("Result", "name lines skipped seconds")  # lines: what failed, or why it was skipped


def tests_in(path):
    return dict(harness.tests_of(importlib.import_module(os.path.splitext(os.path.basename(path))[0])))


def discover():
    tests = {}
    for path in sorted(glob.glob(os.path.join(harness.HERE, "test_*.py"))):
        tests.update(tests_in(path))
    return tests


def find_test(name):
    """One test by its name, FILE.FUNCTION: the other files are not imported, which takes longer than most tests."""
    return tests_in("test_%s.py" % name.split(".")[0])[name]


def is_quick(name, test):
    return name.split(".")[0] in QUICK and not getattr(test.func, "slow", False)


def run_here(function, build):
    """Runs one test in this process and prints what failed; returns the exit status."""
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)  # ignored in jobs that a shell has put in the background, or nohup
    test = harness.Test(build)
    try:
        function(test)
    except harness.Failed as error:
        test.failures.append(str(error))
    except harness.Skipped as reason:
        print(SKIPPED + str(reason))
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        test.failures.append("%s: %s (%s:%d)" % (type(error).__name__, error, os.path.basename(where.filename), where.lineno))
    finally:
        test.close()
    for failure in test.failures:
        print(failure)
    return len(test.failures) != 0


def run_apart(name, options):
    """Runs one test in a process of its own."""
    start = time.monotonic()
    lines = output_of(name, options)
    skipped = bool(lines) and all(line.startswith(SKIPPED) for line in lines)
    return Result(name, [line[len(SKIPPED):] for line in lines] if skipped else lines, skipped, time.monotonic() - start)


def output_of(name, options):
    """What a test prints of failures, or why it was skipped; nothing: it passed."""
    command = [sys.executable, os.path.abspath(__file__), "--build", options.build, "--one", name]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                             errors="replace", start_new_session=True)
    try:
        output, _ = child.communicate(timeout=options.timeout)
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        output, _ = child.communicate()
        return [*output.splitlines(), "not finished after %d s" % options.timeout]
    if child.returncode == 0:
        return [line for line in output.splitlines() if line.startswith(SKIPPED)]
    return output.splitlines() or ["the test process ended with %d" % child.returncode]


def junit(results):
    """The results as JUnit XML, which CI systems show."""
    failed = [r for r in results if r.lines and not r.skipped]
    suite = ElementTree.Element("testsuite", name="end-to-end", tests=str(len(results)), failures=str(len(failed)), errors="0",
                                skipped=str(sum(r.skipped for r in results)), time="%.3f" % sum(r.seconds for r in results))
    for result in results:
        file, test = result.name.split(".", 1)
        case = ElementTree.SubElement(suite, "testcase", classname=file, name=test, time="%.3f" % result.seconds)
        if result.lines:
            told = NOT_XML.sub("?", "\n".join(result.lines))
            element = ElementTree.SubElement(case, "skipped" if result.skipped else "failure", message=told.splitlines()[0])
            element.text = told
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def slowest(results, count):
    """Lines that name the tests that took longest, where there are more than these."""
    if len(results) <= count:
        return []
    first = sorted(results, key=lambda r: -r.seconds)[:count]
    return ["the %d slowest of %d tests took %.0f s of %.0f s:" % (
        count, len(results), sum(r.seconds for r in first), sum(r.seconds for r in results)),
        *("%7.1f s  %s" % (r.seconds, r.name) for r in first)]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default=os.path.join(harness.ROOT, "build"))
    parser.add_argument("-k", metavar="NAME", default="", help="only tests whose name contains NAME")
    parser.add_argument("-j", type=int, default=2, help="tests at a time")
    parser.add_argument("-v", action="store_true", help="a line for each test that passes too")
    parser.add_argument("--quick", action="store_true", help="only the files of `make check`")
    parser.add_argument("--slowest", type=int, default=10, metavar="N", help="list the N tests that took longest (default 10)")
    parser.add_argument("--junit", metavar="FILE", help="write the results to FILE as JUnit XML")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--timeout", type=int, default=TIMEOUT_S, metavar="SECONDS", help="for each test")
    parser.add_argument("--counts", help="append 'PASSED FAILED' to this file")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.build = os.path.abspath(options.build)

    if options.one:
        return run_here(find_test(options.one), options.build)
    chosen = [name for name, test in discover().items() if options.k in name and (not options.quick or is_quick(name, test))]
    if options.list:
        print("\n".join(chosen))
        return 0
    if not os.access(os.path.join(options.build, "tidemark"), os.X_OK):
        sys.exit("no %s/tidemark: build the project first, or name the build with --build" % options.build)
    if not chosen:
        sys.exit("no test's name contains '%s'; --list shows them" % options.k)

    results = []
    with concurrent.futures.ThreadPoolExecutor(options.j) as pool:
        for result in pool.map(lambda name: run_apart(name, options), chosen):
            results.append(result)
            for line in result.lines:
                print("%s %s: %s" % ("SKIP" if result.skipped else "FAIL", result.name, line), flush=True)
            if options.v and not result.lines:
                print("ok   %s  %.1f s" % (result.name, result.seconds), flush=True)
    skipped = sum(r.skipped for r in results)
    passed = sum(not r.lines for r in results)
    failed = len(results) - passed - skipped
    if options.junit:
        with open(options.junit, "w") as out:
            out.write(junit(results))
    for line in slowest(results, options.slowest):
        print(line)
    if options.counts:
        with open(options.counts, "a") as out:
            out.write("%d %d\n" % (passed, failed))
        print("end-to-end tests: ", end="")
    print("%d passed, %d failed" % (passed, failed) + (", %d skipped" % skipped if skipped else ""))
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
