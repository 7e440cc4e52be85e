/*
 * writer: a recording as the bytes of a .tide file. docs/FORMAT.md is its twin.
 *
 * Ownership: writes into a strbuf of the caller's; keeps nothing.
 */
#ifndef TIDE_STORE_WRITER_H
#define TIDE_STORE_WRITER_H

#include "base/strbuf.h"
#include "store/recording.h"

/* Rows as rows.h packs them, one strbuf an interval; NULL: take them from profile.rows. */
struct packed_rows {
    const struct strbuf *const *rows;
    const size_t *counts;
};

void writer_begin(struct strbuf *out);
void writer_profile(struct strbuf *out, uint32_t process, const struct profile *p,
                    const struct packed_rows *packed);
void writer_end(struct strbuf *out, const struct recording *r);

/* All of it, for a recording whose rows are unpacked. */
void recording_write(struct strbuf *out, const struct recording *r);

#endif
