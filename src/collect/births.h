/*
 * births: when blocks were allocated, in 32 bits a block.
 *
 * Time is cut into eras, finer than intervals: a block holds the number of its era. An era ends
 * where an interval ends, so that it lies in one interval whatever is merged later; and after a
 * millisecond, or a small share of the time so far, so that there are few however long the run.
 */
#ifndef TIDE_COLLECT_BIRTHS_H
#define TIDE_COLLECT_BIRTHS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

#define ERA_LEAST_NS 1000000
#define ERA_SHARE    4096 /* of the time so far: an era is at least so small a part of it */

struct era {
    uint64_t start_ns;
    uint32_t tick; /* its blocks were allocated at this tick or later; the interval's that has it */
};

struct births {
    VEC(struct era) eras;
    uint64_t pass_ns; /* when events were last read: what is read next happened since */
};

/* The era that now begins is in the interval that begins with `tick`. It must begin if `forced`,
 * else only if the last one is old enough. */
void births_begin(struct births *b, uint64_t start_ns, uint32_t tick, bool forced);
static inline uint32_t births_now(const struct births *b)
{
    return (uint32_t)b->eras.count - 1;
}

#endif
