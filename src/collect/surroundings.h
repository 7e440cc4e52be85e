/*
 * surroundings: what the program would inherit if the collector did not stand in between.
 *
 * The collector changes its own limits and signals: it needs a descriptor a process, shared memory
 * (whose size counts as a file's), symbols; and a limit or a broken pipe must be an error for it
 * and not its end. The program gets everything back as it was.
 */
#ifndef TIDE_COLLECT_SURROUNDINGS_H
#define TIDE_COLLECT_SURROUNDINGS_H

#include <signal.h>
#include <sys/resource.h>

#define SURROUNDINGS_LIMITS  5
#define SURROUNDINGS_SIGNALS 3

struct surroundings {
    struct rlimit limits[SURROUNDINGS_LIMITS];
    struct sigaction signals[SURROUNDINGS_SIGNALS];
    sigset_t mask;
};

/* Keeps what there is; raises soft limits as far as the hard ones allow; ignores SIGPIPE and
 * SIGXFSZ, and not SIGCHLD. */
void surroundings_save(struct surroundings *in);
/* In the child that will be the program. */
void surroundings_restore(const struct surroundings *in);

#endif
