#include "collect/counting/live_summary.h"

#include <stdlib.h>

#include "collect/counting/target.h"
#include "collect/counting/weights.h"

/* A slice is represented by its last tick. The open one has none yet, so the present tick is
 * used. */
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

static uint32_t add_row(struct live_summary *s, const struct target *t, const struct block *b,
                        enum reach reach)
{
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
    r->first_ns = time_ns < r->first_ns ? time_ns : r->first_ns;
    r->last_ns = time_ns > r->last_ns ? time_ns : r->last_ns;
    return (uint32_t)(r - s->rows.items);
}

uint32_t live_summary_add(struct live_summary *s, const struct target *t, const struct block *b,
                          enum reach reach, uint64_t untouched)
{
    struct recent_row *recent =
        &s->recent[(b->site * 31 + b->birth) * 4 % LIVE_SUMMARY_RECENT + (unsigned)reach % 4];
    if (!recent->row || recent->site != b->site || recent->birth != b->birth ||
        recent->reach != (uint32_t)reach)
        *recent =
            (struct recent_row){b->site, b->birth, (uint32_t)reach, add_row(s, t, b, reach) + 1};
    struct live_row *r = &s->rows.items[recent->row - 1];
    struct amount weight = weigh(t->profile.sample_bytes, b->address, b->size, b->usable);
    r->blocks += weight.blocks;
    r->bytes += weight.bytes;
    r->usable += weight.usable;
    r->untouched += untouched;
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

/* What the heap's sites have; arenas of CPython contain no blocks. */
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

/* Derives a row from what is left of a site and what was allocated there at a tick or later. */
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

void live_derivation_begin(struct live_derivation *d, struct target *t, enum scan_kind kind,
                           uint64_t now_ns)
{
    const struct ledger *l = &t->ledger;
    *d = (struct live_derivation){.target = t,
                                  .left = xcalloc(l->accounts.count + 1, sizeof *d->left)};
    live_summary_begin(&d->summary, t, kind, now_ns);
    for (size_t i = 0; i < l->accounts.count; i++)
        if (l->accounts.items[i].domain == DOMAIN_HEAP)
            d->left[i] = ledger_live(l, &l->accounts.items[i]);
    for (size_t i = 0; i < l->deltas.dirty.count; i++) {
        uint32_t site = l->deltas.dirty.items[i];
        struct delta delta = ledger_delta(l, site);
        derive_row(&d->summary, &d->left[site], site, t->tick, now_ns, delta.columns);
    }
}

void live_derivation_run(struct live_derivation *d)
{
    const struct target *t = d->target;
    const struct ledger *l = &t->ledger;
    const struct units units = ledger_units(l);
    for (size_t i = t->timeline.slices.count; i-- > 0;) {
        const struct slice *e = &t->timeline.slices.items[i];
        struct cursor c = {(const uint8_t *)e->rows.data,
                           (const uint8_t *)e->rows.data + e->rows.size, NULL, false};
        uint32_t previous = UINT32_MAX;
        struct row row;
        for (size_t k = 0; k < e->row_count && row_take(&c, &previous, &row, &units); k++)
            derive_row(&d->summary, &d->left[row.site], row.site, e->tick, e->interval.end_ns,
                       row.columns);
    }
    free(d->left);
    live_summary_close(&d->summary);
}

void live_summary_derive(struct live_summary *s, struct target *t, enum scan_kind kind,
                         uint64_t now_ns)
{
    struct live_derivation d;
    live_derivation_begin(&d, t, kind, now_ns);
    live_derivation_run(&d);
    *s = d.summary;
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

#define FEW 8 /* rows: so many are sorted by moving each to its place */

static void sort_few(struct live_row *rows, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        struct live_row r = rows[i];
        size_t k = i;
        for (; k && in_order(&rows[k - 1], &r) > 0; k--)
            rows[k] = rows[k - 1];
        rows[k] = r;
    }
}

/* Returns a copy of the rows in order, with room for one more, and frees `rows`. `sites` is the
 * number of all sites. Most have few rows, so it first counts how many each one has. */
static struct live_row *sorted_rows(struct live_row *rows, size_t count, size_t sites)
{
    uint32_t *ends = xcalloc(sites + 1, sizeof *ends); /* of each site, in the new order */
    struct live_row *sorted = xmalloc((count + 1) * sizeof *sorted);
    for (size_t i = 0; i < count; i++)
        ends[rows[i].site + 1]++;
    for (size_t i = 1; i <= sites; i++)
        ends[i] += ends[i - 1];
    for (size_t i = 0; i < count; i++)
        sorted[ends[rows[i].site]++] = rows[i];
    for (size_t i = 0, first = 0; i < sites; first = ends[i++])
        if (ends[i] - first > FEW)
            qsort(sorted + first, ends[i] - first, sizeof *sorted, in_order);
        else
            sort_few(sorted + first, ends[i] - first);
    free(ends);
    free(rows);
    return sorted;
}

/* The same for a growing array of rows. */
#define SORT_ROWS(v, sites)                                                                        \
    ((v)->items = sorted_rows((v)->items, (v)->count, (sites)), (v)->capacity = (v)->count + 1)

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

/* The index at which rows of a scan with this site begin, or would. */
static size_t first_of_site(const struct profile *p, const struct scan *s, uint32_t site)
{
    size_t at;
    const struct live_row *rows = p->live.items + s->first_row;
    BISECT(at, s->row_count, rows[at].site < site);
    return s->first_row + at;
}

static bool fits(const struct live_row *r, const struct live_row *within)
{
    return r->blocks <= within->blocks && r->bytes <= within->bytes && r->usable <= within->usable;
}

static void subtract(struct live_row *from, const struct live_row *r)
{
    from->blocks -= r->blocks;
    from->bytes -= r->bytes;
    from->usable -= r->usable;
}

/* Adds what is in hand to a field of a row, and subtracts the debt as far as it can. */
static void pay(uint64_t *field, uint64_t *hand, uint64_t *debt)
{
    *field += *hand;
    *hand = 0;
    uint64_t paid = *field < *debt ? *field : *debt;
    *field -= paid;
    *debt -= paid;
}

/* Subtracts `debt` from the rows of a site, the oldest first. Rows without blocks become empty. */
static void take_away(struct live_row *rows, size_t count, struct live_row debt)
{
    struct live_row hand = {0}; /* what was in rows whose blocks are all subtracted */
    for (size_t i = 0; i < count; i++) {
        pay(&rows[i].blocks, &hand.blocks, &debt.blocks);
        if (rows[i].blocks)
            continue;
        hand.bytes += rows[i].bytes;
        hand.usable += rows[i].usable;
        rows[i].bytes = rows[i].usable = 0;
    }
    for (size_t i = 0; i < count; i++)
        if (rows[i].blocks) {
            pay(&rows[i].bytes, &hand.bytes, &debt.bytes);
            pay(&rows[i].usable, &hand.usable, &debt.usable);
        }
}

static int reachable_first(const void *a, const void *b)
{
    const struct live_row *x = a, *y = b;
    bool other_x = x->reach != REACH_REACHABLE, other_y = y->reach != REACH_REACHABLE;
    return other_x != other_y ? other_x - other_y : in_order(a, b);
}

void live_summary_forget_freed(struct live_summary *s, const struct target *t)
{
    const struct ledger *l = &t->ledger;
    size_t kept = 0;
    SORT_ROWS(&s->rows, l->accounts.count);
    for (size_t i = 0, end; i < s->rows.count; i = end) {
        struct live_row *rows = &s->rows.items[i], sum = {0};
        for (end = i; end < s->rows.count && s->rows.items[end].site == rows->site; end++)
            join(&sum, &s->rows.items[end]);
        struct amount live = ledger_live(l, &l->accounts.items[rows->site]);
        struct live_row left = {.blocks = live.blocks, .bytes = live.bytes, .usable = live.usable};
        if (left.blocks >= sum.blocks || !fits(&left, &sum))
            continue;
        subtract(&sum, &left);
        /* The program still had pointers to what it freed. */
        qsort(rows, end - i, sizeof *rows, reachable_first);
        take_away(rows, end - i, sum);
    }
    for (size_t i = 0; i < s->rows.count; i++) {
        struct live_row row = s->rows.items[i];
        row.untouched = row.untouched < row.usable ? row.untouched : row.usable;
        if (row.blocks)
            s->rows.items[kept++] = row;
    }
    s->rows.count = kept;
}

struct remembered {
    VEC(struct live_row) rows;
};

/* The rows of one site that were allocated before the scan. */
static void remember_site(const struct profile *p, const struct scan *before, struct live_row *left,
                          size_t count, struct remembered *out)
{
    struct live_row room = {0}, debt = {0};
    size_t same = 0, end = before->first_row + before->row_count;
    for (size_t i = 0; i < count; i++)
        join(&room, &left[i]);
    for (size_t k = first_of_site(p, before, left->site);
         k < end && p->live.items[k].site == left->site; k++) {
        struct live_row lost = p->live.items[k];
        if ((lost.reach != REACH_LOST && lost.reach != REACH_INDIRECT) || !fits(&lost, &room))
            continue;
        subtract(&room, &lost);
        while (same < count && left[same].interval < lost.interval)
            same++;
        if (same < count && left[same].interval == lost.interval && fits(&lost, &left[same]))
            subtract(&left[same], &lost);
        else
            join(&debt, &lost);
        lost.untouched = 0;
        *vec_push(&out->rows) = lost;
    }
    if (debt.blocks)
        take_away(left, count, debt);
    for (size_t i = 0; i < count; i++) {
        left[i].reach = REACH_REACHABLE;
        if (left[i].blocks)
            *vec_push(&out->rows) = left[i];
    }
}

/*
 * There was no scan after destructors had run, but one before. What was lost then cannot have been
 * freed since, so it is among what is left of its site; the others were reachable. The interval in
 * which a block was allocated and the one that counts its allocation may differ by a tick. So rows
 * of the same interval are matched first, and then all of the site.
 */
static void remember_reach(struct profile *p, const struct scan *before, size_t first, size_t sites)
{
    struct remembered all = {0};
    for (size_t i = first; i < p->live.count;) {
        size_t seen = i, end;
        for (end = i; end < p->live.count && p->live.items[end].site == p->live.items[i].site;
             end++)
            seen += p->live.items[end].interval < before->intervals;
        if (seen > i)
            remember_site(p, before, &p->live.items[i], seen - i, &all);
        for (; seen < end; seen++) {
            p->live.items[seen].reach = REACH_UNKNOWN;
            *vec_push(&all.rows) = p->live.items[seen];
        }
        i = end;
    }
    SORT_ROWS(&all.rows, sites);
    p->live.count = first;
    for (size_t i = 0; i < all.rows.count; i++)
        *vec_push(&p->live) = all.rows.items[i];
    vec_release(&all.rows);
}

void live_summary_finish(struct live_summary *s, struct target *t)
{
    struct profile *p = &t->profile;
    for (size_t i = 0; i < s->rows.count; i++)
        s->rows.items[i].interval = interval_of(t, s->rows.items[i].interval);
    SORT_ROWS(&s->rows, t->ledger.accounts.count);
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
        remember_reach(p, before, s->scan.first_row, t->ledger.accounts.count);
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
