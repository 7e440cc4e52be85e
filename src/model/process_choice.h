/*
 * process_choice: which process of a recording a query is about, by --process or without it.
 *
 * Ownership: borrows everything.
 */
#ifndef TIDE_MODEL_PROCESS_CHOICE_H
#define TIDE_MODEL_PROCESS_CHOICE_H

#include "model/query.h"
#include "store/recording.h"

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

#endif
