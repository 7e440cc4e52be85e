"""The page of `tidemark view` in a notebook: tidemark.show(), and the recording of a cell for %%tidemark.

Nothing here needs IPython: what is shown has _repr_html_, and IPython is asked to display it only where it runs.
"""
import atexit
import codecs
import glob
import html
import json
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import threading

from tidemark import _tool

# Jupyter drops an output with more than about 3 MB at once (its limit is 1 MB/s, over 3 s).
EMBEDDED_MOST = 2500000
WAIT_S = 10  # to wait for a program that was interrupted
WRITE_S = 60  # to wait for a recording to be written

# `tidemark run` is in a session of its own, so that a cell can be interrupted with all that it started. What ends the
# kernel does not reach it there, so it asks for a signal. The arguments are the kernel's process and the command.
LAUNCH = """
import ctypes, os, signal, sys
PR_SET_PDEATHSIG = 1
ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
if os.getppid() == int(sys.argv[1]):
    os.execv(sys.argv[2], sys.argv[2:])
"""

_folder = None  # for recordings of this process without a name; removed when it ends
_made = [0]  # number of recorded cells
last = None  # path of the recording that %%tidemark made last


class Page:
    """A page that a notebook shows: in a frame of its own, which cannot reach the notebook and has no network."""

    def __init__(self, name, page, height, path=None, why=""):
        """`why`: the reason that it is in the file `path` and not here."""
        self.name, self.page, self.height, self.path, self.why = name, page, height, path, why

    def _repr_html_(self):
        if self.page is None:
            return "<p>The page of %s is %sin a file: <code>%s</code></p>" % tuple(map(html.escape, (self.name, self.why, self.path)))
        # The sandbox gives it an origin of its own. It may run its script, save files, and copy to the clipboard.
        return ('<iframe title="tidemark: %s" sandbox="allow-scripts allow-downloads allow-modals" allow="clipboard-write" width="100%%" '
                'height="%d" style="border:1px solid #8884" srcdoc="%s"></iframe>'
                % (html.escape(self.name), self.height, html.escape(self.page)))

    def __repr__(self):
        return "<the page of %s%s>" % (self.name, ": " + self.path if self.path else "")


def in_notebook():
    """Whether this is the kernel of a notebook. IPython in a terminal has a shell too, but cannot show a page."""
    loaded = sys.modules.get("IPython")
    return getattr(loaded.get_ipython(), "kernel", None) is not None if loaded else False


def folder():
    """The folder for recordings without a name; it exists until this process ends."""
    global _folder
    if _folder is None:
        _folder = tempfile.mkdtemp(prefix="tidemark-notebook-")
        atexit.register(_remove, _folder, os.getpid())
    return _folder


def _remove(path, pid):
    if os.getpid() == pid:  # not in a child that was forked
        shutil.rmtree(path, ignore_errors=True)


def _write(files, target, *options):
    """Writes the page of recordings; raises ValueError with the program's message."""
    done = _tool.run("view", *files, "-o", target, *options)
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip()
        raise ValueError(said[len("tidemark view: "):] if said.startswith("tidemark view: ") else said)


def _display(page):
    from IPython.display import display
    display(page)


def _show_files(files, beside, height, embed):
    """A page that does not go into a cell is left in the file `beside`."""
    if not in_notebook():
        _write(files, beside)  # it is opened if there is a display
        print(beside)
        return
    name, target = " and ".join(map(os.path.basename, files)), os.path.join(folder(), "page.html")
    _write(files, target, "--no-open")
    if embed or (embed is None and os.path.getsize(target) <= EMBEDDED_MOST):
        with open(target, encoding="utf-8") as file:
            page = Page(name, file.read(), height)
        os.unlink(target)
    else:
        shutil.move(target, beside)
        page = Page(name, None, height, beside, "too large for a cell, and " if embed is None else "")
    _display(page)


def show(recording, other, height, embed):
    if not isinstance(height, int) or isinstance(height, bool) or height < 1:
        raise ValueError("height is %r, which is not a number of pixels" % (height,))
    if recording is None and other is not None:
        raise ValueError("a difference needs two recordings")
    files = [os.path.abspath(os.fspath(file)) for file in (recording, other) if file is not None]
    if files:
        # A difference does not replace the page of the first recording.
        _show_files(files, "-".join([files[0], *map(os.path.basename, files[1:])]) + ".html", height, embed)
        return
    with _tool.so_far() as path:
        if path:
            _show_files([path], os.path.join(folder(), "so-far.html"), height, embed)
            return
    if not last or not os.path.exists(last):
        raise ValueError("nothing is recorded yet: name a recording, as in tidemark.show('app.tide'), or put %%tidemark above a cell")
    _show_files([last], os.path.abspath(last) + ".html", height, embed)


