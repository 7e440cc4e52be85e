/*
 * weights: the weight of a live block. With run --sample, a recorded block stands for others
 * (wire/weights.h).
 */
#ifndef TIDE_COLLECT_COUNTING_WEIGHTS_H
#define TIDE_COLLECT_COUNTING_WEIGHTS_H

#include "collect/counting/ledger.h"
#include "wire/weights.h"

/* The weighted amount of a block. `period` 0: all blocks were recorded, and each counts once. */
static inline struct amount weigh(uint64_t period, uint64_t address, uint64_t size, uint64_t usable)
{
    if (__builtin_expect(period == 0, 1))
        return (struct amount){size, 1, usable};
    struct wire_weight w = wire_weigh(period, address, size, usable);
    return (struct amount){w.bytes, w.blocks, w.usable};
}

#endif
