/*
 * interrupted: a system call that a signal handler has interrupted. aarch64.
 *
 * The kernel has overwritten the first argument with the result, and keeps no copy that the handler
 * could see. So calls that the kernel does not restart itself end with EINTR here (docs/SAFETY.md).
 */
#ifndef TIDE_MACHINE_INTERRUPTED_H
#define TIDE_MACHINE_INTERRUPTED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>

static inline bool interrupted_call(const ucontext_t *u)
{
    (void)u;
    return false;
}

static inline long interrupted_number(const ucontext_t *u)
{
    (void)u;
    return -1;
}

static inline const uint64_t *interrupted_mask(const ucontext_t *u, long number)
{
    (void)u;
    (void)number;
    return NULL;
}

static inline void interrupted_again(ucontext_t *u, long number)
{
    (void)u;
    (void)number;
}

#endif
