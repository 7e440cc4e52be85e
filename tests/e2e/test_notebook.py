"""tidemark.show() and %%tidemark: pages in notebooks, by IPython itself and by a stand-in for it."""
import glob
import json
import os
import re
import time

from browser import Browser
from harness import ROOT

PYTHON = "/usr/bin/python3"
ON_PATH = {"PYTHONPATH": os.path.join(ROOT, "bindings", "python")}
API = ("-I", os.path.join(ROOT, "include"))

# What the module uses of IPython. What is displayed is written down.
STAND_IN = """
import json, sys, types

class Shell:
    magics, shown, kernel = {}, [], object()
    def register_magic_function(self, function, kind, name):
        self.magics[kind, name] = function

shell = Shell()
fake = types.ModuleType("IPython")
fake.get_ipython = lambda: shell
fake.display = types.ModuleType("IPython.display")
fake.display.display = shell.shown.append
sys.modules.update({"IPython": fake, "IPython.display": fake.display})

import tidemark
assert "IPython" not in sys.modules or sys.modules["IPython"] is fake

def wrong(function, *arguments, **named):
    try:
        function(*arguments, **named)
    except ValueError as e:
        return str(e)
    return "nothing was wrong"
"""

IPYTHON = r"""
import json, sys
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
shell = InteractiveShell.instance()
shell.kernel = object()  # as the shell of a notebook has
shell.run_line_magic("load_ext", "tidemark")
shell.run_cell("here = 7")
def cell(line, text):
    with capture_output() as got:
        done = shell.run_cell("%%tidemark " + line + "\n" + text)
    return {"out": got.stdout, "err": got.stderr, "html": [o.data["text/html"] for o in got.outputs], "success": done.success}
"""


def program(t, name, text):
    path = t.file(name)
    with open(path, "w") as out:
        out.write(text)
    return path


def ipython(t, text, **environment):
    """Runs a program that uses IPYTHON and leaves what it has seen in `seen`."""
    script = program(t, "cells.py", IPYTHON + text + '\njson.dump(seen, open("seen.json", "w"))\n')
    out, err, status = t.plain(PYTHON, script, env={"IPYTHONDIR": t.dir, "HOME": t.dir, **ON_PATH, **environment})
    t.equal("IPython: " + err, (out, status), ("", 0))
    return json.load(open(t.file("seen.json")))


def notebook(t, *cells):
    """A page with outputs of cells, as a notebook has them; its address."""
    path = program(t, "notebook.html", "<!doctype html><meta charset=utf-8><title>notebook</title>" + "".join(cells))
    return "file://" + path


def test_page_in_a_notebook(t):
    """The page works inside its sandbox: it answers, changes views and requests nothing."""
    profile = t.record(t.build("planted.cpp", "-O1", *API), "1")
    name = os.path.basename(profile)
    script = program(t, "show.py", STAND_IN + """
tidemark.show(%r, height=500)
json.dump([shell.shown[0]._repr_html_(), repr(shell.shown[0])], open("shown.json", "w"))
""" % profile)
    t.equal("show", t.plain(PYTHON, script, env=ON_PATH), ("", "", 0))
    html, plain = json.load(open(t.file("shown.json")))
    t.equal("as text", plain, "<the page of %s>" % name)
    t.true("height", ' height="500" ' in html, html[:300])
    t.true("no more than the page itself", len(html) < 1.2 * (2 * os.path.getsize(profile) + 800_000), len(html))
    with Browser() as browser:
        address = notebook(t, html)
        browser.open(address)
        with browser.in_frame() as frame:
            frame.wait("document.getElementById('view')?.dataset.shows === 'summary'")
            want = t.report(profile)["sum"]["bytes"]
            t.equal("its numbers", frame.run('return (await tidemark.core.ask(["report", "--json"])).sum.bytes'), want)
            frame.run("document.querySelector('[data-view=table]').click()")
            frame.wait("document.getElementById('view').dataset.shows === 'table'")
            t.equal("the table", frame.run("return Number(document.getElementById('sum').dataset.value)"), want)
            t.equal("the command", frame.run("return document.getElementById('command').textContent"), "tidemark report " + name)
            frame.run("history.back()")
            frame.wait("document.getElementById('view').dataset.shows === 'summary'")
            t.equal("it cannot reach the notebook", frame.run("try { return parent.document.title } catch (e) { return e.name }"),
                    "SecurityError")
        t.equal("nothing is thrown", browser.complaints(), [])
        t.equal("nothing is requested", [url for url in browser.requested() if url != "about:srcdoc"], [address])


