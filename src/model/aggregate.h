/*
 * aggregate: a call tree summed into rows: self and total by function, line, library, file or
 * thread, and the callers and callees of one function.
 *
 * Self goes to the charged call, so the selves of all rows add up to the sum of the tree. Total
 * counts each stack once for each group on it, however often the group recurs: while the tree is
 * walked in preorder, only the outermost call of a group on the current path adds what is below it.
 * Rows with nothing in them are left out. Rows come unsorted.
 */
#ifndef TIDE_MODEL_AGGREGATE_H
#define TIDE_MODEL_AGGREGATE_H

#include "model/answer_rows.h"

void aggregate_groups(struct answer_rows *out, const struct call_tree *t, const struct group *g);
void aggregate_threads(struct answer_rows *out, const struct call_tree *t, const struct measure *m,
                       const struct profile *p);

/*
 * Who calls q->function (name_is decides, else it is a regular expression), or whom it calls. In
 * `of` self and total of the function itself. A row's total is what was allocated in stacks with
 * that call; its self is the part of each stack given to one row only, so the selves add up to
 * `of.total`: among callers to the one of the outermost call of it, among callees to the
 * one of the innermost; what the function is charged for itself is the row "[itself]". -ENOENT: no
 * such function in these stacks.
 */
int aggregate_edges(struct answer_rows *out, struct answer_row *of, const struct call_tree *t,
                    const struct group *g, const struct query *q, struct err *err);

#endif
