/*
 * leak_scan: which look at the live blocks a question is about, and what was freed at exit.
 *
 * A profile has a scan for each moment at which all live blocks were looked at (store/recording.h).
 * Their names are those that --at takes: "end", "exit" (before destructors ran), "leaks#N" (the
 * N-th that was asked for while the program ran), or a mark or time at which there was one.
 *
 * Ownership: scans and rows are the profile's.
 */
#ifndef TIDE_ANALYSE_LEAK_SCAN_H
#define TIDE_ANALYSE_LEAK_SCAN_H

#include "base/err.h"
#include "base/strbuf.h"
#include "store/recording.h"

/*
 * `word` NULL: the last one. -EINVAL and a sentence with the scans there are: none was made then.
 * -ENODATA: the recording has none at all. A process that allocated nothing has an empty one.
 */
int leak_scan_resolve(const struct profile *p, const char *word, const struct scan **out,
                      struct err *err);

/* The last scan of a kind, or NULL. */
const struct scan *leak_scan_of(const struct profile *p, enum scan_kind kind);

/*
 * The look by which blocks are called lost, for all commands that do: the last one that could tell,
 * which is the end's if that could. NULL: none; *why is then the reason in words, or NULL.
 */
const struct scan *leak_scan_judged(const struct profile *p, const char **why);

/* "end", "exit", "leaks#2". */
void leak_scan_name(const struct profile *p, const struct scan *s, struct strbuf *out);

struct live_rows {
    VEC(struct live_row) rows;
};

/*
 * What was live when the program began to end, and not at its end, by site and interval of birth.
 * Nothing if one of the two is not known. Reach is as it was before. Usable, untouched and times
 * are of all that was live before, in these intervals.
 */
void leak_scan_freed(const struct profile *p, struct live_rows *out);

/* Of what is lost at the end, by site: bytes that something pointed to when the program began to
 * end, so that only its destructors lost them. One value a site, which the caller frees. */
int64_t *leak_scan_lost_late(const struct profile *p);

#endif
