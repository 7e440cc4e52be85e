/*
 * Counts a realloc: the free of its old block, the realloc itself, and the step by which an array
 * may be growing (array_growth.h). The new block is counted by count.h, as after a malloc.
 *
 * The old block leaves the block index before the realloc, because another thread may get its
 * address during it. Until the realloc has ended, the block is in counting.moving: it is counted as
 * freed then, or goes back into the index if the realloc has failed.
 */
#include "record/array_growth.h"
#include "record/count.h"

/* If the thread is stopped from here on, its block is in the index. */
static inline void realloc_ends(struct thread *t)
{
    t->counting.moving_from = 0;
    atomic_signal_fence(memory_order_seq_cst);
    atomic_store_explicit(&t->ring->reallocating, 0, memory_order_relaxed);
}

bool count_realloc(struct thread *t, void *old, usable_of *usable, bool sure)
{
    struct counting *c = &t->counting;
    /* First: if the thread is stopped from here on, the collector knows that the block is in
     * neither place. */
    atomic_store_explicit(&t->ring->reallocating, 1, memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst);
    c->moving_known =
        count_take_chunk(old, usable, &c->moving) || count_take(old, usable, &c->moving);
    c->moving_gone = false;
    c->moving_stored = !usable;
    c->moving_sure = sure;
    c->moving_from = (uintptr_t)old;
    c->fresh.address = 0;
    if (!c->moving_known && sure)
        count_unknown_free();
    return c->moving_known;
}

void count_realloc_failed(struct thread *t)
{
    struct counting *c = &t->counting;
    struct indexed none;
    if (!c->moving_from)
        return;
    if (c->moving_known)
        index_put(c->moving_from, &c->moving, c->moving_stored, &none);
    else if (c->moving_sure)
        atomic_fetch_sub_explicit(&accounts.totals->unknown_frees, 1, memory_order_relaxed);
    realloc_ends(t);
}

void count_moving_goes(struct thread *t, uint32_t now)
{
    struct counting *c = &t->counting;
    if (!c->moving_known || c->moving_gone)
        return;
    c->moving_gone = true;
    if (is_inherited(&c->moving))
        count_inherited_free(&c->moving);
    else
        account_shrinks(t, &c->moving, 1, false, now);
}

void count_reallocs(struct thread *t, uint32_t number, uint64_t count)
{
    struct wire_account *a = account_at(number);
    for (;;) {
        uint64_t room = (uint64_t)UINT16_MAX - a->reallocs, now = count < room ? count : room;
        if (!a->next_dirty)
            account_touch(t, number, a);
        a->reallocs = (uint16_t)(a->reallocs + now);
        count -= now;
        if (LIKELY(!count))
            return;
        accounts_rows(t);
        if (a->reallocs) { /* the ring is full, and nobody reads it */
            atomic_fetch_add_explicit(&t->ring->dropped, count, memory_order_relaxed);
            return;
        }
    }
}

void count_moved(struct thread *t, uintptr_t to, uint64_t size, uint32_t account, uint32_t now)
{
    struct counting *c = &t->counting;
    if (c->moving_known && !is_inherited(&c->moving) && size > c->moving.size) {
        struct growth_step step = {.from = c->moving_from,
                                   .to = to,
                                   .size = size,
                                   .account = account,
                                   .era = now,
                                   .by_realloc = true,
                                   .old = c->moving};
        growth_step(t, &step);
    }
    count_reallocs(t, account, 1);
    c->fresh.address = 0;
    realloc_ends(t);
}

/* The result of the realloc is not recorded. */
void count_unrecorded(struct thread *t)
{
    struct counting *c = &t->counting;
    if (c->moving_from)
        count_moving_goes(t, era_now());
    realloc_ends(t);
}
