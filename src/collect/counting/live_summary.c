#include "collect/counting/live_summary.h"

#include <stdlib.h>

#include "collect/counting/target.h"
#include "collect/counting/weights.h"
#include "store/rows.h"

/* The tick that stands for a slice is its last. The open one has none yet: the present stands for
 * it. */
static uint32_t tick_of(const struct target *t, const struct era *e)
{
    size_t end = interval_log_find(&t->timeline, e->tick);
    const struct slice *last = end ? &t->timeline.slices.items[end - 1] : NULL;
    return last && last->tick >= e->tick ? last->tick : t->tick;
}

void live_summary_begin(struct live_summary *s, const struct target *t, enum scan_kind kind,
                        uint64_t now_ns)
{
    *s = (struct live_summary){
        .events = t->events,
        .scan = {.kind = (uint32_t)kind, .time_ns = now_ns, .intervals = t->tick}};
    for (size_t i = 0; i < t->eras.eras.count; i++)
        *vec_push(&s->era_ticks) = tick_of(t, &t->eras.eras.items[i]);
}

static void count(struct live_row *r, const struct target *t, const struct block *b,
                  uint64_t untouched)
{
    struct amount weight = weigh(t->profile.sample_bytes, b->address, b->size, b->usable);
    r->blocks += weight.blocks;
    r->bytes += weight.bytes;
    r->usable += weight.usable;
    r->untouched += untouched;
}

uint32_t live_summary_add(struct live_summary *s, const struct target *t, const struct block *b,
                          enum reach reach, uint64_t untouched)
{
    struct survivor *recent =
        &s->recent[(b->site * 31 + b->birth) * 4 % LIVE_SUMMARY_RECENT + (unsigned)reach % 4];
    if (recent->row && recent->site == b->site && recent->birth == b->birth &&
        recent->reach == (uint32_t)reach) {
        count(&s->rows.items[recent->row - 1], t, b, untouched);
        return recent->row - 1;
    }
    size_t era = eras_index(&t->eras, b->birth);
    uint32_t tick = s->era_ticks.items[era];
    uint64_t time_ns = t->eras.eras.items[era].start_ns;
    uint32_t *place = map_at(&s->index, (uint64_t)b->site << 32 | tick << 2 | (uint32_t)reach);
    /* Ticks that differ only in their highest bits share a key: their rows follow each other. */
    struct live_row *r = *place != MAP_NONE ? &s->rows.items[*place] : NULL;
    if (!r || r->interval != tick) {
        *place = (uint32_t)s->rows.count;
        r = vec_push(&s->rows);
        *r = (struct live_row){.site = b->site,
                               .interval = tick,
                               .reach = (uint32_t)reach,
                               .first_ns = time_ns,
                               .last_ns = time_ns};
    }
    count(r, t, b, untouched);
    r->first_ns = time_ns < r->first_ns ? time_ns : r->first_ns;
    r->last_ns = time_ns > r->last_ns ? time_ns : r->last_ns;
    *recent =
        (struct survivor){b->site, b->birth, (uint32_t)reach, (uint32_t)(r - s->rows.items) + 1};
    return recent->row - 1;
}

void live_summary_close(struct live_summary *s)
{
    map_release(&s->index);
    vec_release(&s->era_ticks);
}

struct taking {
    struct live_summary *live_summary;
    const struct target *target;
    struct amount sum;
};

static void take(void *context, const struct block *b, bool inherited)
{
    struct taking *k = context;
    if (inherited)
        return;
    struct amount weight = weigh(k->target->profile.sample_bytes, b->address, b->size, b->usable);
    k->sum.bytes += weight.bytes;
    k->sum.blocks += weight.blocks;
    live_summary_add(k->live_summary, k->target, b, REACH_UNKNOWN, 0);
}

