"""scripts/install-deps.sh, with stand-ins for dpkg and apt: which packages it would install."""
import os
import subprocess

from harness import ROOT, cases

# dpkg-query has the installed ones, apt-cache those of the release, and apt-get notes what it is told.
STAND_INS = {
    "dpkg-query": 'for name; do case " $INSTALLED " in *" $name "*) printf "installed "; esac; done',
    "apt-cache": 'case " $KNOWN " in *" $2 "*) echo "Package: $2"; esac',
    "apt-get": 'for name; do case $name in libmimalloc*) echo "$name" >>"$ASKED"; esac; done',
    "id": "echo 0",
}


@cases(installed=("", "libmimalloc2.0", "libmimalloc3"), known=("libmimalloc2.0", "libmimalloc3"))
def test_packages_that_have_another_name_in_newer_releases(t, installed, known):
    folder, asked = t.file("bin"), t.file("asked")
    os.mkdir(folder)
    for name, body in STAND_INS.items():
        with open(os.path.join(folder, name), "w") as out:
            out.write("#!/bin/sh\n%s\n" % body)
        os.chmod(os.path.join(folder, name), 0o755)
    open(asked, "w").close()
    env = {**os.environ, "PATH": folder + ":" + os.environ["PATH"], "INSTALLED": installed, "KNOWN": known, "ASKED": asked}
    done = subprocess.run([os.path.join(ROOT, "scripts", "install-deps.sh"), "test"], env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    t.equal("status", (done.returncode, done.stdout.count(b"\n")), (0, 1))
    with open(asked) as text:
        t.equal("installed", text.read().split(), [] if installed else [known])
