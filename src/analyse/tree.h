/*
 * tree: the calls that allocated or freed in a window, as a tree, each with what it did and when it
 * first did so.
 *
 * Ownership: borrows recording and query; tree_release frees the rest.
 */
#ifndef TIDE_ANALYSE_TREE_H
#define TIDE_ANALYSE_TREE_H

#include "analyse/places.h"

struct tree_call {
    uint32_t node;                /* in tree.tree; its frame is key[node] */
    uint32_t depth;               /* 0: the outermost */
    uint64_t first_ns;            /* end of the first interval in which it did anything */
    int64_t gained, freed, count; /* bytes, bytes and allocations, including everything it called */
    int64_t own_gained, own_freed; /* of the call itself */
};

struct tree {
    struct places places;
    struct merged tree;
    struct window window;
    VEC(struct tree_call) calls; /* in the order of output */
};

/* `q`: process, filter (including its thread), since and at. `by_size`: the largest change first;
 * otherwise in the order in which they happened. */
int tree_init(struct tree *d, const struct recording *r, const struct query *q, bool by_size,
              struct err *err);
void tree_release(struct tree *d);

#endif
