/*
 * fork() and _Fork(), and what happens in the child: with its first event it forgets the threads of
 * its parent and connects to the collector as a process of its own (connection.c). The child needs
 * no hook for this: the state of its thread is zeroed (struct thread), so thread_sync() notices it
 * also when the program made the child by other means.
 */
#include <unistd.h>

#include "record/cpu_timer.h"
#include "record/libc.h"
#include "record/loader_list.h"
#include "record/recorder.h"

/* Records the fork in the parent. The child refers to this fork by its number to say which blocks
 * it inherited. */
static void about_to_fork(bool prepared)
{
    struct thread *t = thread_enter();
    if (t) {
        if (!libc.find_object)
            loader_list_before_fork();
        tls.fork_prepared = prepared;
        event_fork(t);
        thread_leave();
    }
}

/* Runs in the child right after the fork: makes its first allocation connect to the collector, even
 * if only samples are recorded. */
static void forked(void)
{
    tide_sample_left = 0;
    if (cpu_timer_wanted())
        cpu_timer_forked();
}

struct thread *fork_begin_child(void)
{
    atomic_store(&recorder.state, STATE_BOOTING);
    threads_reset();
    return recorder_connect() ? thread_begin() : NULL;
}

EXPORT pid_t fork(void)
{
    if (UNLIKELY(!next.fork))
        recorder_start();
    about_to_fork(true);
    pid_t child = next.fork();
    if (child)
        tls.fork_prepared = false; /* children that this thread makes by other means are not */
    else
        forked();
    return child;
}

OWN(fork);

EXPORT pid_t _Fork(void)
{
    if (UNLIKELY(!next.fork))
        recorder_start();
    about_to_fork(false); /* libc does not run its fork handlers, nor lock malloc */
    pid_t child = next._Fork ? next._Fork() : next.fork();
    if (!child)
        forked();
    return child;
}
