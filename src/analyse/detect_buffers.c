/*
 * Buffers that are larger than what is used of them, and buffers that grow step by step.
 */
#include <stdlib.h>

#include "analyse/detect.h"
#include "store/buckets.h"

#define UNTOUCHED_BYTES (4 * MIB)
#define UNTOUCHED_SHARE 0.1 /* of the peak */
#define UNTOUCHED_HALF  0.5 /* of what the function holds */
#define UNTOUCHED_ALL   0.95

/* A chain of doublings has about as many blocks of each size, up to the largest. */
#define CHAIN_OCTAVES 6
#define CHAIN_LESS    0.8
#define CHAIN_MORE    2.2 /* growth by half makes one or two in each octave */
#define CHAIN_OWN     0.8 /* of the function's allocations are in it */
#define CHAIN_TIMES   3   /* once or twice is nothing, but for a large part of the peak */
#define CHAIN_LARGEST (64 * KIB)
#define CHAIN_SHARE   0.05 /* of the peak: what is live twice while it is copied; or else */
#define CHAIN_COPIED  (64 * MIB)
#define CHAIN_ONCE    0.2 /* of the peak */
#define COPIED_PER_NS 4.0 /* bytes: a few GB a second */

/* --- never touched ---------------------------------------------------------------------------- */

struct use {
    struct value *untouched, *held; /* by site */
    bool known;
};

/* At the end, or when the program was last looked at. */
static void add_living(struct use *u, const struct profile *p)
{
    const struct scan *scan = NULL;
    for (size_t i = 0; i < p->scans.count; i++)
        if (p->scans.items[i].residency && (!scan || scan->kind != SCAN_EXIT))
            scan = &p->scans.items[i]; /* destructors free what was there before them */
    if (!scan)
        return;
    u->known = true;
    for (size_t i = scan->first_row; i < scan->first_row + scan->row_count; i++) {
        const struct live_row *r = &p->live.items[i];
        value_join(&u->untouched[r->site],
                   (struct value){(int64_t)r->untouched, (int64_t)r->blocks}, false);
        value_join(&u->held[r->site], (struct value){(int64_t)r->bytes, (int64_t)r->blocks}, false);
    }
}

/* When they were freed: of the most that the site ever had, the same part. */
static void add_freed(struct use *u, const struct profile *p)
{
    for (size_t i = 0; i < p->looks.count; i++) {
        const struct freed_look *l = &p->looks.items[i];
        const struct site *s = &p->sites.items[l->site];
        double part = l->bytes ? (double)l->untouched / (double)l->bytes : 0;
        u->known = true;
        if (!(part > 0 && part <= 1))
            continue;
        value_join(&u->untouched[l->site],
                   (struct value){(int64_t)(part * (double)s->own_peak_bytes),
                                  (int64_t)l->untouched_blocks},
                   false);
        value_join(&u->held[l->site],
                   (struct value){(int64_t)s->own_peak_bytes, (int64_t)l->blocks}, false);
    }
}

void detect_untouched(struct findings *f)
{
    const struct profile *p = f->places.total.profile;
    struct use u = {.untouched = xcalloc(p->sites.count + 1, sizeof *u.untouched),
                    .held = xcalloc(p->sites.count + 1, sizeof *u.held)};
    add_living(&u, p);
    add_freed(&u, p);
    struct value *places = places_sum(&f->places, u.untouched);
    struct value *all = places_sum(&f->places, u.held);
    f->basis.residency_known = u.known;
    for (uint32_t i = 0; i < f->places.count; i++) {
        int64_t bytes = places[i].amount;
        double of_peak = share_of(bytes, f->basis.peak_bytes);
        double own = all[i].amount > 0 ? (double)bytes / (double)all[i].amount : 0;
        f->basis.untouched_bytes = wrapped(f->basis.untouched_bytes, bytes);
        if (bytes < UNTOUCHED_BYTES || of_peak < UNTOUCHED_SHARE || own < UNTOUCHED_HALF)
            continue;
        struct finding *n =
            detect_add(f, own >= UNTOUCHED_ALL ? FINDING_UNTOUCHED : FINDING_OVERSIZED, i,
                       u.untouched, of_peak);
        n->bytes = bytes;
        n->count = places[i].count;
        n->of_bytes = all[i].amount;
    }
    free(all);
    free(places);
    free(u.held);
    free(u.untouched);
}

