/*
 * places: the functions that are charged for allocations, and for any metric what each of them has.
 *
 * One call tree of everything that was ever allocated says which call is charged for a site, after
 * focus and folding; a place is the function of that call as called by one other: a program's own
 * xmalloc is charged for everything, and tells nothing. Values of any measure are then summed by
 * place without building another tree.
 *
 * Ownership: borrows recording and query, which must outlive it; places_release frees the rest.
 */
#ifndef TIDE_ANALYSE_PLACES_H
#define TIDE_ANALYSE_PLACES_H

#include "model/answer.h"

#define PLACE_NONE UINT32_MAX

struct places {
    struct answer total; /* metric total, by function: tree and frames are used */
    struct query query;  /* of it */
    uint32_t count;
    uint32_t *of_site; /* PLACE_NONE: not in focus */
};

/* `q` gives process and focus. Errors are answer_query's. */
int places_init(struct places *p, const struct recording *r, const struct query *q,
                struct err *err);
/* The functions charged for what is live of another metric (mapped, pool) at q->at. */
int places_init_live(struct places *p, const struct recording *r, const struct query *q,
                     enum metric metric, struct err *err);
void places_release(struct places *p);

/* One value for each place; caller frees. */
struct value *places_sum(const struct places *p, const struct value *sites);
/* Of the line of a place that has the largest amount, the call with the largest, and where its stack
 * begins. */
uint32_t places_call(const struct places *p, uint32_t place, const struct value *sites,
                     uint32_t *leaf);
/* The call itself, or of those that led to it the innermost that its user wrote: no library of
 * Python's, and nothing without a known source where something has one. */
uint32_t places_own(const struct places *p, uint32_t call);
/* Are both calls of one function? It is a place for each of its callers. */
bool places_same_function(const struct places *p, uint32_t a, uint32_t b);
/* The frame of a call. */
const struct call_frame *places_frame(const struct places *p, uint32_t call);

#endif
