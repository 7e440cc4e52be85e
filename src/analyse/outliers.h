/*
 * outliers: which inputs of a merged recording differ from the others.
 *
 * An input is an outlier if its value is more than half as much again as the median, and if its
 * distance from the median is more than five times the distance within which half of the inputs are
 * (the median of the distances, scaled as for a normal distribution). Only the totals in the table
 * of inputs are compared.
 *
 * Ownership: outliers_release frees the list; the recording is borrowed.
 */
#ifndef TIDE_ANALYSE_OUTLIERS_H
#define TIDE_ANALYSE_OUTLIERS_H

#include "model/query.h"
#include "store/merge.h"

struct outliers {
    uint64_t median;
    VEC(uint32_t) inputs; /* the largest value first */
};

/* The total that a metric has in the table of inputs; INPUT_VALUES: none. */
enum input_value outliers_value(enum metric m);
void outliers_find(struct outliers *o, const struct merge *m, enum input_value value);
void outliers_release(struct outliers *o);

#endif
