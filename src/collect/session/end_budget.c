#include "collect/session/end_budget.h"

#include "base/clock.h"

#define PROGRAM_LEAST_NS  UINT64_C(200000000)
#define PROGRAM_SHARE     20       /* 5 % of its run */
#define PROGRAM_ALWAYS_NS 20000000 /* a step that takes less is always done */
#define FORKED_LEAST_NS   UINT64_C(100000000)
#define FORKED_SHARE      40      /* 2.5 % of the session, for all of them */
#define FORKED_ALWAYS_NS  2000000 /* as PROGRAM_ALWAYS_NS */
#define STEPS_AT_ONE_TIME 2       /* one forked process must leave as much for the others */
#define ESTIMATES_MOST    2       /* a step counts for at most so many times its estimate */

static uint64_t greater(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

uint64_t end_budget_left(const struct session *s, const struct target *t)
{
    uint64_t now_ns = elapsed_ns(s);
    if (s->options->full_scan)
        return UINT64_MAX;
    if (!t->forked) {
        uint64_t all = greater(PROGRAM_LEAST_NS, (now_ns - t->start_ns) / PROGRAM_SHARE);
        return greater(all > t->end_spent_ns ? all - t->end_spent_ns : 0, PROGRAM_ALWAYS_NS);
    }
    uint64_t all = greater(FORKED_LEAST_NS, now_ns / FORKED_SHARE);
    uint64_t left = all > s->forked_spent_ns ? all - s->forked_spent_ns : 0;
    return greater(left / STEPS_AT_ONE_TIME, FORKED_ALWAYS_NS);
}

uint64_t end_budget_start(void)
{
    return thread_cpu_ns();
}

uint64_t end_budget_most(uint64_t estimate_ns)
{
    return estimate_ns * ESTIMATES_MOST;
}

uint64_t end_budget_stop(struct session *s, struct target *t, uint64_t start, uint64_t more_ns,
                         uint64_t most_ns)
{
    uint64_t spent = end_budget_start() - start + more_ns;
    spent = spent < most_ns ? spent : most_ns;
    t->end_spent_ns += spent;
    if (t->forked)
        s->forked_spent_ns += spent;
    return spent;
}
