#include "collect/counting/heap_peak.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "collect/counting/target.h"
#include "store/rows.h"

/* --- when the heap is at its peak ------------------------------------------------------------- */

void heap_peak_watch(struct target *t, uint64_t now_ns)
{
    struct wire_totals *totals = &t->header->totals;
    uint64_t peak = atomic_load(&totals->peak_bytes), live = atomic_load(&totals->live_bytes);
    unsigned rings = 0;
    peak = live > peak && live - peak < INT64_MAX ? live : peak;
    if (peak <= t->accounts.peak_seen)
        return;
    t->accounts.peak_seen = peak;
    t->profile.peak_time_ns = now_ns;
    for (size_t i = 0; i < t->readers.count; i++)
        rings += t->readers.items[i].at != 0;
    /* A thread may not have reported so much of what it added, and as much of what it freed. */
    t->profile.peak_skew_bytes = rings > 1 ? (uint64_t)rings * 2 * WIRE_PENDING_MOST : 0;
}

void heap_peak_end_interval(struct target *t, uint32_t tick)
{
    struct wire_totals *totals = accounts_totals(t);
    uint32_t seen = tick;
    uint64_t peak = t->accounts.interval_peak_bytes;
    t->accounts.interval_peak_bytes = 0;
    /* No thread has noticed that the interval is over. */
    if (atomic_compare_exchange_strong(&totals->peak_tick, &seen, tick + 1)) {
        uint64_t live = atomic_load(&totals->live_bytes),
                 high = atomic_exchange(&totals->interval_peak_bytes, 0);
        peak = high > peak ? high : peak;
        peak = live > peak && (int64_t)live > 0 ? live : peak;
    }
    if (peak > t->ledger.interval_peak_bytes)
        t->ledger.interval_peak_bytes = peak;
    if (ledger_now(&t->ledger).bytes > t->ledger.interval_peak_bytes)
        t->ledger.interval_peak_bytes = ledger_now(&t->ledger).bytes;
}

void heap_peak_raise(struct target *t)
{
    uint64_t told = t->accounts.interval_peak_bytes, live = ledger_now(&t->ledger).bytes;
    uint64_t high = atomic_load(&t->header->totals.interval_peak_bytes);
    high = told > high ? told : high;
    high = live > high ? live : high;
    if (high > t->ledger.interval_peak_bytes)
        t->ledger.interval_peak_bytes = high;
}

void heap_peak_restart(struct target *t)
{
    struct wire_totals *totals = &t->header->totals;
    t->accounts.interval_peak_bytes = 0;
    atomic_store(&totals->interval_peak_bytes, 0);
}

/* --- what each site had at the peak ----------------------------------------------------------- */

static void take_lives(struct bucket_rows *rows, const struct wire_cell *cell, uint32_t site)
{
    const unsigned group = cell->group & ~WIRE_CELL_CARRY;
    for (unsigned i = 0; i < WIRE_CELL_LIVES; i++) {
        unsigned bucket = group * WIRE_CELL_LIVES + i + 1;
        uint64_t count = cell->lives_count[i] * wire_cell_unit(cell);
        if (count && bucket < LIFE_BUCKETS)
            *vec_push(rows) = (struct bucket_row){site, bucket, count, 0};
    }
}

static void take_sizes(struct bucket_rows *rows, const struct wire_cell *cell, uint32_t site)
{
    const unsigned group = cell->group & ~WIRE_CELL_CARRY;
    for (unsigned i = 0; i < WIRE_CELL_SIZES; i++) {
        unsigned bucket = group * WIRE_CELL_SIZES + i;
        uint64_t count = cell->sizes.count[i] * wire_cell_unit(cell);
        if ((count || cell->sizes.bytes[i]) && bucket < SIZE_BUCKETS)
            *vec_push(rows) = (struct bucket_row){site, bucket, count, cell->sizes.bytes[i]};
    }
}

static void take_cells(struct target *t, uint32_t first, uint32_t site)
{
    unsigned left = WIRE_CELLS_MOST;
    for (uint32_t n = first; n && left; left--) {
        const volatile void *unit = accounts_at(t, n);
        if (!unit)
            return;
        struct wire_cell cell;
        memcpy(&cell, (const void *)(uintptr_t)unit, sizeof cell);
        if (cell.lives)
            take_lives(&t->ledger.counted_lives, &cell, site);
        else
            take_sizes(&t->ledger.counted_sizes, &cell, site);
        n = cell.next;
    }
}

/* Returns 1 + number of the ledger's account, or 0: claimed but unused, amounts, cells, or not
 * known. */
