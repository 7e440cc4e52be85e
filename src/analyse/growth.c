/*
 * The series of `tidemark growth`: which marks or readings count, and the sizes of the process at
 * each. The parts that draw conclusions from them are listed in growth.h.
 */
#include "analyse/growth.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/mark_labels.h"
#include "analyse/leak_scan.h"
#include "analyse/planted_leaks.h"
#include "model/mark_rows.h"

#define START_SHARE 20        /* one part in so many of the run counts as its start, */
#define START_NS    200000000 /* but no more than this */
#define BLOCK_BYTES 8         /* bookkeeping of the allocator for a block, beyond what is usable */

/* --- choosing marks --------------------------------------------------------------------------- */

static void add_moment(struct growth *g, const struct stamp *s, size_t intervals)
{
    g->stamp[g->count] = s;
    g->intervals[g->count++] = intervals;
}

static void take_marks(struct growth *g, const struct profile *p)
{
    g->arenas_counted = p->marks.count > 0;
    for (size_t i = 0; i < p->marks.count; i++) {
        const struct mark *m = &p->marks.items[i];
        if (!mark_has_label(m->name, g->mark, strlen(g->mark)))
            continue;
        g->arenas_counted &= m->absent_known;
        g->absent_bytes[g->count] = m->absent_bytes;
        add_moment(g, &m->stamp, m->intervals);
    }
}

/* What a program, and the recorder, do at the start is left out of the series if there are enough
 * stamps without it. Within the first interval, sums over intervals would still be 0. */
static uint64_t start_ns(const struct profile *p, uint64_t end_ns)
{
    size_t after = 0;
    uint64_t last = p->stamps.count ? vec_last(&p->stamps)->time_ns : 0;
    uint64_t start = (last < end_ns ? last : end_ns) / START_SHARE;
    start = start < START_NS ? start : START_NS;
    if (p->intervals.count && p->intervals.items[0].end_ns > start)
        start = p->intervals.items[0].end_ns;
    for (size_t i = 0; i < p->stamps.count; i++)
        after += p->stamps.items[i].time_ns >= start && p->stamps.items[i].time_ns <= end_ns;
    return after >= 2 * GROWTH_STAMPS_LEAST ? start : 0;
}

/* Takes the stamps up to the moment at which the program began to end. */
static void take_stamps(struct growth *g, const struct profile *p)
{
    const struct scan *end = profile_scan(p, SCAN_END);
    uint64_t end_ns = g->end.time_ns;
    if (end && end->time_ns && end->time_ns < end_ns)
        end_ns = end->time_ns; /* from then on the collector was reading it */
    uint64_t begin_ns = start_ns(p, end_ns);
    size_t intervals = 0;
    for (size_t i = 0; i < p->stamps.count; i++) {
        const struct stamp *s = &p->stamps.items[i];
        if (s->time_ns > end_ns)
            break;
        if (s->time_ns < begin_ns)
            continue;
        while (intervals < p->intervals.count && p->intervals.items[intervals].end_ns <= s->time_ns)
            intervals++;
        add_moment(g, s, intervals);
    }
}

/* --- series ----------------------------------------------------------------------------------- */

/* Computes sums over intervals: what is mapped, what pools and arenas have, and how much larger the
 * live blocks of the heap are than the program requested. A stamp may lie within an interval; what
 * is live then is the stamp's own figure. */
static void series_of_rows(struct growth *g, const struct profile *p)
{
    uint64_t mapped = 0, pools = 0, arenas = 0, rounding = 0;
    size_t interval = 0;
    for (size_t i = 0; i < p->sites.count; i++)
        g->arenas_are_live |= p->sites.items[i].domain == DOMAIN_ARENA;
    g->arenas_counted &= g->arenas_are_live;
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
                else if (domain == DOMAIN_POOL)
                    pools += row->columns[COL_BYTES] - row->columns[COL_FREED];
                else if (domain == DOMAIN_ARENA)
                    arenas += row->columns[COL_BYTES] - row->columns[COL_FREED];
                else if (domain == DOMAIN_HEAP)
                    rounding += row->columns[COL_USABLE] - row->columns[COL_USABLE_FREED] -
                                (row->columns[COL_BYTES] - row->columns[COL_FREED]);
            }
        }
        const struct stamp *s = g->stamp[k];
        g->series[GROWTH_MAPPED][k] = (double)(int64_t)mapped;
        g->series[GROWTH_POOLS][k] = (double)(int64_t)pools;
        if (g->arenas_are_live) {
            g->arena_space[k] = (double)(int64_t)arenas;
            g->series[GROWTH_ARENAS][k] =
                (double)(int64_t)(arenas - (g->arenas_counted ? g->absent_bytes[k] : 0));
        }
        g->series[GROWTH_HELD][k] = (double)s->anon_bytes - (double)s->live_bytes +
                                    g->arena_space[k] - (double)(int64_t)rounding -
                                    BLOCK_BYTES * (double)s->live_blocks;
    }
}

