/*
 * Functions whose blocks are still needed, as far as anybody can tell, but become more and more.
 *
 * Where the program makes marks of one label again and again, what a function holds at each of them
 * is compared: it should be the same at every event. Without marks work done takes their place, and
 * more is asked for: a program that reads its input grows too, until it has read it.
 */
#include <stdlib.h>
#include <string.h>

#include "analyse/detect.h"
#include "analyse/labels.h"
#include "analyse/trend.h"
#include "analyse/work_end.h"

#define SAMPLES       16  /* moments that are compared */
#define LEAST_MARKS   6   /* of a label, to be worth comparing */
#define LEAST_MOMENTS 6   /* without marks */
#define WARM_UP       0.2 /* of the marks or the work: not compared */

#define MARK_BYTES (16 * KIB)
#define MARK_SHARE 0.02 /* of the peak */
#define MARK_STEPS 0.8  /* of the steps that go up */
#define MARK_FALLS 0.5  /* of what was gained: what falls more only goes up and down */
#define WORK_BYTES (1 * MIB)
#define WORK_SHARE 0.25
#define WORK_STEPS 0.9
#define WORK_STEADY                                                                                \
    0.5 /* in the last third it grows at least so fast of what it did in the first */

struct series {
    size_t moments[SAMPLES]; /* intervals that lie before each */
    double work[SAMPLES];    /* done up to each, if not by marks */
    size_t count;
    const char *mark; /* NULL: by time */
    size_t first;     /* intervals that lie before the first mark that counts for the figures */
    double marks;     /* from that one to the last */
};

/*
 * The mark from which `growth` counts, so that both commands give the same figures: its warm-up is
 * measured. The fifth that is not compared here is only a precaution against false alarms.
 */
static size_t first_that_counts(const struct profile *p, const char *label, size_t count)
{
    double *live = xcalloc(count + 1, sizeof *live);
    struct trend trend;
    size_t n = 0;
    for (size_t i = 0; i < p->marks.count && n < count; i++)
        if (strcmp(p->marks.items[i].name, label) == 0)
            live[n++] = (double)p->marks.items[i].stamp.live_bytes;
    size_t first = trend_of(&trend, live, NULL, n) ? trend.skipped : 0;
    free(live);
    return first;
}

static void series_of_marks(struct series *s, const struct profile *p, const char *label,
                            size_t count)
{
    size_t first = (size_t)((double)count * WARM_UP), left = count - first, seen = 0;
    size_t counts = first_that_counts(p, label, count);
    s->mark = label;
    s->count = left < SAMPLES ? left : SAMPLES;
    s->marks = (double)(count - 1 - counts);
    for (size_t i = 0, k = 0; i < p->marks.count && k < s->count; i++) {
        if (strcmp(p->marks.items[i].name, label) != 0)
            continue;
        if (seen == counts)
            s->first = p->marks.items[i].intervals;
        if (seen++ == first + k * (left - 1) / (s->count - 1))
            s->moments[k++] = p->marks.items[i].intervals;
    }
}

/*
 * Moments between which the program made about as many allocations: its own clock, which does not
 * hang on how busy the machine was. Up to the moment at which it began to end.
 */
static void series_of_work(struct series *s, const struct profile *p)
{
    size_t last = work_end(p);
    uint64_t *done = xcalloc(last + 1, sizeof *done); /* allocations up to the end of each */
    for (size_t i = 0; i < last; i++) {
        const struct interval *v = &p->intervals.items[i];
        done[i + 1] = done[i];
        for (size_t k = v->first_row; k < v->first_row + v->row_count; k++)
            if (domain_is_live(p->sites.items[p->rows.items[k].site].domain))
                done[i + 1] += p->rows.items[k].columns[COL_ALLOCS];
    }
    for (size_t i = 0, k = 0; i < last && k < SAMPLES; i++) {
        size_t due = k;
        while (k < SAMPLES &&
               (double)done[i + 1] >=
                   (WARM_UP + (1 - WARM_UP) * (double)k / (SAMPLES - 1)) * (double)done[last])
            k++;
        if (k > due) {
            s->work[s->count] = (double)done[i + 1];
            s->moments[s->count++] = i + 1;
        }
    }
    free(done);
    if (s->count)
        s->moments[s->count - 1] = last; /* what is freed after the last allocation does not stay */
    s->first = s->moments[0];
    if (s->count < LEAST_MOMENTS)
        s->count = 0; /* too short to tell */
}

