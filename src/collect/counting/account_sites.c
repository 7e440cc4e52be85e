/* What accounts say of their sites when all has been counted: the peak, sizes and lifetimes. */
#include <stdlib.h>
#include <string.h>

#include "collect/counting/target.h"

static void take_lives(struct histogram *h, const struct wire_cell *cell, uint32_t site)
{
    for (unsigned i = 0; i < WIRE_CELL_LIVES; i++) {
        unsigned bucket = cell->group * WIRE_CELL_LIVES + i + 1;
        if (cell->lives_count[i] && bucket < LIFE_BUCKETS)
            histogram_add(h, HISTOGRAM_LIVES, site, bucket, cell->lives_count[i], 0);
    }
}

static void take_sizes(struct histogram *h, const struct wire_cell *cell, uint32_t site)
{
    for (unsigned i = 0; i < WIRE_CELL_SIZES; i++) {
        unsigned bucket = cell->group * WIRE_CELL_SIZES + i;
        if (cell->sizes.count[i] && bucket < SIZE_BUCKETS)
            histogram_add(h, HISTOGRAM_SIZES, site, bucket, cell->sizes.count[i],
                          cell->sizes.bytes[i]);
    }
}

static void take_cells(struct target *t, uint32_t first, uint32_t site)
{
    struct histogram *h = &t->ledger.histogram;
    uint32_t left = t->accounts.limit;
    for (uint32_t n = first; n && left; left--) {
        const volatile char *unit = (const volatile char *)accounts_at(t, n / 2);
        if (!unit)
            return;
        struct wire_cell cell;
        memcpy(&cell, (const char *)(uintptr_t)(unit + n % 2 * WIRE_CELL_BYTES), sizeof cell);
        if (cell.lives)
            take_lives(h, &cell, site);
        else
            take_sizes(h, &cell, site);
        n = cell.next;
    }
}

/* What the accounts of a site say of its own peak. */
struct own_peak {
    uint64_t bytes, blocks;
    bool inexact; /* there are several, or others have freed its blocks */
    bool any;
};

static void settle_account(struct target *t, uint32_t number, uint32_t epoch,
                           struct own_peak *peaks)
{
    struct wire_account a;
    const volatile struct wire_account *at = accounts_at(t, number);
    if (!at)
        return;
    memcpy(&a, (const void *)(uintptr_t)at, sizeof a);
    if (!a.owner)
        return; /* claimed and not used, or cells */
    bool others = a.owner & WIRE_ACCOUNT_OTHERS;
    uint32_t known = accounts_known(&t->accounts, others ? a.node : number);
    if (!known)
        return;
    struct account *to = &t->ledger.accounts.items[known - 1];
    struct amount live = {.bytes = a.base_bytes + a.bytes - a.freed,
                          .blocks =
                              (uint64_t)(int64_t)(int32_t)(a.base_blocks + a.allocs - a.frees)};
    live.usable = live.bytes + a.base_slack + a.slack - a.slack_freed;
    bool saved = a.saved_epoch == epoch;
    to->site.at_peak_bytes += saved ? a.saved_bytes : live.bytes;
    to->site.at_peak_usable += saved ? a.saved_bytes + a.saved_slack : live.usable;
    to->site.at_peak_blocks += saved ? (uint64_t)(int64_t)(int32_t)a.saved_blocks : live.blocks;
    struct own_peak *peak = &peaks[known - 1];
    bool falls = a.own_peak_bytes > live.bytes;
    *peak = (struct own_peak){.bytes = falls ? a.own_peak_bytes : live.bytes,
                              .blocks = falls ? a.own_peak_blocks : live.blocks,
                              .inexact = peak->any || others,
                              .any = true};
    if (a.largest_bytes > to->site.largest_bytes)
        to->site.largest_bytes = a.largest_bytes;
    take_cells(t, a.cells, known - 1);
}

void accounts_settle_sites(struct target *t)
{
    struct ledger *l = &t->ledger;
    const struct wire_totals *totals = accounts_totals(t);
    uint32_t epoch = atomic_load(&totals->peak_epoch);
    uint32_t end = accounts_end(t);
    if (atomic_load(&totals->live_bytes) > atomic_load(&totals->peak_bytes) &&
        (int64_t)atomic_load(&totals->live_bytes) > 0)
        epoch++; /* it was highest at the end, of which nobody has saved anything */
    else if (t->profile.peak_skew_bytes)
        t->profile.peak_skew_bytes += wire_unsure_bytes(atomic_load(&totals->unsure), epoch);
    l->peak_epoch = epoch;
    struct own_peak *peaks = xcalloc(l->accounts.count + 1, sizeof *peaks);
    for (size_t i = 0; i < l->accounts.count; i++)
        if (l->accounts.items[i].domain == DOMAIN_HEAP) {
            struct site *s = &l->accounts.items[i].site;
            s->at_peak_bytes = s->at_peak_blocks = s->at_peak_usable = 0;
            l->accounts.items[i].saved_epoch = epoch;
        }
    uint32_t spare_end = atomic_load(&totals->spare_end);
    for (uint32_t n = WIRE_ACCOUNT_FIRST; n < spare_end && n < WIRE_ACCOUNT_USUAL; n++)
        settle_account(t, n, epoch, peaks);
    for (uint32_t n = WIRE_ACCOUNT_USUAL; n < end; n++) {
        settle_account(t, n, epoch, peaks);
        if (n % ACCOUNTS_KEPT == 0)
            accounts_let_go(&t->accounts);
    }
    l->peak_bytes = l->peak_blocks = 0;
    for (size_t i = 0; i < l->accounts.count; i++) {
        struct account *a = &l->accounts.items[i];
        if (!domain_is_live(a->domain))
            continue;
        struct amount at_peak = ledger_at_peak(l, a);
        l->peak_bytes += at_peak.bytes;
        l->peak_blocks += at_peak.blocks;
        if (peaks[i].any && !peaks[i].inexact) {
            a->site.own_peak_bytes = peaks[i].bytes;
            a->site.own_peak_blocks = peaks[i].blocks;
        }
    }
    free(peaks);
}
