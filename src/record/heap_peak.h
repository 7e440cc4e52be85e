/*
 * heap_peak: the size of the program's heap, and its peak, while the program runs. It decides when
 * a total counts as a new peak, and saves what an account had at the peak before the account
 * changes. It also keeps the largest value of each account (report --metric sitepeak) and the
 * highest total of an interval. The collector reads the result: when the peak was and what each
 * site had then is decided by collect/counting/heap_peak.h.
 *
 * A process that never had more than one thread adds to the total at once, in the inline functions.
 * With several threads, each publishes its part when that is large enough, or at once while it is
 * the only one that changes the heap (heap_peak.c). [malloc-free], no lock. Call these between
 * thread_enter() and thread_leave().
 */
#ifndef TIDE_RECORD_HEAP_PEAK_H
#define TIDE_RECORD_HEAP_PEAK_H

#include "record/accounts_memory.h"

/* Changes the total in a process that has, or had, several threads. */
void count_total_shared(struct thread *t, struct wire_account *a, int64_t change);

/* Saves the values of an account before its first change after a peak. */
static inline void count_save(struct wire_account *a, uint32_t epoch)
{
    struct wire_amounts *m = account_amounts(a);
    if (m) {
        m->saved_bytes = m->base_bytes + m->bytes - m->freed;
        m->saved_slack = m->base_slack + m->slack - m->slack_freed;
        m->saved_blocks = m->base_blocks + a->allocs - a->frees;
    }
    a->saved_blocks = a->base_blocks + a->allocs - a->frees;
    a->saved_epoch = epoch;
}

/* The process has never had more than one thread: adds `size` bytes to the total. */
static inline void total_grows_alone(struct wire_account *a, uint64_t size)
{
    struct wire_totals *s = accounts.totals;
    uint64_t live = count_load(&s->live_bytes) + size;
    uint32_t epoch = atomic_load_explicit(&s->peak_epoch, memory_order_relaxed);
    if (UNLIKELY(a->saved_epoch != epoch) && live <= count_load(&s->peak_bytes))
        count_save(a, epoch); /* otherwise this allocation makes a new peak */
    count_store(&s->live_bytes, live);
}

/* The same for `size` bytes less; notes a peak. */
static inline void total_shrinks_alone(struct wire_account *a, uint64_t size)
{
    struct wire_totals *s = accounts.totals;
    uint64_t live = count_load(&s->live_bytes);
    if (UNLIKELY((int64_t)live > (int64_t)count_load(&s->interval_peak_bytes))) {
        count_store(&s->interval_peak_bytes, live);
        if (live > count_load(&s->peak_bytes)) {
            count_store(&s->peak_bytes, live);
            atomic_store_explicit(&s->peak_epoch,
                                  atomic_load_explicit(&s->peak_epoch, memory_order_relaxed) + 1,
                                  memory_order_relaxed);
        }
    }
    uint32_t epoch = atomic_load_explicit(&s->peak_epoch, memory_order_relaxed);
    if (UNLIKELY(a->saved_epoch != epoch))
        count_save(a, epoch);
    count_store(&s->live_bytes, live - size);
}

/* Adds `size` bytes to the total. Call it before the account grows. */
static inline void total_grows(struct thread *t, struct wire_account *a, uint64_t size)
{
    if (UNLIKELY(atomic_load_explicit(&recorder.several, memory_order_relaxed)))
        count_total_shared(t, a, (int64_t)size);
    else
        total_grows_alone(a, size);
}

/* Subtracts `size` bytes from the total, and notes a peak. Call it before the account shrinks. */
static inline void total_shrinks(struct thread *t, struct wire_account *a, uint64_t size)
{
    if (UNLIKELY(atomic_load_explicit(&recorder.several, memory_order_relaxed)))
        count_total_shared(t, a, -(int64_t)size);
    else
        total_shrinks_alone(a, size);
}

/* Notes the largest value of an account before it shrinks. `m`: its amounts; NULL: its blocks are
 * alike. */
static inline void account_note_peak(struct wire_account *a, struct wire_amounts *m)
{
    uint32_t blocks = a->base_blocks + a->allocs - a->frees;
    if (!m) {
        if (UNLIKELY(blocks > a->own_peak_blocks))
            a->own_peak_blocks = blocks;
        return;
    }
    uint64_t live = m->base_bytes + m->bytes - m->freed;
    if (UNLIKELY(live > m->own_peak_bytes)) {
        m->own_peak_bytes = live;
        a->own_peak_blocks = blocks;
    }
}

#endif
