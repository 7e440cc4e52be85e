/*
 * Divides what RSS gained between two marks among its parts.
 *
 * RSS, its anonymous part and the live heap are known at every mark, and lost blocks by when they
 * were allocated. The rest is known only where footprints were taken (struct footprint): soon after
 * some marks, and at the end. The rates of these parts are taken between the footprints nearest to
 * both marks. What the parts do not explain is "other", so that the sum is always RSS.
 * growth_verdict.c decides from these rates what kind of growth it is.
 */
#include <math.h>

#include "analyse/growth.h"

/* Limits, as a share of what RSS gained. A footprint from before the first mark or after the last
 * one is useless if its RSS differs from that of the mark by more. What a program does at its start
 * is of another kind. */
#define AWAY_BEFORE 0.1
#define AWAY_AFTER  0.3
#define AWAY_LEAST  131072 /* bytes gained; below this the limits do not apply */
/* In the same way: what the program allocated while the footprint was taken counts as free. */
#define MOVED 0.1
/* How much live blocks must gain to compute how much of it is resident. If arenas are subtracted
 * from them, a footprint may be some arenas away from its mark. */
#define LIVE_LEAST  65536
#define SPACE_LEAST 4194304

const char *growth_part_name(enum growth_part part)
{
    static const char *const names[GROWTH_PARTS] = {
        [GAIN_LOST] = "lost",         [GAIN_REACHABLE] = "reachable", [GAIN_ROUNDING] = "rounding",
        [GAIN_MAPPED] = "mapped",     [GAIN_SHARED] = "shared",       [GAIN_FILES] = "files",
        [GAIN_ARENAS] = "arenas",     [GAIN_FREE] = "free",           [GAIN_STACKS] = "stacks",
        [GAIN_RECORDER] = "recorder", [GAIN_OTHER] = "other"};
    return names[part];
}

/* The last of these marks that is not after a moment, or the first. */
static size_t mark_at(const struct growth *g, uint64_t time_ns, size_t begin, size_t end)
{
    size_t k = begin;
    while (k < end && g->stamp[k + 1]->time_ns <= time_ns)
        k++;
    return k;
}

/* The position of a moment among the marks, or in seconds, within the two that count. */
static double position(const struct growth *g, uint64_t time_ns, size_t begin, size_t end)
{
    size_t k = mark_at(g, time_ns, begin, end);
    double at = growth_span(g, begin, k);
    if (k == end || time_ns <= g->stamp[k]->time_ns)
        return at;
    double share = (double)(time_ns - g->stamp[k]->time_ns) /
                   (double)(g->stamp[k + 1]->time_ns - g->stamp[k]->time_ns);
    return at + share * growth_span(g, k, k + 1);
}

static bool is_near(const struct growth *g, const struct footprint *f, size_t begin, size_t end)
{
    const double *rss = g->series[GROWTH_RSS];
    return fabs((double)f->rss_bytes - rss[end]) <= AWAY_AFTER * (rss[end] - rss[begin]);
}

/* A footprint from before the first mark or after the last one may differ much from the state at
 * the mark: a program gets most of its memory at its start, and an interpreter frees it at its end.
 * And a footprint of a program that grew much meanwhile belongs to no moment at all. */
static bool is_of_its_time(const struct growth *g, const struct footprint *f, size_t begin,
                           size_t end)
{
    const double *rss = g->series[GROWTH_RSS];
    double gained = rss[end] - rss[begin];
    if (gained < AWAY_LEAST)
        return true;
    if ((double)f->moved_bytes > MOVED * gained)
        return false;
    if (f->time_ns < g->stamp[begin]->time_ns)
        return fabs((double)f->rss_bytes - rss[begin]) <= AWAY_BEFORE * gained;
    return f->time_ns <= g->stamp[end]->time_ns || is_near(g, f, begin, end);
}

