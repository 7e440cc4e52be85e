"""What Python frames cost: python_frames.py [--tidemark BUILD/tidemark] [--rounds N]

For each interpreter, medians over rounds of plain, `--python=off` and `--python=auto` in turn: nanoseconds for an
allocation of 1,000 bytes and its free at 20 Python frames, and milliseconds of fib(22), which only calls.
"""
import argparse
import glob
import os
import statistics
import subprocess
import sys
import tempfile

PROGRAM = """
import time
def leaf(n):
    for _ in range(n // 4):
        bytearray(1000)
        bytearray(1001)
        bytearray(1002)
        bytearray(1003)
def down(k, n):
    if k: return down(k - 1, n)
    start = time.perf_counter()
    leaf(n)
    return (time.perf_counter() - start) / n * 1e9
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
def timed():
    start = time.perf_counter()
    fib(22)
    return (time.perf_counter() - start) * 1e3
print(min(down(17, 100000) for _ in range(5)), min(timed() for _ in range(20)))
"""


def interpreters():
    for version in ("3.8", "3.9", "3.10", "3.11", "3.12", "3.13"):
        yield from sorted(glob.glob(os.path.expanduser("~/.pyenv/versions/%s.*/bin/python3" % version)))[-1:]
    yield "/usr/bin/python3"


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--tidemark", default="build/tidemark")
    options.add_argument("--rounds", type=int, default=5)
    o = options.parse_args()
    print("%-10s %10s %10s %10s %12s   %s" % ("", "plain ns", "off ns", "auto ns", "frames add", "fib plain, auto ms"))
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "program.py")
        with open(program, "w") as out:
            out.write(PROGRAM)
        for python in filter(os.path.exists, interpreters()):
            run = [o.tidemark, "run", "--quiet", "-o", os.path.join(folder, "x.tide")]
            ways = ([python, program], [*run, "--python=off", python, program], [*run, python, program])
            got = [[] for _ in ways]
            for _ in range(o.rounds):
                for results, command in zip(got, ways):
                    results.append([float(x) for x in subprocess.check_output(command).split()])
            (plain, fib), (off, _), (auto, fib_auto) = ([statistics.median(c) for c in zip(*r)] for r in got)
            name = subprocess.check_output([python, "-c", "import platform; print(platform.python_version())"], text=True)
            print("%-10s %10.0f %10.0f %10.0f %12.0f   %.2f, %.2f: %+.1f %%" % (
                name.strip() + ("" if "pyenv" in python else " *"), plain, off, auto, auto - off, fib, fib_auto,
                (fib_auto / fib - 1) * 100))
    print("* the system's")


if __name__ == "__main__":
    sys.exit(main())
