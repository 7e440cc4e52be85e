/* What tests need to say in instructions. */
#ifndef TIDE_UNIT_MACHINE_H
#define TIDE_UNIT_MACHINE_H

#include <ucontext.h>

/* Goes on to capture_at(return address, sp of the caller, its fp). */
#define MACHINE_CAPTURE                                                                            \
    "\tmov x0, x30\n"                                                                              \
    "\tmov x1, sp\n"                                                                               \
    "\tmov x2, x29\n"                                                                              \
    "\tb capture_at\n"

#define MACHINE_REALIGNED
#define MACHINE_FAULT "udf #0" /* raises SIGILL */

static inline void machine_skip_fault(void *context)
{
    ((ucontext_t *)context)->uc_mcontext.pc += 4;
}

#endif
