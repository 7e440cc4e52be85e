/*
 * Finds the functions that grow, from the series of what each has at every mark: blocks of the
 * heap, its own mappings, blocks of pools. Series are computed only for those that gained most.
 *
 * Whether a series grows is decided by trend.c, which call is charged for a block by places.c, the
 * verdict on the process by growth_verdict.c, and what is worth a finding by detect_growth.c.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/growth.h"
#include "analyse/leak_scan.h"

#define CANDIDATES 64 /* functions of a domain whose series are computed */
/* Points of a series; if there are more marks, some are taken at even distances. */
#define MOMENTS 4096
#define SITE_SHARE                                                                                 \
    0.005 /* a function with less of the gain of all has no row, unless it lost blocks */
/* A function whose gain is not steady has a row from this share of the live heap and from so many
 * bytes on. */
#define OTHER_SHARE 0.02
#define OTHER_LEAST 16384
/* A function has stopped growing if its last rise was before this last share of the run. */
#define QUIET       0.2
#define WHOLE_SHARE 0.9  /* this share of the lost bytes counts as all of them */
#define FREED_SHARE 0.95 /* this share of the growth counts as all of it */

struct finder {
    struct growth *g;
    const struct places *places;
    enum domain domain;
    enum metric metric;
    struct measure gained;  /* by site, between the marks that count */
    struct value *by_place; /* the same by place */
    struct value *lost;     /* the same for lost blocks, with what only these lead to */
    struct value *led;      /* the part that is counted with another place's lost blocks */
    struct value *after;   /* by place: change from the last mark until the program begins to end */
    struct value *at_last; /* by place: live at the last mark */
    double all;            /* the sum of all gains */
};

static struct value *change(const struct finder *f, size_t since, size_t at)
{
    struct window w = {.since = {.intervals = since}, .at = {.intervals = at > since ? at : since}};
    struct measure m;
    measure_sites(&m, f->places->total.profile, f->metric, SIZE_REQUESTED, &w);
    struct value *sums = places_sum(f->places, m.sites);
    measure_release(&m);
    return sums;
}

/* Is it known for all indirect blocks which lost block leads to them? Not if the filter leaves out
 * some of either. */
static bool knows_led(const struct growth *g, const struct profile *p)
{
    uint64_t led = 0, indirect = 0;
    for (size_t i = 0; i < g->scan->row_count; i++) {
        const struct live_row *row = &p->live.items[g->scan->first_row + i];
        if (growth_row_is_lost(g, row) && row->reach == REACH_INDIRECT)
            indirect += row->bytes;
        else if (growth_row_is_lost(g, row))
            led += row->led_bytes;
    }
    return g->scan->led && led == indirect;
}

/* What only a lost block leads to is counted with it, whoever allocated it; leaks and findings do
 * the same. */
static void lost_between(struct finder *f, size_t since, size_t at)
{
    const struct growth *g = f->g;
    const struct profile *p = f->places->total.profile;
    f->lost = xcalloc((size_t)f->places->count + 1, sizeof *f->lost);
    f->led = xcalloc((size_t)f->places->count + 1, sizeof *f->led);
    if (f->domain != DOMAIN_HEAP || !g->scan)
        return;
    bool whole = knows_led(g, p);
    for (size_t i = 0; i < g->scan->row_count; i++) {
        const struct live_row *row = &p->live.items[g->scan->first_row + i];
        if (!growth_row_is_lost(g, row) || row->interval < since || row->interval >= at)
            continue;
        uint32_t place = f->places->of_site[row->site];
        struct value own = {(int64_t)row->bytes, (int64_t)row->blocks};
        bool is_led = whole && row->reach == REACH_INDIRECT;
        value_join(is_led ? &f->led[place] : &f->lost[place], own, false);
        if (whole && !is_led)
            value_join(&f->lost[place],
                       (struct value){(int64_t)row->led_bytes, (int64_t)row->led_blocks}, false);
    }
}

