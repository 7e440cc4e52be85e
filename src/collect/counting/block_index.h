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

/* `inherited`: the block was there when the process was forked; it has no site then. */
typedef void block_visit(void *context, const struct block *b, bool inherited);

/* Calls `visit` for each live block, in order of address. false: the program's memory cannot be
 * read, or it is gone, and there may have been others. */
bool block_index_each(struct target *t, block_visit *visit, void *context);
/* The same for whom a few are enough: `visit` says from which address on the next one is wanted.
 * What comes before that is hardly looked at. */
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
/* The block that holds an address now, looked for down to `lowest`; false: there is none. */
bool block_index_holding(struct target *t, uint64_t address, uint64_t lowest, struct block *out);
/* The live blocks that there are, without reading any: as they were counted, and those that it
 * inherited. */
uint64_t block_index_count(const struct target *t);
uint64_t block_index_count_inherited(const struct target *t);

#endif
