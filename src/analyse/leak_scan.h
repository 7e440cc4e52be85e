/*
 * leak_scan: which scan of live blocks a question is about, and what was freed at exit.
 *
 * A profile has a scan for each moment at which all live blocks were examined (store/recording.h).
 * They have the names that --at takes: "end", "exit" (before destructors ran), "leaks#N" (the N-th
 * on request while the program ran), or a mark or time at which there was one.
 *
 * Ownership: scans and rows belong to the profile.
 */
#ifndef TIDE_ANALYSE_LEAK_SCAN_H
#define TIDE_ANALYSE_LEAK_SCAN_H

#include "base/err.h"
#include "base/strbuf.h"
#include "store/recording.h"

/*
 * `word` NULL: the last one. -EINVAL and a sentence that lists the scans: there was none at that
 * moment. -ENODATA: the recording has none at all. A process that allocated nothing has an empty
 * one.
 */
int leak_scan_resolve(const struct profile *p, const char *word, const struct scan **out,
                      struct err *err);

/*
 * The scan by which blocks are called lost, for all commands that do so: the last one that knows
 * reachability, which is the one at the end if that knows it. NULL: none; *why is then the reason
 * in words, or NULL.
 */
const struct scan *leak_scan_judged(const struct profile *p, const char **why);

/* Did the scan look at blocks that it could not call lost or reachable, because the runtime that
 * they belonged to had released their owners (Ruby does)? */
bool leak_scan_doubts(const struct profile *p, const struct scan *s);

/* "end", "exit", "leaks#2". */
void leak_scan_name(const struct profile *p, const struct scan *s, struct strbuf *out);

struct live_rows {
    VEC(struct live_row) rows;
};

/*
 * What was live when the program began to end, and not at its end, by site and interval of
 * allocation. Nothing if one of the two is unknown. Reachability is that of the earlier scan.
 * Usable, untouched and times are of everything that was live at the earlier scan, in these
 * intervals.
 */
void leak_scan_freed(const struct profile *p, struct live_rows *out);

/* For each site, the lost bytes at the end to which something pointed when the program began to
 * end, so that only its destructors lost them. The caller frees the result. */
int64_t *leak_scan_lost_late(const struct profile *p);

#endif
