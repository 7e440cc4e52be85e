/*
 * flame_stacks: puts the stacks of an answer into a flame graph.
 */
#ifndef TIDE_EXPORT_FLAME_STACKS_H
#define TIDE_EXPORT_FLAME_STACKS_H

#include "export/flame.h"
#include "model/answer.h"

struct flame_shape {
    bool lines;     /* calls from two lines of a function are two boxes */
    bool reverse;   /* merged from the function that is charged */
    bool by_thread; /* a part for each thread */
    double units;   /* amounts are divided by this; 0: they are not */
    /* Calls with less than this share of all get no box where that can be told before: from the
     * root, by line, in one recording. What they have is hidden in their callers. */
    double min_share;
};

/* Do narrow calls get no box? Then the merged tree of an answer is enough (query.tree_only) where
 * the metric adds up. */
bool flame_shape_is_wide(const struct flame_shape *shape);

/* All stacks of an answer by stack, as what was `before` or what is now; an answer that has both
 * (query.before) is added once, as what is now. */
void flame_add_stacks(struct flame *flame, const struct answer *a, const struct flame_shape *shape,
                      bool before);

#endif
