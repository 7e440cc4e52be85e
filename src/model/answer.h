/*
 * answer: puts a query to a recording and holds the whole result.
 *
 * Commands enter the model only here. It picks the process, resolves the moments, measures,
 * filters, groups, sorts and cuts. src/answer can print the rows as they are.
 *
 * Ownership: borrows recording and query, which must outlive it; answer_release frees the rest.
 */
#ifndef TIDE_MODEL_ANSWER_H
#define TIDE_MODEL_ANSWER_H

#include "model/aggregate.h"
#include "model/histogram.h"
#include "model/joined_tree.h"
#include "model/process_choice.h"

struct answer {
    const struct recording *recording;
    const struct query *query;
    const struct profile *profile;
    struct window window;
    struct totals totals; /* totals of the process in the window, regardless of the filter */
    struct frame_table frames;
    struct measure measure;
    struct measure before; /* the sites at query.before, if the query asks for it */
    struct call_tree tree;
    struct merged merged; /* tree and stacks only */
    struct answer_rows rows;
    struct histograms histograms; /* if the query asks for them */
    struct answer_row of;         /* callers and callees: the function itself */
    /* Spread of tree.sum, in a merged recording; NULL: not known. */
    const struct input_spread *sum_spread;
};

/* Answers a query. -EINVAL: the question makes no sense; -ENOENT, -ENODATA: this recording does not
 * have the answer. */
int answer_query(struct answer *a, const struct recording *r, const struct query *q,
                 struct err *err);
void answer_release(struct answer *a);

/* Computes what questions about the main process of a held recording have in common, so that a
 * process that is forked for each question finds it ready. */
void answer_prepare(const struct recording *r);

#endif
