/*
 * parts: what the chunks of a file hold, one chunk at a time. The twin of writer.c.
 *
 * Whatever they hold, the recording can be used afterwards, once parts_make_consistent was called.
 */
#ifndef TIDE_STORE_PARTS_H
#define TIDE_STORE_PARTS_H

#include "store/chunk.h"
#include "store/recording.h"
#include "store/rows.h"

/* Is a chunk of this type of any use to parts_take? */
bool parts_know(uint32_t type);
/* Adds what a chunk holds. `c`: its content; bad afterwards: it makes no sense. */
void parts_take(const struct chunk *chunk, struct cursor *c, struct recording *r);
/* After damage in one of a profile's chunks: nothing in it may point nowhere. */
void parts_make_consistent(struct profile *p, struct recording *r);

#endif
