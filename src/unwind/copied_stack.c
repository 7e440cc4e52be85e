#include "unwind/copied_stack.h"

#include <stddef.h>
#include <string.h>

#include "unwind/frame_pointer.h"

#define LOWEST_CODE 4096

static bool read_copy(struct copied_stack *s, uint64_t address, uint64_t *out)
{
    if (address < s->start || address - s->start > s->size || s->size - (address - s->start) < 8) {
        s->past_end |= address >= s->start;
        return false;
    }
    memcpy(out, s->bytes + (address - s->start), 8);
    return true;
}

static int space_read(const struct unwind_space *self, uint64_t address, uint64_t *out)
{
    struct copied_stack *s = (struct copied_stack *)((const char *)(uintptr_t)self -
                                                     offsetof(struct copied_stack, space));
    return read_copy(s, address, out) ? 0 : -1;
}

/* Steps by the code after the call, for code without unwind information. The return address must be
 * known, or be in such code itself. */
static bool step_by_code(struct copied_stack *s, struct arch_registers *r)
{
    struct arch_epilogue own, next;
    struct unwind_module module;
    uint64_t sp = r->value[ARCH_REG_SP], fp = r->value[ARCH_REG_FP], pc;
    if (!s->space.epilogue || !s->space.epilogue(&s->space, r->value[ARCH_REG_PC], &own) ||
        !read_copy(s, sp + arch_epilogue_return(&own), &pc) ||
        (pc = arch_return_address(pc)) < LOWEST_CODE || pc >> ARCH_ADDRESS_BITS)
        return false;
    if (s->space.find(&s->space, pc - 1, &module) && !s->space.epilogue(&s->space, pc, &next))
        return false;
    if (own.fp != UINT32_MAX) {
        if (!read_copy(s, sp + own.fp, &fp))
            return false;
        r->known |= ARCH_BIT(ARCH_REG_FP);
    }
    r->value[ARCH_REG_PC] = pc;
    r->value[ARCH_REG_SP] = sp + arch_epilogue_end(&own);
    r->value[ARCH_REG_FP] = fp;
    r->known &= ARCH_BIT(ARCH_REG_PC) | ARCH_BIT(ARCH_REG_SP) | ARCH_BIT(ARCH_REG_FP);
    return true;
}

/*
 * Steps from where a sample was taken, in code without unwind information that has not made a
 * frame: stubs, leaf functions of generated code. The return address is still in a register, and
 * neither sp nor fp has changed since the call. If fp leads to the same address, the frame has been
 * made. Later the register may be left over from a call that the function made, and point into the
 * function: in a file's code, only a call of this function by name is accepted.
 */
static bool step_by_link(struct copied_stack *s, struct arch_registers *r)
{
    uint64_t pc = r->value[ARCH_REG_PC], back, kept;
    struct unwind_module module;
    if (!arch_link(r, &back) || !s->space.call || back < LOWEST_CODE || back >> ARCH_ADDRESS_BITS ||
        rule_kind(rule_get(s->rules, &s->space, pc)) != RULE_GUESS)
        return false;
    enum step_call call = s->space.call(&s->space, back, pc);
    if (call != CALL_BARE && (call != CALL_ANY || !s->space.find(&s->space, pc - 1, &module)))
        return false;
    bool past_end = s->past_end;
    bool made = r->known >> ARCH_REG_FP & 1 && read_copy(s, r->value[ARCH_REG_FP] + 8, &kept) &&
                arch_return_address(kept) == back;
    s->past_end = past_end;
    if (made)
        return false;
    r->value[ARCH_REG_PC] = back;
    r->known &= ARCH_BIT(ARCH_REG_PC) | ARCH_BIT(ARCH_REG_SP) | ARCH_BIT(ARCH_REG_FP);
    return true;
}

/* One step by a rule: 1: done; 0: no caller; -1: lost; 2: the rule needs slow_step.h. `called`: the
 * pc is a return address, and not where a sample was taken. */
