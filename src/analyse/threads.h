/*
 * threads: what each thread had live at moments of the run, and the process beside them.
 *
 * A block counts for the thread that allocated it, whichever thread frees it. What a thread freed
 * of other threads' blocks is counted too, for all blocks, regardless of the filter. Each thread
 * has a line of its own, also if its id was reused or another thread has the same name. Moments are
 * ends of intervals; if there are too many, some are taken at even distances. The value of the
 * process at a moment is its highest since the moment before. The value of a thread is what it had
 * at the moment, and so is that of the process if the filter leaves stacks out.
 *
 * Ownership: borrows recording and query; threads_release frees the rest.
 */
#ifndef TIDE_ANALYSE_THREADS_H
#define TIDE_ANALYSE_THREADS_H

#include "model/answer.h"

#define THREADS_MOMENTS 1024
#define THREADS_PROCESS UINT32_MAX /* the line of the whole process */

struct timeline_line {
    uint32_t thread;                 /* index into profile.threads */
    const struct thread *info;       /* what was recorded about it */
    char *name;                      /* with its id, if several have the same name */
    int64_t live_bytes, live_blocks; /* at the end of the window */
    int64_t allocations, allocated_bytes, freed_bytes; /* of its own blocks, in the window */
    int64_t foreign_blocks, foreign_bytes; /* freed in the window, allocated by other threads */
    int64_t at_peak_bytes;                 /* at the process's peak */
    int64_t highest_bytes;                 /* the highest of the moments */
    uint64_t highest_ns;
    /* At each moment; the last two since the window began, in bytes. */
    int64_t *live, *allocated, *foreign;
};

struct threads {
    const struct recording *recording;
    const struct profile *profile;
    struct window window;
    size_t moments;
    uint64_t *time_ns;
    size_t *intervals;               /* number of intervals before each moment */
    int64_t *process;                /* highest live total since the moment before */
    int64_t *total;                  /* live total at the moment */
    int64_t *running;                /* the same without processes that have ended */
    bool *counted;                   /* by site: it passes the filter */
    bool part;                       /* a part of the heap is left out by the filter */
    VEC(struct timeline_line) lines; /* highest first */
    uint64_t peak_bytes;             /* of the process in the window */
};

/* `q`: process, filter, since and at. */
int threads_init(struct threads *t, const struct recording *r, const struct query *q,
                 struct err *err);
void threads_release(struct threads *t);

#endif
