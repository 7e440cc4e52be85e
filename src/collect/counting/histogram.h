/*
 * histogram: how many blocks of a site had which size, and how long they lived.
 *
 * Only counts that cannot be derived are kept, in cells for some buckets of a site: sizes, as soon
 * as one is not in the bucket of the site's first block, and lifetimes that the ledger does not
 * count itself. (A cell is a short array of counts.) Most sites have no cell at all. An allocation
 * that is in no cell is in the bucket of the first block; a free that is in no cell is in the
 * bucket of the shortest lifetimes. The limits of the buckets are in store/buckets.h. Not
 * thread-safe.
 */
#ifndef TIDE_COLLECT_COUNTING_HISTOGRAM_H
#define TIDE_COLLECT_COUNTING_HISTOGRAM_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "store/recording.h"

enum histogram_of { HISTOGRAM_SIZES, HISTOGRAM_LIVES };

/* Four neighbouring buckets: one cache line. */
#define HISTOGRAM_GROUP 4u
struct histogram_cell {
    uint64_t key; /* site, enum histogram_of, group; and 1, so that 0 is an empty entry */
    uint64_t bytes[HISTOGRAM_GROUP];
    uint32_t count[HISTOGRAM_GROUP];
    uint16_t counts_high[HISTOGRAM_GROUP]; /* multiples of 2^32 of the counts */
};
static_assert(sizeof(struct histogram_cell) == 64, "a cache line");

struct histogram {
    struct histogram_cell *cells;
    size_t mask, used; /* entries - 1, and used entries: at most half */
};

/* The cell of a key, added if there is none. */
struct histogram_cell *histogram_make(struct histogram *h, uint64_t key);
void histogram_init(struct histogram *h);
/* Appends the cells of one kind, unsorted. */
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
