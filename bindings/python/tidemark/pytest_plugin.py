"""pytest: limits of memory for tests, and which tests need most.

    @pytest.mark.limit_memory("24 MB")    # at no moment more than that above what was live at its begin
    @pytest.mark.limit_leaks("1 MB")      # and so much left at its end, after gc.collect()

    pytest --tidemark                      # records itself; a table of the tests with the highest peaks

Limits are checked when pytest runs under `tidemark run`; --tidemark restarts it that way. What counts is the
test itself, not its fixtures, and the heap of its process: all blocks from malloc, of all threads, C
libraries' too; and every object of Python's, unless --tidemark-python says otherwise.

The markers take what those of pytest-memray take: KB, MB and GB are powers of 1,024; current_thread_only=True
counts the thread that runs the test alone; filter_fn (of limit_leaks) is called with each Stack of what is left,
and what it is False for does not count.
"""
import collections
import gc
import os
import re
import sys
import threading

import pytest

import tidemark
from tidemark import _tool
from tidemark.__main__ import interpreter

LIMITS = ("limit_memory", "limit_leaks")
SIZE = re.compile(r"\s*([0-9]+(?:\.[0-9]*)?|\.[0-9]+)\s*(?:([kmgtp])(i?b)?|b)?\s*$", re.IGNORECASE)
STARTED = "TIDEMARK_PYTEST"  # set for the pytest that we started, so that it starts no other
OUTPUT = "tidemark.pytest.%p.tide"
LABEL = 58  # bytes of a test's name in its marks: LABEL and LABEL.end must be short enough
LINES = 3
SIZES = ("size", "memory_limit", "location_limit")  # accepted names of a size
OPTIONS = {"limit_memory": {"current_thread_only"}, "limit_leaks": {"current_thread_only", "filter_fn"}}

StackFrame = collections.namedtuple("StackFrame", "function filename lineno")
Stack = collections.namedtuple("Stack", "frames")  # innermost first


def parse(text):
    """("24 MB") -> bytes. KB and KiB are both 1,024, and so on, as pytest-memray has it."""
    if isinstance(text, (int, float)) and not isinstance(text, bool):
        return int(text)
    found = SIZE.match(str(text))
    if not found:
        raise ValueError("'%s' is no size; write it as 64 KiB, 24 MB or 1.5 GB" % (text,))
    number, letter, _ = found.groups()
    return int(float(number) * 1024 ** ("kmgtp".index(letter.lower()) + 1 if letter else 0))


def limit_of(item, name):
    """Bytes, or None: the test has no such limit. ValueError: the limit has no size."""
    marker = item.get_closest_marker(name)
    if marker is None:
        return None
    sizes = list(marker.args) + [marker.kwargs[key] for key in marker.kwargs if key in SIZES]
    if len(sizes) != 1 or set(marker.kwargs) - set(SIZES) - OPTIONS[name]:
        raise ValueError('%s takes one size, as in %s("24 MB"), and %s' % (name, name, " and ".join(sorted(OPTIONS[name]))))
    try:
        return parse(sizes[0])
    except (ValueError, OverflowError) as e:
        raise ValueError("%s: %s" % (name, e)) from None


def pytest_addoption(parser):
    group = parser.getgroup("tidemark", "memory, by tidemark")
    group.addoption("--tidemark", action="store_true", help="record the tests, show which have the highest peaks")
    group.addoption("--tidemark-top", type=int, default=10, metavar="N", help="how many of them (10)")
    group.addoption("--tidemark-python", default="objects", choices=("objects", "auto", "off"),
                    help="what of Python is recorded, as for tidemark run --python (objects: all of them)")
    group.addoption("--tidemark-output", default=OUTPUT, metavar="FILE",
                    help="where the recording goes, as for tidemark run -o (%s)" % OUTPUT.replace("%", "%%"))


def pytest_configure(config):
    config.addinivalue_line("markers", "limit_memory(size, current_thread_only=False): the test fails if its heap rises further above its begin")
    config.addinivalue_line("markers", "limit_leaks(size, filter_fn=None, current_thread_only=False): the test fails if it leaves more behind")
    config.tidemark_recorded = tidemark.recorded()


# Starting anew

def start_anew(config):
    """Replaces this process by `tidemark run` of the same pytest."""
    script = sys.argv[0]
    name = os.path.basename(script)
    if name == "__main__.py":
        pytest_itself = ["-m", "pytest"]
    elif name in ("pytest", "py.test") and os.path.isfile(script):
        pytest_itself = [script]
    else:
        raise pytest.UsageError("--tidemark cannot start %s anew; run it under 'tidemark run'" % script)
    try:
        program, python = _tool.find(), config.option.tidemark_python
    except (_tool.NotFound, OSError) as e:
        raise pytest.UsageError("--tidemark: %s" % e)
    words = [program, "run", "--quiet", "-o", config.option.tidemark_output, "--python", python, "--",
             *interpreter(), *pytest_itself, *map(str, config.invocation_params.args)]
    capture = config.pluginmanager.getplugin("capturemanager")
    if capture:
        capture.stop_global_capturing()  # restore the original streams
    sys.stdout.flush()
    sys.stderr.flush()
    os.environ[STARTED] = str(os.getpid())
    try:
        os.execv(words[0], words)
    except OSError as e:
        raise pytest.UsageError("--tidemark: %s cannot be run: %s" % (program, e))


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config):
    option = config.option
    if not option.tidemark or hasattr(config, "workerinput") or tidemark.recorded():
        return
    if STARTED not in os.environ and not getattr(option, "help", False) and not getattr(option, "version", 0):
        start_anew(config)


