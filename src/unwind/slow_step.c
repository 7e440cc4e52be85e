#include "unwind/slow_step.h"

#include "unwind/cfi_expression.h"
#include "unwind/frame_pointer.h"
#include "unwind/go_stack.h"
#include "unwind/signal_return.h"

/* Finds the value that register `n` has in the caller. Returns 0, or -1 if it cannot be known. */
static int restored(const struct unwind_space *space, const struct arch_registers *r,
                    const struct cfi_rule *rule, uint64_t cfa, unsigned n, uint64_t *value,
                    uint64_t *slot)
{
    *slot = 0;
    switch (rule->how) {
    case CFI_SAME:
        *value = r->value[n];
        return r->known >> n & 1 ? 0 : -1;
    case CFI_OFFSET:
        *slot = cfa + (uint64_t)rule->offset;
        return space->read(space, *slot, value);
    case CFI_VAL_OFFSET:
        *value = cfa + (uint64_t)rule->offset;
        return 0;
    case CFI_REGISTER:
        if (rule->reg >= ARCH_REGISTERS || !(r->known >> rule->reg & 1))
            return -1;
        *value = r->value[rule->reg];
        return 0;
    case CFI_EXPRESSION:
        if (expr_evaluate(space, r, rule->expression, rule->expression_size, &cfa, slot))
            return -1;
        return space->read(space, *slot, value);
    case CFI_VAL_EXPRESSION:
        return expr_evaluate(space, r, rule->expression, rule->expression_size, &cfa, value);
    default:
        return -1;
    }
}

/* `module` NULL: the address is in none. */
static enum step_end step_without_cfi(const struct unwind_space *space,
                                      const struct unwind_module *module, struct cfi_row *scratch,
                                      struct arch_registers *r, struct step_result *result)
{
    switch (without_cfi(space, module, r->value[ARCH_REG_PC], scratch)) {
    case WITHOUT_CFI_OUTERMOST:
        return STEP_OUTERMOST;
    case WITHOUT_CFI_GO:
        return go_step(space, r, result);
    case WITHOUT_CFI_SIGNAL:
        return signal_step(space, r, result);
    default:
        return frame_pointer_step(space, r, result);
    }
}

enum step_end unwind_step(const struct unwind_space *space, struct arch_registers *r,
                          struct step_result *result)
{
    struct unwind_module module;
    struct cfi_row row;
    *result = (struct step_result){0};
    uint64_t pc = r->value[ARCH_REG_PC];
    bool found = space->find(space, pc - 1, &module) == 0;
    if (found)
        result->epoch = module.epoch;
    if (!found || cfi_row(&module.cfi, pc - 1, &row))
        return step_without_cfi(space, found ? &module : NULL, &row, r, result);

    uint64_t cfa;
    if (row.cfa_expression) {
        if (expr_evaluate(space, r, row.cfa_expression, row.cfa_expression_size, NULL, &cfa))
            return STEP_LOST;
    } else {
        if (row.cfa_reg >= ARCH_REGISTERS || !(r->known >> row.cfa_reg & 1))
            return STEP_LOST;
        cfa = r->value[row.cfa_reg] + (uint64_t)row.cfa_offset;
    }
    if (row.regs[row.return_reg].how == CFI_UNDEFINED)
        return STEP_OUTERMOST;

    struct arch_registers caller = {.known = 0};
    for (unsigned n = 0; n < ARCH_REGISTERS; n++) {
        uint64_t slot, value;
        if (n == ARCH_REG_PC || restored(space, r, &row.regs[n], cfa, n, &value, &slot))
            continue;
        caller.value[n] = value;
        caller.known |= ARCH_BIT(n);
        if (n == ARCH_REG_FP)
            result->fp_slot = slot;
    }
    if (row.regs[ARCH_REG_SP].how == CFI_SAME) { /* by definition, unless a rule says otherwise */
        caller.value[ARCH_REG_SP] = cfa;
        caller.known |= ARCH_BIT(ARCH_REG_SP);
    }
    uint64_t return_address;
    if (restored(space, r, &row.regs[row.return_reg], cfa, row.return_reg, &return_address,
                 &result->return_slot))
        return STEP_LOST;
    return_address = arch_return_address(return_address);
    if (return_address == 0)
        return STEP_OUTERMOST;
    if (row.return_reg != ARCH_REG_PC && !row.signal_frame) /* the call has overwritten it */
        caller.known &= ~ARCH_BIT(row.return_reg);
    caller.value[ARCH_REG_PC] = return_address + (row.signal_frame ? 1 : 0);
    caller.known |= ARCH_BIT(ARCH_REG_PC);
    *r = caller;
    return STEP_OK;
}
