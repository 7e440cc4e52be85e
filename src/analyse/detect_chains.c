/* Finds arrays that grow step by step, and so are copied again and again (realloc_chains.h). */
#include "analyse/detect.h"

#define CHAIN_GROWTHS 5 /* growths of the longest chain */
#define CHAIN_TIMES   3 /* fewer chains do not matter, unless they are a large part of the peak */
#define CHAIN_LARGEST (64 * KIB)
#define CHAIN_SHARE   0.05 /* share of the peak that exists twice during a copy */
#define CHAIN_COPIED  (64 * MIB)
#define CHAIN_ONCE    0.2 /* the same for a single chain */
#define COPIED_PER_NS 4.0 /* bytes: a few GB per second */

void detect_chains(struct findings *f)
{
    const struct profile *p = f->places.total.profile;
    chains_find(&f->chains, &f->places);
    for (size_t i = 0; i < f->chains.list.count; i++) {
        const struct chain *c = &f->chains.list.items[i];
        uint64_t last = c->of.largest_bytes, twice = c->of.transient_bytes - last;
        double memory = share_of((int64_t)twice, f->basis.peak_bytes);
        bool moved = c->of.by_realloc > c->of.growths / 2; /* realloc may need no second block */
        bool often = c->of.chains >= CHAIN_TIMES || (memory >= CHAIN_ONCE && !moved);
        bool much = memory >= CHAIN_SHARE || c->of.copied_bytes >= CHAIN_COPIED;
        if (c->of.longest < CHAIN_GROWTHS || !often || !much || last < CHAIN_LARGEST)
            continue;
        double time = p->duration_ns
                          ? (double)c->of.copied_bytes / COPIED_PER_NS / (double)p->duration_ns
                          : 0;
        struct finding *n = detect_add(f, FINDING_CHAIN, c->place, f->places.total.measure.sites,
                                       time > memory ? time : memory);
        n->call = n->leaf = c->call;
        n->chain = c;
        n->bytes = (int64_t)c->of.copied_bytes;
        n->count = (int64_t)c->of.growths;
        n->of_bytes = (int64_t)last;
    }
}
