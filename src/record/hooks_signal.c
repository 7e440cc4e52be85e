/*
 * Signals. The program must not notice the signal that timers of CPU time send (cpu_timer.h): it
 * sees it as unused, cannot block it and does not wait for it. If it sets a handler for that
 * signal, the timers move to another one first. Without such timers, all of these only forward.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>

#include "record/cpu_timer.h"
#include "record/libc.h"
#include "record/python.h"

/* What the program has set for that signal, which is the default or to ignore it. */
static struct sigaction pretended;

static bool is_handler(const struct sigaction *action)
{
    return action && ((action->sa_flags & SA_SIGINFO) ||
                      (action->sa_handler != SIG_DFL && action->sa_handler != SIG_IGN));
}

/* true: the program was answered. */
static __attribute__((noinline)) bool pretend(const struct sigaction *action, struct sigaction *old)
{
    if (is_handler(action)) {
        cpu_timer_move();
        return false;
    }
    if (old)
        *old = pretended;
    if (action)
        pretended = *action;
    return true;
}

/*
 * A handler of the program must not delay our signal to its own end: the call that it interrupted
 * would look as if we had interrupted it, and be restarted (cpu_timer.c).
 */
static const struct sigaction *let_through(const struct sigaction *action, struct sigaction *copy)
{
    if (LIKELY(!is_handler(action)))
        return action;
    *copy = *action;
    const sigset_t *set = cpu_timer_without(&action->sa_mask, &copy->sa_mask);
    return set == &action->sa_mask ? action : copy;
}

/*
 * CPython removes its handlers when it ends: it is still intact then, but not for long. A sanitizer
 * calls this before libc knows the environment, which is too early to start.
 */
EXPORT int sigaction(int number, const struct sigaction *action, struct sigaction *old)
{
    if (UNLIKELY(!next.sigaction)) {
        int (*libcs)(int, const struct sigaction *, struct sigaction *);
        void *f = libc_next("sigaction");
        memcpy(&libcs, &f, sizeof f);
        return libcs(number, action, old);
    }
    if (action && python_begins_to_end() && sys_call(SYS_getpid) == (long)recorder.pid) {
        int saved = errno;
        exit_python_ends();
        errno = saved;
    }
    if (UNLIKELY(cpu_timer_uses(number)) && pretend(action, old))
        return 0;
    struct sigaction copy;
    return next.sigaction(number, let_through(action, &copy), old);
}
OWN(sigaction);

/* The next function, also before the recorder has started. */
#define NEXT(name)                                                                                 \
    __typeof__(next.name) forward = next.name;                                                     \
    if (UNLIKELY(!forward)) {                                                                      \
        void *f = libc_next(#name);                                                                \
        memcpy(&forward, &f, sizeof f);                                                            \
    }

EXPORT void (*signal(int number, void (*handler)(int)))(int)
{
    NEXT(signal)
    struct sigaction action = {.sa_handler = handler}, old;
    if (UNLIKELY(cpu_timer_uses(number)) && pretend(&action, &old))
        return old.sa_handler;
    return forward(number, handler);
}

EXPORT int sigprocmask(int how, const sigset_t *set, sigset_t *old)
{
    sigset_t copy;
    NEXT(sigprocmask)
    return forward(how, how == SIG_UNBLOCK ? set : cpu_timer_without(set, &copy), old);
}

EXPORT int pthread_sigmask(int how, const sigset_t *set, sigset_t *old)
{
    sigset_t copy;
    NEXT(pthread_sigmask)
    return forward(how, how == SIG_UNBLOCK ? set : cpu_timer_without(set, &copy), old);
}

EXPORT int sigwait(const sigset_t *set, int *number)
{
    sigset_t copy;
    NEXT(sigwait)
    return forward(cpu_timer_without(set, &copy), number);
}

EXPORT int sigwaitinfo(const sigset_t *set, siginfo_t *info)
{
    sigset_t copy;
    NEXT(sigwaitinfo)
    return forward(cpu_timer_without(set, &copy), info);
}

EXPORT int sigtimedwait(const sigset_t *set, siginfo_t *info, const struct timespec *timeout)
{
    sigset_t copy;
    NEXT(sigtimedwait)
    return forward(cpu_timer_without(set, &copy), info, timeout);
}

EXPORT int signalfd(int fd, const sigset_t *set, int flags)
{
    sigset_t copy;
    NEXT(signalfd)
    return forward(fd, cpu_timer_without(set, &copy), flags);
}

/*
 * Only the kernel may know where a thread's signal stack is, and the leak scan needs it. A thread
 * that is not recorded yet asks the kernel when its recording begins. So this hook starts no
 * recording: a forked child may call sigaltstack just before it executes another program.
 */
EXPORT int sigaltstack(const stack_t *stack, stack_t *old)
{
    NEXT(sigaltstack)
    int result = forward(stack, old);
    struct thread *t = tls.thread;
    if (result == 0 && stack && t && t->tick && sys_call(SYS_getpid) == (long)recorder.pid)
        thread_ask_signal_stack(t);
    return result;
}
