/*
 * end_budget: how much the collector does when a process ends. The process waits meanwhile, and
 * others queue up behind it.
 *
 * All of it together (the leak scan, the account of resident memory, its mappings) may take 5 % of
 * the time that the process ran, or 200 ms, whichever is more. Forked processes that go on with
 * their parent's program share 2.5 % of the session, or 100 ms: there may be many, and they end
 * together. `run --scan=full` sets no bounds.
 *
 * Budgets are in processor time, so that what is done depends little on what else runs here. What a
 * step takes is estimated from counts before it begins; a step that does not fit is left out. A step
 * that is small by that estimate (20 ms; 2 ms of a forked process) is always done.
 *
 * A busy machine takes many times as long for the same step, in processor time too. No step therefore
 * counts for more than twice its estimate: what is left for the next one follows from what the
 * processes have, and the same program gets the same answers on every machine.
 */
#ifndef TIDE_COLLECT_SESSION_END_BUDGET_H
#define TIDE_COLLECT_SESSION_END_BUDGET_H

#include "collect/session/session_state.h"

/* For the next step of this process's end, in ns; UINT64_MAX: no bounds. */
uint64_t end_budget_left(const struct session *s, const struct target *t);

/* What the calling thread uses from here on to end_budget_stop counts. */
uint64_t end_budget_start(void);
/* `more_ns`: what other threads used for it. `most_ns`: what counts at the most. Returns what counts. */
uint64_t end_budget_stop(struct session *s, struct target *t, uint64_t start, uint64_t more_ns,
                         uint64_t most_ns);
/* The most that counts for a step, by its estimate. */
uint64_t end_budget_most(uint64_t estimate_ns);

#endif
