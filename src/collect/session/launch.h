/*
 * launch: starts the program. If its heap is to be recorded, libtidemark.so is preloaded before
 * whatever is preloaded already. Whether the program can be recorded at all is decided by
 * executable.h.
 */
#ifndef TIDE_COLLECT_SESSION_LAUNCH_H
#define TIDE_COLLECT_SESSION_LAUNCH_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "collect/session/inherited_limits.h"

struct launch {
    char *const *argv;
    const char *library; /* NULL: nothing is preloaded */
    const char *socket, *key, *only;
    bool drop; /* --on-full=drop: rather lose records than let the program wait */
    const struct inherited_limits *inherited; /* the limits and signals to give to the program */
    /* Called before the program is executed, when its process exists; may be NULL. If it does not
     * return 0, the program is not executed. */
    int (*prepare)(void *context, pid_t pid, struct err *err);
    void *context;
};

/* Returns 0 and the pid, or a negative errno: the program could not be executed, or would run with
 * other rights (-EPERM), which makes recording impossible. A program whose loader cannot load our
 * library runs without it. */
int launch_program(const struct launch *l, pid_t *pid, struct err *err);

#endif
