"""Tries the wheel and the tarball for aarch64 as tests/packages does, within the virtual machine."""
import importlib.util
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
FOLDER = os.path.join(os.path.dirname(HERE), "packages")
USER = 4242
LEFT_OUT = ("check_stacks", "check_annotate")  # their program is in x86-64 assembler


def checks_of_packages():
    """tests/packages/run.py, whose name is that of a file here."""
    sys.path.append(FOLDER)
    spec = importlib.util.spec_from_file_location("packages_run", os.path.join(FOLDER, "run.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Machine:
    """This machine, where a chroot is expected: /home/user is empty and belongs to a user without privileges."""
    suite = "arm64"

    def __init__(self):
        shutil.rmtree("/home/user", ignore_errors=True)
        os.makedirs("/home/user")
        os.chown("/home/user", USER, USER)

    def path(self, inside):
        return inside

    def put(self, source, inside):
        target = os.path.join("/home/user", inside)
        (shutil.copytree if os.path.isdir(source) else shutil.copy)(source, target)
        return target

    def run(self, script):
        done = subprocess.run(["setpriv", "--reuid=%d" % USER, "--regid=%d" % USER, "--clear-groups", "env", "-i",
                               "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/home/user", "LANG=C.UTF-8", "sh", "-c", "cd /home/user && " + script],
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        return done.stdout.decode(errors="replace"), done.returncode


def attempt(how, build):
    """Prints what fails; returns the exit status. how: wheel or tarball."""
    checks = checks_of_packages()
    machine = Machine()
    machine.put(os.path.join(build, "packages", "programs"), "programs")
    failed = 0
    try:
        tool = {"wheel": checks.by_wheel, "tarball": checks.by_tarball}[how](machine, build)
        subprocess.check_call(["chown", "-R", "%d:%d" % (USER, USER), "/home/user"])
    except checks.Failed as error:
        print(error)
        return 1
    for check in checks.CHECKS + ([checks.check_installed_by_pip] if how == "wheel" else []):
        if check.__name__ in LEFT_OUT:
            continue
        try:
            check(machine, "/home/user/venv" if check is checks.check_installed_by_pip else tool)
        except (checks.Failed, KeyError, IndexError, ValueError) as error:
            print("%s: %s" % (check.__name__[6:], error))
            failed += 1
    return failed != 0
