#include "record/glibc_chunk.h"

static _Atomic(usable_of *) tried; /* NULL: none, or it is not as it should be */
static _Atomic unsigned agreed;

_Atomic(usable_of *) chunk_trusted;

void chunk_try(usable_of *usable)
{
    if (!atomic_load(&chunk_trusted))
        atomic_store(&tried, usable);
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