static const struct footprint *nearest(const struct growth *g, size_t begin, size_t end,
                                       uint64_t time_ns, const struct footprint *but)
{
    const struct profile *p = g->places.total.profile;
    const struct footprint *best = NULL;
    uint64_t least = UINT64_MAX;
    for (size_t i = 0; i < p->footprints.count; i++) {
        const struct footprint *f = &p->footprints.items[i];
        uint64_t away = f->time_ns > time_ns ? f->time_ns - time_ns : time_ns - f->time_ns;
        if (f != but && (!best || away <= least) && is_of_its_time(g, f, begin, end)) {
            best = f;
            least = away;
        }
    }
    return best;
}

struct footprint_pair {
    const struct footprint *first, *last; /* NULL: there are no two that are far enough apart */
    double span;
    double freed; /* bytes free in the last one whose blocks were live at the mark */
};

static struct footprint_pair footprints_between(const struct growth *g, size_t begin, size_t end)
{
    struct footprint_pair l = {.last = nearest(g, begin, end, g->stamp[end]->time_ns, NULL)};
    l.first = l.last ? nearest(g, begin, end, g->stamp[begin]->time_ns, l.last) : NULL;
    if (!l.first || l.first->time_ns >= l.last->time_ns || l.last->partial)
        return (struct footprint_pair){0};
    l.span = position(g, l.last->time_ns, begin, end) - position(g, l.first->time_ns, begin, end);
    double whole = growth_span(g, begin, end);
    if (!(l.span > 0) || l.span < 0.05 * whole)
        return (struct footprint_pair){0};
    if (l.last->kind == FOOTPRINT_EXIT)
        l.freed = fmax(g->series[GROWTH_LIVE][end] - (double)l.last->live_bytes, 0);
    return l;
}

static double part(const struct footprint_pair *l, enum footprint_part part)
{
    return ((double)l->last->parts[part] - (double)l->first->parts[part]) / l->span;
}

/* How much of what became live is resident: memory that was never written to is not. For arenas
 * this is known separately; otherwise they count as blocks. */
static double resident_share(const struct growth *g, const struct footprint_pair *l)
{
    size_t last = g->count - 1;
    double live = (double)l->last->live_bytes - (double)l->first->live_bytes;
    double resident = part(l, PART_LIVE) * l->span;
    if (g->arenas_counted)
        live -= g->arena_space[mark_at(g, l->last->time_ns, 0, last)] -
                g->arena_space[mark_at(g, l->first->time_ns, 0, last)];
    else if (g->arenas_are_live)
        resident += part(l, PART_ARENAS) * l->span;
    if (live < (g->arenas_counted ? SPACE_LEAST : LIVE_LEAST) || l->freed > 0)
        return 1;
    return fmin(fmax(resident / live, 0), 1);
}

/* How much of what is lost was ever written to. */
static double touched_share(const struct growth *g)
{
    const struct profile *p = g->places.total.profile;
    double bytes = 0, untouched = 0;
    for (size_t i = 0; g->scan && g->scan->residency && i < g->scan->row_count; i++) {
        const struct live_row *row = &p->live.items[g->scan->first_row + i];
        if (growth_row_is_lost(g, row)) {
            bytes += (double)row->bytes;
            untouched += (double)row->untouched;
        }
    }
    return bytes > 0 ? fmax(1 - untouched / bytes, 0) : 1;
}

static double least_of(double a, double b)
{
    return fmax(fmin(a, b), 0);
}

/* What footprints divide further: sums that are known at the marks. */
struct rest {
    double anonymous, shared;
    /* Mapped by the program, resident or not, including arenas; or allocated from its pools. */
    double mapped;
    double arenas; /* the part of these that is arenas */
    bool counted;  /* the gain of arenas is known, and is not part of these sums */
};

/* Divides the gain of anonymous memory where footprints do not say how it is divided. If there is a
 * footprint near the last mark, what it has of each kind is a bound of what that kind gained. */
