/*
 * signal_return: from the handler of a signal to what it interrupted, where no call frame
 * information says how.
 *
 * A handler returns into a few instructions that ask the kernel to go on. On x86-64 they are
 * libc's, with call frame information. On aarch64 they are the kernel's own, without; what was
 * interrupted is in the frame that the kernel has pushed. src/arch/MACHINE/signal_return.c knows.
 *
 * [malloc-free] [async-signal-safe]
 */
#ifndef TIDE_UNWIND_SIGNAL_RETURN_H
#define TIDE_UNWIND_SIGNAL_RETURN_H

#include "unwind/step.h"

/* Are those the instructions at this return address? */
bool signal_returns(const struct unwind_space *space, uint64_t pc);

/* For the registers there: those of what was interrupted, its pc + 1 (step.h). */
enum step_end signal_step(const struct unwind_space *space, struct arch_registers *r,
                          struct step_result *result);

#endif
