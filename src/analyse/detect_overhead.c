/* Finds memory spent on rounding up small blocks, and on their headers. */
#include <stdlib.h>

#include "analyse/detect.h"

#define BLOCK_HEADER   8 /* what allocators that have headers take for each block */
#define OVERHEAD_BYTES (1 * MIB)
#define OVERHEAD_SHARE 0.2 /* of what is reserved at the peak */
#define OVERHEAD_OWN   0.5 /* of what the function requested */

void detect_overhead(struct findings *f)
{
    const struct profile *p = f->places.total.profile;
    struct window w = {.at = {.peak = true, .intervals = p->intervals.count}};
    struct measure over, asked;
    measure_sites(&over, p, METRIC_PEAK, SIZE_OVERHEAD, &w);
    measure_sites(&asked, p, METRIC_PEAK, SIZE_REQUESTED, &w);
    int64_t wasted = 0;
    for (size_t i = 0; i < over.count; i++) {
        over.sites[i].amount =
            wrapped(over.sites[i].amount, (int64_t)((uint64_t)over.sites[i].count * BLOCK_HEADER));
        wasted = wrapped(wasted, over.sites[i].amount);
    }
    uint64_t aside = p->peak_bytes + (uint64_t)wasted;
    f->basis.overhead_share = share_of(wasted, aside);
    struct value *places = places_sum(&f->places, over.sites);
    struct value *own = places_sum(&f->places, asked.sites);
    for (uint32_t i = 0; i < f->places.count; i++) {
        int64_t bytes = places[i].amount;
        double share = share_of(bytes, aside);
        if (bytes < OVERHEAD_BYTES || share < OVERHEAD_SHARE ||
            (double)bytes < OVERHEAD_OWN * (double)own[i].amount)
            continue;
        struct finding *n = detect_add(f, FINDING_OVERHEAD, i, over.sites, share);
        n->bytes = bytes;
        n->count = places[i].count;
        n->of_bytes = own[i].amount;
    }
    free(own);
    free(places);
    measure_release(&asked);
    measure_release(&over);
}
