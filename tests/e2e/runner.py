#!/usr/bin/env python3
"""Runs the end-to-end tests: runner.py [--build BUILD] [-k NAME] [--quick] [-j N] [-v] [--junit FILE]

Every function test_* of every file test_*.py beside this one is a test; nothing has to be registered.
Each runs in a process group of its own, so that one that hangs is ended with all it has started.
"""
import argparse
import collections
import contextlib
import gc
import glob
import importlib
import os
import re
import selectors
import signal
import sys
import time
import traceback
from xml.etree import ElementTree

import harness
from browser import Browser, Process

TIMEOUT_S = 600  # for one that hangs: a busy machine needs ten times as long as a quiet one
SKIPPED = "skipped: "
# The files of `make check`: recording and every kind of answer, with exact numbers; nothing that takes long.
QUICK = ("allocation_functions", "api", "diff", "findings", "stack_filter", "layers", "leaks_command", "maps", "marks",
         "marks_command", "moments", "peaks", "program_ends", "readable_output", "report", "run", "runner", "sizes",
         "stacks", "terminal", "threads", "threads_command")
NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

# lines: what failed, or why it was skipped; cpu: seconds of the test and of the processes that it has waited for,
# which the browser is not.
Result = collections.namedtuple("Result", "name lines skipped seconds cpu")
Running = collections.namedtuple("Running", "name pid reader start output browser")


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
    gc.disable()  # a test reads large answers once, and ends: there is no need to search them for cycles
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


def start(name, function, build, browser):
    """Starts a test in a child of this process, which has imported every file already: that takes longer than many tests."""
    reader, writer = os.pipe()
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            os.setsid()
            os.dup2(writer, 1)
            os.dup2(writer, 2)
            Browser.lent = browser
            status = run_here(function, build)
        except BaseException:  # also a test that exits: this process must not go on as the runner
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            os._exit(status)
    os.close(writer)
    return Running(name, pid, reader, time.monotonic(), [], browser)


def finish(test, timed_out=None):
    """The result of a test whose output has ended, or that took too long."""
    if timed_out:
        os.killpg(test.pid, signal.SIGKILL)
        os.set_blocking(test.reader, False)  # a process that has left the group may keep the other end open
        with contextlib.suppress(BlockingIOError):
            test.output.append(os.read(test.reader, 1 << 16))
    os.close(test.reader)
    _, status, usage = os.wait4(test.pid, 0)
    lines = b"".join(test.output).decode(errors="replace").splitlines()
    if timed_out:
        lines.append("not finished after %d s" % timed_out)
    elif status == 0:
        lines = [line for line in lines if line.startswith(SKIPPED)]
    else:
        lines = lines or ["the test process ended with %d" % os.waitstatus_to_exitcode(status)]
    skipped = bool(lines) and all(line.startswith(SKIPPED) for line in lines)
    return Result(test.name, [line[len(SKIPPED):] for line in lines] if skipped else lines, skipped,
                  time.monotonic() - test.start, usage.ru_utime + usage.ru_stime)


def run_all(tests, options):
    """Runs tests, options.j at a time; yields the result of each when it ends."""
    waiting, running, browsers = collections.deque(tests.items()), selectors.DefaultSelector(), []

    def end(test, timed_out=None):
        running.unregister(test.reader)
        result = finish(test, timed_out)
        if result.lines:  # there is no telling in which state it is
            test.browser.end()
        else:
            browsers.append(test.browser)
        return result

    while waiting or running.get_map():
        while waiting and len(running.get_map()) < options.j:
            test = start(*waiting.popleft(), options.build, browsers.pop() if browsers else Process())
            running.register(test.reader, selectors.EVENT_READ, test)
        for key, _ in running.select(1):
            data = os.read(key.fd, 1 << 16)
            key.data.output.append(data)
            if not data:
                yield end(key.data)
        for key in list(running.get_map().values()):
            if time.monotonic() - key.data.start > options.timeout:
                yield end(key.data, options.timeout)
    for browser in browsers:
        browser.end()


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
    return ["the %d slowest of %d tests took %.0f s of %.0f s, %.0f s of %.0f s of CPU:" % (
        count, len(results), sum(r.seconds for r in first), sum(r.seconds for r in results),
        sum(r.cpu for r in first), sum(r.cpu for r in results)),
        *("%7.1f s %7.1f s of CPU  %s" % (r.seconds, r.cpu, r.name) for r in first)]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default=os.path.join(harness.ROOT, "build"))
    parser.add_argument("-k", metavar="NAME", default="", help="only tests whose name contains NAME")
    parser.add_argument("-j", type=int, default=os.cpu_count(), help="tests at a time (default: as many as there are processors)")
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
    chosen = {name: test for name, test in discover().items() if options.k in name and (not options.quick or is_quick(name, test))}
    if options.list:
        print("\n".join(chosen))
        return 0
    if not os.access(os.path.join(options.build, "tidemark"), os.X_OK):
        sys.exit("no %s/tidemark: build the project first, or name the build with --build" % options.build)
    if not chosen:
        sys.exit("no test's name contains '%s'; --list shows them" % options.k)

    results = []
    for result in run_all(chosen, options):
        results.append(result)
        for line in result.lines:
            print("%s %s: %s" % ("SKIP" if result.skipped else "FAIL", result.name, line), flush=True)
        if options.v and not result.lines:
            print("ok   %s  %.1f s, %.1f s of CPU" % (result.name, result.seconds, result.cpu), flush=True)
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
