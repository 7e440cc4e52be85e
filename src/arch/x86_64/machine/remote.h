/*
 * remote: makes a thread that was stopped by ptrace call a function or the kernel. x86-64.
 */
#ifndef TIDE_MACHINE_REMOTE_H
#define TIDE_MACHINE_REMOTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/user.h>

#include "machine/registers.h"

#define REMOTE_SUPPORTED 1

#define REMOTE_DIRECTION 0x400u /* flags that a function expects to be clear */
#define REMOTE_STEP      0x100u

static inline uint64_t remote_pc(const struct user_regs_struct *r)
{
    return r->rip;
}

/* The number of the system call in which the thread was interrupted; -1: none. */
static inline long remote_system_call(const struct user_regs_struct *r)
{
    return (long)r->orig_rax;
}

static inline void remote_unwind_registers(const struct user_regs_struct *r,
                                           struct arch_registers *out)
{
    const uint64_t values[ARCH_REGISTERS] = {r->rax, r->rdx, r->rcx, r->rbx, r->rsi, r->rdi,
                                             r->rbp, r->rsp, r->r8,  r->r9,  r->r10, r->r11,
                                             r->r12, r->r13, r->r14, r->r15, r->rip};
    memcpy(out->value, values, sizeof values);
    out->known = (UINT64_C(1) << ARCH_REGISTERS) - 1;
}

#define REMOTE_SIGNAL_RETURN       "\x48\xc7\xc0\x0f\x00\x00\x00\x0f\x05"
#define REMOTE_SIGNAL_RETURN_BYTES 9

/*
 * Was the thread interrupted in a system call by which programs wait, but neither allocators nor
 * the loader? These wait for futexes with the value 2.
 */
static inline bool remote_waits(const struct user_regs_struct *r)
{
    static const long calls[] = {SYS_read,
                                 SYS_poll,
                                 SYS_select,
                                 SYS_pselect6,
                                 SYS_ppoll,
                                 SYS_nanosleep,
                                 SYS_accept,
                                 SYS_accept4,
                                 SYS_recvfrom,
                                 SYS_recvmsg,
                                 SYS_clock_nanosleep,
                                 SYS_wait4,
                                 SYS_waitid,
                                 SYS_pause,
                                 SYS_epoll_wait,
                                 SYS_readv,
                                 SYS_rt_sigtimedwait,
                                 SYS_sendto,
                                 SYS_sendmsg,
                                 SYS_epoll_pwait,
                                 SYS_rt_sigsuspend,
                                 SYS_io_getevents};
    long call = remote_system_call(r);
    if (call == SYS_futex)
        return (uint32_t)r->rdx != 2;
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        if (call == calls[i])
            return true;
    return false;
}

static inline uint64_t remote_result(const struct user_regs_struct *r)
{
    return r->rax;
}

static inline void remote_set_stack(struct user_regs_struct *r, uint64_t stack)
{
    r->rsp = stack;
}

/* Sets the registers for a call with up to four arguments. The return address is already on the
 * stack. */
static inline void remote_set_call(struct user_regs_struct *r, uint64_t function,
                                   const uint64_t arguments[4], uint64_t stack)
{
    r->rip = function;
    r->rdi = arguments[0];
    r->rsi = arguments[1];
    r->rdx = arguments[2];
    r->rcx = arguments[3];
    r->rax = 0;
    r->rsp = stack;
    r->rbp = 0;
    r->eflags &= ~(uint64_t)(REMOTE_DIRECTION | REMOTE_STEP);
    r->orig_rax = UINT64_MAX; /* do not restart a system call */
}

/* The same for a system call by the instruction at `instruction`. */
static inline void remote_set_system_call(struct user_regs_struct *r, uint64_t instruction,
                                          long number, const uint64_t arguments[6])
{
    r->rip = instruction;
    r->rax = (uint64_t)number;
    r->rdi = arguments[0];
    r->rsi = arguments[1];
    r->rdx = arguments[2];
    r->r10 = arguments[3];
    r->r8 = arguments[4];
    r->r9 = arguments[5];
    r->eflags &= ~(uint64_t)REMOTE_STEP;
    r->orig_rax = UINT64_MAX;
}

/* The offset of a system call instruction in this code; -1: none. */
static inline long remote_find_system_call(const uint8_t *code, size_t size)
{
    for (size_t i = 0; i + 2 <= size; i++)
        if (code[i] == 0x0f && code[i + 1] == 0x05)
            return (long)i;
    return -1;
}

/* Nothing to do; aarch64 stores the number of a system call separately. */
static inline bool remote_forget_system_call(pid_t tid)
{
    (void)tid;
    return true;
}
static inline void remote_restore_system_call(pid_t tid, long number)
{
    (void)tid, (void)number;
}

#endif
