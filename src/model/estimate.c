#include "model/estimate.h"

#include <math.h>

#define Z 1.959964 /* 95 % of a normal distribution are within so many standard deviations */

/* A damaged file may contain any number. */
static int64_t bounded(double bytes)
{
    return bytes < 0x1p62 ? (int64_t)bytes : INT64_C(1) << 62;
}

/* The ends of the interval are the solutions x of (bytes - x)^2 = Z^2 * x * period. */
struct estimate estimate_of(const struct profile *p, int64_t bytes)
{
    const double period = (double)p->sample_bytes, value = bytes > 0 ? (double)bytes : 0;
    const double middle = value + Z * Z * period / 2;
    const double half = Z * sqrt(value * period + Z * Z * period * period / 4);
    return (struct estimate){.low = bounded(floor(middle > half ? middle - half : 0)),
                             .high = bounded(ceil(middle + half))};
}

bool estimate_known(const struct profile *p, enum metric m, enum size_kind size,
                    const struct window *w)
{
    bool change = w->since.intervals || w->since.peak;
    return metric_is_estimated(p, m) && size == SIZE_REQUESTED &&
           (m == METRIC_TOTAL || m == METRIC_TEMPORARY ||
            (!change && (m == METRIC_LIVE || m == METRIC_PEAK)));
}
