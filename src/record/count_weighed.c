/*
 * Counting with run --sample: as in count.c, but a block counts for those that it represents
 * (wire/weights.h), and is in the table of alloc_sample.c instead of the block index.
 */
#include "record/count.h"

static struct wire_weight weight_of(const void *p, const struct indexed *b)
{
    return wire_weigh(recorder.sample_bytes, (uintptr_t)p, b->size, b->usable);
}

/* Counts the free of a block and of those that it represents. */
static void goes(struct thread *t, const void *p, const struct indexed *b, bool temporary)
{
    struct wire_weight w = weight_of(p, b);
    struct indexed all = {b->account, b->era, w.bytes, w.usable};
    if (!is_inherited(b)) {
        account_shrinks(t, &all, w.blocks, temporary, era_now());
        return;
    }
    atomic_fetch_add(&accounts.totals->inherited_blocks, w.blocks);
    atomic_fetch_add(&accounts.totals->inherited_bytes, w.bytes);
}

/* The old block of a realloc is gone, whatever the result. */
static void moves(struct thread *t)
{
    struct counting *c = &t->counting;
    if (c->moving_from && c->moving_known)
        goes(t, (const void *)c->moving_from, &c->moving, false);
    c->moving_from = 0;
}

bool weighed_alloc(struct thread *t, void *p, size_t size, size_t usable, uint32_t stack,
                   uint32_t *account)
{
    uint32_t number = account && *account ? *account
                                          : count_find_account(t, WIRE_NO_SIZE, 0,
                                                               size_bucket(size), stack, account);
    struct indexed old, b = {number, era_now(), size, usable < size ? size : usable};
    bool by_realloc = t->counting.moving_from != 0;
    if (!number)
        return false;
    moves(t);
    switch (sample_add(p, &b, &old)) {
    case SAMPLE_NO_ROOM:
        atomic_fetch_add(&recorder.header->unrecorded, 1);
        return false;
    case SAMPLE_REPLACED:
        atomic_fetch_add(&accounts.totals->missed_frees, 1);
        goes(t, p, &old, false);
        break;
    default:
        break;
    }
    struct wire_weight w = weight_of(p, &b);
    account_grows(t, number, account_at(number), size, w);
    if (by_realloc)
        count_reallocs(t, number, w.blocks);
    t->sample_last = p;
    t->sample_last_left = tide_sample_left;
    return true;
}

void weighed_free(struct thread *t, void *p)
{
    struct indexed b;
    if (!sample_find(p, &b, true))
        return;
    goes(t, p, &b, p == t->sample_last && tide_sample_left == t->sample_last_left);
    if (b.size >= LARGE_BLOCK && !is_inherited(&b))
        large_freed(t, p, b.size, b.account);
}

void weighed_realloc(struct thread *t, void *old)
{
    struct counting *c = &t->counting;
    c->moving_known = sample_may_be(old) && sample_find(old, &c->moving, true);
    c->moving_from = (uintptr_t)old;
}

void weighed_realloc_failed(struct thread *t)
{
    struct counting *c = &t->counting;
    struct indexed none;
    if (c->moving_from && c->moving_known &&
        sample_add((const void *)c->moving_from, &c->moving, &none) == SAMPLE_NO_ROOM)
        moves(t);
    c->moving_from = 0;
}

void weighed_unrecorded(struct thread *t)
{
    moves(t);
}
