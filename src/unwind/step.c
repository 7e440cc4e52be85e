#include "unwind/step.h"

#include "unwind/expr.h"
#include "unwind/go.h"
#include "unwind/signal_return.h"

#define LOWEST_CODE   4096       /* nothing is ever mapped at page 0 */
#define GUESS_LARGEST (64 << 10) /* bytes of a frame that is guessed */
#define FIRST_SEARCH  4096       /* bytes to search beyond a frame that claims to be the first */

/* Which call ends at this address? Looks it up in `sites` first, and keeps the answer there. */
static enum step_call call_at(const struct unwind_space *space, struct call_site *sites,
                              uint64_t address, uint64_t callee)
{
    struct call_site found, *place;
    if (!sites || !space->call_site)
        return space->call(space, address, callee);
    place = call_site_place(sites, address);
    if (place->address != address) {
        if (!space->call_site(space, address, &found))
            return CALL_NONE;
        *place = found;
    }
    return call_site_seen_from(place, callee);
}

/* Is there a return address in [from, to), at least of this kind? `unread`: the result if the stack
 * cannot be read. */
static bool has_return_address(const struct unwind_space *space, struct call_site *sites,
                               uint64_t from, uint64_t to, uint64_t callee, enum step_call kind,
                               bool prove, bool unread)
{
    uint64_t page = from >> 12, word;
    from = (from + 7) & ~UINT64_C(7);
    for (uint64_t at = from; at < to; at += 8) {
        if (prove && at >> 12 != page && space->readable && !space->readable(space, at))
            return unread;
        page = at >> 12;
        if (space->read(space, at, &word))
            return unread;
        word = arch_return_address(word);
        if (word >= LOWEST_CODE && word >> ARCH_ADDRESS_BITS == 0 &&
            (kind == CALL_ANY || call_reaches(word, callee)) &&
            call_at(space, sites, word, callee) >= kind)
            return true;
    }
    return false;
}

bool step_fp_plausible(const struct unwind_space *space, struct call_site *sites, uint64_t pc,
                       uint64_t sp, uint64_t fp, bool prove)
{
    struct unwind_module module;
    uint64_t back;
    if (fp % 8 || fp < sp || fp - sp > GUESS_LARGEST)
        return false;
    if (prove && (fp + 8) >> 12 != sp >> 12 && space->readable &&
        !(space->readable(space, fp) && space->readable(space, fp + 8)))
        return false;
    if (!space->call)
        return true;
    if (space->read(space, fp + 8, &back))
        return false;
    back = arch_return_address(back);
    if (back >= LOWEST_CODE && back >> ARCH_ADDRESS_BITS == 0) {
        enum step_call call = call_at(space, sites, back, pc);
        if (call == CALL_NONE || call == CALL_FRAMED)
            return call == CALL_FRAMED || (space->find(space, back - 1, &module) == 0 &&
                                           go_is_first(space, &module, back));
    }
    return !has_return_address(space, sites, sp, fp, pc, CALL_BARE, prove, true);
}

bool step_is_first(const struct unwind_space *space, uint64_t sp, uint64_t end, bool prove)
{
    uint64_t most = prove && !space->readable ? (sp | 4095) + 1 : sp + FIRST_SEARCH;
    if (end > most)
        end = most;
    return !space->call || !has_return_address(space, NULL, sp, end, 0, CALL_ANY, prove, false);
}

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

enum step_end unwind_step(const struct unwind_space *space, struct arch_registers *r,
                          struct step_result *result)
{
    struct unwind_module module;
    struct cfi_row row;
    *result = (struct step_result){0};
    uint64_t pc = r->value[ARCH_REG_PC];
    if (space->find(space, pc - 1, &module))
        return signal_returns(space, pc) ? signal_step(space, r, result)
                                         : unwind_step_fp(space, r, result);
    result->epoch = module.epoch;
    if (cfi_row(&module.cfi, pc - 1, &row))
        return cfi_is_planted(&module.cfi, pc, &row) || go_is_first(space, &module, pc)
                   ? STEP_OUTERMOST
               : go_switches(space, &module, pc) ? go_step(space, r, result)
               : signal_returns(space, pc)       ? signal_step(space, r, result)
                                                 : unwind_step_fp(space, r, result);

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

/* The stack pointer of a frame that was reached through its callee's frame record
 * (rule_record_sp). */
static bool record_sp(const struct unwind_space *space, uint64_t pc, uint64_t fp, uint64_t *sp)
{
    struct unwind_module module;
    struct cfi_row row;
    if (space->find(space, pc - 1, &module) || cfi_row(&module.cfi, pc - 1, &row) ||
        row.cfa_expression || row.cfa_reg != ARCH_REG_SP)
        return true; /* it is not needed */
    const struct cfi_rule *saved = &row.regs[ARCH_REG_FP], *ra = &row.regs[row.return_reg];
    uint64_t from = fp - (uint64_t)saved->offset - (uint64_t)row.cfa_offset;
    if (row.signal_frame || saved->how != CFI_OFFSET || ra->how != CFI_OFFSET ||
        ra->offset != saved->offset + 8 || from < *sp)
        return false;
    *sp = from;
    return true;
}

enum step_end unwind_step_fp(const struct unwind_space *space, struct arch_registers *r,
                             struct step_result *result)
{
    uint64_t fp = r->value[ARCH_REG_FP], sp = r->value[ARCH_REG_SP], up, return_address;
    uint64_t end = fp + 16;
    if (!(r->known >> ARCH_REG_FP & 1) ||
        !step_fp_plausible(space, NULL, r->value[ARCH_REG_PC], sp, fp, true))
        return STEP_LOST;
    if (space->read(space, fp, &up) || space->read(space, fp + 8, &return_address))
        return STEP_LOST;
    return_address = arch_return_address(return_address);
    if (return_address < LOWEST_CODE ||
        (!ARCH_RECORD_ENDS_FRAME && !record_sp(space, return_address, up, &end)))
        return STEP_LOST;
    result->return_slot = fp + 8;
    result->fp_slot = fp;
    *r = (struct arch_registers){.known = ARCH_BIT(ARCH_REG_FP) | ARCH_BIT(ARCH_REG_SP) |
                                          ARCH_BIT(ARCH_REG_PC)};
    r->value[ARCH_REG_FP] = up;
    r->value[ARCH_REG_SP] = end;
    r->value[ARCH_REG_PC] = return_address;
    return STEP_OK;
}