def test_show(t):
    """Two recordings, large pages, what is wrong; outside of notebooks the page is a file."""
    planted = t.build("planted.cpp", "-O1", *API)
    before, after = t.record(planted, "0"), t.record(planted, "1")
    script = program(t, "show.py", STAND_IN + """
from tidemark import _notebook
tidemark.show(%(before)r, %(after)r)
tidemark.show(%(before)r, embed=False)
_notebook.EMBEDDED_MOST = 1000
tidemark.show(%(after)r)
tidemark.show(%(after)r, embed=True)
tidemark.show(%(before)r, %(after)r, embed=False)
json.dump([[page.name, page.path, page.page and "tidemark-file-1" in page.page, page._repr_html_()] for page in shell.shown],
          open("shown.json", "w"))
print(wrong(tidemark.show))
print(wrong(tidemark.show, "missing.tide"))
print(wrong(tidemark.show, None, %(before)r))
print(wrong(tidemark.show, %(before)r, height=0))
""" % {"before": before, "after": after})
    out, err, status = t.plain(PYTHON, script, env=ON_PATH)
    t.equal("show", (err, status), ("", 0))
    shown = json.load(open(t.file("shown.json")))
    names = [os.path.basename(before), os.path.basename(after)]
    both, change = " and ".join(names), "%s-%s.html" % (before, names[1])
    t.equal("pages", [one[:3] for one in shown], [[both, None, True], [names[0], before + ".html", None],
                                                  [names[1], after + ".html", None], [names[1], None, False], [both, change, None]])
    said = "<p>The page of %s is %sin a file: <code>%s</code></p>"
    t.equal("a page that is no part of the notebook says why", [shown[i][3] for i in (1, 2, 4)], [
        said % (names[0], "", before + ".html"), said % (names[1], "too large for a cell, and ", after + ".html"),
        said % (both, "", change)])
    for path, recordings in ((before + ".html", 1), (after + ".html", 1), (change, 2)):
        page = open(path).read()
        t.equal("but a file", (page[:15], 1 + ("tidemark-file-1" in page)), ("<!doctype html>", recordings))
    t.equal("what is wrong", out.splitlines(), [
        "nothing is recorded yet: name a recording, as in tidemark.show('app.tide'), or put %%tidemark above a cell",
        "cannot open %s: No such file or directory" % t.file("missing.tide"), "a difference needs two recordings",
        "height is 0, which is not a number of pixels"])
    os.unlink(before + ".html")
    plain = t.plain(PYTHON, "-c", "import sys, tidemark; tidemark.show(sys.argv[1]); print('IPython' in sys.modules)", before,
                    env={**ON_PATH, "DISPLAY": "", "WAYLAND_DISPLAY": ""})
    t.equal("without a notebook", plain, (before + ".html\nFalse\n", "", 0))
    t.true("the file", os.path.exists(before + ".html"))


def test_show_so_far(t):
    """In a program that is recorded: what it has done up to then."""
    script = program(t, "show.py", STAND_IN + """
kept = bytearray(3000000)
tidemark.show()
open("page.html", "w").write(shell.shown[0].page)
""")
    t.record(PYTHON, script)
    with Browser() as browser:
        browser.open("file://" + t.file("page.html"))
        rows = browser.run('return (await tidemark.core.ask(["report", "--by", "line", "--json"])).rows')
    line = next(i for i, text in enumerate(open(script), 1) if text.startswith("kept"))
    found = [row["self_bytes"] for row in rows if row["file"] == script and row["line"] == line]
    t.true("its line", len(found) == 1 and 3000000 <= found[0] < 3100000, found)


