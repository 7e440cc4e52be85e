#include "collect/counting/block_index.h"

#include <stdlib.h>
#include <unistd.h>

#include "collect/counting/target.h"
#include "collect/proc/pagemap.h"
#include "collect/proc/remote_memory.h"

#define PIECE      65536
#define PARTS_MOST (1u << 18)
#define WIDE_MOST  (1u << 26)

/* What is done with each block that is read. */
typedef void found(void *context, const struct block *b, uint32_t account);

struct reading {
    found *found;
    void *context;
    bool freed_too; /* large blocks that are no more, if nothing is in their place yet */
    struct target *target;
    struct remote_memory memory;
    int pagemap;
    uint32_t first_era;
    struct map wide_of; /* address -> index in wide */
    VEC(struct wire_wide) wide;
    struct blocks inherited;
};

static void add(struct reading *k, uint64_t address, uint32_t account, uint32_t era, uint64_t size,
                uint64_t usable)
{
    struct block b = {.address = address, .size = size, .usable = usable, .birth = era};
    if (account != WIRE_ACCOUNT_ARENA && size <= WIRE_LOW48 && usable >= size &&
        address <= WIRE_LOW48)
        k->found(k->context, &b, account);
}

static void keep(void *context, const struct block *seen, uint32_t account)
{
    struct reading *k = context;
    struct block old, b = *seen;
    if (b.birth < k->first_era)
        blocks_put(&k->inherited, &b, &old);
    else if (accounts_site(k->target, account, &b.site))
        blocks_put(&k->target->blocks, &b, &old);
}

static void add_word(struct reading *k, const struct wire_index_part *p, uint64_t number,
                     uint64_t word)
{
    uint32_t low = WIRE_SLOT_LOW(word);
    uint64_t address = (p->region << WIRE_REGION_BITS) + (number << p->granule_bits), size, usable;
    if (p->told) {
        if (p->granule_bits == 3 && address % 16 == 0)
            return; /* those are in the other part */
        size = usable = low & (WIRE_TOLD_ROUNDED - 1);
        if (size == WIRE_TOLD_WIDE) {
            uint32_t at = map_get(&k->wide_of, address);
            if (at == MAP_NONE)
                return;
            size = k->wide.items[at].size;
            usable = k->wide.items[at].usable;
        } else if (low & WIRE_TOLD_ROUNDED) {
            usable = size ? (size + 15) & ~(uint64_t)15 : 16;
        }
    } else {
        address += WIRE_SLOT_PLACE(low) * 8;
        usable = (UINT64_C(1) << p->granule_bits) - p->spacing + WIRE_SLOT_BEYOND(low);
        size = usable - WIRE_SLOT_SLACK(low);
    }
    add(k, address, WIRE_SLOT_ACCOUNT(word), WIRE_SLOT_ERA(word), size, usable);
}

static void read_run(struct reading *k, const struct wire_index_part *p, uint64_t start,
                     uint64_t end)
{
    union {
        uint64_t words[PIECE / 8];
        struct wire_block blocks[PIECE / sizeof(struct wire_block)];
    } piece;
    for (uint64_t at = start; at < end; at += PIECE) {
        size_t size = end - at < PIECE ? end - at : PIECE;
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
                    add(k, b->address - freed, b->account, b->era, b->size, b->usable);
            }
        }
    }
}

/* Where parts are that came since the last time; false: the program's memory cannot be read. */
static bool read_parts(struct reading *k)
{
    struct target *t = k->target;
    const struct wire_totals *totals = &t->header->totals;
    size_t count = atomic_load_explicit(&totals->index_part_count, memory_order_acquire);
    size_t had = t->index.parts.count;
    count = count < PARTS_MOST ? count : PARTS_MOST;
    if (count <= had)
        return true;
    size_t bytes = (count - had) * sizeof *t->index.parts.items;
    vec_reserve(&t->index.parts, count);
    if (remote_memory_read(&k->memory,
                           atomic_load(&totals->index_parts) + had * sizeof *t->index.parts.items,
                           t->index.parts.items + had, bytes) != (ssize_t)bytes)
        return false;
    t->index.parts.count = count;
    return true;
}

static void read_part(struct reading *k, const struct wire_index_part *p)
{
    struct page_runs runs = {0};
    if (p->granule_bits < WIRE_GRANULE_LEAST || p->granule_bits > WIRE_GRANULE_MOST ||
        p->slots % 4096)
        return;
    uint64_t end = p->slots + wire_part_bytes(p->granule_bits);
    if (k->pagemap >= 0 &&
        pagemap_runs(k->pagemap, p->slots, end, PAGE_PRESENT | PAGE_SWAPPED, 0, &runs))
        for (size_t i = 0; i < runs.items.count; i++)
            read_run(k, p, runs.items.items[i].start, runs.items.items[i].end);
    else
        read_run(k, p, p->slots, end);
    vec_release(&runs.items);
}