/* Stamps lie within intervals, so a steady leak would seem to begin at the end of the first
 * interval. The blocks of a row are therefore spread evenly over its time. */
static void lost_by_time(struct growth *g, const struct live_row *row)
{
    size_t k = 0, high = g->count;
    while (k < high) { /* the first stamp not before the first block */
        size_t middle = k + (high - k) / 2;
        if (g->stamp[middle]->time_ns < row->first_ns)
            k = middle + 1;
        else
            high = middle;
    }
    double *born = g->series[GROWTH_LOST], span = (double)row->last_ns - (double)row->first_ns;
    double before = 0;
    for (; k < g->count && before < (double)row->bytes; k++) {
        double sum = (double)row->bytes;
        if (g->stamp[k]->time_ns < row->last_ns && row->blocks > 1)
            sum *= (1 + floor((double)(g->stamp[k]->time_ns - row->first_ns) / span *
                              (double)(row->blocks - 1))) /
                   (double)row->blocks;
        born[k] += sum - before;
        before = sum;
    }
}

static void series_of_lost(struct growth *g, const struct profile *p)
{
    g->scan = leak_scan_judged(p, &g->no_scan);
    if (!g->scan)
        return;
    for (size_t i = 0; i < g->scan->row_count; i++) {
        const struct live_row *row = &p->live.items[g->scan->first_row + i];
        if (!growth_row_is_lost(g, row))
            continue;
        g->lost_bytes += row->bytes;
        if (!g->mark)
            lost_by_time(g, row);
    }
    for (size_t k = 1; k < g->count && !g->mark; k++)
        g->series[GROWTH_LOST][k] += g->series[GROWTH_LOST][k - 1];
    if (!g->mark)
        return;
    uint64_t *born = xcalloc(p->intervals.count + 1, sizeof *born), sum = 0;
    for (size_t i = g->scan->first_row; i < g->scan->first_row + g->scan->row_count; i++) {
        const struct live_row *row = &p->live.items[i];
        if (growth_row_is_lost(g, row) && row->interval < p->intervals.count)
            born[row->interval] += row->bytes;
    }
    for (size_t k = 0, interval = 0; k < g->count; k++) {
        for (; interval < g->intervals[k] && interval < p->intervals.count; interval++)
            sum += born[interval];
        g->series[GROWTH_LOST][k] = (double)sum;
    }
    free(born);
}

/* The recorder's own memory at a moment, from the footprints before and after it. */
static double recorder_at(const struct profile *p, uint64_t time_ns)
{
    const struct footprint *before = NULL, *after = NULL;
    for (size_t i = 0; i < p->footprints.count; i++) {
        const struct footprint *f = &p->footprints.items[i];
        if (f->time_ns <= time_ns)
            before = f;
        else if (!after)
            after = f;
    }
    if (!before || !after)
        return before || after ? (double)(before ? before : after)->parts[PART_RECORDER] : 0;
    double share = (double)(time_ns - before->time_ns) / (double)(after->time_ns - before->time_ns);
    return (1 - share) * (double)before->parts[PART_RECORDER] +
           share * (double)after->parts[PART_RECORDER];
}

/* The memory that CPython had for small objects at a moment, in the same way: it was not read at
 * every mark. What was read before the first mark is no evidence of growth since then, and is left
 * out if there is a later reading. */
