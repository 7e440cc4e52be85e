#!/usr/bin/env python3
"""Records a program that does everything at once, for minutes: soak.py [--seconds N] [--seed N] ...

tests/programs/soak.cpp allocates in every way, at random, and knows what it has done. Rounds of it run under
collectors with and without sanitizers, while program and collector are stopped and continued at random; in
some rounds the program is killed. After each the profile must say exactly what the program counted (when
killed: to within the event that each thread was at), the exit status must be the program's, no sanitizer may
have spoken, and nothing may be left behind. Ends with "N rounds, N failed".
"""
import argparse
import json
import os
import random
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "tests", "e2e"))
import harness

SITES = ("malloc", "calloc", "realloc", "reallocarray", "posix_memalign", "aligned_alloc", "memalign", "valloc",
         "pvalloc", "new", "new_array", "new_nothrow", "new_aligned", "plugin_a", "plugin_b")
HEADER = struct.Struct("=II56x")
PROCESS = struct.Struct("=I4xqq%dQ" % (8 * len(SITES)))
TIMEOUT_S = 240
SANITIZERS = {"asan": "address,undefined", "tsan": "thread"}
# What a collector may say that was stopped or has a sanitizer, and no other: the program does not wait to tell it of
# arrays that grow.
NO_TIME = "the collector had no time for"
# A forked copy of the collector starts threads where its parent's threads had their stacks. The thread sanitizer does
# not know that these are gone, and says so in one line; it goes on.
FORKED_THREADS = "ThreadSanitizer: dup thread with used id"
# The collector keeps what it needs of each process until it writes the file.
GROWTH_BYTES, GROWTH_BYTES_PER_PROCESS = 24 << 20, 2 << 20


class Part:
    """What one process wrote into the log."""
    def __init__(self, data, number):
        values = PROCESS.unpack_from(data, HEADER.size + number * PROCESS.size)
        self.pid, self.mapped = values[0], values[1:3]
        counts = [values[3 + 4 * i:7 + 4 * i] for i in range(2 * len(SITES))]
        self.allocated, self.freed = counts[0::2], counts[1::2]

    def in_flight(self):
        return sum(t[0] - t[1] for t in self.allocated + self.freed)


def read_bytes(path):
    """All of a log; nothing where there is none yet."""
    try:
        with open(path, "rb") as log:
            return log.read()
    except OSError:
        return b""


def read_log(path):
    """(what the program itself found wrong, [Part])"""
    data = read_bytes(path)
    if len(data) < HEADER.size:
        return 0, []
    processes, failures = HEADER.unpack_from(data)
    return failures, [Part(data, i) for i in range(processes)]


def first_pid(path):
    parts = read_log(path)[1]
    return parts[0].pid if parts else 0


class Programs:
    def __init__(self, build):
        test = harness.Test(build)
        self.soak = test.build("soak.cpp", "-O2")
        self.plugins = [test.build("plugin.c", "-O2", "-DNAME=site_plugin_" + x, shared=True) for x in "ab"]
        test.close()


