/*
 * perf_registers: which registers to ask the kernel for with a sample, and their numbers in the
 * unwinder. aarch64: the kernel's order is DWARF's.
 */
#ifndef TIDE_MACHINE_PERF_REGISTERS_H
#define TIDE_MACHINE_PERF_REGISTERS_H

#include <stdint.h>

/* x0-x30, sp, pc. */
#define PERF_REGISTERS_ALL ((UINT64_C(1) << 33) - 1)
static const uint8_t perf_register_order[] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10,
                                              11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
                                              22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32};

#endif