def test_cells(t):
    """%%tidemark in a kernel that is not recorded: a process of its own, and its page. Its folder is no pattern."""
    os.mkdir(t.file("100%p"))
    seen, folder = ipython(t, r"""
seen = [cell("", "import sys\nprint('out')\nprint('err', file=sys.stderr)\nkept = bytearray(5000000)\n"),
        cell("--quiet -o mine.tide", "print('here' in globals(), __name__)"),
        cell("--quiet", "raise SystemExit(4)"),
        cell("--no-such-option", "print('ran')"), cell("10", "print('ran')")]
from tidemark import _notebook
seen = seen, _notebook.folder()
""", TMPDIR=t.file("100%p"))
    first, named, failing, wrong, number = seen
    t.equal("its output", first["out"], "out\n")
    apart = "tidemark: the cell runs in a Python process of its own, without the notebook's variables\n"
    t.true("where it runs", first["err"].startswith(apart) and "err\n" in first["err"], first["err"])
    t.equal("pages", [len(one["html"]) for one in seen], [1, 1, 1, 0, 0])
    t.equal("a script", (named["out"], named["err"]), ("False __main__\n", apart))
    t.equal("success", [one["success"] for one in seen], [True, True, False, False, False])
    t.equal("why not", [one["out"] for one in seen[2:]], [
        "%%tidemark: the cell ended with status 4\n", "%%tidemark: tidemark run ended with status 2\n",
        "%%tidemark: '10' is not an option of tidemark run; this kernel is not recorded\n"])
    t.true("what is wrong", "unknown option '--no-such-option'" in wrong["err"], wrong["err"])
    t.equal("the recording that was named", t.report(t.file("mine.tide"))["exit_code"], 0)
    t.true("the others are gone", not os.path.exists(folder), folder)
    with Browser() as browser:
        browser.open(notebook(t, *first["html"]))
        with browser.in_frame() as frame:
            rows = frame.run('return (await tidemark.core.ask(["report", "--metric", "peak", "--by", "line", "--json"])).rows')
    found = [row["self_bytes"] for row in rows if (row["file"] or "").endswith("/cell-1.py") and row["line"] == 4]
    t.true("its line", len(found) == 1 and 5000000 <= found[0] < 5100000, found)


def test_cells_with_named_recordings(t):
    """Names of files with what `tidemark run` fills in, and commands; with the summary or without."""
    os.mkdir(t.file("there"))
    for name in ("x.1.tide", "50%.tide"):
        program(t, name, "not of the cell")
    seen, last = ipython(t, r"""
seen = [cell("-o 'x.%p.tide'", "kept = 1"), cell("--quiet -o 'x.%p.tide'", "kept = 2"), cell("-ofirst.tide -o '%q{PLACE}/%n.tide'", "pass"),
        cell("--quiet -o '50%%.tide'", "pass"), cell("--quiet --snapshot-every 0.1s -o 'often.%p.tide'", "import time\ntime.sleep(0.5)"),
        cell("--quiet -o '|cat > piped.tide'", "pass"), cell("--quiet -o '|exit 1'", "pass")]
from tidemark import _notebook
seen = seen, _notebook.last
""", PLACE="there")
    found = [re.findall('title="tidemark: ([^"]*)"', "".join(one["html"])) for one in seen]
    t.equal("x.%p.tide", [bool(re.match(r"^x\.[0-9]+\.tide$", "".join(one))) for one in found[:2]], [True, True])
    t.equal("those of the cells", sorted(["x.1.tide"] + found[0] + found[1]), sorted(os.path.basename(p) for p in glob.glob(t.file("x.*"))))
    t.equal("others", found[2:4], [["python3.tide"], ["50%.tide"]])
    t.true("the last -o holds", os.path.exists(t.file("there/python3.tide")) and not os.path.exists(t.file("first.tide")))
    t.true("there are snapshots too", glob.glob(t.file("often.*.snapshot*.tide")))
    t.equal("the recording, no snapshot", [bool(re.match(r"^often\.[0-9]+\.tide$", one)) for one in found[4]], [True])
    t.equal("where it is, wherever the kernel goes", last, t.file(found[4][0]))
    t.equal("a command's page", found[5:], [[], []])
    t.equal("the command had it", t.report(t.file("piped.tide"))["exit_code"], 0)
    t.true("is told", seen[5]["err"].endswith("\ntidemark: the recording went to a command, so its page is not shown\n"), seen[5]["err"])
    t.true("nothing says that there is none", not any("there is no recording" in one["err"] for one in seen), seen)


