/*
 * process_choice: which process of a recording a query is about, with or without --process.
 * Ownership: borrows everything.
 */
#ifndef TIDE_MODEL_PROCESS_CHOICE_H
#define TIDE_MODEL_PROCESS_CHOICE_H

#include "model/query.h"
#include "store/recording.h"

/*
 * The profile that a query is about. This is the only place that decides it.
 *
 * --process names it: PID (the last program of that process), PID#N (its N-th, from 1), or all of
 * them together, if combined_profile_make was called. Without --process it is the program that held
 * the most memory (profile_memory, because a compiler or a browser maps what others allocate); if
 * only samples were taken, the one with the most CPU time, then page faults. But before that:
 *
 * - A process that has the marks in the query (at, since, has_mark) is preferred to one that has
 *   not.
 * - For a metric of graphics processors, so is a process that had such memory.
 * - A program that executed another one is mostly a launcher. It is chosen only if it held
 *   ANSWER_LAUNCHER_BYTES more than the next one.
 *
 * -ENOENT: there is no such process.
 */
#define ANSWER_LAUNCHER_BYTES ((uint64_t)1 << 20)
int answer_process(const struct recording *r, const struct query *q, const struct profile **out,
                   struct err *err);

/* The word PID#N that identifies a profile. The caller frees it. */
char *answer_process_word(const struct recording *r, const struct profile *p);

/* The program that was started, or the last one that it executed; NULL: the recording is empty. */
const struct profile *answer_program(const struct recording *r);

#endif
