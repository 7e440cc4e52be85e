/*
 * rule_word: a rule of unwind/rule.h in one word. On x86-64 the return address is always at CFA -
 * 8, so a rule does not contain it. Kind 4 bits, epoch 12, fp_offset 20 (signed; 0: fp unchanged),
 * cfa_offset 28 (signed).
 */
#ifndef TIDE_MACHINE_RULE_WORD_H
#define TIDE_MACHINE_RULE_WORD_H

#include <stdbool.h>
#include <stdint.h>

#include "machine/registers.h"

typedef uint64_t rule_word;

static inline uint32_t rule_epoch(rule_word r)
{
    return (uint32_t)(r >> 4) & 0xfff;
}

static inline int64_t rule_fp_offset(rule_word r)
{
    return (int64_t)(r << 28) >> 44;
}

static inline int64_t rule_cfa_offset(rule_word r)
{
    return (int64_t)r >> 36;
}

/* The offset of the return address from the CFA. */
static inline int64_t rule_return_offset(rule_word r)
{
    (void)r;
    return ARCH_RETURN_SLOT;
}

/* Do these offsets fit? */
static inline bool rule_fits(int64_t cfa_offset, int64_t fp_offset, int64_t return_offset)
{
    return return_offset == ARCH_RETURN_SLOT && cfa_offset < 1 << 27 && cfa_offset >= -(1 << 27) &&
           fp_offset < 1 << 19 && fp_offset >= -(1 << 19);
}

static inline rule_word rule_pack(unsigned kind, uint32_t epoch, int64_t cfa_offset,
                                  int64_t fp_offset, int64_t return_offset)
{
    (void)return_offset;
    return (uint64_t)kind | (uint64_t)(epoch & 0xfff) << 4 | ((uint64_t)fp_offset & 0xfffff) << 16 |
           (uint64_t)cfa_offset << 36;
}

#endif
