/* Finds who holds most of the memory of graphics processors when there is most of it. */
#include <stdlib.h>

#include "analyse/detect.h"

#define GPU_BYTES  (64 * MIB) /* less does not matter */
#define GPU_SHARE  0.25       /* of the peak */
#define GPU_WEIGHT 0.3        /* the memory may well be needed */

static uint32_t largest_of(const struct value *places, uint32_t count)
{
    uint32_t most = 0;
    for (uint32_t i = 1; i < count; i++)
        if (places[i].amount > places[most].amount)
            most = i;
    return most;
}

static void add_largest(struct findings *f, const struct measure *peak, uint64_t of_bytes)
{
    struct value *places = places_sum(&f->gpu, peak->sites);
    uint32_t most = f->gpu.count ? largest_of(places, f->gpu.count) : 0;
    double share = f->gpu.count ? share_of(places[most].amount, of_bytes) : 0;
    if (share >= GPU_SHARE && share <= 1) { /* more than all: damage */
        struct finding *n = detect_add(f, FINDING_GPU, most, peak->sites, share * GPU_WEIGHT);
        n->bytes = places[most].amount;
        n->count = places[most].count;
        n->of_bytes = (int64_t)of_bytes;
    }
    free(places);
}

enum metric finding_gpu_metric(const struct findings *f)
{
    const struct gpu_figures *g = f->places.total.profile->gpu;
    return g[GPU_TENSORS].peak_bytes > g[GPU_DRIVER].peak_bytes / 2 ? METRIC_TENSOR : METRIC_GPU;
}

void detect_gpu(struct findings *f, const struct recording *r, const struct query *q)
{
    const struct profile *p = f->places.total.profile;
    enum metric metric = finding_gpu_metric(f);
    uint64_t of_bytes = gpu_figures_of(p, metric)->peak_bytes;
    struct query at_peak = *q;
    struct window window;
    struct measure peak;
    at_peak.metric = metric;
    at_peak.since = NULL;
    at_peak.at = "peak";
    if (of_bytes < GPU_BYTES || measure_window(p, &at_peak, &window, NULL) ||
        places_init_live(&f->gpu, r, &at_peak, metric, NULL))
        return;
    measure_sites(&peak, p, metric, SIZE_REQUESTED, &window);
    add_largest(f, &peak, of_bytes);
    measure_release(&peak);
}
