#ifndef TIDE_BASE_DIVISOR_H
#define TIDE_BASE_DIVISOR_H

#include <stdint.h>

/* The greatest common divisor of two numbers; that of 0 and n is n. */
static inline uint64_t common_divisor(uint64_t a, uint64_t b)
{
    while (b) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

#endif
