"""`tidemark doctor`: what it says agrees with what the machine permits, as root, as nobody, under filters and limits."""
import json
import os
import pty
import re
import resource
import subprocess

from harness import cases
from unprivileged import AS_NOBODY, NOBODY, give_to_nobody

NAMES = ["system", "library", "socket", "shared-memory", "recording", "address-space", "descriptors", "locked-memory",
         "memory-cgroup", "disk-space", "perf-events", "ptrace", "pagemap", "pidfd", "symbols", "instructions"]


def ask(t, *before, tool=None, works=True):
    """Runs `tidemark doctor --json`; returns {name: check}."""
    stdout, stderr, status = t._run([*before, tool or t.tidemark, "doctor", "--json"], None)
    t.equal("stderr", stderr, "")
    t.equal("status", status, 0 if works else 1)
    answer = json.loads(stdout)
    t.equal("schema", answer["schema"], "tidemark.doctor/1")
    t.equal("works", answer["works"], works)
    t.equal("names", [check["name"] for check in answer["checks"]], NAMES)
    for check in answer["checks"]:
        t.true("fields", set(check) == {"name", "state", "found", "follows"}, check)
        t.true("state", check["state"] in ("ok", "limited", "missing"), check)
        t.true("something is found", check["found"], check)
        t.true("something follows from a flaw", check["state"] == "ok" or check["follows"], check)
    t.equal("left behind in the folder", [name for name in os.listdir(t.dir) if name.startswith("tidemark")], [])
    return {check["name"]: check for check in answer["checks"]}


def setting(path):
    try:
        with open(path) as file:
            return file.read().strip()
    except OSError:
        return "absent"


def test_finds_what_is_so(t):
    found = ask(t)
    t.equal("needed for the heap", [found[name]["state"] for name in ("system", "library", "socket", "shared-memory", "recording")],
            ["ok"] * 5)
    t.true("library", found["library"]["found"] == t.library, found["library"])
    t.true("kernel and machine", os.uname().release in found["system"]["found"] and os.uname().machine in found["system"]["found"],
           found["system"])
    t.true("descriptors", str(resource.getrlimit(resource.RLIMIT_NOFILE)[0]) in found["descriptors"]["found"], found["descriptors"])
    t.true("paranoid", found["perf-events"]["found"].endswith(" " + setting("/proc/sys/kernel/perf_event_paranoid")),
           found["perf-events"])
    t.true("ptrace scope", found["ptrace"]["found"].endswith(" " + setting("/proc/sys/kernel/yama/ptrace_scope")), found["ptrace"])


def test_text_is_of_the_same_checks(t):
    stdout, stderr, status = t.run("doctor")
    t.equal("status, stderr", (status, stderr), (0, ""))
    lines = re.findall(r"^(?:ok|limited|missing) +(\S+) +\S", stdout, re.MULTILINE)
    t.equal("checks", lines, NAMES)
    t.true("verdict", stdout.endswith("\nPrograms can be recorded on this machine.\n"), stdout[-80:])
    t.true("no colours", "\033" not in stdout)


def test_colours_on_a_terminal(t):
    """Of whatever states there are: names are bold."""
    ours, theirs = pty.openpty()
    child = subprocess.Popen([t.tidemark, "doctor"], stdout=theirs, env={**os.environ, "TERM": "xterm", "NO_COLOR": ""})
    os.close(theirs)
    text = b""
    try:
        while data := os.read(ours, 65536):
            text += data
    except OSError:
        pass  # how a terminal ends
    t.equal("status", child.wait(), 0)
    os.close(ours)
    t.true("colours", b"\033[1m" in text, text[:100])


def test_as_nobody(t):
    if os.geteuid() != 0:
        return
    found = ask(t, *AS_NOBODY, tool=give_to_nobody(t))
    t.true("uid", "uid %d" % NOBODY in found["system"]["found"], found["system"])
    t.equal("the root's folder", (found["disk-space"]["state"], "-o" in found["disk-space"]["follows"]), ("limited", True))
    paranoid = setting("/proc/sys/kernel/perf_event_paranoid")
    if paranoid != "absent" and int(paranoid) > 2 and found["perf-events"]["state"] != "ok":
        t.true("what to ask for", "kernel.perf_event_paranoid=2" in found["perf-events"]["follows"], found["perf-events"])


FORBIDDEN = {  # system call: check, state, words, can programs still be recorded?
    "perf_event_open": ("perf-events", "missing", "CPU samples and page faults will not be available", True),
    "memfd_create": ("shared-memory", "missing", "memfd_create", False),
    "socket": ("socket", "missing", "sockets", False),
    "ptrace": ("ptrace", "limited", "attached", True),
    "pidfd_open": ("pidfd", "limited", "exit status", True),
}


@cases(call=tuple(FORBIDDEN))
def test_under_a_filter(t, call):
    name, state, words, works = FORBIDDEN[call]
    found = ask(t, t.build("forbids.c", "-O1"), call, works=works)
    t.equal("state", found[name]["state"], state)
    t.true("what was found", "Operation not permitted" in found[name]["found"], found[name])
    t.true("what follows", words in found[name]["follows"], found[name])
    t.equal("recording", found["recording"]["state"], "ok" if works else "missing")
    flawed = [check for check, is_so in found.items() if is_so["state"] == "missing"]
    t.equal("missing", flawed, [n for n in NAMES if n == name and state == "missing" or n == "recording" and not works])


def test_low_limits(t):
    found = ask(t, "prlimit", "--as=%d" % (1 << 30), "--nofile=40", "--memlock=65536")
    t.equal("address space", (found["address-space"]["state"], found["address-space"]["found"]), ("limited", "RLIMIT_AS is 1.0 GiB"))
    t.equal("descriptors", (found["descriptors"]["state"], found["descriptors"]["found"]), ("limited", "RLIMIT_NOFILE is 40"))
    t.true("how many processes", "about 12 processes" in found["descriptors"]["follows"], found["descriptors"])
    t.true("locked memory", found["locked-memory"]["found"].startswith("RLIMIT_MEMLOCK is 64.0 KiB"), found["locked-memory"])
    t.equal("locked memory of root", found["locked-memory"]["state"], "ok" if os.geteuid() == 0 else "limited")


def test_locked_memory_of_others(t):
    if os.geteuid() != 0:
        return
    found = ask(t, "prlimit", "--memlock=65536", *AS_NOBODY, tool=give_to_nobody(t))
    t.equal("state", found["locked-memory"]["state"], "limited")


def test_no_library(t):
    """A lone tidemark, neither built nor installed: nothing can be recorded, and it says so."""
    tool = t.file("alone")
    with open(t.tidemark, "rb") as whole, open(tool, "wb") as copy:
        copy.write(whole.read())
    os.chmod(tool, 0o755)
    if not os.path.exists("/usr/local/lib/x86_64-linux-gnu/tidemark/libtidemark.so"):
        found = ask(t, tool=tool, works=False)
        t.equal("states", [found[name]["state"] for name in ("library", "recording")], ["missing", "missing"])
        t.true("the trial's words", "libtidemark.so" in found["recording"]["found"], found["recording"])


@cases(arguments=(("--no-such-option",), ("word",)))
def test_wrong_usage(t, arguments):
    stdout, stderr, status = t.run("doctor", *arguments)
    t.equal("status, stdout", (status, stdout), (2, ""))
    t.equal("lines", len(stderr.splitlines()), 1)
