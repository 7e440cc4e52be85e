/*
 * pools: counts blocks of a program's own allocators, as it reports them (tide_alloc, tide_free),
 * and blocks and tensors of graphics processors, as the hooks of CUDA's driver and of PyTorch
 * report them. The latter are pools without a name (WIRE_POOL_TENSORS, WIRE_POOL_GPU_HANDLES and
 * WIRE_POOL_GPU).
 *
 * Each pool has a table of its own, because a block of one pool may contain a whole other pool at
 * the same address. Blocks of a program's own allocators are counted in a separate domain, although
 * their memory mostly comes from the heap. Blocks of graphics processors and tensors have a domain
 * each. The numbers of pools come from the program and are checked.
 */
#ifndef TIDE_COLLECT_COUNTING_POOLS_H
#define TIDE_COLLECT_COUNTING_POOLS_H

#include "base/map.h"
#include "collect/counting/blocks.h"

struct target;

struct pool {
    char *name; /* NULL: not reported yet */
    /* `usable` is how many refer to it: its memory is freed with the last (pools_gpu_reference). */
    struct blocks live;
};

/* A block as it was before a free. */
struct pool_free {
    uint64_t number; /* of the pool; 0: the block was not found */
    struct block block;
};

struct pools {
    VEC(struct pool) list; /* by number */
    /* Where memory of a graphics processor is mapped: `usable` is the handle. */
    struct blocks gpu_mapped;
    uint64_t unknown_frees;   /* frees of blocks that were never reported, or no longer exist */
    uint64_t replaced_blocks; /* blocks reported twice without a free in between */
};

/* What the blocks of a pool count as: the last numbers are no pools (wire/layout.h). */
enum domain pools_domain(uint32_t number);
void pools_name(struct target *t, uint64_t number, const char *name);
void pools_alloc(struct target *t, uint32_t number, uint32_t account, uint64_t address,
                 uint64_t size);
void pools_free(struct target *t, uint64_t number, uint64_t address, struct pool_free *freed);
/* The free of the block at this address was refused: it is still there. */
void pools_put_back(struct target *t, struct pool_free *freed, uint64_t address);
/* A handle's memory on a graphics processor is live until the handle was released as often as it
 * was created and retained, and it is mapped nowhere. `what` and the words: enum wire_unmap. */
void pools_gpu_reference(struct target *t, unsigned what, uint64_t address, uint64_t first,
                         uint64_t second);
/* Stores the names of pools like names of functions, and adds notes about contradictory reports. */
void pools_finish(struct target *t, struct strpool *strings);
void pools_release_blocks(struct pools *p); /* frees only the tables of blocks */
void pools_release(struct pools *p);

#endif
