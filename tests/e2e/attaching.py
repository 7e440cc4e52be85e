"""For tests of tidemark attach: programs that run already, and tidemark attached to them."""
import contextlib
import os
import subprocess

from harness import Failed
from program_code import code_of

LIBRARIES = "/usr/lib/%s-linux-gnu/" % os.uname().machine
SUPPORTED = os.uname().machine == "x86_64"  # elsewhere test_other_machines has all there is to say


class Program:
    """A program without tidemark, that waits for what it is told."""

    def __init__(self, t, *argv, preload=None, before=(), env=None):
        self.t = t
        env = {**os.environ, **(env or {}), **({"LD_PRELOAD": os.path.join(LIBRARIES, preload)} if preload else {})}
        self.process = subprocess.Popen([*before, *(argv or (t.build("attached.c", "-O1", "-D_GNU_SOURCE"),))], cwd=t.dir, env=env,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        t.equal("it is ready", self.process.stdout.readline(), "ready\n")
        self.pid = self.process.pid

    def tell(self, words):
        """Its own count then: allocations, frees, bytes."""
        self.process.stdin.write(words + "\n")
        self.process.stdin.flush()
        return [int(n) for n in self.process.stdout.readline().split()]

    def end(self):
        self.process.stdin.close()
        return self.process.wait()

    def code(self):
        return code_of(self.pid)


class Attached:
    """tidemark attach, once it records."""

    count = 0

    def __init__(self, t, pid, *options, tidemark=None, before=()):
        Attached.count += 1
        self.t, self.pid, self.profile = t, pid, t.file("a.%d.tide" % Attached.count)
        self.tool = subprocess.Popen([*before, tidemark or t.tidemark, "attach", str(pid), "-o", self.profile, *options],
                                     cwd=t.dir, stderr=subprocess.PIPE, text=True)
        said = self.tool.stderr.readline()
        if "attached to process %d" % pid not in said:
            raise Failed("tidemark attach said: " + said)

    def detach(self):
        stdout, stderr, status = self.t.run("detach", str(self.pid))
        self.t.equal("detach (%s)" % stderr, status, 0)
        self.t.true("it says where", self.profile in stdout, stdout)
        return self.finish()

    def finish(self, status=0):
        stderr = self.tool.communicate()[1]
        self.t.equal("exit status of attach (%s)" % stderr, self.tool.returncode, status)
        return self.profile


@contextlib.contextmanager
def program(t, *argv, **how):
    p = Program(t, *argv, **how)
    try:
        yield p
    finally:
        p.process.kill()
        p.process.wait()


def state_of(pid):
    return stat_of(pid)[0]


def stat_of(pid):
    """The fields of /proc/PID/stat from the state on."""
    with open("/proc/%d/stat" % pid) as text:
        return text.read().rsplit(")")[-1].split()


def stack_start(pid):
    """Each exec chooses another one; it is 0 during the exec."""
    return int(stat_of(pid)[25])
