/*
 * realloc_chains: arrays that grow step by step: allocate more, copy, free the smaller block.
 *
 * The collector counts the steps as they happen (collect/counting/realloc_chains.h), each chain at
 * the stack where it first grew. This module adds up the stacks that share a line, its function and
 * the caller. It leaves out blocks of varying size that merely replace each other: many of these
 * are replaced by smaller ones, and the factors of the steps differ. A call of realloc is always a
 * step.
 *
 * Ownership: chains_release frees the list.
 */
#ifndef TIDE_ANALYSE_REALLOC_CHAINS_H
#define TIDE_ANALYSE_REALLOC_CHAINS_H

#include "analyse/places.h"

struct chain {
    uint32_t place, call; /* in places; the call is that of the stack with most copied */
    uint32_t node;        /* the same stack, as a node of the profile */
    struct chain_figures of;
    double factor;       /* the factor of one growth */
    uint64_t item_bytes; /* the size of an item, if there is evidence for it; otherwise 0 */
};

struct chains {
    VEC(struct chain) list; /* most copied first */
};

/* Is it a file of Python's own machinery, such as "<frozen importlib._bootstrap>"? */
bool chain_is_frozen(const char *file);
/* Is the array large enough, or copied often enough, that reserving memory would make a difference,
 * and can the user change the function? */
bool chain_matters(const struct places *places, const struct chain *chain);

void chains_find(struct chains *c, const struct places *places);
void chains_release(struct chains *c);

#endif
