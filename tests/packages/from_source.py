#!/usr/bin/env python3
"""The tree in clean systems of other distributions, built by their compilers: make test-builds

    tests/packages/from_source.py --build BUILD --suites "noble sid"

In a copy of each system: `make` installs what building needs and compiles without a warning; `make demo` then records,
and finds the leak of its program. Prints a line for each; exits 1 if one failed.
"""
import argparse
import os
import shutil
import subprocess
import sys

from chroots import SUITES, Chroot

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TOO_OLD = {"bionic": "meson 0.45", "bullseye": "meson 0.56", "jammy": "meson 0.61"}  # meson.build needs 1.0


class SourceChroot(Chroot):
    """A system that compilers may be installed in: the clean one stays as it is."""

    def __init__(self, folder, suite):
        super().__init__(folder, suite)
        self.clean, self.root = self.root, self.root + "-source"

    def make(self):
        done = self.path("/copied")
        if not os.path.exists(done):
            Chroot(os.path.dirname(self.root), self.suite).make()
            shutil.rmtree(self.root, ignore_errors=True)
            subprocess.check_call(["cp", "-a", self.clean, self.root])
            open(done, "w").close()
        with open(self.path("/etc/apt/apt.conf.d/99mirror"), "w") as out:  # the mirror may be a snapshot
            out.write('Acquire::Check-Valid-Until "false";\n')
        shutil.rmtree(self.path("/tree"), ignore_errors=True)
        os.mkdir(self.path("/tree"))
        files = subprocess.Popen(["git", "ls-files", "-z"], cwd=ROOT, stdout=subprocess.PIPE)
        packed = subprocess.Popen(["tar", "--null", "-T", "-", "-c"], cwd=ROOT, stdin=files.stdout, stdout=subprocess.PIPE)
        subprocess.check_call(["tar", "-C", self.path("/tree"), "-x"], stdin=packed.stdout)
        return self


def attempts(root):
    """Yields (name, None or what went wrong)."""
    # So that make is there; scripts/install-deps.sh installs all else.
    text, status = root.run("apt-get update -qq && apt-get install -y -qq --no-install-recommends make", user=0)
    if status:
        yield "apt-get", text[-600:]
        return
    text, status = root.run("cd /tree && make", user=0)
    if status:  # all that fails, not the first alone
        text = root.run("cd /tree && ninja -C build -k 0 --quiet", user=0)[0]
    warned = [line for line in text.splitlines() if "warning:" in line]
    yield "make", text[-3000:] if status else "\n".join(warned)
    if status:
        return
    print("      %s: %s" % (root.suite, root.run("/tree/build/tidemark --version && gcc --version | head -n 1", user=0)[0]), flush=True)
    text, status = root.run("cd /tree && make demo", user=0)
    yield "make demo", None if not status and "leak" in text else text[-3000:]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", default="build")
    parser.add_argument("--suites", required=True, help="of " + " ".join(suite for suite in SUITES if suite not in TOO_OLD))
    options = parser.parse_args()
    failed = 0
    for suite in options.suites.split():
        if suite in TOO_OLD:
            print("left out: %s has %s" % (suite, TOO_OLD[suite]))
            continue
        for name, wrong in attempts(SourceChroot(os.path.join(os.path.abspath(options.build), "chroots"), suite).make()):
            failed += bool(wrong)
            print("FAIL  %s %s: %s" % (suite, name, wrong) if wrong else "ok    %s %s" % (suite, name), flush=True)
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
