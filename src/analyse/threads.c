#include "analyse/threads.h"

#include <stdlib.h>
#include <string.h>

#include "model/imported.h"

/* If nothing is left out, all allocations count, and no stack has to be examined. */
static int count_all(struct threads *t, const struct recording *r, const struct query *asked,
                     const struct query *total, struct err *err)
{
    struct window whole;
    struct measure m;
    int code = answer_process(r, total, &t->profile, err);
    if (!code)
        code = measure_window(t->profile, total, &whole, err);
    if (code)
        return code;
    measure_sites(&m, t->profile, METRIC_TOTAL, SIZE_REQUESTED, &whole);
    t->counted = xcalloc(m.count + 1, sizeof *t->counted);
    for (size_t i = 0; i < m.count; i++) {
        bool is_live = domain_is_live(t->profile->sites.items[i].domain);
        t->counted[i] = is_live && !value_is_zero(m.sites[i]);
        t->part |= is_live && !t->counted[i];
    }
    measure_release(&m);
    return window_resolve(t->profile, asked->since, asked->at, &t->window, err);
}

/* Finds the sites that the filter selects: those for which a call is charged. */
static int find_counted(struct threads *t, const struct recording *r, const struct query *asked,
                        struct err *err)
{
    struct query q = *asked;
    struct answer a;
    q.metric = METRIC_TOTAL;
    q.size = SIZE_REQUESTED;
    q.by = BY_THREAD;
    q.shape = SHAPE_TABLE;
    q.since = q.at = NULL;
    q.top = 0;
    if (stack_filter_takes_all(r, &q.filter))
        return count_all(t, r, asked, &q, err);
    int code = answer_query(&a, r, &q, err);
    if (code)
        return code;
    t->profile = a.profile;
    t->counted = xcalloc(a.measure.count + 1, sizeof *t->counted);
    for (size_t i = 0; i < a.measure.count; i++) {
        bool is_live = domain_is_live(a.profile->sites.items[i].domain);
        t->counted[i] = is_live && a.tree.site_call[i] != CALL_NONE;
        t->part |= is_live && !t->counted[i];
    }
    answer_release(&a);
    return window_resolve(t->profile, asked->since, asked->at, &t->window, err);
}

/* Chooses the ends of intervals that are shown, including where the window begins. */
static void choose_moments(struct threads *t)
{
    size_t first = t->window.since.intervals, last = t->window.at.intervals, n = last - first;
    size_t taken = n + 1 < THREADS_MOMENTS ? n + 1 : THREADS_MOMENTS;
    t->time_ns = xcalloc(taken, sizeof *t->time_ns);
    t->intervals = xcalloc(taken, sizeof *t->intervals);
    t->process = xcalloc(taken, sizeof *t->process);
    t->total = xcalloc(taken, sizeof *t->total);
    t->running = xcalloc(taken, sizeof *t->running);
    t->moments = taken;
    for (size_t k = 0; k < taken; k++) {
        size_t at = first + (taken > 1 ? k * n / (taken - 1) : 0);
        t->intervals[k] = at;
        t->time_ns[k] = at ? t->profile->intervals.items[at - 1].end_ns : 0;
    }
}

static uint32_t count_name(struct map *seen, struct strpool *names, const char *name)
{
    uint32_t *n = map_at(seen, strpool_add(names, name));
    return *n = *n == MAP_NONE ? 1 : *n + 1;
}

/* If several threads have the same name, the id is added; and a number, if the id was reused. */
static void name_lines(struct threads *t)
{
    struct strpool names = {0};
    struct map seen = {0};
    for (size_t i = 0; i < t->lines.count; i++) {
        const char *name = t->profile->threads.items[i].name;
        count_name(&seen, &names, name && *name ? name : "thread");
    }
    for (size_t i = 0; i < t->lines.count; i++) {
        const struct thread *thread = &t->profile->threads.items[i];
        const char *name = thread->name && *thread->name ? thread->name : "thread";
        if (map_get(&seen, strpool_add(&names, name)) == 1) {
            t->lines.items[i].name = xstrdup(name);
            continue;
        }
        char *with_id = xasprintf("%s:%u", name, thread->tid);
        uint32_t n = count_name(&seen, &names, with_id);
        t->lines.items[i].name = n == 1 ? xstrdup(with_id) : xasprintf("%s#%u", with_id, n);
        free(with_id);
    }
    map_release(&seen);
    strpool_release(&names);
}

