/*
 * checkpoint_schedule: when the next checkpoint is written.
 *
 * The first one comes early. Each later one waits for fifty times the cost of the last one, so
 * checkpoints take 2 % of a processor; with run --sample, which is for production, it waits for
 * five hundred times the cost. If there is much more to write than last time, it also waits for ten
 * times what it is expected to cost, but not longer than half a minute.
 */
#ifndef TIDE_COLLECT_SESSION_CHECKPOINT_SCHEDULE_H
#define TIDE_COLLECT_SESSION_CHECKPOINT_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

#define CHECKPOINT_FIRST_NS       UINT64_C(250000000)
#define CHECKPOINTS_APART_NS      UINT64_C(500000000)
#define CHECKPOINTS_APART_COST    50
#define CHECKPOINTS_APART_SAMPLED 500
/* Wait also for this many times the expected cost of the next one, but not longer than this. */
#define CHECKPOINTS_APART_GROWN 10
#define CHECKPOINTS_LONGEST_NS  UINT64_C(30000000000)

struct checkpoint_schedule {
    uint64_t apart_cost; /* wait at least this many times the cost of the last checkpoint */
    uint64_t last_ns;    /* when the last one began, or was complete; 0: there was none */
    uint64_t cost_ns;    /* cost of the last checkpoint */
    uint64_t amount;     /* amount that the last checkpoint wrote */
};

/* Is it time for the next checkpoint? `amount` is what there is to write now. */
static inline bool checkpoint_is_due(const struct checkpoint_schedule *c, uint64_t now_ns,
                                     uint64_t amount)
{
    if (!c->last_ns)
        return now_ns >= CHECKPOINT_FIRST_NS;
    uint64_t pause = now_ns - c->last_ns;
    double growth = (double)amount / (double)(c->amount ? c->amount : 1);
    return pause >= CHECKPOINTS_APART_NS && pause / c->apart_cost >= c->cost_ns &&
           (pause >= CHECKPOINTS_LONGEST_NS ||
            (double)pause / CHECKPOINTS_APART_GROWN >= (double)c->cost_ns * growth);
}

#endif
