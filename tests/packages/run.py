#!/usr/bin/env python3
"""The tarball and the wheel in clean systems of other distributions: make test-distros

    tests/packages/run.py --build BUILD [--suites "bionic bullseye"] [-k NAME]

In each, as a user without privileges: the tool runs, finds its recorder, counts exactly, has whole stacks, of native
code, of threads, of the child of a process with threads, and of Python. Then some of the end-to-end tests (QUICK), as root:
the harness runs here, the tool and the programs there. Prints a line for each check; exits 1 if one failed.
"""
import argparse
import glob
import json
import os
import re
import subprocess
import sys

from chroots import SUITES, Chroot

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
PROGRAMS = os.path.join(ROOT, "tests", "programs")

PYTHON = """
import ctypes, threading
malloc = ctypes.CDLL(None).malloc
def work():
    for i in range(1000):
        malloc(12345)
def outer():
    work()
for target in (outer, outer):
    thread = threading.Thread(target=target, name="worker")
    thread.start()
    thread.join()
"""


# End-to-end tests whose programs are in C, and so can be built for the oldest glibc; by gcc.
QUICK = ("allocation_functions.failed", "allocation_functions.heap_family", "allocation_functions.reallocs", "allocation_functions.temporaries", "stacks.deep_stack", "stacks.frame_shapes",
         "stacks.signal_handlers", "stacks.libraries_that_come_and_go", "stacks.lines", "stacks.without_", "program_ends.exit_without",
         "program_ends.first_thread", "program_ends.last_thread")
# A process in the chroot that sees the programs and this machine's /tmp at the same paths.
THERE = """#!/bin/sh
exec unshare --mount sh -c '
root=$1; shift
mount -t proc proc "$root/proc" && mount --rbind /dev "$root/dev" && mount --bind /tmp "$root/tmp" &&
    mkdir -p "$root{folder}" && mount --bind {folder} "$root{folder}" &&
    exec chroot "$root" /usr/bin/env -C "$PWD" {tool} "$@"' there {root} "$@"
"""
COMPILER = """#!/bin/sh
exec /usr/bin/gcc --sysroot={sysroot} -B{sysroot}/usr/lib/x86_64-linux-gnu "$@"
"""


class Failed(Exception):
    pass


def equal(what, got, want):
    if got != want:
        raise Failed("%s: got %s, want %s" % (what, got, want))


def bare(name):
    return name.split("(")[0]


def ask(root, tool, *words):
    text, status = root.run("%s %s --json 2>/dev/null" % (tool, " ".join(words)))
    if status:
        raise Failed("tidemark %s: %s" % (" ".join(words), text[-500:]))
    return json.loads(text)


def record(root, tool, name, *words):
    text, status = root.run("%s run --quiet -o %s.tide -- %s" % (tool, name, " ".join(words)))
    equal("exit status of %s (%s)" % (name, text[-300:]), status, 0)
    return name + ".tide"


def complete(report):
    totals = report["totals"]
    equal("lost, incomplete, truncated, unknown frees",
          [totals[key] for key in ("lost_events", "incomplete_stacks", "truncated_stacks", "unknown_frees")], [0, 0, 0, 0])
    equal("complete", report["complete"], True)
    equal("live blocks", totals["live_blocks"], totals["allocations"] - totals["frees"])
    equal("rows", sum(row["count"] for row in report["rows"]), totals["allocations"])


def stacks(report, function):
    """[(bytes, count, functions up to main)] of stacks that have the function."""
    found = []
    for row in report["rows"]:
        names = [bare(frame["function"]) for frame in row["stack"]]
        if function in names:
            found.append((row["bytes"], row["count"], *names[:names.index("main") + 1 if "main" in names else None]))
    return sorted(found)


# Checks: each is given a chroot and the path of the tool there.

def check_version(root, tool):
    text, status = root.run(tool + " --version")
    equal("status (%s)" % text, status, 0)
    equal("word", text.split()[:1], ["tidemark"])


def check_ls(root, tool):
    profile = record(root, tool, "ls", "ls", "-l", "/usr/bin")
    report = ask(root, tool, "report", profile, "--metric", "total", "--by", "stack")
    complete(report)
    if report["totals"]["allocations"] < 20:
        raise Failed("ls made %d allocations" % report["totals"]["allocations"])


