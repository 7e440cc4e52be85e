#!/usr/bin/env python3
"""Compares what tidemark calls lost or indirect with valgrind memcheck (definitely and indirectly lost) and, for our
own programs, with LeakSanitizer: blocks and bytes by the function that allocated them. Differences must be among
those that docs/leaks.md explains.

    tests/leaks/agree.py [--build build] [-k WORD]
"""
import argparse
import collections
import glob
import itertools
import os
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "e2e"))
import harness  # noqa: E402
import scans  # noqa: E402

ALLOCATOR = re.compile(r"(m|c|re|reall|aligned_|v|pv)alloc|reallocarray|memalign|posix_memalign|cfree|free|operator (new|delete)"
                       r"|__interceptor_|lsan_|_dl_\w+alloc|allocate_dtv|_dl_allocate_tls")
LIMIT_S = 120

# Programs of other people: what they do is the same in each run.
REAL = {
    "lua5.4": ("lua5.4", "-e", "t = {} for i = 1, 1000 do t[i] = {i} end os.exit(0, false)"),
    "lua5.4-closed": ("lua5.4", "-e", "t = {} for i = 1, 1000 do t[i] = {i} end"),
    "perl": ("perl", "-e", "@a = map { [$_] } 1 .. 1000; $x = {}; $x->{x} = $x;"),
    "perl-files": ("perl", "-MFile::Temp", "-e", "print join ',', sort keys %INC"),
    "git-log": ("git", "-C", ROOT, "log", "--oneline", "-n", "20"),
    "git-status": ("git", "-C", ROOT, "status", "--short"),
    "git-diff": ("git", "-C", ROOT, "diff", "--stat", "HEAD~1", "HEAD"),
    "sqlite3": ("sqlite3", ":memory:", "create table t(a); insert into t values(1), (2); select sum(a) from t"),
    "sqlite3-error": ("sqlite3", ":memory:", "select nothing from nowhere"),
    "xmllint": ("xmllint", "--noout", "in.xml"),
    "xmllint-tree": ("xmllint", "--debug", "in.xml"),
    "xmllint-error": ("xmllint", "--noout", "--valid", "in.xml"),
    "python3": ("/usr/bin/python3", "-S", "-c", "import json; json.loads('[1, 2, {}]')"),
    "python3-threads": ("/usr/bin/python3", "-c",
                        "import threading, ctypes; t = threading.Thread(target=list); t.start(); t.join()"),
    "python3-cut": ("/usr/bin/python3", "-S", "-c", "import os, json; sys = [os]; os._exit(0)"),
}
ENVIRONMENT = {"PYTHONMALLOC": "malloc", "PYTHONHASHSEED": "0", "PERL_HASH_SEED": "0", "GIT_OPTIONAL_LOCKS": "0",
               "LC_ALL": "C.UTF-8", "GIT_PAGER": "cat"}

# Programs of ours that cannot be compared, and why.
NOT_COMPARED = {
    "plugin.c": "a library", "oracle.c": "a library", "unknown_client.c": "a library", "jumping_malloc.c": "a library",
    "own_malloc.c": "has a malloc of its own", "own_malloc_forks.c": "has a malloc of its own",
    "odd_malloc.c": "has a malloc of its own", "whole_malloc.c": "has a malloc of its own",
    "mozilla_malloc.c": "has a malloc of its own",
    "own_new.cpp": "has an operator new of its own", "interrupted_hooks.c": "has a malloc of its own",
    "thirty_two.c": "another architecture", "other_namespace.c": "a second libc: its blocks are not seen",
    "scribbles.c": "destroys the recording", "soak.cpp": "differs from run to run",
    "crowded.c": "has no descriptor left to say that it ends", "coroutines.c": "valgrind takes its stacks for one", "little_stack.c": "has too little stack for valgrind",
}
# Arguments for those that need some.
ARGUMENTS = {"scanned.c": ("exit",), "many_blocks.c": ("lost", "1000"), "binary_tree.c": ("10",)}


def functions_of(names):
    """The function that allocated: allocators and what has no name do not count."""
    named = [n for n in names if n not in ("???", "", "(below main)", "_start") and not n.startswith("__libc_start")]
    for name in named:
        if not ALLOCATOR.match(name) and "+0x" not in name:
            return short(name)
    return "?"


def short(name):
    """As all tools would write it: without scope, parameters, templates, Rust's hashes and libc's prefixes."""
    name = name.replace("(anonymous namespace)::", "").split("(")[0].split("@")[0]
    while re.search(r"<[^<>]*>", name):
        name = re.sub(r"<[^<>]*>", "", name)
    return re.sub(r"::h[0-9a-f]{16}$", "", name).split("::")[-1].removeprefix("__GI___")


