/*
 * mark_scopes: what happened between the marks NAME and NAME.end, added up for each NAME.
 *
 * An end belongs to the last open begin of the same name and thread. The figures are those of the
 * whole process between the two marks. If scopes of one name are nested, as in a recursive
 * function, the sums count the inner ones once. Labels have at most 63 bytes, so that of an end has
 * the first 59 of the name: longer names that agree in these are one scope.
 *
 * Ownership: names belong to the recording; mark_scopes_release frees the rest.
 */
#ifndef TIDE_MODEL_MARK_SCOPES_H
#define TIDE_MODEL_MARK_SCOPES_H

#include <stdbool.h>

#include "base/err.h"
#include "store/recording.h"

struct mark_scope {
    const char *name;
    uint64_t entered, open; /* how often it began, and how often it did not end */
    uint64_t time_ns;       /* sum over all scopes that ended, like the next five fields */
    int64_t live_bytes, live_blocks, rss_bytes, allocations; /* what the process gained */
    int64_t most_bytes;  /* the largest gain of live bytes in a single scope */
    uint64_t peak_bytes; /* the most that live bytes rose within a single scope */
};

struct mark_scopes {
    const struct recording *recording;
    const struct profile *profile;
    VEC(struct mark_scope) items; /* most live bytes first */
};

/* Adds up the scopes of one name (NULL: of all). -ENOENT and a sentence: no scope has this name. */
int mark_scopes_init(struct mark_scopes *s, const struct recording *r, const struct profile *p,
                     const char *label, struct err *err);
void mark_scopes_release(struct mark_scopes *s);
/* Does the profile have any scopes? */
bool mark_scopes_exist(const struct profile *p);

#endif
