/*
 * remote: makes a thread that was stopped by ptrace call a function or the kernel. aarch64:
 * written, but not tried on a machine, so `tidemark attach` refuses there.
 */
#ifndef TIDE_MACHINE_REMOTE_H
#define TIDE_MACHINE_REMOTE_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/user.h>

#include "machine/registers.h"

#define REMOTE_SUPPORTED 0

#ifndef NT_ARM_SYSTEM_CALL
#define NT_ARM_SYSTEM_CALL 0x404
#endif

static inline uint64_t remote_pc(const struct user_regs_struct *r)
{
    return r->pc;
}

static inline long remote_system_call(const struct user_regs_struct *r)
{
    return (long)r->regs[8];
}

static inline void remote_unwind_registers(const struct user_regs_struct *r,
                                           struct arch_registers *out)
{
    *out = (struct arch_registers){0};
    out->value[ARCH_REG_SP] = r->sp;
    out->value[ARCH_REG_PC] = r->pc;
}

#define REMOTE_SIGNAL_RETURN       "\x68\x11\x80\xd2\x01\x00\x00\xd4"
#define REMOTE_SIGNAL_RETURN_BYTES 8

static inline bool remote_waits(const struct user_regs_struct *r)
{
    (void)r;
    return false;
}

static inline uint64_t remote_result(const struct user_regs_struct *r)
{
    return r->regs[0];
}

static inline void remote_set_stack(struct user_regs_struct *r, uint64_t stack)
{
    r->sp = stack;
}

static inline void remote_set_call(struct user_regs_struct *r, uint64_t function,
                                   const uint64_t arguments[4], uint64_t stack)
{
    for (unsigned i = 0; i < 4; i++)
        r->regs[i] = arguments[i];
    r->regs[29] = 0;
    r->sp = stack & ~UINT64_C(63);
    r->pc = function;
}

static inline void remote_set_system_call(struct user_regs_struct *r, uint64_t instruction,
                                          long number, const uint64_t arguments[6])
{
    for (unsigned i = 0; i < 6; i++)
        r->regs[i] = arguments[i];
    r->regs[8] = (uint64_t)number;
    r->pc = instruction;
}

static inline long remote_find_system_call(const uint8_t *code, size_t size)
{
    for (size_t i = 0; i + 4 <= size; i += 4)
        if (memcmp(code + i, "\x01\x00\x00\xd4", 4) == 0)
            return (long)i;
    return -1;
}

static inline void remote_restore_system_call(pid_t tid, long number)
{
    int value = (int)number;
    struct iovec area = {&value, sizeof value};
    ptrace(PTRACE_SETREGSET, tid, (void *)NT_ARM_SYSTEM_CALL, &area);
}

static inline bool remote_forget_system_call(pid_t tid)
{
    remote_restore_system_call(tid, -1);
    return true;
}

#endif