# Cells of a kernel that is not recorded


def _copy(source, sink):
    """Copies what a process writes to the notebook as it comes, whole lines or not."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    for piece in iter(lambda: source.read1(1 << 16), b""):
        sink.write(decoder.decode(piece))
        sink.flush()
    sink.write(decoder.decode(b"", True))
    source.close()


def _names(options):
    """(words of `tidemark run`) -> what -o may name among them: files, patterns, commands."""
    return [word for before, word in zip(options, options[1:]) if before == "-o"] + [
        word[2:] for word in options if word.startswith("-o") and len(word) > 2]


def _pattern(name):
    """(a name for -o) -> the files that may become of it, for glob. %q{VAR} is known; %p and others are anything."""
    parts = re.split(r"(%q\{[^}]*\}|%.)", name)
    parts[::2] = map(glob.escape, parts[::2])
    parts[1::2] = (glob.escape(os.environ.get(part[3:-1], "")) if part.startswith("%q{") else "%" if part == "%%" else "*"
                   for part in parts[1::2])
    return "".join(parts)


def _files(names):
    """{path: (time, inode, size)} of the existing files with these names."""
    found = {}
    for path in (path for name in names for path in glob.glob(_pattern(name))):
        try:
            about = os.stat(path)
        except OSError:
            continue
        if stat.S_ISREG(about.st_mode):
            found[path] = about.st_mtime_ns, about.st_ino, about.st_size
    return found


def _is_of(path, script):
    """Whether it is a recording of that script."""
    done = _tool.run("report", path, "--json", "--top", "1")
    try:
        return any(script in process["command"] for process in json.loads(done.stdout.decode("utf-8", "replace"))["processes"])
    except (ValueError, KeyError):
        return False


def _recording(names, before, script):
    """The recording that `tidemark run` wrote by one of these names, where `before` was there before; None: none.

    Snapshots and other recordings may match the same pattern: it is the last one of the script.
    """
    after = _files(names)
    changed = sorted((path for path in after if after[path] != before.get(path)), key=after.get, reverse=True)
    if len(changed) > 1:
        changed = [path for path in changed if _is_of(path, script)] or changed
    return os.path.abspath(changed[0]) if changed else None


def run_cell(cell, options):
    """Records a cell as a script of its own. (how it failed, path of the recording), None for what is not"""
    global last
    _made[0] += 1
    script = os.path.join(folder(), "cell-%d.py" % _made[0])
    with open(script, "w", encoding="utf-8") as out:
        out.write(cell)
    literal = os.path.join(folder(), "cell-%d.tide" % _made[0]).replace("%", "%%")
    options = ["-o", literal, *options]  # the last -o counts
    names = _names(options)
    before = _files(names)
    # Modules are imported from where the kernel imports them.
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join(path or os.getcwd() for path in sys.path), PYTHONUNBUFFERED="1")
    process = subprocess.Popen([sys.executable, "-I", "-S", "-c", LAUNCH, str(os.getpid()),
                                _tool.find(), "run", *options, "--", sys.executable, script], env=environment,
                               start_new_session=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    threads = [threading.Thread(target=_copy, args=pair, daemon=True)
               for pair in ((process.stdout, sys.stdout), (process.stderr, sys.stderr))]
    failure = None
    try:
        for thread in threads:
            thread.start()
        process.wait()
    except KeyboardInterrupt:
        _end(process)
        failure = "the cell was interrupted"
    for thread in threads:
        if thread.is_alive():
            thread.join(WAIT_S)
    profile = _recording(names, before, script)
    if process.returncode and not failure:
        failure = "%s ended with status %d" % ("the cell" if profile else "tidemark run", process.returncode)
    if profile:
        last = profile
    elif not failure:
        piped = any(name.startswith("|") for name in names)
        print("tidemark: the recording went to a command, so its page is not shown" if piped else
              "tidemark: there is no recording", file=sys.stderr)
    return failure, profile


def _end(process):
    """Ends a recording that the reader interrupts, and at once if they do so again; what was recorded so far is written."""
    for number, wait in (signal.SIGINT, WAIT_S), (signal.SIGTERM, WRITE_S), (signal.SIGKILL, WAIT_S):
        try:
            os.killpg(process.pid, number)
            process.wait(wait)
            return
        except ProcessLookupError:
            return
        except (subprocess.TimeoutExpired, KeyboardInterrupt):
            pass