/* --- series ----------------------------------------------------------------------------------- */

struct chosen {
    uint32_t places[CANDIDATES];
    size_t count;
    uint32_t *number;     /* the number of each place among the chosen, from 1; 0: not chosen */
    size_t moments, step; /* every step-th mark is used */
    double *live;         /* [number * moments + moment] */
    struct {              /* without marks: the same at the ends of intervals, */
        size_t moments;
        double *live, *time, *work; /* over seconds, and over the number of allocations */
    } by;
};

/* The places that gained or lost most are chosen. */
static int64_t weight(const struct finder *f, uint32_t place)
{
    int64_t gained = f->by_place[place].amount, lost = f->lost[place].amount;
    return gained > lost ? gained : lost;
}

static void choose(struct chosen *c, const struct finder *f)
{
    for (uint32_t i = 0; i < f->places->count; i++) {
        int64_t own = weight(f, i);
        if (own <= 0 || ((double)own < SITE_SHARE * f->all && !f->lost[i].amount))
            continue;
        size_t at = c->count < CANDIDATES ? c->count++ : CANDIDATES - 1;
        if (at == CANDIDATES - 1 && c->count == CANDIDATES && weight(f, c->places[at]) >= own &&
            c->places[at] != i)
            continue;
        for (; at > 0 && weight(f, c->places[at - 1]) < own; at--)
            c->places[at] = c->places[at - 1];
        c->places[at] = i;
    }
    c->number = xcalloc((size_t)f->places->count + 1, sizeof *c->number);
    for (size_t k = 0; k < c->count; k++)
        c->number[c->places[k]] = (uint32_t)k + 1;
}

/* Adds the changes of an interval: for the chosen places, and the number of allocations. */
static void add_interval(const struct chosen *c, const struct finder *f, size_t interval,
                         int64_t *live, double *work)
{
    const struct profile *p = f->places->total.profile;
    const struct interval *v = &p->intervals.items[interval];
    for (size_t i = v->first_row; i < v->first_row + v->row_count; i++) {
        const struct row *row = &p->rows.items[i];
        uint32_t place = f->places->of_site[row->site];
        uint32_t domain = p->sites.items[row->site].domain;
        if (f->domain == DOMAIN_HEAP ? !domain_is_live(domain) : domain != (uint32_t)f->domain)
            continue;
        *work += (double)row->columns[COL_ALLOCS];
        if (place == PLACE_NONE || !c->number[place])
            continue;
        int64_t *own = &live[c->number[place] - 1];
        *own = wrapped(*own, (int64_t)(row->columns[COL_BYTES] - row->columns[COL_FREED]));
    }
}

/*
 * Without marks, nothing is known to be the same work each time. Time alone depends on how busy the
 * machine is, and the number of allocations stands still while the program computes. So the
 * function must grow by both.
 */
static void follow_intervals(struct chosen *c, const struct finder *f)
{
    const struct profile *p = f->places->total.profile;
    size_t last = f->g->until, step = last / MOMENTS + 1;
    uint64_t stop_ns = f->g->end.time_ns;
    int64_t live[CANDIDATES] = {0};
    double work = 0;
    c->by.moments = last / step;
    c->by.live = xcalloc(c->count * c->by.moments + 1, sizeof *c->by.live);
    c->by.time = xcalloc(2 * c->by.moments + 1, sizeof *c->by.time);
    c->by.work = c->by.time + c->by.moments;
    for (size_t i = 0; i < c->by.moments * step; i++) {
        size_t k = i / step;
        add_interval(c, f, i, live, &work);
        uint64_t end_ns = p->intervals.items[i].end_ns;
        c->by.time[k] = (double)(end_ns < stop_ns ? end_ns : stop_ns) / 1e9;
        c->by.work[k] = work;
        for (size_t n = 0; n < c->count && (i + 1) % step == 0; n++)
            c->by.live[n * c->by.moments + k] = (double)live[n];
    }
}

