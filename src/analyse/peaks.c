#include "analyse/peaks.h"

#include <stdlib.h>
#include <string.h>

#define PEAKS_MAX 1000 /* the highest ones; stacks are computed for each */

static void add_peak(struct peaks *p, const struct peak_options *o, uint32_t line, size_t moment,
                     size_t trough, int64_t bytes)
{
    struct peak *last = p->list.count ? vec_last(&p->list) : NULL;
    const uint64_t *time = p->lines.time_ns;
    if (bytes <= 0 || bytes < o->least_bytes)
        return;
    if (last && last->line == line && time[moment] - time[last->moment] < o->least_time_ns) {
        if (bytes > last->bytes) {
            last->moment = moment;
            last->bytes = bytes;
        }
        return;
    }
    *vec_push(&p->list) =
        (struct peak){.line = line, .moment = moment, .trough = trough, .bytes = bytes};
}

/*
 * Follows a line and finds its turning points: where it has come back by at least the least change
 * from its highest or lowest point. There are `points` points, `each` per moment.
 */
static void find_peaks(struct peaks *p, const struct peak_options *o, uint32_t line,
                       const int64_t *live, size_t points, size_t each)
{
    int64_t change = o->least_change, highest = 0;
    size_t high = 0, low = 0;
    for (size_t i = 0; i < points; i++)
        highest = live[i] > highest ? live[i] : highest;
    if (change < 0)
        change = highest / 20;
    change = change > 0 ? change : 1;
    bool rising = true;
    for (size_t i = 1; i < points; i++) {
        if (rising) {
            high = live[i] > live[high] ? i : high;
            if (wrapped_less(live[high], live[i]) < change)
                continue;
            add_peak(p, o, line, high / each, low / each, live[high]);
            low = i;
            rising = false;
        } else {
            low = live[i] < live[low] ? i : low;
            if (wrapped_less(live[i], live[low]) < change)
                continue;
            high = i;
            rising = true;
        }
    }
    if (rising && points && wrapped_less(live[high], live[low]) >= change)
        add_peak(p, o, line, high / each, low / each, live[high]);
}

/* For the whole process, the highest total between two moments is known, and what it had then. */
static void find_process_peaks(struct peaks *p, const struct peak_options *o)
{
    size_t n = p->lines.moments;
    int64_t *live = xcalloc(2 * n + 1, sizeof *live);
    for (size_t i = 0; i < n; i++) {
        live[2 * i] = p->lines.process[i];
        live[2 * i + 1] = p->lines.running[i];
    }
    find_peaks(p, o, THREADS_PROCESS, live, 2 * n, 2);
    free(live);
}

/* Does all memory that counts come from one thread? Then its line equals the process's. */
static bool is_one_thread(const struct threads *t)
{
    const struct profile *p = t->profile;
    uint32_t only = UINT32_MAX;
    for (size_t i = 0; i < p->sites.count; i++) {
        const struct site *s = &p->sites.items[i];
        if (!domain_is_live(s->domain))
            continue;
        if (!t->counted[i] || (only != UINT32_MAX && s->thread != only))
            return false;
        only = s->thread;
    }
    return true;
}

static int higher(const void *a, const void *b)
{
    const struct peak *x = a, *y = b;
    if (x->bytes != y->bytes)
        return x->bytes > y->bytes ? -1 : 1;
    if (x->moment != y->moment)
        return x->moment < y->moment ? -1 : 1;
    return (x->line > y->line) - (x->line < y->line);
}

static int earlier(const void *a, const void *b)
{
    const struct peak *x = a, *y = b;
    if (x->time_ns != y->time_ns)
        return x->time_ns < y->time_ns ? -1 : 1;
    return (x->line > y->line) - (x->line < y->line);
}

static void keep_highest(struct peaks *p, size_t most)
{
    if (!p->list.count)
        return;
    qsort(p->list.items, p->list.count, sizeof *p->list.items, higher);
    if (p->list.count > most)
        p->list.count = most;
    qsort(p->list.items, p->list.count, sizeof *p->list.items, earlier);
}

void peaks_keep_highest(struct peaks *p, size_t most)
{
    size_t all = p->list.count;
    keep_highest(p, most);
    p->left_out += all - p->list.count;
}

