"""On a terminal: it is the program's, which may have a picture there, or wait for an answer behind half a line."""
import os
import re
import select
import signal
import time

from harness import Failed

TIMEOUT_S = 50


class Terminal:
    """A shell's child on a terminal of its own; `said` is what came out of it."""

    def __init__(self, argv):
        self.said = b""
        self.pid, self.fd = os.forkpty()
        if self.pid == 0:
            try:
                os.execvp(argv[0], argv)
            finally:
                os._exit(127)

    def take(self):
        """False: nobody has it open any more."""
        try:
            if select.select([self.fd], [], [], 0.1)[0]:
                self.said += os.read(self.fd, 65536)
            return True
        except OSError:
            return False

    def wait_for(self, pattern):
        end = time.monotonic() + TIMEOUT_S
        while not re.search(pattern, self.said):
            if time.monotonic() > end or not self.take():
                raise Failed("%r did not come: %r" % (pattern, self.said[-300:]))

    def end(self):
        """The exit status, when all is said."""
        deadline = time.monotonic() + TIMEOUT_S
        while self.take():
            if time.monotonic() > deadline:
                os.kill(self.pid, signal.SIGKILL)
                raise Failed("it did not end: %r" % self.said[-300:])
        os.close(self.fd)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def test_a_prompt_stays(t):
    """Half a line of the program's is there until it is answered, however long that takes."""
    terminal = Terminal([t.tidemark, "run", "-o", t.file("p.tide"), "sh", "-c",
                         "printf 'your name? '; sleep 2.5; read name; echo hello $name; exit 3"])
    terminal.wait_for(b"your name. ")
    end = time.monotonic() + 3
    while time.monotonic() < end:
        terminal.take()
    os.write(terminal.fd, b"me\n")
    t.equal("status", terminal.end(), 3)
    t.true("nothing came between", terminal.said.startswith(b"your name? me\r\nhello me\r\ntidemark: "), terminal.said[:300])


def test_progress_where_it_disturbs_nobody(t):
    """The program writes to a file; Ctrl-C then ends it, as it would without us."""
    terminal = Terminal(["sh", "-c", "exec \"$0\" run -o \"$1\" sleep 1000 >/dev/null", t.tidemark, t.file("p.tide")])
    terminal.wait_for(rb"tidemark: \d+\.\d s  live .* peak ")
    os.write(terminal.fd, b"\x03")
    t.equal("status", terminal.end(), 128 + signal.SIGINT)


def test_work_at_the_end_is_told(t):
    """What is done after the program's end shows on the progress line."""
    terminal = Terminal(["sh", "-c", "exec \"$0\" run -o \"$1\" /usr/bin/python3 -c 'import time; time.sleep(1.2)' >/dev/null",
                         t.tidemark, t.file("p.tide")])
    t.equal("status", terminal.end(), 0)
    said = re.sub(rb"tidemark: \d+\.\d s  ", b"", terminal.said)
    t.true("the scan", b"scanning for leaks" in said, said[-500:])
    t.true("then the file", b"writing the file" in said.split(b"scanning for leaks")[-1], said[-500:])
    t.true("and the line is gone", b"writing the file\r\x1b[Ktidemark: " in said, said[-500:])


def test_stopped_and_continued_from_the_terminal(t):
    """Ctrl-Z stops the program and us, `fg` continues both, and Ctrl-C ends the program."""
    terminal = Terminal(["bash", "--norc", "--noediting", "-i"])
    script = "trap 'echo again' CONT; echo ready; while :; do sleep 0.1; done"
    os.write(terminal.fd, ("'%s' run -o '%s' sh -c \"%s\"\n" % (t.tidemark, t.file("p.tide"), script)).encode())
    terminal.wait_for(rb"ready\r")
    os.write(terminal.fd, b"\x1a")
    terminal.wait_for(rb"\[1\]\+  Stopped")
    os.write(terminal.fd, b"fg\n")
    terminal.wait_for(rb"again\r")
    os.write(terminal.fd, b"\x03")
    terminal.wait_for(rb"written to ")
    os.write(terminal.fd, b"echo \"ended with $?\"; exit\n")
    terminal.wait_for(rb"ended with 130")
    terminal.end()
    t.equal("ended by signal", t.report(t.file("p.tide"))["processes"][0]["signal"], signal.SIGINT)
