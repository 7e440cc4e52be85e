/*
 * answer: a query put to a recording, and everything that came out of it.
 *
 * The one entry to the model for commands: picks the process, resolves the moments, measures,
 * filters, groups, sorts and cuts. Rows are ready to be printed by src/answer.
 *
 * Ownership: borrows recording and query, which must outlive it; answer_release frees the rest.
 */
#ifndef TIDE_MODEL_ANSWER_H
#define TIDE_MODEL_ANSWER_H

#include "model/aggregate.h"
#include "model/histogram.h"
#include "model/merged.h"
#include "model/process_choice.h"

struct answer {
    const struct recording *recording;
    const struct query *query;
    const struct profile *profile;
    struct window window;
    struct totals totals; /* of the process and window, whatever the focus */
    struct frame_table frames;
    struct measure measure;
    struct measure before; /* if the query asks for it: the same sites at the other moment */
    struct call_tree tree;
    struct merged merged; /* tree and stacks only */
    struct answer_rows rows;
    struct histograms histograms;          /* if the query asks for them */
    struct answer_row of;                  /* callers and callees: the function itself */
    const struct input_spread *sum_spread; /* of tree.sum, in a merged recording; NULL: not known */
};

/* -EINVAL: the question makes no sense; -ENOENT, -ENODATA: this recording does not have it. */
int answer_query(struct answer *a, const struct recording *r, const struct query *q,
                 struct err *err);
void answer_release(struct answer *a);

/* Makes what questions about the main process of a held recording have in common, so that a process
 * forked for each of them finds it ready. */
void answer_prepare(const struct recording *r);

#endif