static double arenas_about(const struct profile *p, uint64_t first_ns, uint64_t time_ns)
{
    const struct arena_reading *before = NULL, *after = NULL;
    for (size_t i = 0; i < p->arenas.count && !after; i++) {
        if (p->arenas.items[i].time_ns < first_ns && i + 1 < p->arenas.count)
            continue;
        if (p->arenas.items[i].time_ns <= time_ns)
            before = &p->arenas.items[i];
        else
            after = &p->arenas.items[i];
    }
    if (!before || !after)
        return before || after ? (double)(before ? before : after)->bytes : 0;
    double share = (double)(time_ns - before->time_ns) / (double)(after->time_ns - before->time_ns);
    return (1 - share) * (double)before->bytes + share * (double)after->bytes;
}

static void series_of_stamps(struct growth *g, const struct profile *p)
{
    for (size_t k = 0; k < g->count; k++) {
        const struct stamp *s = g->stamp[k];
        g->series[GROWTH_LIVE][k] = (double)s->live_bytes;
        g->series[GROWTH_RSS][k] = (double)s->rss_bytes;
        g->series[GROWTH_VM][k] = (double)s->vm_bytes;
        g->series[GROWTH_ANON][k] = (double)s->anon_bytes;
        g->series[GROWTH_SHARED][k] =
            (double)s->rss_bytes - (double)s->anon_bytes - recorder_at(p, s->time_ns);
        g->series[GROWTH_ARENAS][k] = arenas_about(p, g->stamp[0]->time_ns, s->time_ns);
    }
}

static void times_of_stamps(struct growth *g)
{
    uint64_t begin = g->count ? g->stamp[0]->time_ns : 0;
    if (!g->count || g->stamp[g->count - 1]->time_ns <= begin)
        return;
    g->when = xcalloc(g->count, sizeof *g->when);
    for (size_t k = 0; k < g->count; k++)
        g->when[k] = (double)(g->stamp[k]->time_ns - begin) / 1e9;
}

