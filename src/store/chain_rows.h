/*
 * chain_rows: arrays that grow, of a profile's sites, as the bytes of a CHNS chunk. docs/FORMAT.md
 * is its twin.
 *
 * Comes after SITE: rows that point beyond it are damage, and so are rows out of order.
 */
#ifndef TIDE_STORE_CHAIN_ROWS_H
#define TIDE_STORE_CHAIN_ROWS_H

#include "base/strbuf.h"
#include "store/recording.h"
#include "store/rows.h"

void chain_rows_put(struct strbuf *b, const struct profile *p);
void chain_rows_take(struct cursor *c, struct profile *p);

#endif
