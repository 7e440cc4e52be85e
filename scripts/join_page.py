#!/usr/bin/env python3
"""Joins the viewer's page, its scripts and its core into one template.

    join_page.py --folder src/view/page --core core.wasm --output page.html [--depfile page.d]

The scripts are ECMAScript modules that import each other by name from the same folder. There are two
programs: main.js with everything it imports, and worker.js with everything it imports. Joining means: the
modules of a program in the order in which they need each other, in one scope, without the words `import` and
`export`. So two modules of a program may not declare the same name, and that is checked here.

page.html says where things go, each on its own line:
    <!-- tidemark:policy -->   stays: tidemark view writes the Content-Security-Policy there (with @SCRIPT@)
    <!-- tidemark:style -->    page.css
    <!-- tidemark:data -->     stays: tidemark view writes the recordings there; the core comes before it
    <!-- tidemark:script -->   the scripts
"""
import argparse
import base64
import gzip
import hashlib
import os
import re
import sys

IMPORT = re.compile(r'^import\s+(?:[^;"]*\s+from\s+)?"\./([\w-]+)\.js";[ \t]*\n', re.MULTILINE)
EXPORT = re.compile(r"^export\s+(?=(?:async\s+function|function|class|const|let)\b)", re.MULTILINE)
DECLARED = re.compile(r"^(?:async\s+function\s*\*?|function\s*\*?|class|const|let)\s+([\w$]+)", re.MULTILINE)


def fail(text):
    sys.exit("join_page.py: " + text)


class Joiner:
    def __init__(self, folder):
        self.folder = folder
        self.read = []

    def text(self, name):
        path = os.path.join(self.folder, name)
        if path not in self.read:
            self.read.append(path)
        with open(path, encoding="utf-8") as file:
            return file.read()

    def program(self, entry):
        """The modules of a program, joined."""
        parts, state, names = [], {}, {}

        def take(name, wanted_by):
            if state.get(name) == "done":
                return
            if state.get(name) == "open":
                fail("%s.js and %s.js import each other" % (wanted_by, name))
            state[name] = "open"
            text = self.text(name + ".js")
            for other in IMPORT.findall(text):
                take(other, name)
            state[name] = "done"
            text = EXPORT.sub("", IMPORT.sub("", text))
            if re.search(r"^(import|export)\b", text, re.MULTILINE):
                fail("%s.js: only `import {a} from \"./b.js\";` and `export` before a declaration are known" % name)
            for declared in DECLARED.findall(text):
                if names.setdefault(declared, name) != name:
                    fail("%s.js and %s.js both declare %s" % (names[declared], name, declared))
            parts.append("// %s.js\n%s" % (name, text))

        take(entry, entry)
        joined = '"use strict";\n(() => {\n%s})();\n' % "\n".join(parts)
        if "</script" in joined.lower() or "<!--" in joined:
            fail("a script contains </script or <!--, which would end it in the page")
        return joined


def main():
    options = argparse.ArgumentParser()
    for name in ("--folder", "--core", "--output", "--depfile"):
        options.add_argument(name, required=name != "--depfile")
    given = options.parse_args()
    join = Joiner(given.folder)
    script = "\n" + join.program("main")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    with open(given.core, "rb") as file:
        core = base64.b64encode(gzip.compress(file.read(), 9, mtime=0)).decode()
    places = {
        "policy": "<!-- tidemark:policy sha256-%s -->" % digest,
        "style": "<style>\n%s</style>" % join.text("page.css"),
        "data": '<script type="text/plain" id="tidemark-worker">\n%s</script>\n'
                '<script type="text/plain" class="tidemark-core">%s</script>\n'
                "<!-- tidemark:data -->" % (join.program("worker"), core),
        "script": "<script>%s</script>" % script,
    }
    page = join.text("page.html")
    for name, content in places.items():
        place = "<!-- tidemark:%s -->" % name
        if page.count(place) != 1:
            fail("page.html must hold %s once" % place)
        page = page.replace(place, content)
    with open(given.output, "w", encoding="utf-8") as out:
        out.write(page)
    if given.depfile:
        with open(given.depfile, "w") as out:
            out.write("%s: %s %s\n" % (given.output, os.path.abspath(__file__),
                                       " ".join(os.path.abspath(path) for path in join.read)))


main()
