/*
 * interrupted: a system call that a signal handler has interrupted. x86-64.
 *
 * The kernel restarts most calls after a handler with SA_RESTART, but some always end with EINTR:
 * sleeping, poll and similar calls, and calls with a timeout. The handler can restart them itself:
 * their arguments are still in the registers, and their number is in the instruction before.
 */
#ifndef TIDE_MACHINE_INTERRUPTED_H
#define TIDE_MACHINE_INTERRUPTED_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>

#define INTERRUPTED_PAGE 4096

static inline const uint8_t *interrupted_code(const ucontext_t *u)
{
    return (const uint8_t *)(uintptr_t)u->uc_mcontext.gregs[REG_RIP];
}

/* Has a system call just ended with EINTR? Code that was executed can be read, and so can its
 * page. */
static inline bool interrupted_call(const ucontext_t *u)
{
    const uint8_t *pc = interrupted_code(u);
    return u->uc_mcontext.gregs[REG_RAX] == -EINTR &&
           ((uintptr_t)pc & (INTERRUPTED_PAGE - 1)) >= 16 && pc[-2] == 0x0f && pc[-1] == 0x05;
}

/* Its number; -1: not known. */
static inline long interrupted_number(const ucontext_t *u)
{
    static const uint8_t registers[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP,
                                          REG_RSI, REG_RDI, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                          REG_R12, REG_R13, REG_R14, REG_R15};
    const uint8_t *end = interrupted_code(u) - 2; /* of the instruction before the call */
    uint32_t number;
    if (end[-4] == 0x8b && end[-2] == 0x24) /* mov X(%rsp), %edi stands in between */
        end -= 4;
    if (end[-5] == 0xb8) { /* mov $number, %eax */
        memcpy(&number, end - 4, sizeof number);
        return (long)number;
    }
    if (end[-2] == 0x31 && end[-1] == 0xc0) /* xor %eax, %eax */
        return 0;
    unsigned from = end[-1] >> 3 & 7;
    if (end[-2] != 0x89 || (end[-1] & 0xc7) != 0xc0) /* mov a register, %eax */
        return -1;
    if (end[-3] == 0x44)
        from += 8;
    if (from < 2 || from == 11) /* the call has changed these */
        return -1;
    return (long)(uint32_t)u->uc_mcontext.gregs[registers[from]];
}

/* The set of signals that are blocked during this call, which the kernel has read; NULL: it has
 * none. */
static inline const uint64_t *interrupted_mask(const ucontext_t *u, long number)
{
    const greg_t *g = u->uc_mcontext.gregs;
    const uint64_t *pair = (const uint64_t *)(uintptr_t)g[REG_R9];
    switch (number) {
    case SYS_rt_sigsuspend:
        return (const uint64_t *)(uintptr_t)g[REG_RDI];
    case SYS_ppoll:
        return (const uint64_t *)(uintptr_t)g[REG_R10];
    case SYS_pselect6:
        return pair ? (const uint64_t *)(uintptr_t)pair[0] : NULL;
    case SYS_epoll_pwait:
#ifdef SYS_epoll_pwait2
    case SYS_epoll_pwait2:
#endif
        return (const uint64_t *)(uintptr_t)g[REG_R8];
    default:
        return NULL;
    }
}

static inline void interrupted_again(ucontext_t *u, long number)
{
    u->uc_mcontext.gregs[REG_RIP] -= 2;
    u->uc_mcontext.gregs[REG_RAX] = number;
}

#endif
