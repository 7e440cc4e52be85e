/*
 * estimate: how far a figure of a sampled recording (run --sample) may be from the truth.
 *
 * A sum of blocks that were each recorded with probability p = 1 - exp(-size / period) and count as
 * size / p has the variance sum of (size / p) * size * (1 - p) / p, over those recorded; the second
 * factor is below the period whatever the size, so the variance is below amount * period. The 95 %
 * interval here is made of that bound (all true values for which the estimate is within 1.96
 * standard deviations), so it covers the truth in at least about 95 % of cases: as tight as can be
 * for small blocks, too wide for those larger than the period. It needs nothing but the figure, so
 * every command gives the same one.
 */
#ifndef TIDE_MODEL_ESTIMATE_H
#define TIDE_MODEL_ESTIMATE_H

#include "model/moment.h"
#include "model/query.h"
#include "model/sampled.h"
#include "store/recording.h"

struct estimate {
    int64_t low, high; /* of the 95 % interval */
};

/* Is the metric one of sampled blocks? The program's mappings, its pools and CPU time are not. */
static inline bool metric_is_estimated(const struct profile *p, enum metric m)
{
    return p->sample_bytes && !metric_is_sampled(m) && m != METRIC_MAPPED && m != METRIC_POOL;
}

/* The interval of `bytes`, a sum of blocks. */
struct estimate estimate_of(const struct profile *p, int64_t bytes);
/* Is a figure of this metric, in this window, such a sum? A change of what is live is none, nor is
 * a maximum: for those no interval is known. */
bool estimate_known(const struct profile *p, enum metric m, enum size_kind size,
                    const struct window *w);

#endif
