#include "collect/counting/weights.h"

#include <math.h>

struct amount weights_of(uint64_t period, uint64_t address, uint64_t size, uint64_t usable)
{
    /* The recorder takes a block of no bytes for one of 1. */
    const double p = -expm1(-(double)(size ? size : 1) / (double)period);
    const double between = (double)((address >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 11) * 0x1p-53;
    return (struct amount){.bytes = (uint64_t)((double)size / p + 0.5),
                           .blocks = (uint64_t)(1 / p + between),
                           .usable = (uint64_t)((double)usable / p + 0.5)};
}
