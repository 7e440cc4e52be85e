#include "model/measure.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/imported.h"
#include "model/sample_sums.h"

/* A metric over intervals is a signed sum of columns; -1 as a column ends the list. */
struct term {
    int column, sign;
};

#define TERMS 4

struct formula {
    struct term amount[TERMS], count[TERMS];
};

#define END                                                                                        \
    {                                                                                              \
        -1, 0                                                                                      \
    }

static struct formula formula_of(enum metric metric, enum size_kind size)
{
    static const struct formula live[SIZE_KINDS] = {
        [SIZE_REQUESTED] = {{{COL_BYTES, 1}, {COL_FREED, -1}, END},
                            {{COL_ALLOCS, 1}, {COL_FREES, -1}, END}},
        [SIZE_USABLE] = {{{COL_USABLE, 1}, {COL_USABLE_FREED, -1}, END},
                         {{COL_ALLOCS, 1}, {COL_FREES, -1}, END}},
        [SIZE_OVERHEAD] =
            {{{COL_USABLE, 1}, {COL_USABLE_FREED, -1}, {COL_BYTES, -1}, {COL_FREED, 1}},
             {{COL_ALLOCS, 1}, {COL_FREES, -1}, END}},
    };
    static const struct formula total[SIZE_KINDS] = {
        [SIZE_REQUESTED] = {{{COL_BYTES, 1}, END}, {{COL_ALLOCS, 1}, END}},
        [SIZE_USABLE] = {{{COL_USABLE, 1}, END}, {{COL_ALLOCS, 1}, END}},
        [SIZE_OVERHEAD] = {{{COL_USABLE, 1}, {COL_BYTES, -1}, END}, {{COL_ALLOCS, 1}, END}},
    };
    static const struct formula samples = {{{COL_ALLOCS, 1}, END}, {{COL_ALLOCS, 1}, END}};
    static const struct formula temporary = {{{COL_TEMP_BYTES, 1}, END}, {{COL_TEMPS, 1}, END}};
    bool all = metric == METRIC_TOTAL || metric_is_time(metric) || metric == METRIC_FAULTS ||
               metric == METRIC_TOUCHED;
    return metric == METRIC_SAMPLES     ? samples
           : all                        ? total[size]
           : metric == METRIC_TEMPORARY ? temporary
                                        : live[size];
}

static bool is_live(enum metric m)
{
    return m == METRIC_LIVE || m == METRIC_PEAK || m == METRIC_MAPPED || m == METRIC_POOL ||
           metric_is_gpu(m);
}

/* The last scan that saw which pages of live blocks were resident; NULL: none did. */
static const struct scan *last_residency(const struct profile *p)
{
    for (size_t i = p->scans.count; i-- > 0;)
        if (p->scans.items[i].residency)
            return &p->scans.items[i];
    return NULL;
}

const struct gpu_figures *gpu_figures_of(const struct profile *p, enum metric m)
{
    return &p->gpu[m == METRIC_GPU ? GPU_DRIVER : GPU_TENSORS];
}

/* For these metrics, "peak" is the moment at which the metric itself was highest. */
static int gpu_window(const struct profile *p, const struct query *q, struct window *out,
                      struct err *err)
{
    bool peak =
        (q->at && strcmp(q->at, "peak") == 0) || (q->since && strcmp(q->since, "peak") == 0);
    if (peak && p->together > 1 && !p->merge)
        return err_set(err, -ENODATA,
                       "the peak of --metric %s is known of each process, not of all together; "
                       "--process PID picks one",
                       metric_name(q->metric));
    int code = window_resolve_own_peak(p, gpu_figures_of(p, q->metric)->peak_ns, q->since, q->at,
                                       out, err);
    if (!code) {
        out->since.own_peak = out->since.peak;
        out->at.own_peak = out->at.peak;
    }
    return code;
}

