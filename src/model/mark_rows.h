/*
 * mark_rows: the marks of a process as rows of a table, numbered within their label, with their
 * values; stamps of the collector's own between them where wanted.
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
    const char *label; /* "": a stamp of the collector's own */
    size_t index;      /* among the marks of that label, from 1; 0: a stamp */
    const struct stamp *stamp;
    size_t first, count; /* its values, in mark_rows.values */
};

struct mark_rows {
    const struct recording *recording;
    const struct profile *profile;
    size_t marks;              /* how many rows are marks */
    VEC(struct mark_row) rows; /* in order of time */
    struct mark_value *values; /* those of one mark side by side, in the order they were given */
};

/*
 * `label`: only these marks; NULL: all. `stamps`: the collector's own as well. -ENOENT and a
 * sentence with the labels there are: no mark has that label.
 */
int mark_rows_init(struct mark_rows *m, const struct recording *r, const struct profile *p,
                   const char *label, bool stamps, struct err *err);
void mark_rows_release(struct mark_rows *m);

/* Is a mark of this name one of that label, `size` bytes of which count? A name may be a label that
 * was cut: MARK_NAME_MOST. */
bool mark_has_label(const char *name, const char *label, size_t size);

/* "event#1 to #100, ten#1 to #10": the labels there are; nothing when there are none. */
void mark_labels(const struct profile *p, struct strbuf *out);

#endif
