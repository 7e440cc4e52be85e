"""Runs tests within the virtual machine. /work/spool/job is what to run, and the answers are lines on the console."""
import importlib
import json
import os
import signal
import subprocess
import sys
import time

TREE, SPOOL = "/work/tree", "/work/spool"
AT_ONCE = 2


def say(line):
    os.write(1, (line + "\n").encode())


def start(name, job, tests):
    """A process of its own for one test; returns (its pid, the file with what it prints)."""
    path = "/tmp/out-" + name.replace("/", "_")[:200]
    pid = os.fork()
    if pid:
        return pid, path
    out = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    os.dup2(out, 1)
    os.dup2(out, 2)
    os.setsid()
    status = 1
    try:
        if job["kind"] == "unit":
            status = subprocess.run([os.path.join(job["build"], name)]).returncode
        elif job["kind"] == "packages":
            import packages
            status = packages.attempt(name, job["build"])
        else:
            import runner
            status = runner.run_here(tests[name], job["build"])
    finally:
        sys.stdout.flush()
        os._exit(status != 0)


def main():
    with open(SPOOL + "/job") as text:
        job = json.load(text)
    os.environ.update(job["env"])
    os.chdir(TREE)
    at_once = 1 if job["kind"] == "packages" else AT_ONCE  # they have one home
    sys.path.insert(0, TREE + "/tests/e2e")
    if job["kind"] == "shell":
        subprocess.run(job["command"], shell=True, cwd="/tmp", stderr=subprocess.STDOUT)
        return
    tests = {}
    if job["kind"] == "e2e":
        import harness
        for stem in sorted({name.split(".")[0] for name in job["names"]}):
            tests.update(harness.tests_of(importlib.import_module("test_" + stem)))
    say("begin %d" % len(job["names"]))
    waiting, running = list(job["names"]), {}
    while waiting or running:
        while waiting and len(running) < at_once:
            name = waiting.pop(0)
            pid, path = start(name, job, tests)
            running[pid] = (name, path, time.monotonic())
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid not in running:
            for other, (name, path, began) in running.items():
                if time.monotonic() - began > job["timeout"]:
                    with open(path, "a") as out:
                        out.write("not finished after %d s\n" % job["timeout"])
                    os.killpg(other, signal.SIGKILL)
            time.sleep(0.05)
            continue
        name, path, began = running.pop(pid)
        with open(path, errors="replace") as out:
            lines = out.read().splitlines()
        took = time.monotonic() - began
        if status == 0:
            say("%s %s %.0f" % ("skip" if any(line.startswith("skipped: ") for line in lines) else "ok", name, took))
        else:
            for line in lines[-12:] or ["it ended with %d" % status]:
                say("fail %s %s" % (name, line[:300]))
            say("failed %s %.0f" % (name, took))
        os.unlink(path)
    say("end")


if __name__ == "__main__":
    main()
