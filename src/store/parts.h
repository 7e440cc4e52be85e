/*
 * parts: reads what the chunks of a file contain, one chunk at a time; the counterpart of writer.c.
 * Whatever the chunks contain, the recording can be used after parts_make_consistent.
 */
#ifndef TIDE_STORE_PARTS_H
#define TIDE_STORE_PARTS_H

#include "store/compressed_chunk.h"
#include "store/recording.h"
#include "store/rows.h"

/* Can parts_take use a chunk of this type? */
bool parts_know(uint32_t type);
/* Adds the contents of a chunk. If `c` is bad afterwards, they make no sense. */
void parts_take(const struct chunk *chunk, struct cursor *c, struct recording *r);
/* Removes references that point nowhere, after damage in one of a profile's chunks. */
void parts_make_consistent(struct profile *p, struct recording *r);

#endif
