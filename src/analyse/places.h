/*
 * places: the functions that are charged for allocations, and for any metric what each of them has.
 *
 * One call tree of everything that was ever allocated decides which call is charged for a site,
 * after filter and folding. A place is the function of that call together with its caller:
 * otherwise a program's own xmalloc would be charged for everything. model/calltree.h decides which
 * call is charged. Values of any measure are then summed by place without building another tree.
 *
 * Ownership: borrows recording and query, which must outlive it; places_release frees the rest.
 */
#ifndef TIDE_ANALYSE_PLACES_H
#define TIDE_ANALYSE_PLACES_H

#include "model/answer.h"

#define PLACE_NONE UINT32_MAX

struct places {
    struct answer total; /* metric total, by function: its tree and frames are used */
    struct query query;  /* the query of `total` */
    uint32_t count;
    uint32_t *of_site; /* site -> place; PLACE_NONE: left out by the filter */
};

/* `q` gives process and filter. Errors are answer_query's. */
int places_init(struct places *p, const struct recording *r, const struct query *q,
                struct err *err);
/* The functions charged for what is live of another metric (mapped, pool) at q->at. */
int places_init_live(struct places *p, const struct recording *r, const struct query *q,
                     enum metric metric, struct err *err);
void places_release(struct places *p);

/* The sum for each place; the caller frees it. */
struct value *places_sum(const struct places *p, const struct value *sites);
/* In the line of a place with the largest amount, the call with the largest amount; and the
 * innermost call of its stack. */
uint32_t places_call(const struct places *p, uint32_t place, const struct value *sites,
                     uint32_t *leaf);
/* The call itself, or the innermost of its callers that the user wrote: not in a library of
 * Python's, and with a known source if any of them has one. */
uint32_t places_own(const struct places *p, uint32_t call);
/* Are both calls of the same function? A function has one place for each of its callers. Overloads
 * count as one function: sentences name functions without their arguments. */
bool places_same_function(const struct places *p, uint32_t a, uint32_t b);
/* Does the function of a call also allocate for other callers than this call's? The figures of its
 * place are then not those of the whole function. */
bool places_has_other_callers(const struct places *p, uint32_t call);
/* The frame of a call. */
const struct call_frame *places_frame(const struct places *p, uint32_t call);

#endif
