/*
 * mark_scopes: what lay between marks NAME and NAME.end, added up for each NAME.
 *
 * An end belongs to the last open begin of the same name and thread. Figures are of the whole
 * process between the two marks. Where scopes of one name are nested, as in a function that calls
 * itself, sums count the inner ones once. Labels have at most 63 bytes, so that of an end has the
 * first 59 of the name: longer names that agree in these are one scope.
 *
 * Ownership: names are the recording's; mark_scopes_release frees the rest.
 */
#ifndef TIDE_MODEL_MARK_SCOPES_H
#define TIDE_MODEL_MARK_SCOPES_H

#include <stdbool.h>

#include "base/err.h"
#include "store/recording.h"

struct mark_scope {
    const char *name;
    uint64_t entered, open; /* how often, and how often it was not left */
    uint64_t time_ns;       /* of all that were left, as what follows: */
    int64_t live_bytes, live_blocks, rss_bytes, allocations; /* what came to the process */
    int64_t most_bytes;                                      /* the largest live_bytes of one */
    uint64_t peak_bytes; /* the most that one's live bytes rose above its begin */
};

struct mark_scopes {
    const struct recording *recording;
    const struct profile *profile;
    VEC(struct mark_scope) items; /* most live bytes first */
};

/* `label`: only this one; NULL: all. -ENOENT and a sentence: no scope has that name. */
int mark_scopes_init(struct mark_scopes *s, const struct recording *r, const struct profile *p,
                     const char *label, struct err *err);
void mark_scopes_release(struct mark_scopes *s);
/* Are there any? */
bool mark_scopes_exist(const struct profile *p);

#endif
