"""Who may look: recordings, the shared memory and the socket are for the user who records, and nobody else."""
import fcntl
import glob
import hashlib
import os
import re
import shutil
import socket
import stat
import subprocess
import time

from harness import Failed, OWN_HEADERS, ROOT, cases, eventually
from unprivileged import AS_NOBODY

F_GET_SEALS = 1034
SEAL, SHRINK, GROW = 1, 2, 4


def mode_of(path):
    return oct(stat.S_IMODE(os.lstat(path).st_mode))


def program(t):
    return t.build("heap_family.c", "-O1")


# Files

@cases(mask=("000", "022", "777"))
def test_only_the_owner_can_read_a_recording(t, mask):
    t.plain("sh", "-c", 'umask %s; exec "$@"' % mask, "sh", t.tidemark, "run", "--quiet", "-o", "p.tide", "--", program(t))
    t.equal("status", t.status, 0)
    t.equal("mode", mode_of(t.file("p.tide")), "0o600")


def keep_from_harm(t):
    """A file that somebody wants us to write over."""
    with open(t.file("victim"), "w") as out:
        out.write("precious")
    return t.file("victim")


def is_unharmed(t):
    with open(t.file("victim")) as file:
        t.equal("what the link led to", file.read(), "precious")


def test_a_link_at_the_name_is_not_followed(t):
    os.symlink(keep_from_harm(t), t.file("p.tide"))
    profile = t.file("p.tide")
    t.run("run", "--quiet", "-o", profile, "--", program(t))
    is_unharmed(t)
    t.true("a file of our own", stat.S_ISREG(os.lstat(profile).st_mode))
    t.equal("mode", mode_of(profile), "0o600")
    t.equal("allocations", t.report(profile)["totals"]["allocations"], 550)


def test_a_link_at_the_temporary_name_is_not_followed(t):
    """Whether the name can be guessed or not: the shell's pid is that of tidemark, which it becomes."""
    keep_from_harm(t)
    t.plain("sh", "-c", 'for n in part part.; do ln -s victim "p.tide.$n$$"; done; exec "$@"', "sh",
            t.tidemark, "run", "--quiet", "-o", "p.tide", "--", program(t), env={"TMPDIR": t.dir})
    is_unharmed(t)
    profile = t.file("p.tide")
    if not os.path.exists(profile):
        profile = re.search(r"saved as (\S+)", t.stderr).group(1)
    t.true("a file of our own", stat.S_ISREG(os.lstat(profile).st_mode))
    t.equal("allocations", t.report(profile)["totals"]["allocations"], 550)


def test_the_place_of_last_resort(t):
    """The folder is gone at the end: the recording goes to TMPDIR, where others may have laid something in its way."""
    os.mkdir(t.file("shared"), 0o777)
    os.mkdir(t.file("gone"))
    os.symlink(keep_from_harm(t), t.file("shared/p.tide"))
    stdout, stderr, status = t.run("run", "--quiet", "-o", "gone/p.tide", "--", "sh", "-c", "umask 0; rm -r gone",
                                   env={"TMPDIR": t.file("shared")})
    is_unharmed(t)
    t.equal("status", status, 0)
    found = re.search(r"saved as (\S+)", stderr)
    if not found:
        raise Failed("stderr does not say where it is: " + stderr)
    t.equal("folder", os.path.dirname(found.group(1)), t.file("shared"))
    t.equal("mode", mode_of(found.group(1)), "0o600")
    t.true("a file of our own", stat.S_ISREG(os.lstat(found.group(1)).st_mode))
    t.true("a recording", t.report(found.group(1))["totals"]["allocations"] > 0)


