"""What an end-to-end test works with: build a tiny program, record it, ask the profile, compare numbers.

A test is a function `test_something(t)` in a file test_*.py of this folder; `t` is a Test. A check that
fails is noted and the test goes on, so that one run shows every number that is wrong.
"""
import contextlib
import functools
import glob
import hashlib
import inspect
import itertools
import json
import os
import shutil
import subprocess
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
PROGRAMS = os.path.join(ROOT, "tests", "programs")
# For programs that include headers of tidemark itself.
OWN_HEADERS = ("-I", os.path.join(ROOT, "src"), "-I", os.path.join(ROOT, "src", "arch", os.uname().machine))
NO_ARENAS = ("--ignore", r"^\[Python arena\]$")  # memory for small objects, of which a test with large ones knows nothing
LIBRARIES = "/usr/lib/%s-linux-gnu" % os.uname().machine
MIMALLOC_LIBRARY = next((name for name in ("libmimalloc.so.2", "libmimalloc.so.3") if os.path.exists(os.path.join(LIBRARIES, name))),
                        "libmimalloc.so.2")  # Debian 13 has the newer one only
COMPILERS = {".c": "gcc", ".cpp": "g++"}


def cases(**choices):
    """Runs a test once for each combination: @cases(opt=("-O0", "-O2")) gives test(t, opt=...)."""
    def decorate(function):
        function.choices = choices
        return function
    return decorate


def slow(function):
    """A test that `make check` leaves out, though it runs the others of the file."""
    function.slow = True
    return function


def expand(function):
    """(suffix of the name, keyword arguments) of each run of a test function."""
    choices = getattr(function, "choices", {})
    for values in itertools.product(*choices.values()):
        arguments = dict(zip(choices, values))
        words = (" ".join(v) if isinstance(v, tuple) else str(v) for v in values)
        yield "".join("[%s]" % w for w in words), arguments


def line_of(source, marker):
    """Number of the line of tests/programs/SOURCE that holds the comment /* MARKER */."""
    with open(os.path.join(PROGRAMS, source)) as lines:
        for number, line in enumerate(lines, 1):
            if "/* %s */" % marker in line:
                return number
    raise ValueError("no line of %s has /* %s */" % (source, marker))


@contextlib.contextmanager
def memory_group(t, limit):
    """A memory cgroup within the one we are in, for what a test puts there; None where none can be made."""
    with open("/proc/self/cgroup") as lines:
        mine = {names: path for _, names, path in (line.strip().split(":", 2) for line in lines)}
    group = None
    for root, path, knob in (("/sys/fs/cgroup/memory", mine.get("memory"), "memory.limit_in_bytes"),
                             ("/sys/fs/cgroup", mine.get(""), "memory.max")):
        candidate = "%s%s/%s" % (root, (path or "/").rstrip("/"), os.path.basename(t.dir))
        if path is None or group or not os.access(os.path.dirname(candidate), os.W_OK):
            continue
        try:
            os.mkdir(candidate)
        except OSError:
            continue
        try:
            with open(os.path.join(candidate, knob), "w") as out:
                out.write(str(limit))
            group = candidate
        except OSError:
            os.rmdir(candidate)  # the memory controller is not ours to use
    try:
        yield group
    finally:
        for _ in range(1000 if group else 0):
            try:
                os.rmdir(group)
                break
            except OSError:
                time.sleep(0.01)  # the last process is just leaving it


class Failed(Exception):
    """The test cannot go on."""


def eventually(what, condition):
    """Waits for something that must happen, however busy the machine is; returns what the condition said."""
    end = time.monotonic() + 300
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        time.sleep(0.01)
    raise Failed("not within 300 s: " + what)


class Skipped(Exception):
    """The test cannot be run here; the text says what is missing."""


