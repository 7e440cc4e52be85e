#include "analyse/growth.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/labels.h"
#include "analyse/planted.h"
#include "analyse/work_end.h"
#include "model/mark_rows.h"

#define SAMPLES     32    /* moments at which functions are compared */
#define BLOCK_BYTES 8     /* of bookkeeping for a block, beyond what is usable */
#define SITE_SHARE  0.005 /* of what all functions gained: less is not worth a row */
#define OTHER_SHARE 0.02  /* of the live heap: a gain that is no ramp, to be worth a row */
#define OTHER_LEAST 65536
#define FREED_SHARE 0.95 /* of what grew: as good as all */

/* --- which marks ------------------------------------------------------------------------------ */

static void add_moment(struct growth *g, const struct stamp *s, size_t intervals)
{
    g->stamp[g->count] = s;
    g->intervals[g->count++] = intervals;
}

static void take_marks(struct growth *g, const struct profile *p)
{
    for (size_t i = 0; i < p->marks.count; i++)
        if (strcmp(p->marks.items[i].name, g->mark) == 0)
            add_moment(g, &p->marks.items[i].stamp, p->marks.items[i].intervals);
}

/* Up to the moment at which the program began to end. */
static void take_stamps(struct growth *g, const struct profile *p)
{
    uint64_t end_ns = work_end_ns(p);
    size_t intervals = 0;
    for (size_t i = 0; i < p->stamps.count; i++) {
        const struct stamp *s = &p->stamps.items[i];
        if (s->time_ns > end_ns)
            break;
        while (intervals < p->intervals.count && p->intervals.items[intervals].end_ns <= s->time_ns)
            intervals++;
        add_moment(g, s, intervals);
    }
}

/* --- series ----------------------------------------------------------------------------------- */

/* Sums over intervals: what is mapped, and what live blocks really take. */
static void series_of_rows(struct growth *g, const struct profile *p)
{
    uint64_t mapped = 0, usable = 0;
    size_t interval = 0;
    for (size_t k = 0; k < g->count; k++) {
        for (; interval < g->intervals[k] && interval < p->intervals.count; interval++) {
            const struct interval *in = &p->intervals.items[interval];
            if (in->peak_bytes > g->peak_bytes)
                g->peak_bytes = in->peak_bytes;
            for (size_t i = in->first_row; i < in->first_row + in->row_count; i++) {
                const struct row *row = &p->rows.items[i];
                uint32_t domain = p->sites.items[row->site].domain;
                if (domain == DOMAIN_MAPPED)
                    mapped += row->columns[COL_BYTES] - row->columns[COL_FREED];
                else if (domain_is_live(domain))
                    usable += row->columns[COL_USABLE] - row->columns[COL_USABLE_FREED];
            }
        }
        const struct stamp *s = g->stamp[k];
        g->series[GROWTH_MAPPED][k] = (double)(int64_t)mapped;
        g->series[GROWTH_HELD][k] =
            (double)s->anon_bytes - (double)(int64_t)usable - BLOCK_BYTES * (double)s->live_blocks;
    }
}

static bool is_lost(const struct growth *g, const struct live_row *row)
{
    return (row->reach == REACH_LOST || row->reach == REACH_INDIRECT) &&
           g->places.of_site[row->site] != PLACE_NONE;
}

/* The last look that told what is lost; the one before destructors ran if there is one. */
static void choose_scan(struct growth *g, const struct profile *p)
{
    for (size_t i = p->scans.count; i-- > 0;) {
        const struct scan *s = &p->scans.items[i];
        if (s->unreachable) {
            if (!g->no_scan)
                g->no_scan = s->unreachable;
        } else if (!g->scan || (g->scan->kind == SCAN_END && s->kind == SCAN_EXIT)) {
            g->scan = s;
        }
    }
}

