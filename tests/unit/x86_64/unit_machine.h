/* What tests need to say in instructions. */
#ifndef TIDE_UNIT_MACHINE_H
#define TIDE_UNIT_MACHINE_H

#include <ucontext.h>

/* Goes on to capture_at(return address, sp of the caller, its fp). */
#define MACHINE_CAPTURE                                                                            \
    "\tmovq (%rsp), %rdi\n"                                                                        \
    "\tleaq 8(%rsp), %rsi\n"                                                                       \
    "\tmovq %rbp, %rdx\n"                                                                          \
    "\tjmp capture_at\n"

#define MACHINE_REALIGNED __attribute__((force_align_arg_pointer))
#define MACHINE_FAULT     "ud2" /* raises SIGILL */

static inline void machine_skip_fault(void *context)
{
    ((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP] += 2;
}

#endif
