/*
 * fast_path: what nearly every allocation and free does, in few instructions. The block is a small
 * one of glibc, its account belongs to this thread, and the cells for its size and lifetime exist.
 *
 * Each function checks everything first, and then changes everything. If anything is unusual, it
 * returns false and has changed nothing; then the functions of count.h do the same work in all its
 * cases. The order of the changes is theirs: first the block index, then the total, then the
 * account.
 *
 * `several` is a constant where these functions are called: the process has, or had, more than one
 * thread. Only then they call another function, so that otherwise no register must be saved.
 * [malloc-free], no lock. Call these between thread_enter() and thread_leave().
 */
#ifndef TIDE_RECORD_FAST_PATH_H
#define TIDE_RECORD_FAST_PATH_H

#include "record/count.h"

/* The slot of a small block, if the region of its address was used lately; otherwise NULL. */
static inline _Atomic uint64_t *fast_slot(const struct counting *c, uintptr_t address)
{
    uintptr_t region = address >> WIRE_REGION_BITS;
    const struct near_region *near = &c->near_regions[region % NEAR_REGIONS];
    if (UNLIKELY(near->region != region))
        return NULL;
    return (_Atomic uint64_t *)(void *)near->slots + (index_in_region(address) >> WIRE_SMALL_MOST);
}

/* The cell of an account, if it was used lately; otherwise NULL. */
static inline struct wire_cell *fast_cell(const struct counting *c, const struct wire_account *a,
                                          unsigned group, unsigned lives)
{
    uintptr_t key = near_cell_key(a, group, lives);
    const struct near_cell *near = &c->near_cells[near_cell_at(key)];
    return LIKELY(near->key == key) ? near->cell : NULL;
}

/* Counts a new block of `size` bytes in account `number`. `chunk` is what glibc says about its
 * size, and `word` its slot. If a realloc made it, call count_moving_goes before, and count_moved
 * after. */
static inline __attribute__((always_inline)) bool fast_alloc(struct thread *t, void *p, size_t size,
                                                             uint64_t chunk, _Atomic uint64_t *word,
                                                             uint32_t number, bool several)
{
    struct counting *c = &t->counting;
    struct wire_account *a = account_at(number);
    struct wire_amounts *m = NULL;
    struct wire_cell *cell = NULL;
    uint32_t allocs = a->allocs + 1, slack = (uint32_t)(chunk - 8 - size), now = era_now();
    if (!account_is_alike(a, size, slack)) {
        unsigned bucket = size_bucket(size);
        m = account_amounts(a);
        if (UNLIKELY(!m) || UNLIKELY(m->slack + slack >= COUNT_ROW_LIMIT))
            return false;
        if ((a->owner & (WIRE_ACCOUNT_BUCKET | WIRE_ACCOUNT_SEVERAL)) != bucket) {
            cell = fast_cell(c, a, bucket / WIRE_CELL_SIZES, 0);
            if (UNLIKELY(!cell) || UNLIKELY(!(a->owner & WIRE_ACCOUNT_SEVERAL)))
                return false;
        }
    }
    if (UNLIKELY(now > WIRE_ERA_MOST) || UNLIKELY(allocs >= COUNT_ROW_BLOCKS) ||
        UNLIKELY(atomic_load_explicit(word, memory_order_relaxed) != 0))
        return false;
    uint32_t low = slack << 8 | WIRE_SLOT_TAG(chunk, (uintptr_t)p);
    atomic_store_explicit(word, WIRE_SLOT(number, now, low), memory_order_relaxed);
    c->last_alloc = c->fresh.address = (uintptr_t)p;
    c->fresh.size = size;
    c->fresh.account = number;
    c->fresh.era = now;
    if (UNLIKELY(!a->next_dirty))
        account_touch(t, number, a);
    several ? count_total_shared(t, a, (int64_t)size) : total_grows_alone(a, size);
    a->allocs = allocs;
    if (!m)
        return true;
    m->bytes += size;
    m->slack += slack;
    if (UNLIKELY(size > m->largest_bytes))
        m->largest_bytes = size;
    if (cell) {
        unsigned bucket = size_bucket(size) % WIRE_CELL_SIZES;
        cell->sizes.count[bucket]++;
        cell->sizes.bytes[bucket] += size;
    }
    return true;
}

/* Counts the free of a block. */
static inline __attribute__((always_inline)) bool fast_free(struct thread *t, void *p, bool several)
{
    struct counting *c = &t->counting;
    uintptr_t address = (uintptr_t)p;
    _Atomic uint64_t *word = fast_slot(c, address);
    if (UNLIKELY(!word))
        return false;
    uint64_t chunk = chunk_bytes(p), slot = atomic_load_explicit(word, memory_order_relaxed);
    if (UNLIKELY(!index_is_small_chunk(chunk)) ||
        UNLIKELY((uint8_t)slot != (uint8_t)WIRE_SLOT_TAG(chunk, address)))
        return false;
    uint32_t number = WIRE_SLOT_ACCOUNT(slot), birth = WIRE_SLOT_ERA(slot), now = era_now();
    uint32_t slack = WIRE_SLOT_SLACK(WIRE_SLOT_LOW(slot));
    uint64_t size = chunk - 8 - slack;
    struct wire_account *a = account_at(number);
    uintptr_t fresh = c->fresh.address;
    if (UNLIKELY(birth < accounts.first_era) ||
        UNLIKELY((a->owner ^ c->owner) >= WIRE_ACCOUNT_OWNER) ||
        (fresh && fresh != address && c->fresh.size != size))
        return false;
    uint32_t frees = a->frees + 1, *lived = NULL;
    struct wire_amounts *m = NULL;
    if (!account_is_alike(a, size, slack)) {
        m = account_amounts(a);
        if (UNLIKELY(!m) || UNLIKELY(m->slack_freed + slack >= COUNT_ROW_LIMIT))
            return false;
    }
    if (UNLIKELY(frees >= COUNT_ROW_BLOCKS))
        return false;
    if (birth != now) {
        unsigned life = count_life_of(c, birth, now);
        if (life) {
            struct wire_cell *cell = fast_cell(c, a, 0, 1);
            if (UNLIKELY(!cell) || UNLIKELY(life > WIRE_CELL_LIVES))
                return false;
            lived = &cell->lives_count[life - 1];
        }
    }
    atomic_store_explicit(word, 0, memory_order_relaxed);
    bool temporary = c->last_alloc == address;
    c->fresh.address = 0;
    if (temporary)
        c->last_alloc = 0;
    if (UNLIKELY(!a->next_dirty))
        account_touch(t, number, a);
    several ? count_total_shared(t, a, -(int64_t)size) : total_shrinks_alone(a, size);
    account_note_peak(a, m);
    a->frees = frees;
    if (temporary)
        a->temps++;
    if (m) {
        m->freed += size;
        m->slack_freed += slack;
        if (temporary)
            m->temp_bytes += size;
    }
    if (lived)
        ++*lived;
    return true;
}

#endif
