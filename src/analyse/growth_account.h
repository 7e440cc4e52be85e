/*
 * growth_account: what the process's resident memory consisted of (struct footprint) at the first
 * and the last moment that count, and whose blocks keep pages that are mostly empty.
 *
 * Ownership: the footprints are the profile's; growth_account_release frees the list.
 */
#ifndef TIDE_ANALYSE_GROWTH_ACCOUNT_H
#define TIDE_ANALYSE_GROWTH_ACCOUNT_H

#include "analyse/places.h"

/* A function whose live blocks keep pages resident. */
struct growth_pin {
    uint32_t place, call; /* in places */
    int64_t pinned_bytes; /* its share of the free bytes on these pages */
    int64_t bytes;        /* bytes of its blocks there */
};

struct growth_account {
    /* NULL: there is none; `first` also if there is only one. */
    const struct footprint *first, *last;
    VEC(struct growth_pin) pins; /* of the last footprint, the largest first */
};

/* `since_ns`: the first moment that counts. */
void growth_account_init(struct growth_account *a, const struct places *places, uint64_t since_ns);
void growth_account_release(struct growth_account *a);

/* The bytes of a part; how much it gained from the first to the last. */
int64_t growth_account_part(const struct growth_account *a, enum footprint_part part);
int64_t growth_account_gain(const struct growth_account *a, enum footprint_part part);
/* RSS without all parts whose kind is known: the parts and this rest add up to RSS. */
int64_t footprint_rest(const struct footprint *f);
/* At least so much of RSS is unexplained: memory of unknown origin, and the difference between the
 * kernel's count and ours. */
uint64_t footprint_unexplained(const struct footprint *f);

#endif
