#include "collect/session/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collect/session/executable.h"
#include "collect/proc/proc.h"
#include "wire/layout.h"

/* `tidemark ctl` uses the socket too. */
static void set_environment(const struct launch *l, bool is_static)
{
    setenv(WIRE_ENV_SOCKET, l->socket, 1);
    setenv(WIRE_ENV_KEY, l->key, 1);
    if (!l->library)
        return;
    const char *others = getenv("LD_PRELOAD");
    char *preload = xasprintf("%s%s%s%s", is_static ? WIRE_PRELOAD_GUARD : "", l->library,
                              others && *others ? ":" : "", others ? others : "");
    setenv("LD_PRELOAD", preload, 1);
    char filters[16];
    snprintf(filters, sizeof filters, "%u", proc_filters(getpid()));
    setenv(WIRE_ENV_FILTERS, filters, 1);
    if (l->drop)
        setenv(WIRE_ENV_DROP, "1", 1);
    else
        unsetenv(WIRE_ENV_DROP);
    if (l->only)
        setenv(WIRE_ENV_ONLY, l->only, 1);
    else
        unsetenv(WIRE_ENV_ONLY);
}

/* Runs in the process that becomes the program: waits until the pipe is closed, executes the
 * program, and reports an errno if that fails. */
static _Noreturn void be_program(const struct launch *l, bool set_up, bool is_static,
                                 const int go[2], int report)
{
    char byte;
    close(go[1]);
    inherited_limits_restore(l->inherited);
    if (set_up)
        set_environment(l, is_static);
    while (read(go[0], &byte, 1) < 0 && errno == EINTR)
        ;
    execvp(l->argv[0], l->argv);
    int code = errno;
    ssize_t ignored = write(report, &code, sizeof code);
    (void)ignored;
    _exit(127);
}

int launch_program(const struct launch *l, pid_t *pid, struct err *err)
{
    int report[2], go[2], code = 0;
    bool set_up = true, is_static = false;
    char *file = executable_find(l->argv[0]);
    if (file) {
        char *program = executable_interpreter(file);
        bool refused = executable_changes_rights(program, getuid(), geteuid(), getgid(), getegid());
        /* Other loaders would complain on the program's stderr, or even give up. */
        enum executable_kind kind = executable_kind(program);
        set_up = !l->library || (kind != EXECUTABLE_32_BIT && kind != EXECUTABLE_OTHER_LOADER &&
                                 kind != EXECUTABLE_SANITIZED);
        is_static = kind == EXECUTABLE_STATIC;
        free(file);
        free(program);
        if (refused)
            return err_set(err, -EPERM,
                           "cannot record %s: running it changes rights (setuid, setgid or file "
                           "capabilities), so its loader would ignore what is preloaded; record a "
                           "copy without them, or as the user it belongs to",
                           l->argv[0]);
    }
    if (pipe2(report, O_CLOEXEC) != 0)
        return err_set(err, -errno, "cannot make a pipe: %s", strerror(errno));
    if (pipe2(go, O_CLOEXEC) != 0) {
        code = err_set(err, -errno, "cannot make a pipe: %s", strerror(errno));
        close(report[0]);
        close(report[1]);
        return code;
    }
    pid_t child = fork();
    if (child == 0)
        be_program(l, set_up, is_static, go, report[1]);
    if (child < 0)
        code = err_set(err, -errno, "cannot start a process: %s", strerror(errno));
    close(report[1]);
    close(go[0]);
    if (!code && l->prepare)
        code = l->prepare(l->context, child, err);
    if (code && child > 0) {
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
    }
    close(go[1]); /* the child continues */
    int failure = 0;
    ssize_t n = 0;
    while (!code && (n = read(report[0], &failure, sizeof failure)) < 0 && errno == EINTR)
        ;
    close(report[0]);
    if (!code && n == (ssize_t)sizeof failure) {
        waitpid(child, NULL, 0);
        return err_set(err, -failure, "cannot run %s: %s", l->argv[0], strerror(failure));
    }
    *pid = child;
    return code;
}
