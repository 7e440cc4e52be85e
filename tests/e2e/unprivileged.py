"""Running things as another user. Only root can; for others the tests that need it have nothing to do."""
import os
import shutil

# Nobody else's, whatever tests run at the same time: what the kernel counts by user (processes, locked memory) and
# what `run --all` finds are this test's alone. There is no such name, and there need not be.
NOBODY = 20000 + os.getpid() % 40000
AS_NOBODY = ("setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups")


def give_to_nobody(t):
    """Opens the test's folder to everybody, and puts tidemark into a folder of it that is nobody's; returns that tidemark."""
    folder = t.file("nobodys-folder")
    os.chmod(t.dir, 0o755)
    os.makedirs(folder, exist_ok=True)
    for path in (t.tidemark, t.library):
        shutil.copy(path, folder)
    os.chown(folder, NOBODY, NOBODY)
    return os.path.join(folder, "tidemark")


def set_id_works(t):
    """Are we root, on a file system where set-id bits mean something?"""
    return os.geteuid() == 0 and not os.statvfs(t.dir).f_flag & os.ST_NOSUID
