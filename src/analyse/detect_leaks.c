/* Blocks that nothing points to any more. */
#include <stdlib.h>

#include "analyse/detect.h"

/* One lost block is not worth anybody's time, unless it is large; one for each event is. */
#define LEAK_BYTES  256
#define LEAK_REPEAT 10 /* blocks, allocated at different times or this much together: */
#define LEAK_MUCH   (4 * KIB)
#define LEAK_ONCE   (64 * KIB) /* of fewer, */
#define LEAK_SHARE  0.1        /* and of the peak */
#define LEAK_WEIGHT 2          /* it will be more in a longer run */

struct age {
    uint64_t first_ns, last_ns;
};

void detect_leaks(struct findings *f)
{
    const struct profile *p = f->places.total.profile;
    const struct scan *scan = p->scans.count ? vec_last(&p->scans) : NULL;
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
            f->basis.lost_bytes = wrapped(f->basis.lost_bytes, v.amount);
            f->basis.lost_blocks = wrapped(f->basis.lost_blocks, v.count);
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
        bool spread = ages[i].last_ns > ages[i].first_ns + 1;
        bool repeated = v.count >= LEAK_REPEAT && (spread || v.amount >= LEAK_MUCH);
        bool large = v.amount >= LEAK_ONCE && share >= LEAK_SHARE;
        f->basis.lost_bytes = wrapped(f->basis.lost_bytes, v.amount);
        f->basis.lost_blocks = wrapped(f->basis.lost_blocks, v.count);
        if (v.amount < LEAK_BYTES || (!repeated && !large))
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
