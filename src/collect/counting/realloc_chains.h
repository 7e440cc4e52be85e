/*
 * realloc_chains: finds arrays that grow step by step, while the program runs.
 *
 * A step is a realloc to a larger size; or a thread allocates a block, and its next operation on
 * the heap frees a block that was allocated at the same place and is smaller by a factor by which
 * arrays grow. The latter is what std::vector and hand-written arrays do. The same place means one
 * of these: the same stack; the same call instruction in the same function, called by the same
 * function; the same line (an array to which several lines append); the old block was allocated
 * directly by one of the callers of what now grows it (a constructor, or reserve()), or, if it has
 * exactly half the size, by a function that such a caller called.
 *
 * Blocks of any size that replace each other look similar, so contradictions are counted too:
 * replacements at the same site by a smaller block, or by one that is larger by more than that
 * factor.
 *
 * Nothing is kept for a block that does not grow. The chain of a block is found by its address in a
 * table of fixed size: 16,384 chains are followed at a time. The table has sets of two chains. If a
 * set is full, the chain that has not grown for the longest time is dropped; it begins anew if it
 * grows again. The whole chain is counted at the site at which it first grew. What is listed is
 * decided by analyse/realloc_chains.h. Not thread-safe.
 */
#ifndef TIDE_COLLECT_COUNTING_REALLOC_CHAINS_H
#define TIDE_COLLECT_COUNTING_REALLOC_CHAINS_H

#include <stdbool.h>

#include "collect/counting/blocks.h"
#include "store/recording.h"

struct target;

/* A block that was just allocated: the block that is freed next may be the one that it replaces. */
struct fresh {
    uint64_t address, size;
    uint32_t account;
    uint32_t birth;
};

struct chain_link;

/* A growth that was seen but not counted yet, while the chain's entry in the table is being loaded
 * into the cache. */
struct growth {
    struct fresh fresh;
    struct block old;
    bool by_realloc;
};
#define REALLOC_CHAINS_PENDING 16u

struct realloc_chains {
    struct chain_link *links; /* NULL until something grows */
    struct growth pending[REALLOC_CHAINS_PENDING];
    uint32_t seen, counted; /* numbers of growths; those from `counted` to `seen` are pending */
    uint32_t serial;        /* number of the last growth */
    VEC(uint32_t) row_of;   /* by account: its row + 1, or 0 */
    VEC(struct chain_row) rows;
};

/* Handles a block `old` that is freed right after `f` was allocated. */
void realloc_chains_replaced(struct target *t, const struct fresh *f, const struct block *old);
/* Handles a realloc that turned `old` into `f`. */
void realloc_chains_realloced(struct target *t, const struct fresh *f, const struct block *old);
/* Counts all pending growths. Call it after a pass over the rings. */
void realloc_chains_settle(struct target *t);
/* Frees the table of chains, because no more growths will come. */
void realloc_chains_release_links(struct target *t);
/* Fills target.profile's chains. */
void realloc_chains_finish(struct target *t);
void realloc_chains_release(struct target *t);

#endif
