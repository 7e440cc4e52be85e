/*
 * footprints: what a profile's resident memory was made of, as the bytes of a FOOT chunk.
 * docs/FORMAT.md is its twin.
 *
 * After SITE, which it refers to. Parts are counted, so that new ones may follow.
 */
#ifndef TIDE_STORE_FOOTPRINTS_H
#define TIDE_STORE_FOOTPRINTS_H

#include "base/strbuf.h"
#include "store/recording.h"
#include "store/rows.h"

void footprints_put(struct strbuf *b, const struct profile *p);
void footprints_take(struct cursor *c, struct profile *p);

#endif
