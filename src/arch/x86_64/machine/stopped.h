/*
 * stopped: the registers of a thread that was stopped by ptrace. x86-64.
 */
#ifndef TIDE_MACHINE_STOPPED_H
#define TIDE_MACHINE_STOPPED_H

#include <elf.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

#define STOPPED_RED_ZONE 128 /* bytes below the stack pointer that may be in use */
/* Vector and other registers, which may hold addresses,. */
#define STOPPED_EXTENDED_SET   NT_X86_XSTATE
#define STOPPED_EXTENDED_BYTES 16384 /* in less than this on any processor */

/*
 * glibc's descriptor of a thread begins at the thread pointer, and has at most so many bytes. It
 * begins with its own address, and contains it once more; it is in the last part of the thread's
 * stack.
 */
#define STOPPED_ABOVE_POINTER     UINT64_C(8192)
#define STOPPED_DESCRIPTOR_LAST   UINT64_C(8192)
#define STOPPED_DESCRIPTOR_WORDS  3 /* how many words are compared */
#define STOPPED_DESCRIPTOR_STRIDE 8 /* its alignment, in words */

static inline bool stopped_is_descriptor(const uint64_t *words, uint64_t address)
{
    return words[0] == address && words[2] == address;
}

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
