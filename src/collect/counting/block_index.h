/*
 * block_index: the live blocks of a process, in order of address.
 *
 * The program keeps the index in its own memory (wire/accounts.h). The collector reads it through
 * /proc/PID/mem each time, one window of addresses after the other, and keeps no copy unless it is
 * asked to (block_index_hold), so it needs no memory per block. The answer is exact if the program
 * stands still; else it may lack blocks that changed meanwhile. Damaged slots are left out.
 *
 * Reading costs as much as the heap was large when it was largest, even if most of it is free by
 * now: the pages of the index stay resident.
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

/* The blocks of a target, between block_index_hold and block_index_release. */
struct block_copy {
    unsigned holders;
    bool is_whole; /* else `blocks` is empty */
    VEC(struct copied_block) blocks;
};

/* `inherited`: the block existed when the process was forked; then it has no site. */
typedef void block_visit(void *context, const struct block *b, bool inherited);

/* Calls `visit` for each live block, in order of address. false: the program's memory cannot be
 * read, or is gone, so some blocks may be missing. */
bool block_index_each(struct target *t, block_visit *visit, void *context);
/* The same for callers that need few blocks: `visit` returns the address from which on the next
 * block is wanted. What comes before that is skipped cheaply. */
typedef uint64_t block_skim(void *context, const struct block *b);
bool block_index_skim(struct target *t, block_skim *visit, void *context);
/* block_index_each for whom only blocks matter that hold one of these addresses, which are in order:
 * `visit` is called for all of those, and for some others. */
bool block_index_near(struct target *t, const uint64_t *addresses, size_t count, block_visit *visit,
                      void *context);
/* For several questions about one moment: until block_index_release, block_index_each and
 * block_index_skim read the index once and answer from a copy, unless the blocks are too many for
 * one. Calls may be nested. */
void block_index_hold(struct target *t);
void block_index_release(struct target *t);
/* The block that contains an address now, searched for down to `lowest`; false: there is none. */
bool block_index_holding(struct target *t, uint64_t address, uint64_t lowest, struct block *out);
/* The number of live blocks, without reading any: as counted; and of inherited ones. */
uint64_t block_index_count(const struct target *t);
uint64_t block_index_count_inherited(const struct target *t);

#endif
