"""python3 -m tidemark: the program tidemark, and `run` for scripts.

    python3 -m tidemark run [OPTIONS] script.py ARGS…      as `tidemark run [OPTIONS] python3 script.py ARGS…`,
    python3 -m tidemark run [OPTIONS] -m module ARGS…      with this interpreter and its options
    python3 -m tidemark run [OPTIONS] -c CODE ARGS…
    python3 -m tidemark report FILE                        and all other commands: `tidemark report FILE`
"""
import os
import subprocess
import sys

from tidemark import _tool

# Options of `tidemark run` whose value is a separate word.
WITH_VALUE = ("-o", "--only", "--mark-on", "--plant-leak", "--within", "--ignore", "--scan", "--suppressions",
              "--snapshot-every", "--snapshot-at", "--keep", "--on-full", "--interval", "--python", "--cpu-signal", "--merge",
              "--push", "--every", "--push-label", "--push-queue", "--push-queue-size")


def split(arguments):
    """(words after `run`) -> (options of tidemark, what the interpreter gets)."""
    at = 0
    while at < len(arguments):
        word = arguments[at]
        if word == "--":
            return arguments[:at], arguments[at + 1:]
        if word in ("-m", "-c", "-") or not word.startswith("-"):
            break
        at += 2 if word in WITH_VALUE else 1
    return arguments[:at], arguments[at:]


def interpreter():
    """This interpreter, with the options that it was started with."""
    try:
        return [sys.executable, *subprocess._args_from_interpreter_flags()]
    except AttributeError:
        return [sys.executable]


def command(arguments):
    """(words after `python3 -m tidemark`) -> the command to be executed."""
    program = _tool.find()
    if arguments[:1] != ["run"]:
        return [program, *arguments]
    options, script = split(arguments[1:])
    if not script:
        return [program, "run", *options]  # --help; otherwise it says what is missing
    return [program, "run", *options, "--", *interpreter(), *script]


def main():
    try:
        words = command(sys.argv[1:])
        sys.stdout.flush()
        os.execv(words[0], words)
    except (_tool.NotFound, OSError) as e:
        sys.exit("python3 -m tidemark: %s" % e)


if __name__ == "__main__":
    main()
