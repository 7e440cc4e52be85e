/*
 * launch: starts the program. If its heap is recorded, libtidemark.so is preloaded before whatever
 * is preloaded already.
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
    bool drop;                                /* it would rather not be recorded than wait for us */
    const struct inherited_limits *inherited; /* what it is to find */
    /* Called before the program is executed, when its process is there; NULL: nothing to do. Not 0:
     * it is not executed. */
    int (*prepare)(void *context, pid_t pid, struct err *err);
    void *context;
};

/* 0 and the pid, or a negative errno: the program could not be executed, or would run with other
 * rights (-EPERM), which rules recording out. A program whose loader cannot take our library runs
 * without it. */
int launch_program(const struct launch *l, pid_t *pid, struct err *err);

#endif
