"""What Python frames cost: python_frames.py [--tidemark BUILD/tidemark] [--rounds N]

For each interpreter: nanoseconds of processor time that an allocation of 1,000 bytes and its free take at 20 Python frames,
plain and under `--python=off`, which has the native stack; what `--python=auto` adds to that, while all 20 frames stay, while
they stay and are mostly of one function that calls itself, and when the innermost 1, 5 or 16 of them are called anew for each
allocation; and milliseconds of fib(22), which only calls.

Each figure is the least of many short batches, the ways in turn, so that a busy machine tells the same as a quiet one.
The last line is the greatest of what the frames add, at 20 frames that stay.
"""
import argparse
import glob
import os
import subprocess
import sys
import tempfile

PROGRAM = """
import time
FRAMES, BATCH = 20, 1000
def f0(): bytearray(1000)
for i in range(1, FRAMES):
    exec("def f%d(): f%d()" % (i, i - 1))
    exec("def g%d(function, argument): return g%d(function, argument)" % (i, i - 1))
def anew(function):
    for _ in range(BATCH):
        function()
def stay(_):
    for _ in range(BATCH // 4):
        bytearray(1000)
        bytearray(1000)
        bytearray(1000)
        bytearray(1000)
def again(frames, function, argument):
    return again(frames - 1, function, argument) if frames else g0(function, argument)
def g0(function, argument):
    best, clock = float("inf"), time.thread_time_ns
    for _ in range(200):
        start = clock()
        function(argument)
        best = min(best, clock() - start)
    return best / BATCH
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
def calls():
    start = time.thread_time_ns()
    fib(22)
    return (time.thread_time_ns() - start) / 1e6
# The module, g0(), and stay() or anew() are frames too.
costs = [globals()["g%d" % (FRAMES - 3)](stay, None), again(FRAMES - 4, stay, None)]
for k in (1, 5, 16):
    costs.append(globals()["g%d" % (FRAMES - 3 - k)](anew, globals()["f%d" % (k - 1)]))
print(*costs, min(calls() for _ in range(20)))
"""
LIMIT_NS = 150


def interpreters():
    for version in ("3.8", "3.9", "3.10", "3.11", "3.12", "3.13"):
        yield from sorted(glob.glob(os.path.expanduser("~/.pyenv/versions/%s.*/bin/python3" % version)))[-1:]
    yield "/usr/bin/python3"


def measure(ways, rounds):
    """The least of each figure, way by way."""
    got = [[] for _ in ways]
    for _ in range(rounds):
        for results, command in zip(got, ways):
            results.append([float(x) for x in subprocess.check_output(command).split()])
    return [[min(column) for column in zip(*results)] for results in got]


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--tidemark", default="build/tidemark")
    options.add_argument("--rounds", type=int, default=3)
    o = options.parse_args()
    print("%-10s %9s %8s   %-46s %s" % ("", "plain ns", "off ns", "frames add: all stay, of one; 1, 5, 16 anew",
                                        "fib plain, auto ms"))
    worst = 0
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "program.py")
        with open(program, "w") as out:
            out.write(PROGRAM)
        for python in filter(os.path.exists, interpreters()):
            run = [o.tidemark, "run", "--quiet", "-o", os.path.join(folder, "x.tide")]
            plain, off, auto = measure(([python, program], [*run, "--python=off", python, program], [*run, python, program]),
                                       o.rounds)
            added = [with_frames - without for with_frames, without in zip(auto[:-1], off)]
            worst = max(worst, added[0])
            name = subprocess.check_output([python, "-c", "import platform; print(platform.python_version())"], text=True)
            print("%-10s %9.0f %8.0f   %14.0f ns, %4.0f ns; %4.0f, %4.0f, %4.0f ns     %.2f, %.2f: %+.1f %%" % (
                name.strip() + ("" if "pyenv" in python else " *"), plain[0], off[0], *added, plain[-1], auto[-1],
                (auto[-1] / plain[-1] - 1) * 100), flush=True)
    print("* the system's")
    print("%s 20 Python frames add at most %d ns to an allocation: %.0f ns" % (
        "holds" if worst <= LIMIT_NS else "FAILS", LIMIT_NS, worst))


if __name__ == "__main__":
    sys.exit(main())
