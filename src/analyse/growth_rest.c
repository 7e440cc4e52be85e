/*
 * growth_rest: what RSS gained besides what the verdict is about.
 *
 * Only here it is decided whether RSS is otherwise flat, so that no sentence says so while the
 * account of RSS (struct growth_rates, growth_rates.c) has another large part. The verdict itself
 * is in growth_verdict.c.
 */
#include <math.h>

#include "analyse/growth.h"

#define MOSTLY      0.8    /* from this share of the gain on, it counts as explained */
#define BYTES_LEAST 4096.0 /* RSS is a number of pages; less than one says nothing */

/* The part of the gain of RSS that the verdict is about. */
static double explained(const struct growth *g, const struct growth_rates *r)
{
    enum growth_part most = growth_main_part(g);
    double part = g->verdict == VERDICT_LEAK ? r->parts[GAIN_LOST]
                  : most < GAIN_OTHER        ? r->parts[most]
                                             : 0;
    return part +
           (g->verdict == VERDICT_LEAK || most == GAIN_REACHABLE ? r->parts[GAIN_ROUNDING] : 0);
}

/* The bytes of the gain that are not explained; 0: nearly all are. */
static double unexplained_bytes(const struct growth *g, const struct growth_rates *r)
{
    double gain = r->rss - r->parts[GAIN_RECORDER], part = explained(g, r);
    if (r->rss <= 0 || part >= MOSTLY * gain)
        return 0;
    return (gain - part) * growth_span(g, r->begin, r->end);
}

struct growth_rest growth_rest_of_rss(const struct growth *g)
{
    bool about_blocks = g->verdict == VERDICT_LEAK || g->verdict == VERDICT_GROWTH;
    bool rises = growth_grows(g, GROWTH_RSS) || growth_rose(g, GROWTH_RSS);
    double then = unexplained_bytes(g, &g->rates);
    if (g->verdict == VERDICT_NONE || g->verdict == VERDICT_STABLE ||
        g->verdict == VERDICT_WARM_UP || g->verdict == VERDICT_ADDRESS_SPACE)
        return (struct growth_rest){.kind = REST_NOT_ASKED};
    if (rises && then > 0)
        return (struct growth_rest){.kind = REST_SAME_TIME, .bytes = then};
    if (!about_blocks)
        return (struct growth_rest){.kind = REST_NOT_ASKED};
    /* The verdict is about the time in which it grew; before and after that, RSS may have gained
     * more, for another reason. */
    struct growth_rates all = growth_rates_between(g, 0, g->count - 1, false);
    double whole = unexplained_bytes(g, &all);
    if (whole >= GROWTH_PROCESS_GAIN || (whole > 0 && growth_rose(g, GROWTH_RSS)))
        return (struct growth_rest){.kind = REST_OTHER_TIME, .bytes = whole};
    double rest = fmax(then, whole);
    return (struct growth_rest){.kind = rest < BYTES_LEAST ? REST_FLAT : REST_UNCLEAR,
                                .bytes = rest};
}
