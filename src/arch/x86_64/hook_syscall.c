/*
 * The hook of syscall(): only SYS_seccomp is examined (record/hooks_seccomp.c). All others continue
 * as if the hook were not there: a call that returns twice on one stack (clone, vfork) must not
 * find a frame of ours on it.
 */
#include <assert.h>
#include <sys/syscall.h>

#include "record/recorder.h"

static_assert(SYS_seccomp == 317, "the number in syscall()");
static_assert(offsetof(struct next, syscall) == 0, "syscall() takes the first word of `next`");

EXPORT long syscall(long number, ...);

__attribute__((naked)) long syscall(__attribute__((unused)) long number, ...)
{
    __asm__("cmp $317, %rdi\n\t"
            "je 1f\n\t"
            "mov next(%rip), %rax\n\t"
            "test %rax, %rax\n\t"
            "je 1f\n\t"
            "jmp *%rax\n"
            "1:\tjmp syscall_watched");
}
