/*
 * The hook of syscall(): only SYS_seccomp is examined (record/hooks_seccomp.c). All others continue
 * as if the hook were not there: a call that returns twice on one stack (clone, vfork) must not
 * find a frame of ours on it.
 */
#include <assert.h>
#include <sys/syscall.h>

#include "record/recorder.h"

static_assert(SYS_seccomp == 277, "the number in syscall()");
static_assert(offsetof(struct next, syscall) == 0, "syscall() takes the first word of `next`");

EXPORT long syscall(long number, ...);

__asm__(".text\n"
        ".globl syscall\n"
        ".type syscall, %function\n"
        "syscall:\n"
        ".cfi_startproc\n"
        "hint #34\n" /* bti c */
        "cmp x0, #277\n"
        "b.eq 1f\n"
        "adrp x16, next\n"
        "ldr x16, [x16, #:lo12:next]\n"
        "cbz x16, 1f\n"
        "br x16\n"
        "1: b syscall_watched\n"
        ".cfi_endproc\n"
        ".size syscall, . - syscall\n");
