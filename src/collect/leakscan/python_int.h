/*
 * python_int: pointers that a Python program keeps as ints, as ctypes returns them for `c_void_p`.
 *
 * CPython keeps an int in digits of 30 bits, so memory does not have the address itself. An address
 * has one or two digits. The two words before the digits are the type and, up to 3.11, the number
 * of digits; from 3.12 on, 8 times this number, with the sign in the lower bits. docs/SAFETY.md,
 * "What depends on the insides of other programs", says where this was checked.
 *
 * An int that was freed keeps its type and value; CPython writes a pointer over its reference
 * count.
 */
#ifndef TIDE_COLLECT_LEAKSCAN_PYTHON_INT_H
#define TIDE_COLLECT_LEAKSCAN_PYTHON_INT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define PYTHON_INT_HEADER 24 /* bytes before the digits: reference count, type, number of digits */

/* Do the bytes before `digits` belong to an int? `type` is the address of the type of ints. */
static inline bool python_int_is_at(const char *digits, uint64_t type)
{
    uint64_t found;
    memcpy(&found, digits - 16, sizeof found);
    return __builtin_expect(found == type, 0);
}

/* The value of the int at `digits`, whose first two digits are `first`. false: it was freed, or its
 * value is no address. */
static inline bool python_int_value(const char *digits, uint64_t first, uint64_t *value)
{
    uint64_t references, count;
    memcpy(&references, digits - PYTHON_INT_HEADER, sizeof references);
    memcpy(&count, digits - 8, sizeof count);
    bool freed = references >> 32 && references >> 48 == 0; /* a pointer */
    bool one = count == 1 || count == 1 << 3, two = count == 2 || count == 2 << 3;
    *value = (first & 0x3fffffff) | (two ? first >> 32 << 30 : 0);
    return !freed && (one || two);
}

#endif