# Measuring

def label_of(item):
    """The end of a long name says more than its beginning."""
    name = item.nodeid.encode("utf-8", "replace")
    return (name if len(name) <= LABEL else b"..." + name[3 - LABEL:]).decode("utf-8", "ignore")


@pytest.hookimpl(hookwrapper=True, trylast=True)
def pytest_runtest_call(item):
    item.tidemark_wrong = None
    try:
        memory, leaks = [limit_of(item, name) is not None for name in LIMITS]
    except ValueError as e:
        item.tidemark_wrong = str(e)
    if item.tidemark_wrong:
        pytest.fail(item.tidemark_wrong, pytrace=False)
    wanted = item.config.option.tidemark or leaks or memory
    if not wanted or not item.config.tidemark_recorded:
        yield
        return
    heap, label, runtest = tidemark.watch(), label_of(item), item.runtest

    def measured():
        if leaks:
            gc.collect()
        with tidemark.scope(label), heap:
            runtest()
            if leaks:
                gc.collect()

    item.runtest = measured  # pytest's own work around the test does not count
    yield
    del item.runtest
    item.tidemark_heap = heap
    if heap.peak_bytes is not None:
        item.user_properties += [("tidemark_peak_bytes", heap.peak_bytes), ("tidemark_live_bytes", heap.live_bytes)]


def counts(thread, frames, mine, chosen):
    return (not mine or thread == "main") and (not chosen or chosen(Stack(tuple(StackFrame(*f) for f in frames))))


def narrowed(item, name, amount, since, at):
    """The part of what was measured that counts according to the marker's options; of a peak whose threads are not known,
    it is at most what they allocated."""
    given = item.get_closest_marker(name).kwargs
    mine = given.get("current_thread_only") and threading.current_thread() is threading.main_thread()
    chosen = given.get("filter_fn")
    if not mine and not chosen:
        return amount
    found, known = _tool.stacks_at_peak(since, at, amount) if name == "limit_memory" else (_tool.stacks(since, at), True)
    if found is None:
        return amount
    part = sum(size for size, thread, frames in found if counts(thread, frames, mine, chosen))
    return part if known else min(amount, part)


def complaint(item, heap):
    """The limit that the test exceeded, in words; None: none."""
    for name, amount, what in (
            ("limit_memory", heap.peak_bytes, "at its highest the test's heap was %s above its begin"),
            ("limit_leaks", heap.live_bytes, "the test left %s behind")):
        limit = limit_of(item, name)
        if limit is None or amount is None or amount <= limit:
            continue
        since, at, whole = label_of(item) + "#-1", label_of(item) + ".end#-1", amount
        amount = narrowed(item, name, amount, since, at)
        if amount <= limit:
            continue
        text = ["%s: %s (%d bytes); its limit is %s" % (name, what % _tool.size(amount), amount, _tool.size(limit))]
        if name == "limit_leaks":
            rows, title = _tool.lines(since, at, "live", LINES), "what is left, by line:"
        else:
            rows, live = _tool.lines_at_peak(since, at, whole, LINES)
            title = ("what was live then, by line:" if live else
                     "what it allocated in all, by line (the highest was too short to know what was live then):")
        if rows:
            text.append(title)
        return "\n".join(text + _tool.table(rows))
    return None


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_runtest_makereport(item, call):
    heap = getattr(item, "tidemark_heap", None)
    if call.when == "call" and call.excinfo is None and heap is not None:
        text = complaint(item, heap)
        if text:
            try:
                pytest.fail(text, pytrace=False)
            except pytest.fail.Exception:
                call.excinfo = pytest.ExceptionInfo.from_current()
    outcome = yield
    if call.when == "call" and getattr(item, "tidemark_wrong", None):
        outcome.get_result().tidemark_wrong = True


# Telling

def pytest_terminal_summary(terminalreporter, config):
    measured, unchecked = [], 0
    for reports in terminalreporter.stats.values():
        for report in reports:
            if getattr(report, "when", None) != "call":
                continue
            figures = dict(report.user_properties)
            if "tidemark_peak_bytes" in figures:
                measured.append((figures["tidemark_peak_bytes"], figures["tidemark_live_bytes"], report.nodeid))
            elif any(name in report.keywords for name in LIMITS) and not getattr(report, "tidemark_wrong", False):
                unchecked += 1
    if unchecked:
        terminalreporter.write_line("tidemark: the memory limits of %d test%s were not checked; run pytest --tidemark"
                                    % (unchecked, "" if unchecked == 1 else "s"))
    if not config.option.tidemark:
        return
    if not measured:
        if STARTED in os.environ and not config.tidemark_recorded:
            terminalreporter.write_line("tidemark: pytest was started under 'tidemark run', but is not recorded")
        return
    terminalreporter.section("memory of tests")
    terminalreporter.write_line("%10s  %10s  test" % ("peak", "left"))
    for peak, live, name in sorted(measured, key=lambda m: (-m[0], m[2]))[:max(config.option.tidemark_top, 0)]:
        terminalreporter.write_line("%10s  %10s  %s" % (_tool.size(peak), _tool.size(live), name))
    if os.environ.get(STARTED) == str(os.getppid()):
        path = config.option.tidemark_output.replace("%p", str(os.getpid()))
        terminalreporter.write_line("recording: %s; 'tidemark marks %s --scopes' has every test" % (path, path))