static void add_row(struct timeline_line *line, const struct row *row, bool in_window)
{
    const uint64_t *c = row->columns;
    line->live_bytes = wrapped(line->live_bytes, (int64_t)(c[COL_BYTES] - c[COL_FREED]));
    line->live_blocks = wrapped(line->live_blocks, (int64_t)(c[COL_ALLOCS] - c[COL_FREES]));
    if (!in_window)
        return;
    line->allocations = wrapped(line->allocations, (int64_t)c[COL_ALLOCS]);
    line->allocated_bytes = wrapped(line->allocated_bytes, (int64_t)c[COL_BYTES]);
    line->freed_bytes = wrapped(line->freed_bytes, (int64_t)c[COL_FREED]);
}

static void note_moment(struct threads *t, size_t moment)
{
    for (size_t i = 0; i < t->lines.count; i++) {
        struct timeline_line *line = &t->lines.items[i];
        line->live[moment] = line->live_bytes;
        line->allocated[moment] = line->allocated_bytes;
        line->foreign[moment] = line->foreign_bytes;
        if (line->live_bytes > line->highest_bytes) {
            line->highest_bytes = line->live_bytes;
            line->highest_ns = t->time_ns[moment];
        }
    }
}

/* If several threads allocated in an interval, its highest total is known only within a bound. The
 * process's peak is known better, and all commands show it: the moment that it belongs to gets it.
 * Totals above it are too high: they become one byte less, so that this moment alone is the
 * highest. */
static void agree_with_peak(struct threads *t)
{
    const struct profile *p = t->profile;
    int64_t peak = (int64_t)p->peak_bytes;
    for (size_t k = 0; k < t->moments && peak > 0 && !t->part && !p->together; k++) {
        bool inside =
            p->peak_time_ns <= t->time_ns[k] && (!k || p->peak_time_ns > t->time_ns[k - 1]);
        if (inside || t->process[k] > peak)
            t->process[k] = inside ? peak : peak - 1;
    }
}

/* What processes of a combined profile that have ended left behind. */
struct left_behind {
    int64_t *sites; /* live bytes by site */
    size_t ended;   /* number of processes */
    int64_t bytes;
};

/* Adds the processes that ended before the last of so many intervals did. */
static void add_ended(struct left_behind *l, const struct profile *p, size_t intervals)
{
    for (; l->ended < p->process_ends.count; l->ended++) {
        const struct process_end *e = &p->process_ends.items[l->ended];
        if (e->intervals >= intervals)
            return;
        for (uint32_t i = e->site; i < e->site + e->site_count; i++)
            l->bytes = wrapped(l->bytes, l->sites[i]);
    }
}

static void follow(struct threads *t)
{
    const struct profile *p = t->profile;
    size_t moment = 0, last = t->window.at.intervals;
    int64_t highest = 0, live = 0;
    struct left_behind left = {.sites = xcalloc(p->sites.count + 1, sizeof *left.sites)};
    for (size_t i = 0; i <= last; i++) {
        while (moment < t->moments && t->intervals[moment] == i) {
            add_ended(&left, p, i);
            int64_t running = live - left.bytes;
            t->process[moment] = highest > running && !t->part ? highest : running;
            /* In a combined profile, the highest of an interval is an upper bound. */
            if (p->together && t->process[moment] > (int64_t)p->peak_bytes)
                t->process[moment] = (int64_t)p->peak_bytes;
            t->total[moment] = live;
            t->running[moment] = running;
            note_moment(t, moment++);
            highest = 0;
        }
        if (i == last)
            break;
        const struct interval *v = &p->intervals.items[i];
        if ((int64_t)v->peak_bytes > highest)
            highest = (int64_t)v->peak_bytes;
        for (size_t r = v->first_row; r < v->first_row + v->row_count; r++) {
            const struct row *row = &p->rows.items[r];
            const struct site *site = &p->sites.items[row->site];
            struct timeline_line *line = &t->lines.items[site->thread];
            bool in_window = i >= t->window.since.intervals;
            if (site->domain == DOMAIN_FOREIGN && in_window) {
                line->foreign_blocks =
                    wrapped(line->foreign_blocks, (int64_t)row->columns[COL_ALLOCS]);
                line->foreign_bytes =
                    wrapped(line->foreign_bytes, (int64_t)row->columns[COL_BYTES]);
            }
            if (!t->counted[row->site])
                continue;
            int64_t change = (int64_t)(row->columns[COL_BYTES] - row->columns[COL_FREED]);
            live = wrapped(live, change);
            left.sites[row->site] = wrapped(left.sites[row->site], change);
            add_row(line, row, in_window);
        }
    }
    free(left.sites);
    agree_with_peak(t);
    for (size_t k = 0; k < t->moments; k++)
        if (t->process[k] > 0 && (uint64_t)t->process[k] > t->peak_bytes)
            t->peak_bytes = (uint64_t)t->process[k];
    for (size_t i = 0; i < p->sites.count; i++)
        if (t->counted[i]) {
            struct timeline_line *line = &t->lines.items[p->sites.items[i].thread];
            line->at_peak_bytes =
                wrapped(line->at_peak_bytes, (int64_t)p->sites.items[i].at_peak_bytes);
        }
}

