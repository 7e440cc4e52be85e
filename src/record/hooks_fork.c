/* Forks. The child connects to the collector as a process of its own (thread_sync, connection.c). */
#include <unistd.h>

#include "record/cpu_timer.h"
#include "record/libc.h"
#include "record/loader_list.h"
#include "record/recorder.h"

/* The child identifies what was live by the number of this fork. It becomes a process of its own
 * with its first event (thread_sync). */
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

/* In the child: its first allocation connects, sampled or not. */
static void forked(void)
{
    tide_sample_left = 0;
    if (cpu_timer_wanted())
        cpu_timer_forked();
}

EXPORT pid_t fork(void)
{
    if (UNLIKELY(!next.fork))
        recorder_start();
    about_to_fork(true);
    pid_t child = next.fork();
    if (child)
        tls.fork_prepared = false; /* what this thread makes by other means is not */
    else
        forked();
    return child;
}

OWN(fork);

EXPORT pid_t _Fork(void)
{
    if (UNLIKELY(!next.fork))
        recorder_start();
    about_to_fork(false); /* without what libc does for malloc's sake */
    pid_t child = next._Fork ? next._Fork() : next.fork();
    if (!child)
        forked();
    return child;
}