static uint32_t known_account(struct target *t, uint32_t number)
{
    const volatile struct wire_account *a = accounts_at(t, number);
    uint32_t owner = a ? a->owner : 0;
    if (!owner)
        return 0;
    return accounts_known(&t->accounts, owner & WIRE_ACCOUNT_OTHERS ? a->node : number);
}

static void settle_account(struct target *t, uint32_t number, uint32_t epoch)
{
    struct wire_account a;
    struct wire_amounts of;
    uint32_t known = known_account(t, number);
    if (!known || !accounts_read(t, number, &a, &of))
        return;
    struct account *to = &t->ledger.accounts.items[known - 1];
    struct amount live = {.bytes = of.base_bytes + of.bytes - of.freed,
                          .blocks = of.base_blocks + a.allocs - a.frees};
    live.usable = live.bytes + of.base_slack + of.slack - of.slack_freed;
    t->accounts.settled_bytes += live.bytes;
    bool saved = a.saved_epoch == epoch;
    struct site_amounts m = site_amounts_get(&t->ledger.amounts, to);
    m.at_peak.bytes += saved ? of.saved_bytes : live.bytes;
    m.at_peak.usable += saved ? of.saved_bytes + of.saved_slack : live.usable;
    m.at_peak.blocks += saved ? of.saved_blocks : live.blocks;
    m.saved_epoch = epoch;
    if (!to->own_peak_shared) {
        bool falls = of.own_peak_bytes > live.bytes;
        m.own_peak_bytes = falls ? of.own_peak_bytes : live.bytes;
        m.own_peak_blocks = falls ? a.own_peak_blocks : live.blocks;
    }
    if (of.largest_bytes > m.largest_bytes)
        m.largest_bytes = of.largest_bytes;
    site_amounts_set(&t->ledger.amounts, to, &m);
    take_cells(t, a.cells, known - 1);
}

static void begin_site(struct ledger *l, struct account *a)
{
    if (a->wide) {
        l->amounts.items[a->wide - 1].at_peak = (struct amount){0};
        l->amounts.items[a->wide - 1].saved_epoch = l->peak_epoch;
    }
    a->at_peak_blocks = 0;
}

/* For a site whose own peak is known only from the ends of intervals: there were at least those
 * values, and its largest block. */
static void raise_own_peak(struct ledger *l, struct account *a, const struct amount *at_peak)
{
    struct site_amounts m = site_amounts_get(&l->amounts, a);
    const struct amount largest = {.bytes = m.largest_bytes, .blocks = 1};
    const struct amount *higher =
        (int64_t)at_peak->bytes > (int64_t)m.live.bytes ? at_peak : &m.live;
    if ((int64_t)largest.bytes > (int64_t)higher->bytes)
        higher = &largest;
    if ((int64_t)higher->bytes <= (int64_t)m.own_peak_bytes)
        return;
    m.saved_epoch = l->peak_epoch;
    m.own_peak_bytes = higher->bytes;
    m.own_peak_blocks = higher->blocks;
    site_amounts_set(&l->amounts, a, &m);
}

static void settle_accounts(struct target *t, uint32_t epoch)
{
    uint32_t end = accounts_end(t), spare_end = atomic_load(&accounts_totals(t)->spare_end);
    for (uint32_t n = WIRE_ACCOUNT_FIRST; n < spare_end && n < WIRE_ACCOUNT_USUAL; n++)
        settle_account(t, n, epoch);
    for (uint32_t n = WIRE_ACCOUNT_USUAL; n < end; n++) {
        settle_account(t, n, epoch);
        if (n % ACCOUNTS_KEPT == 0)
            accounts_drop_pages(&t->accounts);
    }
}

/* Fills the sites with what they had when the peak of this number was noted. Returns the bytes that
 * are live now. */
static uint64_t settle_at(struct target *t, uint32_t epoch)
{
    struct ledger *l = &t->ledger;
    uint64_t live_bytes = 0;
    l->peak_epoch = epoch;
    l->counted_sizes.count = l->counted_lives.count = 0;
    for (size_t i = 0; i < l->accounts.count; i++)
        if (l->accounts.items[i].domain == DOMAIN_HEAP)
            begin_site(l, &l->accounts.items[i]);
    t->accounts.settled_bytes = 0;
    settle_accounts(t, epoch);
    live_bytes = t->accounts.settled_bytes;
    l->peak_bytes = l->peak_blocks = 0;
    for (size_t i = 0; i < l->accounts.count; i++) {
        struct account *a = &l->accounts.items[i];
        if (!domain_is_live(a->domain))
            continue;
        struct amount at_peak = ledger_at_peak(l, a);
        l->peak_bytes += at_peak.bytes;
        l->peak_blocks += at_peak.blocks;
        if (a->domain != DOMAIN_HEAP)
            live_bytes += ledger_live(l, a).bytes;
        if (a->own_peak_shared)
            raise_own_peak(l, a, &at_peak);
    }
    return live_bytes;
}

