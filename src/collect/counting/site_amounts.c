#include "collect/counting/site_amounts.h"

/* Figures of more blocks than this are kept exactly, so that the sum of two is in range. */
#define BLOCKS_MOST ((uint64_t)INT32_MAX / 2)

static bool same(struct amount a, struct amount b)
{
    return a.bytes == b.bytes && a.blocks == b.blocks && a.usable == b.usable;
}

static bool is_blocks(const struct account *a, struct amount m)
{
    return m.blocks + BLOCKS_MOST <= 2 * BLOCKS_MOST &&
           same(m, site_amounts_blocks(a, (int32_t)m.blocks));
}

struct site_amounts site_amounts_get(const struct wide_amounts *w, const struct account *a)
{
    if (a->wide)
        return w->items[a->wide - 1];
    struct amount own = site_amounts_blocks(a, a->own_peak_blocks);
    return (struct site_amounts){.live = site_amounts_blocks(a, a->live_blocks),
                                 .at_peak = site_amounts_blocks(a, a->at_peak_blocks),
                                 .own_peak_bytes = own.bytes,
                                 .own_peak_blocks = own.blocks,
                                 .largest_bytes = a->unit.bytes};
}

struct site_amounts *site_amounts_widen(struct wide_amounts *w, struct account *a)
{
    if (!a->wide) {
        const struct site_amounts now = site_amounts_get(w, a);
        *vec_push(w) = now;
        a->wide = (uint32_t)w->count;
    }
    return &w->items[a->wide - 1];
}

void site_amounts_set(struct wide_amounts *w, struct account *a, const struct site_amounts *to)
{
    struct amount own = {to->own_peak_bytes, to->own_peak_blocks,
                         to->own_peak_blocks * a->unit.usable};
    if (a->wide || to->largest_bytes != a->unit.bytes || !is_blocks(a, to->live) ||
        !is_blocks(a, to->at_peak) || !is_blocks(a, own)) {
        *site_amounts_widen(w, a) = *to;
        return;
    }
    a->live_blocks = (int32_t)to->live.blocks;
    a->at_peak_blocks = (int32_t)to->at_peak.blocks;
    a->own_peak_blocks = (int32_t)own.blocks;
}

bool site_amounts_fit(const struct account *a, const uint64_t c[COLUMNS])
{
    return a->has_unit && c[COL_ALLOCS] <= BLOCKS_MOST && c[COL_FREES] <= BLOCKS_MOST &&
           c[COL_TEMPS] <= BLOCKS_MOST && !c[COL_REALLOCS] &&
           c[COL_BYTES] == c[COL_ALLOCS] * a->unit.bytes &&
           c[COL_FREED] == c[COL_FREES] * a->unit.bytes &&
           c[COL_TEMP_BYTES] == c[COL_TEMPS] * a->unit.bytes &&
           c[COL_USABLE] == c[COL_ALLOCS] * a->unit.usable &&
           c[COL_USABLE_FREED] == c[COL_FREES] * a->unit.usable;
}

/* --- the open interval ------------------------------------------------------------------------ */

static struct small_delta *small_of(struct deltas *d, struct account *a, uint32_t number)
{
    if (__builtin_expect(!a->delta, 0)) {
        *vec_push(&d->dirty) = number;
        *vec_push(&d->items) = (struct small_delta){0};
        a->delta = (uint32_t)d->items.count;
    }
    return &d->items.items[a->delta - 1];
}

static void expand(const struct account *a, const struct small_delta *s, uint64_t c[COLUMNS])
{
    c[COL_ALLOCS] = s->allocs;
    c[COL_FREES] = s->frees;
    c[COL_TEMPS] = s->temps;
    c[COL_BYTES] = s->allocs * a->unit.bytes;
    c[COL_FREED] = s->frees * a->unit.bytes;
    c[COL_TEMP_BYTES] = s->temps * a->unit.bytes;
    c[COL_USABLE] = s->allocs * a->unit.usable;
    c[COL_USABLE_FREED] = s->frees * a->unit.usable;
    c[COL_REALLOCS] = 0;
}

uint64_t *deltas_widen(struct deltas *d, struct account *a, uint32_t number)
{
    struct small_delta *s = small_of(d, a, number);
    if (!s->wide) {
        expand(a, s, vec_push(&d->wide)->columns);
        s->wide = (uint32_t)d->wide.count;
    }
    return d->wide.items[s->wide - 1].columns;
}

void deltas_add(struct deltas *d, struct account *a, uint32_t number,
                const uint64_t columns[COLUMNS], bool fit)
{
    struct small_delta *s = small_of(d, a, number);
    if (fit && !s->wide && s->allocs <= BLOCKS_MOST && s->frees <= BLOCKS_MOST &&
        s->temps <= BLOCKS_MOST) {
        s->allocs += (uint32_t)columns[COL_ALLOCS];
        s->frees += (uint32_t)columns[COL_FREES];
        s->temps += (uint32_t)columns[COL_TEMPS];
        return;
    }
    uint64_t *to = deltas_widen(d, a, number);
    for (unsigned i = 0; i < COLUMNS; i++)
        to[i] += columns[i];
}

struct delta deltas_get(const struct deltas *d, const struct account *a)
{
    struct delta out = {0};
    if (!a->delta)
        return out;
    const struct small_delta *s = &d->items.items[a->delta - 1];
    if (s->wide)
        return d->wide.items[s->wide - 1];
    expand(a, s, out.columns);
    return out;
}

void deltas_clear(struct deltas *d)
{
    d->dirty.count = d->items.count = d->wide.count = 0;
}

void deltas_release(struct deltas *d)
{
    vec_release(&d->dirty);
    vec_release(&d->items);
    vec_release(&d->wide);
}