int measure_window(const struct profile *p, const struct query *q, struct window *out,
                   struct err *err)
{
    const char *name = metric_name(q->metric), *at = q->at;
    if (known_metric(p, q->metric, q->size, err))
        return -ENODATA;
    if (!metric_is_sampled(q->metric) && sampled_heap_check(p, err))
        return -ENODATA;
    if ((q->metric == METRIC_CPU || q->metric == METRIC_SAMPLES) && !p->sampling.cpu_period_ns)
        return err_set(err, -ENODATA,
                       "this recording has no CPU samples; record with 'tidemark run --cpu'");
    if ((q->metric == METRIC_WALL || q->metric == METRIC_WAITING) && !p->sampling.wall)
        return err_set(
            err, -ENODATA,
            "this recording has no waiting times; record with 'tidemark run --cpu=wall'");
    if ((q->metric == METRIC_FAULTS || q->metric == METRIC_TOUCHED) && !p->sampling.fault_period)
        return err_set(err, -ENODATA,
                       "this recording has no page faults; record with 'tidemark run --faults'");
    if (q->metric == METRIC_UNTOUCHED && !p->freed_readings.count && !last_residency(p))
        return err_set(err, -ENODATA,
                       "this recording has no data on untouched memory: the pages of its blocks "
                       "were not examined");
    if (metric_is_gpu(q->metric) && !gpu_figures_of(p, q->metric)->known)
        return err_set(err, -ENODATA,
                       "this recording has no %s: the program did not load %s, or a note says why",
                       q->metric == METRIC_GPU ? "memory of graphics processors" : "tensors",
                       q->metric == METRIC_GPU ? "CUDA's driver (libcuda.so)"
                                               : "PyTorch (libc10.so)");
    if (q->size != SIZE_REQUESTED && q->metric != METRIC_LIVE && q->metric != METRIC_TOTAL &&
        q->metric != METRIC_PEAK)
        return err_set(err, -EINVAL,
                       "--size %s is known for the metrics live, total and peak, not for %s",
                       size_kind_name(q->size), name);
    if (q->metric == METRIC_PEAK) {
        if (at && strcmp(at, "peak") != 0 && strcmp(at, "end") != 0)
            return err_set(err, -EINVAL,
                           "--metric peak is the state at the peak; for another moment use "
                           "--metric live --at %s",
                           at);
        at = "peak";
    }
    int code = metric_is_gpu(q->metric) ? gpu_window(p, q, out, err)
                                        : window_resolve(p, q->since, at, out, err);
    if (code)
        return code;
    bool calls = q->metric == METRIC_TOTAL || q->metric == METRIC_TEMPORARY;
    if (calls && (out->at.peak || out->since.peak) &&
        known_all(p, UNKNOWN_HISTORY, "what was allocated until the peak", err))
        return -ENODATA;
    if ((q->metric == METRIC_SITEPEAK || q->metric == METRIC_LARGEST ||
         q->metric == METRIC_UNTOUCHED) &&
        !window_is_whole(p, out))
        return err_set(err, -EINVAL,
                       "--metric %s is known for the whole run only; leave out --since and --at",
                       name);
    return 0;
}

static int64_t evaluate(const struct term *terms, const uint64_t *columns)
{
    uint64_t sum = 0;
    for (int i = 0; i < TERMS && terms[i].sign; i++)
        sum += terms[i].sign < 0 ? -columns[terms[i].column] : columns[terms[i].column];
    return (int64_t)sum;
}

static struct value signed_value(struct value v, int sign)
{
    return sign > 0 ? v
                    : (struct value){(int64_t) - (uint64_t)v.amount, (int64_t) - (uint64_t)v.count};
}

/* Adds sign x the rows of the intervals [from, to). */
static void add_rows(struct measure *m, const struct profile *p, const struct formula *f,
                     size_t from, size_t to, int sign)
{
    for (size_t i = from; i < to; i++) {
        const struct interval *iv = &p->intervals.items[i];
        for (size_t r = iv->first_row; r < iv->first_row + iv->row_count; r++) {
            const struct row *row = &p->rows.items[r];
            struct value v = {evaluate(f->amount, row->columns), evaluate(f->count, row->columns)};
            value_join(&m->sites[row->site], signed_value(v, sign), false);
        }
    }
}

static void add_peak(struct measure *m, const struct profile *p, enum size_kind size, int sign)
{
    for (size_t i = 0; i < m->count; i++) {
        const struct site *s = &p->sites.items[i];
        uint64_t amount = size == SIZE_REQUESTED ? s->at_peak_bytes
                          : size == SIZE_USABLE  ? s->at_peak_usable
                                                 : s->at_peak_usable - s->at_peak_bytes;
        struct value v = {(int64_t)amount, (int64_t)s->at_peak_blocks};
        value_join(&m->sites[i], signed_value(v, sign), false);
    }
}

