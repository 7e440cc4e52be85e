/*
 * cfi_expression: evaluates DWARF expressions in call frame information. [malloc-free]
 * [async-signal-safe]. The number of operations is limited. cfi.c reads the rules that have
 * expressions, and slow_step.c applies them.
 */
#ifndef TIDE_UNWIND_CFI_EXPRESSION_H
#define TIDE_UNWIND_CFI_EXPRESSION_H

#include "unwind/address_space.h"

/* Evaluates an expression. `initial` is pushed first (the CFA, for register rules); NULL: the stack
 * begins empty. Returns 0, or -1 for an operation that must not occur in call frame information, an
 * unknown register, or memory that cannot be read. */
int expr_evaluate(const struct unwind_space *space, const struct arch_registers *r,
                  const uint8_t *code, uint32_t size, const uint64_t *initial, uint64_t *out);

#endif
