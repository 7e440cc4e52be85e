/*
 * pools: blocks of a program's own allocators, as it tells of them (tide_alloc, tide_free).
 *
 * Each pool has a table of its own: a block of one may hold a whole other pool, at the same
 * address. What they hold is counted in a domain of its own, apart from the heap that it mostly
 * comes from. Numbers come from the program and are checked.
 */
#ifndef TIDE_COLLECT_COUNTING_POOLS_H
#define TIDE_COLLECT_COUNTING_POOLS_H

#include "base/map.h"
#include "collect/counting/blocks.h"

struct target;

struct pool {
    char *name; /* NULL: not told yet */
    struct blocks live;
};

struct pools {
    VEC(struct pool) list;    /* by number */
    uint64_t unknown_frees;   /* of blocks that were never told of, or not any more */
    uint64_t replaced_blocks; /* told of twice with no free between */
};

void pools_name(struct target *t, uint64_t number, const char *name);
void pools_alloc(struct target *t, uint32_t number, uint32_t account, uint64_t address,
                 uint64_t size);
void pools_free(struct target *t, uint64_t number, uint64_t address);
/* Puts their names where the names of functions go, and notes what was odd. */
void pools_finish(struct target *t, struct strpool *strings);
void pools_let_go(struct pools *p); /* of the blocks */
void pools_release(struct pools *p);

#endif
