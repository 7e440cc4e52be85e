/*
 * arenas_at: the memory that CPython kept for small objects (its arenas) at a moment.
 *
 * The number of arenas is exact: it is part of the interval log (DOMAIN_ARENA). An arena counts as
 * live memory of the Python line that made CPython allocate it. The collector checked only from
 * time to time how full the arenas were, so the check nearest to the moment is used. In recordings
 * with --python=objects no line is charged for arenas.
 */
#ifndef TIDE_MODEL_ARENAS_AT_H
#define TIDE_MODEL_ARENAS_AT_H

#include "model/measure.h"
#include "model/moment.h"
#include "store/recording.h"

const struct arena_reading *arenas_at(const struct profile *p, uint64_t time_ns); /* NULL: none */

/* The arenas that are part of the live memory at the moment. */
struct value arenas_live(const struct profile *p, const struct moment *m);
struct value arenas_live_at_peak(const struct profile *p);
/* Are arenas most of the live bytes at the process's peak? */
bool arenas_are_most(const struct profile *p);

#endif
