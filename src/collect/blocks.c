#include "collect/blocks.h"

#include <stdlib.h>

#include "base/err.h"

static inline uint64_t block_hash(uint64_t address)
{
    return (address >> 4) * UINT64_C(0x9e3779b97f4a7c15);
}

static inline struct block_shard *shard_of(const struct blocks *t, uint64_t hash)
{
    return (struct block_shard *)&t->shards[hash >> 58];
}

/* Any size, not only powers of two: the high bits of hash * size. */
static inline uint32_t home_of(const struct block_shard *s, uint64_t hash)
{
    return (uint32_t)((hash >> 26 & 0xffffffff) * s->size >> 32);
}

struct block *blocks_find(struct blocks *t, uint64_t address)
{
    uint64_t hash = block_hash(address);
    struct block_shard *s = shard_of(t, hash);
    if (!s->count)
        return NULL;
    for (uint32_t i = home_of(s, hash);;) {
        struct block *b = &s->items[i];
        if (b->key >> 16 == address)
            return b;
        if (!b->key)
            return NULL;
        if (++i == s->size)
            i = 0;
    }
}

static void shard_put(struct block_shard *s, const struct block *b)
{
    uint32_t i = home_of(s, block_hash(b->key >> 16));
    while (s->items[i].key)
        if (++i == s->size)
            i = 0;
    s->items[i] = *b;
}

static void shard_grow(struct block_shard *s)
{
    struct block_shard old = *s;
    s->size = old.size ? old.size + old.size / 2 : 64;
    s->items = xcalloc(s->size, sizeof *s->items);
    for (uint32_t i = 0; i < old.size; i++)
        if (old.items[i].key)
            shard_put(s, &old.items[i]);
    free(old.items);
}

void blocks_add(struct blocks *t, const struct block *b)
{
    struct block_shard *s = shard_of(t, block_hash(b->key >> 16));
    if ((uint64_t)(s->count + 1) * 5 > (uint64_t)s->size * 3)
        shard_grow(s);
    shard_put(s, b);
    s->count++;
    t->count++;
}

/* Later entries of the same run move back into the gap unless that would put them before their home. */
void blocks_remove(struct blocks *t, struct block *found)
{
    struct block_shard *s = shard_of(t, block_hash(found->key >> 16));
    uint32_t gap = (uint32_t)(found - s->items), i = gap;
    for (;;) {
        if (++i == s->size)
            i = 0;
        struct block *b = &s->items[i];
        if (!b->key)
            break;
        uint32_t home = home_of(s, block_hash(b->key >> 16));
        bool between = gap <= i ? gap < home && home <= i : gap < home || home <= i;
        if (!between) {
            s->items[gap] = *b;
            gap = i;
        }
    }
    s->items[gap].key = 0;
    s->count--;
    t->count--;
}

void blocks_prefetch(const struct blocks *t, uint64_t address)
{
    uint64_t hash = block_hash(address);
    const struct block_shard *s = shard_of(t, hash);
    if (s->size)
        __builtin_prefetch(&s->items[home_of(s, hash)]);
}

void blocks_release(struct blocks *t)
{
    for (unsigned i = 0; i < BLOCK_SHARDS; i++)
        free(t->shards[i].items);
    *t = (struct blocks){0};
}
