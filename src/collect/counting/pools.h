/*
 * pools: blocks of a program's own allocators, as it reports them (tide_alloc, tide_free).
 *
 * Each pool has a table of its own: a block of one may contain a whole other pool, at the same
 * address. Their blocks are counted in a domain of their own, separate from the heap that they
 * mostly come from. Numbers come from the program and are checked.
 */
#ifndef TIDE_COLLECT_COUNTING_POOLS_H
#define TIDE_COLLECT_COUNTING_POOLS_H

#include "base/map.h"
#include "collect/counting/blocks.h"

struct target;

struct pool {
    char *name; /* NULL: not reported yet */
    struct blocks live;
};

struct pools {
    VEC(struct pool) list;    /* by number */
    uint64_t unknown_frees;   /* frees of blocks that were never reported, or no longer exist */
    uint64_t replaced_blocks; /* blocks reported twice without a free in between */
};

void pools_name(struct target *t, uint64_t number, const char *name);
void pools_alloc(struct target *t, uint32_t number, uint32_t account, uint64_t address,
                 uint64_t size);
void pools_free(struct target *t, uint64_t number, uint64_t address);
/* Stores their names like names of functions, and adds notes about contradictions. */
void pools_finish(struct target *t, struct strpool *strings);
void pools_release_blocks(struct pools *p); /* of the blocks */
void pools_release(struct pools *p);

#endif
