/*
 * rule: describes in 8 bytes how to get from a return address to its caller; it is computed once
 * per address.
 *
 * Nearly all code needs only these facts: CFA = sp + n or fp + n, whether and where the fp is
 * saved, or "no caller". Code that needs more has the rule RULE_SLOW, and slow_step.h unwinds it.
 * There are two tables, both of fixed size and lock-free:
 *
 *   cache   return address -> number of its rule; 8 bytes a place, 8 places (one cache line) a set;
 *           a full set forgets its oldest entry, which is then computed again.
 *   rules   the distinct rules by number, one after the other: there are a few hundred in a large
 * program, so they stay in the first-level cache; `numbers` finds the number of a rule when one is
 * computed.
 *
 * An entry of either table is one 64-bit word, so that a reader sees all of it or nothing.
 * [malloc-free] [async-signal-safe]. Memory comes from the caller, zeroed.
 */
#ifndef TIDE_UNWIND_RULE_H
#define TIDE_UNWIND_RULE_H

#include <assert.h>
#include <stdatomic.h>
#include <stdint.h>

#include "machine/rule_word.h"
#include "unwind/address_space.h"

enum rule_kind {
    RULE_NONE,     /* never stored */
    RULE_SP,       /* CFA = sp + cfa_offset */
    RULE_FP,       /* CFA = fp + cfa_offset */
    RULE_FP_DEREF, /* CFA = [fp + cfa_offset], fp saved at [fp] (realigned stacks) */
    RULE_GUESS,    /* no unwind information: a frame pointer, if what it points to makes sense */
    RULE_OUTERMOST,
    RULE_SLOW
};

/* How the rest of a rule is packed depends on the machine (machine/rule_word.h). */
static inline enum rule_kind rule_kind(rule_word r)
{
    return (enum rule_kind)(r & 15);
}

#define RULE_SETS    8192
#define RULE_WAYS    8
#define RULE_MAX     8192
#define RULE_NUMBERS 16384

struct rules {
    _Alignas(64) _Atomic uint64_t cache[RULE_SETS][RULE_WAYS]; /* address << 16 | rule number */
    _Atomic rule_word rules[RULE_MAX];
    _Atomic uint16_t numbers[RULE_NUMBERS]; /* hash of a rule -> its number + 1 */
    _Atomic uint32_t count;
    _Atomic uint32_t victim; /* the way that the next full set replaces */
};

/* Computes, stores and returns the rule for a return address. */
rule_word rule_compute(struct rules *rules, const struct unwind_space *space, uint64_t address);

/* Forgets all addresses, because code was unloaded. */
void rules_forget(struct rules *rules);

/*
 * For machines where a frame record is not at the end of its frame: the stack pointer of a frame
 * that was reached through its callee's record. It is computed from the frame's own record, to
 * which its frame pointer points, if the function's rule says where in the frame the record is. *sp
 * is the lowest possible value at first, and stays so if the rule does not need it. Returns false
 * if the rule needs the stack pointer and it is not known.
 */
static inline bool rule_record_sp(rule_word r, uint64_t fp, uint64_t *sp)
{
    if (rule_kind(r) != RULE_SP)
        return rule_kind(r) != RULE_SLOW;
    uint64_t end = fp - (uint64_t)rule_fp_offset(r), from = end - (uint64_t)rule_cfa_offset(r);
    if (!rule_fp_offset(r) || rule_return_offset(r) != rule_fp_offset(r) + 8 || from < *sp)
        return false;
    *sp = from;
    return true;
}

/* Prefetches the cache line that rule_get will need. It is always inlined, because gcc would drop
 * calls of a function that only prefetches. */
static inline __attribute__((always_inline)) void rule_prefetch(const struct rules *rules,
                                                                uint64_t address)
{
    __builtin_prefetch(&rules->cache[address * UINT64_C(0x9e3779b97f4a7c15) >> 51]);
}

static inline rule_word rule_get(struct rules *rules, const struct unwind_space *space,
                                 uint64_t address)
{
    uint64_t hash = address * UINT64_C(0x9e3779b97f4a7c15);
    _Atomic uint64_t *set = rules->cache[hash >> 51];
    unsigned way = (unsigned)(hash >> 48) & 7;
    for (unsigned i = 0; i < RULE_WAYS; i++) {
        uint64_t entry = atomic_load_explicit(&set[(way + i) & 7], memory_order_acquire);
        if (entry >> 16 == address)
            return atomic_load_explicit(&rules->rules[entry & 0xffff], memory_order_relaxed);
        if (!entry)
            break;
    }
    return rule_compute(rules, space, address);
}

#endif