/* What the heap's sites have; arenas of CPython hold no blocks. */
static struct amount counted(const struct target *t)
{
    struct amount sum = {0};
    for (size_t i = 0; i < t->ledger.accounts.count; i++)
        if (t->ledger.accounts.items[i].domain == DOMAIN_HEAP) {
            struct amount live = ledger_live(&t->ledger, &t->ledger.accounts.items[i]);
            sum.bytes += live.bytes;
            sum.blocks += live.blocks;
        }
    return sum;
}

bool live_summary_take(struct live_summary *s, struct target *t, enum scan_kind kind,
                       uint64_t now_ns)
{
    struct taking k = {.live_summary = s, .target = t};
    live_summary_begin(s, t, kind, now_ns);
    bool known = block_index_each(t, take, &k);
    live_summary_close(s);
    struct amount sum = counted(t);
    return known && k.sum.bytes == sum.bytes && k.sum.blocks == sum.blocks;
}

/* What is left of a site, and what was allocated there at a tick or later. */
static void derive_row(struct live_summary *s, struct amount *left, uint32_t site, uint32_t tick,
                       uint64_t time_ns, const uint64_t columns[COLUMNS])
{
    struct amount of = {columns[COL_BYTES], columns[COL_ALLOCS], columns[COL_USABLE]};
    if (!left->blocks || !of.blocks)
        return;
    if (of.blocks >= left->blocks)
        of = *left;
    of.bytes = of.bytes < left->bytes ? of.bytes : left->bytes;
    of.usable = of.usable < left->usable ? of.usable : left->usable;
    left->blocks -= of.blocks;
    left->bytes -= of.bytes;
    left->usable -= of.usable;
    *vec_push(&s->rows) = (struct live_row){.site = site,
                                            .interval = tick,
                                            .reach = REACH_UNKNOWN,
                                            .blocks = of.blocks,
                                            .bytes = of.bytes,
                                            .usable = of.usable,
                                            .first_ns = time_ns,
                                            .last_ns = time_ns};
}

void live_summary_derive(struct live_summary *s, struct target *t, enum scan_kind kind,
                         uint64_t now_ns)
{
    const struct ledger *l = &t->ledger;
    const struct units units = {l->accounts.items, offsetof(struct account, unit),
                                sizeof *l->accounts.items, l->accounts.count};
    struct amount *left = xcalloc(l->accounts.count + 1, sizeof *left);
    live_summary_begin(s, t, kind, now_ns);
    for (size_t i = 0; i < l->accounts.count; i++)
        if (l->accounts.items[i].domain == DOMAIN_HEAP)
            left[i] = ledger_live(l, &l->accounts.items[i]);
    for (size_t i = 0; i < l->deltas.dirty.count; i++) {
        uint32_t site = l->deltas.dirty.items[i];
        struct delta d = ledger_delta(l, site);
        derive_row(s, &left[site], site, t->tick, now_ns, d.columns);
    }
    for (size_t i = t->timeline.slices.count; i-- > 0;) {
        const struct slice *e = &t->timeline.slices.items[i];
        struct cursor c = {(const uint8_t *)e->rows.data,
                           (const uint8_t *)e->rows.data + e->rows.size, NULL, false};
        uint32_t previous = UINT32_MAX;
        struct row row;
        for (size_t k = 0; k < e->row_count && row_take(&c, &previous, &row, &units); k++)
            derive_row(s, &left[row.site], row.site, e->tick, e->interval.end_ns, row.columns);
    }
    free(left);
    live_summary_close(s);
}

static int in_order(const void *a, const void *b)
{
    const struct live_row *x = a, *y = b;
    if (x->site != y->site)
        return x->site < y->site ? -1 : 1;
    if (x->interval != y->interval)
        return x->interval < y->interval ? -1 : 1;
    return (x->reach > y->reach) - (x->reach < y->reach);
}

