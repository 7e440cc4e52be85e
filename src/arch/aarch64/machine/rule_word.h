/*
 * rule_word: a rule of unwind/rule.h in one word. On aarch64 a function may store the return
 * address anywhere. Kind 4 bits, epoch 12, then three signed offsets of 16 bits, in words: of the
 * CFA, and from the CFA to the frame pointer (0: unchanged) and to the return address.
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

static inline int64_t rule_cfa_offset(rule_word r)
{
    return (int16_t)(r >> 16) * INT64_C(8);
}

static inline int64_t rule_fp_offset(rule_word r)
{
    return (int16_t)(r >> 32) * INT64_C(8);
}

/* The offset of the return address from the CFA. */
static inline int64_t rule_return_offset(rule_word r)
{
    return (int16_t)(r >> 48) * INT64_C(8);
}

static inline bool rule_offset_fits(int64_t offset)
{
    return offset % 8 == 0 && offset / 8 == (int16_t)(offset / 8);
}

/* Do these offsets fit? */
static inline bool rule_fits(int64_t cfa_offset, int64_t fp_offset, int64_t return_offset)
{
    return rule_offset_fits(cfa_offset) && rule_offset_fits(fp_offset) &&
           rule_offset_fits(return_offset);
}

static inline rule_word rule_pack(unsigned kind, uint32_t epoch, int64_t cfa_offset,
                                  int64_t fp_offset, int64_t return_offset)
{
    return (uint64_t)kind | (uint64_t)(epoch & 0xfff) << 4 |
           (uint64_t)(uint16_t)(cfa_offset / 8) << 16 | (uint64_t)(uint16_t)(fp_offset / 8) << 32 |
           (uint64_t)(uint16_t)(return_offset / 8) << 48;
}

#endif