static void follow(struct chosen *c, const struct finder *f)
{
    const struct growth *g = f->g;
    const struct profile *p = f->places->total.profile;
    int64_t live[CANDIDATES] = {0};
    size_t interval = 0;
    double work = 0;
    c->step = g->count / MOMENTS + 1;
    c->moments = g->mark && g->count ? (g->count - 1) / c->step + 1 : 0;
    c->live = xcalloc(c->count * c->moments + 1, sizeof *c->live);
    for (size_t k = 0; k < c->moments; k++) {
        size_t mark = k * c->step;
        for (; interval < g->intervals[mark] && interval < p->intervals.count; interval++)
            add_interval(c, f, interval, live, &work);
        for (size_t i = 0; i < c->count; i++)
            c->live[i * c->moments + k] = (double)live[i];
    }
    if (!g->mark)
        follow_intervals(c, f);
}

/* --- results ---------------------------------------------------------------------------------- */

static bool still_grows(const struct trend *t)
{
    return t->slope > 0 && !t->stopped && ((t->model == TREND_RAMP && t->sure) || t->steady);
}

/* When the program ended its own work. */
static double end_of_time(const struct chosen *c, const struct profile *p)
{
    const struct scan *end = profile_scan(p, SCAN_END);
    double last = c->by.time[c->by.moments - 1];
    /* The end of a killed process is noticed later; it was alive at the last stamp. */
    if (p->stamps.count)
        last = fmin(last, (double)vec_last(&p->stamps)->time_ns / 1e9);
    return end && end->time_ns ? fmin((double)end->time_ns / 1e9, last) : last;
}

/* Does it grow with the work, and did it still grow shortly before the end? */
static bool still_grows_without_marks(const struct chosen *c, const struct finder *f, size_t k,
                                      int64_t *risen)
{
    const double *live = c->by.live + k * c->by.moments;
    size_t n = c->by.moments, last = n ? n - 1 : 0;
    struct trend t;
    if (!trend_of(&t, live, c->by.work, n) || !still_grows(&t))
        return false;
    double rise = live[last] - live[t.end > t.begin ? t.begin : t.skipped];
    *risen = (int64_t)fmax(fmin(rise, 0x1p62), -0x1p62); /* a damaged file may contain any number */
    while (last > 0 && live[last] <= live[last - 1])
        last--;
    /* After the last rise, nothing may have happened in the rest of its interval. */
    double end = end_of_time(c, f->places->total.profile), at = last ? c->by.time[last - 1] : 0;
    return end - at <= QUIET * end;
}

/* Has it gained much all the same? An array that doubles does so in a jump or two. */
static bool is_other(const struct growth *g, const struct growth_site *site)
{
    return site->lost_bytes > 0 ||
           (site->bytes >= OTHER_LEAST &&
            (double)site->bytes >= OTHER_SHARE * growth_last(g, GROWTH_LIVE));
}

static bool trend_by_marks(const struct chosen *c, size_t k, struct trend *t)
{
    if (!trend_of(t, c->live + k * c->moments, NULL, c->moments))
        return false;
    double step = (double)c->step; /* numbers of marks, and bytes per mark */
    t->begin *= c->step;
    t->end *= c->step;
    t->skipped *= c->step;
    t->slope /= step;
    t->rate /= step;
    t->low /= step;
    t->high /= step;
    t->detectable /= step;
    return true;
}

/* The first stamp that is not before a moment. */
static size_t stamp_after(const struct growth *g, double seconds)
{
    size_t k = 0;
    while (k + 1 < g->count && (double)g->stamp[k]->time_ns / 1e9 < seconds)
        k++;
    return k;
}

/* Intervals do not end at stamps: what a function has is known only at the ends of intervals. */
static bool trend_by_time(const struct growth *g, const struct chosen *c, size_t k, struct trend *t)
{
    if (!trend_of(t, c->by.live + k * c->by.moments, c->by.time, c->by.moments))
        return false;
    bool part = t->end > t->begin;
    t->begin = part ? stamp_after(g, c->by.time[t->begin]) : 0;
    t->end = part ? stamp_after(g, c->by.time[t->end]) : 0;
    t->skipped = stamp_after(g, c->by.time[t->skipped]);
    return true;
}

