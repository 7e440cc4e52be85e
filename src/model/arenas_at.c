#include "model/arenas_at.h"

static uint64_t apart(uint64_t a, uint64_t b)
{
    return a > b ? a - b : b - a;
}

const struct arena_reading *arenas_at(const struct profile *p, uint64_t time_ns)
{
    const struct arena_reading *nearest = NULL;
    for (size_t i = 0; i < p->arenas.count; i++) {
        const struct arena_reading *reading = &p->arenas.items[i];
        if (!nearest || apart(reading->time_ns, time_ns) < apart(nearest->time_ns, time_ns))
            nearest = reading;
    }
    return nearest;
}

struct value arenas_live_at_peak(const struct profile *p)
{
    struct value sum = {0};
    for (size_t i = 0; i < p->sites.count; i++) {
        const struct site *s = &p->sites.items[i];
        struct value v = {(int64_t)s->at_peak_bytes, (int64_t)s->at_peak_blocks};
        if (s->domain == DOMAIN_ARENA)
            value_join(&sum, v, false);
    }
    return sum;
}

struct value arenas_live(const struct profile *p, const struct moment *m)
{
    struct value sum = {0};
    if (m->peak && !m->own_peak)
        return arenas_live_at_peak(p);
    for (size_t i = 0; i < m->intervals; i++) {
        const struct interval *v = &p->intervals.items[i];
        for (size_t k = v->first_row; k < v->first_row + v->row_count; k++) {
            const struct row *row = &p->rows.items[k];
            struct value change = {(int64_t)(row->columns[COL_BYTES] - row->columns[COL_FREED]),
                                   (int64_t)(row->columns[COL_ALLOCS] - row->columns[COL_FREES])};
            if (p->sites.items[row->site].domain == DOMAIN_ARENA)
                value_join(&sum, change, false);
        }
    }
    return sum;
}

bool arenas_are_most(const struct profile *p)
{
    return arenas_live_at_peak(p).amount > (int64_t)(p->peak_bytes / 2);
}
