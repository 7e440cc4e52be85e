/* Unloading of code, forks, threads that begin and take a name, and system calls that will be
 * forbidden. */
#include <dlfcn.h>
#include <errno.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdarg.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "record/cpu_timer.h"
#include "record/definition.h"
#include "record/libc.h"
#include "record/loader_list.h"
#include "record/nodes.h"
#include "record/python.h"
#include "record/rebind.h"
#include "record/python.h"
#include "record/recorder.h"

/* If the library is given by its path, the result does not depend on the caller. */
static __attribute__((noinline)) void *open_deeply(const char *file, int mode)
{
    void *handle = next.dlopen(file, mode);
    int saved = errno;
    if (handle && !(mode & RTLD_NOLOAD))
        rebind(handle);
    errno = saved;
    return handle;
}

/*
 * Only for libraries that would bypass us (rebind.h). The loader searches on behalf of the function
 * it returns to. So that this stays the caller, the call is the last thing done here: a jump.
 */
EXPORT void *dlopen(const char *file, int mode)
{
    if (UNLIKELY(!next.dlopen)) {
        recorder_start();
        if (!next.dlopen) { /* of a libdl that was loaded later */
            void *f = libc_find("dlopen");
            memcpy(&next.dlopen, &f, sizeof f);
        }
    }
    rebind_now();
    if (UNLIKELY(mode & RTLD_DEEPBIND)) {
        if (file && strchr(file, '/') && !strchr(file, '$'))
            return open_deeply(file, mode);
        rebind_later();
    }
    return next.dlopen(file, mode);
}

/* Forgets what is known about the unloaded addresses. */
EXPORT int dlclose(void *handle)
{
    if (UNLIKELY(!next.dlclose)) {
        recorder_start();
        if (!next.dlclose) {
            void *f = libc_find("dlclose");
            memcpy(&next.dlclose, &f, sizeof f);
        }
    }
    rebind_now();
    definition_hold();
    bool closed = python_close(handle);
    int result = next.dlclose(handle);
    if (closed)
        python_closed();
    if (recorder.rules && atomic_load(&recorder.state) == STATE_LIVE) {
        modules_forget();
        struct thread *t = thread_enter();
        if (t) {
            note_unload(t);
            thread_leave();
        } else {
            wire_move_tick(recorder.header);
        }
    }
    return result;
}

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
        tide_sample_left = 0;
    return child;
}

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

/* A filter is about to be installed: from here on we make no system call that it could forbid.
 * false: nothing was changed. A vfork child's filter does not apply to the process whose memory it
 * uses. */
static bool confine(void)
{
    if (atomic_load(&recorder.confined) ||
        (tls.thread && tls.thread->tick && sys_call(SYS_getpid) != (long)recorder.pid))
        return false;
    nodes_prepare();
    cpu_timer_stop(); /* the filter may not let a handler return */
    atomic_store(&recorder.confined, true);
    return true;
}

/* For SYS_seccomp, which has no function of its own. */
__attribute__((used)) long syscall_watched(long number, long a, long b, long c, long d, long e,
                                           long f);
long syscall_watched(long number, long a, long b, long c, long d, long e, long f)
{
    if (UNLIKELY(!next.syscall))
        recorder_start();
    bool confining = number == SYS_seccomp && a <= SECCOMP_SET_MODE_FILTER && confine();
    long result = next.syscall(number, a, b, c, d, e, f);
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
    /* In a program that was already running, SYS_seccomp is not hooked; this comes before it. */
    bool confining =
        (option == PR_SET_SECCOMP || (option == PR_SET_NO_NEW_PRIVS && recorder.late)) && confine();
    int result = next.prctl(option, a[0], a[1], a[2], a[3]);
    if (UNLIKELY(confining) && result == -1)
        atomic_store(&recorder.confined, false);
    struct thread *t = result == 0 && option == PR_SET_NAME ? thread_enter() : NULL;
    if (t) {
        char name[16] = {0};
        sys_call(SYS_prctl, (long)PR_GET_NAME, name);
        if (!python_name_is(t, name))
            thread_named(t, name);
        thread_leave();
    }
    return result;
}
OWN(prctl);
