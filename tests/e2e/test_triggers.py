"""Snapshots that are taken when memory calls for them: run --snapshot-at, --keep."""
import glob
import os
import re
import subprocess

from harness import Skipped, eventually, memory_group

MIB = 1 << 20


class Growing:
    """tests/programs/grows_on_command.c under tidemark; each step grows it and waits for what follows."""

    def __init__(self, t, *sizes, options, enter=()):
        self.t, self.steps = t, 0
        self.tool = subprocess.Popen([*enter, t.tidemark, "run", "--quiet", "-o", t.file("p.tide"), *options, "--",
                                      t.build("grows_on_command.c", "-O1"), t.file("go"), *map(str, sizes)], cwd=t.dir)

    def step(self, snapshots):
        """The next size; then so many snapshots have been taken in all, and are written."""
        self.steps += 1
        open(self.t.file("go.%d" % self.steps), "w").close()
        newest = self.t.file("p.snapshot%d.tide" % snapshots)
        eventually("snapshot %d" % snapshots, lambda: snapshots == 0 or os.path.exists(newest))

    def taken(self):
        stdout, _, _ = self.t.run("ctl", str(self.tool.pid), "status")
        return int(re.search(r"snapshots (\d+)", stdout).group(1))

    def holds(self, mib):
        eventually("%d MiB" % mib, lambda: ("live %d.0 MiB" % mib if mib else "live 0 B") in self.t.run("ctl", str(self.tool.pid), "status")[0])

    def looks(self):
        stdout, _, _ = self.t.run("ctl", str(self.tool.pid), "status")
        return int(re.search(r"memory checked ([\d,]+) time", stdout).group(1).replace(",", ""))

    def settle(self):
        """Until the collector has looked at memory twice more: the program waits meanwhile."""
        before = self.looks()
        eventually("two more looks", lambda: self.looks() >= before + 2)

    def end(self):
        self.steps += 1
        open(self.t.file("go.%d" % self.steps), "w").close()
        self.t.equal("exit status", self.tool.wait(), 0)
        return self.t.file("p.tide")


def grown(t, path):
    return t.total(t.report(path), "grow")[0]


def files(t):
    return sorted(os.path.basename(f) for f in glob.glob(t.file("p.snapshot*.tide")))


def note(t, path):
    return [n for n in t.report(path)["notes"] if n.startswith("snapshot ")]


def test_resident_memory(t):
    run = Growing(t, 60, 60, -1, 60, options=("--snapshot-at", "rss=100MiB"))
    run.step(0)
    run.step(1)
    t.equal("what was live then", grown(t, t.file("p.snapshot1.tide")), 120 * MIB)
    said, = note(t, t.file("p.snapshot1.tide"))
    t.true("why", re.fullmatch(r"snapshot 1 was taken at .*: the resident memory of process \d+ reached 1\d\d\.?\d* MiB", said), said)
    run.settle()
    t.equal("once", run.taken(), 1)
    run.step(1)  # below
    run.holds(60)
    run.settle()
    run.step(2)  # and there again
    profile = run.end()
    t.equal("files", files(t), ["p.snapshot1.tide", "p.snapshot2.tide"])
    t.equal("a moment of the whole", t.total(t.report(profile, "live", "--at", "snapshot#2"), "grow")[0], 120 * MIB)
    t.true("the last one's reason", note(t, profile)[0].startswith("snapshot 2 was taken at "), note(t, profile))


