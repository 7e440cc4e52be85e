#include "record/heap_peak.h"

/* Notes the size of the heap; true: it is a new maximum. */
static bool note_peak(uint64_t live)
{
    struct wire_totals *s = accounts.totals;
    uint64_t peak = count_load(&s->interval_peak_bytes);
    if ((int64_t)live < 0)
        return false; /* blocks were freed whose thread has not published them yet */
    while (live > peak && !atomic_compare_exchange_weak(&s->interval_peak_bytes, &peak, live))
        ;
    peak = count_load(&s->peak_bytes);
    while (live > peak) {
        if (atomic_compare_exchange_weak(&s->peak_bytes, &peak, live)) {
            atomic_fetch_add(&s->peak_epoch, 1);
            return true;
        }
    }
    return false;
}

uint64_t accounts_interval_peak(uint32_t tick)
{
    struct wire_totals *s = accounts.totals;
    uint32_t seen = atomic_load_explicit(&s->peak_tick, memory_order_relaxed);
    if (seen == tick || !atomic_compare_exchange_strong(&s->peak_tick, &seen, tick))
        return 0;
    uint64_t live = count_load(&s->live_bytes), peak = atomic_exchange(&s->interval_peak_bytes, 0);
    return (int64_t)live < 0 || peak > live ? peak : live;
}

/* true: this was a new peak. */
static bool settle(struct thread *t)
{
    int64_t pending = t->counting.pending;
    if (!pending)
        return false;
    t->counting.pending = 0;
    uint64_t before = atomic_fetch_add(&accounts.totals->live_bytes, (uint64_t)pending);
    return note_peak(pending > 0 ? before + (uint64_t)pending : before);
}

void accounts_settle(struct thread *t)
{
    settle(t);
}

/*
 * Is this the only thread that changes the heap now? Then it adds its part to the total at once,
 * and the total is exact. A thread that finds another thread in this role ends the role: otherwise
 * each event of that thread would take the cache line of the total away from all others. A thread
 * that finds the role free may take it once per era.
 */
static inline bool is_alone(struct thread *t)
{
    struct wire_totals *s = accounts.totals;
    uint32_t alone = atomic_load_explicit(&s->total_owner, memory_order_relaxed);
    if (LIKELY(alone == t->counting.owner))
        return true;
    bool first = t->counting.alone_era != era_now() + 1;
    t->counting.alone_era = era_now() + 1;
    if (!alone && !first)
        return false;
    atomic_store_explicit(&s->total_owner, alone ? 0 : t->counting.owner, memory_order_relaxed);
    return !alone;
}

/* Threads publish what they added when it is enough, so the total is right up to that. */
void count_total_shared(struct thread *t, struct wire_account *a, int64_t change)
{
    struct wire_totals *s = accounts.totals;
    uint32_t before = atomic_load_explicit(&s->peak_epoch, memory_order_relaxed), epoch;
    bool raised = false;
    if (change > 0 && a->saved_epoch != before)
        count_save(a, before);
    t->counting.pending += change;
    if (is_alone(t) || t->counting.pending > WIRE_PENDING_MOST ||
        t->counting.pending < -WIRE_PENDING_MOST)
        raised = settle(t);
    epoch = atomic_load_explicit(&s->peak_epoch, memory_order_relaxed);
    if (change <= 0 && a->saved_epoch != epoch)
        count_save(a, epoch);
    /* A peak that this block made includes it. If another thread has noted one meanwhile, this is
     * not known. */
    if (change > WIRE_PENDING_MOST && epoch != before && !raised) {
        uint64_t unsure = count_load(&s->unsure);
        while (!atomic_compare_exchange_weak(&s->unsure, &unsure,
                                             wire_unsure_add(unsure, epoch, (uint64_t)change)))
            ;
    }
}

uint32_t accounts_epoch(void)
{
    return atomic_load_explicit(&accounts.totals->peak_epoch, memory_order_relaxed);
}