def by_valgrind(argv, folder, status):
    run = subprocess.Popen(["valgrind", "-q", "--leak-check=full", "--show-leak-kinds=all", "--num-callers=60", "--keep-debuginfo=yes",
                            "--run-libc-freeres=no", "--run-cxx-freeres=no", "--xml=yes",
                            "--xml-file=" + os.path.join(folder, "%p.xml"), *argv],
                           stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=folder,
                           env={**os.environ, **ENVIRONMENT})
    try:
        run.wait(LIMIT_S)
    finally:
        run.kill()
    if run.returncode != status:
        return None  # it cannot stand being run that way
    found = {kind: collections.Counter() for kind in ("blocks", "bytes")}
    for _, error in ET.iterparse(os.path.join(folder, "%d.xml" % run.pid)):
        if error.tag != "error" or error.findtext("kind") not in ("Leak_DefinitelyLost", "Leak_IndirectlyLost"):
            continue
        direct = re.search(r"\(([\d,]+) direct", error.findtext("xwhat/text"))
        size = int(direct.group(1).replace(",", "")) if direct else int(error.findtext("xwhat/leakedbytes"))
        function = functions_of([frame.findtext("fn") or "???" for frame in error.find("stack")])
        found["blocks"][function] += int(error.findtext("xwhat/leakedblocks"))
        found["bytes"][function] += size
    return found