/* Is the process's peak between this moment and the one before? Then the sites have it exactly. */
static bool holds_the_peak(const struct peaks *p, const struct peak *k)
{
    return k->line == THREADS_PROCESS && (uint64_t)k->bytes == p->lines.profile->peak_bytes;
}

static uint64_t time_of(const struct peaks *p, const struct peak *k)
{
    const uint64_t *time = &p->lines.time_ns[k->moment], peak = p->lines.profile->peak_time_ns;
    bool inside = peak <= *time && (!k->moment || peak > time[-1]);
    return holds_the_peak(p, k) && inside ? peak : *time;
}

static void number(struct peaks *p)
{
    for (size_t i = 0; i < p->list.count; i++)
        p->list.items[i].time_ns = time_of(p, &p->list.items[i]);
    keep_highest(p, PEAKS_MAX);
    for (size_t i = 0; i < p->list.count; i++)
        p->list.items[i].number = (unsigned)i + 1;
}

const char *peak_line_name(const struct peaks *p, const struct peak *k)
{
    return k->line == THREADS_PROCESS ? "process" : p->lines.lines.items[k->line].name;
}

static void keep_largest(struct peak *k, struct peak_stack s)
{
    size_t i = k->stack_count;
    for (; i > 0 && k->stacks[i - 1].bytes < s.bytes; i--)
        if (i < PEAK_STACKS)
            k->stacks[i] = k->stacks[i - 1];
    if (i < PEAK_STACKS) {
        k->stacks[i] = s;
        k->stack_count += k->stack_count < PEAK_STACKS;
    }
}

bool peak_is_listed(const struct peak *k)
{
    return k->listed_bytes == k->bytes;
}

bool peak_is_explained(const struct peak *k)
{
    return k->listed_bytes > k->bytes / 2;
}

/* A peak of the process may lie between a moment and the one before. The higher of the two shows
 * most of what the peak consists of. */
static size_t nearest_moment(const struct peaks *p, const struct peak *k)
{
    const int64_t *live = p->lines.running;
    bool before = k->line == THREADS_PROCESS && k->moment && !holds_the_peak(p, k) &&
                  live[k->moment - 1] > live[k->moment];
    return before ? k->moment - 1 : k->moment;
}

/* The live bytes of every site after so many intervals; of processes that ended before, none. */
static void measure_at(const struct peaks *p, size_t intervals, bool peak, struct measure *out)
{
    struct window w = {.at = {.intervals = intervals, .peak = peak}};
    const struct profile *profile = p->lines.profile;
    measure_sites(out, profile, METRIC_LIVE, SIZE_REQUESTED, &w);
    for (size_t i = 0; i < profile->process_ends.count && !peak; i++) {
        const struct process_end *e = &profile->process_ends.items[i];
        if (e->intervals < intervals)
            memset(&out->sites[e->site], 0, e->site_count * sizeof *out->sites);
    }
}

static void list_stacks(const struct peaks *p, struct peak *k, const struct value *calls)
{
    const struct call_tree *tree = &p->places.total.tree;
    k->stack_count = 0;
    for (uint32_t c = 1; c < tree->parent.count; c++)
        if (calls[c].amount > 0)
            keep_largest(k, (struct peak_stack){c, calls[c].amount, calls[c].count});
}

/* What a call can have had at a peak inside an interval. */
struct call_bounds {
    int64_t least, most;
    int64_t blocks; /* if it had the most; -1: not known */
};

/* What each call can have had between the moment before the peak and the peak's. Returns the sum of
 * the most. */
static int64_t find_bounds(const struct peaks *p, const struct peak *k, struct call_bounds *calls)
{
    const struct profile *profile = p->lines.profile;
    const struct call_tree *tree = &p->places.total.tree;
    struct window interval = {.since = {.intervals = p->lines.intervals[k->moment - 1]},
                              .at = {.intervals = p->lines.intervals[k->moment]}};
    struct measure before, after, allocated;
    int64_t sum = 0;
    measure_at(p, interval.since.intervals, false, &before);
    measure_at(p, interval.at.intervals, false, &after);
    measure_sites(&allocated, profile, METRIC_TOTAL, SIZE_REQUESTED, &interval);
    for (size_t i = 0; i < before.count; i++) {
        if (!p->lines.counted[i] || tree->site_call[i] == CALL_NONE)
            continue;
        struct call_bounds *c = &calls[tree->site_call[i]];
        int64_t all = wrapped(before.sites[i].amount, allocated.sites[i].amount), most = all;
        int64_t own = (int64_t)profile->sites.items[i].own_peak_bytes;
        if (own >= before.sites[i].amount && own < most)
            most = own;
        /* what was never freed */
        int64_t least = wrapped_less(after.sites[i].amount, allocated.sites[i].amount);
        c->least = wrapped(c->least, least > 0 ? least : 0);
        c->most = wrapped(c->most, most);
        if (most != all || c->blocks < 0)
            c->blocks = -1;
        else
            c->blocks =
                wrapped(c->blocks, wrapped(before.sites[i].count, allocated.sites[i].count));
        sum = wrapped(sum, most);
    }
    measure_release(&before);
    measure_release(&after);
    measure_release(&allocated);
    return sum;
}

