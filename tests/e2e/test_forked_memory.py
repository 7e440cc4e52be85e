"""Forked children share their parent's memory, also while tidemark looks into them."""
import os
import subprocess
import time

from harness import eventually, memory_group
from scans import ASKED, processes

CHILDREN = 8


def rollup(pid):
    """{name: KiB} of all that a process has mapped."""
    with open("/proc/%d/smaps_rollup" % pid) as lines:
        return {words[0].rstrip(":"): int(words[1]) for words in map(str.split, lines) if words[-1] == "kB"}


class Family:
    """tests/programs/shares_heap.c under tidemark, when all children have connected."""

    def __init__(self, t, mib, before=()):
        self.t, self.profile = t, t.file("family.tide")
        self.tool = subprocess.Popen([*before, t.tidemark, "run", "--quiet", "--scan=full", "-o", self.profile, "--",
                                      t.build("shares_heap.c", "-O1"), str(mib), str(CHILDREN)],
                                     stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=t.dir)
        self.children = [int(pid) for pid in self.tool.stdout.readline().split()]
        t.equal("children", len(self.children), CHILDREN)
        for pid in self.children:
            eventually("a child waits for its end", lambda: "pipe" in open("/proc/%d/wchan" % pid).read() or
                       open("/proc/%d/syscall" % pid).read().startswith("0 "))

    def look(self):
        for pid in self.children:
            self.t.equal("ctl leaks", self.t.run("ctl", str(pid), "leaks")[2], 0)

    def end(self):
        stdout, stderr = self.tool.communicate()
        self.t.equal("exit status (%s)" % stderr.decode(), self.tool.returncode, 0)
        self.t.equal("what the parent saw", stdout, b"0 bad\n")
        return processes(self.t, self.profile)


def test_a_scan_unshares_nothing(t):
    """What is a child's alone, and its share of the rest, is the same before and after, within 1 % of the heap."""
    mib = 96
    family = Family(t, mib)
    before = [rollup(pid) for pid in family.children]
    family.look()
    after = [rollup(pid) for pid in family.children]
    for was, now in zip(before, after):
        for name in ("Pss", "Private_Dirty", "Rss"):
            t.true("%s is the same (%d KiB, then %d)" % (name, was[name], now[name]),
                   abs(now[name] - was[name]) <= mib * 1024 // 100)
    parent, *children = family.end()
    t.equal("children", len(children), CHILDREN)
    for scans in children:
        t.true("a look was asked for", scans[0].kind == ASKED and scans[0].reason == "", scans[0].reason)
        t.equal("at the end too", (scans[-1].reason, scans[-1].sizes()), ("", {"reachable": [3000]}))


def test_a_scan_in_a_memory_group(t):
    """There is room for the heap and for what is recorded, but not for nine copies of the heap."""
    mib, limit = 96, 512 << 20
    with memory_group(t, limit) as group:
        procs = "%s/cgroup.procs" % group if group else "/dev/null"
        family = Family(t, mib, before=("/bin/sh", "-c", 'echo $$ > %s; exec "$@"' % procs, "sh"))
        family.look()
        used = sum(rollup(pid)["Pss"] for pid in family.children) << 10  # also where no group can be made
        t.true("memory of the children: %d" % used, used < limit // 2)
        children = family.end()[1:]
        t.equal("all are known to the end", [scans[-1].sizes() for scans in children], [{"reachable": [3000]}] * CHILDREN)
