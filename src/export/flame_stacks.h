/*
 * flame_stacks: adds the stacks of an answer to a flame graph.
 */
#ifndef TIDE_EXPORT_FLAME_STACKS_H
#define TIDE_EXPORT_FLAME_STACKS_H

#include "export/flame.h"
#include "model/answer.h"

struct flame_shape {
    bool lines;     /* calls from two lines of a function are two boxes */
    bool reverse;   /* merged from the innermost function outwards */
    bool by_thread; /* a separate part for each thread */
    double units;   /* amounts are divided by this; 0: they are not */
    /* Calls with less than this share of the whole get no box, if that is known beforehand: from
     * the root, by line, in one recording. Their values are hidden in their callers. */
    double min_share;
};

/* Do narrow calls get no box? Then the merged tree of an answer is enough (query.tree_only), if the
 * metric adds up. */
bool flame_shape_is_wide(const struct flame_shape *shape);

/* Adds all stacks of an answer by stack, as the values before or now. An answer that has both
 * (query.before) is added once, as now. */
void flame_add_stacks(struct flame *flame, const struct answer *a, const struct flame_shape *shape,
                      bool before);

#endif
