/*
 * block_index: the live blocks of a process, in order of address.
 *
 * The program keeps them in its own memory (wire/accounts.h), which is read
 * through /proc/PID/mem each time, a window of addresses after the other: nothing is kept here, so
 * the collector needs no memory per block. What is read is as the program left it: whole if it
 * stands still, else without what changed meanwhile. Nonsense is passed over.
 */
#ifndef TIDE_COLLECT_COUNTING_BLOCK_INDEX_H
#define TIDE_COLLECT_COUNTING_BLOCK_INDEX_H

#include <stdbool.h>
#include <stdint.h>

struct block;
struct target;

/* `inherited`: the block was there when the process was forked; it has no site then. */
typedef void block_visit(void *context, const struct block *b, bool inherited);

/* Calls `visit` for each live block, in order of address. false: the program's memory cannot be
 * read, or it is gone, and there may have been others. */
bool block_index_each(struct target *t, block_visit *visit, void *context);
/* The same for whom a few are enough: `visit` says from which address on the next one is wanted.
 * What comes before that is hardly looked at. */
typedef uint64_t block_skim(void *context, const struct block *b);
bool block_index_skim(struct target *t, block_skim *visit, void *context);
/* The block that holds an address now, looked for down to `lowest`; false: there is none. */
bool block_index_holding(struct target *t, uint64_t address, uint64_t lowest, struct block *out);
/* The same among those that it inherited. */
bool block_index_inherited(struct target *t, uint64_t address, uint64_t lowest, struct block *out);
/* The live blocks that there are, without reading any: as they were counted, and those that it
 * inherited. */
uint64_t block_index_count(const struct target *t);
uint64_t block_index_count_inherited(const struct target *t);

#endif
