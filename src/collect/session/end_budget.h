/*
 * end_budget: how much work the collector does when a process ends. The process waits meanwhile,
 * and others queue up behind it.
 *
 * All steps together (the leak scan, the account of resident memory, the mappings) may take 5 % of
 * the time that the process ran, or 200 ms, whichever is more. Forked processes that continue their
 * parent's program share 2.5 % of the session, or 100 ms: there may be many, and they end together.
 * `run --scan=full` sets no limit. If allocations are sampled, there is no scan, and the mappings
 * are read only if that takes little (requests.c).
 *
 * Budgets are in processor time, so that the work depends little on what else runs on the machine.
 * The cost of a step is estimated from counts before it begins; a step that does not fit is left
 * out. A step whose estimate is small (20 ms; 2 ms for a forked process) is always done.
 *
 * A busy machine takes many times as long for the same step, in processor time too. So no step
 * counts for more than twice its estimate. What is left for the next step then depends on the
 * numbers of blocks and pages, and the same program gets the same steps on every machine.
 */
#ifndef TIDE_COLLECT_SESSION_END_BUDGET_H
#define TIDE_COLLECT_SESSION_END_BUDGET_H

#include "collect/session/session_state.h"

/* What is left for the next step of this process's end, in ns; UINT64_MAX: no limit. */
uint64_t end_budget_left(const struct session *s, const struct target *t);

/* Starts a step: the processor time that the calling thread uses from here to end_budget_stop
 * counts. */
uint64_t end_budget_start(void);
/* Ends a step. `more_ns` is the time that other threads used for the step. Returns the time that
 * counts for the budget, which is at most `most_ns`. */
uint64_t end_budget_stop(struct session *s, struct target *t, uint64_t start, uint64_t more_ns,
                         uint64_t most_ns);
/* The most that a step counts for, given its estimate. */
uint64_t end_budget_most(uint64_t estimate_ns);

#endif
