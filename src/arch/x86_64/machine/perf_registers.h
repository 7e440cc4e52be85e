/*
 * perf_registers: which registers to ask the kernel for with a sample, and their numbers in the
 * unwinder. x86-64.
 */
#ifndef TIDE_MACHINE_PERF_REGISTERS_H
#define TIDE_MACHINE_PERF_REGISTERS_H

#include <stdint.h>

/* ax bx cx dx si di bp sp ip, r8-r15; the flags and segments between them are left out. */
#define PERF_REGISTERS_ALL UINT64_C(0xff01ff)
/* Their DWARF numbers, in the kernel's order. */
static const uint8_t perf_register_order[] = {0, 3, 2,  1,  4,  5,  6,  7, 16,
                                              8, 9, 10, 11, 12, 13, 14, 15};

#endif