static int step_by_rule(struct copied_stack *s, struct arch_registers *r, bool called)
{
    uint64_t pc = r->value[ARCH_REG_PC], sp = r->value[ARCH_REG_SP], fp = r->value[ARCH_REG_FP];
    rule_word rule = rule_get(s->rules, &s->space, pc);
    uint64_t cfa = sp + (uint64_t)rule_cfa_offset(rule);
    if (rule_kind(rule) == RULE_GUESS && called && step_by_code(s, r))
        return 1;
    bool fp_known = r->known >> ARCH_REG_FP & 1;
    s->wants_fp = !fp_known && (rule_kind(rule) == RULE_FP || rule_kind(rule) == RULE_FP_DEREF ||
                                rule_kind(rule) == RULE_GUESS);
    if (s->wants_fp)
        return -1;
    switch (rule_kind(rule)) {
    case RULE_SP:
        break;
    case RULE_FP:
        cfa = fp + (uint64_t)rule_cfa_offset(rule);
        break;
    case RULE_FP_DEREF:
        if (!read_copy(s, fp + (uint64_t)rule_cfa_offset(rule), &cfa))
            return -1;
        break;
    case RULE_GUESS:
        if (fp == 0)
            return frame_pointer_is_outermost(&s->space, sp, s->start + s->size, false) ? 0 : -1;
        if (!frame_pointer_is_plausible(&s->space, NULL, pc, sp, fp, false))
            return -1;
        cfa = fp + 16;
        break;
    case RULE_OUTERMOST:
        return 0;
    default:
        return 2;
    }
    if (cfa <= sp)
        return -1;
    if (!read_copy(s, cfa + (uint64_t)rule_return_offset(rule), &pc))
        return -1;
    pc = arch_return_address(pc);
    if (rule_kind(rule) == RULE_FP_DEREF || rule_kind(rule) == RULE_GUESS) {
        if (!read_copy(s, fp, &fp))
            return -1;
    } else if (rule_fp_offset(rule)) {
        if (!read_copy(s, cfa + (uint64_t)rule_fp_offset(rule), &fp))
            return -1;
        fp_known = true;
    }
    if (pc < LOWEST_CODE)
        return rule_kind(rule) == RULE_GUESS ? -1 : 0;
    if (!ARCH_RECORD_ENDS_FRAME && rule_kind(rule) == RULE_GUESS &&
        !rule_record_sp(rule_get(s->rules, &s->space, pc), fp, &cfa))
        return -1;
    r->value[ARCH_REG_PC] = pc;
    r->value[ARCH_REG_SP] = cfa;
    r->value[ARCH_REG_FP] = fp;
    r->known = ARCH_BIT(ARCH_REG_PC) | ARCH_BIT(ARCH_REG_SP);
    if (fp_known)
        r->known |= ARCH_BIT(ARCH_REG_FP);
    return 1;
}

uint32_t copied_walk(struct copied_stack *s, const struct arch_registers *at, uint64_t *addresses,
                     uint32_t room, enum copied_end *end)
{
    struct step_result result;
    uint32_t count;
    bool slowly = false, by_rules;
    s->space.read = space_read;
again:
    count = 0;
    by_rules = false;
    s->past_end = false;
    struct arch_registers r = *at;
    r.value[ARCH_REG_PC]++;
    for (;;) {
        if (count == room) {
            *end = COPIED_TRUNCATED;
            return count;
        }
        addresses[count++] = r.value[ARCH_REG_PC];
        if (count == 1 && step_by_link(s, &r))
            continue;
        int code = slowly ? 2 : step_by_rule(s, &r, count > 1);
        if (code == 2) {
            enum step_end step = unwind_step(&s->space, &r, &result);
            if (step == STEP_LOST && by_rules && !s->past_end) {
                slowly = true;
                goto again;
            }
            if (step == STEP_LOST && count > 1 && step_by_code(s, &r))
                step = STEP_OK;
            code = step == STEP_OK ? 1 : step == STEP_OUTERMOST ? 0 : -1;
        } else {
            by_rules = true;
        }
        if (code == 1)
            continue;
        s->end_pc = r.value[ARCH_REG_PC];
        s->end_sp = r.value[ARCH_REG_SP];
        *end = code == 0 ? COPIED_WHOLE : s->past_end ? COPIED_TRUNCATED : COPIED_LOST;
        return count;
    }
}