def check_stacks(root, tool):
    profile = record(root, tool, "holes", "programs/holes", "library", "programs/plugin_deep.so")
    report = ask(root, tool, "report", profile, "--metric", "total", "--by", "stack")
    complete(report)
    equal("stacks", stacks(report, "deep_inner"), [(7700, 100, "deep_inner", "deep_middle", "deep_outer", "main")])


def check_child_of_threads(root, tool):
    profile = record(root, tool, "forks", "programs/forks_threaded", "programs/plugin_deep.so")
    child = ask(root, tool, "report", profile)["processes"][-1]["pid"]
    report = ask(root, tool, "report", profile, "--metric", "total", "--by", "stack", "--process", str(child))
    complete(report)
    equal("stacks", stacks(report, "outer"), [(7100, 100, "inner", "outer", "main"), (7200, 100, "inner", "outer", "main"),
                                              (7700, 100, "deep_inner", "deep_middle", "deep_outer", "outer", "main")])


def check_threads(root, tool):
    """Thread i of 8 allocates 100 blocks of 100 * (i + 1) bytes and keeps 10."""
    profile = record(root, tool, "threads", "programs/many_threads", "8")
    complete(ask(root, tool, "report", profile, "--metric", "total", "--by", "stack"))
    for metric, blocks in (("total", 100), ("live", 10)):
        rows = ask(root, tool, "report", profile, "--metric", metric, "--by", "stack", "--within", "^work$")["rows"]
        equal(metric, sorted((row["thread"], row["bytes"], row["count"]) for row in rows if row["stack"][0]["function"] == "work"),
              [("w%d" % i, blocks * 100 * (i + 1), blocks) for i in range(8)])
    equal("marks", [mark["label"] for mark in ask(root, tool, "marks", profile)["marks"]], ["full"])


def check_python(root, tool):
    with open(root.path("/home/user/work.py"), "w") as out:
        out.write(PYTHON)
    profile = record(root, tool, "python", "python3", "work.py")
    report = ask(root, tool, "report", profile, "--metric", "live", "--by", "line")
    if root.suite == "bionic":  # Python 3.6, whose frames are not known: the figures are there all the same
        blocks = [row for row in ask(root, tool, "report", profile, "--by", "stack")["rows"] if row["bytes"] == 12345 * 2000]
        equal("rows with the blocks", [row["count"] for row in blocks], [2000])
        return
    lines = {(row["name"], os.path.basename(row["file"] or ""), row["line"]): (row["self_bytes"], row["self_count"])
             for row in report["rows"]}
    equal("line 6 of work.py", lines.get(("work", "work.py", 6)), (2 * 12345 * 1000, 2000))
    stack = [row for row in ask(root, tool, "report", profile, "--by", "stack")["rows"] if row["bytes"] == 12345 * 2000]
    names = [frame["function"] for frame in stack[0]["stack"] if frame["kind"] == "python"] if stack else []
    equal("Python frames", [bare(name).split(".")[-1] for name in names[:3]], ["work", "outer", "run"])
    equal("incomplete", report["totals"]["incomplete_stacks"], 0)


def check_annotate(root, tool):
    """Capstone is beside the recorder."""
    record(root, tool, "annotated", "programs/holes", "direct")
    text, status = root.run("%s annotate annotated.tide middle --asm --metric total" % tool)
    equal("status (%s)" % text[-300:], status, 0)
    if not re.search(r"\b(callq?|bl)\b", text):
        raise Failed("no instruction is shown: " + text[-500:])


def check_module(root, tool):
    """The module is there for a recorded Python without being installed for it."""
    text, status = root.run("%s run --quiet -o m.tide -- python3 -c 'import tidemark; tidemark.mark(\"here\"); "
                            "print(tidemark.active())'" % tool)
    equal("active", (text.split()[-1:], status), (["True"], 0))
    equal("marks", [mark["label"] for mark in ask(root, tool, "marks", "m.tide")["marks"]], ["here"])


CHECKS = [check_version, check_ls, check_stacks, check_child_of_threads, check_threads, check_python, check_annotate, check_module]


