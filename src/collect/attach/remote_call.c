#include "collect/attach/remote_call.h"

#include <elf.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "collect/leakscan/stop_threads.h"
#include "machine/remote.h"
#include "machine/stopped.h"

#define STOP_NS UINT64_C(30000000000) /* for a thread to stop, on a busy machine */
#define STEP_NS UINT64_C(60000000000) /* for a system call that does not wait */
#define YIELDS  64
#define NAP_NS  50000

#ifndef PTRACE_GETSIGMASK
#define PTRACE_GETSIGMASK 0x420a
#define PTRACE_SETSIGMASK 0x420b
#endif

/* Waits until it stops; its wait status, or a negative errno. */
static int await_stop(pid_t tid, uint64_t limit_ns)
{
    uint64_t begin = monotonic_ns();
    for (unsigned round = 0;; round++) {
        int status;
        pid_t got = waitpid(tid, &status, __WALL | WNOHANG);
        if (got == tid)
            return WIFSTOPPED(status) ? status : -ESRCH;
        if (got < 0 && errno != EINTR)
            return -ESRCH;
        if (monotonic_ns() - begin > limit_ns)
            return -EBUSY;
        if (round < YIELDS)
            sched_yield();
        else
            nanosleep(&(struct timespec){.tv_nsec = NAP_NS}, NULL);
    }
}

static bool is_event_stop(int status)
{
    return status >> 16 == PTRACE_EVENT_STOP;
}

int remote_stop(pid_t tid, struct remote_thread *t)
{
    t->tid = tid;
    t->signal = 0;
    t->halts = false;
    if (!stop_threads_seize(tid))
        return -errno;
    int status = await_stop(tid, STOP_NS);
    if (status < 0) /* it cannot be let go either; that happens when we end */
        return status;
    if (!is_event_stop(status))
        t->signal = WSTOPSIG(status);
    int code = remote_save(t);
    if (code)
        remote_release(t);
    return code;
}

/* A signal whose delivery the thread has stopped at would lose its sender and its value by a call. */
static void save_signal(struct remote_thread *t)
{
    siginfo_t *i = &t->came_with;
    if (ptrace(PTRACE_GETSIGINFO, t->tid, NULL, i) != 0 ||
        i->si_code == (PTRACE_EVENT_STOP << 8 | SIGTRAP))
        i->si_signo = 0;
}

int remote_save(struct remote_thread *t)
{
    struct iovec general = {&t->registers, sizeof t->registers};
    struct iovec vectors = {t->vectors, sizeof t->vectors};
    if (ptrace(PTRACE_GETREGSET, t->tid, (void *)NT_PRSTATUS, &general) != 0 ||
        ptrace(PTRACE_GETREGSET, t->tid, (void *)(uintptr_t)STOPPED_EXTENDED_SET, &vectors) != 0 ||
        ptrace(PTRACE_GETSIGMASK, t->tid, (void *)sizeof t->signals, &t->signals) != 0)
        return -errno;
    t->vectors_size = vectors.iov_len;
    save_signal(t);
    return 0;
}

void remote_restore(struct remote_thread *t)
{
    struct iovec general = {&t->registers, sizeof t->registers};
    struct iovec vectors = {t->vectors, t->vectors_size};
    ptrace(PTRACE_SETREGSET, t->tid, (void *)(uintptr_t)STOPPED_EXTENDED_SET, &vectors);
    ptrace(PTRACE_SETREGSET, t->tid, (void *)NT_PRSTATUS, &general);
    remote_restore_system_call(t->tid, remote_system_call(&t->registers));
    ptrace(PTRACE_SETSIGMASK, t->tid, (void *)sizeof t->signals, &t->signals);
    if (t->came_with.si_signo)
        ptrace(PTRACE_SETSIGINFO, t->tid, NULL, &t->came_with);
    if (t->halts)
        kill(t->tid, SIGSTOP); /* now it may */
    t->halts = false;
}

void remote_release(struct remote_thread *t)
{
    ptrace(PTRACE_DETACH, t->tid, NULL, (void *)(intptr_t)t->signal);
}

static bool set_registers(pid_t tid, const struct user_regs_struct *r)
{
    struct iovec general = {(void *)(uintptr_t)r, sizeof *r};
    /* Were one of those blocked that the kernel must deliver, it would drop the program's handler. */
    static const int never[] = {SIGTRAP, SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGSYS};
    uint64_t all = ~UINT64_C(0);
    for (size_t i = 0; i < sizeof never / sizeof *never; i++)
        all &= ~(UINT64_C(1) << (never[i] - 1));
    return ptrace(PTRACE_SETSIGMASK, tid, (void *)sizeof all, &all) == 0 &&
           ptrace(PTRACE_SETREGSET, tid, (void *)NT_PRSTATUS, &general) == 0 &&
           remote_forget_system_call(tid);
}

static bool get_registers(pid_t tid, struct user_regs_struct *r)
{
    struct iovec general = {r, sizeof *r};
    return ptrace(PTRACE_GETREGSET, tid, (void *)NT_PRSTATUS, &general) == 0;
}

/* Goes on until it traps. A stop of the whole process comes between: it goes on through that, and
 * stands still with the others when it is let go. */
static int go_until_trap(struct remote_thread *t, int how, uint64_t limit_ns)
{
    uint64_t begin = monotonic_ns();
    for (;;) {
        if (ptrace(how, t->tid, NULL, NULL) != 0)
            return -errno;
        int status = await_stop(t->tid, limit_ns);
        if (status == -EBUSY) { /* it is brought back, wherever it is */
            ptrace(PTRACE_INTERRUPT, t->tid, NULL, NULL);
            status = await_stop(t->tid, STOP_NS);
            return status < 0 ? status : -ETIMEDOUT;
        }
        if (status < 0)
            return status;
        if (is_event_stop(status)) {
            if (monotonic_ns() - begin > limit_ns)
                return -ETIMEDOUT;
            continue;
        }
        if (WSTOPSIG(status) ==
            SIGSTOP) { /* the only one that can be neither blocked nor put off */
            t->halts = true;
            continue;
        }
        return WSTOPSIG(status) == SIGTRAP ? 0 : -EFAULT;
    }
}

long remote_syscall(struct remote_thread *t, long number, const uint64_t arguments[6])
{
    struct user_regs_struct r = t->registers;
    remote_set_system_call(&r, t->system_call, number, arguments);
    int code = set_registers(t->tid, &r) ? go_until_trap(t, PTRACE_SINGLESTEP, STEP_NS) : -errno;
    if (!code && !get_registers(t->tid, &r))
        code = -errno;
    remote_restore(t);
    return code ? code : (long)remote_result(&r);
}

int remote_function_call(struct remote_thread *t, const struct remote_place *where,
                         uint64_t function, const uint64_t arguments[4], uint64_t limit_ns,
                         uint64_t *result)
{
    struct user_regs_struct r = t->registers;
    uint64_t slot;
    remote_set_call(&r, function, arguments, where->stack_end, where->trap, &slot);
    if (slot && pwrite(where->memory, &where->trap, sizeof where->trap, (off_t)slot) !=
                    (ssize_t)sizeof where->trap)
        return -EFAULT;
    int code = set_registers(t->tid, &r) ? go_until_trap(t, PTRACE_CONT, limit_ns) : -errno;
    if (!code && !get_registers(t->tid, &r))
        code = -errno;
    if (!code && remote_pc(&r) != where->trap + REMOTE_TRAP_MOVES)
        code = -EFAULT;
    remote_restore(t);
    *result = remote_result(&r);
    return code;
}