static void add_whole_run(struct measure *m, const struct profile *p, enum metric metric)
{
    for (size_t i = 0; i < m->count; i++) {
        const struct site *s = &p->sites.items[i];
        m->sites[i] = metric == METRIC_LARGEST
                          ? (struct value){(int64_t)s->largest_bytes, s->largest_bytes ? 1 : 0}
                          : (struct value){(int64_t)s->own_peak_bytes, (int64_t)s->own_peak_blocks};
    }
}

static struct value live_untouched(const struct live_row *r)
{
    return (struct value){(int64_t)r->untouched, r->untouched ? (int64_t)r->blocks : 0};
}

static void add_untouched(struct measure *m, const struct profile *p)
{
    const struct scan *scan = last_residency(p);
    for (size_t i = 0; scan && i < scan->row_count; i++) {
        const struct live_row *r = &p->live.items[scan->first_row + i];
        value_join(&m->sites[r->site], live_untouched(r), false);
    }
    for (size_t i = 0; i < p->freed_readings.count; i++) {
        const struct freed_reading *k = &p->freed_readings.items[i];
        struct value v = {(int64_t)k->untouched, (int64_t)k->untouched_blocks};
        value_join(&m->sites[k->site], v, false);
    }
}

struct untouched untouched_of(const struct profile *p)
{
    struct untouched u = {.scan = last_residency(p)};
    for (size_t i = 0; u.scan && i < u.scan->row_count; i++)
        value_join(&u.live, live_untouched(&p->live.items[u.scan->first_row + i]), false);
    for (size_t i = 0; i < p->freed_readings.count; i++) {
        const struct freed_reading *k = &p->freed_readings.items[i];
        struct value all = {(int64_t)k->bytes, (int64_t)k->blocks},
                     untouched = {(int64_t)k->untouched, (int64_t)k->untouched_blocks};
        value_join(&u.freed_examined, all, false);
        value_join(&u.freed, untouched, false);
    }
    return u;
}

bool metric_measures(enum metric metric, uint32_t domain)
{
    switch (metric) {
    case METRIC_MAPPED:
        return domain == DOMAIN_MAPPED;
    case METRIC_POOL:
        return domain == DOMAIN_POOL;
    case METRIC_GPU:
        return domain == DOMAIN_GPU;
    case METRIC_TENSOR:
        return domain == DOMAIN_TENSOR;
    case METRIC_CPU:
    case METRIC_SAMPLES:
        return domain == DOMAIN_CPU;
    case METRIC_FAULTS:
        return domain == DOMAIN_FAULTS;
    case METRIC_TOUCHED:
        return domain == DOMAIN_TOUCHED;
    case METRIC_WAITING:
        return domain == DOMAIN_WAITING;
    case METRIC_WALL:
        return domain == DOMAIN_CPU || domain == DOMAIN_WAITING || domain == DOMAIN_READY;
    default:
        return domain_is_live(domain);
    }
}

void measure_sites(struct measure *m, const struct profile *p, enum metric metric,
                   enum size_kind size, const struct window *w)
{
    *m = (struct measure){.sites = xcalloc(p->sites.count + 1, sizeof *m->sites),
                          .count = p->sites.count,
                          .by_max = metric == METRIC_LARGEST,
                          .in_place = metric_in_place(metric),
                          .gpu = metric_is_gpu(metric)};
    if (metric == METRIC_SITEPEAK || metric == METRIC_LARGEST) {
        add_whole_run(m, p, metric);
    } else if (metric == METRIC_UNTOUCHED) {
        add_untouched(m, p);
    } else {
        struct formula f = formula_of(metric, size);
        /* For other metrics only the interval of the peak is known. */
        bool exact_peak = is_live(metric);
        bool since_peak = w->since.peak && exact_peak, at_peak = w->at.peak && exact_peak;
        if (!since_peak && !at_peak) {
            add_rows(m, p, &f, w->since.intervals, w->at.intervals, 1);
        } else {
            if (at_peak)
                add_peak(m, p, size, 1);
            else
                add_rows(m, p, &f, 0, w->at.intervals, 1);
            if (since_peak)
                add_peak(m, p, size, -1);
            else
                add_rows(m, p, &f, 0, w->since.intervals, -1);
        }
    }
    for (size_t i = 0; i < m->count; i++)
        if (!metric_measures(metric, p->sites.items[i].domain))
            m->sites[i] = (struct value){0};
}

