/*
 * glibc_chunk: the usable size of a block.
 *
 * glibc stores it in front of the block. Reading it there saves a call that also reads behind the
 * block, which a free does not. It is read only after it was verified: the first CHUNK_TRIED blocks
 * are compared with what the allocator reports, and one difference ends it for good (MALLOC_CHECK_,
 * tagged memory). For blocks with a mapping of their own the allocator is always asked.
 */
#ifndef TIDE_RECORD_GLIBC_CHUNK_H
#define TIDE_RECORD_GLIBC_CHUNK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CHUNK_TRIED  64
#define CHUNK_MAPPED 2u
#define CHUNK_FLAGS  7u

typedef size_t usable_of(void *);

/* The function whose answer is in front of blocks; NULL: not known. */
extern _Atomic(usable_of *) chunk_trusted;

/* The function is glibc's, and may be verified. */
void chunk_try(usable_of *usable);
/* Asks the allocator. */
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

/* Is this the verified function? */
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
