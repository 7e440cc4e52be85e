/*
 * realloc_chains: arrays that grow, step by step, as the collector sees them happen.
 *
 * One step is a realloc to a larger size; or a thread allocates a block, and the very next thing it
 * does to the heap is to free one that is smaller, by a factor that arrays grow by, and was
 * allocated at the same place: that is what std::vector does, and arrays written by hand. The same
 * place is the same stack, or the same call instruction in the same function, called by the same
 * function, or from the same line (an array that several lines append to); or the old block was
 * allocated directly by one of the callers of what now grows it (a constructor, or reserve()), or,
 * where it has exactly half the size, by what that one called.
 *
 * Blocks of any size that replace each other look alike, so what contradicts growth is counted,
 * too: replacements at the same site by a smaller block, or by one that is larger by more than
 * that.
 *
 * Nothing is kept for a block that does not grow. Which chain a block belongs to is known by its
 * address, in a table of fixed size: 16,384 chains are followed at a time, and of those that share
 * a set of two the one that has not grown for longest gives way. It begins anew if it grows after
 * all. All of a chain is counted at the site at which it first grew.
 *
 * Not thread-safe.
 */
#ifndef TIDE_COLLECT_COUNTING_REALLOC_CHAINS_H
#define TIDE_COLLECT_COUNTING_REALLOC_CHAINS_H

#include <stdbool.h>

#include "collect/counting/blocks.h"
#include "store/recording.h"

struct target;

/* A block that was just allocated: what is freed next may be what it replaces. */
struct fresh {
    uint64_t address, size;
    uint32_t account;
    uint32_t birth;
};

struct chain_link;

/* A growth that was seen and is not counted yet: the chains' places in the table come from memory
 * meanwhile. */
struct growth {
    struct fresh fresh;
    struct block old;
    bool by_realloc;
};
#define REALLOC_CHAINS_PENDING 16u

struct realloc_chains {
    struct chain_link *links; /* NULL until something grows */
    struct growth pending[REALLOC_CHAINS_PENDING];
    uint32_t seen, counted; /* realloc_chains; those between them are pending */
    uint32_t serial;        /* of the last growth */
    VEC(uint32_t) row_of;   /* by account: its row + 1, or 0 */
    VEC(struct chain_row) rows;
};

/* `old` is freed and `f` was allocated directly before. */
void realloc_chains_replaced(struct target *t, const struct fresh *f, const struct block *old);
/* realloc made `f` of `old`. */
void realloc_chains_realloced(struct target *t, const struct fresh *f, const struct block *old);
/* After a pass over the rings: counts what is pending. */
void realloc_chains_settle(struct target *t);
/* Nothing more will come. */
void realloc_chains_let_go(struct target *t);
/* Fills target.profile's chains. */
void realloc_chains_finish(struct target *t);
void realloc_chains_release(struct target *t);

#endif
