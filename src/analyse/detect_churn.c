/* Finds time spent on temporary blocks: a thread frees them before its next allocation. */
#include <stdlib.h>

#include "analyse/detect.h"

/*
 * A malloc and its free take about 40 ns in a program that is not recorded. Only the recorded run's
 * time is known, which is longer: so the share is rather too low than too high.
 */
#define PAIR_NS     40
#define CHURN_COUNT 100000
#define CHURN_SHARE 0.05 /* of the time; */
#define CHURN_ALL   0.5  /* if it is this share of all allocations, */
#define CHURN_LEAST 0.01 /* this share of the time is enough */
#define CHURN_OWN   0.5  /* of the function's allocations */

void detect_churn(struct findings *f)
{
    const struct profile *p = f->places.total.profile;
    struct window w = {.at = {.intervals = p->intervals.count}};
    struct measure temporary;
    measure_sites(&temporary, p, METRIC_TEMPORARY, SIZE_REQUESTED, &w);
    struct value *places = places_sum(&f->places, temporary.sites);
    struct value *all = places_sum(&f->places, f->places.total.measure.sites);
    for (uint32_t i = 0; i < f->places.count; i++) {
        int64_t count = places[i].count;
        double share = share_of(count, p->duration_ns) * PAIR_NS;
        f->basis.temporary_share += share;
        bool most = (double)count >= CHURN_ALL * (double)f->places.total.tree.sum.count;
        bool much = share >= (most ? CHURN_LEAST : CHURN_SHARE);
        if (count < CHURN_COUNT || !much || (double)count < CHURN_OWN * (double)all[i].count)
            continue;
        struct finding *n = detect_add(f, FINDING_CHURN, i, temporary.sites, share);
        n->bytes = places[i].amount;
        n->count = count;
        n->of_bytes = all[i].amount;
        n->share = share;
    }
    free(all);
    free(places);
    measure_release(&temporary);
}
