/*
 * histogram: how many blocks of a site were of which size, and how long they lived.
 *
 * Only what cannot be told otherwise is kept, a cell for some buckets of a site: sizes from the
 * first on that is not in the bucket of the site's first block, and lifetimes that the ledger does
 * not count itself. Most sites have no cell at all. Allocations that are in no cell are in the
 * first block's bucket, frees in that of the shortest lives.
 *
 * Not thread-safe.
 */
#ifndef TIDE_COLLECT_COUNTING_HISTOGRAM_H
#define TIDE_COLLECT_COUNTING_HISTOGRAM_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "store/recording.h"

enum histogram_of { HISTOGRAM_SIZES, HISTOGRAM_LIVES };

/* Four neighbouring buckets: a cache line. */
#define HISTOGRAM_GROUP 4u
struct histogram_cell {
    uint64_t key; /* site, enum histogram_of, group; and 1, so that 0 is an empty place */
    uint64_t bytes[HISTOGRAM_GROUP];
    uint32_t count[HISTOGRAM_GROUP];
    uint16_t counts_high[HISTOGRAM_GROUP]; /* 2^32 of count */
};
static_assert(sizeof(struct histogram_cell) == 64, "a cache line");

struct histogram {
    struct histogram_cell *cells;
    size_t mask, used; /* places - 1, and places taken: at most half */
};

/* The cell of a key, made if there is none. */
struct histogram_cell *histogram_make(struct histogram *h, uint64_t key);
/* Takes back what was added. */
void histogram_remove(struct histogram *h, enum histogram_of of, uint32_t site, unsigned bucket,
                      uint64_t count, uint64_t bytes);
void histogram_init(struct histogram *h);
/* Appends the cells of one kind, in no order. */
void histogram_rows(const struct histogram *h, enum histogram_of of, struct bucket_rows *out);
void histogram_release(struct histogram *h);

static inline uint64_t histogram_key(enum histogram_of of, uint32_t site, unsigned bucket)
{
    return (uint64_t)site << 8 | (uint64_t)of << 7 | bucket / HISTOGRAM_GROUP << 1 | 1;
}

static inline size_t histogram_home(const struct histogram *h, uint64_t key)
{
    return (size_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 32) & h->mask;
}

/* Some time before histogram_add. Inlined always: gcc takes a function that only prefetches for one
 * that does nothing, and leaves out its calls. */
static inline __attribute__((always_inline)) void
histogram_prefetch(const struct histogram *h, enum histogram_of of, uint32_t site, unsigned bucket)
{
    __builtin_prefetch(&h->cells[histogram_home(h, histogram_key(of, site, bucket))]);
}

static inline uint64_t histogram_count(const struct histogram_cell *c, unsigned i)
{
    return (uint64_t)c->counts_high[i] << 32 | c->count[i];
}

static inline void histogram_add(struct histogram *h, enum histogram_of of, uint32_t site,
                                 unsigned bucket, uint64_t count, uint64_t bytes)
{
    uint64_t key = histogram_key(of, site, bucket);
    struct histogram_cell *cell = &h->cells[histogram_home(h, key)];
    if (__builtin_expect(cell->key != key, 0))
        cell = histogram_make(h, key);
    unsigned i = bucket % HISTOGRAM_GROUP;
    count += histogram_count(cell, i);
    cell->count[i] = (uint32_t)count;
    cell->counts_high[i] = (uint16_t)(count >> 32);
    cell->bytes[i] += bytes;
}

#endif
