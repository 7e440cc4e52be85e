/* Blocks that nothing points to any more, and large blocks that were never used. */
#include <stdlib.h>

#include "analyse/detect.h"

/* One lost block is not worth anybody's time, unless it is large; one for each event is. */
#define LEAK_BYTES  256
#define LEAK_REPEAT 10    /* blocks, allocated at different times */
#define LEAK_SHARE  0.001 /* of the peak, without repetition */
#define LEAK_WEIGHT 2     /* it will be more in a longer run */

#define UNTOUCHED_BYTES (1 * MIB)
#define UNTOUCHED_SHARE 0.05 /* of the peak */
#define UNTOUCHED_HALF  0.5  /* of what the function holds */
#define UNTOUCHED_ALL   0.95

struct age {
    uint64_t first_ns, last_ns;
};

static const struct scan *last_scan(const struct profile *p)
{
    return p->scans.count ? vec_last(&p->scans) : NULL;
}

void detect_leaks(struct findings *f)
{
    const struct profile *p = f->places.total.profile;
    const struct scan *scan = last_scan(p);
    if (!scan)
        return;
    struct value *lost = xcalloc(p->sites.count + 1, sizeof *lost), *places;
    struct age *ages = xcalloc(f->places.count + 1, sizeof *ages);
    int64_t indirect = 0;
    for (size_t i = scan->first_row; i < scan->first_row + scan->row_count; i++) {
        const struct live_row *r = &p->live.items[i];
        uint32_t place = f->places.of_site[r->site];
        f->basis.blocks_checked += (int64_t)r->blocks;
        f->basis.reach_known |= r->reach != REACH_UNKNOWN;
        if (place == PLACE_NONE || (r->reach != REACH_LOST && r->reach != REACH_INDIRECT))
            continue;
        struct value v = {(int64_t)r->bytes, (int64_t)r->blocks};
        if (r->reach == REACH_INDIRECT) {
            indirect = wrapped(indirect, v.amount);
            continue;
        }
        struct age *age = &ages[place];
        value_join(&lost[r->site], v, false);
        if (!age->last_ns || r->first_ns < age->first_ns)
            age->first_ns = r->first_ns;
        if (r->last_ns >= age->last_ns)
            age->last_ns = r->last_ns + 1;
    }
    f->basis.reach_known |= !scan->row_count && !scan->unreachable;
    places = places_sum(&f->places, lost);
    for (uint32_t i = 0; i < f->places.count; i++) {
        struct value v = places[i];
        double share = share_of(v.amount, f->basis.peak_bytes);
        bool repeated = v.count >= LEAK_REPEAT && ages[i].last_ns > ages[i].first_ns + 1;
        f->basis.lost_bytes = wrapped(f->basis.lost_bytes, v.amount);
        f->basis.lost_blocks = wrapped(f->basis.lost_blocks, v.count);
        if (v.amount < LEAK_BYTES || (!repeated && share < LEAK_SHARE))
            continue;
        struct finding *n = detect_add(f, FINDING_LEAK, i, lost, LEAK_WEIGHT * share);
        n->bytes = v.amount;
        n->count = v.count;
        n->of_bytes = (int64_t)f->basis.peak_bytes;
        n->first_ns = ages[i].first_ns;
        n->last_ns = ages[i].last_ns;
        n->indirect_bytes = indirect;
    }
    free(places);
    free(ages);
    free(lost);
}

void detect_untouched(struct findings *f)
{
    const struct profile *p = f->places.total.profile;
    const struct scan *scan = last_scan(p);
    if (!scan || !scan->residency)
        return;
    struct value *untouched = xcalloc(p->sites.count + 1, sizeof *untouched);
    struct value *held = xcalloc(p->sites.count + 1, sizeof *held);
    for (size_t i = scan->first_row; i < scan->first_row + scan->row_count; i++) {
        const struct live_row *r = &p->live.items[i];
        value_join(&untouched[r->site], (struct value){(int64_t)r->untouched, (int64_t)r->blocks},
                   false);
        value_join(&held[r->site], (struct value){(int64_t)r->bytes, (int64_t)r->blocks}, false);
    }
    struct value *places = places_sum(&f->places, untouched);
    struct value *all = places_sum(&f->places, held);
    f->basis.residency_known = true;
    for (uint32_t i = 0; i < f->places.count; i++) {
        int64_t bytes = places[i].amount;
        double of_peak = share_of(bytes, f->basis.peak_bytes);
        double own = all[i].amount > 0 ? (double)bytes / (double)all[i].amount : 0;
        f->basis.untouched_bytes = wrapped(f->basis.untouched_bytes, bytes);
        if (bytes < UNTOUCHED_BYTES || of_peak < UNTOUCHED_SHARE || own < UNTOUCHED_HALF)
            continue;
        struct finding *n = detect_add(
            f, own >= UNTOUCHED_ALL ? FINDING_UNTOUCHED : FINDING_OVERSIZED, i, untouched, of_peak);
        n->bytes = bytes;
        n->count = places[i].count;
        n->of_bytes = all[i].amount;
    }
    free(all);
    free(places);
    free(held);
    free(untouched);
}
