/*
 * stopped: the registers of a thread that was stopped by ptrace. aarch64.
 */
#ifndef TIDE_MACHINE_STOPPED_H
#define TIDE_MACHINE_STOPPED_H

#include <elf.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/ptrace.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/user.h>

#define STOPPED_RED_ZONE       16          /* bytes below the stack pointer: none are in use */
#define STOPPED_EXTENDED_SET   NT_FPREGSET /* vector registers, which may hold addresses, */
#define STOPPED_EXTENDED_BYTES 1024 /* in less than this; of longer ones only the first 16 bytes */

/*
 * glibc puts a thread's own variables above the thread pointer, up to the end of its stack, and its
 * descriptor below. In the descriptor, the head of an empty list of mutexes points to itself, and
 * so does the word before it; what comes before these two only points to other descriptors.
 */
#define STOPPED_ABOVE_POINTER     UINT64_MAX
#define STOPPED_DESCRIPTOR_LAST   UINT64_C(65536)
#define STOPPED_DESCRIPTOR_WORDS  2
#define STOPPED_DESCRIPTOR_STRIDE 1

static inline bool stopped_is_descriptor(const uint64_t *words, uint64_t address)
{
    return words[0] == address + 8 && words[1] == address + 8;
}

static inline uint64_t stopped_stack(const struct user_regs_struct *r)
{
    return r->sp;
}

/* It is in a system register, which is a register set of its own; 0: not known. */
static inline uint64_t stopped_thread_pointer(pid_t tid, const struct user_regs_struct *r)
{
    uint64_t pointer = 0;
    struct iovec area = {&pointer, sizeof pointer};
    (void)r;
    return ptrace(PTRACE_GETREGSET, tid, (void *)NT_ARM_TLS, &area) == 0 ? pointer : 0;
}

#endif
