"""tidemark.Tracker: records this process from inside. `tidemark attach`, a child of ours, does the work.

The child reports what happens as lines on a pipe (`attach --tell FD`), and its errors go to a file that has no name.
"""
import ctypes
import os
import sys
import threading

import tidemark

SCOPE = "tracker"  # the mark in a recording of `tidemark run`
PR_SET_PTRACER = 0x59616d61


class TrackerError(RuntimeError):
    """Recording could not begin, or its file could not be written; the text is what `tidemark attach` says."""


_lock = threading.Lock()
_on = None  # (process id, Tracker) that records, or begins to; in a forked child, that of the parent


def _forked():
    global _lock
    _lock = threading.Lock()


if hasattr(os, "register_at_fork"):  # not in 3.6
    os.register_at_fork(after_in_child=_forked)


def _claim(tracker):
    global _on
    with _lock:
        if _on and _on[0] == os.getpid():
            raise TrackerError("a tidemark.Tracker is on already in this process; one at a time can be")
        _on = os.getpid(), tracker


def _release():
    global _on
    with _lock:
        _on = None


def _allow(pid):
    """With Yama (ptrace_scope 1), a child may trace its parent only if the parent names it; 0: nobody any more."""
    try:
        ctypes.CDLL(None).prctl(PR_SET_PTRACER, ctypes.c_ulong(pid), *[ctypes.c_ulong(0)] * 3)
    except (AttributeError, OSError):
        pass


class Tracker:
    """(path) -> context manager. `tidemark attach` records what this process allocates inside.

    For programs that were not started by `tidemark run`. `path` is as for `tidemark attach -o`; afterwards .path is
    the file that was written, None for a command (`|`). `options` are further words for `tidemark attach`, such as "--only-new". TrackerError:
    it could not be done. Under `tidemark run` the block only gets the marks "tracker" and "tracker.end" in that
    recording, a line on stderr says so, and .path is None.
    """

    def __init__(self, path=None, options=()):
        self.path = None
        self._words = [*(["-o", os.fsdecode(path)] if path is not None else []), *options]
        self._process = self._scope = self._pid = None

    def __enter__(self):
        _claim(self)
        try:
            self._pid = os.getpid()
            self.path = None
            if tidemark._mark is not None:
                print("tidemark: this process was started by 'tidemark run'; Tracker only makes the marks '%s' and "
                      "'%s.end' in its recording" % (SCOPE, SCOPE), file=sys.stderr)
                self._scope = tidemark.scope(SCOPE)
                self._scope.__enter__()
            else:
                self._start()
        except BaseException:
            _release()
            raise
        return self

    def __exit__(self, kind, error, trace):
        if self._pid != os.getpid():  # a child that was forked inside: the recording belongs to its parent
            if self._process:
                self._process.returncode = 0  # the tool is not its child either
            return
        try:
            if self._scope:
                self._scope.__exit__()
            else:
                self._stop()
        except TrackerError as problem:
            if kind is None:
                raise
            print("tidemark: %s" % problem, file=sys.stderr)  # the program's own exception is more important
        finally:
            self._scope = None
            _release()

    def _start(self):
        import subprocess
        import tempfile
        from tidemark import _tool
        try:
            tool = _tool.find()
        except _tool.NotFound as problem:
            raise TrackerError(str(problem)) from None
        self._folder = os.getcwd()
        self._errors = tempfile.TemporaryFile()
        self._lines, tell = os.pipe()
        _allow(os.getpid())  # any child, so that the tool cannot come too early
        try:
            self._process = subprocess.Popen(
                [tool, "attach", "--quiet", "--tell", str(tell), *self._words, str(os.getpid())], pass_fds=(tell,),
                env={k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}, stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL, stderr=self._errors, start_new_session=True)  # Ctrl-C is not meant for it
            _allow(self._process.pid)
        except BaseException as problem:
            self._close()
            if isinstance(problem, OSError):
                raise TrackerError("%s cannot be run: %s" % (tool, problem.strerror)) from None
            raise
        finally:
            os.close(tell)
        try:
            if self._line() != "attached":
                raise self._failure("could not attach")
        except BaseException:
            self._process.terminate()
            self._process.wait()
            self._close()
            raise

    def _stop(self):
        self._process.terminate()
        said = self._line()
        self._process.wait()
        if not said.startswith("written "):
            problem = self._failure("ended before its file was written")
            self._close()
            raise problem
        name = said[len("written "):]
        self.path = None if name.startswith("|") else os.path.join(self._folder, name)
        self._close()

    def _line(self):
        """The next line of the tool; empty: it has ended."""
        import select
        text = b""
        while not text.endswith(b"\n"):
            ended = self._process.poll() is not None
            if select.select([self._lines], [], [], 0 if ended else 1)[0]:
                byte = os.read(self._lines, 1)
                if not byte:
                    break
                text += byte
            elif ended:  # another process has the other end of the pipe: a child that was forked meanwhile
                break
        return os.fsdecode(text.rstrip(b"\n"))

    def _failure(self, otherwise):
        """The exception, with the tool's message on stderr."""
        self._process.wait()
        self._errors.seek(0)
        said = self._errors.read().decode("utf-8", "replace").strip()
        return TrackerError(said or "tidemark attach %s (status %d)" % (otherwise, self._process.returncode))

    def _close(self):
        _allow(0)
        os.close(self._lines)
        self._errors.close()
        self._process = None