def by_sanitizer(source, folder, arguments, status):
    program = os.path.join(folder, "sanitized")
    compiler = "g++" if source.endswith(".cpp") else "gcc"
    done = subprocess.run([compiler, "-g", "-O1", "-fsanitize=leak", "-I", harness.PROGRAMS, "-I", os.path.join(ROOT, "include"),
                           os.path.join(harness.PROGRAMS, source), "-o", program, "-pthread", "-ldl"],
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    if done.returncode:
        return None
    done = subprocess.run([program, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                          cwd=folder, timeout=LIMIT_S, env={**os.environ, "LSAN_OPTIONS": "exitcode=0:allocator_may_return_null=1"})
    if done.returncode != status or b"out-of-memory" in done.stderr or b"allocation-size-too-big" in done.stderr:
        return None
    found = {kind: collections.Counter() for kind in ("blocks", "bytes")}
    leak = re.compile(r"^(?:Direct|Indirect) leak of (\d+) byte\(s\) in (\d+) object\(s\)", re.MULTILINE)
    text = done.stderr.decode(errors="replace")
    for match in leak.finditer(text):
        stack = re.findall(r"#\d+ \S+ in (.+?)(?: [/<(].*| \S+:\d+)?$", text[match.end():].split("\n\n")[0], re.MULTILINE)
        function = functions_of(stack)
        found["bytes"][function] += int(match.group(1))
        found["blocks"][function] += int(match.group(2))
    return found


class Quiet:
    def equal(self, *_):
        pass


def by_tidemark(argv, folder, tidemark):
    out = os.path.join(folder, "recording.tide")
    if os.path.exists(out):
        os.remove(out)
    done = subprocess.run([tidemark, "run", "--quiet", "--scan=full", "-o", out, "--", *argv], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL, cwd=folder, timeout=LIMIT_S, env={**os.environ, **ENVIRONMENT})
    last = scans.scans(Quiet(), out)[-1]
    found = {kind: collections.Counter() for kind in ("blocks", "bytes")}
    for kind, blocks, size, _, names in last.rows:
        if kind in ("lost", "indirect"):
            function = functions_of(names)
            found["blocks"][function] += blocks
            found["bytes"][function] += size
    return found, last.reason, done.returncode


def differences(ours, theirs):
    """['function: ours blocks/bytes, theirs blocks/bytes']."""
    result = []
    for function in sorted(set(ours["blocks"]) | set(theirs["blocks"])):
        mine, other = [(found["blocks"][function], found["bytes"][function]) for found in (ours, theirs)]
        if mine != other:
            result.append("%s: %d blocks, %d bytes; theirs %d, %d" % (function, *mine, *other))
    return result


# What docs/leaks.md explains, by function.
EXPLAINED = {
    "code_pointers.c": {"valgrind": ("block",), "sanitizer": ("block",)},
    "closes_all.c": {"valgrind": ("after_close",)},
    "counted_pointers.c": {"valgrind": ("push",), "sanitizer": ("push",)},
    "event_gaps.c": {"valgrind": ("main",)},
    "heap_maps.c": {"valgrind": ("allocate",), "sanitizer": ("allocate", "main")},
    "handler_depths.c": {"valgrind": ("on_signal",), "sanitizer": ("on_signal",)},
    "handover.c": {"valgrind": ("leak_some",), "sanitizer": ("leak_some",)},
    "in_handler.c": {"valgrind": ("in_handler",), "sanitizer": ("in_handler",)},
    "around_main.cpp": {"sanitizer": ("take",)},
    "kernel_pointers.c": {"valgrind": ("block",), "sanitizer": ("block",)},
    "locks_all.c": {"sanitizer": ("allocate",)},
    "owners.c": {"sanitizer": ("large_block",)},
    "perl-files": {"valgrind": ("Perl_safesysrealloc", "Perl_safesysmalloc")},
    "reallocs.c": {"valgrind": ("shrunk_in_place",)},
    "scopes.cpp": {"valgrind": ("kept",), "sanitizer": ("kept",)},
    "standard_library.cpp": {"sanitizer": ("makes_string", "basic_string", "_M_construct")},
    "suppressed_inside.c": {"sanitizer": ("known_leak", "third_party_init")},
    "vforks.c": {"valgrind": ("in_child",)},
}


def compare(name, argv, folder, tidemark, source=None):
    """(lines to show, number of differences that nobody explained)."""
    ours, reason, status = by_tidemark(argv, folder, tidemark)
    lines, failed = [], 0
    total = sum(ours["blocks"].values()), sum(ours["bytes"].values())
    if reason:
        return ["      %-18s not looked at: %s" % (name, reason)], 0
    others = {"valgrind": by_valgrind(argv, folder, status)}
    if source:
        others["sanitizer"] = by_sanitizer(source, folder, argv[1:], status)
    for tool, theirs in others.items():
        if theirs is None:
            continue
        for text in differences(ours, theirs):
            known = text.split(":")[0] in EXPLAINED.get(name, {}).get(tool, ())
            failed += not known
            lines.append("      %s: %s%s" % (tool, text, " (explained)" if known else ""))
    lines.insert(0, "%s %-18s %6d blocks, %9d bytes: %s" % ("ok  " if not failed else "FAIL", name, *total,
                 ", ".join(tool for tool, theirs in others.items() if theirs is not None)))
    return lines, failed


def own_cases(build, word):
    t = harness.Test(build)
    for path in sorted(glob.glob(os.path.join(harness.PROGRAMS, "*.c")) + glob.glob(os.path.join(harness.PROGRAMS, "*.cpp"))):
        source = os.path.basename(path)
        if source in NOT_COMPARED or word not in source:
            continue
        try:
            program = t.build(source, "-O1", "-I", os.path.join(ROOT, "include"))
            plain = subprocess.run([program, *ARGUMENTS.get(source, ())], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL, cwd=t.dir, timeout=10)
        except (harness.Failed, subprocess.TimeoutExpired):
            continue
        if plain.returncode == 0:
            yield source, [program, *ARGUMENTS.get(source, ())], source
    t.close()


def hold_many(build, count=10000000):
    """How long a program with many blocks stands still."""
    t = harness.Test(build)
    for mode in ("array", "list", "lost"):
        profile = t.record(t.build("many_blocks.c", "-O1"), mode, str(count), opts=("--scan=full",))
        print("%s of %d blocks: held for %s s" % (mode, count, " and ".join(
            "%.2f" % (scan.held / 1e9) for scan in scans.scans(Quiet(), profile))), flush=True)
    t.close()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default=os.path.join(ROOT, "build"))
    parser.add_argument("-k", default="", metavar="WORD")
    options = parser.parse_args()
    build, cases, failed = os.path.abspath(options.build), 0, 0
    real = [(name, argv, None) for name, argv in REAL.items() if options.k in name]
    for name, argv, source in itertools.chain(real, own_cases(build, options.k)):
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "in.xml"), "w") as file:
                file.write("<a>" + "<b c='d'>e</b>" * 1000 + "</a>")
            try:
                lines, wrong = compare(name, argv, folder, os.path.join(build, "tidemark"), source)
            except subprocess.TimeoutExpired:
                lines, wrong = ["FAIL %-18s took too long" % name], 1
        print("\n".join(lines), flush=True)
        cases += 1
        failed += wrong > 0
    if options.k in "many_blocks":
        hold_many(build)
    print("%d cases, %d with differences that docs/leaks.md does not explain" % (cases, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
