/*
 * chunk_decode: decodes the contents of a file's chunks, one chunk at a time; the counterpart of
 * writer.c. Even if the chunks are damaged, the recording is safe to use after
 * chunks_make_consistent.
 */
#ifndef TIDE_STORE_CHUNK_DECODE_H
#define TIDE_STORE_CHUNK_DECODE_H

#include "store/chunk.h"
#include "store/recording.h"
#include "store/rows.h"

/* Can this version decode a chunk of this type? */
bool chunk_is_known(uint32_t type);
/* Adds the contents of a chunk to the recording. `c` is bad afterwards if the contents make no
 * sense. */
void chunk_decode(const struct chunk *chunk, struct cursor *c, struct recording *r);
/* Removes references to missing entries of a profile, after damage in one of its chunks. */
void chunks_make_consistent(struct profile *p, struct recording *r);

#endif
