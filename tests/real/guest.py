"""One program's visit: run it plain and recorded in the same surroundings, compare, and look at the profile."""
import itertools
import json
import os
import re
import shutil
import signal
import subprocess
import time

TIMEOUT_S = 600
MANY_PROCESSES = 40  # of more, so many are looked at, evenly chosen
UNNAMED = re.compile(r"\+0x[0-9a-f]+$|^\[")


class Failed(Exception):
    """The visit cannot go on."""


def readable_by_all(build, folder):
    """A copy of the tool and its library that other users can load too; returns its folder."""
    os.makedirs(folder, exist_ok=True)
    for name in ("tidemark", "libtidemark.so"):
        shutil.copy(os.path.join(build, name), folder)
        os.chmod(os.path.join(folder, name), 0o755)
    return folder


def shell_status(code):
    return code if code >= 0 else 128 - code


def wait_until(what, condition, server=None):
    """Waits for a condition; a generous limit, since it is not about speed."""
    end = time.monotonic() + 60
    while not condition():
        if time.monotonic() > end or (server and server.poll() is not None):
            raise Failed("%s did not come true%s" % (what, "" if not server or server.poll() is None else
                                                     ": the server ended with %d" % server.returncode))
        time.sleep(0.05)


def first_difference(want, got):
    """A few words on where two texts part."""
    for number, (a, b) in enumerate(itertools.zip_longest(want.splitlines(), got.splitlines()), 1):
        if a != b:
            return "line %d is %r, without tidemark %r" % (number, (b or "")[:120], (a or "")[:120])
    return "they differ in the end of a line"


class Guest:
    def __init__(self, build, folder):
        self.tidemark = os.path.join(build, "tidemark")
        self.folder = folder
        self.work = os.path.join(folder, "work")  # emptied before each run, so that both find the same
        self.failures = []
        self.servers = []
        self.named = self.rows = self.processes = self.allocations = self.recorded = 0
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)

    def close(self):
        for server in self.servers:
            if server.poll() is None:
                os.killpg(server.pid, signal.SIGKILL)
                server.wait()
        shutil.rmtree(self.work, ignore_errors=True)

    def facts(self):
        share = 100 * self.named / self.rows if self.rows else 0
        return "%d allocations, %d processes, %.0f %% of functions named" % (self.allocations, self.processes, share)

    # Checks

    def equal(self, what, got, want):
        if got != want:
            self.failures.append("%s is %r, want %r" % (what, got, want))

    def same_text(self, what, want, got):
        if want != got:
            self.failures.append("%s differs: %s" % (what, first_difference(want, got)))

    # Runs

    def fresh(self):
        shutil.rmtree(self.work, ignore_errors=True)
        os.makedirs(self.work)
        os.chmod(self.work, 0o777)

    def file(self, name, text, mode=0o644):
        """Writes an input beside the work folder, where it stays; returns its path."""
        path = os.path.join(self.folder, name)
        with open(path, "w") as out:
            out.write(text)
        os.chmod(path, mode)
        return path

    def command(self, argv):
        """`argv` under tidemark, and the profile that it will write."""
        self.recorded += 1
        profile = os.path.join(self.folder, "%d.tide" % self.recorded)
        return [self.tidemark, "run", "--quiet", "-o", profile, "--", *argv], profile

    def run(self, argv, env=None, stdin=None):
        """(stdout, stderr, status) in the work folder."""
        with open(stdin or os.devnull, "rb") as source:
            done = subprocess.run(argv, stdin=source, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=self.work,
                                  env={**os.environ, "LC_ALL": "C.UTF-8", "HOME": self.work, **(env or {})}, timeout=TIMEOUT_S)
        return (done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace"), shell_status(done.returncode))

    def same(self, *argv, env=None, stdin=None, products=(), normal=str, status=0, functions=(), processes=1):
        """Runs a program plain and recorded; both must say the same, end alike and leave the same files.

        `normal` takes out of a text what differs between any two runs; `functions` must be in the profile, which must
        have at least so many `processes`. Returns the profile.
        """
        results = []
        recorded, profile = self.command(argv)
        for command in (argv, recorded):
            self.fresh()
            out, err, code = self.run(command, env, stdin)
            made = []
            for name in products:
                with open(os.path.join(self.work, name), "rb") as content:
                    made.append(content.read())
            results.append((normal(out), normal(err), code, made))
        want, got = results
        self.equal("status without tidemark", want[2], status)
        self.equal("status", got[2], want[2])
        self.same_text("stdout", want[0], got[0])
        self.same_text("stderr", want[1], got[1])
        for name, a, b in zip(products, want[3], got[3]):
            self.equal("contents of %s are the same" % name, a == b, True)
        self.look(profile, functions, processes)
        return profile

    def serve(self, argv, ready, load, stop, env=None):
        """Starts a server, loads it, stops it; returns what the load returned and the exit status."""
        with open(os.path.join(self.folder, "server.log"), "ab") as log:
            server = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.work,
                                      env={**os.environ, "LC_ALL": "C.UTF-8", **(env or {})}, start_new_session=True)
        self.servers.append(server)
        wait_until("the server's readiness", ready, server)
        result = load()
        stop(server)
        try:
            return result, shell_status(server.wait(TIMEOUT_S))
        except subprocess.TimeoutExpired:
            raise Failed("the server did not stop")

    def ask(self, *argv):
        """The stdout of a client, which must succeed."""
        out, err, code = self.run(argv)
        if code:
            raise Failed("%s ended with %d: %s" % (argv[0], code, err.strip()[-300:]))
        return out

    # Profiles

    def report(self, profile, *arguments):
        out, err, code = self.run([self.tidemark, "report", profile, "--json", "--metric", "total", *arguments])
        if code:
            raise Failed("tidemark report ended with %d: %s" % (code, err.strip()[:300]))
        return json.loads(out)

    def each_process(self, profile):
        """(process, report) of each process of a recording, or of an even choice of them."""
        listed, seen = [], {}
        for process in self.report(profile)["processes"]:
            seen[process["pid"]] = seen.get(process["pid"], 0) + 1
            listed.append((process, "%d#%d" % (process["pid"], seen[process["pid"]])))
        for process, key in listed[::-(-len(listed) // MANY_PROCESSES)]:
            yield process, self.report(profile, "--process", key)

    def look(self, profile, functions=(), processes=1):
        """What must hold of every recording here; returns [(process, report)]."""
        if not os.path.exists(profile):
            raise Failed("no profile was written")
        reports = list(self.each_process(profile))
        names = set()
        for process, report in reports:
            what = "%s of %s (%d)" % ("%s", os.path.basename(process["command"][0]) if process["command"] else "?", process["pid"])
            totals = report["totals"]
            self.equal(what % "complete", report["complete"], True)
            self.equal(what % "lost events", totals["lost_events"], 0)
            self.equal(what % "live blocks", totals["live_blocks"], totals["allocations"] - totals["frees"])
            named = [r["name"] for r in report["rows"] if not UNNAMED.search(r["name"])]
            names.update(name.split("(")[0] for name in named)
            self.named += len(named)
            self.rows += len(report["rows"])
            self.allocations += totals["allocations"]
        count = len(reports[0][1]["processes"])
        self.processes += count
        if count < processes:
            self.failures.append("%d processes are in the profile, want at least %d" % (count, processes))
        self.equal("allocations are recorded", self.allocations > 0, True)
        self.equal("functions that are missing", sorted(set(functions) - names), [])
        return reports
