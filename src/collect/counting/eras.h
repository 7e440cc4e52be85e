/*
 * eras: when blocks were allocated, in 32 bits a block.
 *
 * Time is cut into eras, finer than intervals: a block holds the number of its era. An era ends
 * where an interval ends, so that it lies in one interval whatever is merged later; and after a
 * millisecond. What is known of eras is thinned out as they grow old, to a small share of their
 * age, so that there are few however long the run: a number that is not known any more is part of
 * the last known one before it, which is in the same interval.
 */
#ifndef TIDE_COLLECT_COUNTING_ERAS_H
#define TIDE_COLLECT_COUNTING_ERAS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

#define ERA_LEAST_NS 1000000
#define ERA_SHARE    4096 /* of its age: how long an era may be that was thinned out */

struct era {
    uint64_t start_ns;
    uint32_t tick; /* its blocks were allocated at this tick or later; the interval's that has it */
    uint32_t number;
};

struct eras {
    VEC(struct era) eras;
    uint32_t now;           /* number of the last */
    uint32_t complete_from; /* none is missing from this number on, */
    uint32_t gone;          /* so that these are at their number - gone */
    size_t crowd;           /* of eras: time to thin them out */
};

/* The era that now begins is in the interval that begins with `tick`. It must begin if `forced`,
 * else only if the last one is old enough. */
void eras_begin(struct eras *b, uint64_t start_ns, uint32_t tick, bool forced);
/* Before any event: the only era gets this number. */
void eras_start(struct eras *b, uint32_t number);
void eras_release(struct eras *b);

static inline uint32_t eras_now(const struct eras *b)
{
    return b->now;
}

size_t eras_search(const struct eras *b, uint32_t number);

/* The index of an era among those that are known. */
static inline size_t eras_index(const struct eras *b, uint32_t number)
{
    return number >= b->complete_from ? number - b->gone : eras_search(b, number);
}

#endif
