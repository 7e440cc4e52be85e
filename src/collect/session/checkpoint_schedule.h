/*
 * checkpoint_schedule: when the next checkpoint is written.
 *
 * The first one comes early. Each later one waits for fifty times the cost of the last one, so
 * checkpoints take 2 % of a processor. If there is much more to write than last time, it also waits
 * for ten times what it is expected to cost, but not longer than half a minute.
 */
#ifndef TIDE_COLLECT_SESSION_CHECKPOINT_SCHEDULE_H
#define TIDE_COLLECT_SESSION_CHECKPOINT_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

#define CHECKPOINT_FIRST_NS     UINT64_C(250000000)
#define CHECKPOINTS_APART_NS    UINT64_C(500000000)
#define CHECKPOINTS_APART_COST  50                    /* times the cost of the last one */
#define CHECKPOINTS_APART_GROWN 10                    /* times the expected cost of this one, */
#define CHECKPOINTS_LONGEST_NS  UINT64_C(30000000000) /* but at most so long */

struct checkpoint_schedule {
    uint64_t last_ns; /* when the last one began, or was complete; 0: there was none */
    uint64_t cost_ns; /* what it cost */
    uint64_t amount;  /* how much there was to write */
};

/* `amount`: how much there is to write now. */
static inline bool checkpoint_is_due(const struct checkpoint_schedule *c, uint64_t now_ns,
                                     uint64_t amount)
{
    if (!c->last_ns)
        return now_ns >= CHECKPOINT_FIRST_NS;
    uint64_t pause = now_ns - c->last_ns;
    double growth = (double)amount / (double)(c->amount ? c->amount : 1);
    return pause >= CHECKPOINTS_APART_NS && pause / CHECKPOINTS_APART_COST >= c->cost_ns &&
           (pause >= CHECKPOINTS_LONGEST_NS ||
            (double)pause / CHECKPOINTS_APART_GROWN >= (double)c->cost_ns * growth);
}

#endif
