/*
 * arenas_at: what CPython kept for small objects, at a moment.
 *
 * How many arenas there are is part of the interval log, and exact (DOMAIN_ARENA): they count as
 * live, at the Python line that made one more necessary. How full they are was looked at now and
 * then: the nearest look to a moment counts. Where objects are traced, arenas are not charged.
 */
#ifndef TIDE_MODEL_ARENAS_AT_H
#define TIDE_MODEL_ARENAS_AT_H

#include "model/measure.h"
#include "model/moment.h"
#include "store/recording.h"

const struct arena_look *arenas_at(const struct profile *p, uint64_t time_ns); /* NULL: none */

/* Arenas that are part of what is live then. */
struct value arenas_live(const struct profile *p, const struct moment *m);
struct value arenas_live_at_peak(const struct profile *p);
/* Are they most of the live bytes at the process's peak? */
bool arenas_are_most(const struct profile *p);

#endif
