#!/usr/bin/env python3
"""Runs the end-to-end tests: runner.py [--build BUILD] [-k NAME] [-j N] [-v]

Every function test_* of every file test_*.py beside this one is a test; nothing has to be registered.
Each runs in a process group of its own, so that one that hangs is ended with all it has started.
"""
import argparse
import concurrent.futures
import glob
import importlib
import os
import signal
import subprocess
import sys
import traceback

import harness

TIMEOUT_S = 600  # for one that hangs: a busy machine needs ten times as long as a quiet one
SKIPPED = "skipped: "


def discover():
    tests = {}
    for path in sorted(glob.glob(os.path.join(harness.HERE, "test_*.py"))):
        module = importlib.import_module(os.path.splitext(os.path.basename(path))[0])
        tests.update(harness.tests_of(module))
    return tests


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
    """Runs one test in a process of its own; returns the lines that say what failed, or why it was skipped."""
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


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default=os.path.join(harness.ROOT, "build"))
    parser.add_argument("-k", metavar="NAME", default="", help="only tests whose name contains NAME")
    parser.add_argument("-j", type=int, default=2, help="tests at a time")
    parser.add_argument("-v", action="store_true", help="a line for each test that passes too")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--timeout", type=int, default=TIMEOUT_S, metavar="SECONDS", help="for each test")
    parser.add_argument("--counts", help="append 'PASSED FAILED' to this file")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.build = os.path.abspath(options.build)

    tests = discover()
    if options.one:
        return run_here(tests[options.one], options.build)
    chosen = [name for name in tests if options.k in name]
    if options.list:
        print("\n".join(chosen))
        return 0
    if not os.access(os.path.join(options.build, "tidemark"), os.X_OK):
        sys.exit("no %s/tidemark: build the project first, or name the build with --build" % options.build)
    if not chosen:
        sys.exit("no test's name contains '%s'; --list shows them" % options.k)

    failed = skipped = 0
    with concurrent.futures.ThreadPoolExecutor(options.j) as pool:
        for name, failures in zip(chosen, pool.map(lambda n: run_apart(n, options), chosen)):
            if failures and all(line.startswith(SKIPPED) for line in failures):
                skipped += 1
                print("SKIP %s: %s" % (name, failures[0][len(SKIPPED):]), flush=True)
                continue
            failed += bool(failures)
            for failure in failures:
                print("FAIL %s: %s" % (name, failure), flush=True)
            if options.v and not failures:
                print("ok   %s" % name, flush=True)
    passed = len(chosen) - failed - skipped
    if options.counts:
        with open(options.counts, "a") as out:
            out.write("%d %d\n" % (passed, failed))
        print("end-to-end tests: ", end="")
    print("%d passed, %d failed" % (passed, failed) + (", %d skipped" % skipped if skipped else ""))
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
