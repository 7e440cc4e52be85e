/*
 * array_growth: finds arrays that grow step by step, and reports the steps to the collector, which
 * adds them up (collect/counting/realloc_chains.h).
 *
 * A step is a realloc to a larger size, or a block that is freed right after a larger one was
 * allocated. Most arrays of most programs are small and grow once or twice: of an array of less than
 * GROWTH_LARGE bytes, the first steps are kept back, and reported when there is one more. So the
 * collector never hears of arrays that grow less often. [malloc-free], no lock. Call these between
 * thread_enter() and thread_leave().
 */
#ifndef TIDE_RECORD_ARRAY_GROWTH_H
#define TIDE_RECORD_ARRAY_GROWTH_H

#include "record/recorder.h"

#define GROWTH_LARGE 4096u /* bytes */
/* Steps that are kept back: a site whose arrays all have so few is never shown
 * (analyse/realloc_chains.c). */
#define GROWTH_KEPT 2u

struct growth_step {
    uintptr_t from, to; /* addresses of the old and the new block */
    uint64_t size;      /* of the new block */
    struct indexed old;
    uint32_t account, era; /* of the new block */
    bool by_realloc;
};

/* The last steps of an array that grows. */
struct growing_array {
    struct growth_step steps[GROWTH_KEPT]; /* the last of them is the last step of the array */
    uint32_t kept; /* number of steps that are not reported yet; 0: all were reported */
    bool used;
};
#define GROWING_ARRAYS 256u

/* Counts a step of an array. */
void growth_step(struct thread *t, const struct growth_step *step);

#endif
