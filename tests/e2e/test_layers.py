"""Which folder of src/ may include from which: dependencies point one way."""
import glob
import os
import re

from harness import ROOT

MAY_INCLUDE = {
    "base": set(),
    "wire": set(),
    "unwind": {"wire"},
    "record": {"wire", "unwind"},
    "store": {"base"},
    "symbol": {"base"},
    "collect": {"base", "wire", "store", "symbol", "unwind"},
    "model": {"base", "store"},
    "analyse": {"base", "store", "model", "symbol"},
    "report": {"base", "store", "model", "analyse"},
    "export": {"base", "store", "model", "analyse", "report"},
    "view": {"base", "store", "model", "analyse"},
    "view/core": {"base", "store", "report", "cli"},  # the commands, compiled for the page
    "cli": {"base", "wire", "store", "symbol", "collect", "model", "analyse", "report", "export", "view"},
}
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)


def sources():
    return sorted(glob.glob(os.path.join(ROOT, "src", "**", "*.[ch]"), recursive=True))


def test_includes_point_one_way(t):
    for path in sources():
        name = os.path.relpath(path, os.path.join(ROOT, "src"))
        folder = "view/core" if name.startswith("view/core/") else name.split(os.sep)[0]
        if folder not in MAY_INCLUDE:
            t.failures.append("%s: %s is no folder that the table in test_layers.py knows" % (name, folder))
            continue
        with open(path, errors="replace") as text:
            included = INCLUDE.findall(text.read())
        for other in included:
            if other == "tidemark.h":  # the public header, for those who implement it
                continue
            if "/" not in other:
                t.failures.append('%s: "%s" is to be written with its folder' % (name, other))
            elif other.split("/")[0] not in MAY_INCLUDE[folder] | {folder}:
                t.failures.append("%s: %s may not include %s" % (name, folder, other))


def test_there_is_something_to_check(t):
    t.true("sources", len(sources()) > 20, len(sources()))
