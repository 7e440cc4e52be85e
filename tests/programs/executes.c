/*
 * executes HOW [NAME=VALUE ...]: allocates 10 blocks of 100 bytes, then runs itself as `child` by
 * one of the ways there are, with an environment that holds nothing but the variables given. The
 * child allocates 7 blocks of 1,000 bytes and ends with 5. Ways that keep the parent end with 0 if
 * the child did, and if the parent's own environment is what it was.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "parent_child.h"

static int is(const char *how, const char *what)
{
    return !strcmp(how, what);
}

/* By a name that is looked for in PATH. */
static const char *bare_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    setenv("PATH", strndup(path, (size_t)(slash - path)), 1);
    return slash + 1;
}

SITE static pid_t run_by_vfork(const char *path, char **argv, char **environment)
{
    pid_t child = vfork();

    if (child == 0) {
        execve(path, argv, environment);
        _exit(9);
    }
    return child;
}

static int ended(pid_t child, char **before)
{
    int status = 0;

    if (waitpid(child, &status, 0) != child || WEXITSTATUS(status) != 5)
        return 8;
    in_parent();
    return environ == before ? 0 : 7;
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "", *self = argv[0];
    char *child_argv[] = {argv[0], (char *)"child", NULL};
    char **own = argc > 1 ? argv + 2 : NULL, **before = environ;
    static char *many[3001];
    pid_t child;

    if (is(how, "child")) {
        const char *preload = getenv("LD_PRELOAD"), *show = getenv("SHOW");

        in_child();
        if (show && preload && write(1, preload, strlen(preload)) < 0)
            return 6;
        _exit(5);
    }
    in_parent();
    if (is(how, "execve"))
        execve(self, child_argv, own);
    if (is(how, "null"))
        execve(self, child_argv, NULL);
    if (is(how, "execle"))
        execle(self, self, "child", (char *)NULL, own);
    if (is(how, "execvpe"))
        execvpe(bare_name(self), child_argv, own);
    if (is(how, "fexecve"))
        fexecve(open(self, O_RDONLY | O_CLOEXEC), child_argv, own);
    if (is(how, "execveat"))
        execveat(AT_FDCWD, self, child_argv, own, 0);
    if (is(how, "vfork"))
        return ended(run_by_vfork(self, child_argv, own), before);
    if (is(how, "posix_spawn"))
        return posix_spawn(&child, self, NULL, NULL, child_argv, own) ? 9 : ended(child, before);
    if (is(how, "posix_spawnp")) {
        const char *name = bare_name(self);

        return posix_spawnp(&child, name, NULL, NULL, child_argv, own) ? 9 : ended(child, environ);
    }
    if (is(how, "many")) {
        for (int i = 0; i < 3000; i++)
            many[i] = (char *)"ONE=1";
        execve(self, child_argv, many);
    }
    if (is(how, "errno")) {
        char *nothing[] = {NULL};

        if (execve("/no/such/file", child_argv, nothing) != -1 || errno != ENOENT)
            return 9;
        if (execle("/dev/null", "null", (char *)NULL, nothing) != -1 || errno != EACCES)
            return 8;
        return posix_spawn(&child, "/no/such/file", NULL, NULL, child_argv, nothing) != ENOENT;
    }
    if (is(how, "execvp") || is(how, "execlp")) {
        const char *name = bare_name(self);
        char *path = strdup(getenv("PATH"));

        clearenv();
        setenv("PATH", path, 1);
        if (is(how, "execvp"))
            execvp(name, child_argv);
        execlp(name, self, "child", (char *)NULL);
    }
    clearenv();
    if (is(how, "execv"))
        execv(self, child_argv);
    if (is(how, "execl"))
        execl(self, self, "child", (char *)NULL);
    return 9;
}
