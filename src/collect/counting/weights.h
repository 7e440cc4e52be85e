/*
 * weights: what a block that was sampled stands for (run --sample).
 *
 * A block of `size` bytes is recorded with probability p = 1 - exp(-size / period), so it stands
 * for 1 / p blocks, and for size / p bytes: sums of these have the right mean. The answer follows
 * from the block alone, so that its free takes away exactly what its allocation added. Numbers of
 * blocks are whole: which way they are rounded depends on the block's address, and is right on
 * average. This is the only place that weighs; all that is counted of the heap comes through here.
 */
#ifndef TIDE_COLLECT_COUNTING_WEIGHTS_H
#define TIDE_COLLECT_COUNTING_WEIGHTS_H

#include "collect/counting/ledger.h"

struct amount weights_of(uint64_t period, uint64_t address, uint64_t size, uint64_t usable);

/* `period` 0: all blocks were recorded, and each stands for itself. */
static inline struct amount weigh(uint64_t period, uint64_t address, uint64_t size, uint64_t usable)
{
    if (__builtin_expect(period != 0, 0))
        return weights_of(period, address, size, usable);
    return (struct amount){size, 1, usable};
}

#endif
