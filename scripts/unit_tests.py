#!/usr/bin/env python3
"""Runs the unit tests through meson, quietly: unit_tests.py BUILD [--counts FILE]

Prints only the output of tests that failed, then "unit tests: N passed, N failed".
"""
import argparse
import json
import os
import subprocess
import sys

GOOD = ("OK", "EXPECTEDFAIL")


def results(build):
    """One dictionary per test, as meson logs them; None when meson did not get as far as running any."""
    log = os.path.join(build, "meson-logs", "testlog.json")
    if os.path.exists(log):
        os.remove(log)
    meson = subprocess.run(["meson", "test", "-C", build, "--no-suite", "e2e", "--print-errorlogs"],
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    if os.path.exists(log):
        with open(log, errors="replace") as lines:
            return [json.loads(line) for line in lines if line.strip()]
    if meson.returncode == 0:
        return []
    print(meson.stdout, end="")
    return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--counts", help="append 'PASSED FAILED' to this file")
    options = parser.parse_args()

    tests = results(options.build)
    if tests is None:
        passed, failed = 0, 1
    else:
        tests = [t for t in tests if t["result"] != "SKIP"]
        bad = [t for t in tests if t["result"] not in GOOD]
        passed, failed = len(tests) - len(bad), len(bad)
        for test in bad:
            print("FAIL unit %s: %s" % (test["name"], test["result"]))
            for line in (test.get("stdout", "") + test.get("stderr", "")).splitlines():
                print("    " + line)
    print("unit tests: %d passed, %d failed" % (passed, failed))
    if options.counts:
        with open(options.counts, "a") as out:
            out.write("%d %d\n" % (passed, failed))
    return failed != 0


sys.exit(main())
