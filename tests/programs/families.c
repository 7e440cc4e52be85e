/*
 * families HOW: a parent that allocates 10 blocks of 100 bytes and a child that allocates 7 of
 * 1,000: forked, forked without pthread's handlers, executed, or spawned by a shell.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "parent_child.h"

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    char command[4096];
    int status = 0;
    pid_t child;

    if (!strcmp(how, "child")) {
        in_child();
        _exit(5);
    }
    in_parent();
    if (!strcmp(how, "exec")) {
        execl(argv[0], argv[0], "child", (char *)NULL);
        return 9;
    }
    if (!strcmp(how, "shell")) {
        snprintf(command, sizeof command, "'%s' child", argv[0]);
        return system(command) == 5 << 8 ? 0 : 9;
    }
    child = !strcmp(how, "_Fork") ? _Fork() : fork();
    if (child == 0) {
        in_child();
        _exit(5);
    }
    waitpid(child, &status, 0);
    in_parent();
    return WEXITSTATUS(status) == 5 ? 0 : 9;
}