static void guess_anonymous(struct growth_rates *r, const struct footprint *last, double span,
                            const struct rest *rest)
{
    double *parts = r->parts, anonymous = rest->anonymous;
    parts[GAIN_ARENAS] = least_of(rest->arenas, anonymous);
    parts[GAIN_MAPPED] = least_of(rest->mapped - rest->arenas, anonymous - parts[GAIN_ARENAS]);
    /* Arenas become resident as they are filled, including those that were mapped earlier. */
    if (rest->arenas > 0 && parts[GAIN_ARENAS] >= anonymous / 2)
        parts[GAIN_ARENAS] = anonymous - parts[GAIN_MAPPED];
    parts[GAIN_FREE] = anonymous - parts[GAIN_ARENAS] - parts[GAIN_MAPPED];
    if (!last)
        return;
    parts[GAIN_MAPPED] = fmin(parts[GAIN_MAPPED], (double)last->parts[PART_MAPPED] / span);
    parts[GAIN_FREE] =
        fmin(parts[GAIN_FREE], (double)(last->parts[PART_FREE] + last->parts[PART_HELD]) / span);
    double left = anonymous - parts[GAIN_ARENAS] - parts[GAIN_MAPPED] - parts[GAIN_FREE];
    parts[GAIN_STACKS] = least_of(left, (double)last->parts[PART_STACKS] / span);
    /* What was mapped earlier may have been touched since. */
    parts[GAIN_MAPPED] += least_of(left - parts[GAIN_STACKS],
                                   (double)last->parts[PART_MAPPED] / span - parts[GAIN_MAPPED]);
}

/* The sums are exact; footprints only say how they are divided. */
static void share_out(struct growth_rates *r, const struct footprint_pair *l, double span,
                      const struct rest *rest)
{
    double *parts = r->parts, anonymous = rest->anonymous, shared = rest->shared;
    double mapped = part(l, PART_MAPPED) + (rest->counted ? 0 : part(l, PART_ARENAS));
    double stacks = fmax(part(l, PART_STACKS), 0);
    mapped = fmax(mapped, 0);
    double free = fmax(part(l, PART_HELD) + part(l, PART_FREE) - l->freed / l->span, 0);
    double other = fmax(part(l, PART_DATA), 0) + fmax(part(l, PART_UNKNOWN), 0);
    double code = fmax(part(l, PART_TEXT), 0), files = fmax(part(l, PART_FILES), 0) + code;
    double memory = fmax(part(l, PART_SHARED), 0), all = mapped + stacks + free + other;
    if (anonymous < 0) {
        parts[GAIN_FREE] = anonymous; /* new blocks are where others were freed */
    } else if (all > 0) {
        parts[GAIN_ARENAS] = least_of(rest->arenas, anonymous * mapped / all);
        parts[GAIN_MAPPED] = anonymous * mapped / all - parts[GAIN_ARENAS];
        parts[GAIN_STACKS] = anonymous * stacks / all;
        parts[GAIN_FREE] = anonymous * free / all;
    } else {
        guess_anonymous(r, l->last, span, rest); /* it was gained before the first footprint */
    }
    if (files + memory > 0) {
        parts[GAIN_FILES] = shared * files / (files + memory);
        parts[GAIN_SHARED] = shared * memory / (files + memory);
        r->code_share = files > 0 ? code / files : 0;
    }
}

/* There are no two footprints. */
static void guess(struct growth_rates *r, const struct footprint *last, bool is_near, double span,
                  const struct rest *rest)
{
    double *parts = r->parts, files = 0;
    guess_anonymous(r, is_near ? last : NULL, span, rest);
    if (last && last->parts[PART_FILES] + last->parts[PART_SHARED] > 0)
        files = (double)last->parts[PART_FILES] /
                (double)(last->parts[PART_FILES] + last->parts[PART_SHARED]);
    parts[GAIN_FILES] = rest->shared * files;
    parts[GAIN_SHARED] = rest->shared - parts[GAIN_FILES];
}

