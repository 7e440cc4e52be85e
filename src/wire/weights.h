/*
 * weights: how many blocks a sampled block counts for (run --sample).
 *
 * A block of `size` bytes is recorded with probability p = 1 - exp(-size / period), so it counts
 * for 1 / p blocks, and for size / p bytes: sums of these have the right mean. The result depends
 * on the block alone, so that its free subtracts exactly what its allocation added. Numbers of
 * blocks are integers: the direction of rounding depends on the block's address, and is right on
 * average.
 *
 * This is the only place that computes weights. The program counts with it and the collector lists
 * live blocks with it, so both must get the same result: it uses integers only.
 */
#ifndef TIDE_WIRE_WEIGHTS_H
#define TIDE_WIRE_WEIGHTS_H

#include <stdint.h>

#define WIRE_PERIOD_MOST (UINT64_C(1) << 30) /* a block counts for at most so many */
#define WIRE_SLACK_MOST  UINT64_C(0x7fffffff)

struct wire_weight {
    uint64_t blocks, bytes, usable;
};

/* 1 - exp(-size / period), where 2^63 is 1. */
static inline uint64_t wire_probability(uint64_t size, uint64_t period)
{
    const uint64_t one = UINT64_C(1) << 63;
    unsigned halvings = 0;
    unsigned __int128 x = ((unsigned __int128)size << 63) / period, p = one;
    if (size / period >= 48)
        return one;
    for (; x > one / 4; x >>= 1)
        halvings++;
    /* x - x^2 / 2! + x^3 / 3! - ..., from the end */
    for (unsigned k = 16; k > 1; k--)
        p = one - (x * p >> 63) / k;
    p = x * p >> 63;
    for (; halvings; halvings--) /* exp(-2x) is the square of exp(-x) */
        p = 2 * p - (p * p >> 63);
    return p < one ? (uint64_t)p : one;
}

static inline struct wire_weight wire_weigh(uint64_t period, uint64_t address, uint64_t size,
                                            uint64_t usable)
{
    /* The recorder treats a block of no bytes as one of 1. */
    const uint64_t p = wire_probability(size ? size : 1, period);
    const uint64_t between = (address >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 32; /* times 2^-32 */
    const unsigned __int128 blocks = ((unsigned __int128)1 << 95) / p + between;
    const unsigned __int128 bytes = (((unsigned __int128)size << 63) + p / 2) / p;
    const unsigned __int128 slack = ((unsigned __int128)(usable - size) << 63) / p;
    return (struct wire_weight){
        .blocks = (uint64_t)(blocks >> 32),
        .bytes = (uint64_t)bytes,
        .usable = (uint64_t)bytes + (slack < WIRE_SLACK_MOST ? (uint64_t)slack : WIRE_SLACK_MOST)};
}

#endif
