"""What is installed works from any folder, and what is built runs with an older glibc."""
import os
import re
import shutil
import subprocess
import sys

from harness import ROOT

# What is newer than glibc 2.27 only by its version, or by the headers that it was compiled with: an older glibc has the
# same under another version, in another library or in libc_nonshared.a.
SAME_IN_OLDER = re.compile(r"""^(
    __libc_start_main | __isoc23_\w+ | fcntl64 | pow | log2? | exp2? | powf | log2?f | exp2?f |
    (f|l)?stat(at)?(64)? | mknod(at)? | dl(open|sym|vsym|close|error|addr|info) | pthread_\w+ | sem_\w+ | __pthread_\w+
    )$""", re.VERBOSE)


def installed(t):
    """A tree as `meson install` makes it, moved to another folder."""
    build = os.path.dirname(t.tidemark)
    done = subprocess.run(["meson", "install", "-C", build, "--no-rebuild", "--quiet", "--destdir", t.file("first")],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    t.equal("meson install (%s)" % done.stdout[-300:], done.returncode, 0)
    prefix = t.file("first")
    while "bin" not in os.listdir(prefix):  # usr/local, say
        prefix = os.path.join(prefix, os.listdir(prefix)[0])
    os.rename(prefix, t.file("moved"))
    shutil.rmtree(t.file("first"))
    return t.file("moved")


def found(folder, name):
    return [os.path.join(where, name) for where, _, names in os.walk(folder) if name in names]


def test_an_installed_tree_runs_from_anywhere(t):
    tree = installed(t)
    t.tidemark = os.path.join(tree, "bin", "tidemark")
    code = "import ctypes, tidemark; [ctypes.CDLL(None).malloc(4321) for i in range(100)]; tidemark.mark(tidemark.__file__[-40:])"
    profile = t.record("/usr/bin/python3", "-c", code)
    live = t.report(profile, "live", "--by", "stack")
    t.equal("blocks", [row["count"] for row in live["rows"] if row["bytes"] == 432100], [100])
    labels = [mark["label"] for mark in t.ask(profile, "marks")["marks"]]
    t.equal("the module is that of the tree", labels, [found(tree, "__init__.py")[0][-40:]])
    doctor = "".join(t.run("doctor")[0].split())  # long lines are wrapped
    t.true("doctor names the library of the tree", found(tree, "libtidemark.so")[0] in doctor, doctor[:500])
    # A link to it, as in a folder on PATH.
    os.mkdir(t.file("bin"))
    os.symlink(t.tidemark, t.file("bin/tidemark"))
    t.tidemark = t.file("bin/tidemark")
    t.true("by a link", t.report(t.record("/bin/ls"))["totals"]["allocations"] > 10)


def test_what_belongs_to_an_installation(t):
    tree = installed(t)
    for name in ("tidemark.1", "tidemark-run.1", "tidemark-format.5", "tidemark.h", "tidemark.pc", "tidemark.f90", "_tidemark",
                 "tidemark.fish", "pytest_plugin.py"):
        t.equal("files called " + name, len(found(tree, name)), 1)
    t.true("for bash", os.path.exists(os.path.join(tree, "share/bash-completion/completions/tidemark")))
    t.equal("rests of Python", found(tree, "__pycache__"), [])
    pc = found(tree, "tidemark.pc")[0]
    with open(t.file("uses.c"), "w") as out:
        out.write("#include <tidemark.h>\nint main(void) { tide_mark(\"installed\"); return 0; }\n")
    flags = t.plain("pkg-config", "--define-variable=prefix=" + tree, "--cflags", "--libs", pc)[0].split()
    t.plain("cc", t.file("uses.c"), *flags, "-o", t.file("uses"))
    t.equal("compiles (%s)" % t.stderr, t.status, 0)
    t.equal("marks", [mark["label"] for mark in t.ask(t.record(t.file("uses")), "marks")["marks"]], ["installed"])


def test_a_folder_that_cannot_be_preloaded_from(t):
    os.mkdir(t.file("a folder"))
    for path in (t.tidemark, t.library):
        shutil.copy(path, t.file("a folder"))
    t.tidemark = t.file("a folder/tidemark")
    _, stderr, status = t.run("run", "/bin/true")
    t.equal("status", status, 125)
    t.equal("lines", len(stderr.splitlines()), 1)
    t.true("says why", "has a space or a colon" in stderr, stderr)


def test_nothing_newer_than_the_oldest_glibc(t):
    """The portable build would not link: here it is seen without one."""
    text = subprocess.run(["objdump", "-T", t.tidemark], check=True, stdout=subprocess.PIPE, text=True).stdout
    symbols = re.findall(r"\(GLIBC_2\.(\d+)[0-9.]*\)\s+(\S+)$", text, re.MULTILINE)
    t.true("symbols", len(symbols) > 100, len(symbols))
    t.equal("newer than 2.27", sorted(name for version, name in symbols
                                      if int(version) > 27 and not SAME_IN_OLDER.match(name)), [])


def test_check_portable(t):
    """It finds a file that needs more, and says which symbol is to blame."""
    with open(t.file("newer.c"), "w") as out:
        out.write("#define _GNU_SOURCE\n#include <unistd.h>\nint main(void) { return gettid() == 0; }\n")
    os.mkdir(t.file("tree"))
    t.plain("cc", t.file("newer.c"), "-o", t.file("tree/newer"))
    check = os.path.join(ROOT, "scripts", "check_portable.py")
    _, stderr, status = t.plain(sys.executable, check, t.file("tree"))
    t.equal("status", status, 1)
    t.true("gettid is named", "needs GLIBC_2.30 for gettid" in stderr, stderr)
    os.remove(t.file("tree/newer"))
    shutil.copy(t.library, t.file("tree"))
    stdout, stderr, status = t.plain(sys.executable, check, t.file("tree"))
    t.equal("the recorder", (stdout, stderr, status), ("libtidemark.so: GLIBC_2.17\n", "", 0))
