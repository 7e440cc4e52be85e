/*
 * answer: a query put to a recording, and everything that came out of it.
 *
 * The one entry to the model for commands: picks the process, resolves the moments, measures,
 * filters, groups, sorts and cuts. Rows are ready to be printed by src/report.
 *
 * Ownership: borrows recording and query, which must outlive it; answer_release frees the rest.
 */
#ifndef TIDE_MODEL_ANSWER_H
#define TIDE_MODEL_ANSWER_H

#include "model/aggregate.h"
#include "model/histogram.h"
#include "model/merged.h"

struct answer {
    const struct recording *recording;
    const struct query *query;
    const struct profile *profile;
    struct window window;
    struct totals totals; /* of the process and window, whatever the focus */
    struct frame_table frames;
    struct measure measure;
    struct call_tree tree;
    struct merged merged; /* tree and stacks only */
    struct answer_rows rows;
    struct histograms histograms; /* if the query asks for them */
    struct answer_row of;         /* callers and callees: the function itself */
};

/*
 * The profile that a query is about. This is the only place where that is decided.
 *
 * --process names it: PID (the last program of that process), PID#N (its N-th, from 1), or all of
 * them together, if combined_profile_make was called. Without --process it is the program that held
 * the most memory (profile_memory: a compiler or a browser maps what others allocate); where only
 * samples were taken, the one with the most CPU time, then page faults. Two rules come before that:
 *
 * - A process that has the marks which the query names (at, since, has_mark) goes before one that
 *   has not.
 * - A program that became another one by exec is mostly a launcher. It is chosen only where it
 *   held ANSWER_LAUNCHER_BYTES more than what it became.
 *
 * -ENOENT: there is none.
 */
#define ANSWER_LAUNCHER_BYTES ((uint64_t)1 << 20)
int answer_process(const struct recording *r, const struct query *q, const struct profile **out,
                   struct err *err);

/* PID#N, the word that names a profile. The caller frees it. */
char *answer_process_word(const struct recording *r, const struct profile *p);

/* The program that was started, as what it became by exec; NULL: the recording is empty. */
const struct profile *answer_program(const struct recording *r);

/* -EINVAL: the question makes no sense; -ENOENT, -ENODATA: this recording does not have it. */
int answer_query(struct answer *a, const struct recording *r, const struct query *q,
                 struct err *err);
void answer_release(struct answer *a);

#endif
