/*
 * Functions whose blocks are still needed, as far as anybody can tell, but become more and more:
 * those of which analyse/growth.h says so, if they are worth a finding. Without marks more is asked
 * for: a program that reads its input grows too, until it has read it.
 */
#include <stdlib.h>

#include "analyse/detect.h"
#include "analyse/growth.h"

#define MARK_BYTES (16 * KIB)
#define MARK_SHARE 0.02 /* of the peak */
#define TIME_BYTES (1 * MIB)
#define TIME_SHARE 0.25

static void add(struct findings *f, const struct growth *g, const struct growth_site *s)
{
    double share = share_of(s->bytes, f->basis.peak_bytes);
    if (!domain_is_live(s->domain) || s->bytes < (g->mark ? MARK_BYTES : TIME_BYTES) ||
        share < (g->mark ? MARK_SHARE : TIME_SHARE))
        return;
    struct window grown = {.since = {.intervals = g->since}, .at = {.intervals = g->until}};
    struct measure m; /* of the sites that grew */
    measure_sites(&m, f->places.total.profile, METRIC_LIVE, SIZE_REQUESTED, &grown);
    struct finding *n = detect_add(f, FINDING_GROWTH, s->place, m.sites, share);
    measure_release(&m);
    n->bytes = s->bytes;
    n->of_bytes = (int64_t)f->basis.peak_bytes;
    n->mark = g->mark;
    n->per_mark = g->mark ? s->trend.slope : 0;
    n->count = s->held_blocks;
    n->never_less = s->trend.fall <= 0;
    n->freed_bytes = s->freed_bytes;
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
    for (size_t i = 0; i < g.sites.count; i++)
        add(f, &g, &g.sites.items[i]);
    growth_release(&g);
}
