#include "collect/counting/block_reading.h"

#include "collect/counting/target.h"

/* Limits in case the program has overwritten the numbers. */
#define PARTS_MOST (1u << 18)
#define WIDE_MOST  (1u << 26)

static inline void add(struct block_reading *k, uint64_t address, uint32_t account, uint32_t era,
                       uint64_t size, uint64_t usable)
{
    struct block b = {
        .address = address, .size = size, .usable = usable, .birth = era, .site = account};
    if (account != WIRE_ACCOUNT_ARENA && size <= WIRE_LOW48 && usable >= size &&
        address <= WIRE_LOW48)
        k->found(k->context, &b);
}

void block_reading_add(struct block_reading *k, uint64_t address, uint32_t account, uint32_t era,
                       uint64_t size, uint64_t usable)
{
    add(k, address, account, era, size, usable);
}

static void add_word(struct block_reading *k, const struct wire_index_part *p, uint64_t number,
                     uint64_t word)
{
    uint32_t low = WIRE_SLOT_LOW(word);
    uint64_t address = (p->region << WIRE_REGION_BITS) + (number << p->granule_bits), size, usable;
    if (p->size_stored) {
        if (p->granule_bits == 3 && address % 16 == 0)
            return; /* those are in the other part */
        wire_stored_read(low, &size, &usable);
        if (low == WIRE_STORED_WIDE) {
            uint32_t at = map_get(&k->wide_of, address);
            if (at == MAP_NONE)
                return;
            size = k->wide.items[at].size;
            usable = k->wide.items[at].usable;
        }
    } else {
        uint64_t granule = UINT64_C(1) << p->granule_bits;
        address += WIRE_SLOT_PLACE(low, granule);
        usable = WIRE_SLOT_APART(low) - p->spacing;
        size = usable - WIRE_SLOT_SLACK(low);
    }
    add(k, address, WIRE_SLOT_ACCOUNT(word), WIRE_SLOT_ERA(word), size, usable);
}

void block_reading_run(struct block_reading *k, const struct wire_index_part *p, uint64_t start,
                       uint64_t end)
{
    union {
        uint64_t words[BLOCK_READING_PIECE / 8];
        struct wire_block blocks[BLOCK_READING_PIECE / sizeof(struct wire_block)];
    } piece;
    for (uint64_t at = start; at < end; at += BLOCK_READING_PIECE) {
        size_t size = end - at < BLOCK_READING_PIECE ? end - at : BLOCK_READING_PIECE;
        ssize_t n = remote_memory_read(&k->memory, at, &piece, size);
        uint64_t first = (at - p->slots) / wire_slot_bytes(p->granule_bits);
        if (n <= 0)
            continue;
        if (p->granule_bits <= WIRE_SMALL_BITS) {
            for (size_t i = 0; i < (size_t)n / 8; i++)
                if (piece.words[i])
                    add_word(k, p, first + i, piece.words[i]);
        } else {
            for (size_t i = 0; i < (size_t)n / sizeof *piece.blocks; i++) {
                const struct wire_block *b = &piece.blocks[i];
                bool freed = b->address & WIRE_BLOCK_FREED;
                if (b->address && (!freed || k->freed_too))
                    block_reading_add(k, b->address - freed, b->account, b->era, b->size,
                                      b->usable);
            }
        }
    }
}

bool block_reading_is_part(const struct wire_index_part *p)
{
    return p->granule_bits >= WIRE_GRANULE_LEAST && p->granule_bits <= WIRE_GRANULE_MOST &&
           p->slots % 4096 == 0 && p->region <= WIRE_LOW48 >> WIRE_REGION_BITS;
}

/* Where parts are that came since the last time; false: the program's memory cannot be read. */
static bool read_parts(struct block_reading *k)
{
    struct target *t = k->target;
    const struct wire_totals *totals = &t->header->totals;
    size_t count = atomic_load_explicit(&totals->index_part_count, memory_order_acquire);
    size_t had = t->index_parts.count;
    count = count < PARTS_MOST ? count : PARTS_MOST;
    if (count <= had)
        return true;
    size_t bytes = (count - had) * sizeof *t->index_parts.items;
    vec_reserve(&t->index_parts, count);
    if (remote_memory_read(&k->memory,
                           atomic_load(&totals->index_parts) + had * sizeof *t->index_parts.items,
                           t->index_parts.items + had, bytes) != (ssize_t)bytes)
        return false;
    t->index_parts.count = count;
    return true;
}

bool block_reading_find_parts(struct block_reading *k)
{
    struct wire_index_part part;
    return k->target->header && !k->target->ended && read_parts(k) &&
           (!k->target->index_parts.count ||
            remote_memory_read(&k->memory, atomic_load(&k->target->header->totals.index_parts),
                               &part, sizeof part) == (ssize_t)sizeof part);
}

void block_reading_know(struct block_reading *k, size_t wide)
{
    *map_at(&k->wide_of, k->wide.items[wide].address) = (uint32_t)wide;
}

void block_reading_find_wide(struct block_reading *k, bool all)
{
    const struct wire_totals *totals = &k->target->header->totals;
    uint64_t address = atomic_load(&totals->index_wide);
    uint32_t count = atomic_load(&totals->index_wide_count);
    size_t bytes = (size_t)count * sizeof *k->wide.items, kept = 0;
    if (!address || !count || count > WIDE_MOST)
        return;
    vec_reserve(&k->wide, count);
    if (remote_memory_read(&k->memory, address, k->wide.items, bytes) != (ssize_t)bytes)
        return;
    for (uint32_t i = 0; i < count; i++)
        if (k->wide.items[i].address && k->wide.items[i].usable)
            k->wide.items[kept++] = k->wide.items[i];
    k->wide.count = kept;
    for (size_t i = 0; all && i < kept; i++)
        block_reading_know(k, i);
}

void block_reading_open(struct block_reading *k, struct target *t, block_found *found,
                        void *context)
{
    *k = (struct block_reading){.found = found, .context = context, .target = t};
    remote_memory_open(&k->memory, t->pid);
}

void block_reading_close(struct block_reading *k)
{
    remote_memory_close(&k->memory);
    map_release(&k->wide_of);
    vec_release(&k->wide);
}