class Round:
    def __init__(self, tidemark, reporter, programs, seed, steps, threads, forks, disturbed=False, killed=False,
                 timeout_s=TIMEOUT_S):
        self.rng = random.Random(seed)
        self.tidemark, self.reporter, self.programs = tidemark, reporter, programs
        self.arguments = [str(seed), str(steps), str(threads), str(forks)]
        self.threads, self.disturbed, self.killed, self.timeout_s = threads, disturbed, killed, timeout_s
        self.wrong, self.memory, self.events, self.processes = [], [], 0, 0

    def within(self, what, got, least, most):
        if not least <= got <= most:
            want = "%d" % least if least == most else "%d to %d" % (least, most)
            self.wrong.append("%s: got %d, want %s" % (what, got, want))

    def run(self):
        """Returns what was wrong."""
        folder = tempfile.mkdtemp(prefix="tide-soak-")
        self.profile, self.log = os.path.join(folder, "p.tide"), os.path.join(folder, "log")
        spoken = os.path.join(folder, "sanitizer")
        environment = {**os.environ, "TMPDIR": folder,
                       "ASAN_OPTIONS": "exitcode=99:log_path=" + spoken,
                       "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1:log_path=" + spoken,
                       # A forked copy of the collector writes snapshots, with threads, which glibc permits.
                       "TSAN_OPTIONS": "exitcode=99:die_after_fork=0:log_path=" + spoken}
        command = [self.tidemark, "run", "--quiet", "-o", self.profile, "--", self.programs.soak, self.log,
                   *self.arguments, *self.programs.plugins]
        self.tool = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                     stderr=subprocess.STDOUT, env=environment, start_new_session=True)
        helper = threading.Thread(target=self.trouble)
        helper.start()
        try:
            output = self.tool.communicate(timeout=self.timeout_s)[0].decode(errors="replace")
            if output:
                self.wrong.append("output: " + output.strip()[:2000])
        except subprocess.TimeoutExpired:
            self.wrong.append("not finished after %d s" % self.timeout_s)
        finally: # also when we are asked to stop
            self.leftovers()
        helper.join()
        self.check_status()
        for name in sorted(os.listdir(folder)):
            if name.startswith("sanitizer"):
                with open(os.path.join(folder, name), errors="replace") as report:
                    said = [line for line in report if line.strip() and FORKED_THREADS not in line]
                if said:
                    self.wrong.append("a sanitizer: " + "".join(said)[:3000])
            elif name not in ("p.tide", "log"):
                self.wrong.append("a file left behind: " + name)
        try:
            self.check_profile()
        except (ValueError, OSError) as error:
            self.wrong.append(str(error))
        shutil.rmtree(folder, ignore_errors=True)
        return self.wrong

    # While it runs

    def trouble(self):
        """Stops and continues program and collector, kills the program; takes the collector's memory."""
        program = 0
        while not program and self.tool.poll() is None:
            program = first_pid(self.log)
            time.sleep(0.001)
        kill_at = time.monotonic() + self.rng.random() * 1.5 if self.killed else float("inf")
        while self.tool.poll() is None:
            time.sleep(self.rng.random() * 0.05)
            self.take_memory()
            if self.disturbed and self.rng.random() < 0.3:
                victim = self.rng.choice((program, self.tool.pid))
                self.send(victim, signal.SIGSTOP)
                time.sleep(self.rng.random() * 0.15)
                self.send(victim, signal.SIGCONT)
            if time.monotonic() >= kill_at:
                self.send(program, signal.SIGKILL)
                kill_at = float("inf")

    @staticmethod
    def send(pid, number):
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            pass

    def take_memory(self):
        try:
            with open("/proc/%d/status" % self.tool.pid) as status:
                anonymous = [int(line.split()[1]) << 10 for line in status if line.startswith("RssAnon:")]
                self.memory += anonymous
        except OSError:
            pass

    # Afterwards

    def leftovers(self):
        """Processes of the round's session; they are ended, so that the next round is not disturbed."""
        for name in os.listdir("/proc"):
            if not name.isdigit():
                continue
            try:
                with open("/proc/%s/stat" % name) as stat:
                    fields = stat.read().rsplit(")", 1)[1].split()
                if int(fields[3]) != self.tool.pid or fields[0] == "Z":
                    continue
                with open("/proc/%s/cmdline" % name) as command:
                    self.wrong.append("a process left behind: " + command.read().replace("\0", " ")[:200])
                os.kill(int(name), signal.SIGKILL)
            except (OSError, IndexError):
                pass
        self.tool.wait()

    def check_status(self):
        # A kill may come too late.
        wanted = (0, 128 + signal.SIGKILL) if self.killed else (0,)
        if self.tool.returncode not in wanted:
            self.wrong.append("status: got %d, want %s" % (self.tool.returncode, " or ".join(map(str, wanted))))

    def ask(self, *arguments):
        done = subprocess.run([self.reporter, "report", self.profile, *arguments, "--json"], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=TIMEOUT_S)
        if done.returncode:
            raise ValueError("report %s: status %d, %s" % (" ".join(arguments), done.returncode,
                                                          done.stderr.strip()[:300]))
        return json.loads(done.stdout)

    def check_profile(self):
        failures, parts = read_log(self.log)
        self.within("what the program found wrong", failures, 0, 0)
        report = self.ask()
        was_killed = self.tool.returncode == 128 + signal.SIGKILL
        self.within("signal", report["signal"] or 0, *((9, 9) if was_killed else (0, 0)))
        recorded = [p["pid"] for p in report["processes"]]
        self.processes = len(recorded)
        seen = {}
        for part in parts:
            seen[part.pid] = seen.get(part.pid, 0) + 1
            self.check_process(part, "%d#%d" % (part.pid, seen[part.pid]), part is parts[0], was_killed)
        for pid in sorted(set(recorded) | set(seen)):
            self.within("programs of process %d" % pid, recorded.count(pid), seen.get(pid, 0), seen.get(pid, 0))

    def check_process(self, part, which, first, was_killed):
        total, live, mapped = (self.ask("--process", which, "--metric", m) for m in ("total", "live", "mapped"))
        totals = total["totals"]
        self.events += totals["allocations"] + totals["frees"]
        name = "main" if first else "process " + which
        self.within(name + " lost events", totals["lost_events"], 0, 0)
        self.within(name + " unknown frees", totals["unknown_frees"], 0, 0)
        slow = self.disturbed or self.tidemark != self.reporter
        notes = [note for note in total["notes"] if not (slow and NO_TIME in note)]
        if notes:
            self.wrong.append("%s notes: %s" % (name, notes))
        # One in flight per thread, and a realloc is two.
        self.within(name + " events in flight", part.in_flight(), 0, 4 * self.threads if first and was_killed else 0)
        for i, site in enumerate(SITES):
            allocated, freed = part.allocated[i], part.freed[i]
            size, count = of_function(total, "site_" + site)
            live_size, live_count = of_function(live, "site_" + site)
            what = "%s site_%s " % (name, site)
            self.within(what + "allocations", count, allocated[1], allocated[0])
            self.within(what + "bytes", size, allocated[3], allocated[2])
            self.within(what + "frees", count - live_count, freed[1], freed[0])
            self.within(what + "bytes freed", size - live_size, freed[3], freed[2])
        bytes_mapped = sum(of_function(mapped, name)[0] for name in ("site_mmap", "site_mremap"))
        self.within(name + " bytes mapped", bytes_mapped, *part.mapped)
        self.within(name + " bytes mapped by handlers", of_function(mapped, "handler")[0], 0, 4096 * was_killed)

    def check_memory(self):
        """After a third of the round the collector has met what there is to meet."""
        third = len(self.memory) // 3
        early, late = max(self.memory[:third], default=0), max(self.memory[third:], default=0)
        self.within("growth of the collector's memory", late - early, -early,
                    GROWTH_BYTES + GROWTH_BYTES_PER_PROCESS * self.processes)


