/*
 * safe_point: may a thread that stands still be made to call pthread_create or dlopen?
 *
 * Both allocate and take locks of the C library. The thread must hold none of them: it must not be
 * in the allocator, in the loader, or in fork, nor have interrupted one of these. One proof of three
 * will do:
 *
 * - Its call stack can be followed to its end, and has no such function.
 * - No word of its stack is an address behind a call in such code. One that is left over of earlier
 *   calls makes a thread look unsafe that is not.
 * - It waits in a system call that neither the allocator nor the loader makes (a futex of another
 *   kind than their locks), so only a signal handler could have interrupted these, and no handler's
 *   frame is on its stack.
 *
 * A thread that is not on its own stack (a handler's, a coroutine's) is never taken.
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
    struct address_set always; /* of these, also in a thread that waits */
    struct remote_module *libc, *loader;
};

/* 0, or a negative errno and a sentence: such a program cannot be attached to. */
int safe_points_find(struct safe_points *s, struct remote_modules *m, struct err *err);
void safe_points_release(struct safe_points *s);
bool safe_point_is(const struct safe_points *s, const struct remote_thread *t, bool is_first);

#endif
