/*
 * block_index: the live blocks of a process, in order of address.
 *
 * The program keeps the index in its own memory (wire/accounts.h). The collector reads it through
 * /proc/PID/mem each time, one window of addresses after the other, and keeps no copy unless it is
 * asked to (block_index_hold), so it needs no memory per block. The result is exact if the program
 * is stopped; otherwise blocks that were allocated or freed meanwhile may be missing. Damaged slots
 * are left out.
 *
 * The cost of reading depends on the largest size that the heap has had, even if most of it is free
 * now, because the pages of the index stay resident.
 */
#ifndef TIDE_COLLECT_COUNTING_BLOCK_INDEX_H
#define TIDE_COLLECT_COUNTING_BLOCK_INDEX_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "collect/counting/blocks.h"

struct target;

struct copied_block {
    struct block block;
    bool is_inherited;
};

/* Called for each block. `inherited`: the block existed when the process was forked, so it has no
 * site. */
typedef void block_visit(void *context, const struct block *b, bool inherited);
/* Calls `visit` for all blocks that `lender` has. */
typedef void block_lend(const void *lender, block_visit *visit, void *context);

/* The blocks of a target, between block_index_hold and block_index_release. */
struct block_copy {
    unsigned holders;
    bool is_whole; /* false: `blocks` is empty */
    VEC(struct copied_block) blocks;
    block_lend *lend; /* NULL: nobody has all of them */
    const void *lender;
};

/* Calls `visit` for each live block, in order of address. false: the program's memory cannot be
 * read, or is gone, so some blocks may be missing. */
bool block_index_each(struct target *t, block_visit *visit, void *context);
/* Like block_index_each, for callers that need no inherited blocks: `visit` is called for some of
 * them or for none. In a forked process only those pages of the index are read that it has written
 * to since the fork. */
bool block_index_own(struct target *t, block_visit *visit, void *context);
/* Like block_index_each, for callers that need few blocks: `visit` returns the address from which
 * on it wants the next block. Blocks before that address are skipped cheaply. */
typedef uint64_t block_skim(void *context, const struct block *b);
bool block_index_skim(struct target *t, block_skim *visit, void *context);
/* Like block_index_each, for callers that need only the blocks that contain one of these addresses,
 * which must be in order. `visit` is called for all of these blocks, and for some others. */
bool block_index_near(struct target *t, const uint64_t *addresses, size_t count, block_visit *visit,
                      void *context);
/* Makes a copy for several readings of the same moment: until block_index_release, block_index_each
 * and block_index_skim read the index once and then use the copy, unless there are too many blocks
 * for a copy. Calls may be nested. */
void block_index_hold(struct target *t);
void block_index_release(struct target *t);
/* The caller has all blocks of this moment: until block_index_release, block_index_each asks it for
 * them. */
void block_index_lend(struct target *t, block_lend *lend, const void *lender);
/* The block that contains an address now, searched for down to `lowest`; false: there is none. */
bool block_index_holding(struct target *t, uint64_t address, uint64_t lowest, struct block *out);
/* The number of live blocks, and of live inherited blocks, from the counters, without reading the
 * index. */
uint64_t block_index_count(const struct target *t);
uint64_t block_index_count_inherited(const struct target *t);

#endif
