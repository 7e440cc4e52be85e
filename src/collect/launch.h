/*
 * launch: starts the program with libtidemark.so preloaded before whatever is preloaded already.
 */
#ifndef TIDE_COLLECT_LAUNCH_H
#define TIDE_COLLECT_LAUNCH_H

#include <signal.h>
#include <sys/types.h>

#include "base/err.h"
#include "collect/surroundings.h"

/* 0 and the pid, or a negative errno: the program could not be executed, or would run with other
 * rights (-EPERM), which rules preloading out. A program whose loader cannot take our library runs
 * without it. `surroundings`: what it is to find. */
int launch_program(char *const *argv, const char *library, const char *socket, const char *key,
                   const char *only, const struct surroundings *surroundings, pid_t *pid,
                   struct err *err);

#endif