/* Between two moments a line may be higher; its value at the peak is known. */
static void note_peak(struct threads *t)
{
    if (!window_is_whole(t->profile, &t->window))
        return;
    for (size_t i = 0; i < t->lines.count; i++) {
        struct timeline_line *line = &t->lines.items[i];
        if (line->at_peak_bytes > line->highest_bytes) {
            line->highest_bytes = line->at_peak_bytes;
            line->highest_ns = t->profile->peak_time_ns;
        }
    }
}

/* In a combined profile, each process had a peak of its own, and what its threads had then is
 * known. Threads and sites of the combined profile are those of its processes, one after the
 * other. */
static void note_own_peaks(struct threads *t, const struct recording *r)
{
    size_t thread = 0, site = 0;
    uint64_t first = UINT64_MAX;
    if (!t->profile->together || !window_is_whole(t->profile, &t->window))
        return;
    for (size_t i = 0; i < r->profiles.count; i++)
        if (r->profiles.items[i].start_unix_ns < first)
            first = r->profiles.items[i].start_unix_ns;
    for (size_t i = 0; i < r->profiles.count; i++) {
        const struct profile *p = &r->profiles.items[i];
        int64_t *had = xcalloc(p->threads.count + 1, sizeof *had);
        for (size_t k = 0; k < p->sites.count; k++)
            if (t->counted[site + k] && p->sites.items[k].thread < p->threads.count)
                had[p->sites.items[k].thread] = wrapped(had[p->sites.items[k].thread],
                                                        (int64_t)p->sites.items[k].at_peak_bytes);
        for (size_t k = 0; k < p->threads.count; k++) {
            struct timeline_line *line = &t->lines.items[thread + k];
            if (had[k] <= line->highest_bytes)
                continue;
            line->highest_bytes = had[k];
            line->highest_ns = p->start_unix_ns - first + p->peak_time_ns;
        }
        free(had);
        thread += p->threads.count;
        site += p->sites.count;
    }
}

static int highest_first(const void *a, const void *b)
{
    const struct timeline_line *x = a, *y = b;
    if (x->highest_bytes != y->highest_bytes)
        return x->highest_bytes > y->highest_bytes ? -1 : 1;
    if (x->allocated_bytes != y->allocated_bytes)
        return x->allocated_bytes > y->allocated_bytes ? -1 : 1;
    return (x->thread > y->thread) - (x->thread < y->thread);
}

int threads_init(struct threads *t, const struct recording *r, const struct query *q,
                 struct err *err)
{
    *t = (struct threads){.recording = r};
    int code = find_counted(t, r, q, err);
    if (!code)
        code = known_all(t->profile, UNKNOWN_TIME | UNKNOWN_HISTORY, "changes over time", err);
    if (code) {
        threads_release(t);
        return code;
    }
    choose_moments(t);
    for (uint32_t i = 0; i < t->profile->threads.count; i++)
        *vec_push(&t->lines) =
            (struct timeline_line){.thread = i,
                                   .info = &t->profile->threads.items[i],
                                   .live = xcalloc(t->moments, sizeof(int64_t)),
                                   .allocated = xcalloc(t->moments, sizeof(int64_t)),
                                   .foreign = xcalloc(t->moments, sizeof(int64_t))};
    name_lines(t);
    follow(t);
    note_peak(t);
    note_own_peaks(t, r);
    if (t->lines.count)
        qsort(t->lines.items, t->lines.count, sizeof *t->lines.items, highest_first);
    return 0;
}

void threads_release(struct threads *t)
{
    for (size_t i = 0; i < t->lines.count; i++) {
        free(t->lines.items[i].name);
        free(t->lines.items[i].live);
        free(t->lines.items[i].allocated);
        free(t->lines.items[i].foreign);
    }
    vec_release(&t->lines);
    free(t->time_ns);
    free(t->intervals);
    free(t->process);
    free(t->total);
    free(t->running);
    free(t->counted);
    *t = (struct threads){0};
}
