/*
 * mark_rows: the marks of a process as rows of a table, numbered within their label, with their
 * values; if wanted, with the readings that the collector took in between (stamps).
 *
 * Ownership: rows borrow from recording and profile; mark_rows_release frees the rest.
 */
#ifndef TIDE_MODEL_MARK_ROWS_H
#define TIDE_MODEL_MARK_ROWS_H

#include <stdbool.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "store/recording.h"

struct mark_row {
    const char *label; /* "": a stamp of the collector */
    size_t index;      /* among the marks of that label, from 1; 0: a stamp */
    const struct stamp *stamp;
    size_t first, count; /* its values: indexes into mark_rows.values */
};

struct mark_rows {
    const struct recording *recording;
    const struct profile *profile;
    size_t marks;              /* how many rows are marks */
    VEC(struct mark_row) rows; /* in order of time */
    /* The values of one mark are adjacent, in the order in which they were given. */
    struct mark_value *values;
};

/*
 * Lists the marks with a label (NULL: all marks) and, with `stamps`, the collector's stamps.
 * -ENOENT and a sentence that lists the labels: no mark has this label.
 */
int mark_rows_init(struct mark_rows *m, const struct recording *r, const struct profile *p,
                   const char *label, bool stamps, struct err *err);
void mark_rows_release(struct mark_rows *m);

/* Does a mark of this name have the label that is the first `size` bytes of `label`? The name is
 * cut if the label was longer than MARK_NAME_MOST. */
bool mark_has_label(const char *name, const char *label, size_t size);

/* Appends the existing labels, as in "event#1 to #100, ten#1 to #10"; nothing if there are none. */
void mark_labels(const struct profile *p, struct strbuf *out);

#endif
