/*
 * metric_unit: an amount in the unit of its metric.
 */
#ifndef TIDE_ANSWER_METRIC_UNIT_H
#define TIDE_ANSWER_METRIC_UNIT_H

#include "base/units.h"
#include "model/query.h"

/* Milliseconds of CPU time, a number of samples, or bytes. */
static inline void unit_amount(struct strbuf *out, enum metric metric, int64_t amount)
{
    if (metric_is_time(metric))
        unit_ms(out, amount);
    else if (metric == METRIC_SAMPLES)
        unit_count(out, amount);
    else
        unit_bytes(out, amount);
}

#endif
