#!/usr/bin/env python3
"""Runs real programs with and without tidemark: run.py [--build BUILD] [-k NAME] [--list] [--no-install]

Each entry of programs.py must say and leave behind the same with the recorder as without it, and its profile must
open, be complete and name functions. One line a program: ok, with the share of functions that have a name, or FAILED
and why. What is missing is installed from Debian's packages; services are not started by that.
"""
import argparse
import os
import subprocess
import sys
import tempfile
import time
import traceback

import guest
import programs

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
NO_SERVICES = "/usr/sbin/policy-rc.d"


def missing(packages):
    """Those of the Debian packages that are not installed."""
    done = subprocess.run(["dpkg-query", "-W", "-f", "${Package} ${db:Status-Status}\n", *packages],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    present = {line.split()[0] for line in done.stdout.splitlines() if line.endswith(" installed")}
    return [p for p in packages if p not in present]


def install(packages):
    """apt-get install, with a policy that keeps services from being started; returns what is still missing."""
    wanted = missing(packages)
    if not wanted or os.geteuid() != 0:
        return wanted
    print("installing " + " ".join(wanted), file=sys.stderr)
    forbid = not os.path.exists(NO_SERVICES)
    if forbid:
        with open(NO_SERVICES, "w") as out:
            out.write("#!/bin/sh\nexit 101\n")
        os.chmod(NO_SERVICES, 0o755)
    try:
        command = ["apt-get", "install", "-y", "-qq", "--no-install-recommends", *wanted]
        for before in ([], ["apt-get", "update", "-qq"]):
            if before:
                subprocess.run(before, stdout=subprocess.DEVNULL)
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                  env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"})
            if done.returncode == 0:
                break
        else:
            print(done.stdout[-2000:], file=sys.stderr)
    finally:
        if forbid:
            os.remove(NO_SERVICES)
    return missing(packages)


def run_one(name, build, base):
    """(what failed, what is worth knowing) of one program."""
    if missing(programs.PACKAGES[name]):
        return ["not installed: " + " ".join(missing(programs.PACKAGES[name]))], ""
    visit = guest.Guest(build, os.path.join(base, name))
    try:
        programs.ALL[name](visit)
    except guest.Failed as error:
        visit.failures.append(str(error))
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        visit.failures.append("%s: %s (%s:%d)" % (type(error).__name__, error, os.path.basename(where.filename), where.lineno))
    finally:
        visit.close()
    return visit.failures, visit.facts()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default=os.path.join(ROOT, "build"))
    parser.add_argument("-k", metavar="NAME", default="", help="only programs whose name contains NAME")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--no-install", action="store_true", help="programs that are not installed fail")
    parser.add_argument("--keep", metavar="FOLDER", help="leave profiles and outputs there")
    options = parser.parse_args()
    chosen = [name for name in programs.ALL if options.k in name]
    if options.list:
        print("\n".join(chosen))
        return 0
    if not chosen:
        sys.exit("no program's name contains '%s'; --list shows them" % options.k)
    if not os.access(os.path.join(options.build, "tidemark"), os.X_OK):
        sys.exit("no %s/tidemark: build the project first, or name the build with --build" % options.build)
    if not options.no_install:
        install(sorted({p for name in chosen for p in programs.PACKAGES[name]}))

    failed = 0
    with tempfile.TemporaryDirectory(prefix="tide-real-") as temporary:
        base = os.path.abspath(options.keep or temporary)
        os.makedirs(base, exist_ok=True)
        os.chmod(base, 0o755)  # servers run as other users
        build = guest.readable_by_all(os.path.abspath(options.build), os.path.join(base, "tidemark"))
        for name in chosen:
            begin = time.monotonic()
            failures, facts = run_one(name, build, base)
            failed += bool(failures)
            print("%-6s %-24s %5.1f s  %s" % ("FAILED" if failures else "ok", name, time.monotonic() - begin,
                                              "; ".join(failures) or facts), flush=True)
    print("%d passed, %d failed" % (len(chosen) - failed, failed))
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
