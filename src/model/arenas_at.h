/*
 * arenas_at: what CPython kept for small objects, at a moment.
 *
 * The last look at or before it; where there was none yet, the first after it. Borrowed.
 */
#ifndef TIDE_MODEL_ARENAS_AT_H
#define TIDE_MODEL_ARENAS_AT_H

#include "store/recording.h"

const struct arena_look *arenas_at(const struct profile *p, uint64_t time_ns); /* NULL: none */

#endif
