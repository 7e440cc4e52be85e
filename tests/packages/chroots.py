"""Small systems of other distributions, made by debootstrap once and kept: chroots.py is used by run.py.

Needs root. Commands run in a mount and process namespace of their own, so that nothing stays mounted or running, and
unless it is said otherwise as a user without privileges.
"""
import os
import shutil
import subprocess

DEBIAN = os.environ.get("DEBIAN_MIRROR", "http://deb.debian.org/debian")
UBUNTU = os.environ.get("UBUNTU_MIRROR", "http://archive.ubuntu.com/ubuntu")
# suite: (mirror, glibc)
SUITES = {
    "bionic": (UBUNTU, "2.27"),
    "bullseye": (DEBIAN, "2.31"),
    "jammy": (UBUNTU, "2.35"),
    "bookworm": (DEBIAN, "2.36"),
    "noble": (UBUNTU, "2.39"),
    "trixie": (DEBIAN, "2.41"),
    "sid": (DEBIAN, None),
}
USER = 4242
SCRIPTS = "/usr/share/debootstrap/scripts/"
ENTER = 'mount -t proc proc "$1/proc" && shift && exec "$@"'


class Chroot:
    def __init__(self, folder, suite):
        self.suite, self.root = suite, os.path.join(folder, suite)
        self.mirror, self.glibc = SUITES[suite]

    def make(self):
        """Returns self; raises RuntimeError with the end of debootstrap's log."""
        done = os.path.join(self.root, "complete")
        if os.path.exists(done):
            return self
        shutil.rmtree(self.root, ignore_errors=True)
        os.makedirs(os.path.dirname(self.root), exist_ok=True)
        # The keys of Ubuntu are no package of Debian 12; the packages are only run in here.
        keys = ["--no-check-gpg"] if self.mirror == UBUNTU else []
        # Nor does its debootstrap know the newest of Ubuntu, which are made as all of them are.
        script = [] if os.path.exists(SCRIPTS + self.suite) else [SCRIPTS + ("gutsy" if keys else "sid")]
        made = subprocess.run(["debootstrap", *keys, "--variant=minbase", "--components=main,universe" if keys else "--components=main",
                               "--include=python3,python3-pip,python3-venv", self.suite, self.root, self.mirror, *script],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True)
        if made.returncode:
            raise RuntimeError(made.stdout[-600:])
        home = self.path("/home/user")
        os.makedirs(home)
        os.chown(home, USER, USER)
        open(done, "w").close()
        return self

    def path(self, inside):
        return self.root + inside

    def put(self, source, inside):
        """Copies a file or a folder to /home/user."""
        target = os.path.join(self.path("/home/user"), inside)
        if os.path.isdir(source):
            shutil.rmtree(target, ignore_errors=True)
            shutil.copytree(source, target, symlinks=True)
        else:
            shutil.copy(source, target)
        return "/home/user/" + inside

    def run(self, script, user=USER):
        """Runs a shell script in /home/user: (output, status)."""
        enter = ["unshare", "--mount", "--pid", "--fork", "sh", "-c", ENTER, "sh", self.root]
        done = subprocess.run([*enter, "chroot", "--userspec=%d:%d" % (user, user), self.root, "/usr/bin/env", "-i",
                               "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/home/user", "LANG=C.UTF-8", "sh", "-c",
                               "cd /home/user && " + script], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        return done.stdout.decode(errors="replace"), done.returncode