static void make_series(struct growth *g, const struct profile *p)
{
    for (int line = 0; line < GROWTH_LINES; line++)
        g->series[line] = xcalloc(g->count + 1, sizeof(double));
    series_of_stamps(g, p);
    series_of_rows(g, p);
    series_of_lost(g, p);
    if (!g->mark)
        times_of_stamps(g);
    g->known = g->count >= (g->mark ? TREND_LEAST : GROWTH_STAMPS_LEAST) && (g->mark || g->when);
    for (int line = 0; line < GROWTH_LINES && g->known; line++) {
        trend_of(&g->trends[line], g->series[line], g->when, g->count);
        if (line < GROWTH_SHOWN && g->trends[line].skipped > g->skipped)
            g->skipped = g->trends[line].skipped;
    }
    const struct trend *live = &g->trends[GROWTH_LIVE];
    g->first = live->began || live->stopped ? live->begin : live->skipped;
    if (g->scan && g->trends[GROWTH_LOST].rises && g->trends[GROWTH_LOST].begin < g->first)
        g->first = g->trends[GROWTH_LOST].begin;
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

/* Marks of other labels plant as well: everything from one mark of this label to the next
 * counts. */
static void find_planted(struct growth *g)
{
    const struct profile *p = g->places.total.profile;
    size_t seen = 0, first = 0, last = 0;
    for (size_t i = 0; i < p->marks.count; i++) {
        if (!mark_has_label(p->marks.items[i].name, g->mark, strlen(g->mark)))
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

double growth_span(const struct growth *g, size_t begin, size_t end)
{
    return g->when ? g->when[end] - g->when[begin] : (double)end - (double)begin;
}

double growth_last(const struct growth *g, enum growth_line line)
{
    return g->count ? g->series[line][g->count - 1] : 0;
}

const struct places *growth_places(const struct growth *g, enum domain domain)
{
    return domain == DOMAIN_MAPPED ? &g->mapped : domain == DOMAIN_POOL ? &g->pools : &g->places;
}

bool growth_row_is_lost(const struct growth *g, const struct live_row *row)
{
    return (row->reach == REACH_LOST || row->reach == REACH_INDIRECT) &&
           g->places.of_site[row->site] != PLACE_NONE;
}

static void begin(struct growth *g, const char *mark)
{
    const struct profile *p = g->places.total.profile;
    g->end = work_end_of(p);
    size_t most = p->marks.count > p->stamps.count ? p->marks.count : p->stamps.count;
    g->stamp = xcalloc(most + 1, sizeof *g->stamp);
    g->intervals = xcalloc(most + 1, sizeof *g->intervals);
    g->arena_space = xcalloc(most + 1, sizeof *g->arena_space);
    g->absent_bytes = xcalloc(most + 1, sizeof *g->absent_bytes);
    size_t marks = 0;
    g->mark = mark ? mark : labels_busiest(p, &marks);
    if (!mark && marks < TREND_LEAST && p->stamps.count >= GROWTH_STAMPS_LEAST)
        g->mark = NULL; /* stamps say something, and so few marks do not */
    if (g->mark)
        take_marks(g, p);
    else
        take_stamps(g, p);
    make_series(g, p);
}

/* How much the live heap grew in an interval. */
static int64_t rise_of(const struct profile *p, const struct interval *v)
{
    int64_t rise = 0;
    for (size_t k = v->first_row; k < v->first_row + v->row_count; k++) {
        const struct row *row = &p->rows.items[k];
        if (domain_is_live(p->sites.items[row->site].domain))
            rise = wrapped(rise, (int64_t)(row->columns[COL_BYTES] - row->columns[COL_FREED]));
    }
    return rise;
}

/*
 * The number of intervals up to which functions are compared. About the last stamp, which lags
 * behind the program, and the end of its work a program may free what the stamps still show. So
 * these are the intervals up to the last one that still has half of what the heap gained at most
 * since the stamp before it. (The highest one may have been a short peak long before the end.)
 */
static size_t until_freed(const struct growth *g)
{
    const struct profile *p = g->places.total.profile;
    size_t begin = g->count > 1 ? g->intervals[g->count - 2] : 0, end = g->end.intervals;
    size_t best = begin;
    int64_t gained = 0, highest = 0;
    if (!begin)
        return end;
    for (size_t i = begin; i < end; i++) {
        gained = wrapped(gained, rise_of(p, &p->intervals.items[i]));
        highest = gained > highest ? gained : highest;
    }
    gained = 0;
    for (size_t i = begin; i < end; i++) {
        gained = wrapped(gained, rise_of(p, &p->intervals.items[i]));
        if (gained >= highest / 2)
            best = i + 1;
    }
    return best;
}

static void conclude(struct growth *g, const struct recording *r)
{
    growth_account_init(&g->account, &g->places, g->count ? g->stamp[g->first]->time_ns : 0);
    g->since = g->count ? g->intervals[g->first] : 0;
    g->until = g->mark ? (g->count ? g->intervals[g->count - 1] : 0) : until_freed(g);
    if (g->known || (!g->mark && g->until >= GROWTH_STAMPS_LEAST))
        growth_find_functions(g, r);
    growth_judge(g);
}

int growth_init(struct growth *g, const struct recording *r, const struct growth_question *q,
                struct err *err)
{
    *g = (struct growth){0};
    int code = places_init(&g->places, r, &q->query, err);
    if (code)
        return code;
    /* The verdict needs stamps of /proc, marks and the account of resident memory. */
    if (g->places.total.profile->imported.from) {
        code =
            err_set(err, -ENODATA,
                    "this recording does not know growth: it was imported from %.100s; 'tidemark "
                    "peaks' and 'tidemark report --since' show what changed",
                    g->places.total.profile->imported.from);
        growth_release(g);
        return code;
    }
    begin(g, q->mark);
    code = use_values(g, q, err); /* it refuses an unknown label */
    if (code) {
        growth_release(g);
        return code;
    }
    conclude(g, r);
    chains_find(&g->chains, &g->places);
    return 0;
}

void growth_of_places(struct growth *g, const struct places *places)
{
    *g = (struct growth){.places = *places, .borrowed = true};
    begin(g, NULL);
    conclude(g, places->total.recording);
}

void growth_release(struct growth *g)
{
    for (int line = 0; line < GROWTH_LINES; line++)
        free(g->series[line]);
    free(g->stamp);
    free(g->intervals);
    free(g->arena_space);
    free(g->absent_bytes);
    free(g->units);
    free(g->when);
    vec_release(&g->sites);
    vec_release(&g->other);
    growth_account_release(&g->account);
    chains_release(&g->chains);
    if (!g->borrowed)
        places_release(&g->places);
    places_release(&g->mapped);
    places_release(&g->pools);
    *g = (struct growth){0};
}