static void series_of_lost(struct growth *g, const struct profile *p)
{
    if (!g->scan)
        return;
    uint64_t *born = xcalloc(p->intervals.count + 1, sizeof *born), sum = 0;
    for (size_t i = g->scan->first_row; i < g->scan->first_row + g->scan->row_count; i++) {
        const struct live_row *row = &p->live.items[i];
        if (is_lost(g, row) && row->interval < p->intervals.count)
            born[row->interval] += row->bytes;
    }
    for (size_t k = 0, interval = 0; k < g->count; k++) {
        for (; interval < g->intervals[k] && interval < p->intervals.count; interval++)
            sum += born[interval];
        g->series[GROWTH_LOST][k] = (double)sum;
    }
    free(born);
}

/* In units of their mean distance, so that a slope is by stamp. */
static void times_of_stamps(struct growth *g)
{
    uint64_t begin = g->count ? g->stamp[0]->time_ns : 0;
    double all = g->count ? (double)(g->stamp[g->count - 1]->time_ns - begin) : 0;
    if (!(all > 0))
        return;
    g->when = xcalloc(g->count, sizeof *g->when);
    for (size_t k = 0; k < g->count; k++)
        g->when[k] = (double)(g->stamp[k]->time_ns - begin) / all * (double)(g->count - 1);
}

static void make_series(struct growth *g, const struct profile *p)
{
    for (int line = 0; line < GROWTH_LINES; line++)
        g->series[line] = xcalloc(g->count + 1, sizeof(double));
    for (size_t k = 0; k < g->count; k++) {
        g->series[GROWTH_LIVE][k] = (double)g->stamp[k]->live_bytes;
        g->series[GROWTH_RSS][k] = (double)g->stamp[k]->rss_bytes;
        g->series[GROWTH_VM][k] = (double)g->stamp[k]->vm_bytes;
        g->series[GROWTH_ANON][k] = (double)g->stamp[k]->anon_bytes;
    }
    series_of_rows(g, p);
    choose_scan(g, p);
    series_of_lost(g, p);
    if (!g->mark)
        times_of_stamps(g);
    g->known = g->count >= (g->mark ? TREND_LEAST : GROWTH_STAMPS_LEAST);
    for (int line = 0; line < GROWTH_LINES && g->known; line++) {
        trend_of(&g->trends[line], g->series[line], g->when, g->count);
        if (line < GROWTH_SHOWN && g->trends[line].skipped > g->skipped)
            g->skipped = g->trends[line].skipped;
    }
}

/* --- values of marks -------------------------------------------------------------------------- */

static int series_of_value(struct growth *g, const struct mark_rows *m, const char *key,
                           struct err *err)
{
    double sum = 0;
    bool any = false;
    g->units = xcalloc(g->count + 1, sizeof *g->units);
    for (size_t k = 0; k < m->rows.count && k < g->count; k++) {
        const struct mark_row *row = &m->rows.items[k];
        for (size_t i = row->first; i < row->first + row->count; i++) {
            const struct mark_value *v = &m->values[i];
            if (strcmp(strpool_get(&m->recording->strings, v->key), key) != 0)
                continue;
            if (!(v->value >= 0) || !isfinite(v->value))
                return err_set(err, -ENODATA,
                               "the value '%s' of %s#%zu is %g; --per needs numbers that are not "
                               "negative",
                               key, g->mark, row->index, v->value);
            sum += v->value;
            any = true;
        }
        g->units[k] = sum;
    }
    if (!any)
        return err_set(err, -ENOENT,
                       "no mark '%s' has a value '%s'; 'tidemark marks' shows those there are",
                       g->mark, key);
    g->per = key;
    for (int line = 0; line < GROWTH_SHOWN && g->known; line++)
        if (!trend_of(&g->per_trends[line], g->series[line], g->units, g->count))
            return err_set(err, -ENODATA, "the values '%s' add up to nothing", key);
    return 0;
}

/* Marks of other labels plant as well: what counts is all from one mark of this label to the next.
 */
static void find_planted(struct growth *g)
{
    const struct profile *p = g->places.total.profile;
    size_t seen = 0, first = 0, last = 0;
    for (size_t i = 0; i < p->marks.count; i++) {
        if (strcmp(p->marks.items[i].name, g->mark) != 0)
            continue;
        if (seen++ == g->skipped)
            first = i;
        last = i;
    }
    if (seen > g->skipped + 1)
        g->planted_bytes = planted_between(g->places.total.recording, p, first, last) /
                           (double)(seen - 1 - g->skipped);
}

