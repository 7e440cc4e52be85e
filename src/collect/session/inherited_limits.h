/*
 * inherited_limits: the limits and signals that the program would inherit without the collector.
 *
 * The collector changes its own limits and signal handling: it needs a descriptor for each process,
 * shared memory (whose size counts as that of a file) and symbols, and it must not die of a limit
 * or of a broken pipe. The program starts with the original limits and signal handling.
 */
#ifndef TIDE_COLLECT_SESSION_INHERITED_LIMITS_H
#define TIDE_COLLECT_SESSION_INHERITED_LIMITS_H

#include <signal.h>
#include <sys/resource.h>

#define INHERITED_RLIMITS 6
#define INHERITED_SIGNALS 3

struct inherited_limits {
    struct rlimit limits[INHERITED_RLIMITS];
    struct sigaction signals[INHERITED_SIGNALS];
    sigset_t mask;
};

/* Saves the present state. Then raises soft limits as far as the hard ones allow, ignores SIGPIPE
 * and SIGXFSZ, and stops ignoring SIGCHLD. */
void inherited_limits_save(struct inherited_limits *in);
/* Call it in the child that will become the program. */
void inherited_limits_restore(const struct inherited_limits *in);

#endif
