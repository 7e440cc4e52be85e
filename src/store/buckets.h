/*
 * buckets: how sizes and lifetimes are sorted into histograms; docs/FORMAT.md describes the same.
 *
 * Sizes: one bucket for each power of two; 0 is in the bucket of 1. Lifetimes: everything below 1
 * ms is in the first bucket, then there is one for each power of two of milliseconds.
 */
#ifndef TIDE_STORE_BUCKETS_H
#define TIDE_STORE_BUCKETS_H

#include <stdint.h>

#define SIZE_BUCKETS     64u
#define LIFE_BUCKETS     46u
#define LIFE_SHORTEST_NS UINT64_C(1000000)

static inline unsigned size_bucket(uint64_t size)
{
    return 63 - (unsigned)__builtin_clzll(size | 1);
}

/* The smallest size in a bucket; for the bucket after the last, the end of all. */
static inline uint64_t size_bucket_from(unsigned bucket)
{
    return bucket == 0 ? 0 : bucket < SIZE_BUCKETS ? UINT64_C(1) << bucket : UINT64_MAX;
}

/* The shortest lifetime in a bucket, in ns. The recorder chooses the bucket (record/count.h). */
static inline uint64_t life_bucket_from(unsigned bucket)
{
    return bucket == 0 ? 0 : bucket < LIFE_BUCKETS ? LIFE_SHORTEST_NS << (bucket - 1) : UINT64_MAX;
}

#endif
