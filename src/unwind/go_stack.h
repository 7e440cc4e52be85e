/*
 * go_stack: unwinds from C code to the Go code that called it.
 *
 * A goroutine has a small stack of its own. To call C, runtime.asmcgocall switches to the thread's
 * stack, and stores there how to switch back. No call frame information describes this, but the
 * instructions after its call do it: they are few, without a branch, and end in a return. go_step
 * simulates these instructions, only reading memory, and gives up if it finds any other
 * instruction. So it assumes nothing about where Go stores what, and the stacks of a version that
 * does it differently are not unwound, rather than unwound wrongly. This was checked with Go 1.19
 * and 1.26 on x86-64, executables with and without -buildmode=pie. From there on Go's own frames
 * have frame pointers.
 *
 * The first frame of a goroutine was never called. Its return address is the second byte of
 * runtime.goexit, which begins with a no-operation for that purpose.
 *
 * Two cases are not unwound: runtime.systemstack and runtime.mcall, by which the runtime leaves a
 * goroutine for its own work; and executables without an .eh_frame_hdr (those that Go's own linker
 * linked). [malloc-free] [async-signal-safe]
 */
#ifndef TIDE_UNWIND_GO_STACK_H
#define TIDE_UNWIND_GO_STACK_H

#include "unwind/slow_step.h"

/* Does the code at this return address, of this module, switch to another stack and return
 * there? */
bool go_switches(const struct unwind_space *space, const struct unwind_module *module, uint64_t pc);

/* Is this return address, of this module, the one that a goroutine's first function gets? */
bool go_is_first(const struct unwind_space *space, const struct unwind_module *module, uint64_t pc);

/* Replaces the registers of a frame with go_switches by those of its caller. Returns STEP_OK or
 * STEP_LOST. */
enum step_end go_step(const struct unwind_space *space, struct arch_registers *r,
                      struct step_result *result);

#endif
