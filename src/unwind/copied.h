/*
 * copied: unwinds the stack of another process, from its registers and a copy of the stack's
 * memory, for samples, which the kernel takes at any instruction.
 *
 * The rules of rule.h suffice for nearly all frames. They follow only pc, sp and fp; if a later
 * frame needs more (step.h), the walk begins again with all registers. Threads: none of its own;
 * one struct rules per process. [malloc-free]
 */
#ifndef TIDE_UNWIND_COPIED_H
#define TIDE_UNWIND_COPIED_H

#include "unwind/rule.h"

enum copied_end {
    COPIED_WHOLE,
    COPIED_TRUNCATED, /* it continues beyond the copy, or has more frames than there is room for */
    COPIED_LOST       /* no unwind information, or none that makes sense */
};

struct copied_stack {
    struct unwind_space space; /* its `read` is not used: the copy is read */
    struct rules *rules;
    const uint8_t *bytes; /* the copy of [start, start + size) */
    uint64_t start, size;
    bool past_end;           /* something beyond the copy was needed */
    bool wants_fp;           /* it ended because the frame pointer is needed and not known, */
    uint64_t end_pc, end_sp; /* in the frame with these; pc: a return address */
};

/*
 * Fills `addresses` with the stack, innermost first: the address of the sample + 1, so that it can
 * be treated like a return address, then return addresses. `at`: the registers at the sample; its
 * pc is the instruction itself. Returns how many there are.
 */
uint32_t copied_walk(struct copied_stack *s, const struct arch_registers *at, uint64_t *addresses,
                     uint32_t room, enum copied_end *end);

#endif
