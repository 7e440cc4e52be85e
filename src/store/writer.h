/*
 * writer: makes the bytes of a .tide file from a recording (docs/FORMAT.md). Ownership: writes into
 * the caller's strbuf; keeps nothing.
 */
#ifndef TIDE_STORE_WRITER_H
#define TIDE_STORE_WRITER_H

#include "base/strbuf.h"
#include "store/recording.h"

/* Figures that are not in the profile, because there may be tens of millions. */
struct packed_figures {
    /* Rows as rows.h packs them, one strbuf per interval. */
    const struct strbuf *const *rows;
    const size_t *counts;
    /* Returns a site; it is called once for each, in their order. NULL: take profile.sites. */
    struct site (*site_at)(void *sites, size_t number);
    void *sites;
    size_t site_count;
};

/* The parts of a profile by when they are known: a process that has ended has all its figures, its
 * names may not be known yet, and notes may be added until the session ends. */
enum profile_part { PROFILE_ENDING = 1, PROFILE_FIGURES = 2, PROFILE_NAMES = 4 };

void writer_begin(struct strbuf *out);
/* Writes the chunks of some of these parts. */
void writer_parts(struct strbuf *out, uint32_t process, const struct profile *p, unsigned wanted,
                  const struct packed_figures *packed);
/* Writes the chunks of all parts. */
void writer_profile(struct strbuf *out, uint32_t process, const struct profile *p,
                    const struct packed_figures *packed);
void writer_end(struct strbuf *out, const struct recording *r);

/* Writes a whole file, for a recording whose rows are unpacked. */
void recording_write(struct strbuf *out, const struct recording *r);

#endif
