"""CPython's own tests with and without tidemark: every test must have the same result.

    tests/python/run.py --build BUILD [-k WORD] [--python VERSION] [--jobs N]

One line a module and interpreter. Before them stress.py, which only has to end well. A test that differs is run once more, alone, both ways: some fail now and
then by themselves, and those are listed but do not count. Exits 1 if any differ still.
"""
import argparse
import concurrent.futures
import glob
import os
import re
import signal
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
STRESS = os.path.join(HERE, "stress.py")
STAND_INS = {"test_multiprocessing_fork": os.path.join(HERE, "multiprocessing_fork.py")}
MODULES = """stress test_threading test_fork1 test_generators test_coroutines test_gc test_json test_pickle test_subprocess
    test_multiprocessing_fork test_frame test_exceptions test_sys_settrace test_weakref test_ctypes""".split()
VERSIONS = ("3.8", "3.9", "3.10", "3.11", "3.12", "3.13")
RESULT = re.compile(r"^(\w+) \(([\w.]+)\).*?\.\.\. .*?(ok|FAIL|ERROR|skipped|expected failure)\b", re.MULTILINE | re.DOTALL)
HANGS = ("test_print_exception_gh_102056",)  # by itself on a busy machine: whether its recursion ends depends on a race
LIMIT_S = 600


def interpreters():
    for version in VERSIONS:
        yield from sorted(glob.glob(os.path.expanduser("~/.pyenv/versions/%s.*/bin/python3" % version)))[-1:]
    yield "/usr/bin/python3"


def has(python, *modules):
    return subprocess.run([python, "-c", "import importlib.util as u\nfor m in %r: assert u.find_spec('test.' + m)" % (modules,)],
                          stderr=subprocess.DEVNULL).returncode == 0


def test_command(python, module, only):
    if module in STAND_INS and not has(python, module):
        return [python, STAND_INS[module], "-v", *(a for name in only for a in ("-k", name))]
    return [python, "-m", "test", "-v", module, *(a for name in HANGS for a in ("-i", name)),
            *(a for name in only for a in ("-m", name))]


def run(python, module, tidemark, only=()):
    with tempfile.TemporaryDirectory(prefix="tide-python-") as folder:
        command = test_command(python, module, only)
        if tidemark:
            command = [tidemark, "run", "--quiet", "-o", os.path.join(folder, "x.tide"), "--", *command]
        with open(os.path.join(folder, "output"), "w+b") as output:
            # A file, not a pipe, and a session: what a test leaves running is not waited for, but ended.
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
                                       cwd=folder, start_new_session=True)
            try:
                status = process.wait(LIMIT_S)
            except subprocess.TimeoutExpired:
                status = "timeout"
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            process.wait()
            output.seek(0)
            text = output.read().decode(errors="replace")
    return {"%s.%s" % (where, name): result for name, where, result in RESULT.findall(text)}, status, text


def differences(plain, recorded):
    return sorted(name for name in {*plain, *recorded} if plain.get(name) != recorded.get(name))


def stress(python, tidemark):
    with tempfile.TemporaryDirectory(prefix="tide-python-") as folder:
        done = subprocess.run([tidemark, "run", "--quiet", "-o", os.path.join(folder, "x.tide"), "--", python, "-W", "ignore",
                               STRESS, "10"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    good = done.returncode == 0
    return good, "%-4s %s stress: status %d" % ("ok" if good else "FAIL", python, done.returncode), done.stdout.decode()


def compare(python, module, tidemark):
    if module == "stress":
        return stress(python, tidemark)
    plain, plain_status, _ = run(python, module, None)
    if not plain:
        return False, "FAIL %s %s: no test ran without tidemark, status %s" % (python, module, plain_status), ""
    if plain_status == "timeout":
        return True, "skip %s %s: not done in %d s without tidemark" % (python, module, LIMIT_S), ""
    recorded, status, text = run(python, module, tidemark)
    differ = differences(plain, recorded)
    again = []
    if differ or status != plain_status:
        names = [name.split(".")[-1] for name in differ]
        plain2, plain_status2, _ = run(python, module, None, names)
        recorded2, status2, text2 = run(python, module, tidemark, names)
        again = differences(plain2, recorded2)
        bad = bool(again) or status2 != plain_status2
        text = text2 if bad else text
    else:
        bad = False
    line = "%-4s %s %s: %d tests, status %s and %s" % ("FAIL" if bad else "ok", python, module, len(plain), plain_status,
                                                      status)
    for name in differ:
        line += "\n     %s: %s without, %s with%s" % (name, plain.get(name), recorded.get(name),
                                                    "" if name in again else " (not the second time)")
    return not bad, line, text


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--build", default="build")
    options.add_argument("-k", default="", help="modules whose name contains this")
    options.add_argument("--python", default="", help="interpreters whose path contains this")
    options.add_argument("--jobs", type=int, default=2)
    options.add_argument("--logs", help="a folder for the output of what failed")
    o = options.parse_args()
    tidemark = os.path.join(os.path.abspath(o.build), "tidemark")
    wanted = [(p, m) for p in interpreters() if o.python in p and os.path.exists(p)
              for m in MODULES if o.k in m]
    able = {p: has(p, "test_json", "regrtest") for p in {p for p, _ in wanted}}
    for p in sorted(p for p in able if not able[p]):
        print("skip %s: its test package is not installed" % p)
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(o.jobs) as pool:
        jobs = [pool.submit(compare, p, m, tidemark) for p, m in wanted if able[p]]
        for job, (p, m) in zip(jobs, (w for w in wanted if able[w[0]])):
            good, line, text = job.result()
            print(line, flush=True)
            failed += not good
            if not good and o.logs:
                os.makedirs(o.logs, exist_ok=True)
                with open(os.path.join(o.logs, "%s-%s.log" % (p.strip("/").replace("/", "-"), m)), "w") as out:
                    out.write(text)
    print("%d of %d modules give the same results" % (len(jobs) - failed, len(jobs)))
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
