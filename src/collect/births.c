#include "collect/births.h"

void births_begin(struct births *b, uint64_t start_ns, uint32_t tick, bool forced)
{
    struct era *last = b->eras.count ? vec_last(&b->eras) : NULL;
    if (last && start_ns < last->start_ns)
        start_ns = last->start_ns; /* a mark's time is the program's, others are ours */
    uint64_t share = start_ns / ERA_SHARE, least = share > ERA_LEAST_NS ? share : ERA_LEAST_NS;
    if (last && !forced && start_ns - last->start_ns < least)
        return;
    *vec_push(&b->eras) = (struct era){start_ns, tick};
}
