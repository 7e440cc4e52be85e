/*
 * blocks: live blocks by address, for pools and imported files, which have no block index. It is a
 * hash table with open addressing, 32 bytes per entry, at most seven eighths full. Not thread-safe.
 */
#ifndef TIDE_COLLECT_COUNTING_BLOCKS_H
#define TIDE_COLLECT_COUNTING_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct block {
    uint64_t address, size, usable;
    uint32_t site;
    uint32_t birth; /* the era in which it was allocated (eras.h) */
};

struct blocks {
    struct block *places; /* `address` is that of the block + 1; 0: empty */
    size_t size;          /* number of entries: a power of 2, or 0 */
    uint64_t count;
};

/* Adds a block. If there is one at its address, it is replaced and returned in *old, and the result
 * is true. */
bool blocks_put(struct blocks *t, const struct block *b, struct block *old);
/* Removes the block at an address into *out; false: there is none. */
bool blocks_take(struct blocks *t, uint64_t address, struct block *out);
void blocks_release(struct blocks *t);

#endif
