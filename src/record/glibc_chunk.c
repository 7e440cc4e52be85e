#include "record/glibc_chunk.h"

static _Atomic(usable_of *) tried; /* NULL: none, or it is not as it should be */
static _Atomic unsigned agreed;

_Atomic(usable_of *) chunk_trusted;

void chunk_try(usable_of *usable)
{
    if (!atomic_load(&chunk_trusted))
        atomic_store(&tried, usable);
}

/* A block that was freed already may be a part of the free memory at the end of the heap. glibc's
 * malloc_usable_size would read behind that. While no sizes have disagreed, the one in front of the
 * block is as good: those of all blocks in the index have agreed. */
__attribute__((noinline)) size_t chunk_ask_freed(void *p, usable_of *usable)
{
    bool agrees = usable == atomic_load_explicit(&tried, memory_order_relaxed);
    uint64_t size = agrees ? chunk_size(p) : CHUNK_MAPPED;
    return size & CHUNK_MAPPED ? usable(p) : (size & ~(uint64_t)CHUNK_FLAGS) - 8;
}

__attribute__((noinline)) size_t chunk_ask(void *p, usable_of *usable)
{
    size_t said = usable(p);
    if (usable != atomic_load_explicit(&tried, memory_order_relaxed) ||
        atomic_load_explicit(&chunk_trusted, memory_order_relaxed))
        return said;
    uint64_t size = chunk_size(p);
    if (size & CHUNK_MAPPED)
        return said;
    if ((size & ~(uint64_t)CHUNK_FLAGS) - 8 != said)
        atomic_store(&tried, NULL);
    else if (atomic_fetch_add(&agreed, 1) + 1 == CHUNK_TRIED)
        atomic_store(&chunk_trusted, usable);
    return said;
}