def test_failing_cells(t):
    """A cell that fails stops what follows, in either kind of kernel; its page is shown all the same."""
    text = r"""
seen = [cell("0" if recorded else "--quiet", "raise ValueError('wrong')"), cell("0" if recorded else "--quiet", "x = 1")]
"""
    seen = ipython(t, "recorded = False" + text)
    t.equal("success", [one["success"] for one in seen], [False, True])
    t.true("its traceback", "ValueError: wrong\n" in seen[0]["err"], seen[0]["err"])
    t.equal("why", seen[0]["out"], "%%tidemark: the cell ended with status 1\n")
    t.equal("pages", [len(one["html"]) for one in seen], [1, 1])
    script = program(t, "cells.py", IPYTHON + "recorded = True" + text + 'json.dump(seen, open("seen.json", "w"))\n')
    t.record(PYTHON, script, env={"IPYTHONDIR": t.dir, "HOME": t.dir, **ON_PATH})
    seen = json.load(open(t.file("seen.json")))
    t.equal("success where it is recorded", [one["success"] for one in seen], [False, True])
    t.true("its figures", re.search(r"tidemark: .* at its highest", seen[0]["out"]), seen[0]["out"])


def test_interrupted_cell(t):
    """It ends with what it started, and is recorded up to then. It ends with the kernel too."""
    cell = r"""import os, subprocess, sys, time
pids = [os.getpid()]
%(more)s
open("pids", "w").write(" ".join(map(str, pids)))
print("begun", end="\r", flush=True)
try:
    time.sleep(1000)
finally:
    print("cleaned up")
"""
    text = r"""
import os, signal, threading, time
from tidemark import _notebook
_notebook.WAIT_S = 60  # the first signal does, on a busy machine too
limit = time.monotonic() + 60
def act():
    while "begun\r" not in getattr(sys.stdout, "getvalue", str)() and time.monotonic() < limit:  # there before its line ends
        time.sleep(0.05)
    os.kill(os.getpid(), signal.%(number)s)
threading.Thread(target=act, daemon=True).start()
seen = cell("--quiet -o cut.tide", %(cell)r)
"""
    with_child = cell % {"more": "pids.append(subprocess.Popen(['sleep', '1000']).pid)"}
    seen = ipython(t, text % {"number": "SIGINT", "cell": with_child})
    t.equal("what it says", (seen["out"], seen["success"]), ("begun\rcleaned up\n%%tidemark: the cell was interrupted\n", False))
    t.equal("its page", len(seen["html"]), 1)
    t.equal("the recording", t.report(t.file("cut.tide"))["signal"], 2)
    t.equal("what it started has ended", still_there(t), [])
    os.unlink(t.file("pids"))
    script = program(t, "cells.py", IPYTHON + text % {"number": "SIGKILL", "cell": cell % {"more": ""}})
    t.equal("a kernel that is killed", t.plain(PYTHON, script, env={"IPYTHONDIR": t.dir, "HOME": t.dir, **ON_PATH})[2], 128 + 9)
    t.equal("its cell has ended", still_there(t), [])


def still_there(t):
    """Which processes of the file `pids` do not end."""
    pids = [int(word) for word in open(t.file("pids")).read().split()]
    limit = time.monotonic() + 60
    while any(map(runs, pids)) and time.monotonic() < limit:
        time.sleep(0.05)
    return [pid for pid in pids if runs(pid)]


def runs(pid):
    try:
        return open("/proc/%d/stat" % pid).read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_ipython_in_a_terminal(t):
    """It cannot show a page, so the page is a file, as without IPython."""
    profile = t.record(PYTHON, "-c", "kept = 1")
    script = program(t, "show.py", """
from IPython.terminal.interactiveshell import TerminalInteractiveShell
shell = TerminalInteractiveShell.instance(simple_prompt=True, term_title=False)
done = shell.run_cell("import tidemark; tidemark.show(%r)")
assert done.success
""" % profile)
    shown = t.plain(PYTHON, script, env={"IPYTHONDIR": t.dir, "HOME": t.dir, "DISPLAY": "", "WAYLAND_DISPLAY": "", **ON_PATH})
    t.equal("its path", (shown[0], shown[2]), (profile + ".html\n", 0))
    t.equal("the file", open(profile + ".html").read(15), "<!doctype html>")