@cases(what=("fifo", "directory"))
def test_what_is_no_file_is_left_alone(t, what):
    """It neither waits for a reader of a FIFO nor replaces it; the program is not run for nothing."""
    name = t.file("p.tide")
    os.mkfifo(name) if what == "fifo" else os.mkdir(name)
    stdout, stderr, status = t.run("run", "--quiet", "-o", name, "--", "sh", "-c", "echo ran")
    t.equal("status, stdout", (status, stdout), (125, ""))
    t.equal("lines on stderr", len(stderr.splitlines()), 1)
    t.true("says why", name in stderr, stderr)
    t.true("still there", (stat.S_ISFIFO if what == "fifo" else stat.S_ISDIR)(os.lstat(name).st_mode))


@cases(what=("/dev/null", "/dev/stdout"))
def test_devices_are_not_replaced(t, what):
    before = os.lstat(what)
    with open(t.file("out"), "wb") as out:
        done = subprocess.run([t.tidemark, "run", "--quiet", "-o", what, "--", program(t)], stdout=out, stderr=subprocess.PIPE)
    t.equal("status, stderr", (done.returncode, done.stderr), (0, b""))
    t.equal("still what it was", (os.lstat(what).st_ino, os.lstat(what).st_mode), (before.st_ino, before.st_mode))
    if what == "/dev/stdout":
        t.equal("allocations", t.report(t.file("out"))["totals"]["allocations"], 550)


# While it runs

class Running:
    """A recording of a shell that waits until it is told to go on."""

    def __init__(self, t):
        self.t = t
        self.tool = subprocess.Popen([t.tidemark, "run", "--quiet", "--no-follow", "-o", t.file("p.tide"), "--", "sh", "-c",
                                      'echo $$ >pid; mv pid ready; while [ ! -e go ]; do sleep 0.01; done; exec "$0"',
                                      program(t)], cwd=t.dir)
        eventually("it runs", lambda: os.path.exists(t.file("ready")))
        with open(t.file("ready")) as file:
            self.pid = int(file.read())

    def finish(self):
        open(self.t.file("go"), "w").close()
        self.t.equal("status", self.tool.wait(), 0)
        self.t.equal("allocations", self.t.report(self.t.file("p.tide"))["totals"]["allocations"], 550)

    def environment(self):
        with open("/proc/%d/environ" % self.pid) as file:
            return dict(entry.split("=", 1) for entry in file.read().split("\0") if "=" in entry)


def descriptors(pid):
    """{number: what it leads to} of a process."""
    found = {}
    for path in glob.glob("/proc/%d/fd/*" % pid):
        try:
            found[path] = os.readlink(path)
        except OSError:
            pass
    return found


def mappings(pid):
    """Paths by which root can open the shared memory that a process has mapped."""
    with open("/proc/%d/maps" % pid) as maps:
        lines = [line.split() for line in maps if "/memfd:tidemark" in line]
    found = {line[4]: line[0] for line in lines}  # one for each inode
    return ["/proc/%d/map_files/%s" % (pid, "-".join(part.lstrip("0") for part in where.split("-"))) for where in found.values()]


def test_the_shared_memory_is_sealed_and_private(t):
    running = Running(t)
    held = descriptors(running.tool.pid)
    t.true("the collector has mapped it", mappings(running.tool.pid))
    for path in [p for p, what in held.items() if "memfd" in what] + mappings(running.tool.pid) + mappings(running.pid):
        if os.geteuid() == 0:
            denied = t.plain(*AS_NOBODY, "sh", "-c", ': <>"$1"', "sh", path)
            t.true("another user cannot open it", denied[2] != 0 and "denied" in denied[1], denied)
        elif "map_files" in path:
            continue  # for root alone
        fd = os.open(path, os.O_RDONLY)
        t.equal("seals", fcntl.fcntl(fd, F_GET_SEALS), SEAL | SHRINK | GROW)
        t.equal("mode", oct(stat.S_IMODE(os.fstat(fd).st_mode)), "0o600")
        os.close(fd)
    others = [what for what in descriptors(running.pid).values() if "memfd" in what or "socket" in what]
    t.equal("the program has no descriptor of it", others, [])
    running.finish()