def check_installed_by_pip(root, venv):
    text, status = root.run(venv + "/bin/python -m tidemark --version")
    equal("python -m tidemark (%s)" % text, status, 0)
    text, status = root.run("cd / && %s/bin/python -m tidemark run --quiet -o /home/user/pip.tide "
                            "-c 'import tidemark; print(tidemark.__file__)'" % venv)
    equal("status (%s)" % text, status, 0)
    if not text.startswith(venv):
        raise Failed("module of another place: " + text)
    text, status = root.run(venv + "/bin/python -c \"import importlib.metadata as m; print([e.value for e in "
                                   "m.entry_points().get('pytest11', []) ] if hasattr(m.entry_points(), 'get') else "
                                   "[e.value for e in m.entry_points(group='pytest11')])\"")
    if not status:  # Python 3.8 and later
        equal("pytest finds the plugin", text.strip().splitlines()[-1], "['tidemark.pytest_plugin']")
    text, status = root.run(venv + "/bin/pip uninstall -q -y tidemark && ls %s/bin/tidemark %s/lib/tidemark" % (venv, venv))
    if "No such file" not in text:
        raise Failed("files are left: " + text)


def executable(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as out:
        out.write(text)
    os.chmod(path, 0o755)


def quick_tests(root, tool, build):
    """Yields (name, what failed) of each."""
    folder = os.path.join(build, "packages", "quick-" + root.suite)
    programs, sysroot = os.path.join(build, "packages", "quick-programs"), os.path.join(build, "portable", "sysroot")
    os.makedirs(programs, exist_ok=True)
    executable(folder + "/tidemark", THERE.format(folder=os.path.dirname(folder), tool=tool, root=root.root))
    executable(folder + "/bin/gcc", COMPILER.format(sysroot=sysroot))
    if not os.path.islink(folder + "/e2e-programs"):
        os.symlink(programs, folder + "/e2e-programs")
    runner = [sys.executable, os.path.join(ROOT, "tests", "e2e", "runner.py"), "--build", folder]
    everything = subprocess.run([*runner, "--list"], stdout=subprocess.PIPE, check=True, universal_newlines=True).stdout.split("\n")
    for name in everything:
        if name.startswith(QUICK) and "[clang]" not in name:
            done = subprocess.run([*runner, "--one", name], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  env={**os.environ, "PATH": folder + "/bin:" + os.environ["PATH"]})
            yield name, done.stdout.decode(errors="replace").strip() if done.returncode else None


# What is tested

def build_programs(build, folder, machine="x86_64"):
    """For every glibc, as the tool is."""
    os.makedirs(folder, exist_ok=True)
    sysroot, triplet = os.path.join(build, "portable", "sysroot"), machine + "-linux-gnu"
    cc = [triplet + "-gcc", "--sysroot=" + sysroot, "-B%s/usr/lib/%s" % (sysroot, triplet), "-isystem", sysroot + "/usr/include", "-g", "-O1", "-I", PROGRAMS,
          "-I", os.path.join(ROOT, "include")]
    for name in ("forks_threaded", "many_threads", *(("holes",) if machine == "x86_64" else ())):  # that one has assembler
        subprocess.check_call([*cc, os.path.join(PROGRAMS, name + ".c"), "-o", os.path.join(folder, name), "-pthread", "-Wl,--no-as-needed", "-ldl"])
    subprocess.check_call([*cc, "-shared", "-fPIC", os.path.join(PROGRAMS, "plugin_deep.c"), "-o",
                           os.path.join(folder, "plugin_deep.so")])


def by_tarball(root, build):
    archive = glob.glob(os.path.join(build, "dist", "*.tar.xz"))[0]
    folder = root.path("/home/user/elsewhere")
    subprocess.check_call(["rm", "-rf", folder])
    os.mkdir(folder)
    subprocess.check_call(["tar", "-C", folder, "-xJf", archive])
    name = os.listdir(folder)[0]
    return "/home/user/elsewhere/%s/bin/tidemark" % name


def by_wheel(root, build):
    wheel = root.put(glob.glob(os.path.join(build, "dist", "*.whl"))[0], os.path.basename(glob.glob(os.path.join(build, "dist", "*.whl"))[0]))
    text, status = root.run("rm -rf venv && python3 -m venv venv && venv/bin/pip --version")
    equal("venv (%s)" % text[-300:], status, 0)
    if int(text.split()[1].split(".")[0]) < 21:  # does not know such tags; 20.3 was the first
        for wheel_of_pip in glob.glob(os.path.join(build, "packages", "pip-*.whl")):
            root.put(wheel_of_pip, os.path.basename(wheel_of_pip))
        text, status = root.run("venv/bin/pip install -q --no-index ./pip-*.whl")
        equal("a newer pip (%s)" % text[-300:], status, 0)
    text, status = root.run("venv/bin/pip install -q --no-index %s" % wheel)
    equal("pip install (%s)" % text[-500:], status, 0)
    return "/home/user/venv/bin/tidemark"


class Extracted:
    """The Debian packages, unpacked below a folder of this machine."""

    def __init__(self, build):
        self.suite, self.root = "here", os.path.join(build, "packages", "here")
        subprocess.check_call(["rm", "-rf", self.root])
        os.makedirs(self.root + "/home/user")
        for package in glob.glob(os.path.join(build, "dist", "*.deb")):
            subprocess.check_call(["dpkg", "-x", package, self.root])
        subprocess.check_call(["cp", "-r", os.path.join(build, "packages", "programs"), self.root + "/home/user/"])

    def path(self, inside):
        return self.root + inside

    def run(self, script):
        done = subprocess.run(["sh", "-c", script], cwd=self.path("/home/user"), stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        return done.stdout.decode(errors="replace"), done.returncode


def check_auditwheel(build, _):
    """It agrees with the tag, although it looks at less than check_portable.py."""
    venv = os.path.join(build, "packages", "auditwheel")
    if not os.path.exists(venv + "/bin/auditwheel"):
        subprocess.check_call(["/usr/bin/python3", "-m", "venv", venv])
        subprocess.check_call([venv + "/bin/pip", "install", "-q", "auditwheel"])
    wheel = glob.glob(os.path.join(build, "dist", "*.whl"))[0]
    text = subprocess.run([venv + "/bin/auditwheel", "show", wheel], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          universal_newlines=True).stdout
    tag = os.path.basename(wheel)[:-len(".whl")].split("-")[-1]
    if 'platform tag: "%s"' % tag not in " ".join(text.split()):
        raise Failed(text)


def fetch_pip(build):
    """The last that Python 3.6 can run."""
    folder = os.path.join(build, "packages")
    if not glob.glob(os.path.join(folder, "pip-*.whl")):
        subprocess.check_call([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", folder, "pip==21.3.1"])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", default="build")
    parser.add_argument("--suites", default=" ".join(SUITES), help="of " + " ".join(SUITES))
    parser.add_argument("-k", default="", help="only checks whose name contains this")
    options = parser.parse_args()
    build = os.path.abspath(options.build)
    programs = os.path.join(build, "packages", "programs")
    build_programs(build, programs)
    fetch_pip(build)
    passed = failed = 0

    def attempt(name, check, root, tool):
        nonlocal passed, failed
        if options.k not in name:
            return
        try:
            check(root, tool)
            passed += 1
            print("ok    " + name, flush=True)
        except (Failed, KeyError, IndexError, ValueError) as e:
            failed += 1
            print("FAIL  %s: %s" % (name, e), flush=True)

    attempt("auditwheel", check_auditwheel, build, None)
    if glob.glob(os.path.join(build, "dist", "*.deb")):
        here = Extracted(build)
        for check in CHECKS:
            attempt("here deb " + check.__name__[6:], check, here, here.path("/usr/bin/tidemark"))
    for suite in options.suites.split():
        root = Chroot(os.path.join(build, "chroots"), suite).make()
        root.put(programs, "programs")
        for how in (by_tarball, by_wheel):
            checks = CHECKS + ([check_installed_by_pip] if how is by_wheel else [])
            try:
                tool = how(root, build)
                subprocess.check_call(["chown", "-R", "4242:4242", root.path("/home/user")])
            except (Failed, OSError) as e:
                print("FAIL  %s %s: %s" % (suite, how.__name__, e))
                failed += 1
                continue
            for check in checks:
                attempt("%s %s %s" % (suite, how.__name__[3:], check.__name__[6:]), check, root,
                        "/home/user/venv" if check is check_installed_by_pip else tool)
            for name, failure in quick_tests(root, tool, build) if how is by_tarball and options.k in "quick" else ():
                passed += not failure
                failed += bool(failure)
                print("FAIL  %s %s: %s" % (suite, name, failure) if failure else "ok    %s %s" % (suite, name), flush=True)
    print("%d passed, %d failed" % (passed, failed))
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
