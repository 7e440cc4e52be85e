#include "cli/view_live.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/commands.h"
#include "store/reader.h"
#include "view/serve.h"

#define WAIT_MS 10

/* As the user would type it, but it says nothing when it is done. */
static int ctl_snapshot(pid_t pid, char *file, bool serving)
{
    int status = 0;
    pid_t ended;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        char number[16];
        snprintf(number, sizeof number, "%d", (int)pid);
        if (serving)
            serve_forget_signals();
        char *argv[] = {"ctl", number, "snapshot", file, NULL};
        if (!freopen("/dev/null", "w", stdout))
            _exit(1);
        _exit(cmd_ctl(4, argv));
    }
    while (child > 0 && (ended = waitpid(child, &status, serving ? WNOHANG : 0)) != child) {
        if (ended < 0 && errno != EINTR)
            return -errno;
        if (serving && !serve_goes_on(WAIT_MS)) {
            kill(child, SIGTERM);
            serving = false;
        }
    }
    return child > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -EIO;
}

int view_live_read(pid_t pid, bool serving, struct recording **out, struct err *err)
{
    const char *folder = getenv("TMPDIR");
    char *own = xasprintf("%s/tidemark-view.XXXXXX", folder && *folder ? folder : "/tmp");
    if (!mkdtemp(own)) {
        int code = err_set(err, -errno, "cannot make a folder like %s: %s", own, strerror(errno));
        free(own);
        return code;
    }
    char *file = xasprintf("%s/%d.tide", own, (int)pid);
    int status = ctl_snapshot(pid, file, serving);
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
