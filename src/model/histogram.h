/*
 * histogram: how blocks are spread over sizes or lifetimes, of all that is in focus and of each row
 * of an answer.
 *
 * Sizes are of all allocations of the run. Lifetimes are of blocks that were freed, known to about
 * a millisecond; those that never were are counted apart. A row's histogram is of what is charged
 * to it (its self), so those of all rows add up to the one in focus.
 *
 * Ownership: histograms_release frees the arrays.
 */
#ifndef TIDE_MODEL_HISTOGRAM_H
#define TIDE_MODEL_HISTOGRAM_H

#include "model/answer_rows.h"
#include "model/merged.h"

struct bucket {
    uint64_t from, to;     /* bytes or ns; to: the first beyond; UINT64_MAX: no end */
    uint64_t count, bytes; /* bytes: of sizes only */
};

/* Its buckets, those with blocks in them; and blocks that were never freed (lifetimes). */
struct spread {
    size_t first, count; /* in histograms.buckets */
    uint64_t never;
};

struct histograms {
    enum histogram_kind kind;
    VEC(struct bucket) buckets;
    struct spread all;
    VEC(struct spread) rows; /* one for each row, if that was asked for */
};

/* -EINVAL: the query does not go with one; -ENODATA: the recording has none. */
int histograms_check(const struct profile *p, const struct query *q, const struct window *w,
                     struct err *err);
/* `m`: of METRIC_TOTAL. Rows are those of the answer, sorted and cut; `merged`: of --by stack. */
void histograms_make(struct histograms *h, const struct profile *p, const struct query *q,
                     const struct call_tree *t, const struct measure *m,
                     const struct answer_rows *rows, const struct merged *merged);
void histograms_release(struct histograms *h);

#endif
