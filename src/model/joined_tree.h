/*
 * joined_tree: a call tree in which equal paths are joined: calls from different places in one
 * function, or in one line. The top-down tree, rows by stack, and flame graphs are built from it.
 * What is "equal" is given as a number for each frame (group.of_frame), or is the frame itself.
 *
 * Invariant: node 0 is the root; parent[n] < n. total = self + totals of the children (or the
 * maximum). Ownership: merged_release frees everything.
 */
#ifndef TIDE_MODEL_JOINED_TREE_H
#define TIDE_MODEL_JOINED_TREE_H

#include "model/answer_rows.h"

struct merged {
    VEC(uint32_t) parent;
    VEC(uint32_t) key; /* group or frame number; CALL_NONE for the root */
    struct value *self, *total;
    uint32_t *of_call; /* call -> node */
};

/* `keys` NULL: the frames themselves. `collapse`: a call to an equal key adds no step (for
 * libraries and files). */
void merged_build(struct merged *m, const struct call_tree *t, const uint32_t *keys, bool collapse);
void merged_release(struct merged *m);
/* Merges kept paths by their frames, for trees that are built from them later. */
void merged_prepare(struct call_paths *p);

/*
 * The tree as rows in the order of a top-down listing, largest total first, with `depth`. Keeps the
 * `top` largest nodes that reach the share, and the path to each.
 */
void merged_tree_rows(struct answer_rows *out, const struct merged *m, const struct group *g,
                      const struct query *q, const struct call_tree *t);

/*
 * One row for each distinct stack and thread name, not sorted. `m` must be built of frames. The
 * frames of a row are key[] from `call` up to the root, innermost first. (Written out for all rows,
 * they would take the square of the file's size.)
 */
void merged_stack_rows(struct answer_rows *out, const struct merged *m, const struct call_tree *t,
                       const struct measure *values, const struct profile *p);
/* Sets `depth` of the rows that were kept. */
void merged_stack_depths(struct answer_rows *out, const struct merged *m);

#endif
