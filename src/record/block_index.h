/*
 * block_index: the live blocks by address, in the program's own memory, so that a forked child has
 * a copy of it. Laid out as wire/accounts.h says; the collector reads it where it is.
 *
 * A block has a slot of its own for as long as it lives: a part of memory of 2^n bytes cannot hold
 * the beginnings of two live blocks that have as many each. So the slot is found by the address and
 * by what can be used of the block, which its allocator says at the free as it did at the
 * allocation. Blocks whose allocator cannot be asked are told: they are found by address alone, in
 * parts of 16 and 8 bytes.
 *
 * No locks: only who owns a block reads and writes its slot. A slot is emptied before the block is
 * freed. [malloc-free]
 */
#ifndef TIDE_RECORD_BLOCK_INDEX_H
#define TIDE_RECORD_BLOCK_INDEX_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/accounts.h"
#include "wire/layout.h"

/* What is known of a block. */
struct indexed {
    uint32_t account, era;
    uint64_t size, usable;
};

#define INDEX_TOLD SIZE_MAX /* instead of what can be used: its allocator cannot be asked */

/* Adds a block; true: another was there, whose free was missed: *old. */
bool index_put(uintptr_t address, const struct indexed *b, bool told, struct indexed *old);
/* Removes the block at an address; false: there is none. `usable`: as its allocator says. */
bool index_take(uintptr_t address, size_t usable, struct indexed *out);
/* Of which memory blocks are said to be apart by so many bytes more than can be used of them. */
extern _Atomic bool index_told; /* there may be blocks that were told */
static inline bool index_has_told(void)
{
    return atomic_load_explicit(&index_told, memory_order_relaxed);
}
void index_set_spacing(unsigned bytes);
unsigned index_spacing(void);
void index_prepare(void);               /* maps memory for the first blocks */
void index_forked(void);                /* in a forked child */
void index_clear(void);                 /* after a detach: no block is known */
void index_tell(struct wire_header *h); /* where it is: of this process */

#endif
