#!/usr/bin/env python3
"""Does every ELF file below a folder run wherever glibc is at least some version?

    scripts/check_portable.py FOLDER [--glibc 2.27] [--list]

Looks at what each file needs: libraries other than glibc's that are not in the folder, symbols of a newer glibc, text
relocations, an executable stack. Prints the newest version that each file needs; exits 1 and says why if one needs more.
auditwheel looks at extension modules only, so it does not replace this.
"""
import argparse
import os
import platform
import re
import subprocess
import sys

GLIBC = {"libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "librt.so.1",
         "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}


def number(version):
    return [int(part) for part in version.split(".")]


def is_elf(path):
    if os.path.islink(path):
        return False
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"


def machine(path):
    """The machine that a file is for, as the kernel names it."""
    with open(path, "rb") as file:
        return {62: "x86_64", 183: "aarch64"}[int.from_bytes(file.read(20)[18:], "little")]


def tool(name, option, path):
    """What a program of binutils prints: its name begins with the machine, if that is not this one."""
    prefix = "" if machine(path) == platform.machine() else machine(path) + "-linux-gnu-"
    return subprocess.run([prefix + name, option, path], check=True, stdout=subprocess.PIPE, universal_newlines=True).stdout


def versions(path):
    """{version: [symbol]} of what the file wants of glibc."""
    found = {}
    for version, name in re.findall(r"\(?GLIBC_([0-9.]+)\)?\s+(\S+)$", tool("objdump", "-T", path), re.MULTILINE):
        found.setdefault(version, []).append(name)
    return found


def faults(path, limit, beside):
    dynamic = tool("readelf", "-dW", path)
    for name in re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic):
        if name not in GLIBC and name not in beside:
            yield "needs " + name
    for version, names in sorted(versions(path).items()):
        if number(version) > number(limit):
            yield "needs GLIBC_%s for %s" % (version, ", ".join(sorted(names)))
    if "TEXTREL" in dynamic:
        yield "has text relocations"
    if re.search(r"GNU_STACK.*RWE", tool("readelf", "-lW", path)):
        yield "has an executable stack"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder")
    parser.add_argument("--glibc", default="2.27", help="the oldest version it is to run with")
    parser.add_argument("--list", action="store_true", help="print every version with its symbols")
    options = parser.parse_args()
    files = [os.path.join(folder, name) for folder, _, names in os.walk(options.folder) for name in names]
    files = sorted(path for path in files if is_elf(path))
    beside = {os.path.basename(path) for path in files}
    failed = not files
    for path in files:
        wanted = versions(path)
        newest = max(wanted, key=number, default="nothing")
        print("%s: GLIBC_%s" % (os.path.relpath(path, options.folder), newest))
        if options.list:
            for version in sorted(wanted, key=number):
                print("    %-7s %s" % (version, " ".join(sorted(wanted[version]))))
        for fault in faults(path, options.glibc, beside):
            print("%s: %s" % (path, fault), file=sys.stderr)
            failed = True
    if not files:
        print("check_portable.py: no ELF file below %s" % options.folder, file=sys.stderr)
    return failed


if __name__ == "__main__":
    sys.exit(main())
