/*
 * array_growth: reports to the collector the steps in which arrays may grow; it decides which of
 * them are steps, and adds them up (collect/counting/realloc_chains.h).
 *
 * A step is a realloc to a larger size, or a block that is freed right after a larger one was
 * allocated. [malloc-free], no lock. Call these between thread_enter() and thread_leave().
 */
#ifndef TIDE_RECORD_ARRAY_GROWTH_H
#define TIDE_RECORD_ARRAY_GROWTH_H

#include "record/recorder.h"

struct growth_step {
    uintptr_t from, to; /* addresses of the old and the new block */
    uint64_t size;      /* of the new block */
    struct indexed old;
    uint32_t account, era; /* of the new block */
    bool by_realloc;
};

/* Reports a step of an array. */
void growth_step(struct thread *t, const struct growth_step *step);

#endif
