/*
 * aggregate: sums a call tree into rows: self and total by function, line, library, file or thread,
 * and the callers and callees of one function.
 *
 * Self belongs to the charged call, so the selves of all rows add up to the sum of the tree. Total
 * counts each stack once for each group on it, however often the group recurs: while the tree is
 * walked in preorder, only the outermost call of a group on the current path adds what is below it.
 * Rows without any value are left out. The rows are not sorted.
 */
#ifndef TIDE_MODEL_AGGREGATE_H
#define TIDE_MODEL_AGGREGATE_H

#include "model/answer_rows.h"

void aggregate_groups(struct answer_rows *out, const struct call_tree *t, const struct group *g);
void aggregate_threads(struct answer_rows *out, const struct call_tree *t, const struct measure *m,
                       const struct profile *p);

/*
 * The callers or callees of q->function (name_is decides, otherwise it is a regular expression).
 * `of` gets self and total of the function itself.
 *
 * A row's total is what was allocated in stacks with that call. Its self is the part of each stack
 * that is given to one row only, so the selves add up to `of.total`: among callers, it is given to
 * the caller of the function's outermost call; among callees, to the callee of its innermost call.
 * The row "[itself]" has what the function itself is charged for. -ENOENT: no stack contains the
 * function.
 */
int aggregate_edges(struct answer_rows *out, struct answer_row *of, const struct call_tree *t,
                    const struct group *g, const struct query *q, struct err *err);

#endif
