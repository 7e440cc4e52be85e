/*
 * caller: who called a hook.
 *
 * Hooks are compiled with frame pointers, so the hook's own frame shows it. It is passed on as an
 * address, so that its words are read one by one: read together, so soon after they were written,
 * they would cause a stall. A hook that was jumped to from an executable's own function
 * (record/entry_patch.h) was called by entry_wrapper, whose frame is used instead.
 */
#ifndef TIDE_MACHINE_CALLER_H
#define TIDE_MACHINE_CALLER_H

#include <stdint.h>

#define OWN_FRAME()      ((const uint64_t *)__builtin_frame_address(0))
#define CALLER()         (FROM_ENTRY ? (const uint64_t *)(uintptr_t)OWN_FRAME()[0] : OWN_FRAME())
#define CALLER_FP(frame) ((frame)[0])
#define CALLER_PC(frame) ((frame)[1])
#define CALLER_SP(frame) ((uint64_t)(uintptr_t)((frame) + 2))

#endif
