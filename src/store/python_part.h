/*
 * python_part: what is known of the interpreter of a process, as the bytes of a PYTH chunk.
 * docs/FORMAT.md is its twin.
 */
#ifndef TIDE_STORE_PYTHON_PART_H
#define TIDE_STORE_PYTHON_PART_H

#include "base/strbuf.h"
#include "store/recording.h"
#include "store/rows.h"

void python_put(struct strbuf *b, const struct profile *p);
void python_take(struct cursor *c, struct profile *p);

#endif
