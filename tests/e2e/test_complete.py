"""Completion: what `tidemark __complete` offers, and that bash, zsh and fish show it."""
import json
import os
import pty
import re
import select
import shutil
import subprocess
import time

from harness import ROOT, cases

SCRIPTS = os.path.join(ROOT, "packaging", "completions")
SHELLS = ("bash", "zsh", "fish")


def offered(t, *words):
    """(kind, {word: description})"""
    lines = t.run("__complete", *words)[0].splitlines()
    return (lines[0] if lines else None), dict((line + "\t").split("\t")[:2] for line in lines[1:])


def marked(t):
    return t.record(t.build("marks.c", "-O1", "-I", os.path.join(ROOT, "include")))


def marks(t, profile):
    return json.loads(t.run("marks", profile, "--json")[0])["marks"]


def commands(t):
    return re.findall(r"^  ([a-z]+) +\S", t.run("--help")[0].split("\nExamples:")[0], re.MULTILINE)


def test_commands(t):
    kind, words = offered(t, "")
    t.equal("kind", kind, "words")
    t.equal("commands", set(words), {*commands(t), "--help", "--version"})
    t.equal("those that begin so", set(offered(t, "th")[1]), {"threads"})
    t.true("a description", words["leaks"].startswith("what was never freed"), words["leaks"])


def test_every_option_that_is_offered_is_taken(t):
    checked = 0
    for command in commands(t):
        shown = t.run(command, "--help")[0].split("\nExamples:")[0]
        words = set(offered(t, command, "--")[1])
        t.equal("options of " + command, words, set(re.findall(r"(?<![\w'-])--[a-z][a-z-]*", shown)))
        for word in words - {"--help"}:
            stderr = t.run(command, word, "--help")[1]
            t.true("%s takes %s" % (command, word), "unknown option" not in stderr, stderr)
            checked += 1
    t.true("options", checked > 150, checked)


VALUES = {
    "report --metric pe": {"peak"},
    "report --by=li": {"--by=line", "--by=library"},
    "flame --size ": {"requested", "usable", "overhead"},  # its help says: as in tidemark report
    "maps --by ": {"kind", "library", "mapping"},
    "run --on-full ": {"wait", "drop"},
    "run --python=o": {"--python=off", "--python=objects"},
    "leaks --kind ": {"lost", "indirect", "reachable", "unclassified"},
    "leaks --fail=": {"--fail=lost", "--fail=all"},
    "ctl 1 re": {"resume"},
    "report --top ": set(),
    "nonsense --": set(),
}


def test_values(t):
    for line, wanted in VALUES.items():
        t.equal(line, set(offered(t, *line.split(" "))[1]), wanted)


def test_every_metric(t):
    stderr = t.run("report", "/dev/null", "--metric", "nonsense")[1]
    t.equal("metrics", set(offered(t, "report", "--metric", "")[1]), set(re.findall(r"\w+", stderr.split("one of ")[1])))


def test_labels_and_functions_of_the_recording(t):
    profile = marked(t)
    labels = {mark["label"] for mark in marks(t, profile)}
    t.true("there are labels", len(labels) > 0, labels)
    found = set(offered(t, "report", profile, "--at", "")[1])
    t.equal("moments", found, labels | {"start", "exit", "end", "peak"})
    label = sorted(labels)[0]
    count = len([m for m in marks(t, profile) if m["label"] == label])
    t.equal("one by one", set(offered(t, "report", profile, "--since", label + "#")[1]),
            {"%s#%d" % (label, n) for n in range(1, count + 1)})
    t.equal("of growth", set(offered(t, "growth", profile, "--mark=")[1]), {"--mark=" + name for name in labels})
    t.true("function", "main" in offered(t, "annotate", profile, "ma")[1])
    t.true("callers", "main" in offered(t, "report", profile, "--callers", "ma")[1])
    t.equal("thread", set(offered(t, "report", profile, "--thread", "ma")[1]), {"main"})
    t.equal("processes", set(offered(t, "report", profile, "--process", "")[1]),
            {str(p["pid"]) for p in t.report(profile)["processes"]} | {"all"})


def test_files_and_programs(t):
    t.equal("a recording", offered(t, "report", ""), ("files", {}))
    t.equal("a file to write", offered(t, "marks", "x", "--plot", ""), ("files", {}))
    t.equal("the program", offered(t, "run", "--cpu", "-o", "x", "l")[0], "program 4")
    t.equal("its arguments", offered(t, "run", "--", "ls", "-")[0], "program 2")


# Real shells

