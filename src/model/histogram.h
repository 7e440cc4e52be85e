/*
 * histogram: how blocks are distributed over sizes or lifetimes, for everything that passes the
 * filter and for each row of an answer.
 *
 * Sizes are of all allocations of the run. Lifetimes are of blocks that were freed, known to about
 * a millisecond; blocks that were never freed are counted separately. A row's histogram covers what
 * is charged to it (its self), so those of all rows add up to the one of everything that passes.
 *
 * Ownership: histograms_release frees the arrays.
 */
#ifndef TIDE_MODEL_HISTOGRAM_H
#define TIDE_MODEL_HISTOGRAM_H

#include "model/answer_rows.h"
#include "model/joined_tree.h"

struct bucket {
    uint64_t from, to;     /* bytes or ns, `to` exclusive; UINT64_MAX: no end */
    uint64_t count, bytes; /* bytes: only for sizes */
};

/* The buckets that contain blocks, and the number of blocks that were never freed (lifetimes). */
struct spread {
    size_t first, count; /* indexes into histograms.buckets */
    uint64_t never;
};

struct histograms {
    enum histogram_kind kind;
    VEC(struct bucket) buckets;
    struct spread all;
    VEC(struct spread) rows; /* one for each row, if asked for */
};

/* Can the query have a histogram? -EINVAL: no, with this metric or window; -ENODATA: the recording
 * has none. */
int histograms_check(const struct profile *p, const struct query *q, const struct window *w,
                     struct err *err);
/* Makes the histograms. `m` is the measure of METRIC_TOTAL. The rows are those of the answer,
 * sorted and cut. `merged` is used for --by stack. */
void histograms_make(struct histograms *h, const struct profile *p, const struct query *q,
                     const struct call_tree *t, const struct measure *m,
                     const struct answer_rows *rows, const struct merged *merged);
void histograms_release(struct histograms *h);

#endif
