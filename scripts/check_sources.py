#!/usr/bin/env python3
"""Source files with more than LINES lines, lines of src and include with more than COLUMNS columns (clang-format leaves
comments as they are), code that stands twice, and system calls that older headers lack: scripts/check_sources.py [FILE...]

Without files, all of this tree. A run of SAME or more equal lines in two places is a duplicate; white
space, blank lines, comments, includes and lines of punctuation do not count. Prints one line for each; exits 1 if any."""
import os
import platform
import re
import subprocess
import sys

LINES = 600
COLUMNS = 100
SAME = 6
FOLDERS = ("bench", "bindings", "examples", "include", "scripts", "src", "tests")
ENDINGS = (".c", ".h", ".cpp", ".py", ".js", ".sh")
COMMENTS = re.compile(r"/\*.*?\*/", re.DOTALL)
LEFT_OUT = re.compile(r"^(//.*|#(?!define).*|import .*|from .* import .*|(0x[0-9a-fA-F]+|[\W\d])*)$")  # also includes, numbers, brackets

# The last system call that the headers of glibc 2.27 know, which `make tarball` builds with.
LAST_CALL = {"x86_64": 332, "aarch64": 291}
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
OLDER = "src/base/older_libc.h"  # defines those that are missing


def source_files():
    os.chdir(ROOT)
    return sorted(os.path.join(folder, name) for top in FOLDERS for folder, _, names in os.walk(top) for name in names
                  if name.endswith(ENDINGS) and not folder.startswith("bench/out"))  # what benchmarks make


def code_lines(text):
    """[(number, line)] of what counts."""
    text = COMMENTS.sub(lambda comment: "\n" * comment.group().count("\n"), text)
    lines = ((number, " ".join(line.split())) for number, line in enumerate(text.split("\n"), 1))
    return [(number, line) for number, line in lines if not LEFT_OUT.match(line)]


def duplicates(files):
    """Of each run that stands twice: where it begins, first and again."""
    seen = {}  # SAME lines -> (file, place in it)
    for name, text in files.items():
        lines = code_lines(text)
        last = None  # what the run before this one equals
        for i in range(len(lines) - SAME + 1):
            run = tuple(line for _, line in lines[i:i + SAME])
            first = seen.setdefault(run, (name, i, lines[i][0]))
            if first[:2] == (name, i):
                last = None
                continue
            if last != (first[0], first[1] - 1):  # else it is the longer run that was told
                yield "%s:%d" % (first[0], first[2]), "%s:%d" % (name, lines[i][0])
            last = first[:2]


def missing_calls(files):
    """Names of system calls that a file uses and older headers lack: the file must ask for them or include OLDER."""
    names = subprocess.run(["cc", "-dM", "-E", "-include", "sys/syscall.h", "-x", "c", os.devnull], stdout=subprocess.PIPE, check=True, text=True).stdout
    newer = {name for name, number in re.findall(r"#define __NR_(\w+) (\d+)", names) if int(number) > LAST_CALL[platform.machine()]}
    with open(os.path.join(ROOT, OLDER), encoding="utf-8") as file:
        defined = set(re.findall(r"#define SYS_(\w+)", file.read()))
    for name, text in files.items():
        if not name.startswith("src/") or name == OLDER:
            continue
        asked = set(re.findall(r"#if.*\bSYS_(\w+)", text)) | (defined if '"base/older_libc.h"' in text else set())
        for call in sorted(newer & set(re.findall(r"\bSYS_(\w+)", text)) - asked):
            yield "%s uses SYS_%s, which the headers of glibc 2.27 lack; see %s" % (name, call, OLDER)


def main():
    files = {}
    for name in sys.argv[1:] or source_files():
        with open(name, encoding="utf-8") as file:
            files[name] = file.read()
    said = ["%s has %d lines; %d is the most" % (name, text.count("\n"), LINES) for name, text in files.items() if text.count("\n") > LINES]
    said += ["%s:%d has %d columns; %d is the most" % (name, number, len(line), COLUMNS) for name, text in files.items()
             if name.startswith(("src/", "include/")) and name.endswith((".c", ".h"))
             for number, line in enumerate(text.split("\n"), 1) if len(line) > COLUMNS]
    said += ["%s and %s have %d or more equal lines" % (*places, SAME) for places in duplicates(files)]
    said += missing_calls(files)
    print("\n".join(said), end="\n" if said else "")
    return 1 if said else 0


if __name__ == "__main__":
    sys.exit(main())
