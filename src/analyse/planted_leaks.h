/*
 * planted_leaks: what `run --plant-leak` leaked on purpose at marks, so that findings leave it out.
 */
#ifndef TIDE_ANALYSE_PLANTED_LEAKS_H
#define TIDE_ANALYSE_PLANTED_LEAKS_H

#include "store/recording.h"

#define PLANTED_KEY "planted" /* the key of the mark's value */

/* Bytes planted at the marks in (after, last], which are indexes into profile.marks. */
double planted_between(const struct recording *r, const struct profile *p, size_t after,
                       size_t last);

/* The size of each block; 0: nothing was planted. */
uint64_t planted_unit(const struct recording *r, const struct profile *p);

/* Are the site's blocks planted ones? They are mapped, so unlike an allocator's they have no
 * rounding. */
bool planted_is_site(const struct site *s, uint64_t unit);

#endif