def test_live_heap(t):
    run = Growing(t, 10, 1, 1, 20, options=("--snapshot-at", "live+20%"))
    run.step(1)
    run.step(1)
    run.holds(11)
    run.settle()
    t.equal("10 % more is not enough", run.taken(), 1)
    run.step(2)
    run.step(3)
    run.end()
    t.equal("what was live", [grown(t, t.file(f)) // MIB for f in files(t)], [10, 12, 32])


def test_new_maximum(t):
    run = Growing(t, 10, -1, 8, 3, options=("--snapshot-at", "peak"))
    run.step(1)
    run.step(1)
    run.holds(0)
    run.step(1)
    run.holds(8)
    run.settle()
    t.equal("below the highest", run.taken(), 1)
    run.step(2)
    run.end()
    t.equal("what was live", [grown(t, t.file(f)) // MIB for f in files(t)], [10, 11])


def test_before_memory_ends(t):
    """In a cgroup of 300 MiB: above 270 MiB, the collector's own included, and not for pages of files."""
    with memory_group(t, 300 * MIB) as group:
        if not group:
            raise Skipped("no memory cgroup can be made here")
        enter = ("sh", "-c", 'echo $$ >%s/cgroup.procs && exec "$@"' % group, "sh")
        run = Growing(t, 140, 125, options=("--snapshot-at", "oom"), enter=enter)
        run.step(0)
        run.holds(140)
        # As many pages of files as there is room for: the kernel gives these up first.
        subprocess.run([*enter, "dd", "if=/dev/zero", "of=" + t.file("pages"), "bs=1M", "count=150"],
                       check=True, stderr=subprocess.DEVNULL)
        run.settle()
        t.equal("none for pages of files", run.taken(), 0)
        run.step(1)
        said, = note(t, t.file("p.snapshot1.tide"))
        t.true("why", re.search(r": \d+\.?\d* MiB of 300\.0 MiB were left to the memory cgroup$", said), said)
        t.equal("what was live then", grown(t, t.file("p.snapshot1.tide")), 265 * MIB)
        run.end()


def test_keep_the_newest(t):
    run = Growing(t, 10, 10, 10, 20, options=("--snapshot-at", "live+20%", "--keep", "2"))
    for number in (1, 2, 3):
        run.step(number)
    stdout, _, _ = t.run("ctl", str(run.tool.pid), "snapshot", t.file("p.snapshot-asked.tide"))
    run.step(5)
    run.end()
    t.equal("files", files(t), ["p.snapshot-asked.tide", "p.snapshot3.tide", "p.snapshot5.tide"])
    t.equal("the newest", grown(t, t.file("p.snapshot5.tide")), 50 * MIB)


def test_one_that_fails_removes_none(t):
    """Its folder is gone: the note says so, and the snapshot before it is kept."""
    os.mkdir(t.file("out"))
    run = Growing(t, 10, 10, options=("--snapshot-at", "live+20%", "--keep", "1", "-o", t.file("out/p.tide")))
    run.step(0)
    eventually("the first", lambda: os.path.exists(t.file("out/p.snapshot1.tide")))
    os.rename(t.file("out"), t.file("away"))
    run.step(0)
    run.holds(20)
    run.settle()
    os.rename(t.file("away"), t.file("out"))
    run.end()
    t.equal("files", sorted(os.listdir(t.file("out"))), ["p.snapshot1.tide", "p.tide"])
    said = [n for n in t.report(t.file("out/p.tide"))["notes"] if "snapshot" in n]
    t.true("the failure is told", len(said) == 1 and re.match(r"(a )?snapshot .*could not be written", said[0]), said)


def test_measured_from_every_snapshot(t):
    """10 MiB by itself, 11 MiB asked for: 13 MiB are below 20 % more than that."""
    run = Growing(t, 10, 1, 2, 1, options=("--snapshot-at", "live+20%"))
    run.step(1)
    run.step(1)
    run.holds(11)
    t.run("ctl", str(run.tool.pid), "snapshot", t.file("asked.tide"))
    run.step(0)
    run.holds(13)
    run.settle()
    t.equal("none at 13 MiB", run.taken(), 2)
    run.step(3)
    run.end()


def test_maximum_of_every_snapshot(t):
    """20 MiB by itself, 21 MiB asked for: 22 MiB are less than 10 % above that."""
    run = Growing(t, 20, 1, 1, 2, options=("--snapshot-at", "peak"))
    run.step(1)
    run.step(1)
    run.holds(21)
    t.run("ctl", str(run.tool.pid), "snapshot", t.file("asked.tide"))
    run.step(0)
    run.holds(22)
    run.settle()
    t.equal("none at 22 MiB", run.taken(), 2)
    run.step(3)
    run.end()
    t.equal("what was live", [grown(t, t.file(f)) // MIB for f in files(t)], [20, 24])


def test_wrong_words(t):
    _, stderr, status = t.run("run", "--keep", "2", "true")
    t.equal("--keep alone", (status, "--keep is for --snapshot-every" in stderr), (2, True))
    for words in (("--snapshot-at", "rss=none"), ("--snapshot-at", "rss=0"), ("--snapshot-at", "live+0%"),
                  ("--snapshot-at", "live+5"), ("--snapshot-at", "never"), ("--keep", "0"), ("--keep", "-1"), ("--keep", "2x")):
        _, stderr, status = t.run("run", *words, "true")
        t.equal("status of %s" % " ".join(words), status, 2)
        t.true("says what would be right", words[0] + " takes " in stderr and words[1] in stderr and stderr.count("\n") <= 2, stderr)
