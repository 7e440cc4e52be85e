/*
 * hook_guard: how a hook begins and ends. recorder.h includes it.
 *
 * Between thread_enter() and thread_leave() the thread is busy: allocations that the original
 * function makes are part of the same allocation, and a signal handler must not change the thread's
 * state. A hook that finds its thread busy asks hook_nested (nested_hook.c). [malloc-free]
 */
#ifndef TIDE_RECORD_HOOK_GUARD_H
#define TIDE_RECORD_HOOK_GUARD_H

#include "record/recorder.h"

/* Is the recorder dormant (run --dormant)? Then hooks only forward calls. */
static inline bool recorder_dormant(void)
{
    struct wire_header *h = recorder.header;
    return h && atomic_load_explicit(&h->dormant, memory_order_relaxed) == WIRE_DORMANT;
}

/* The thread's state, if there is nothing but the call itself to do; NULL: call
 * thread_enter_slowly. */
static inline __attribute__((always_inline)) struct thread *thread_enter_quickly(void)
{
    struct thread *t = tls.thread;
    if (UNLIKELY(!t) || UNLIKELY(tls.busy))
        return NULL;
    tls.busy = (uintptr_t)__builtin_frame_address(0);
    const struct wire_header *h = recorder.header;
    if (LIKELY(t->tick == atomic_load_explicit(&h->tick, memory_order_relaxed)) &&
        LIKELY(atomic_load_explicit(&h->dormant, memory_order_relaxed) != WIRE_DORMANT))
        return t;
    tls.busy = 0;
    return NULL;
}

/* The same in all other cases; NULL: this call is not recorded. `frame` is the hook's frame. */
struct thread *thread_enter_slowly(uintptr_t frame);

/* The thread's state if this call is to be recorded, else NULL. */
static inline __attribute__((always_inline)) struct thread *thread_enter(void)
{
    struct thread *t = thread_enter_quickly();
    return LIKELY(t != NULL) ? t : thread_enter_slowly((uintptr_t)__builtin_frame_address(0));
}

/* cpu_timer.c charges the periods in tls.cpu_owed to the stack of the hook's caller. */
void cpu_timer_pay(const uint64_t *caller);

/* Ends a hook. If a timer's signal came during the hook, it is charged now, because the thread's
 * state is complete again. */
static inline __attribute__((always_inline)) void thread_leave(void)
{
    if (UNLIKELY(tls.cpu_owed))
        cpu_timer_pay(CALLER());
    tls.busy = 0;
}

#endif