/* The times of lost blocks are known better than to the interval. If a function lost what it
 * gained, and no other function lost anything in this time, the series of all lost blocks is its
 * own. */
static bool is_whole_leak(const struct growth *g, const struct growth_site *site)
{
    double lost = growth_last(g, GROWTH_LOST) - g->series[GROWTH_LOST][g->first];
    return !g->mark && site->lost_bytes > 0 && (double)site->lost_bytes >= WHOLE_SHARE * lost &&
           (double)site->lost_bytes >= WHOLE_SHARE * (double)site->bytes &&
           (double)site->bytes >= WHOLE_SHARE * (double)site->lost_bytes;
}

static bool fills_arenas(const struct finder *f, uint32_t place)
{
    const struct profile *p = f->places->total.profile;
    for (size_t i = 0; i < p->sites.count; i++)
        if (f->places->of_site[i] == place && p->sites.items[i].domain == DOMAIN_ARENA &&
            f->gained.sites[i].amount > 0)
            return true;
    return false;
}

static void judge(struct finder *f, const struct chosen *c, size_t k)
{
    struct growth *g = f->g;
    uint32_t place = c->places[k];
    int64_t after = f->after[place].amount;
    struct growth_site site = {.domain = f->domain,
                               .place = place,
                               .bytes = f->by_place[place].amount,
                               .blocks = f->by_place[place].count,
                               .held_blocks = f->at_last[place].count,
                               .lost_bytes = f->lost[place].amount,
                               .led_bytes = f->led[place].amount};
    if (!(g->mark ? trend_by_marks(c, k, &site.trend) : trend_by_time(g, c, k, &site.trend)))
        return;
    if (is_whole_leak(g, &site))
        site.trend = g->trends[GROWTH_LOST];
    site.grows = g->mark
                     ? still_grows(&site.trend)
                     : !site.trend.stopped && still_grows_without_marks(c, f, k, &site.risen_bytes);
    if (!site.grows && !is_other(g, &site))
        return;
    site.fills_arenas = fills_arenas(f, place);
    site.call = places_call(f->places, place, f->gained.sites, &site.leaf);
    if (after < 0)
        site.freed_bytes = after > -site.bytes ? -after : site.bytes > 0 ? site.bytes : 0;
    if (site.grows)
        *vec_push(&g->sites) = site;
    else
        *vec_push(&g->other) = site;
}

static void find(struct growth *g, const struct places *places, enum domain domain,
                 enum metric metric)
{
    struct finder f = {.g = g, .places = places, .domain = domain, .metric = metric};
    size_t first = g->since, last = g->until > g->since ? g->until : g->since;
    struct window w = {.since = {.intervals = first}, .at = {.intervals = last}};
    measure_sites(&f.gained, places->total.profile, metric, SIZE_REQUESTED, &w);
    f.by_place = places_sum(places, f.gained.sites);
    lost_between(&f, first, last);
    f.after = change(&f, last, g->end.intervals);
    f.at_last = change(&f, 0, last);
    for (uint32_t i = 0; i < places->count; i++) {
        f.all += f.by_place[i].amount > 0 ? (double)f.by_place[i].amount : 0;
        if (domain != DOMAIN_HEAP)
            continue;
        g->gained_bytes = wrapped(g->gained_bytes, f.by_place[i].amount);
        g->gained_blocks = wrapped(g->gained_blocks, f.by_place[i].count);
    }
    struct chosen c = {0};
    choose(&c, &f);
    follow(&c, &f);
    for (size_t k = 0; k < c.count; k++)
        judge(&f, &c, k);
    free(c.number);
    free(c.live);
    free(c.by.live);
    free(c.by.time);
    free(f.at_last);
    free(f.after);
    free(f.led);
    free(f.lost);
    free(f.by_place);
    measure_release(&f.gained);
}

