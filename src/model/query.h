/*
 * query: what a user asks about a profile, as plain data: metric, moments, grouping, filter.
 *
 * Here is only what was asked. What --within, --ignore and --thread do is decided by
 * stack_filter.h, what a metric counts by measure.h, which moment `at` is by moment.h, what a group
 * is by group.h.
 *
 * Every command that shows stacks (report, leaks, diff, flame) fills one of these from its options
 * (cli/query_options.h) and passes it to model/answer.h. {0} plus query_init is the default
 * question.
 *
 * Ownership: strings are borrowed (argv); the pattern lists are owned, and query_release frees
 * them.
 */
#ifndef TIDE_MODEL_QUERY_H
#define TIDE_MODEL_QUERY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/vec.h"
#include "model/stack_filter.h"

struct recording;

enum metric {
    METRIC_LIVE,
    METRIC_TOTAL,
    METRIC_PEAK,
    METRIC_SITEPEAK,
    METRIC_LARGEST,
    METRIC_TEMPORARY,
    METRIC_MAPPED,
    METRIC_POOL,
    METRIC_GPU,    /* memory of graphics processors, as the driver gives it */
    METRIC_TENSOR, /* the same, as the framework's allocator divides it */
    METRIC_CPU,
    METRIC_FAULTS,
    METRIC_UNTOUCHED,
    METRIC_TOUCHED,
    METRIC_WALL,
    METRIC_WAITING,
    METRIC_SAMPLES, /* number of samples of CPU time, whatever time one stands for */
    METRICS
};

/* Are the amounts of this metric nanoseconds? */
static inline bool metric_is_time(enum metric m)
{
    return m == METRIC_CPU || m == METRIC_WALL || m == METRIC_WAITING;
}

/* Does the metric have a peak of its own, apart from that of the heap? */
static inline bool metric_is_gpu(enum metric m)
{
    return m == METRIC_GPU || m == METRIC_TENSOR;
}

/* Is the innermost frame charged, whatever it is? Time in malloc belongs to malloc. */
static inline bool metric_in_place(enum metric m)
{
    return metric_is_time(m) || m == METRIC_FAULTS || m == METRIC_SAMPLES;
}

/* The unit of the metric's amounts: "ns", "samples" or "bytes". */
static inline const char *metric_unit(enum metric m)
{
    return metric_is_time(m) ? "ns" : m == METRIC_SAMPLES ? "samples" : "bytes";
}

enum size_kind { SIZE_REQUESTED, SIZE_USABLE, SIZE_OVERHEAD, SIZE_KINDS };

/* Show a metric's numbers, or how its blocks are distributed over sizes or lifetimes. */
enum histogram_kind { HISTOGRAM_NONE, HISTOGRAM_SIZE, HISTOGRAM_LIFETIME, HISTOGRAM_KINDS };

enum grouping { BY_FUNCTION, BY_LINE, BY_STACK, BY_LIBRARY, BY_FILE, BY_THREAD, GROUPINGS };

enum shape { SHAPE_TABLE, SHAPE_TREE, SHAPE_CALLERS, SHAPE_CALLEES };

#define QUERY_ALL SIZE_MAX

struct query {
    enum metric metric;
    enum size_kind size;
    enum grouping by;
    const char *since, *at; /* NULL: not given */
    struct stack_filter filter;
    enum shape shape;
    const char *function;          /* for SHAPE_CALLERS and SHAPE_CALLEES */
    enum histogram_kind histogram; /* for METRIC_TOTAL */
    bool histogram_rows;           /* also one for each row */
    size_t top;                    /* how many rows to keep at most; QUERY_ALL */
    double min_percent;            /* rows below this share of the metric's sum are left out */
    bool tree_only;                /* for BY_STACK: only the merged tree, without the many rows */
    const char *before;            /* with tree_only: also measure at this moment; NULL: no */
    const char *process;           /* NULL, PID or PID#N */
    /* Without `process`: prefer one that has a mark of this label; "": of any label; NULL: do not
     * care. */
    const char *has_mark;
};

void query_init(struct query *q);
void query_release(struct query *q);
/* --top and --min: is a row of this size, out of `scale`, kept if `kept` rows are kept already? */
static inline bool query_keeps(const struct query *q, size_t kept, double size, double scale)
{
    return kept < q->top && size >= q->min_percent / 100 * scale;
}

const char *metric_name(enum metric m);
const char *grouping_name(enum grouping g);
const char *size_kind_name(enum size_kind s);
const char *histogram_kind_name(enum histogram_kind h);

/* Parse a word. They return 0, or -EINVAL and a sentence that lists the known words. */
int metric_parse(const char *word, enum metric *out, struct err *err);
int grouping_parse(const char *word, enum grouping *out, struct err *err);
int size_kind_parse(const char *word, enum size_kind *out, struct err *err);
int histogram_kind_parse(const char *word, enum histogram_kind *out, struct err *err);

#endif