static void read_wide(struct reading *k, uint64_t address, uint32_t count)
{
    if (!address || !count || count > WIDE_MOST)
        return;
    vec_reserve(&k->wide, count);
    size_t bytes = (size_t)count * sizeof *k->wide.items;
    if (remote_memory_read(&k->memory, address, k->wide.items, bytes) != (ssize_t)bytes)
        return;
    k->wide.count = count;
    for (uint32_t i = 0; i < count; i++)
        if (k->wide.items[i].address && k->wide.items[i].usable)
            *map_at(&k->wide_of, k->wide.items[i].address) = i;
}

void block_index_read(struct target *t)
{
    if (!t->in_place || !t->header || t->ended || t->index.held)
        return;
    const struct wire_totals *totals = &t->header->totals;
    struct reading k = {.target = t, .first_era = t->header->first_era, .found = keep};
    k.context = &k;
    blocks_release(&t->blocks);
    for (size_t i = 0; i < t->inheritance.tables.count; i++)
        blocks_release(&t->inheritance.tables.items[i]);
    t->inheritance.tables.count = 0;
    remote_memory_open(&k.memory, t->pid);
    k.pagemap = pagemap_open(t->pid);
    read_wide(&k, atomic_load(&totals->index_wide), atomic_load(&totals->index_wide_count));
    t->index.known = read_parts(&k);
    for (size_t i = 0; i < t->index.parts.count; i++)
        read_part(&k, &t->index.parts.items[i]);
    if (k.inherited.count)
        *vec_push(&t->inheritance.tables) = k.inherited;
    if (k.pagemap >= 0)
        close(k.pagemap);
    remote_memory_close(&k.memory);
    map_release(&k.wide_of);
    vec_release(&k.wide);
}

/* The last block that begins at or before an address. */
struct nearest {
    uint64_t address;
    struct block block;
    uint32_t account;
    bool any;
};

static void keep_nearest(void *context, const struct block *b, uint32_t account)
{
    struct nearest *n = context;
    if (b->address > n->address || n->address - b->address >= (b->usable ? b->usable : 1) ||
        (n->any && b->address < n->block.address))
        return;
    n->block = *b;
    n->account = account;
    n->any = true;
}

#define SLOTS_BACK 128 /* of large blocks, read at a time */

/* Slots of one part in which the block may begin. */
static void look_in_part(struct reading *k, const struct wire_index_part *p, uint64_t address,
                         uint64_t lowest)
{
    const struct nearest *n = k->context;
    uint64_t start = p->region << WIRE_REGION_BITS, end = start + (UINT64_C(1) << WIRE_REGION_BITS);
    uint32_t bytes = wire_slot_bytes(p->granule_bits);
    bool open_ended = p->granule_bits == WIRE_GRANULE_MOST;
    uint64_t reach = p->told ? WIRE_TOLD_WIDE : UINT64_C(2) << p->granule_bits;
    if (!open_ended && address - lowest > reach)
        lowest = address - reach;
    if (lowest >= end || address < start || p->granule_bits < WIRE_GRANULE_LEAST ||
        p->granule_bits > WIRE_GRANULE_MOST)
        return;
    uint64_t first = lowest > start ? (lowest - start) >> p->granule_bits : 0;
    uint64_t last = ((address < end ? address : end - 1) - start) >> p->granule_bits;
    for (uint64_t to = last + 1; to > first && !n->any;) {
        uint64_t from = to - first > SLOTS_BACK ? to - SLOTS_BACK : first;
        read_run(k, p, p->slots + from * bytes, p->slots + to * bytes);
        to = from;
    }
}

static bool find_holding(struct target *t, uint64_t address, uint64_t lowest, bool freed,
                         struct block *out)
{
    struct nearest n = {.address = address};
    struct reading k = {
        .target = t, .found = keep_nearest, .context = &n, .freed_too = freed, .pagemap = -1};
    remote_memory_open(&k.memory, t->pid);
    read_parts(&k);
    for (size_t i = 0; i < t->index.parts.count; i++)
        look_in_part(&k, &t->index.parts.items[i], address, lowest);
    remote_memory_close(&k.memory);
    *out = n.block;
    return n.any && n.block.birth >= t->header->first_era &&
           accounts_site(t, n.account, &out->site);
}

bool block_index_holding(struct target *t, uint64_t address, uint64_t lowest, struct block *out)
{
    struct wire_index_part part;
    bool gone = !t->header || t->ended ||
                !remote_memory_copy(t->pid, atomic_load(&t->header->totals.index_parts), &part,
                                    sizeof part);
    if (gone) /* what was seen when it began to end */
        return blocks_holding(&t->blocks, address, lowest, NULL, out);
    return find_holding(t, address, lowest, false, out) ||
           find_holding(t, address, lowest, true, out);
}

uint64_t block_index_count(const struct target *t)
{
    return t->in_place ? t->ledger.live.blocks : t->blocks.count;
}