class Test:
    def __init__(self, build):
        self.tidemark = os.path.join(build, "tidemark")
        self.library = os.path.join(build, "libtidemark.so")
        self.cache = os.path.join(build, "e2e-programs")
        self.dir = tempfile.mkdtemp(prefix="tide-e2e-")
        self.failures = []
        self.stdout = self.stderr = self.status = None
        self.recorded = 0

    def close(self):
        shutil.rmtree(self.dir, ignore_errors=True)

    # Checks

    def equal(self, what, got, want):
        if got != want:
            self.failures.append("%s: got %r, want %r" % (what, got, want))

    def true(self, what, condition, got=None):
        if not condition:
            self.failures.append("%s: got %r" % (what, got) if got is not None else "not true: " + what)

    # Programs

    def build(self, source, *flags, cc=None, shared=False):
        """Compiles tests/programs/SOURCE; the result is kept until source, flags or the shared headers change."""
        path = os.path.join(PROGRAMS, source)
        stem, suffix = os.path.splitext(os.path.basename(source))
        cc = cc or COMPILERS[suffix]
        command = [cc, "-g", "-Wall", "-Wextra", "-Werror", "-I", PROGRAMS, *(["-shared", "-fPIC"] if shared else []), *flags]
        key = hashlib.sha256(" ".join(command).encode())
        headers = sorted(glob.glob(os.path.join(PROGRAMS, "*.h")))
        for name in (path, *headers, os.path.join(ROOT, "include", "tidemark.h")):
            with open(name, "rb") as content:
                key.update(content.read())
        folder = os.path.join(self.cache, key.hexdigest()[:16])
        program = os.path.join(folder, stem + (".so" if shared else ""))
        if not os.path.exists(program):
            os.makedirs(folder, exist_ok=True)
            # Written aside: another test may be building the same program. The first one stays, so that no program
            # loses its file while it runs.
            unfinished = "%s.%d" % (program, os.getpid())
            done = subprocess.run([*command, path, "-o", unfinished, "-pthread", "-ldl"],
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            if done.returncode:
                raise Failed("%s does not compile:\n%s" % (source, done.stdout))
            with contextlib.suppress(FileExistsError):
                os.link(unfinished, program)
            os.unlink(unfinished)
        return program

    def file(self, name):
        """A path in this test's own folder, which is removed afterwards."""
        return os.path.join(self.dir, name)

    def plain(self, *argv, env=None):
        """Runs a program without tidemark; returns (stdout, stderr, status)."""
        return self._run(argv, env)

    def run(self, *arguments, env=None):
        """Runs `tidemark ARGUMENTS`; returns (stdout, stderr, status)."""
        return self._run((self.tidemark, *arguments), env)

    def _run(self, argv, env):
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              cwd=self.dir, env={**os.environ, **(env or {})})
        self.stdout, self.stderr = done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")
        # The shell's convention, so that a plain run and a recorded one compare equal.
        self.status = done.returncode if done.returncode >= 0 else 128 - done.returncode
        return self.stdout, self.stderr, self.status

    def record(self, *argv, opts=(), env=None, status=0):
        """Records a program; returns the profile's path. stdout, stderr and status are left in the test."""
        self.recorded += 1
        profile = self.file("%d.tide" % self.recorded)
        self.run("run", "--quiet", "-o", profile, *opts, "--", *argv, env=env)
        if status is not None:
            self.equal("exit status of " + os.path.basename(argv[0]), self.status, status)
        if not os.path.exists(profile):
            raise Failed("no profile was written; stderr: " + self.stderr.strip()[:500])
        return profile

    # Questions

    def ask(self, profile, *arguments):
        stdout, stderr, status = self.run(arguments[0], profile, *arguments[1:], "--json")
        if status:
            raise Failed("tidemark %s failed (%d): %s" % (" ".join(arguments), status, stderr.strip()[:500]))
        return json.loads(stdout)

    def report(self, profile, metric="live", *arguments):
        return self.ask(profile, "report", "--metric", metric, *arguments)

    def row(self, report, name):
        """The figures of one function, thread or library; several rows (C++ overloads) are added up."""
        rows = [r for r in report["rows"] if bare(r["name"]) == name]
        return {key: sum(r[key] for r in rows) for key in ("self_bytes", "self_count", "total_bytes", "total_count")}

    def total(self, report, name):
        """(bytes, count) of a function with everything that it calls."""
        row = self.row(report, name)
        return row["total_bytes"], row["total_count"]

    def stacks(self, profile, innermost, metric="live", *arguments):
        """Stacks whose innermost frame is this function: [(bytes, count, [function, ...])]."""
        rows = self.report(profile, metric, "--by", "stack", *arguments)["rows"]
        named = [(r["bytes"], r["count"], [bare(f["function"]) for f in r["stack"]]) for r in rows]
        return [r for r in named if r[2] and r[2][0] == innermost]

    def consistent(self, profile, unknown_frees=0):
        """What must hold in every complete profile; returns the totals at the end."""
        live = self.report(profile)
        totals = live["totals"]
        self.equal("complete", live["complete"], True)
        self.equal("lost events", totals["lost_events"], 0)
        self.equal("unknown frees", totals["unknown_frees"], unknown_frees)
        self.equal("live blocks", totals["live_blocks"], totals["allocations"] - totals["frees"])
        for metric, bytes_name, count_name in (("live", "live_bytes", "live_blocks"),
                                               ("total", "bytes_allocated", "allocations"),
                                               ("peak", "peak_bytes", None),
                                               ("temporary", None, "temporary_allocations")):
            for by in ("function", "thread"):
                rows = self.report(profile, metric, "--by", by)["rows"]
                if bytes_name:
                    self.equal("self bytes of all rows, %s by %s" % (metric, by),
                               sum(r["self_bytes"] for r in rows), totals[bytes_name])
                if count_name:
                    self.equal("self count of all rows, %s by %s" % (metric, by),
                               sum(r["self_count"] for r in rows), totals[count_name])
        return totals


def bare(name):
    """A function's name without its parameters."""
    return name.split("(")[0]


def tests_of(module):
    """(name, callable taking a Test) of every test in a module."""
    stem = module.__name__.replace("test_", "", 1)
    for name, function in inspect.getmembers(module, inspect.isfunction):
        if name.startswith("test_") and function.__module__ == module.__name__:
            for suffix, arguments in expand(function):
                full = "%s.%s%s" % (stem, name.replace("test_", "", 1), suffix)
                yield full, functools.partial(function, **arguments)
