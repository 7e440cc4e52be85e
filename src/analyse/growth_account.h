/*
 * growth_account: what the process's resident memory was made of (struct footprint) at the first
 * and the last moment that count, and whose blocks keep pages that are mostly empty.
 */
#ifndef TIDE_ANALYSE_GROWTH_ACCOUNT_H
#define TIDE_ANALYSE_GROWTH_ACCOUNT_H

#include "analyse/places.h"

/* A function whose live blocks keep pages. */
struct growth_pin {
    uint32_t place, call; /* in places */
    int64_t pinned_bytes; /* free bytes on these pages that are its share */
    int64_t bytes;        /* of its blocks there */
};

struct growth_account {
    const struct footprint *first, *last; /* NULL: there is none; first also if there is but one */
    VEC(struct growth_pin) pins;          /* of the last, the largest first */
};

/* `since_ns`: the first moment that counts. */
void growth_account_init(struct growth_account *a, const struct places *places, uint64_t since_ns);
void growth_account_release(struct growth_account *a);

/* A part's bytes; what they gained from the first to the last. */
int64_t growth_account_part(const struct growth_account *a, enum footprint_part part);
int64_t growth_account_gain(const struct growth_account *a, enum footprint_part part);
/* RSS less all parts that are known for what they are: all parts and it add up to RSS. */
int64_t footprint_rest(const struct footprint *f);
/* At least so much of RSS is not explained: what is of unknown origin, and what the kernel's count
 * differs from ours. */
uint64_t footprint_unexplained(const struct footprint *f);

#endif
