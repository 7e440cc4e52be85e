/*
 * copied: the stack of another process, from its registers and a copy of the stack's memory.
 *
 * For samples, which the kernel takes at any instruction. The rules of rule.h serve nearly all
 * frames; when one needs more (step.h) after some of them, which follow only pc, sp and fp, the
 * walk begins again with all registers.
 *
 * Threads: none of its own; one struct rules a process. [malloc-free]
 */
#ifndef TIDE_UNWIND_COPIED_H
#define TIDE_UNWIND_COPIED_H

#include "unwind/rule.h"

enum copied_end {
    COPIED_WHOLE,
    COPIED_TRUNCATED, /* it goes on beyond the copy, or has more frames than there is room for */
    COPIED_LOST       /* no unwind information, or none that makes sense */
};

struct copied_stack {
    struct unwind_space space; /* its `read` is not used: the copy is read */
    struct rules *rules;
    const uint8_t *bytes; /* the copy of [start, start + size) */
    uint64_t start, size;
    bool past_end;           /* something beyond the copy was wanted */
    bool wants_fp;           /* it ended for want of the frame pointer, which is not known, */
    uint64_t end_pc, end_sp; /* in the frame with these; pc: a return address */
};

/*
 * Fills `addresses` with the stack, innermost first: the place of the sample + 1, so that it reads
 * like a return address, then return addresses. `at`: the registers at the sample, its pc being
 * the instruction itself. Returns how many there are.
 */
uint32_t copied_walk(struct copied_stack *s, const struct arch_registers *at, uint64_t *addresses,
                     uint32_t room, enum copied_end *end);

#endif
