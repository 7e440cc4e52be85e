#!/usr/bin/env python3
"""Kills a recorded program at random moments: kills.py [--build BUILD] [--runs N] [--seed N] [-j N]

tests/programs/killed.c counts each event in shared memory, before and after the call. After every kill the
profile must open, and say of every thread what these counts allow: no less than was done, no more than was
begun. Ends with "N runs, N failed".
"""
import argparse
import concurrent.futures
import json
import os
import random
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

import soak

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
HEADER = struct.Struct("=II56x")
WORKER = struct.Struct("=8Q")
TIMEOUT_S = 300
LATEST_KILL_S = 0.06


def read_log(path):
    """(pid, [(allocated, freed) of each thread]), each of these (begun, done, bytes begun, bytes done)."""
    data = soak.read_bytes(path)
    if len(data) < HEADER.size:
        return 0, []
    pid, threads = HEADER.unpack_from(data)
    workers = []
    for i in range(threads):
        counts = WORKER.unpack_from(data, HEADER.size + i * WORKER.size)
        workers.append((counts[:4], counts[4:]))
    return pid, workers


def child_of(pid):
    """The pid of the program that tidemark started, 0 while there is none."""
    try:
        with open("/proc/%d/task/%d/children" % (pid, pid)) as children:
            return int((children.read().split() or ["0"])[0])
    except OSError:
        return 0


def wait_for(question, process):
    """The first answer that is not false; None when the process ended or time is up."""
    end = time.monotonic() + TIMEOUT_S
    while time.monotonic() < end and process.poll() is None:
        answer = question()
        if answer:
            return answer
        time.sleep(0.0005)
    return None


def ask(tidemark, profile, metric):
    done = subprocess.run([tidemark, "report", profile, "--metric", metric, "--by", "thread", "--json"],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=TIMEOUT_S)
    if done.returncode:
        raise ValueError("report --metric %s: status %d, %s" % (metric, done.returncode, done.stderr.strip()[:300]))
    return json.loads(done.stdout)


def of_thread(report, name):
    rows = [r for r in report["rows"] if r["name"] == name]
    return sum(r["self_count"] for r in rows), sum(r["self_bytes"] for r in rows)


def compare(total, live, workers):
    """What the profile says against what the program counted."""
    wrong = []
    def within(what, got, least, most):
        if not least <= got <= most:
            wrong.append("%s: got %d, want %d to %d" % (what, got, least, most))
    for i, (allocated, freed) in enumerate(workers):
        name = "worker-%d" % i
        count, size = of_thread(total, name)
        live_count, live_size = of_thread(live, name)
        within(name + " allocations", count, allocated[1], allocated[0])
        within(name + " bytes", size, allocated[3], allocated[2])
        within(name + " frees", count - live_count, freed[1], freed[0])
        within(name + " bytes freed", size - live_size, freed[3], freed[2])
        within(name + " events in flight", allocated[0] - allocated[1], 0, 1)
    in_flight = sum(freed[0] - freed[1] for _, freed in workers)
    within("frees in flight of all threads", in_flight, 0, len(workers))
    totals = total["totals"]
    for what in ("lost_events", "unknown_frees"):
        within(what, totals[what], 0, 0)
    within("live blocks", totals["live_blocks"], totals["allocations"] - totals["frees"],
           totals["allocations"] - totals["frees"])
    return wrong


def done_by(workers):
    return sum(allocated[1] + freed[1] for allocated, freed in workers)


def one_kill(tidemark, program, rng, least=0):
    """One run and its kill, if it is not an early one after so many events at least; returns (events that were recorded,
    [what was wrong])."""
    folder = tempfile.mkdtemp(prefix="tide-kill-")
    profile, log = os.path.join(folder, "p.tide"), os.path.join(folder, "log")
    # One in ten is killed while it starts, when it may not even have counters yet.
    early, delay_s = rng.random() < 0.1, rng.random() * LATEST_KILL_S
    threads = rng.randint(1, 6)
    tool = subprocess.Popen([tidemark, "run", "--quiet", "-o", profile, "--", program, log, str(threads)],
                            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                            start_new_session=True)
    try:
        if early:
            pid = wait_for(lambda: child_of(tool.pid), tool)
            delay_s /= 10
        else:
            pid = wait_for(lambda: done_by(read_log(log)[1]) >= least and read_log(log)[0], tool)
        if not pid:
            return 0, ["the program did not start: " + tool.communicate()[1].decode(errors="replace")[:300]]
        time.sleep(delay_s)
        os.kill(pid, signal.SIGKILL)
        errors = tool.communicate(timeout=TIMEOUT_S)[1].decode(errors="replace")
        wrong = []
        if tool.returncode != 128 + signal.SIGKILL:
            wrong.append("status: got %d, want %d" % (tool.returncode, 128 + signal.SIGKILL))
        if errors:
            wrong.append("stderr: " + errors.strip()[:300])
        if not os.path.exists(profile):
            return 0, wrong + ["no profile was written"]
        total, live = ask(tidemark, profile, "total"), ask(tidemark, profile, "live")
        if total["signal"] != signal.SIGKILL:
            wrong.append("signal: got %r, want %d" % (total["signal"], signal.SIGKILL))
        events = total["totals"]["allocations"] + total["totals"]["frees"]
        return events, wrong + compare(total, live, read_log(log)[1])
    except (ValueError, subprocess.TimeoutExpired) as error:
        return 0, [str(error)]
    finally:
        if tool.poll() is None:
            os.killpg(tool.pid, signal.SIGKILL)
            tool.wait()
        shutil.rmtree(folder, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default=os.path.join(ROOT, "build"))
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=None, help="of the random moments (default: a new one)")
    parser.add_argument("-j", type=int, default=2, help="runs at a time")
    options = parser.parse_args()
    seed = options.seed if options.seed is not None else random.randrange(1 << 32)
    print("seed %d" % seed, flush=True)

    sys.path.insert(0, os.path.join(ROOT, "tests", "e2e"))
    import harness
    test = harness.Test(os.path.abspath(options.build))
    program = test.build("killed.c", "-O2")
    test.close()
    failed = events = 0
    with concurrent.futures.ThreadPoolExecutor(options.j) as pool:
        kills = pool.map(lambda i: one_kill(test.tidemark, program, random.Random(seed * 1000003 + i)),
                         range(options.runs))
        for number, (seen, wrong) in enumerate(kills):
            failed += bool(wrong)
            events += seen
            for what in wrong:
                print("FAIL run %d: %s" % (number, what), flush=True)
    print("%d events recorded" % events)
    print("%d runs, %d failed" % (options.runs, failed))
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
