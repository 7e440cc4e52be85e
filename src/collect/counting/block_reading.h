/*
 * block_reading: reads the slots of a program's block index (wire/accounts.h) through /proc/PID/mem
 * and decodes the blocks in them. Only block_index.c uses it; it puts blocks in order and looks
 * them up.
 *
 * The program may have overwritten its index: slots that cannot be right are left out.
 */
#ifndef TIDE_COLLECT_COUNTING_BLOCK_READING_H
#define TIDE_COLLECT_COUNTING_BLOCK_READING_H

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "base/vec.h"
#include "collect/counting/blocks.h"
#include "collect/proc/remote_memory.h"
#include "wire/accounts.h"

struct target;

#define BLOCK_READING_PIECE 65536 /* bytes that are read at a time */

/* Called for each block that is read. Its site is not known yet: b->site is the account. */
typedef void block_found(void *context, struct block *b);

struct block_reading {
    block_found *found;
    void *context;
    bool freed_too; /* also report large blocks that were freed, until their slot is used again */
    struct target *target;
    struct remote_memory memory;
    VEC(struct wire_wide) wide; /* sizes that have no room in a slot; in no order */
    struct map wide_of;         /* address -> index in `wide`, for the blocks that are known */
};

/* Opens the memory of a target. Call block_reading_close in any case. */
void block_reading_open(struct block_reading *k, struct target *t, block_found *found,
                        void *context);
void block_reading_close(struct block_reading *k);
/* Reads where the parts of the index are (target.index_parts); false: the memory cannot be read, or
 * the process has ended. */
bool block_reading_find_parts(struct block_reading *k);
/* Reads the table of sizes that have no room in a slot. With `all`, all blocks with such sizes are
 * known from then on; otherwise only those that are passed to block_reading_know. */
void block_reading_find_wide(struct block_reading *k, bool all);
void block_reading_know(struct block_reading *k, size_t wide);
/* Is this a possible part of an index, or was it overwritten? */
bool block_reading_is_part(const struct wire_index_part *p);
/* Reads the slots of a part for the addresses from `start` to `end`, and calls `found` for each
 * block. */
void block_reading_run(struct block_reading *k, const struct wire_index_part *p, uint64_t start,
                       uint64_t end);
/* Calls `found` for one block, if its values are possible. */
void block_reading_add(struct block_reading *k, uint64_t address, uint32_t account, uint32_t era,
                       uint64_t size, uint64_t usable);

#endif
