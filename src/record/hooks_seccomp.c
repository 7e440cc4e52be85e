/* System calls that a seccomp filter will forbid: prctl and syscall. prctl names threads, too. */
#include <linux/seccomp.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "record/cpu_timer.h"
#include "record/stack_tree.h"
#include "record/python.h"
#include "record/recorder.h"
#include "record/stack_accounts.h"

/* A filter is about to be installed: from here on we make no system call that it could forbid.
 * false: nothing was changed. A vfork child's filter does not apply to the process whose memory it
 * uses. */
static bool confine(void)
{
    if (atomic_load(&recorder.confined) ||
        (tls.thread && tls.thread->tick && sys_call(SYS_getpid) != (long)recorder.pid))
        return false;
    if (thread_enter()) /* connects a forked child, so that it prepares its own memory */
        thread_leave();
    stack_tree_prepare();
    stack_accounts_prepare();
    threads_prepare();
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
