/*
 * Finds what makes the peak high: a function whose blocks exist for a short time only, or one that
 * holds most of a large heap.
 */
#include <stdlib.h>

#include "analyse/detect.h"

#define PEAK_BYTES      (16 * MIB) /* a smaller spike does not matter */
#define SPIKE_SHARE     0.25       /* of the peak */
#define SPIKE_TIME      0.1        /* of the run */
#define SPIKE_INTERVALS 10         /* needed to know how long it lasted */

#define MOST_PEAK   (64 * MIB) /* a smaller heap does not matter */
#define MOST_SHARE  0.5
#define MOST_WEIGHT 0.3 /* the memory may well be needed */

#define ARENAS_SHARE                                                                               \
    0.5 /* share of a function's memory: small Python objects, too small to show one by one */

/* The share of the run during which the live total was no more than half of `bytes` below the
 * peak. */
static double time_at_peak(const struct profile *p, int64_t bytes)
{
    uint64_t start = 0, high = 0, least = p->peak_bytes - (uint64_t)bytes / 2;
    for (size_t i = 0; i < p->intervals.count; i++) {
        const struct interval *v = &p->intervals.items[i];
        if (v->peak_bytes >= least)
            high += v->end_ns - start;
        start = v->end_ns;
    }
    return start ? (double)high / (double)start : 1;
}

/* By place: the part of the peak that is arenas of CPython. */
static struct value *arenas_of(const struct findings *f, const struct measure *peak)
{
    const struct profile *p = f->places.total.profile;
    struct value *arenas = xcalloc(peak->count + 1, sizeof *arenas);
    for (size_t i = 0; i < peak->count; i++)
        if (p->sites.items[i].domain == DOMAIN_ARENA)
            arenas[i] = peak->sites[i];
    struct value *places = places_sum(&f->places, arenas);
    free(arenas);
    return places;
}

void detect_peak(struct findings *f)
{
    const struct profile *p = f->places.total.profile;
    struct window w = {.at = {.peak = true, .intervals = p->intervals.count}};
    struct measure peak;
    measure_sites(&peak, p, METRIC_PEAK, SIZE_REQUESTED, &w);
    struct value *places = places_sum(&f->places, peak.sites);
    struct value *arenas = arenas_of(f, &peak);
    for (uint32_t i = 0; i < f->places.count; i++) {
        int64_t bytes = wrapped_less(places[i].amount, f->lost[i].amount);
        double share = share_of(bytes, p->peak_bytes);
        if (bytes < PEAK_BYTES || share < SPIKE_SHARE || share > 1)
            continue;
        double time = time_at_peak(p, bytes);
        bool spike = p->intervals.count >= SPIKE_INTERVALS && time <= SPIKE_TIME;
        bool objects = (double)arenas[i].amount > ARENAS_SHARE * (double)bytes;
        bool most = objects || (p->peak_bytes >= MOST_PEAK && share >= MOST_SHARE);
        if (!spike && !most)
            continue;
        struct finding *n =
            detect_add(f, FINDING_PEAK, i, peak.sites, spike ? share : share * MOST_WEIGHT);
        n->bytes = bytes;
        n->count = places[i].count;
        n->of_bytes = (int64_t)p->peak_bytes;
        n->share = spike ? time : 0;
        n->mapped = objects ? MAPPED_ARENAS : MAPPED_ANY;
    }
    free(arenas);
    free(places);
    measure_release(&peak);
}
