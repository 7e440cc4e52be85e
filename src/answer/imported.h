/*
 * imported: what reports say about a recording that was imported from another tool's file: its
 * origin, and what is not known.
 */
#ifndef TIDE_ANSWER_IMPORTED_H
#define TIDE_ANSWER_IMPORTED_H

#include "answer/style.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "store/recording.h"

/* "imported from heaptrack 1.4.0 (x.zst); not known: threads, reallocations". */
void imported_line(const struct profile *p, struct strbuf *out);
/* The same as a line of a summary; nothing for tidemark's own recordings. */
void imported_summary(const struct profile *p, const struct style *s, struct strbuf *out);
/* Member "imported": from, file, and the words of what is not known; nothing for tidemark's own. */
void imported_json(struct json *j, const struct profile *p);

#endif
