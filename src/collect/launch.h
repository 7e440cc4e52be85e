/*
 * launch: starts the program with libtidemark.so preloaded before whatever is preloaded already.
 */
#ifndef TIDE_COLLECT_LAUNCH_H
#define TIDE_COLLECT_LAUNCH_H

#include <signal.h>
#include <sys/types.h>

#include "base/err.h"

/* Signals as the collector found them, which is how the program is to find them. */
struct launch_signals {
    sigset_t mask;
    struct sigaction pipe, child;
};
/* Keeps them; then SIGPIPE is ignored here and SIGCHLD is not. */
void launch_keep_signals(struct launch_signals *signals);

/* 0 and the pid, or a negative errno: the program could not be executed, or would run with other
 * rights (-EPERM), which rules preloading out. A program whose loader cannot take our library runs
 * without it. */
int launch_program(char *const *argv, const char *library, const char *socket, const char *key,
                   const char *only, const struct launch_signals *signals, pid_t *pid,
                   struct err *err);

#endif
