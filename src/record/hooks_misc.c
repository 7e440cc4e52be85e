/* Code that goes away, threads that take a name, and system calls that will be forbidden. */
#include <dlfcn.h>
#include <linux/seccomp.h>
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
        atomic_fetch_add(&recorder.header->tick, 1);
    }
    return result;
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

/* A filter is about to be installed: from here on we make no system call that it could forbid.
 * False: nothing was changed. A vfork child's filter is not that of the memory it runs in. */
static bool confine(void)
{
    if (atomic_load(&recorder.confined) ||
        (tls.thread && tls.thread->tick && sys_call(SYS_getpid) != (long)recorder.pid))
        return false;
    atomic_store(&recorder.confined, true);
    return true;
}

/* For SYS_seccomp, which has no function of its own. */
EXPORT long syscall(long number, ...)
{
    va_list args;
    va_start(args, number);
    long a[6];
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(args, long);
    va_end(args);
    if (UNLIKELY(!next.syscall))
        recorder_start();
    bool confining = number == SYS_seccomp && a[0] <= SECCOMP_SET_MODE_FILTER && confine();
    long result = next.syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
    if (UNLIKELY(confining) && result == -1)
        atomic_store(&recorder.confined, false);
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
    bool confining = option == PR_SET_SECCOMP && confine();
    int result = next.prctl(option, a[0], a[1], a[2], a[3]);
    if (UNLIKELY(confining) && result == -1)
        atomic_store(&recorder.confined, false);
    struct thread *t = result == 0 && option == PR_SET_NAME ? thread_enter() : NULL;
    if (t) {
        char name[16] = {0};
        sys_call(SYS_prctl, (long)PR_GET_NAME, name);
        thread_named(t, name);
        thread_leave();
    }
    return result;
}