/* What each place holds at each moment: [place * SAMPLES + moment]. */
static int64_t *live_at(const struct findings *f, const struct series *s)
{
    const struct profile *p = f->places.total.profile;
    int64_t *live = xcalloc(((size_t)f->places.count + 1) * SAMPLES, sizeof *live);
    size_t before = 0;
    for (size_t k = 0; k < s->count; k++) {
        struct window w = {.since = {.intervals = before}, .at = {.intervals = s->moments[k]}};
        struct measure m;
        measure_sites(&m, p, METRIC_LIVE, SIZE_REQUESTED, &w);
        struct value *sums = places_sum(&f->places, m.sites);
        for (uint32_t i = 0; i < f->places.count; i++)
            live[i * SAMPLES + k] = wrapped(k ? live[i * SAMPLES + k - 1] : 0, sums[i].amount);
        free(sums);
        measure_release(&m);
        before = s->moments[k];
    }
    return live;
}

static double steps_up(const int64_t *live, size_t count)
{
    size_t up = 0;
    for (size_t k = 1; k < count; k++)
        up += live[k] > live[k - 1];
    return count > 1 ? (double)up / (double)(count - 1) : 0;
}

static bool grows_by_marks(const int64_t *live, const struct series *s, double share, int64_t fall)
{
    int64_t gained = wrapped_less(live[s->count - 1], live[0]);
    return gained >= MARK_BYTES && share >= MARK_SHARE && steps_up(live, s->count) >= MARK_STEPS &&
           (double)fall <= MARK_FALLS * (double)gained;
}

static double gained_per_work(const int64_t *live, const struct series *s, size_t from, size_t to)
{
    return (double)wrapped_less(live[to], live[from]) / (s->work[to] - s->work[from]);
}

/* Thirds of the work: moments are not evenly apart where the collector had to wait for a processor.
 */
static bool grows_steadily(const int64_t *live, const struct series *s)
{
    size_t last = s->count - 1, early = 1, late = last - 1;
    double third = (s->work[last] - s->work[0]) / 3;
    while (early < last && s->work[early] - s->work[0] < third)
        early++;
    while (late > 0 && s->work[last] - s->work[late] < third)
        late--;
    return gained_per_work(live, s, late, last) >= WORK_STEADY * gained_per_work(live, s, 0, early);
}

static bool grows_by_work(const int64_t *live, const struct series *s, double share)
{
    int64_t gained = wrapped_less(live[s->count - 1], live[0]);
    return gained >= WORK_BYTES && share >= WORK_SHARE && steps_up(live, s->count) >= WORK_STEPS &&
           grows_steadily(live, s);
}

/*
 * How far each place fell at most from an earlier mark to a later one. All marks are looked at, not
 * only those that are compared: a few of them see a sawtooth rise as slowly as they please.
 */
static int64_t *falls_at_marks(const struct findings *f, const struct series *s)
{
    const struct profile *p = f->places.total.profile;
    struct {
        int64_t live, highest; /* more than at the first mark that is compared */
    } *course = xcalloc((size_t)f->places.count + 1, sizeof *course);
    int64_t *falls = xcalloc((size_t)f->places.count + 1, sizeof *falls);
    size_t done = s->moments[0], last = s->moments[s->count - 1];
    VEC(uint32_t) changed = {0}; /* since the last mark, some more than once */
    for (size_t i = 0; i < p->marks.count; i++) {
        const struct mark *m = &p->marks.items[i];
        if (m->intervals <= done || m->intervals > last || strcmp(m->name, s->mark) != 0)
            continue;
        for (; done < m->intervals && done < p->intervals.count; done++) {
            const struct interval *v = &p->intervals.items[done];
            for (size_t k = v->first_row; k < v->first_row + v->row_count; k++) {
                const struct row *row = &p->rows.items[k];
                uint32_t place = f->places.of_site[row->site];
                if (place == PLACE_NONE || !domain_is_live(p->sites.items[row->site].domain))
                    continue;
                int64_t change = (int64_t)(row->columns[COL_BYTES] - row->columns[COL_FREED]);
                course[place].live = wrapped(course[place].live, change);
                *vec_push(&changed) = place;
            }
        }
        for (size_t k = 0; k < changed.count; k++) {
            uint32_t place = changed.items[k];
            int64_t live = course[place].live, fall;
            if (live > course[place].highest)
                course[place].highest = live;
            fall = wrapped_less(course[place].highest, live);
            if (fall > falls[place])
                falls[place] = fall;
        }
        changed.count = 0;
    }
    vec_release(&changed);
    free(course);
    return falls;
}

