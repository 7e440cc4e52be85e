/*
 * caller: who called a hook.
 *
 * Hooks are compiled with frame pointers, so the hook's own frame shows it: the frame record has
 * the frame pointer and the return address of the caller. The caller's stack pointer is where the
 * hook's frame ends, which the compiler knows. A hook that was jumped to from an executable's own
 * function (record/entry_patch.h) was called by entry_wrapper, whose frame consists of its frame
 * record and what is below.
 */
#ifndef TIDE_MACHINE_CALLER_H
#define TIDE_MACHINE_CALLER_H

#include <stdint.h>

#include "machine/registers.h"

#if defined(__clang__)
#error "clang does not know where a frame ends on aarch64 (__builtin_dwarf_cfa); build with gcc"
#endif

#define FRAME_RECORD() ((const uint64_t *)__builtin_frame_address(0))
#define CALLER_OF(record, end)                                                                     \
    ((const uint64_t[3]){(record)[0], arch_return_address((record)[1]), (uint64_t)(uintptr_t)(end)})
#define OWN_FRAME()      CALLER_OF(FRAME_RECORD(), __builtin_dwarf_cfa())
#define WRAPPER_RECORD() ((const uint64_t *)(uintptr_t)FRAME_RECORD()[0])
#define WRAPPER_FRAME()  CALLER_OF(WRAPPER_RECORD(), WRAPPER_RECORD() + 2)
#define CALLER()         (FROM_ENTRY ? WRAPPER_FRAME() : OWN_FRAME())
#define CALLER_FP(frame) ((frame)[0])
#define CALLER_PC(frame) ((frame)[1])
#define CALLER_SP(frame) ((frame)[2])

#endif
