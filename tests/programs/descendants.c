/*
 * descendants HOW [FOLDER]: 10 blocks of 100 bytes in the parent; 7 of 1,000 in each descendant,
 * which ends with 5.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "parent_child.h"

#define LONG 200000

/* 400,000 allocations of 16 and 48 bytes, half of them kept. */
SITE static void at_length(void)
{
    for (int i = 0; i < LONG; i++) {
        known_sink = malloc(16);
        void *volatile short_lived = malloc(48);
        free(short_lived);
    }
}

static int is(const char *how, const char *what)
{
    return !strcmp(how, what);
}

static void run_self(const char *self)
{
    execl(self, self, "child", (char *)NULL);
    _exit(9);
}

static int ended(pid_t child)
{
    int status = 0;

    return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : 99;
}

/* A child that allocates and one that runs another program. */
static int two_children(const char *self)
{
    pid_t one = fork(), other;

    if (one == 0) {
        in_child();
        _exit(5);
    }
    if ((other = fork()) == 0)
        run_self(self);
    return ended(one) == 5 && ended(other) == 5 ? 0 : 9;
}

/* Forks twice, so that it is nobody's child, and goes on when the program has ended and was waited
 * for. What is said of it comes after that, but for what `early` asks. */
static void daemonise(pid_t first, int early)
{
    if (fork() != 0)
        return;
    setsid();
    if (fork() != 0)
        _exit(0);
    if (early)
        in_child();
    while (kill(first, 0) == 0 || errno != ESRCH)
        usleep(2000);
    in_child();
    _exit(5);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "", *folder = argc > 2 ? argv[2] : "/";
    const char *self = argv[0];
    char command[4096];
    pid_t child;

    if (is(how, "child")) {
        in_child();
        _exit(5);
    }
    in_parent();
    if (is(how, "long")) {
        if ((child = fork()) == 0) {
            at_length();
            _exit(5);
        }
        return ended(child) == 5 ? 0 : 9;
    }
    if (is(how, "popen")) {
        snprintf(command, sizeof command, "exec '%s' child", self);
        return pclose(popen(command, "r")) == 5 << 8 ? 0 : 9;
    }
    if (is(how, "daemon") || is(how, "early")) {
        daemonise(getpid(), is(how, "early"));
        return 3;
    }
    if (is(how, "spawn-and-leave")) {
        if (vfork() == 0)
            run_self(self);
        return 3;
    }
    if (is(how, "chdir"))
        return chdir(folder) == 0 ? two_children(self) : 8;
    if (is(how, "uid"))
        return setgid(65534) == 0 && setuid(65534) == 0 ? two_children(self) : 8;
    if (is(how, "chroot"))
        return chdir(folder) == 0 && chroot(".") == 0 ? two_children("/descendants") : 8;
    return 9;
}
