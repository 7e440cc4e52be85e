/*
 * stopped: the registers of a thread that was stopped by ptrace. x86-64.
 */
#ifndef TIDE_MACHINE_STOPPED_H
#define TIDE_MACHINE_STOPPED_H

#include <elf.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

#define STOPPED_RED_ZONE       128           /* bytes below the stack pointer that may be in use */
#define STOPPED_EXTENDED_SET   NT_X86_XSTATE /* vectors and the like, which may hold addresses, */
#define STOPPED_EXTENDED_BYTES 16384         /* in less than this on any processor */

static inline uint64_t stopped_stack(const struct user_regs_struct *r)
{
    return r->rsp;
}

static inline uint64_t stopped_thread_pointer(pid_t tid, const struct user_regs_struct *r)
{
    (void)tid;
    return r->fs_base;
}

#endif
