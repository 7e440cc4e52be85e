/*
 * estimate: how far a figure of a sampled recording (run --sample) may be from the truth.
 *
 * Each block is recorded with probability p = 1 - exp(-size / period) and then counts as size / p.
 * A sum of such blocks has the variance sum of (size / p) * size * (1 - p) / p, over the recorded
 * blocks. The second factor is below the period whatever the size, so the variance is below amount
 * * period. The 95 % interval here uses that bound: it has all true values for which the estimate
 * is within 1.96 standard deviations. So it covers the truth in at least about 95 % of cases. It is
 * as tight as possible for small blocks, and too wide for those larger than the period. It depends
 * on the figure alone, so every command gives the same interval. The weight itself is decided by
 * wire/weights.h.
 */
#ifndef TIDE_MODEL_ESTIMATE_H
#define TIDE_MODEL_ESTIMATE_H

#include "model/moment.h"
#include "model/query.h"
#include "model/sample_sums.h"
#include "store/recording.h"

struct estimate {
    int64_t low, high; /* bounds of the 95 % interval */
};

/* Does the metric consist of sampled blocks? The program's mappings, its pools and CPU time do
 * not. */
static inline bool metric_is_estimated(const struct profile *p, enum metric m)
{
    return p->sample_bytes && !metric_is_sampled(m) && m != METRIC_MAPPED && m != METRIC_POOL &&
           !metric_is_gpu(m);
}

/* The interval of `bytes`, a sum of blocks. */
struct estimate estimate_of(const struct profile *p, int64_t bytes);
/* Is a figure of this metric in this window a sum of blocks, so that its interval is known? A
 * change of live memory is not, nor is a maximum. */
bool estimate_known(const struct profile *p, enum metric m, enum size_kind size,
                    const struct window *w);

#endif
