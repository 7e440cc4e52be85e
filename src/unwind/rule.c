#include "unwind/rule.h"

#include <string.h>

#include "unwind/frame_pointer.h"

static_assert(RULE_SETS == 1 << 13, "rule_get takes 13 bits of the hash");
static_assert(RULE_MAX < 1 << 16, "a rule's number has 16 bits");

static rule_word rule_simple(enum rule_kind kind, uint32_t epoch)
{
    return rule_pack(kind, epoch, 0, 0, -8); /* a frame record ends with the return address */
}

/* CFA = [fp + n], as gcc writes it for functions that realign the stack: breg(fp) n; deref. */
static bool is_fp_deref(const struct cfi_row *row, int64_t *offset)
{
    const uint8_t *e = row->cfa_expression;
    if (row->cfa_expression_size != 3 || e[0] != 0x70 + ARCH_REG_FP || e[1] >= 0x80 || e[2] != 0x06)
        return false;
    *offset = (int8_t)(e[1] << 1) >> 1;
    return true;
}

static rule_word rule_from_row(const struct cfi_row *row, uint32_t epoch)
{
    const struct cfi_rule *ra = &row->regs[row->return_reg], *fp = &row->regs[ARCH_REG_FP];
    if (row->signal_frame)
        return rule_simple(RULE_SLOW, epoch);
    if (ra->how == CFI_UNDEFINED)
        return rule_simple(RULE_OUTERMOST, epoch);

    enum rule_kind kind = RULE_SLOW;
    int64_t offset = row->cfa_offset, fp_offset = 0;
    if (row->cfa_expression) {
        if (is_fp_deref(row, &offset))
            kind = RULE_FP_DEREF;
    } else if (row->cfa_reg == ARCH_REG_SP) {
        kind = RULE_SP;
    } else if (row->cfa_reg == ARCH_REG_FP) {
        kind = RULE_FP;
    }
    if (kind == RULE_FP_DEREF) {
        if (fp->how != CFI_EXPRESSION || fp->expression_size != 2 ||
            fp->expression[0] != 0x70 + ARCH_REG_FP || fp->expression[1] != 0)
            kind = RULE_SLOW;
    } else if (fp->how == CFI_OFFSET) {
        fp_offset = fp->offset;
    } else if (fp->how != CFI_SAME) {
        kind = RULE_SLOW;
    }
    if (ra->how != CFI_OFFSET || row->regs[ARCH_REG_SP].how != CFI_SAME ||
        !rule_fits(offset, fp_offset, ra->offset) || (fp->how == CFI_OFFSET && fp_offset == 0))
        kind = RULE_SLOW;
    return kind == RULE_SLOW ? rule_simple(RULE_SLOW, epoch)
                             : rule_pack(kind, epoch, offset, fp_offset, ra->offset);
}

static rule_word rule_without_cfi(enum without_cfi decision, uint32_t epoch)
{
    return rule_simple(decision == WITHOUT_CFI_OUTERMOST ? RULE_OUTERMOST
                       : decision == WITHOUT_CFI_GUESS   ? RULE_GUESS
                                                         : RULE_SLOW,
                       epoch);
}

/* The rule's number; rules are never removed, so a number stays valid. -1: no room. */
static int rule_number(struct rules *rules, rule_word rule)
{
    uint64_t at = rule * UINT64_C(0x9e3779b97f4a7c15) >> 50;
    int own = -1;
    for (unsigned i = 0; i < 64; i++, at++) {
        _Atomic uint16_t *slot = &rules->numbers[at % RULE_NUMBERS];
        uint16_t there = atomic_load_explicit(slot, memory_order_acquire);
        if (!there) {
            if (own < 0)
                own = (int)atomic_fetch_add(&rules->count, 1);
            if (own >= RULE_MAX)
                return -1;
            atomic_store_explicit(&rules->rules[own], rule, memory_order_relaxed);
            if (atomic_compare_exchange_strong(slot, &there, (uint16_t)(own + 1)))
                return own;
        }
        if (atomic_load_explicit(&rules->rules[there - 1], memory_order_relaxed) == rule)
            return there - 1;
    }
    return -1;
}

rule_word rule_compute(struct rules *rules, const struct unwind_space *space, uint64_t address)
{
    struct unwind_module module;
    struct cfi_row row;
    rule_word rule;
    if (address >> ARCH_ADDRESS_BITS || space->find(space, address - 1, &module))
        /* It is not cached: generated code comes and goes. */
        return rule_without_cfi(without_cfi(space, NULL, address, &row), 0);
    if (cfi_row(&module.cfi, address - 1, &row))
        rule = rule_without_cfi(without_cfi(space, &module, address, &row), module.epoch);
    else
        rule = rule_from_row(&row, module.epoch);
    int number = rule_number(rules, rule);
    if (number < 0)
        return rule;

    uint64_t hash = address * UINT64_C(0x9e3779b97f4a7c15),
             entry = address << 16 | (unsigned)number;
    _Atomic uint64_t *set = rules->cache[hash >> 51];
    unsigned way = (unsigned)(hash >> 48) & 7;
    for (unsigned i = 0; i < RULE_WAYS; i++) {
        uint64_t empty = 0;
        if (atomic_compare_exchange_strong(&set[(way + i) & 7], &empty, entry))
            return rule;
    }
    unsigned victim = atomic_fetch_add_explicit(&rules->victim, 1, memory_order_relaxed);
    atomic_store_explicit(&set[victim & 7], entry, memory_order_release);
    return rule;
}

void rules_forget(struct rules *rules)
{
    for (unsigned i = 0; i < RULE_SETS; i++)
        for (unsigned way = 0; way < RULE_WAYS; way++)
            if (atomic_load_explicit(&rules->cache[i][way], memory_order_relaxed))
                atomic_store_explicit(&rules->cache[i][way], 0, memory_order_relaxed);
}
