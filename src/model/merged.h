/*
 * merged: a call tree in which equal paths are one: calls from different places of one function, or
 * one line.
 *
 * The basis of the top-down tree, of rows by stack, and of flame graphs. What is "equal" is given
 * as a number for each frame (group.of_frame), or the frames themselves.
 *
 * Invariant: node 0 is the root; parent[n] < n. total = self + totals of the children (or the
 * maximum). Ownership: merged_release frees everything.
 */
#ifndef TIDE_MODEL_MERGED_H
#define TIDE_MODEL_MERGED_H

#include "model/answer_rows.h"

struct merged {
    VEC(uint32_t) parent;
    VEC(uint32_t) key; /* group or frame number; CALL_NONE for the root */
    struct value *self, *total;
    uint32_t *of_call; /* call -> node */
};

/* keys NULL: frames themselves. `collapse`: a call to an equal key is not a step (libraries,
 * files). */
void merged_build(struct merged *m, const struct call_tree *t, const uint32_t *keys, bool collapse);
void merged_release(struct merged *m);
/* Merges kept paths by their frames, for trees that are made from them later. */
void merged_prepare(struct call_paths *p);

/*
 * The tree as rows in the order of a top-down listing, largest total first, `depth` filled. Keeps
 * the `top` largest nodes that reach the share, and the way to them.
 */
void merged_tree_rows(struct answer_rows *out, const struct merged *m, const struct group *g,
                      const struct query *q, const struct call_tree *t);

/*
 * One row for each distinct stack and thread name; `m` is built of frames. Unsorted. The frames are
 * key[] from `call` up to the root, innermost first: written out for all rows they would take the
 * square of the file's size.
 */
void merged_stack_rows(struct answer_rows *out, const struct merged *m, const struct call_tree *t,
                       const struct measure *values, const struct profile *p);
/* Fills `depth` of the rows that were kept. */
void merged_stack_depths(struct answer_rows *out, const struct merged *m);

#endif
