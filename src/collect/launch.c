#include "collect/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collect/executable.h"
#include "collect/filters.h"
#include "wire/layout.h"

static void set_environment(const char *library, const char *socket, const char *key,
                            const char *only)
{
    const char *others = getenv("LD_PRELOAD");
    char *preload = others && *others ? xasprintf("%s:%s", library, others) : xstrdup(library);
    setenv("LD_PRELOAD", preload, 1);
    setenv(WIRE_ENV_SOCKET, socket, 1);
    setenv(WIRE_ENV_KEY, key, 1);
    char filters[16];
    snprintf(filters, sizeof filters, "%u", filters_of(getpid()));
    setenv(WIRE_ENV_FILTERS, filters, 1);
    if (only)
        setenv(WIRE_ENV_ONLY, only, 1);
    else
        unsetenv(WIRE_ENV_ONLY);
}

int launch_program(char *const *argv, const char *library, const char *socket, const char *key,
                   const char *only, const struct surroundings *surroundings, pid_t *pid,
                   struct err *err)
{
    int report[2], code = 0;
    bool can_preload = true;
    char *file = executable_find(argv[0]);
    if (file) {
        char *program = executable_interpreter(file);
        bool refused = executable_changes_rights(program, getuid(), geteuid(), getgid(), getegid());
        /* Their loaders would complain on the program's stderr, or even give up. */
        enum executable_kind kind = executable_kind(program);
        can_preload = kind != EXECUTABLE_32_BIT && kind != EXECUTABLE_OTHER_LOADER;
        free(file);
        free(program);
        if (refused)
            return err_set(err, -EPERM,
                           "cannot record %s: running it changes rights (setuid, setgid or file "
                           "capabilities), so its loader would ignore what is preloaded; record a "
                           "copy without them, or as the user it belongs to",
                           argv[0]);
    }
    if (pipe2(report, O_CLOEXEC) != 0)
        return err_set(err, -errno, "cannot make a pipe: %s", strerror(errno));
    pid_t child = fork();
    if (child < 0) {
        code = err_set(err, -errno, "cannot start a process: %s", strerror(errno));
        close(report[0]);
        close(report[1]);
        return code;
    }
    if (child == 0) {
        surroundings_restore(surroundings);
        if (can_preload)
            set_environment(library, socket, key, only);
        execvp(argv[0], argv);
        code = errno;
        ssize_t ignored = write(report[1], &code, sizeof code);
        (void)ignored;
        _exit(127);
    }
    close(report[1]);
    ssize_t n;
    do
        n = read(report[0], &code, sizeof code);
    while (n < 0 && errno == EINTR);
    close(report[0]);
    if (n == (ssize_t)sizeof code) {
        waitpid(child, NULL, 0);
        return err_set(err, -code, "cannot run %s: %s", argv[0], strerror(code));
    }
    *pid = child;
    return 0;
}
