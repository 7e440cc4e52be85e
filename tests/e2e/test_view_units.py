"""The modules of the viewer's page that draw nothing, tested by node; their numbers against the command line's."""
import os
import re
import shutil
import subprocess

from harness import ROOT

PAGE = os.path.join(ROOT, "src", "view", "page")


def modules(t):
    """A folder with the page's modules and their tests, where node takes them for modules."""
    folder = t.file("modules")
    os.mkdir(folder)
    for source in (PAGE, os.path.join(ROOT, "tests", "view")):
        for name in os.listdir(source):
            if name.endswith(".js"):
                shutil.copy(os.path.join(source, name), folder)
    with open(os.path.join(folder, "package.json"), "w") as out:
        out.write('{"type": "module"}')
    return folder


def test_units(t):
    folder = modules(t)
    files = sorted(name for name in os.listdir(folder) if name.startswith("test_"))
    t.true("there are tests", len(files) >= 3, files)
    done = subprocess.run(["node", "--test", *files], cwd=folder, capture_output=True, text=True)
    t.equal("status", done.returncode, 0)
    t.true("all pass", re.search(r"^# fail 0$", done.stdout, re.MULTILINE), done.stdout[-3000:] + done.stderr[-500:])


def test_numbers_read_as_on_the_command_line(t):
    """bytes() and count() of the page against the text of a report whose rows have those numbers."""
    profile = t.record(t.build("sizes_to_format.c", "-O0"))
    answer = t.report(profile)
    text = t.run("report", profile, "--top", "0", "--min", "0")[0]
    folder = modules(t)
    script = ('import {bytes, count} from "./format.js";\n'
              "for (const n of process.argv.slice(2)) console.log(bytes(Number(n)) + '|' + count(Number(n)));")
    with open(os.path.join(folder, "ask.js"), "w") as out:
        out.write(script)
    rows = [row for row in answer["rows"] if row["name"].startswith("take_")]
    t.true("there are many sizes", len(rows) >= 8, len(rows))
    numbers = [str(row["self_bytes"]) for row in rows]
    done = subprocess.run(["node", "ask.js", *numbers], cwd=folder, capture_output=True, text=True, check=True)
    for row, line in zip(rows, done.stdout.splitlines()):
        printed = next(one for one in text.splitlines() if row["name"] in one)
        t.true("%d reads %s" % (row["self_bytes"], line.split("|")[0]), printed.strip().startswith(line.split("|")[0] + " "), printed)


def test_modules_are_small(t):
    for name in sorted(os.listdir(PAGE)):
        with open(os.path.join(PAGE, name)) as file:
            text = file.read()
        t.true("%s has fewer than 400 lines" % name, not name.endswith(".js") or text.count("\n") < 400, text.count("\n"))
        t.equal("%s sets no markup" % name, re.findall(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(", text), [])
