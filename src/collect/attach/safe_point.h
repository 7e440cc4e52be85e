/*
 * safe_point: decides whether a stopped thread may be made to call pthread_create or dlopen.
 *
 * Both allocate and take locks of the C library. The thread must hold none of these locks: it must
 * not be in the allocator, in the loader, or in fork, and must not have interrupted one of these.
 * One of three proofs is enough:
 * - Its call stack can be unwound to the end, and no such function is on it.
 * - No word of its stack is a return address in such code. A stale return address of an earlier
 *   call makes a safe thread look unsafe; this only costs another try.
 * - It waits in a system call that neither the allocator nor the loader makes (a futex of another
 *   kind than their locks), so only a signal handler could have interrupted these, and no frame of
 *   a handler is on its stack.
 *
 * A thread that is not on its own stack (but on that of a handler or a coroutine) is never used.
 */
#ifndef TIDE_COLLECT_ATTACH_SAFE_POINT_H
#define TIDE_COLLECT_ATTACH_SAFE_POINT_H

#include <stdbool.h>

#include "base/err.h"
#include "collect/attach/remote_call.h"
#include "collect/attach/remote_module.h"
#include "collect/proc/address_set.h"

struct safe_points {
    struct remote_modules *modules;
    struct address_set unsafe;
    struct address_set always; /* the part that is unsafe even in a thread that waits */
    struct remote_module *libc, *loader;
};

/* Finds the unsafe code of a program. Returns 0, or a negative errno and a sentence: tidemark
 * cannot attach to this program. */
int safe_points_find(struct safe_points *s, struct remote_modules *m, struct err *err);
void safe_points_release(struct safe_points *s);
bool safe_point_is(const struct safe_points *s, const struct remote_thread *t, bool is_first);
/*
 * May the thread make system calls for us? We write a frame below its stack pointer
 * (machine/remote_frame.h). So the thread must be on the stack that libc or the kernel made for it,
 * and there must be room: below the stack of a coroutine or of a goroutine, or below an alternate
 * stack, there may be memory that something else uses. `is_first`: it is the first thread of its
 * process.
 */
bool safe_stack_is(const struct remote_modules *m, const struct remote_thread *t, bool is_first);

#endif
