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
/* The peak that a tree leads to, and what of it is live where the tree's window ends. */
struct decorated_peak {
    unsigned number; /* 0: it leads to none */
    int64_t bytes, listed_bytes;
};
void decorated_json(const struct recording *r, const struct decorated *d,
                    const struct decorated_peak *peak, const char *prefix, struct strbuf *out);

#endif