def test_the_key_is_in_no_command_line(t):
    running = Running(t)
    key = running.environment()["TIDEMARK_KEY"]
    t.true("a key of 128 bits", re.fullmatch("[0-9a-f]{32}", key), key)
    seen = 0
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        try:
            with open(path, "rb") as file:
                seen += 1
                t.true("not in " + path, key.encode() not in file.read())
        except OSError:
            pass
    t.true("command lines seen", seen > 2, seen)
    running.finish()


def visitor(t):
    with open(os.path.join(ROOT, "src", "wire", "layout.h"), "rb") as layout:
        version = hashlib.sha256(layout.read()).hexdigest()
    return t.build("unknown_client.c", *OWN_HEADERS, "-DOF_LAYOUT=" + version)


def test_visitors_without_the_key_get_no_answer(t):
    running = Running(t)
    environment = running.environment()
    name, key = environment["TIDEMARK_SOCKET"], environment["TIDEMARK_KEY"]
    t.true("with the key", int(t.plain(visitor(t), name, key)[0]) > 0, t.stdout)
    for wrong in (key[:-1] + ("0" if key[-1] != "0" else "1"), "0" * 32):
        t.equal("answer to another key", t.plain(visitor(t), name, wrong)[0], "0\n")
    for message in (b"x", b"\0" * 64, os.urandom(4096)):
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as stranger:
            stranger.connect("\0" + name)
            stranger.send(message)
            try:
                t.equal("answer to %d bytes" % len(message), stranger.recv(4096), b"")
            except ConnectionResetError:
                pass  # shut before it was read
    running.finish()


@cases(whose=("its own", "another user's"))
def test_a_process_that_is_held_up_gets_its_answer(t, whose):
    """On a busy machine much time may pass between its connecting and its asking."""
    if whose != "its own" and os.geteuid() != 0:
        return
    running, tool, ask = Running(t), t.file("visitor"), t.file("ask")
    os.chmod(t.dir, 0o755)
    shutil.copy(visitor(t), tool)
    environment = running.environment()
    late = subprocess.Popen([*(() if whose == "its own" else AS_NOBODY), tool, environment["TIDEMARK_SOCKET"],
                             environment["TIDEMARK_KEY"], ask], stdout=subprocess.PIPE, text=True)
    t.equal("it is there", late.stdout.readline(), "there\n")
    time.sleep(0.5)
    t.equal("others are answered meanwhile", t.run("ctl", str(running.tool.pid), "status")[2], 0)
    open(ask, "w").close()
    t.true("and so is it", int(late.communicate()[0]) > 0)
    running.finish()


def test_silent_visitors_of_another_user_do_no_harm(t):
    if os.geteuid() != 0:
        return
    running = Running(t)
    tool = t.file("visitor")
    os.chmod(t.dir, 0o755)
    shutil.copy(visitor(t), tool)
    silent = subprocess.Popen([*AS_NOBODY, tool, running.environment()["TIDEMARK_SOCKET"], "silent"], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE)
    t.equal("they are there", silent.stdout.readline(), b"there\n")
    running.finish()
    silent.stdin.close()
    t.equal("and leave", silent.wait(), 0)


def test_silent_visitors_of_our_own_keep_nobody_out_for_good(t):
    """As processes that were stopped just when they were about to ask: more than there is room for."""
    running = Running(t)
    silent = [subprocess.Popen([visitor(t), running.environment()["TIDEMARK_SOCKET"], "silent"], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE) for _ in range(4)]
    for each in silent:
        t.equal("they are there", each.stdout.readline(), b"there\n")
    try:
        answered = subprocess.run([t.tidemark, "ctl", str(running.tool.pid), "status"], stdout=subprocess.DEVNULL,
                                  timeout=60).returncode == 0
    except subprocess.TimeoutExpired:
        answered = False
    t.true("others are answered", answered)
    for each in silent:
        each.stdin.close()
        t.equal("and leave", each.wait(), 0)
    running.finish()
