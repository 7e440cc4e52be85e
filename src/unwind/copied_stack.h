/*
 * copied_stack: unwinds the stack of another process, from its registers and a copy of the stack's
 * memory, for samples, which the kernel takes at any instruction.
 *
 * The rules of rule.h suffice for nearly all frames. They follow only pc, sp and fp; if a later
 * frame needs more (slow_step.h), the walk begins again with all registers. It starts no threads;
 * each process needs its own struct rules. [malloc-free]
 */
#ifndef TIDE_UNWIND_COPIED_STACK_H
#define TIDE_UNWIND_COPIED_STACK_H

#include "unwind/rule.h"

enum copied_end {
    COPIED_WHOLE,
    COPIED_TRUNCATED, /* the stack continues beyond the copy, or has more frames than `room` */
    COPIED_LOST       /* no unwind information, or none that makes sense */
};

struct copied_stack {
    struct unwind_space space; /* `read` is not used: words come from the copy */
    struct rules *rules;
    const uint8_t *bytes; /* the copy of [start, start + size) */
    uint64_t start, size;
    bool past_end; /* the walk needed a word beyond the copy */
    /* The walk ended because it needed the frame pointer, which is not known. */
    bool wants_fp;
    uint64_t end_pc, end_sp; /* the frame where the walk ended; end_pc is a return address */
};

/*
 * Fills `addresses` with the stack, innermost first: the address of the sample + 1, so that it can
 * be treated like a return address, then return addresses. `at` has the registers at the sample;
 * its pc is the address of the instruction itself. Returns the number of addresses.
 */
uint32_t copied_walk(struct copied_stack *s, const struct arch_registers *at, uint64_t *addresses,
                     uint32_t room, enum copied_end *end);

#endif
