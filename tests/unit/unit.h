/*
 * What every unit test needs: cmocka, and numbers that look random but are the same in every run.
 */
#ifndef TIDE_TEST_UNIT_H
#define TIDE_TEST_UNIT_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* AddressSanitizer keeps freed memory, and takes a walk over the stack for a mistake. */
#if defined(__SANITIZE_ADDRESS__)
#define UNIT_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define UNIT_SANITIZED 1
#endif
#endif
#ifndef UNIT_SANITIZED
#define UNIT_SANITIZED 0
#endif

/* xorshift64*: `state` is any number but 0. */
static inline uint64_t unit_random(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * UINT64_C(0x2545f4914f6cdd1d);
}

/* cmocka compares 64-bit numbers as these, whatever their type. */
#define assert_u64_equal(a, b) assert_int_equal((uint64_t)(a), (uint64_t)(b))

#endif