static int use_values(struct growth *g, const struct growth_question *q, struct err *err)
{
    struct mark_rows m;
    if (!g->mark)
        return q->per ? err_set(err, -ENOENT,
                                "--per needs marks with values: tide_mark_value(\"LABEL\", "
                                "\"%s\", NUMBER) of tidemark.h makes them",
                                q->per)
                      : 0;
    int code =
        mark_rows_init(&m, g->places.total.recording, g->places.total.profile, g->mark, false, err);
    if (code)
        return code;
    find_planted(g);
    if (q->per)
        code = series_of_value(g, &m, q->per, err);
    mark_rows_release(&m);
    return code;
}

/* --- functions -------------------------------------------------------------------------------- */

static struct value *lost_by_site(const struct growth *g, size_t since, size_t at)
{
    const struct profile *p = g->places.total.profile;
    struct value *lost = xcalloc(p->sites.count + 1, sizeof *lost);
    for (size_t i = 0; g->scan && i < g->scan->row_count; i++) {
        const struct live_row *row = &p->live.items[g->scan->first_row + i];
        if (is_lost(g, row) && row->interval >= since && row->interval < at)
            value_join(&lost[row->site], (struct value){(int64_t)row->bytes, (int64_t)row->blocks},
                       false);
    }
    return lost;
}

struct sampled {
    size_t count, mark[SAMPLES];
    double x[SAMPLES];
    double *live;         /* [place * SAMPLES + moment] */
    struct value *gained; /* by place, in all */
};

static void sample(struct sampled *s, const struct growth *g, size_t first)
{
    size_t left = g->count - first;
    s->count = left < SAMPLES ? left : SAMPLES;
    s->live = xcalloc(((size_t)g->places.count + 1) * SAMPLES, sizeof *s->live);
    s->gained = xcalloc((size_t)g->places.count + 1, sizeof *s->gained);
    size_t before = g->intervals[first];
    for (size_t k = 0; k < s->count; k++) {
        s->mark[k] = first + k * (left - 1) / (s->count - 1);
        s->x[k] = g->when ? g->when[s->mark[k]] : (double)s->mark[k];
        struct window w = {.since = {.intervals = before},
                           .at = {.intervals = g->intervals[s->mark[k]]}};
        struct measure m;
        measure_sites(&m, g->places.total.profile, METRIC_LIVE, SIZE_REQUESTED, &w);
        struct value *sums = places_sum(&g->places, m.sites);
        for (uint32_t i = 0; i < g->places.count; i++) {
            value_join(&s->gained[i], sums[i], false);
            s->live[(size_t)i * SAMPLES + k] = (double)s->gained[i].amount;
        }
        free(sums);
        measure_release(&m);
        before = w.at.intervals;
    }
}

static int by_growth(const void *a, const void *b)
{
    const struct growth_site *x = a, *y = b;
    if (x->lost_bytes != y->lost_bytes)
        return x->lost_bytes > y->lost_bytes ? -1 : 1;
    return x->bytes != y->bytes ? (x->bytes > y->bytes ? -1 : 1)
                                : (x->place > y->place) - (x->place < y->place);
}

/* What each function has more, or less, when the program begins to end than at the last mark. */
static struct value *change_after(const struct growth *g)
{
    const struct profile *p = g->places.total.profile;
    size_t last = g->intervals[g->count - 1], end = work_end(p);
    struct window w = {.since = {.intervals = last}, .at = {.intervals = end > last ? end : last}};
    struct measure m;
    measure_sites(&m, p, METRIC_LIVE, SIZE_REQUESTED, &w);
    struct value *sums = places_sum(&g->places, m.sites);
    measure_release(&m);
    return sums;
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
        g->freed_bytes = 0; /* as every program frees something */
    g->all_freed = freed > 0 && freed >= FREED_SHARE * gained;
}

