/*
 * blocks: the live blocks of one process, by address.
 *
 * Open addressing with linear probing and removal by shifting back, in shards that grow one at a time, so that growth never
 * needs room for two whole tables. Between 40 and 60 per cent full, which is 40 to 60 bytes a block. Not thread-safe.
 */
#ifndef TIDE_COLLECT_BLOCKS_H
#define TIDE_COLLECT_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BLOCK_SHARDS 64

struct block {
    uint64_t key; /* address << 16 | usable - size, saturated; 0: empty */
    uint64_t size;
    uint32_t site;
    uint32_t birth; /* what the owner of the table likes: an interval, a pass */
};

#define BLOCK_OVER_MAX 0xffffu

static inline uint64_t block_key(uint64_t address, uint64_t over)
{
    return address << 16 | (over < BLOCK_OVER_MAX ? over : BLOCK_OVER_MAX);
}

static inline uint64_t block_address(const struct block *b)
{
    return b->key >> 16;
}

struct blocks {
    struct block_shard {
        struct block *items;
        uint32_t size, count;
    } shards[BLOCK_SHARDS];
    uint64_t count;
};

/* The block at the address, or NULL; good until the next change. */
struct block *blocks_find(struct blocks *t, uint64_t address);
/* Adds a block whose address must not be there. */
void blocks_add(struct blocks *t, const struct block *b);
void blocks_remove(struct blocks *t, struct block *found);
void blocks_prefetch(const struct blocks *t, uint64_t address);
void blocks_release(struct blocks *t);

#endif
