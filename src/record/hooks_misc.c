/* Code that goes away, processes that fork, and threads that take a name. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "record/recorder.h"

/*
 * What was learnt of the unloaded addresses is forgotten, also by the other threads' remembered
 * stacks: they compare `generation` when the tick moves, so it is moved.
 */
EXPORT int dlclose(void *handle)
{
    if (UNLIKELY(!next.dlclose))
        recorder_start();
    int result = next.dlclose(handle);
    if (recorder.rules && atomic_load(&recorder.state) == STATE_LIVE) {
        atomic_fetch_add(&recorder.generation, 1);
        rules_forget(recorder.rules);
        struct thread *t = thread_enter();
        if (t) {
            note_unload(t);
            thread_leave();
        } else {
            atomic_fetch_add(&recorder.header->tick, 1);
        }
    }
    return result;
}

/* The child will know what was live by the number of this fork. It becomes a process of its own
 * with its first event (thread_sync). */
static void about_to_fork(void)
{
    struct thread *t = thread_enter();
    if (t) {
        event_fork(t);
        thread_leave();
    }
}

EXPORT pid_t fork(void)
{
    if (UNLIKELY(!next.fork))
        recorder_start();
    about_to_fork();
    return next.fork();
}

EXPORT pid_t _Fork(void)
{
    if (UNLIKELY(!next.fork))
        recorder_start();
    about_to_fork();
    return next._Fork();
}

/* Before the second thread can run, the first begins to keep logical time (wire/layout.h). */
EXPORT int pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*start)(void *), void *argument)
{
    if (UNLIKELY(!next.pthread_create))
        recorder_start();
    if (UNLIKELY(!atomic_load_explicit(&recorder.clocked, memory_order_relaxed)))
        atomic_store(&recorder.clocked, true);
    return next.pthread_create(thread, attributes, start, argument);
}

EXPORT int pthread_setname_np(pthread_t thread, const char *name)
{
    if (UNLIKELY(!next.pthread_setname_np))
        recorder_start();
    int result = next.pthread_setname_np(thread, name);
    struct thread *t = result == 0 && pthread_equal(thread, pthread_self()) ? thread_enter() : NULL;
    if (t) {
        thread_named(t, name);
        thread_leave();
    }
    return result;
}

EXPORT int prctl(int option, ...)
{
    va_list args;
    va_start(args, option);
    unsigned long a[4];
    for (int i = 0; i < 4; i++)
        a[i] = va_arg(args, unsigned long);
    va_end(args);
    if (UNLIKELY(!next.prctl))
        recorder_start();
    int result = next.prctl(option, a[0], a[1], a[2], a[3]);
    struct thread *t = result == 0 && option == PR_SET_NAME ? thread_enter() : NULL;
    if (t) {
        char name[16] = {0};
        sys_call(SYS_prctl, (long)PR_GET_NAME, name);
        thread_named(t, name);
        thread_leave();
    }
    return result;
}
