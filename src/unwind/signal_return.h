/*
 * signal_return: from a signal handler to what it interrupted, if no call frame information says
 * how.
 *
 * A handler returns to a few instructions that ask the kernel to continue. On x86-64 they are
 * libc's, with call frame information. On aarch64 they are the kernel's own, without; what was
 * interrupted is in the frame that the kernel has pushed. src/arch/MACHINE/signal_return.c
 * implements it. [malloc-free] [async-signal-safe]
 */
#ifndef TIDE_UNWIND_SIGNAL_RETURN_H
#define TIDE_UNWIND_SIGNAL_RETURN_H

#include "unwind/step.h"

/* Are these instructions at this return address? */
bool signal_returns(const struct unwind_space *space, uint64_t pc);

/* Replaces the registers there by those of what was interrupted, its pc + 1 (step.h). */
enum step_end signal_step(const struct unwind_space *space, struct arch_registers *r,
                          struct step_result *result);

#endif
