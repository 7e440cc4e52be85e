"""Stacks go on from C to the Go code that called it."""
import collections
import os
import shutil
import subprocess

from harness import PROGRAMS, cases

GOROUTINES, CALLS, DEPTHS = 16, 300, 100


def build(t, *flags):
    """Debian's Go keeps what it compiled in a cache of its own, which we share between tests."""
    shutil.copy(os.path.join(PROGRAMS, "calls_c.go"), t.file("calls_c.go"))
    environment = {**os.environ, "CGO_ENABLED": "1", "GO111MODULE": "off", "GOCACHE": os.path.join(t.cache, "go"), "GOFLAGS": ""}
    done = subprocess.run(["/usr/bin/go", "build", *flags, "-o", t.file("calls_c"), t.file("calls_c.go")], env=environment,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    t.equal("go build", (done.returncode, done.stdout), (0, ""))
    return t.file("calls_c")


@cases(mode=("exe", "pie"))
def test_goroutines(t, mode):
    profile = t.record(build(t, "-buildmode=" + mode))
    t.equal("the program's output", t.stdout, "done\n")
    rows = [(row["count"], [frame["function"] for frame in row["stack"]])
            for row in t.report(profile, "total", "--by", "stack", "--top", "0", "--min", "0")["rows"]]
    found = collections.Counter()
    for count, stack in rows:
        if stack[0] != "c_take":
            continue
        deep = stack.count("main.deep")
        found[deep] += count
        begin = stack.index("main.takes")
        t.equal("from C to Go", stack[1:begin][-3:], ["runtime.asmcgocall", "runtime.cgocall", "main._Cfunc_c_take"])
        t.equal("in Go", stack[begin + 1:], ["main.deep"] * deep + ["main.main.func1", "runtime.goexit"])
    t.equal("calls at each depth", dict(found), {depth: GOROUTINES * CALLS // DEPTHS for depth in range(1, DEPTHS + 1)})
