/*
 * signal_return: unwinds from a signal handler to the code that it interrupted, if no call frame
 * information describes this.
 *
 * A handler returns to a few instructions that ask the kernel to continue. On x86-64 these belong
 * to libc and have call frame information. On aarch64 they belong to the kernel and have none; the
 * interrupted registers are in the frame that the kernel has pushed.
 * src/arch/MACHINE/signal_return.c implements it. [malloc-free] [async-signal-safe]
 */
#ifndef TIDE_UNWIND_SIGNAL_RETURN_H
#define TIDE_UNWIND_SIGNAL_RETURN_H

#include "unwind/slow_step.h"

/* Are the instructions that return from a signal handler at this return address? */
bool signal_returns(const struct unwind_space *space, uint64_t pc);

/* Replaces the registers of a frame with signal_returns by the interrupted ones, with pc + 1
 * (slow_step.h). */
enum step_end signal_step(const struct unwind_space *space, struct arch_registers *r,
                          struct step_result *result);

#endif
