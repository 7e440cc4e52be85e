#include "collect/counting/eras.h"

#define CROWD_LEAST 16384

/* Keeps the first era of an interval. Drops others if the era before would not become too long. */
static void thin_out(struct eras *b)
{
    uint64_t now_ns = vec_last(&b->eras)->start_ns;
    size_t kept = 1;
    for (size_t i = 1; i < b->eras.count; i++) {
        const struct era *e = &b->eras.items[i], *last = &b->eras.items[kept - 1];
        if (e->tick != last->tick || i + 1 == b->eras.count ||
            e[1].start_ns - last->start_ns > (now_ns - e[1].start_ns) / ERA_SHARE) {
            if (e->number != last->number + 1)
                b->complete_from = e->number;
            b->eras.items[kept++] = *e;
        }
    }
    b->eras.count = kept;
    b->gone = b->now + 1 - (uint32_t)kept;
    b->crowd = 2 * kept > CROWD_LEAST ? 2 * kept : CROWD_LEAST;
}

void eras_begin(struct eras *b, uint64_t start_ns, uint32_t tick, bool forced)
{
    struct era *last = b->eras.count ? vec_last(&b->eras) : NULL;
    uint32_t number = last ? b->now + 1 : 0;
    if (last && start_ns < last->start_ns)
        start_ns = last->start_ns; /* a mark's time is the program's, others are ours */
    if (last && !forced && start_ns - last->start_ns < ERA_LEAST_NS)
        return;
    *vec_push(&b->eras) = (struct era){start_ns, tick, number};
    b->now = number;
    if (b->eras.count >= (b->crowd ? b->crowd : CROWD_LEAST))
        thin_out(b);
}

void eras_start(struct eras *b, uint32_t number)
{
    b->eras.items[b->eras.count - 1].number = number;
    b->now = b->complete_from = number;
    b->gone = number + 1 - (uint32_t)b->eras.count;
}

void eras_release(struct eras *b)
{
    vec_release(&b->eras);
}

size_t eras_search(const struct eras *b, uint32_t number)
{
    size_t low = 0,
           high = b->eras.count; /* the last one with a number not above it is in [low, high) */
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (b->eras.items[middle].number <= number)
            low = middle;
        else
            high = middle;
    }
    return low;
}
