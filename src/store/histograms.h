/*
 * histograms: sizes, lifetimes and untouched freed blocks of a profile's sites as the bytes of a
 * HIST chunk. docs/FORMAT.md is its twin.
 *
 * Comes after SITE: rows that point beyond it are damage, and so are rows out of order.
 */
#ifndef TIDE_STORE_HISTOGRAMS_H
#define TIDE_STORE_HISTOGRAMS_H

#include "base/strbuf.h"
#include "store/recording.h"
#include "store/rows.h"

void histograms_put(struct strbuf *b, const struct profile *p);
void histograms_take(struct cursor *c, struct profile *p);

#endif
