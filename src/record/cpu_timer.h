/*
 * cpu_timer: samples CPU time without perf events, with Python frames (run --cpu=timer).
 *
 * Each thread has a timer on its own CPU clock, which sends it a signal each time it has used
 * another period. The handler walks the stack that it interrupted, as a hook does, and puts a
 * sample into memory that the collector reads (wire/layout.h). A sample counts for as many periods
 * as have passed since the last one, so that they add up to the thread's CPU time.
 *
 * A signal that arrives while the thread is in a hook (which includes the allocator that the hook
 * calls) finds a state that it must not touch. Then the handler only counts the periods
 * (tls.cpu_owed), and the hook charges them to its caller's stack when it ends (thread_leave).
 *
 * The signal is a real-time signal that the program does not use; hooks_signal.c makes sure that
 * the program neither notices it nor blocks or waits for it. If the program itself wants to handle
 * this signal, the timers use another one. A system call that the kernel would not restart after
 * the handler is restarted by the handler (machine/interrupted.h), so that the program sees no
 * EINTR.
 *
 * Only used if the collector asks for it; otherwise only cpu_timer_uses is called, which returns
 * false. [malloc-free]; a thread makes its own timer.
 */
#ifndef TIDE_RECORD_CPU_TIMER_H
#define TIDE_RECORD_CPU_TIMER_H

#include <signal.h>

#include "record/recorder.h"

/* Are timers wanted in this process? */
bool cpu_timer_wanted(void);
/* The calling thread gets a timer, unless it has one. */
void cpu_timer_begin(struct thread *t);
/* Deletes the timer of the calling thread, which ends. */
void cpu_timer_end(struct thread *t);
/* Deletes the timer of a thread that ended without reporting its end. */
void cpu_timer_abandon(struct thread *t);
void cpu_timer_reset(void); /* in a forked child: resets the lock */
/* Gives a forked child a timer if its parent had one, before the child has a state of its own. */
void cpu_timer_forked(void);
/* Stops all timers, because the program is about to forbid system calls. */
void cpu_timer_stop(void);

/* Is this the number of the signal that the timers send? */
bool cpu_timer_uses(int number);
/* Makes the timers use another signal, because the program wants to handle the current one. */
void cpu_timer_move(void);
/* Removes the signal from a set that the program wants to block or wait for: returns `set`, or a
 * copy. */
const sigset_t *cpu_timer_without(const sigset_t *set, sigset_t *copy);

/* What to pass to pthread_create instead of the function and its argument, so that the new thread
 * gets its timer before the function is called. */
struct cpu_timer_start {
    void *(*start)(void *);
    void *argument;
};
struct cpu_timer_start cpu_timer_start(void *(*start)(void *), void *argument);
/* Frees what cpu_timer_start made, if the thread could not be created. */
void cpu_timer_not_started(const struct cpu_timer_start *s);

#endif
