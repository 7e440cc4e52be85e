/*
 * inherited_limits: what the program would inherit if the collector did not stand in between.
 *
 * The collector changes its own limits and signals: it needs a descriptor a process, shared memory
 * (whose size counts as a file's), symbols; and a limit or a broken pipe must be an error for it
 * and not its end. The program gets everything back as it was.
 */
#ifndef TIDE_COLLECT_SESSION_INHERITED_LIMITS_H
#define TIDE_COLLECT_SESSION_INHERITED_LIMITS_H

#include <signal.h>
#include <sys/resource.h>

#define INHERITED_RLIMITS 5
#define INHERITED_SIGNALS 3

struct inherited_limits {
    struct rlimit limits[INHERITED_RLIMITS];
    struct sigaction signals[INHERITED_SIGNALS];
    sigset_t mask;
};

/* Keeps what there is; raises soft limits as far as the hard ones allow; ignores SIGPIPE and
 * SIGXFSZ, and not SIGCHLD. */
void inherited_limits_save(struct inherited_limits *in);
/* In the child that will be the program. */
void inherited_limits_restore(const struct inherited_limits *in);

#endif
