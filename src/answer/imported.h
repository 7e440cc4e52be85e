/*
 * imported: what a recording that came from another tool's file says of itself: from where it is,
 * and what it does not know.
 */
#ifndef TIDE_ANSWER_IMPORTED_H
#define TIDE_ANSWER_IMPORTED_H

#include "answer/style.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "store/recording.h"

/* "imported from heaptrack 1.4.0 (x.zst); not known: threads, reallocations". */
void imported_line(const struct profile *p, struct strbuf *out);
/* The same as a line of a summary; nothing for a recording of tidemark's own. */
void imported_summary(const struct profile *p, const struct style *s, struct strbuf *out);
/* Member "imported": from, file, and the words of what is not known; nothing for our own. */
void imported_json(struct json *j, const struct profile *p);

#endif
