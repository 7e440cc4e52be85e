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

/* Of a profile, by when it is known: a process that has ended has all its figures, its names may
 * not have been found yet, and something may be noted of it until the session ends. */
enum profile_part { PROFILE_ENDING = 1, PROFILE_FIGURES = 2, PROFILE_NAMES = 4 };

void writer_begin(struct strbuf *out);
/* The chunks of some of these. */
void writer_parts(struct strbuf *out, uint32_t process, const struct profile *p, unsigned wanted,
                  const struct packed_rows *packed);
/* All of them. */
void writer_profile(struct strbuf *out, uint32_t process, const struct profile *p,
                    const struct packed_rows *packed);
void writer_end(struct strbuf *out, const struct recording *r);

/* All of it, for a recording whose rows are unpacked. */
void recording_write(struct strbuf *out, const struct recording *r);

#endif