void measure_release(struct measure *m)
{
    free(m->sites);
    *m = (struct measure){0};
}

static void sum_heap(const struct profile *p, size_t from, size_t to, uint64_t *columns)
{
    for (size_t i = from; i < to; i++) {
        const struct interval *iv = &p->intervals.items[i];
        for (size_t r = iv->first_row; r < iv->first_row + iv->row_count; r++) {
            const struct row *row = &p->rows.items[r];
            if (domain_is_live(p->sites.items[row->site].domain))
                for (int c = 0; c < COLUMNS; c++)
                    columns[c] += row->columns[c];
        }
    }
}

static void highest(const struct profile *p, const struct window *w, struct totals *t)
{
    if (w->since.intervals == 0 && !w->since.peak &&
        (w->at.peak || w->at.intervals == p->intervals.count)) {
        t->peak_bytes = p->peak_bytes;
        t->peak_time_ns = p->peak_time_ns;
        return;
    }
    for (size_t i = w->since.intervals; i < w->at.intervals; i++) {
        const struct interval *iv = &p->intervals.items[i];
        /* If several threads or processes ran, the highest of an interval is an upper bound. */
        bool above = p->peak_bytes && iv->peak_bytes > p->peak_bytes;
        uint64_t bytes = above ? p->peak_bytes : iv->peak_bytes;
        if (bytes <= t->peak_bytes)
            continue;
        /* The time inside the interval is known only for the process's peak. */
        bool known = bytes == p->peak_bytes && p->peak_time_ns <= iv->end_ns &&
                     (i == 0 || p->peak_time_ns > p->intervals.items[i - 1].end_ns);
        t->peak_bytes = bytes;
        t->peak_time_ns = known ? p->peak_time_ns : iv->end_ns;
    }
}

struct totals totals_of(const struct profile *p, const struct window *window)
{
    struct totals t = {.untimed = p->merge != NULL, .unknown = p->imported.unknown};
    struct window heap = *window, *w = &heap;
    /* At another peak than the heap's, only whole intervals of the heap are known. */
    heap.since.peak &= !heap.since.own_peak;
    heap.at.peak &= !heap.at.own_peak;
    uint64_t c[COLUMNS] = {0};
    if (profile_lacks(p, UNKNOWN_HISTORY) && !window_is_whole(p, w))
        t.unknown |= UNKNOWN_TOTALS | UNKNOWN_TEMPORARY | UNKNOWN_REALLOCATIONS;
    sum_heap(p, w->since.intervals, w->at.intervals, c);
    t.allocations = (int64_t)c[COL_ALLOCS];
    t.frees = (int64_t)c[COL_FREES];
    t.reallocations = (int64_t)c[COL_REALLOCS];
    t.bytes_allocated = (int64_t)c[COL_BYTES];
    t.live_blocks = (int64_t)(c[COL_ALLOCS] - c[COL_FREES]);
    t.live_bytes = (int64_t)(c[COL_BYTES] - c[COL_FREED]);
    t.temporary_allocations = (int64_t)c[COL_TEMPS];
    if (w->at.peak || w->since.peak) {
        /* Live memory at the peak is exact. Allocations until then are known only up to the
         * interval. The frees are computed from both, so that live = allocations - frees also holds
         * here. */
        struct measure m;
        measure_sites(&m, p, METRIC_LIVE, SIZE_REQUESTED, w);
        struct value live = {0};
        for (size_t i = 0; i < m.count; i++)
            value_join(&live, m.sites[i], false);
        t.live_blocks = live.count;
        t.live_bytes = live.amount;
        /* At least so many were made in the rest of the interval. */
        if (t.allocations < t.live_blocks)
            t.allocations = t.live_blocks;
        if (t.bytes_allocated < t.live_bytes)
            t.bytes_allocated = t.live_bytes;
        t.frees = (int64_t)((uint64_t)t.allocations - (uint64_t)t.live_blocks);
        measure_release(&m);
    }
    for (size_t i = w->since.intervals; i < w->at.intervals; i++) {
        t.unknown_frees += p->intervals.items[i].unknown_frees;
        t.lost_events += p->intervals.items[i].lost_events;
        t.truncated_stacks += p->intervals.items[i].truncated_stacks;
        t.incomplete_stacks += p->intervals.items[i].incomplete_stacks;
    }
    highest(p, w, &t);
    return t;
}
