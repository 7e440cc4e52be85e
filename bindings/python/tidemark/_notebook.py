"""The page of `tidemark view` in a notebook: tidemark.show(), and the recording of a cell for %%tidemark.

Nothing here needs IPython: what is shown has _repr_html_, and IPython is asked to display it only where it runs.
"""
import atexit
import html
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading

from tidemark import _tool

HEIGHT = 720  # pixels of a page in a cell
# Jupyter drops an output with more than about 3 MB at once (its limit is 1 MB/s, over 3 s).
EMBEDDED_MOST = 2500000
WAIT_S = 10  # for a process that was asked to end

_folder = None  # of recordings of this process that nobody named, removed when it ends
_made = [0]  # recordings of cells
last = None  # path of the recording that %%tidemark made last


class Page:
    """A page that a notebook shows: in a frame of its own, which cannot reach the notebook and has no network."""

    def __init__(self, name, page, height, path=None):
        self.name, self.page, self.height, self.path = name, page, height, path

    def _repr_html_(self):
        if self.page is None:
            return "<p>The page of %s is too large for a cell: <code>%s</code></p>" % (html.escape(self.name), html.escape(self.path))
        # The sandbox gives it an origin of its own. What it may: run its script, save files, copy to the clipboard.
        return ('<iframe title="tidemark: %s" sandbox="allow-scripts allow-downloads allow-modals" allow="clipboard-write" width="100%%" '
                'height="%d" style="border:1px solid #8884" srcdoc="%s"></iframe>'
                % (html.escape(self.name), self.height, html.escape(self.page)))

    def __repr__(self):
        return "<the page of %s%s>" % (self.name, ": " + self.path if self.path else "")


def shell():
    """The running IPython shell; None: there is none."""
    loaded = sys.modules.get("IPython")
    return loaded.get_ipython() if loaded else None


def folder():
    """Where recordings go that nobody named; it is there until this process ends."""
    global _folder
    if _folder is None:
        _folder = tempfile.mkdtemp(prefix="tidemark-notebook-")
        atexit.register(_remove, _folder, os.getpid())
    return _folder


def _remove(path, pid):
    if os.getpid() == pid:  # not in a child that was forked
        shutil.rmtree(path, ignore_errors=True)


def _write(files, target, *options):
    """Writes the page of recordings; raises ValueError with what the program said."""
    done = _tool.run("view", *files, "-o", target, *options)
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip()
        raise ValueError(said[len("tidemark view: "):] if said.startswith("tidemark view: ") else said)


def _display(page):
    from IPython.display import display
    display(page)


def _show_files(files, beside, height, embed):
    """A page that is too large for a cell is left in the file `beside`."""
    if shell() is None:
        _write(files, beside)  # it opens where there is a display
        print(beside)
        return
    name, target = os.path.basename(files[-1]), os.path.join(folder(), "page.html")
    _write(files, target, "--no-open")
    if embed or (embed is None and os.path.getsize(target) <= EMBEDDED_MOST):
        with open(target, encoding="utf-8") as file:
            page = Page(name, file.read(), height)
        os.unlink(target)
    else:
        shutil.move(target, beside)
        page = Page(name, None, height, beside)
    _display(page)


def show(recording, other, height, embed):
    if not isinstance(height, int) or isinstance(height, bool) or height < 1:
        raise ValueError("height is %r, which is not a number of pixels" % (height,))
    if recording is None and other is not None:
        raise ValueError("a difference needs two recordings")
    files = [os.path.abspath(os.fspath(file)) for file in (recording, other) if file is not None]
    if files:
        _show_files(files, files[0] + ".html", height, embed)
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
    """What a process writes goes to the notebook as it comes."""
    for line in iter(source.readline, b""):
        sink.write(line.decode("utf-8", "replace"))
        sink.flush()
    source.close()


def _output_of(options):
    """(words of `tidemark run`) -> the file that they name, or None."""
    for i, word in enumerate(options):
        if word in ("-o", "--output") and i + 1 < len(options):
            return options[i + 1]
        if word.startswith("--output="):
            return word[len("--output="):]
        if word.startswith("-o") and len(word) > 2:
            return word[2:]
    return None


def run_cell(cell, options):
    """Records a cell as a script of its own. (status, path of the recording or None)"""
    global last
    _made[0] += 1
    script = os.path.join(folder(), "cell-%d.py" % _made[0])
    with open(script, "w", encoding="utf-8") as out:
        out.write(cell)
    profile = _output_of(options)
    if profile is None:
        profile = os.path.join(folder(), "cell-%d.tide" % _made[0])
        options = ["-o", profile, *options]
    before = _stamp(profile)
    # Imports are found where the kernel finds them.
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join(path or os.getcwd() for path in sys.path), PYTHONUNBUFFERED="1")
    process = subprocess.Popen([_tool.find(), "run", *options, "--", sys.executable, script], env=environment,
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    threads = [threading.Thread(target=_copy, args=pair, daemon=True)
               for pair in ((process.stdout, sys.stdout), (process.stderr, sys.stderr))]
    for thread in threads:
        thread.start()
    try:
        process.wait()
    except KeyboardInterrupt:
        _end(process)
    for thread in threads:
        thread.join(WAIT_S)
    if _stamp(profile) in (None, before):
        return process.returncode, None
    last = profile
    return process.returncode, profile


def _stamp(path):
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime


def _end(process):
    """Ends a recording that the reader interrupts; what was recorded so far is written."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
        process.send_signal(number)
        try:
            process.wait(WAIT_S)
            return
        except subprocess.TimeoutExpired:
            pass
