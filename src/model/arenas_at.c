#include "model/arenas_at.h"

const struct arena_look *arenas_at(const struct profile *p, uint64_t time_ns)
{
    size_t after = 0;
    while (after < p->arenas.count && p->arenas.items[after].time_ns <= time_ns)
        after++;
    return p->arenas.count ? &p->arenas.items[after ? after - 1 : 0] : NULL;
}