/*
 * A peak of the process inside an interval: no site had more than it had before and allocated in
 * the interval, nor more than ever. So a call had at least what the others cannot have had.
 */
static void find_stacks_inside(const struct peaks *p, struct peak *k)
{
    const struct profile *profile = p->lines.profile;
    if (k->line != THREADS_PROCESS || !k->moment || p->lines.part || profile->together ||
        profile->merge || profile->sample_bytes)
        return;
    size_t count = p->places.total.tree.parent.count;
    struct call_bounds *bounds = xcalloc(count, sizeof *bounds);
    struct value *calls = xcalloc(count, sizeof *calls);
    int64_t most = find_bounds(p, k, bounds), sum = 0;
    int64_t surely = wrapped_less(k->bytes, (int64_t)profile->peak_skew_bytes);
    bool exact = most == k->bytes && !profile->peak_skew_bytes;
    for (size_t c = 1; c < count; c++) {
        int64_t least = wrapped_less(surely, wrapped_less(most, bounds[c].most));
        least = least > bounds[c].least ? least : bounds[c].least;
        calls[c] = (struct value){.amount = least, .count = exact ? bounds[c].blocks : -1};
        sum = wrapped(sum, least);
    }
    if ((sum > k->listed_bytes || sum > k->bytes / 2) && sum <= k->bytes) {
        k->listed_bytes = sum;
        k->inside = true;
        k->at_least = !exact;
        list_stacks(p, k, calls);
    }
    free(calls);
    free(bounds);
}

static void find_stacks(struct peaks *p, struct peak *k)
{
    k->listed = nearest_moment(p, k);
    const struct profile *profile = p->lines.profile;
    const struct call_tree *tree = &p->places.total.tree;
    struct measure m;
    measure_at(p, p->lines.intervals[k->listed], holds_the_peak(p, k), &m);
    struct value *calls = xcalloc(tree->parent.count, sizeof *calls);
    for (size_t i = 0; i < m.count; i++) {
        if (p->lines.counted[i] && tree->site_call[i] != CALL_NONE &&
            (k->line == THREADS_PROCESS ||
             profile->sites.items[i].thread == p->lines.lines.items[k->line].thread)) {
            value_join(&calls[tree->site_call[i]], m.sites[i], false);
            k->listed_bytes = wrapped(k->listed_bytes, m.sites[i].amount);
        }
    }
    list_stacks(p, k, calls);
    free(calls);
    measure_release(&m);
    if (!peak_is_listed(k))
        find_stacks_inside(p, k);
}

int peaks_init(struct peaks *p, const struct recording *r, const struct query *q,
               const struct peak_options *o, struct err *err)
{
    *p = (struct peaks){0};
    int code = threads_init(&p->lines, r, q, err);
    if (code)
        return code;
    code = places_init(&p->places, r, q, err);
    if (code) {
        threads_release(&p->lines);
        return code;
    }
    if (!q->filter.thread)
        find_process_peaks(p, o);
    /* If one thread allocated everything, its line is the process's and is left out, unless it was
     * asked for. */
    uint32_t threads =
        !q->filter.thread && is_one_thread(&p->lines) ? 0 : (uint32_t)p->lines.lines.count;
    for (uint32_t i = 0; i < threads; i++)
        find_peaks(p, o, i, p->lines.lines.items[i].live, p->lines.moments, 1);
    number(p);
    for (size_t i = 0; i < p->list.count; i++)
        find_stacks(p, &p->list.items[i]);
    return 0;
}

void peaks_release(struct peaks *p)
{
    vec_release(&p->list);
    places_release(&p->places);
    threads_release(&p->lines);
}
