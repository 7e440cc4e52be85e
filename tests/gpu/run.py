#!/usr/bin/env python3
"""Memory of a real GPU, against what the programs know themselves: run.py [--build BUILD] [--python PYTHON]

It needs a GPU with CUDA's driver, nvcc, and an interpreter that has PyTorch. The tests of `make test` use stand-ins for
the driver and for PyTorch instead (tests/e2e/test_gpu.py).
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
MIB = 1 << 20
counts = {True: 0, False: 0}


def check(what, got, want):
    counts[got == want] += 1
    if got != want:
        print("FAIL %s: got %r, want %r" % (what, got, want))


def run(*command, env=None):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, **(env or {})})


class Recorded:
    def __init__(self, tidemark, folder, command, env=None, options=()):
        self.tidemark, self.file = tidemark, os.path.join(folder, "gpu.tide")
        self.done = run(tidemark, "run", "--quiet", "-o", self.file, *options, "--", *command, env=env)
        if self.done.returncode:
            print(self.done.stdout[-2000:], self.done.stderr[-2000:])

    def report(self, metric, *options):
        done = run(self.tidemark, "report", self.file, "--metric", metric, "--json", *options)
        if done.returncode:
            raise SystemExit("report: " + done.stderr)
        return json.loads(done.stdout)

    def text(self, *words):
        return run(self.tidemark, words[0], self.file, *words[1:]).stdout


def self_bytes(report, name):
    return sum(r["self_bytes"] for r in report["rows"] if r["name"].split("(")[0] == name)


def runtime(tidemark, folder):
    """CUDA's runtime, linked statically."""
    program = os.path.join(folder, "known")
    built = run("nvcc", "-g", "-O1", "-o", program, os.path.join(HERE, "known.cu"))
    if built.returncode:
        raise SystemExit("nvcc: " + built.stderr)
    plain = run(program)
    r = Recorded(tidemark, folder, [program])
    check("runtime: output", (r.done.stdout, r.done.returncode), (plain.stdout, 0))
    pitch = int(plain.stdout.split()[1].rstrip(","))
    everything = (300 + 64 + 32 + 16) * MIB + pitch * 1000
    peak, end = r.report("gpu", "--at", "peak"), r.report("gpu")
    check("runtime: peak", (peak["sum"]["bytes"], peak["sum"]["count"]), (everything, 5))
    check("runtime: end", (end["sum"]["bytes"], end["sum"]["count"]), (64 * MIB + pitch * 1000, 2))
    check("runtime: by function", {f: self_bytes(peak, f) for f in ("plain", "managed", "pitched", "ordered")},
          {"plain": 364 * MIB, "managed": 32 * MIB, "pitched": pitch * 1000, "ordered": 16 * MIB})
    print(r.text("report", "--metric", "gpu", "--at", "peak"))


def torch(tidemark, folder, python, name, env, steps="30"):
    script = [python, os.path.join(HERE, "known.py"), steps]
    plain = run(*script, env=env)
    r = Recorded(tidemark, folder, script, env)
    own, before = json.loads(r.done.stdout), json.loads(plain.stdout)
    check(name + ": same figures as without tidemark", own, before)
    tensor, gpu = r.report("tensor", "--at", "peak"), r.report("gpu", "--at", "peak")
    check(name + ": peak of tensors", tensor["sum"]["bytes"], own["tensors_peak"])
    lines = r.report("tensor", "--at", "peak", "--by", "line")["rows"]
    check(name + ": the big one", [(os.path.basename(lines[0]["file"] or ""), lines[0]["line"], lines[0]["self_bytes"])],
          [("known.py", 11, 300_000_000 * 4)])
    # What the driver gave to others (cuBLAS, cuDNN) is in the driver's figure, not in PyTorch's.
    check(name + ": the driver gave at least what is reserved", gpu["sum"]["bytes"] >= own["reserved_peak"], True)
    print("%s: driver %d at its peak, PyTorch reserved %d" % (name, gpu["sum"]["bytes"], own["reserved_peak"]))
    print(r.text("report", "--metric", "tensor", "--at", "peak", "--by", "line", "--top", "8"))
    print(r.text("report", "--metric", "gpu", "--at", "peak", "--by", "line", "--top", "5"))
    print(r.text("findings"))


def attached(tidemark, folder, python):
    """A training that runs already: what it allocates from then on, at most what PyTorch has."""
    program = subprocess.Popen([python, os.path.join(HERE, "known.py"), "6000"], stdout=subprocess.PIPE, text=True)
    time.sleep(15)
    r = Recorded.__new__(Recorded)
    r.tidemark, r.file = tidemark, os.path.join(folder, "attached.tide")
    done = run(tidemark, "attach", str(program.pid), "--duration", "5s", "-o", r.file)
    print("attach: %d %s" % (done.returncode, done.stderr[-400:]))
    own = json.loads(program.communicate()[0])
    check("attached: the program ended well", program.returncode, 0)
    if done.returncode == 0:
        tensor = r.report("tensor", "--at", "peak")
        check("attached: tensors", 0 < tensor["sum"]["bytes"] <= own["tensors_peak"], True)
        print(r.text("report", "--metric", "tensor", "--at", "peak", "--by", "line", "--top", "5"))


def cost(tidemark, folder, python, steps):
    """Wall time of a training, plain and recorded in turn: printed, not checked."""
    script = [python, os.path.join(HERE, "known.py"), str(steps)]
    times = {"plain": [], "recorded": []}
    for _ in range(3):
        for way, command in (("plain", script), ("recorded", [tidemark, "run", "--quiet", "-o", os.path.join(folder, "cost.tide"), "--", *script])):
            begin = time.monotonic()
            run(*command)
            times[way].append(time.monotonic() - begin)
    plain, recorded = (statistics.median(times[way]) for way in times)
    print("training of %d steps: plain %.2f s, recorded %.2f s, %.2f times" % (steps, plain, recorded, recorded / plain))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=os.path.join(HERE, "..", "..", "build"))
    parser.add_argument("--python", default="python3", help="an interpreter that has PyTorch")
    options = parser.parse_args()
    tidemark = os.path.join(os.path.abspath(options.build), "tidemark")
    with tempfile.TemporaryDirectory() as folder:
        runtime(tidemark, folder)
        torch(tidemark, folder, options.python, "torch", {})
        torch(tidemark, folder, options.python, "torch, expandable segments", {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"})
        attached(tidemark, folder, options.python)
        for steps in (10, 5000):
            cost(tidemark, folder, options.python, steps)
    print("%d passed, %d failed" % (counts[True], counts[False]))
    sys.exit(counts[False] != 0)


if __name__ == "__main__":
    main()
