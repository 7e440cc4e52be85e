/*
 * captures: a profile's mappings at moments as the bytes of a MAPS chunk. docs/FORMAT.md is its
 * twin.
 *
 * Stands alone: names are in the chunk itself. Mappings of a capture are in order of address and do
 * not overlap; anything else is damage.
 */
#ifndef TIDE_STORE_CAPTURES_H
#define TIDE_STORE_CAPTURES_H

#include "base/strbuf.h"
#include "store/recording.h"
#include "store/rows.h"

void captures_put(struct strbuf *b, const struct profile *p);
void captures_take(struct cursor *c, struct profile *p);

#endif
