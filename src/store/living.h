/*
 * living: the live blocks of a profile's scans as the bytes of a LIVE chunk. docs/FORMAT.md is its
 * twin.
 *
 * Comes after the chunks that it refers to (SITE and IVAL): rows that point beyond them are damage.
 */
#ifndef TIDE_STORE_LIVING_H
#define TIDE_STORE_LIVING_H

#include "base/strbuf.h"
#include "store/recording.h"
#include "store/rows.h"

void living_put(struct strbuf *b, const struct profile *p);
void living_take(struct cursor *c, struct profile *p);

#endif