/* The share of arenas at their last reading, in what is mapped, which is known at every mark. */
static double share_of_arenas(const struct growth *g)
{
    const struct profile *p = g->places.total.profile;
    const struct arena_reading *last = p->arenas.count ? vec_last(&p->arenas) : NULL;
    size_t k = 0;
    while (last && k + 1 < g->count && g->stamp[k + 1]->time_ns <= last->time_ns)
        k++;
    double mapped = last ? g->series[GROWTH_MAPPED][k] : 0;
    return mapped > 0 ? fmin((double)last->bytes / mapped, 1) : 0;
}

struct growth_rates growth_rates_between(const struct growth *g, size_t begin, size_t end,
                                         bool fitted)
{
    struct growth_rates r = {.begin = begin, .end = end, .fitted = fitted};
    double *parts = r.parts, span = growth_span(g, begin, end);
    if (!(span > 0))
        return r;
    double gain[GROWTH_LINES];
    for (int line = 0; line < GROWTH_LINES; line++)
        gain[line] = trend_slope(g->series[line], g->when, begin, end,
                                 fitted && line != GROWTH_LOST); /* which has no noise */
    double space = trend_slope(g->arena_space, g->when, begin, end, fitted);
    double live = gain[GROWTH_LIVE] - space; /* of the heap */
    struct rest rest = {.mapped = fmax(gain[GROWTH_MAPPED], gain[GROWTH_POOLS]),
                        .counted = g->arenas_counted};
    if (g->arenas_are_live && !g->arenas_counted) {
        rest.arenas = space;
        rest.mapped += space;
    } else if (!g->arenas_are_live) {
        rest.arenas = fmax(gain[GROWTH_ARENAS], share_of_arenas(g) * rest.mapped);
    }
    struct footprint_pair l = footprints_between(g, begin, end);
    r.live_share = l.first ? resident_share(g, &l) : 1;
    r.lost_share = touched_share(g);
    r.rss = gain[GROWTH_RSS];
    r.error = trend_error(g->series[GROWTH_RSS], g->when, begin, end, fitted);
    parts[GAIN_LOST] = r.lost_share * gain[GROWTH_LOST];
    parts[GAIN_REACHABLE] = r.live_share * live - parts[GAIN_LOST];
    /* What the allocator adds: blocks really take the anonymous memory without GROWTH_HELD. */
    parts[GAIN_ROUNDING] = r.live_share * (gain[GROWTH_ANON] - gain[GROWTH_HELD] - live);
    double counted = g->arenas_counted ? gain[GROWTH_ARENAS] : 0;
    rest.anonymous = gain[GROWTH_ANON] - parts[GAIN_LOST] - parts[GAIN_REACHABLE] -
                     parts[GAIN_ROUNDING] - counted;
    /* The recorder's memory at a mark is interpolated between footprints. If it seems to have
     * gained more than everything that is not anonymous, the rest is memory of its own threads, or
     * the footprints are far away. */
    double not_anonymous = gain[GROWTH_RSS] - gain[GROWTH_ANON], own = 0;
    rest.shared = gain[GROWTH_SHARED];
    if (rest.shared < 0 && not_anonymous > rest.shared) {
        own = least_of(fmin(not_anonymous, 0) - rest.shared, rest.anonymous);
        rest.shared = fmin(not_anonymous, 0);
    }
    rest.anonymous -= own;
    parts[GAIN_RECORDER] = not_anonymous - rest.shared + own;
    const struct footprint *last = nearest(g, begin, end, g->stamp[end]->time_ns, NULL);
    if (l.first)
        share_out(&r, &l, span, &rest);
    else
        guess(&r, last, last && is_near(g, last, begin, end), span, &rest);
    parts[GAIN_ARENAS] += counted;
    parts[GAIN_OTHER] = r.rss;
    for (int i = 0; i < GAIN_OTHER; i++)
        parts[GAIN_OTHER] -= parts[i];
    return r;
}