/* What each place has more, or less, after `since` and until `at`. */
static struct value *change_between(const struct findings *f, size_t since, size_t at)
{
    struct window w = {.since = {.intervals = since}, .at = {.intervals = at}};
    struct measure m;
    measure_sites(&m, f->places.total.profile, METRIC_LIVE, SIZE_REQUESTED, &w);
    struct value *sums = places_sum(&f->places, m.sites);
    measure_release(&m);
    return sums;
}

static bool falls(const int64_t *live, size_t count)
{
    for (size_t k = 1; k < count; k++)
        if (live[k] < live[k - 1])
            return true;
    return false;
}

static void add_growth(struct findings *f, const struct series *s, uint32_t place, int64_t bytes)
{
    struct window grown = {.since = {.intervals = s->first},
                           .at = {.intervals = s->moments[s->count - 1]}};
    struct measure m; /* of the sites that grew */
    measure_sites(&m, f->places.total.profile, METRIC_LIVE, SIZE_REQUESTED, &grown);
    struct finding *n =
        detect_add(f, FINDING_GROWTH, place, m.sites, share_of(bytes, f->basis.peak_bytes));
    measure_release(&m);
    n->bytes = bytes;
    n->of_bytes = (int64_t)f->basis.peak_bytes;
    n->mark = s->mark;
    n->per_mark = s->mark ? (double)bytes / s->marks : 0;
}

void detect_growth(struct findings *f)
{
    const struct profile *p = f->places.total.profile;
    struct series s = {0};
    size_t marks;
    f->basis.growth_known = p->peak_bytes < WORK_BYTES;
    if (p->together > 1)
        return; /* marks and work of several processes are no series */
    const char *label = labels_busiest(p, &marks);
    if (label && marks >= LEAST_MARKS)
        series_of_marks(&s, p, label, marks);
    else
        series_of_work(&s, p);
    if (s.count < 2)
        return;
    f->basis.growth_known = true;
    size_t last = s.moments[s.count - 1], end = work_end(p);
    int64_t *live = live_at(f, &s), *fall = s.mark ? falls_at_marks(f, &s) : NULL;
    struct value *at_last = change_between(f, 0, last);
    struct value *gained = change_between(f, s.first, last);
    struct value *after = change_between(f, last, end > last ? end : last);
    for (uint32_t i = 0; i < f->places.count; i++) {
        const int64_t *own = &live[(size_t)i * SAMPLES];
        double share = share_of(wrapped_less(own[s.count - 1], own[0]), f->basis.peak_bytes);
        int64_t bytes = gained[i].amount;
        if (bytes <= 0 ||
            !(s.mark ? grows_by_marks(own, &s, share, fall[i]) : grows_by_work(own, &s, share)))
            continue;
        add_growth(f, &s, i, bytes);
        struct finding *n = vec_last(&f->list);
        n->count = at_last[i].count;
        n->never_less = fall ? !fall[i] : !falls(own, s.count);
        int64_t freed = after[i].amount < 0 ? wrapped_less(0, after[i].amount) : 0;
        n->freed_bytes = freed < bytes ? freed : bytes;
    }
    free(after);
    free(gained);
    free(at_last);
    free(fall);
    free(live);
}
