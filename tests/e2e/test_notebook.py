"""tidemark.show() and %%tidemark: pages in notebooks, by IPython itself and by a stand-in for it."""
import json
import os

from browser import Browser
from harness import ROOT

PYTHON = "/usr/bin/python3"
ON_PATH = {"PYTHONPATH": os.path.join(ROOT, "bindings", "python")}
API = ("-I", os.path.join(ROOT, "include"))

# What the module uses of IPython. What is displayed is written down.
STAND_IN = """
import json, sys, types

class Shell:
    magics, shown = {}, []
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

IPYTHON = """
import json, sys
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
shell = InteractiveShell.instance()
shell.run_line_magic("load_ext", "tidemark")
shell.run_cell("here = 7")
def cell(line, text):
    with capture_output() as got:
        shell.run_cell_magic("tidemark", line, text)
    return {"out": got.stdout, "err": got.stderr, "html": [o.data["text/html"] for o in got.outputs]}
"""


def program(t, name, text):
    path = t.file(name)
    with open(path, "w") as out:
        out.write(text)
    return path


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
    with Browser(t.dir) as browser:
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
json.dump([[page.name, page.path, page.page and "tidemark-file-1" in page.page, len(page._repr_html_())] for page in shell.shown],
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
    t.equal("pages", [one[:3] for one in shown], [[names[1], None, True], [names[0], before + ".html", None],
                                                  [names[1], after + ".html", None], [names[1], None, False]])
    t.true("a large page is no part of the notebook", all(one[3] < 1000 for one in shown[1:3]), shown)
    for path in (before, after):
        t.equal("but a file", open(path + ".html").read(15), "<!doctype html>")
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
    with Browser(t.dir) as browser:
        browser.open("file://" + t.file("page.html"))
        rows = browser.run('return (await tidemark.core.ask(["report", "--by", "line", "--json"])).rows')
    line = next(i for i, text in enumerate(open(script), 1) if text.startswith("kept"))
    found = [row["self_bytes"] for row in rows if row["file"] == script and row["line"] == line]
    t.true("its line", len(found) == 1 and 3000000 <= found[0] < 3100000, found)


def test_cells(t):
    """%%tidemark in a kernel that is not recorded: a process of its own, and its page."""
    script = program(t, "cells.py", IPYTHON + r"""
seen = [cell("", "import sys\nprint('out')\nprint('err', file=sys.stderr)\nkept = bytearray(5000000)\n"),
        cell("--quiet -o mine.tide", "print('here' in globals(), __name__)"),
        cell("--quiet", "raise SystemExit(4)"),
        cell("--no-such-option", "print('ran')"), cell("10", "print('ran')")]
from tidemark import _notebook
json.dump([seen, _notebook.folder()], open("seen.json", "w"))
""")
    out, err, status = t.plain(PYTHON, script, env={"IPYTHONDIR": t.dir, "HOME": t.dir, **ON_PATH})
    t.equal("IPython: " + err, (out, status), ("", 0))
    seen, folder = json.load(open(t.file("seen.json")))
    first, named, failing, wrong, number = seen
    t.equal("its output", first["out"], "out\n")
    apart = "tidemark: the cell runs in a Python process of its own, without the notebook's variables\n"
    t.true("where it runs", first["err"].startswith(apart) and "err\n" in first["err"], first["err"])
    t.equal("pages", [len(one["html"]) for one in seen], [1, 1, 1, 0, 0])
    t.equal("a script", (named["out"], named["err"]), ("False __main__\n", apart))
    t.equal("no output", (failing["out"], wrong["out"], number["out"]), ("", "", ""))
    t.true("what is wrong", "unknown option '--no-such-option'" in wrong["err"], wrong["err"])
    t.true("a number", "'10' is not an option of tidemark run; this kernel is not recorded" in number["err"], number["err"])
    t.equal("the recording that was named", t.report(t.file("mine.tide"))["exit_code"], 0)
    t.true("the others are gone", not os.path.exists(folder), folder)
    with Browser(t.dir) as browser:
        browser.open(notebook(t, *first["html"]))
        with browser.in_frame() as frame:
            rows = frame.run('return (await tidemark.core.ask(["report", "--metric", "peak", "--by", "line", "--json"])).rows')
    found = [row["self_bytes"] for row in rows if (row["file"] or "").endswith("/cell-1.py") and row["line"] == 4]
    t.true("its line", len(found) == 1 and 5000000 <= found[0] < 5100000, found)
