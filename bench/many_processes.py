#!/usr/bin/env python3
"""What a script of many short commands costs: many_processes.py [--build BUILD] [--commands N] [--repeats N]

Runs a shell script that starts N commands one after the other: plain, under tidemark with --only naming a program
that never runs, and recorded. The three take turns, so that a machine that gets slower is slower for all of them;
medians are compared. Then the collector's memory, the size of the file and the time of a report on it.
"""
import argparse
import os
import statistics
import subprocess
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def timed(command):
    """(seconds waited, processor seconds of all its processes) of a command that must succeed."""
    begin = time.perf_counter()
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit("%s ended with %d" % (" ".join(command), process.returncode))
    return time.perf_counter() - begin, usage.ru_utime + usage.ru_stime


def high_water(command):
    """Highest RSS of `command` itself: what wait4 tells is the largest of it and all it waited for."""
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    highest = 0
    while process.poll() is None:
        try:
            with open("/proc/%d/status" % process.pid) as lines:
                highest = max([highest] + [int(l.split()[1]) * 1024 for l in lines if l.startswith("VmHWM:")])
        except OSError:
            pass
        time.sleep(0.02)
    return highest


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default=os.path.join(ROOT, "build"))
    parser.add_argument("--commands", type=int, default=5000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--command", default="/bin/true")
    options = parser.parse_args()
    tidemark = os.path.join(os.path.abspath(options.build), "tidemark")

    with tempfile.TemporaryDirectory(prefix="tide-bench-") as folder:
        profile = os.path.join(folder, "p.tide")
        script = "i=0; while [ $i -lt %d ]; do %s || exit 1; i=$((i + 1)); done" % (options.commands, options.command)
        shell = ["sh", "-c", script]
        run = [tidemark, "run", "--quiet", "-o", profile]
        ways = {"plain": shell,
                "--only": [*run, "--only", "a-program-that-never-runs", "--", *shell],
                "recorded": [*run, "--", *shell]}
        costs = {name: [] for name in ways}
        for _ in range(options.repeats):
            for name, command in ways.items():
                costs[name].append(timed(command))
        print("%d times %s, medians of %d" % (options.commands, options.command, options.repeats))
        plain = [statistics.median(each) for each in zip(*costs["plain"])]
        for name in ways:
            wall, cpu = (statistics.median(each) for each in zip(*costs[name]))
            print("  %-9s %6.2f s, ratio %.3f   processor %6.2f s, ratio %.3f   (%s)" %
                  (name, wall, wall / plain[0], cpu, cpu / plain[1], " ".join("%.2f" % c[0] for c in costs[name])))
        memory = high_water(ways["recorded"])
        size = os.path.getsize(profile)
        report = statistics.median(timed([tidemark, "report", profile])[0] for _ in range(3))
        print("  recorded: collector %.1f MiB, file %.2f MiB (%.0f bytes a process), report %.2f s" %
              (memory / 2**20, size / 2**20, size / options.commands, report))


if __name__ == "__main__":
    main()
