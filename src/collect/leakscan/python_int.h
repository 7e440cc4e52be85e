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

/* The value of an int whose first digits are the word `digits`. `before` points to the
 * PYTHON_INT_HEADER bytes before it, and `type` is the address of the type of ints. false: there is
 * no int, or none that may be an address. */
static inline bool python_int_read(const char *before, uint64_t type, uint64_t digits,
                                   uint64_t *value)
{
    uint64_t header[PYTHON_INT_HEADER / 8];
    memcpy(header, before, sizeof header);
    if (header[1] != type || (header[0] >> 32 && header[0] >> 32 < 1u << 16))
        return false;
    bool two = header[2] == 2 || header[2] == 2u << 3;
    if (!two && header[2] != 1 && header[2] != 1u << 3)
        return false;
    *value = (digits & 0x3fffffff) | (two ? digits >> 32 << 30 : 0);
    return true;
}

#endif