/* --- chains of growth ------------------------------------------------------------------------- */

struct spread_of_sizes {
    uint64_t count[SIZE_BUCKETS], bytes[SIZE_BUCKETS];
};

static void add_bucket(struct spread_of_sizes *s, unsigned bucket, uint64_t count, uint64_t bytes)
{
    s->count[bucket] += count;
    s->bytes[bucket] += bytes;
}

/* What is not in a row is in the bucket of the site's first block. */
static void add_sizes(const struct findings *f, struct spread_of_sizes *spreads)
{
    const struct profile *p = f->places.total.profile;
    const struct measure *total = &f->places.total.measure;
    uint64_t *left = xcalloc(total->count + 1, sizeof *left);
    uint64_t *left_bytes = xcalloc(total->count + 1, sizeof *left_bytes);
    for (size_t i = 0; i < total->count; i++) {
        left[i] = (uint64_t)total->sites[i].count;
        left_bytes[i] = (uint64_t)total->sites[i].amount;
    }
    for (size_t i = 0; i < p->sizes.count; i++) {
        const struct bucket_row *r = &p->sizes.items[i];
        left[r->site] -= r->count;
        left_bytes[r->site] -= r->bytes;
        if (f->places.of_site[r->site] != PLACE_NONE)
            add_bucket(&spreads[f->places.of_site[r->site]], r->bucket % SIZE_BUCKETS, r->count,
                       r->bytes);
    }
    for (size_t i = 0; i < total->count; i++)
        if (f->places.of_site[i] != PLACE_NONE)
            add_bucket(&spreads[f->places.of_site[i]], size_bucket(p->sites.items[i].unit_bytes),
                       left[i], left_bytes[i]);
    free(left_bytes);
    free(left);
}

struct chain {
    unsigned octaves;
    uint64_t times, steps, copied, last, before; /* last, before: bytes of the last two sizes */
};

static struct chain chain_of(const struct spread_of_sizes *s)
{
    struct chain c = {0};
    int top = SIZE_BUCKETS - 1;
    while (top >= 0 && !s->count[top])
        top--;
    if (top < 1)
        return c;
    c.times = s->count[top];
    c.last = s->bytes[top] / c.times;
    for (int b = top; b >= 0; b--, c.octaves++) {
        double ratio = (double)s->count[b] / (double)c.times;
        if (ratio < CHAIN_LESS || ratio > CHAIN_MORE)
            break;
        c.steps += s->count[b];
        c.copied += b < top ? s->bytes[b] : 0;
        c.before = b == top - 1 ? s->bytes[b] / s->count[b] : c.before;
    }
    return c;
}

void detect_chains(struct findings *f)
{
    const struct profile *p = f->places.total.profile;
    struct spread_of_sizes *spreads = xcalloc(f->places.count + 1, sizeof *spreads);
    add_sizes(f, spreads);
    struct value *all = places_sum(&f->places, f->places.total.measure.sites);
    for (uint32_t i = 0; i < f->places.count; i++) {
        struct chain c = chain_of(&spreads[i]);
        double memory = share_of((int64_t)c.before, f->basis.peak_bytes);
        bool often = c.times >= CHAIN_TIMES || memory >= CHAIN_ONCE;
        bool much = memory >= CHAIN_SHARE || c.copied >= CHAIN_COPIED;
        if (c.octaves < CHAIN_OCTAVES || !often || !much || c.last < CHAIN_LARGEST ||
            (double)c.steps < CHAIN_OWN * (double)all[i].count)
            continue;
        double time =
            p->duration_ns ? (double)c.copied / COPIED_PER_NS / (double)p->duration_ns : 0;
        struct finding *n = detect_add(f, FINDING_CHAIN, i, f->places.total.measure.sites,
                                       time > memory ? time : memory);
        n->bytes = (int64_t)c.copied;
        n->count = (int64_t)(c.steps - c.times);
        n->of_bytes = (int64_t)c.last;
        n->times = c.times;
    }
    free(all);
    free(spreads);
}