static void join(struct live_row *into, const struct live_row *r)
{
    into->blocks += r->blocks;
    into->bytes += r->bytes;
    into->usable += r->usable;
    into->untouched += r->untouched;
    into->led_blocks += r->led_blocks;
    into->led_bytes += r->led_bytes;
    into->first_ns = r->first_ns < into->first_ns ? r->first_ns : into->first_ns;
    into->last_ns = r->last_ns > into->last_ns ? r->last_ns : into->last_ns;
}

static uint32_t interval_of(const struct target *t, uint32_t tick)
{
    size_t end = interval_log_find(&t->timeline, tick);
    return end ? (uint32_t)(end - 1) : 0;
}

/* The rows of a scan with this site and interval begin here, or would. */
static size_t row_index(const struct profile *p, const struct scan *s, uint32_t site,
                        uint32_t interval)
{
    size_t at;
    const struct live_row key = {.site = site, .interval = interval},
                          *rows = p->live.items + s->first_row;
    BISECT(at, s->row_count, in_order(&rows[at], &key) < 0);
    return s->first_row + at;
}

/*
 * Nobody looked after destructors had run, but before: what was lost then nobody can have freed, so
 * it is among what is left; the others of the same site and interval were reachable.
 */
static void remember_reach(struct profile *p, const struct scan *before, size_t first)
{
    VEC(struct live_row) rows = {0};
    for (size_t i = first; i < p->live.count; i++) {
        struct live_row left = p->live.items[i];
        bool seen = left.interval < before->intervals;
        size_t k = row_index(p, before, left.site, left.interval);
        for (; seen && k < before->first_row + before->row_count; k++) {
            struct live_row r = p->live.items[k];
            if (r.site != left.site || r.interval != left.interval)
                break;
            bool gone = r.reach == REACH_LOST || r.reach == REACH_INDIRECT;
            if (!gone || r.blocks > left.blocks || r.bytes > left.bytes || r.usable > left.usable)
                continue;
            r.untouched = 0;
            *vec_push(&rows) = r;
            left.blocks -= r.blocks;
            left.bytes -= r.bytes;
            left.usable -= r.usable;
        }
        left.reach = seen ? REACH_REACHABLE : REACH_UNKNOWN;
        if (left.blocks)
            *vec_push(&rows) = left;
    }
    p->live.count = first;
    for (size_t i = 0; i < rows.count; i++)
        *vec_push(&p->live) = rows.items[i];
    vec_release(&rows);
}

void live_summary_finish(struct live_summary *s, struct target *t)
{
    struct profile *p = &t->profile;
    for (size_t i = 0; i < s->rows.count; i++)
        s->rows.items[i].interval = interval_of(t, s->rows.items[i].interval);
    if (s->rows.count)
        qsort(s->rows.items, s->rows.count, sizeof *s->rows.items, in_order);
    s->scan.first_row = p->live.count;
    for (size_t i = 0; i < s->rows.count; i++) {
        struct live_row *last = i ? vec_last(&p->live) : NULL;
        if (last && in_order(last, &s->rows.items[i]) == 0)
            join(last, &s->rows.items[i]);
        else
            *vec_push(&p->live) = s->rows.items[i];
    }
    vec_release(&s->rows); /* with many blocks, that is as much again */
    const struct scan *before = p->scans.count ? vec_last(&p->scans) : NULL;
    if (s->scan.kind == SCAN_END && !s->looked && before && before->kind == SCAN_EXIT &&
        !before->unreachable) {
        remember_reach(p, before, s->scan.first_row);
        s->scan.led = before->led;
        free(s->scan.unreachable);
        s->scan.unreachable = NULL;
    }
    s->scan.row_count = p->live.count - s->scan.first_row;
    s->scan.intervals = interval_log_find(&t->timeline, (uint32_t)s->scan.intervals);
    *vec_push(&p->scans) = s->scan;
    s->scan.unreachable = NULL;
}

void live_summary_release(struct live_summary *s)
{
    free(s->scan.unreachable);
    vec_release(&s->rows);
    map_release(&s->index);
    vec_release(&s->era_ticks);
    *s = (struct live_summary){0};
}