def in_bash(t, line, file):
    script = r"""
        . "$1"
        COMP_LINE=$2 COMP_POINT=${#2}
        # As readline takes it apart.
        mapfile -t COMP_WORDS < <(printf %s "$2 " | sed 's/\([=:]\)/ \1 /g; s/  */\n/g')
        [[ $2 == *[=:] ]] && unset 'COMP_WORDS[-1]'
        [[ $2 == *' ' ]] && COMP_WORDS+=("")
        [[ -z ${COMP_WORDS[-1]} && $2 != *' ' ]] && unset 'COMP_WORDS[-1]'
        COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
        _tidemark
        printf '%s\n' "${COMPREPLY[@]}" """
    return subprocess.run(["bash", "--norc", "-c", script, "bash", file, line], stdout=subprocess.PIPE, text=True,
                          env=environment(t)).stdout.split()


def environment(t):
    return {**os.environ, "PATH": os.path.dirname(t.tidemark) + ":" + os.environ["PATH"], "HOME": t.file("home"),
            "XDG_DATA_HOME": t.file("home"), "XDG_CONFIG_HOME": t.file("home"), "TERM": "dumb"}


def in_fish(t, line, file):
    done = subprocess.run(["fish", "--no-config", "-c", "source %s; complete -C '%s'" % (file, line)],
                          stdout=subprocess.PIPE, text=True, env=environment(t))
    return [text.split("\t")[0] for text in done.stdout.splitlines()]


def in_zsh(t, line, file):
    """zsh completes only at a terminal: it is given one, and a key that prints the line."""
    folder = t.file("functions")
    os.makedirs(folder, exist_ok=True)
    shutil.copy(file, os.path.join(folder, "_tidemark"))
    setup = ("PS1=; fpath=(%s $fpath); autoload -Uz compinit; compinit -u -D; show() { print -r -- \"@@$BUFFER@@\"; }; "
             "zle -N show; bindkey '^X' show; print READY\n" % folder)
    pid, terminal = pty.fork()
    if pid == 0:
        os.execve(shutil.which("zsh"), ["zsh", "-f", "-i"], {**environment(t), "COLUMNS": "200"})
    text = b""

    def until(what, seconds):
        nonlocal text
        limit = time.monotonic() + seconds
        while what not in text and time.monotonic() < limit:
            if select.select([terminal], [], [], 0.2)[0]:
                try:
                    text += os.read(terminal, 65536)
                except OSError:
                    return

    os.write(terminal, setup.encode())
    until(b"\nREADY", 60)
    text = b""
    os.write(terminal, line.encode() + b"\t\x18")
    until(b"@@\r\n", 60)
    os.write(terminal, b"\x03exit\n")
    os.close(terminal)
    os.waitpid(pid, 0)
    return re.findall(r"@@(.*)@@", text.decode(errors="replace"))[-1].split()[-1:]


SHOW = {"bash": (in_bash, "tidemark.bash"), "zsh": (in_zsh, "_tidemark"), "fish": (in_fish, "tidemark.fish")}


@cases(shell=SHELLS)
def test_syntax(t, shell):
    done = subprocess.run([shell, "-n", os.path.join(SCRIPTS, SHOW[shell][1])], stderr=subprocess.PIPE, text=True)
    t.equal("status and messages", (done.returncode, done.stderr), (0, ""))


@cases(shell=SHELLS)
def test_in_the_shell(t, shell):
    os.mkdir(t.file("home"))
    show, script = SHOW[shell]
    profile = marked(t)
    label = marks(t, profile)[0]["label"]
    for line, wanted in (("tidemark thr", "threads"), ("tidemark att", "attach"), ("tidemark report --metr", "--metric"),
                         ("tidemark report --metric sitep", "sitepeak"),
                         ("tidemark report %s --at %s" % (profile, label[:-1]), label)):
        found = [word.strip() for word in show(t, line, os.path.join(SCRIPTS, script))]
        t.true("%s offers %s" % (line, wanted), wanted in found, found)
    if shell != "zsh":  # which shows what is unique
        found = {word.split()[0] for word in show(t, "tidemark ", os.path.join(SCRIPTS, script)) if word.strip()}
        t.equal("commands that are not offered", [command for command in commands(t) if command not in found], [])
    if shell == "bash":
        t.equal("behind =", in_bash(t, "tidemark report --by=li", os.path.join(SCRIPTS, script)), ["line", "library"])
    if shell == "fish":
        t.equal("behind =", in_fish(t, "tidemark report --by=li", os.path.join(SCRIPTS, script)), ["--by=library", "--by=line"])
