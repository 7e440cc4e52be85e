/*
 * eras: when blocks were allocated, in 32 bits per block.
 *
 * Time is divided into eras, finer than intervals; a block stores the number of its era. An era
 * ends after a millisecond, or earlier where an interval ends, so that it is always inside one
 * interval, whichever intervals are merged later. The program stores the number with each block
 * (wire/accounts.h); interval_log.h decides how long intervals are. Old eras are merged until each
 * lasts a small share of its age, so there are few eras however long the run is. The number of an
 * era that was merged stands for the last known era before it, which is in the same interval.
 */
#ifndef TIDE_COLLECT_COUNTING_ERAS_H
#define TIDE_COLLECT_COUNTING_ERAS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

#define ERA_LEAST_NS 1000000
#define ERA_SHARE    4096 /* a merged era lasts at most its age divided by this */

struct era {
    uint64_t start_ns;
    uint32_t tick; /* the tick of its interval: its blocks were allocated at this tick or later */
    uint32_t number;
};

struct eras {
    VEC(struct era) eras;
    uint32_t now;           /* number of the current era */
    uint32_t complete_from; /* no era is missing from this number on */
    uint32_t gone;          /* from complete_from on, an era is at index number - gone */
    size_t crowd;           /* number of eras at which old ones are merged next */
};

/* Begins an era in the interval that begins with `tick`; unless `forced`, only if the last one is
 * old enough. */
void eras_begin(struct eras *b, uint64_t start_ns, uint32_t tick, bool forced);
/* Call it before any event: gives the only era this number. */
void eras_start(struct eras *b, uint32_t number);
void eras_release(struct eras *b);

static inline uint32_t eras_now(const struct eras *b)
{
    return b->now;
}

size_t eras_search(const struct eras *b, uint32_t number);

/* The index of an era among the known ones. */
static inline size_t eras_index(const struct eras *b, uint32_t number)
{
    return number >= b->complete_from ? number - b->gone : eras_search(b, number);
}

#endif
