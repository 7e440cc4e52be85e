/*
 * glibc_chunk: the usable size of a block.
 *
 * glibc stores the size in front of the block. Reading it there is faster than malloc_usable_size,
 * which also reads memory after the block. It is used only after it was verified: for the first
 * CHUNK_TRIED blocks, it is compared with what the allocator reports, and after one difference it
 * is never used (MALLOC_CHECK_, tagged memory). For blocks with a mapping of their own the
 * allocator is always asked.
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

/* The verified function: its result is also in front of each block. NULL: not verified. */
extern _Atomic(usable_of *) chunk_trusted;

/* Begins to verify a function, which must be glibc's malloc_usable_size. */
void chunk_try(usable_of *usable);
/* Calls `usable`, and compares the result with the size in front of the block while it is being
 * verified. */
size_t chunk_ask(void *p, usable_of *usable);
/* The same for a block that is about to be freed, and may be none. */
size_t chunk_ask_freed(void *p, usable_of *usable);

static inline uint64_t chunk_size(const void *p)
{
    return ((const volatile uint64_t *)p)[-1];
}

/* The size of the chunk without its flags. */
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

/* false: it is not in front of the block. */
static inline bool chunk_read(const void *p, usable_of *usable, size_t *out)
{
    if (__builtin_expect(usable != atomic_load_explicit(&chunk_trusted, memory_order_relaxed), 0))
        return false;
    uint64_t size = chunk_size(p);
    *out = (size & ~(uint64_t)CHUNK_FLAGS) - 8;
    return __builtin_expect(!(size & CHUNK_MAPPED), 1);
}

static inline size_t chunk_usable(void *p, usable_of *usable)
{
    size_t size;
    return chunk_read(p, usable, &size) ? size : chunk_ask(p, usable);
}

/* Of a block that is about to be freed. */
static inline size_t chunk_freed(void *p, usable_of *usable)
{
    size_t size;
    return chunk_read(p, usable, &size) ? size : chunk_ask_freed(p, usable);
}

#endif
