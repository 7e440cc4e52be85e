/* Threads that begin, and that take a name (thread.c; Python's names: python_thread_name.c). */
#include <pthread.h>
#include <string.h>

#include "record/cpu_timer.h"
#include "record/libc.h"
#include "record/python.h"
#include "record/recorder.h"

/* The new thread cannot ask for the size of its stack without allocating. */
static void note_stack_size(const pthread_attr_t *attributes)
{
    pthread_attr_t usual;
    size_t size = 0, least = atomic_load(&recorder.least_stack);
    if (!attributes && pthread_attr_init(&usual) == 0)
        attributes = &usual;
    if (attributes && libc.attr_getstacksize && libc.attr_getstacksize(attributes, &size) == 0)
        while ((!least || size < least) &&
               !atomic_compare_exchange_weak(&recorder.least_stack, &least, size))
            ;
    if (attributes == &usual)
        pthread_attr_destroy(&usual);
}

/* Before the second thread can run, the first knows that counters are shared. */
EXPORT int pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*start)(void *), void *argument)
{
    if (UNLIKELY(!next.pthread_create))
        recorder_start();
    if (UNLIKELY(!next.pthread_create)) { /* of a libpthread that was loaded later */
        void *f = libc_find("pthread_create");
        libc_find_missing();
        memcpy(&next.pthread_create, &f, sizeof f);
    }
    if (UNLIKELY(!atomic_load_explicit(&recorder.several, memory_order_relaxed)))
        atomic_store(&recorder.several, true);
    note_stack_size(attributes);
    if (LIKELY(!cpu_timer_wanted()))
        return next.pthread_create(thread, attributes, start, argument);
    struct cpu_timer_start timed = cpu_timer_start(start, argument);
    int result = next.pthread_create(thread, attributes, timed.start, timed.argument);
    if (result)
        cpu_timer_not_started(&timed);
    return result;
}

EXPORT int pthread_setname_np(pthread_t thread, const char *name)
{
    if (UNLIKELY(!next.pthread_setname_np))
        recorder_start();
    if (UNLIKELY(!next.pthread_setname_np)) {
        void *f = libc_find("pthread_setname_np");
        memcpy(&next.pthread_setname_np, &f, sizeof f);
    }
    int result = next.pthread_setname_np(thread, name);
    struct thread *t = result == 0 && pthread_equal(thread, pthread_self()) ? thread_enter() : NULL;
    if (t) {
        if (!python_name_is(t, name))
            thread_named(t, name);
        thread_leave();
    }
    return result;
}
