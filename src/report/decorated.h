/*
 * decorated: the tree of `tidemark tree` as text and JSON (tidemark.tree/1).
 */
#ifndef TIDE_REPORT_DECORATED_H
#define TIDE_REPORT_DECORATED_H

#include "analyse/decorated.h"
#include "report/style.h"

/* `prefix` is taken off the front of paths; NULL: they are shown without folders. */
void decorated_text(const struct decorated *d, const char *heading, const char *prefix, size_t top,
                    const struct style *s, struct strbuf *out);
void decorated_json(const struct decorated *d, const char *prefix, struct strbuf *out);

#endif
