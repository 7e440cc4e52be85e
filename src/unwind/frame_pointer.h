/*
 * frame_pointer: unwinds code that has no call frame information, by its frame pointer.
 *
 * without_cfi decides what to do at such a return address, for rule.c, which remembers the
 * decision, and for slow_step.c, which obeys it: the frame is the first of a stack, or there is a
 * way of its own to its caller (go_stack.h, signal_return.h), or the frame pointer is followed.
 * That is a guess, which the functions below check. [malloc-free] [async-signal-safe]
 */
#ifndef TIDE_UNWIND_FRAME_POINTER_H
#define TIDE_UNWIND_FRAME_POINTER_H

#include "unwind/slow_step.h"

enum without_cfi {
    WITHOUT_CFI_OUTERMOST, /* the first frame of a stack that makecontext or Go has made */
    WITHOUT_CFI_GO,        /* code of Go that switches stacks: go_step */
    WITHOUT_CFI_SIGNAL,    /* the return from a signal handler: signal_step */
    WITHOUT_CFI_GUESS      /* the frame pointer, if what it points to makes sense */
};

/* Decides it for the return address `pc`. `module`: the one that contains the address before it, or
 * NULL: none does. `scratch` is overwritten. */
enum without_cfi without_cfi(const struct unwind_space *space, const struct unwind_module *module,
                             uint64_t pc, struct cfi_row *scratch);

/*
 * Can fp be the frame pointer of the function at pc, which has no unwind information and is called
 * at sp? On a stack whose end is not known (`prove`), what is read must be on the same page or
 * proven to be readable.
 *
 * Code that sets no frame pointer keeps that of its caller, and following it would skip frames; but
 * then the return address into its caller is between sp and fp. So the return address at fp must
 * follow a call (or be where a goroutine begins, go_stack.h). If this is not a call of the function
 * by name, and the function keeps a frame pointer, then no word between sp and fp may be a return
 * address after a call by name of a function around pc that keeps none. Other return addresses
 * between sp and fp prove nothing: earlier calls left them there.
 *
 * `sites`: the table of call sites that are remembered [CALL_SITES]; NULL: none are.
 */
bool frame_pointer_is_plausible(const struct unwind_space *space, struct call_site *sites,
                                uint64_t pc, uint64_t sp, uint64_t fp, bool prove);

/* Is this the first frame of a program, as the kernel starts it? It has no unwind information, a
 * frame pointer of 0, and no return address further out, up to `end` or for some kilobytes. */
bool frame_pointer_is_outermost(const struct unwind_space *space, uint64_t sp, uint64_t end,
                                bool prove);

/* Steps by the frame pointer: [fp] is the caller's fp, [fp + 8] the return address. For code
 * without unwind information. */
enum step_end frame_pointer_step(const struct unwind_space *space, struct arch_registers *r,
                                 struct step_result *result);

#endif
