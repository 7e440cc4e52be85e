"""Which folder of src/ may include from which: dependencies point one way."""
import glob
import os
import re

from harness import ROOT

BELOW_COLLECT = {"base", "wire", "store", "symbol", "unwind", "machine"}
MACHINES = ("x86_64", "aarch64")  # src/arch/MACHINE/machine is "machine" to those who include it
MAY_INCLUDE = {
    "base": set(),
    "machine": set(),
    "arch": {"machine", "unwind", "record", "wire"},  # its C files implement what these headers declare
    "wire": {"machine"},
    "unwind": {"wire", "machine"},
    "record": {"wire", "unwind", "machine"},
    "store": {"base"},
    "symbol": {"base"},
    "collect/proc": BELOW_COLLECT,
    "collect/naming": BELOW_COLLECT | {"collect/proc"},
    "collect/counting": BELOW_COLLECT | {"collect/proc", "collect/naming"},
    "collect/resident": BELOW_COLLECT | {"collect/proc", "collect/counting"},
    "collect/leakscan": BELOW_COLLECT | {"collect/proc", "collect/counting", "collect/resident"},
    "collect/attach": BELOW_COLLECT | {"collect/proc", "collect/leakscan"},
    "collect/sampling": BELOW_COLLECT | {"collect/proc", "collect/naming", "collect/counting"},
    "collect/session": BELOW_COLLECT | {"collect/" + f for f in ("proc", "naming", "counting", "resident", "leakscan", "sampling", "attach")},
    "model": {"base", "store"},
    "analyse": {"base", "store", "model", "symbol"},
    "answer": {"base", "store", "model", "analyse"},
    "export": {"base", "store", "model", "analyse", "answer"},
    "import": {"base", "store", "symbol", "collect/counting"},
    "view": {"base", "store", "model", "analyse"},
    "view/absent": {"view"},
    "view/core": {"base", "store", "answer", "cli"},  # the commands, compiled for the page
    "cli": {"base", "wire", "machine", "store", "symbol", "collect/session", "collect/counting", "collect/sampling", "collect/proc", "collect/attach", "model",
            "analyse", "answer", "export", "import", "view"},
    "mpi": {"base", "store", "collect/session", "model", "cli"},  # a program of its own
}
NOT_HERE = {"no_page.c"}  # it is for builds without the viewer
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)


WEAK = re.compile(r"\batomic_\w+_explicit\(\s*&?\s*((?:\([^()]*\)|\[[^][]*\]|[^,()])*(?:\((?:[^()]|\([^()]*\))*\))?)\s*,")


def sources():
    return sorted(glob.glob(os.path.join(ROOT, "src", "**", "*.[ch]"), recursive=True))


def test_includes_point_one_way(t):
    for path in sources():
        name = os.path.relpath(path, os.path.join(ROOT, "src"))
        folder = re.sub("^arch/(?:%s)(/machine)?$" % "|".join(MACHINES), lambda m: "machine" if m[1] else "arch", os.path.dirname(name))
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
            elif os.path.dirname(other) not in MAY_INCLUDE[folder] | {folder}:
                t.failures.append("%s: %s may not include %s" % (name, folder, other))


def test_every_source_is_built(t):
    """meson.build lists files by pattern when it is configured (scripts/configure.sh): a file that came later is noticed here."""
    with open(os.path.join(os.path.dirname(t.tidemark), "build.ninja"), errors="replace") as text:
        built = set(re.findall(r"\b((?:src|tests/unit)/[\w/]+\.c)\b", text.read()))
    others = re.compile("/(?:%s)/" % "|".join(m for m in MACHINES if m != os.uname().machine))
    wanted = [os.path.relpath(path, ROOT)
              for path in sources() + glob.glob(os.path.join(ROOT, "tests", "unit", "**", "*.c"), recursive=True)
              if path.endswith(".c") and os.path.basename(path) not in NOT_HERE and not others.search(path)]
    t.equal("not in the build: run scripts/configure.sh", [path for path in wanted if path not in built], [])


def test_machines_have_folders_of_their_own(t):
    """The same headers for each, and no question for the machine anywhere else."""
    for machine in MACHINES:
        for folder in (("machine",), ()):
            names = [sorted(f for f in os.listdir(os.path.join(ROOT, "src", "arch", m, *folder)) if f[-2:] in (".c", ".h"))
                     for m in (machine, MACHINES[0])]
            t.equal("/".join(("files of", machine, *folder)), names[0], names[1])
    asks = re.compile(r"__(x86_64|amd64|i386|aarch64|arm|ARM_\w+)(__)?\b")
    for path in sources():
        name = os.path.relpath(path, os.path.join(ROOT, "src"))
        with open(path, errors="replace") as text:
            if not name.startswith("arch/") and asks.search(text.read()):
                t.failures.append("%s asks for the machine" % name)


def test_files_are_short_and_say_things_once(t):
    check = os.path.join(ROOT, "scripts", "check_sources.py")
    t.equal("what it finds in this tree", t.plain(check), ("", "", 0))
    names = [t.file(name) for name in ("long.c", "a.c", "b.c")]
    for name, lines in zip(names, (601, 6, 6)):
        with open(name, "w") as out:
            out.writelines("int %s_%d;\n" % ("long" if lines > 6 else "same", i) for i in range(lines))
    stdout, _, status = t.plain(check, *names)
    t.equal("what it says", (stdout.split("\n"), status),
            (["%s has 601 lines; 600 is the most" % names[0], "%s:1 and %s:1 have 6 or more equal lines" % tuple(names[1:]), ""], 1))


def test_weak_atomics_are_explained(t):
    """What is weaker than seq_cst has its reason in docs/internals/memory_order.md, by its name."""
    with open(os.path.join(ROOT, "docs", "internals", "memory_order.md")) as text:
        names = re.findall(r"`([^`\n]+)`", text.read())
    explained = set(word for name in names for word in re.findall(r"\w+", name))
    found = set()
    for path in sources():
        with open(path, errors="replace") as text:
            for place in WEAK.findall(text.read()):
                name = re.findall(r"\w+", re.sub(r"\[[^][]*\]|(?<=\w)\(.*\)$", "", place))[-1]
                found.add(name)
                if name not in explained:
                    t.failures.append("%s: %s is accessed by an atomic operation that memory_order.md does not explain"
                                      % (os.path.relpath(path, ROOT), name))
    t.true("they were found", {"written", "accounts_end", "SAMPLE_FILTER_OF"} <= found, sorted(found))


def test_there_is_something_to_check(t):
    t.true("sources", len(sources()) > 20, len(sources()))
