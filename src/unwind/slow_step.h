/*
 * slow_step: unwinds one frame with all registers, for code that the rules of rule.h cannot
 * express.
 *
 * This is the slow, complete path: it runs the call frame instructions and their expressions each
 * time. The fast path is walk.h, which calls this for signal frames, the loader's trampolines,
 * realigned stacks and hand-written code. For code without call frame information, see
 * frame_pointer.h. [malloc-free] [async-signal-safe]
 */
#ifndef TIDE_UNWIND_SLOW_STEP_H
#define TIDE_UNWIND_SLOW_STEP_H

#include "unwind/address_space.h"

struct step_result {
    uint64_t return_slot; /* where the return address was read; 0: it was not in memory */
    uint64_t fp_slot;     /* where the caller's frame pointer was read; 0: it is unchanged */
    uint32_t epoch;
};

enum step_end {
    STEP_OK,
    STEP_OUTERMOST, /* the frame says that it has no caller */
    STEP_LOST       /* no unwind information, or none that makes sense */
};

/*
 * Replaces the registers of a frame by those of its caller. The pc is a return address (the
 * instruction before it is looked up); after a signal frame it becomes the interrupted pc + 1, so
 * that the same applies there.
 */
enum step_end unwind_step(const struct unwind_space *space, struct arch_registers *r,
                          struct step_result *result);

#endif