void heap_peak_settle(struct target *t, uint64_t now_ns)
{
    const struct wire_totals *totals = accounts_totals(t);
    uint32_t epoch = atomic_load(&totals->peak_epoch);
    if (atomic_load(&totals->live_bytes) > atomic_load(&totals->peak_bytes) &&
        (int64_t)atomic_load(&totals->live_bytes) > 0)
        epoch++; /* the peak was at the end, for which nobody has saved anything */
    else if (t->profile.peak_skew_bytes)
        t->profile.peak_skew_bytes += wire_unsure_bytes(atomic_load(&totals->unsure), epoch);
    int64_t live_bytes = (int64_t)settle_at(t, epoch);
    if (live_bytes <= (int64_t)t->ledger.peak_bytes)
        return;
    /* Some threads had not reported all that they added: the heap is larger now than when the peak
     * was noted. */
    settle_at(t, epoch + 1);
    t->profile.peak_time_ns = now_ns;
}

/* --- an end of an interval that is higher ---------------------------------------------------- */

/* Adds up what each account had at the end of this slice. false: the rows do not have its total. */
static bool live_at_end(const struct target *t, size_t slice, struct amount *live)
{
    const struct ledger *l = &t->ledger;
    const struct units units = ledger_units(l);
    uint64_t sum = 0;
    for (size_t i = 0; i <= slice; i++) {
        const struct slice *s = &t->timeline.slices.items[i];
        struct cursor c = {.at = (const uint8_t *)s->rows.data,
                           .end = (const uint8_t *)s->rows.data + s->rows.size};
        uint32_t previous = UINT32_MAX;
        struct row row;
        for (size_t r = 0; r < s->row_count && row_take(&c, &previous, &row, &units); r++) {
            if (!domain_is_live(l->accounts.items[row.site].domain))
                continue;
            live[row.site].bytes += row.columns[COL_BYTES] - row.columns[COL_FREED];
            live[row.site].blocks += row.columns[COL_ALLOCS] - row.columns[COL_FREES];
            live[row.site].usable += row.columns[COL_USABLE] - row.columns[COL_USABLE_FREED];
            sum += row.columns[COL_BYTES] - row.columns[COL_FREED];
        }
    }
    return sum == t->timeline.slices.items[slice].live_bytes;
}

void heap_peak_settle_ends(struct target *t)
{
    struct ledger *l = &t->ledger;
    size_t found = SIZE_MAX;
    uint64_t highest = l->peak_bytes;
    for (size_t i = 0; i < t->timeline.slices.count; i++) {
        uint64_t live_bytes = t->timeline.slices.items[i].live_bytes;
        if ((int64_t)live_bytes <= (int64_t)highest)
            continue;
        highest = live_bytes;
        found = i;
    }
    if (found == SIZE_MAX)
        return;
    struct amount *live = xcalloc(l->accounts.count, sizeof *live);
    if (live_at_end(t, found, live)) {
        struct interval *v = &t->timeline.slices.items[found].interval;
        l->peak_bytes = l->peak_blocks = 0;
        for (size_t i = 0; i < l->accounts.count; i++) {
            struct account *a = &l->accounts.items[i];
            if (!domain_is_live(a->domain))
                continue;
            struct site_amounts m = site_amounts_get(&l->amounts, a);
            m.at_peak = live[i];
            m.saved_epoch = l->peak_epoch;
            site_amounts_set(&l->amounts, a, &m);
            l->peak_bytes += live[i].bytes;
            l->peak_blocks += live[i].blocks;
        }
        t->profile.peak_time_ns = v->end_ns;
        if (v->peak_bytes < l->peak_bytes)
            v->peak_bytes = l->peak_bytes;
    }
    free(live);
}

void heap_peak_settle_time(struct profile *p)
{
    size_t found = 0;
    /* Several threads: what the sites had may add up to more or less than the total that was noted
     * at the peak; then no interval has this sum. The highest of the noted totals is the peak. */
    for (size_t i = 0; i < p->intervals.count; i++) {
        uint64_t bytes = p->intervals.items[i].peak_bytes;
        if (bytes > p->intervals.items[found].peak_bytes)
            found = i;
        if (bytes == p->peak_bytes) {
            found = i;
            break;
        }
    }
    if (!p->intervals.count || !p->intervals.items[found].peak_bytes)
        return;
    uint64_t begin_ns = found ? p->intervals.items[found - 1].end_ns : 0,
             end_ns = p->intervals.items[found].end_ns;
    if (p->peak_time_ns > end_ns || (found && p->peak_time_ns <= begin_ns))
        p->peak_time_ns = end_ns;
}
