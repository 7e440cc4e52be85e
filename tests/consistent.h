/*
 * consistent: what src/model takes for granted of any recording that opens. For unit tests and
 * fuzzers.
 */
#ifndef TIDE_TESTS_CONSISTENT_H
#define TIDE_TESTS_CONSISTENT_H

#include "store/recording.h"

/* Does every row of this table belong to a site that there is? */
#define CONSISTENT_SITES(p, rows)                                                                  \
    for (size_t i = 0; i < (p)->rows.count; i++)                                                   \
        if ((p)->rows.items[i].site >= (p)->sites.count)                                           \
    return false

static inline bool profile_is_consistent(const struct profile *p)
{
    if (!p->nodes.count || !p->frame_runs.count)
        return false;
    for (size_t i = 1; i < p->nodes.count; i++)
        if (p->nodes.items[i].parent >= i)
            return false;
    for (size_t i = 0; i < p->sites.count; i++)
        if (p->sites.items[i].node >= p->nodes.count ||
            p->sites.items[i].thread >= p->threads.count ||
            p->sites.items[i].domain >= DOMAIN_COUNT)
            return false;
    for (size_t i = 0; i < p->intervals.count; i++)
        if (p->intervals.items[i].first_row + p->intervals.items[i].row_count > p->rows.count)
            return false;
    CONSISTENT_SITES(p, rows);
    CONSISTENT_SITES(p, sizes);
    CONSISTENT_SITES(p, lifetimes);
    CONSISTENT_SITES(p, freed_readings);
    CONSISTENT_SITES(p, chains);
    for (size_t i = 0; i + 1 < p->frame_runs.count; i++)
        if (p->frame_runs.items[i] > p->frame_runs.items[i + 1])
            return false;
    for (size_t i = 0; i < p->threads.count; i++)
        if (!p->threads.items[i].name)
            return false;
    for (size_t i = 0; i < p->modules.count; i++)
        if (!p->modules.items[i].path)
            return false;
    return *vec_last(&p->frame_runs) <= p->frames.count;
}

#endif