def of_function(report, name):
    rows = [r for r in report["rows"] if harness.bare(r["name"]) == name]
    return sum(r["total_bytes"] for r in rows), sum(r["total_count"] for r in rows)


def sanitized_build(build, name):
    """The collector with a sanitizer, beside the library as it is; None where that cannot be built."""
    folder = "%s-%s" % (build, name)
    log = subprocess.DEVNULL
    if not os.path.exists(os.path.join(folder, "build.ninja")):
        # Instrumented code makes gcc warn of what cannot be.
        setup = ["meson", "setup", folder, ROOT, "--buildtype=debugoptimized", "-Db_lundef=false",
                 "-Dwerror=false", "-Db_sanitize=" + SANITIZERS[name]]
        if subprocess.run(setup, stdout=log, stderr=log).returncode:
            return None
    # Asked to configure again: the list of sources is made when it does.
    subprocess.run(["meson", "setup", "--reconfigure", folder, ROOT], stdout=log, stderr=log)
    if subprocess.run(["ninja", "-C", folder, "-j2", "tidemark"], stdout=log, stderr=log).returncode:
        return None
    library = os.path.join(folder, "libtidemark.so")
    if os.path.lexists(library):
        os.remove(library)
    os.symlink(os.path.join(build, "libtidemark.so"), library)
    return os.path.join(folder, "tidemark")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default=os.path.join(ROOT, "build"))
    parser.add_argument("--seconds", type=float, default=180)
    parser.add_argument("--seed", type=int, default=None, help="(default: a new one)")
    parser.add_argument("--builds", default="normal,asan,tsan", help="collectors to use (default: %(default)s)")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    seed = options.seed if options.seed is not None else random.randrange(1 << 32)
    print("seed %d" % seed, flush=True)

    build = os.path.abspath(options.build)
    normal = os.path.join(build, "tidemark")
    collectors = {}
    for name in options.builds.split(","):
        path = normal if name == "normal" else sanitized_build(build, name)
        if path:
            collectors[name] = path
        else:
            sys.exit("the collector with %s cannot be built: see ninja -C %s-%s tidemark" % (name, build, name))
    programs = Programs(build)

    rounds = failed = events = processes = 0
    end = time.monotonic() + options.seconds
    while time.monotonic() < end or rounds == 0:
        rng = random.Random(seed * 1000003 + rounds)
        name = list(collectors)[rounds % len(collectors)]
        # Every tenth is long: the collector's memory must not grow with what has passed through it.
        long = rounds % 10 == 9
        settings = dict(seed=rng.randrange(1 << 31), steps=400000 if long else rng.choice((3000, 20000, 60000)),
                        threads=rng.choice((1, 2, 4, 8)), forks=0 if long else rng.choice((0, 5, 30)),
                        disturbed=rng.random() < 0.7, killed=not long and rng.random() < 0.3)
        began = time.monotonic()
        one = Round(collectors[name], normal, programs, **settings)
        wrong = one.run()
        # Sanitizers keep memory of their own: what was freed, and who touched what.
        if long and name == "normal" and len(one.memory) >= 30:
            one.check_memory()
        rounds += 1
        failed += bool(wrong)
        events += one.events
        processes += one.processes
        words = " ".join("%s=%s" % item for item in settings.items())
        print("%s round %d: %s %s: %.1f s, %d processes, %d events" % (
            "FAIL" if wrong else "ok  ", rounds, name, words, time.monotonic() - began, one.processes, one.events),
            flush=True)
        for what in wrong:
            print("     " + what, flush=True)
    print("%d processes, %d events recorded" % (processes, events))
    print("%d rounds, %d failed" % (rounds, failed))
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