static int by_growth(const void *a, const void *b)
{
    const struct growth_site *x = a, *y = b;
    if (x->lost_bytes != y->lost_bytes)
        return x->lost_bytes > y->lost_bytes ? -1 : 1;
    if (x->bytes != y->bytes)
        return x->bytes > y->bytes ? -1 : 1;
    return x->domain != y->domain ? (x->domain > y->domain ? 1 : -1)
                                  : (x->place > y->place) - (x->place < y->place);
}

/*
 * A function that makes small objects has another arena only now and then, and a dict of them
 * doubles: steps of such different sizes that its own series is a ramp, but not surely one. What is
 * resident of the arenas is known at every mark. If that grows and no function surely does, those
 * that fill arenas do.
 */
static void add_functions_that_fill_arenas(struct growth *g)
{
    size_t kept = 0;
    for (size_t i = 0; i < g->sites.count; i++)
        if (g->sites.items[i].domain == DOMAIN_HEAP)
            return;
    if (!g->mark || !g->arenas_are_live || !growth_grows(g, GROWTH_ARENAS))
        return;
    for (size_t i = 0; i < g->other.count; i++) {
        struct growth_site site = g->other.items[i];
        const struct trend *t = &site.trend;
        site.grows = site.fills_arenas && t->model == TREND_RAMP && t->slope > 0 && !t->stopped;
        if (site.grows)
            *vec_push(&g->sites) = site;
        else
            g->other.items[kept++] = site;
    }
    g->other.count = kept;
}

static void sum_freed(struct growth *g)
{
    double gained = 0, freed = 0;
    for (size_t i = 0; i < g->sites.count; i++) {
        gained += (double)g->sites.items[i].bytes;
        freed += (double)g->sites.items[i].freed_bytes;
        g->freed_bytes = wrapped(g->freed_bytes, g->sites.items[i].freed_bytes);
    }
    if (freed < 0.01 * gained)
        g->freed_bytes = 0; /* every program frees something */
    g->all_freed = freed > 0 && freed >= FREED_SHARE * gained;
}

/* The functions of mappings or pools at the last mark, which are places of another metric. */
static bool open_places(struct growth *g, const struct recording *r, enum metric metric,
                        struct places *out)
{
    struct query q = g->places.query;
    struct err err = {{0}};
    char *at = g->mark ? xasprintf("%s#-1", g->mark) : NULL;
    char *process = answer_process_word(r, g->places.total.profile);
    q.at = at;
    q.process = process;
    bool opened = !g->places.total.profile->together &&
                  places_init_live(out, r, &q, metric, &err) == 0 &&
                  out->total.profile == g->places.total.profile;
    if (!opened)
        places_release(out);
    out->query.at = NULL;
    out->query.process = g->places.query.process;
    free(at);
    free(process);
    return opened;
}

static bool gained(const struct growth *g, enum growth_line line)
{
    return g->count && growth_last(g, line) - g->series[line][0] >= OTHER_LEAST;
}

void growth_find_functions(struct growth *g, const struct recording *r)
{
    find(g, &g->places, DOMAIN_HEAP, METRIC_LIVE);
    if (gained(g, GROWTH_MAPPED) && open_places(g, r, METRIC_MAPPED, &g->mapped))
        find(g, &g->mapped, DOMAIN_MAPPED, METRIC_MAPPED);
    if (gained(g, GROWTH_POOLS) && open_places(g, r, METRIC_POOL, &g->pools))
        find(g, &g->pools, DOMAIN_POOL, METRIC_POOL);
    add_functions_that_fill_arenas(g);
    if (g->sites.count)
        qsort(g->sites.items, g->sites.count, sizeof *g->sites.items, by_growth);
    if (g->other.count)
        qsort(g->other.items, g->other.count, sizeof *g->other.items, by_growth);
    sum_freed(g);
}
