/*
 * chunk: how much of a block can be used. glibc keeps the size in front of the block; to read it
 * there spares a call that also looks behind the block, which its free does not.
 *
 * It is read once it was found there: the first CHUNK_TRIED blocks are compared with what the
 * allocator says, and one that differs ends it for good (MALLOC_CHECK_, tagged memory). Blocks that
 * have a mapping of their own are always asked for.
 */
#ifndef TIDE_RECORD_CHUNK_H
#define TIDE_RECORD_CHUNK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CHUNK_TRIED  64
#define CHUNK_MAPPED 2u
#define CHUNK_FLAGS  7u

typedef size_t usable_of(void *);

extern _Atomic(usable_of *) chunk_trusted; /* what it says is in front of blocks; NULL: not known */

/* This is glibc's, and may be found to be so. */
void chunk_try(usable_of *usable);
/* Asks. */
size_t chunk_ask(void *p, usable_of *usable);

static inline uint64_t chunk_size(const void *p)
{
    return ((const volatile uint64_t *)p)[-1];
}

/* Without flags. */
static inline uint64_t chunk_bytes(const void *p)
{
    return chunk_size(p) & ~(uint64_t)CHUNK_FLAGS;
}

/* Is this what asks, and does it say what is in front of blocks? */
static inline bool chunk_is_trusted(usable_of *usable)
{
    return __builtin_expect(
        usable && usable == atomic_load_explicit(&chunk_trusted, memory_order_relaxed), 1);
}

static inline size_t chunk_usable(void *p, usable_of *usable)
{
    if (__builtin_expect(usable == atomic_load_explicit(&chunk_trusted, memory_order_relaxed), 1)) {
        uint64_t size = chunk_size(p);
        if (__builtin_expect(!(size & CHUNK_MAPPED), 1))
            return (size & ~(uint64_t)CHUNK_FLAGS) - 8;
    }
    return chunk_ask(p, usable);
}

#endif
