/*
 * measure: for each site, the value of a metric in a window of time; and the totals of a process.
 *
 * What a metric adds up is decided here (formula_of); which moments it is measured between by
 * moment.h, which stacks count by stack_filter.h. A site is one (stack, thread, domain).
 *
 * A value is an amount (bytes, or the metric's own unit) and a count. Both are signed, because a
 * difference may be negative. `largest` is the only metric whose values combine by maximum instead
 * of sum; value_join does this.
 *
 * Ownership: measure_release frees the array of values.
 */
#ifndef TIDE_MODEL_MEASURE_H
#define TIDE_MODEL_MEASURE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "model/moment.h"
#include "model/query.h"
#include "store/recording.h"

struct value {
    int64_t amount, count;
};

static inline bool value_is_zero(struct value v)
{
    return !v.amount && !v.count;
}

/* Adds, and wraps around on overflow, because the numbers in a file may be anything. */
static inline int64_t wrapped(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

static inline int64_t wrapped_less(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a - (uint64_t)b);
}

static inline void value_join(struct value *into, struct value v, bool by_max)
{
    if (!by_max) {
        into->amount = wrapped(into->amount, v.amount);
        into->count = wrapped(into->count, v.count);
    } else if (v.amount > into->amount) {
        *into = v;
    }
}

struct measure {
    struct value *sites; /* one for each of profile.sites; zero if the metric does not apply */
    size_t count;
    bool by_max;
    /* The innermost frame is charged, whatever it is: time in malloc belongs to malloc. */
    bool in_place;
    bool gpu; /* the functions that hand memory of graphics processors on are not charged */
};

/* What is known about graphics processors, for METRIC_GPU or METRIC_TENSOR. */
const struct gpu_figures *gpu_figures_of(const struct profile *p, enum metric m);

/*
 * Resolves the window for the metric (the peak metric is always at the peak) and checks that
 * metric, size and window fit together. -EINVAL: they do not; -ENODATA: the recording lacks what
 * the metric needs.
 */
int measure_window(const struct profile *p, const struct query *q, struct window *out,
                   struct err *err);

/* The values of the metric in a window that measure_window has accepted. */
void measure_sites(struct measure *m, const struct profile *p, enum metric metric,
                   enum size_kind size, const struct window *w);
void measure_release(struct measure *m);

/* Does the metric use what was recorded in this domain? */
bool metric_measures(enum metric metric, uint32_t domain);

/* Memory of the whole process that was never touched. */
struct untouched {
    const struct scan *scan; /* the scan that saw the live part; NULL: none did */
    struct value live;
    /* Bytes of large blocks that were never touched when they were freed. */
    struct value freed;
    struct value freed_examined; /* all large blocks that were examined when they were freed */
};

struct untouched untouched_of(const struct profile *p);

/* The heap of the whole process between two moments, regardless of the filter. live = allocations -
 * frees holds. */
struct totals {
    int64_t allocations, frees, reallocations, bytes_allocated;
    int64_t live_blocks, live_bytes;
    int64_t temporary_allocations;
    uint64_t peak_bytes, peak_time_ns;
    uint64_t unknown_frees, lost_events, truncated_stacks;
    /* The part of the truncated stacks that ends where unwind information is missing. */
    uint64_t incomplete_stacks;
    bool untimed;     /* for merged runs: peak_time_ns has no meaning */
    uint32_t unknown; /* enum unknown: figures that have no meaning */
};

struct totals totals_of(const struct profile *p, const struct window *window);

#endif
