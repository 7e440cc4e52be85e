/*
 * decorated: the calls that allocated or freed in a window, as a tree, each with what it did and
 * when it first did.
 *
 * Ownership: borrows recording and query; decorated_release frees the rest.
 */
#ifndef TIDE_ANALYSE_DECORATED_H
#define TIDE_ANALYSE_DECORATED_H

#include "analyse/places.h"

struct decorated_call {
    uint32_t node;                 /* in decorated.tree; its frame is key[node] */
    uint32_t depth;                /* 0: the outermost */
    uint64_t first_ns;             /* end of the first interval in which it did anything */
    int64_t gained, freed, count;  /* bytes, bytes and allocations, of all it called */
    int64_t own_gained, own_freed; /* of itself */
};

struct decorated {
    struct places places;
    struct merged tree;
    struct window window;
    VEC(struct decorated_call) calls; /* in the order of a listing */
};

/* `q`: process, focus (its thread too), since and at. By size: the largest change first; else in
 * the order in which they happened. */
int decorated_init(struct decorated *d, const struct recording *r, const struct query *q,
                   bool by_size, struct err *err);
void decorated_release(struct decorated *d);

#endif
