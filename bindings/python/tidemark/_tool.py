"""The program `tidemark` itself: where it is, and what it says about the running recording."""
import contextlib
import json
import os
import shutil
import subprocess
import tempfile
import time

import tidemark

SNAPSHOT_S = 60  # to wait for one at most


class NotFound(Exception):
    """The program was not found; the text says what to do."""


def find():
    """() -> path of the program. $TIDEMARK, or what was installed or built with this package, or the one on PATH."""
    named = os.environ.get("TIDEMARK")
    if named:
        if os.path.isfile(named) and os.access(named, os.X_OK):
            return named
        raise NotFound("TIDEMARK is %s, which is not a program that can be run" % named)
    folder = os.path.dirname(os.path.realpath(__file__))
    beside = [os.path.join(folder, "..", "..", "..", "build", "tidemark")]  # in the source tree
    while os.path.dirname(folder) != folder:
        folder = os.path.dirname(folder)
        beside.append(os.path.join(folder, "bin", "tidemark"))
    for path in beside:
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return os.path.normpath(path)
    path = shutil.which("tidemark")
    if path:
        return path
    raise NotFound("the program tidemark is not found; put it on PATH, or its path into the variable TIDEMARK")


def run(*arguments):
    """(str, ...) -> CompletedProcess of the program. It does not become part of the recording of this process."""
    # The recorder does not change an environment that names another session.
    environment = {**{k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}, "TIDEMARK_SOCKET": "none"}
    return subprocess.run([find(), *arguments], env=environment, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)


OWN = os.path.dirname(os.path.realpath(__file__))
OWN_ROWS = 8  # so many more rows are asked for, because lines of this package may be among them and are left out


@contextlib.contextmanager
def so_far():
    """Path of a complete snapshot of the recording, while the block runs; None if there is none."""
    folder = tempfile.mkdtemp(prefix="tidemark-")
    try:
        path = os.path.join(folder, "so-far.tide")
        limit = time.monotonic() + SNAPSHOT_S
        written = tidemark.snapshot(path)
        while written and not os.path.exists(path):  # it appears when it is complete
            if time.monotonic() > limit:
                written = False
            time.sleep(0.01)
        yield path if written else None
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def ask(command, path, since, at, *options):
    """The answer of a command about this process between two moments, as JSON; None: it has none."""
    done = run(command, path, "--process", str(os.getpid()), "--since", since, "--at", at, *options, "--json")
    return json.loads(done.stdout.decode("utf-8", "replace")) if done.returncode == 0 else None


def place_of(row):
    """The row's file and line; None: it has no file, like allocations of threads without Python code."""
    if not row["file"]:
        return None
    path = os.path.relpath(row["file"])
    return "%s:%s" % (path, row["line"]) if row["line"] else path  # some of the interpreter's instructions have no line


def rows_of(path, since, at, metric, count):
    answer = ask("report", path, since, at, "--metric", metric, "--by", "line", "--python-only", "--top", str(count + OWN_ROWS))
    rows = [row for row in answer["rows"] if row["self_bytes"] > 0] if answer else []
    return [(row["self_bytes"], row["self_count"], place_of(row), row["name"])
            for row in rows if not row["file"] or os.path.dirname(os.path.realpath(row["file"])) != OWN][:count]


def lines(since, at, metric, count):
    """(mark, mark, metric, int) -> [(bytes, blocks, "file:line", function)] of this process between two marks.

    The Python lines with the most; empty if that is not known. Writes a snapshot to find out.
    """
    try:
        with so_far() as path:
            return rows_of(path, since, at, metric, count) if path else []
    except (NotFound, OSError, ValueError, KeyError):
        return []


def moments_of_peak(path, since, at):
    """When most was live between two marks, if known: mostly the process's peak, otherwise the end of an interval."""
    yield "peak"
    answer = ask("peaks", path, since, at, "--top", "0")
    peaks = [p for p in answer["peaks"] if p["thread"] is None] if answer else []
    if peaks:
        yield "%.9fs" % (max(peaks, key=lambda p: p["bytes"])["listed_ns"] / 1e9)


def lines_at_peak(since, at, peak_bytes, count):
    """As lines(), of what was live when most was, `peak_bytes` above the first mark; and whether it is that.

    What is live is known at the process's highest, and at the ends of intervals, which are a millisecond or more:
    of a lower peak that was shorter the lines are of all that was allocated meanwhile.
    """
    try:
        with so_far() as path:
            if not path:
                return [], False
            for moment in moments_of_peak(path, since, at):
                rows = rows_of(path, since, moment, "live", count)
                if 0.5 * peak_bytes <= sum(row[0] for row in rows) <= 1.1 * peak_bytes:
                    return rows, True  # otherwise it is another peak, or the moment was over
            return rows_of(path, since, at, "total", count), False
    except (NotFound, OSError, ValueError, KeyError):
        return [], False


def stacks_of(path, since, at, metric):
    answer = ask("report", path, since, at, "--metric", metric, "--by", "stack", "--python-only", "--top", "0", "--min", "0")
    return [(row["bytes"], row["thread"], [(f["function"], f["file"], f["line"]) for f in row["stack"]])
            for row in answer["rows"]] if answer else None


def stacks(since, at):
    """[(bytes, thread, [(function, file, line)])] of what is left at a mark since another; None if that is not known."""
    try:
        with so_far() as path:
            return stacks_of(path, since, at, "live") if path else None
    except (NotFound, OSError, ValueError, KeyError):
        return None


def stacks_at_peak(since, at, peak_bytes):
    """The same of what was live between them at the highest moment, or if that is not known, of all that was allocated;
    and whether it is the former."""
    try:
        with so_far() as path:
            for moment in moments_of_peak(path, since, at) if path else ():
                rows = stacks_of(path, since, moment, "live")
                if rows and 0.95 * peak_bytes <= sum(row[0] for row in rows) <= 1.05 * peak_bytes:
                    return rows, True
            return stacks_of(path, since, at, "total") if path else None, False
    except (NotFound, OSError, ValueError, KeyError):
        return None, False


def size(count):
    """(int) -> str. Bytes as reports write them."""
    if abs(count) < 1024:
        return "%d B" % count
    for unit in ("KiB", "MiB", "GiB", "TiB"):
        count /= 1024
        if abs(count) < 1023.95:
            break
    return "%.1f %s" % (count, unit)


def counted(count, word):
    """(int, str) -> str. "1 block", "2,000 blocks"."""
    return "{:,} {}{}".format(count, word, "" if abs(count) == 1 else "s")


def table(rows):
    """The result of lines() as lines of text."""
    return ["%10s in %s  %s" % (size(amount), counted(blocks, "block"),
                                "%s (%s)" % (place, name) if place else name)
            for amount, blocks, place, name in rows]
