/*
 * Finds functions whose blocks are still needed, as far as one can tell, but become more and more:
 * those that grow according to analyse/growth_functions.c, if they are worth a finding. Without
 * marks the thresholds are higher: a program that reads its input also grows until it has read it.
 */

#include "analyse/detect.h"
#include "analyse/growth.h"

#define TIME_BYTES  (1 * MIB)
#define TIME_SHARE  0.25
#define FREED_SHARE 0.5 /* this share of what a function gained */

static bool is_worth_it(const struct growth *g, const struct growth_site *s, uint64_t of_bytes)
{
    return s->bytes >= (g->mark ? GROWN_BYTES : TIME_BYTES) &&
           share_of(s->bytes, of_bytes) >= (g->mark ? GROWN_SHARE : TIME_SHARE);
}

static void describe(struct finding *n, const struct growth *g, const struct growth_site *s,
                     uint64_t of_bytes)
{
    n->bytes = s->bytes;
    n->of_bytes = (int64_t)of_bytes;
    n->mark = g->mark;
    n->per_mark = g->mark ? s->trend.slope : 0;
    n->count = s->held_blocks;
    n->never_less = s->trend.fall <= 0 && !g->places.total.profile->sample_bytes;
    n->freed_bytes = s->freed_bytes;
}

/* Without marks, a program that frees at its end what it has built up has a peak, no growth. */
static bool is_freed_at_end(const struct growth *g, const struct growth_site *s)
{
    return !g->mark && (double)s->freed_bytes >= FREED_SHARE * (double)s->bytes;
}

static void add(struct findings *f, const struct growth *g, const struct growth_site *s)
{
    if (!is_worth_it(g, s, f->basis.peak_bytes) || is_freed_at_end(g, s))
        return;
    double share = share_of(s->bytes, f->basis.peak_bytes);
    struct window grown = {.since = {.intervals = g->since}, .at = {.intervals = g->until}};
    struct measure m; /* of the sites that grew */
    measure_sites(&m, f->places.total.profile, METRIC_LIVE, SIZE_REQUESTED, &grown);
    struct finding *n = detect_add(f, FINDING_GROWTH, s->place, m.sites, share);
    measure_release(&m);
    describe(n, g, s, f->basis.peak_bytes);
}

/* Address space that is never touched is no memory. */
static bool is_resident(const struct growth *g, const struct growth_site *s)
{
    double gained = g->rates.parts[GAIN_MAPPED] + g->rates.parts[GAIN_SHARED] +
                    g->rates.parts[GAIN_FILES] + g->rates.parts[GAIN_ARENAS];
    return g->verdict == VERDICT_MAPPED || g->verdict == VERDICT_SHARED ||
           gained >= s->trend.slope / 2;
}

/* How much of the mappings is resident is not known here, so detect_resident reports them. */
static void note_mapped(struct findings *f, const struct growth *g, const struct growth_site *s)
{
    size_t sites = f->places.total.profile->sites.count;
    if (!is_worth_it(g, s, f->basis.rss_bytes) || !is_resident(g, s))
        return;
    if (!f->mapped_grows)
        f->mapped_grows = xcalloc(sites + 1, sizeof *f->mapped_grows);
    f->mapped_mark = g->mark;
    for (size_t i = 0; i < sites; i++)
        if (g->mapped.of_site[i] == s->place)
            f->mapped_grows[i] = s->trend.slope;
}

/* A pool gets its memory from somewhere: what grew in the heap is reported there. The pool's own
 * frame is no function, so its caller is shown. */
static void add_pool(struct findings *f, const struct growth *g, const struct growth_site *s)
{
    uint64_t whole =
        f->basis.rss_bytes > f->basis.peak_bytes ? f->basis.rss_bytes : f->basis.peak_bytes;
    if (!is_worth_it(g, s, whole) || g->gained_bytes > s->bytes / 2)
        return;
    uint32_t caller = f->pools.total.tree.parent.items[s->call];
    *vec_push(&f->list) = (struct finding){.kind = FINDING_GROWTH,
                                           .domain = DOMAIN_POOL,
                                           .place = s->place,
                                           .call = caller ? caller : s->call,
                                           .leaf = s->leaf,
                                           .worth = share_of(s->bytes, whole)};
    describe(&f->list.items[f->list.count - 1], g, s, whole);
}

void detect_growth(struct findings *f)
{
    const struct profile *p = f->places.total.profile;
    struct growth g;
    f->basis.growth_known = p->peak_bytes < TIME_BYTES;
    if (p->together > 1)
        return; /* marks and times of several processes are no series */
    growth_of_places(&g, &f->places);
    f->basis.growth_known |= g.known || (!g.mark && g.until >= GROWTH_STAMPS_LEAST);
    resident_highest(p, &f->basis);
    f->pools = g.pools;
    g.pools = (struct places){0};
    for (size_t i = 0; i < g.sites.count; i++) {
        const struct growth_site *s = &g.sites.items[i];
        f->basis.grown_bytes += (uint64_t)(s->bytes > 0 ? s->bytes : 0);
        if (s->domain == DOMAIN_MAPPED)
            note_mapped(f, &g, s);
        else if (s->domain == DOMAIN_POOL)
            add_pool(f, &g, s);
        else
            add(f, &g, s);
    }
    growth_release(&g);
}