/* Has it gained much all the same? An array that doubles does, in a jump or two. */
static bool is_other(const struct growth *g, const struct growth_site *site)
{
    return g->verdict != VERDICT_STABLE && site->bytes >= OTHER_LEAST &&
           (double)site->bytes >= OTHER_SHARE * growth_last(g, GROWTH_LIVE);
}

static void find_sites(struct growth *g)
{
    size_t first = g->trends[GROWTH_LIVE].skipped, last = g->count - 1;
    struct sampled s;
    sample(&s, g, first);
    struct window w = {.since = {.intervals = g->intervals[first]},
                       .at = {.intervals = g->intervals[last]}};
    struct measure m;
    measure_sites(&m, g->places.total.profile, METRIC_LIVE, SIZE_REQUESTED, &w);
    struct value *lost = lost_by_site(g, w.since.intervals, w.at.intervals);
    struct value *lost_sums = places_sum(&g->places, lost);
    struct value *after = change_after(g);
    double all = 0;
    for (uint32_t i = 0; i < g->places.count; i++)
        all += s.gained[i].amount > 0 ? (double)s.gained[i].amount : 0;
    for (uint32_t i = 0; i < g->places.count; i++) {
        struct growth_site site = {.place = i,
                                   .bytes = s.gained[i].amount,
                                   .blocks = s.gained[i].count,
                                   .lost_bytes = lost_sums[i].amount};
        g->gained_bytes = wrapped(g->gained_bytes, site.bytes);
        g->gained_blocks = wrapped(g->gained_blocks, site.blocks);
        if (!trend_of(&site.trend, s.live + (size_t)i * SAMPLES, s.x, s.count) ||
            (double)site.bytes < SITE_SHARE * all)
            continue;
        bool ramp = growth_is_sure(&site.trend) && site.trend.slope > 0;
        if (!ramp && !is_other(g, &site))
            continue;
        site.call = places_call(&g->places, i, m.sites, &site.leaf);
        if (after[i].amount < 0)
            site.freed_bytes = after[i].amount > -site.bytes ? -after[i].amount : site.bytes;
        if (ramp)
            *vec_push(&g->sites) = site;
        else
            *vec_push(&g->other) = site;
    }
    if (g->sites.count)
        qsort(g->sites.items, g->sites.count, sizeof *g->sites.items, by_growth);
    if (g->other.count)
        qsort(g->other.items, g->other.count, sizeof *g->other.items, by_growth);
    sum_freed(g);
    free(after);
    free(lost_sums);
    free(lost);
    measure_release(&m);
    free(s.live);
    free(s.gained);
}

int growth_init(struct growth *g, const struct recording *r, const struct growth_question *q,
                struct err *err)
{
    *g = (struct growth){0};
    int code = places_init(&g->places, r, &q->query, err);
    if (code)
        return code;
    const struct profile *p = g->places.total.profile;
    size_t most = p->marks.count > p->stamps.count ? p->marks.count : p->stamps.count;
    g->stamp = xcalloc(most + 1, sizeof *g->stamp);
    g->intervals = xcalloc(most + 1, sizeof *g->intervals);
    g->mark = q->mark ? q->mark : labels_busiest(p, &(size_t){0});
    if (g->mark)
        take_marks(g, p);
    else
        take_stamps(g, p);
    make_series(g, p);
    code = use_values(g, q, err); /* refuses a label that there is not */
    if (code) {
        growth_release(g);
        return code;
    }
    growth_account_init(&g->account, &g->places, g->count ? g->stamp[g->skipped]->time_ns : 0);
    g->verdict = growth_judge(g);
    if (g->known)
        find_sites(g);
    chains_find(&g->chains, &g->places);
    return 0;
}

void growth_release(struct growth *g)
{
    for (int line = 0; line < GROWTH_LINES; line++)
        free(g->series[line]);
    free(g->stamp);
    free(g->intervals);
    free(g->units);
    free(g->when);
    vec_release(&g->sites);
    vec_release(&g->other);
    growth_account_release(&g->account);
    chains_release(&g->chains);
    places_release(&g->places);
    *g = (struct growth){0};
}
