/*
 * query: what a user asks of a profile, as plain data: metric, moments, grouping, focus.
 *
 * Every command that looks at stacks (report, leaks, diff, flame) fills one of these from its
 * options (cli/query_options.h) and hands it to model/answer.h. {0} plus query_init is the default
 * question.
 *
 * Ownership: strings are borrowed (argv); the pattern lists are owned, query_release frees them.
 */
#ifndef TIDE_MODEL_QUERY_H
#define TIDE_MODEL_QUERY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/vec.h"
#include "model/pattern.h"
#include "model/suppress.h"

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
    METRIC_CPU,
    METRIC_FAULTS,
    METRIC_UNTOUCHED,
    METRIC_TOUCHED,
    METRIC_WALL,
    METRIC_WAITING,
    METRIC_SAMPLES, /* of CPU time: how many, whatever time one stands for */
    METRICS
};

/* Are its amounts nanoseconds? */
static inline bool metric_is_time(enum metric m)
{
    return m == METRIC_CPU || m == METRIC_WALL || m == METRIC_WAITING;
}

/* Is the innermost frame charged, whatever it is? Time in malloc is malloc's. */
static inline bool metric_in_place(enum metric m)
{
    return metric_is_time(m) || m == METRIC_FAULTS || m == METRIC_SAMPLES;
}

/* What its amounts are: "ns", "samples" or "bytes". */
static inline const char *metric_unit(enum metric m)
{
    return metric_is_time(m) ? "ns" : m == METRIC_SAMPLES ? "samples" : "bytes";
}

enum size_kind { SIZE_REQUESTED, SIZE_USABLE, SIZE_OVERHEAD, SIZE_KINDS };

/* A metric's numbers, or how its blocks are spread over sizes or lifetimes. */
enum histogram_kind { HISTOGRAM_NONE, HISTOGRAM_SIZE, HISTOGRAM_LIFETIME, HISTOGRAM_KINDS };

enum grouping { BY_FUNCTION, BY_LINE, BY_STACK, BY_LIBRARY, BY_FILE, BY_THREAD, GROUPINGS };

/* Which stacks count, and which of their frames are seen. */
struct focus {
    struct pattern_list within; /* stacks with a matching frame */
    VEC(char *) paths;          /* stacks with a frame whose file begins with one of them */
    struct pattern_list ignore; /* not stacks with a matching frame; they are counted apart */
    struct pattern_list fold;   /* frames that are dropped, their caller is charged */
    struct rename_list merge;
    bool no_fold; /* keep the std:: frames at the innermost end */
    bool python_only, native_only;
    const char *thread;           /* NULL: all; a name or a thread id */
    struct suppressions suppress; /* from files: more stacks to ignore */
    unsigned leak_kinds; /* set of enum leak_kind: what is measured; suppressions of other kinds do
                            not apply. 0: all of them do */
    bool presets;        /* ignore what is never the user's fault (model/presets.h) */
    const struct recording *match; /* names are made comparable with those of this other recording
                                      (model/comparable_name.h), and one function is one row
                                      whatever library it is in; NULL: names as they are */
    bool lenient; /* no error if no stack is within: another process's, or one that was cut, may be
                   */
    bool no_defaults; /* not what `run` was given as --within, --ignore, --suppressions */
};

enum shape { SHAPE_TABLE, SHAPE_TREE, SHAPE_CALLERS, SHAPE_CALLEES };

#define QUERY_ALL SIZE_MAX

struct query {
    enum metric metric;
    enum size_kind size;
    enum grouping by;
    const char *since, *at; /* NULL: not given */
    struct focus focus;
    enum shape shape;
    const char *function;          /* of SHAPE_CALLERS and SHAPE_CALLEES */
    enum histogram_kind histogram; /* of METRIC_TOTAL */
    bool histogram_rows;           /* one for each row, too */
    size_t top;                    /* most rows to keep; QUERY_ALL */
    double min_percent;            /* rows below this share of the metric's sum are left out */
    bool tree_only;                /* of BY_STACK: the merged tree without rows, which are many */
    const char *before;            /* with tree_only: measured at this moment, too; NULL: not */
    const char *process;           /* NULL, PID or PID#N */
    const char *has_mark; /* without `process`: one that has a mark of this label goes first; "": of
                             any label; NULL: it does not matter */
};

void query_init(struct query *q);
void query_release(struct query *q);
/* Was anything said about which stacks count, or how they look? */
bool focus_is_given(const struct focus *f);

/* --top and --min: does a row of this size, out of `scale`, stay when `kept` rows stay already? */
static inline bool query_keeps(const struct query *q, size_t kept, double size, double scale)
{
    return kept < q->top && size >= q->min_percent / 100 * scale;
}

const char *metric_name(enum metric m);
const char *grouping_name(enum grouping g);
const char *size_kind_name(enum size_kind s);
const char *histogram_kind_name(enum histogram_kind h);

/* -EINVAL and a sentence that lists the known words. */
int metric_parse(const char *word, enum metric *out, struct err *err);
int grouping_parse(const char *word, enum grouping *out, struct err *err);
int size_kind_parse(const char *word, enum size_kind *out, struct err *err);
int histogram_kind_parse(const char *word, enum histogram_kind *out, struct err *err);

#endif
