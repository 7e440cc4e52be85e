/*
 * expr: DWARF expressions as they occur in call frame information.
 *
 * [malloc-free] [async-signal-safe]. Returns 0, or -1 for an operation that has no business there,
 * a register that is not known, or memory that cannot be read. Runs a bounded number of operations.
 */
#ifndef TIDE_UNWIND_EXPR_H
#define TIDE_UNWIND_EXPR_H

#include "unwind/step.h"

/* `initial`: pushed first (the CFA, for register rules); NULL: an empty stack. */
int expr_evaluate(const struct unwind_space *space, const struct arch_registers *r,
                  const uint8_t *code, uint32_t size, const uint64_t *initial, uint64_t *out);

#endif
