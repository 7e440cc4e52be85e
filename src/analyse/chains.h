/*
 * chains: arrays that grow by doubling: allocate twice as much, copy, free the smaller one.
 *
 * Single blocks are not in a recording, but the sizes of a stack's allocations are, in buckets of
 * powers of two. A chain is told by this: every bucket up to the largest size holds blocks of one
 * size only, each size is exactly half the next one, no size is more frequent than a smaller one,
 * and no more blocks were ever live than chains can have at a time. Growth by another factor is not
 * recognised. What was copied is what the smaller blocks held when they were full.
 *
 * Ownership: chains_release frees the list.
 */
#ifndef TIDE_ANALYSE_CHAINS_H
#define TIDE_ANALYSE_CHAINS_H

#include "analyse/places.h"

struct chain {
    uint32_t call;    /* in places */
    uint32_t length;  /* sizes, from the first to the final one */
    uint64_t count;   /* how often one was begun */
    uint64_t growths; /* in all of them */
    uint64_t first_bytes, final_bytes;
    uint64_t copied_bytes;         /* in all of them; by realloc: at most */
    uint64_t transient_peak_bytes; /* while the last copy is made: the old block and the new one */
    bool by_realloc;
};

struct chains {
    VEC(struct chain) list; /* most copied first */
};

void chains_find(struct chains *c, const struct places *places);
void chains_release(struct chains *c);

#endif
