/*
 * pool_totals: what each pool of a program held, at a moment or as a difference, largest first. A
 * pool is identified by the name of the innermost "frame" of its blocks' stacks
 * (store/recording.h).
 *
 * Ownership: names belong to the recording. {0} is empty.
 */
#ifndef TIDE_MODEL_POOL_TOTALS_H
#define TIDE_MODEL_POOL_TOTALS_H

#include "model/measure.h"

struct pool_total {
    const char *name; /* as the program gave it; not terminated */
    size_t name_size;
    struct value live;
};

struct pool_totals {
    VEC(struct pool_total) pools;
    struct value live; /* the sum of all pools */
};

void pool_totals_init(struct pool_totals *t, const struct recording *r, const struct profile *p,
                      const struct window *w);
void pool_totals_release(struct pool_totals *t);

#endif
