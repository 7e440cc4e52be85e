#include "cli/view_live.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/commands.h"
#include "store/reader.h"

/* As the user would type it, but it says nothing when it is done. */
static int ctl_snapshot(pid_t pid, char *file)
{
    int status;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        char number[16];
        snprintf(number, sizeof number, "%d", (int)pid);
        char *argv[] = {"ctl", number, "snapshot", file, NULL};
        if (!freopen("/dev/null", "w", stdout))
            _exit(1);
        _exit(cmd_ctl(4, argv));
    }
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    return child > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -EIO;
}

int view_live_read(pid_t pid, struct recording **out, struct err *err)
{
    const char *folder = getenv("TMPDIR");
    char *own = xasprintf("%s/tidemark-view.XXXXXX", folder && *folder ? folder : "/tmp");
    if (!mkdtemp(own)) {
        int code = err_set(err, -errno, "cannot make a folder like %s: %s", own, strerror(errno));
        free(own);
        return code;
    }
    char *file = xasprintf("%s/%d.tide", own, (int)pid);
    int status = ctl_snapshot(pid, file);
    if (status)
        err_set(err, status, "there is no snapshot of process %d", (int)pid);
    else
        status = recording_read(file, out, err);
    unlink(file);
    rmdir(own);
    free(file);
    free(own);
    return status;
}
