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
#include "collect/proc/stop_threads.h"
#include "collect/proc/proc.h"
#include "machine/remote.h"
#include "machine/remote_frame.h"
#include "machine/stopped.h"
#include "wire/attach_code.h"

#define STOP_NS UINT64_C(30000000000) /* for a thread to stop on a busy machine */
#define WAKE_NS UINT64_C(10000000000) /* for a thread to stop that sleeps in the kernel */
#define STEP_NS UINT64_C(60000000000) /* for a system call that does not block */
#define REAP_NS UINT64_C(1000000000)  /* for a thread to end that was killed */
#define YIELDS  64
#define NAP_NS  50000

#ifndef PTRACE_GETSIGMASK
#define PTRACE_GETSIGMASK 0x420a
#define PTRACE_SETSIGMASK 0x420b
#endif

/* Waits until the thread stops. Returns its wait status, or a negative errno. */
static int await_stop(pid_t tid, uint64_t limit_ns)
{
    struct patience patience = {0};
    for (unsigned round = 0;; round++) {
        int status;
        pid_t got = waitpid(tid, &status, __WALL | WNOHANG);
        if (got == tid)
            return WIFSTOPPED(status) ? status : -ESRCH;
        if (got < 0 && errno != EINTR)
            return -ESRCH;
        if (patience_waited(&patience, monotonic_ns()) > limit_ns)
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

/* Does it wait for a disk, or for its child (vfork)? Then neither a signal nor we can wake it. */
static bool sleeps_deeply(pid_t tid)
{
    struct proc_state state;
    return proc_read_thread_state(tid, tid, &state) && state.state == 'D';
}

/* The same as await_stop, for a thread that was just interrupted. */
static int await_interrupted(pid_t tid)
{
    int status = -EBUSY;
    for (uint64_t waited = 0; status == -EBUSY && waited < STOP_NS; waited += WAKE_NS) {
        status = await_stop(tid, WAKE_NS);
        if (status == -EBUSY && sleeps_deeply(tid))
            break;
    }
    return status;
}

int remote_stop(pid_t tid, struct remote_thread *t)
{
    t->tid = tid;
    t->signal = 0;
    t->halts = false;
    if (!stop_threads_seize(tid))
        return -errno;
    int status = await_interrupted(tid);
    if (status < 0) /* the kernel releases the thread when we end */
        return status;
    if (!is_event_stop(status))
        t->signal = WSTOPSIG(status);
    int code = remote_save(t);
    if (code)
        remote_release(t);
    return code;
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
    return 0;
}

/* Puts everything back as it was; the thread stays stopped. */
static void remote_restore(struct remote_thread *t)
{
    struct iovec general = {&t->registers, sizeof t->registers};
    struct iovec vectors = {t->vectors, t->vectors_size};
    ptrace(PTRACE_SETREGSET, t->tid, (void *)(uintptr_t)STOPPED_EXTENDED_SET, &vectors);
    ptrace(PTRACE_SETREGSET, t->tid, (void *)NT_PRSTATUS, &general);
    remote_restore_system_call(t->tid, remote_system_call(&t->registers));
    ptrace(PTRACE_SETSIGMASK, t->tid, (void *)sizeof t->signals, &t->signals);
    if (t->halts)
        kill(t->tid, SIGSTOP); /* SIGSTOP came during the call and was put off */
    t->halts = false;
}

void remote_release(struct remote_thread *t)
{
    if (ptrace(PTRACE_DETACH, t->tid, NULL, (void *)(intptr_t)t->signal) != 0)
        /* It was killed, perhaps because another thread executes a program, and must be reaped. */
        await_stop(t->tid, REAP_NS);
}

static bool set_registers(pid_t tid, const struct user_regs_struct *r)
{
    struct iovec general = {(void *)(uintptr_t)r, sizeof *r};
    /* If one of these were blocked and the kernel had to deliver it, the kernel would remove the
     * program's handler. */
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

/* Reads a word of the program; 0 if it cannot be read. */
static uint64_t word_at(int memory, uint64_t address)
{
    uint64_t word = 0;
    return pread(memory, &word, sizeof word, (off_t)address) == (ssize_t)sizeof word ? word : 0;
}

/* Is this the stop before or after a system call? PTRACE_O_TRACESYSGOOD must be set. */
static bool is_call_stop(int status)
{
    return WSTOPSIG(status) == (SIGTRAP | 0x80);
}

/* Stops the thread wherever it is. */
static int interrupt(pid_t tid)
{
    ptrace(PTRACE_INTERRUPT, tid, NULL, NULL);
    int status = await_stop(tid, STOP_NS);
    return status < 0 ? status : 0;
}

/* Handles a stop that we did not cause: 0 lets the thread go on. SIGSTOP is delivered after the
 * call, so that the thread stops together with the others of its process. */
static int handle_other_stop(struct remote_thread *t, int status)
{
    if (is_event_stop(status))
        return 0;
    if (WSTOPSIG(status) != SIGSTOP) /* all others are blocked */
        return -EFAULT;
    t->halts = true;
    return 0;
}

/* Lets the thread run to its next entry to or exit from a system call. */
static int go_to_call(struct remote_thread *t)
{
    for (;;) {
        if (ptrace(PTRACE_SYSCALL, t->tid, NULL, NULL) != 0)
            return -errno;
        int status = await_stop(t->tid, STEP_NS);
        if (status < 0)
            return status;
        if (is_call_stop(status))
            return 0;
        int code = handle_other_stop(t, status);
        if (code)
            return code;
    }
}

/* Writes a frame on the thread's stack below `end` by which the thread restores itself if we are
 * killed. Returns the stack pointer for the call, or 0. */
static uint64_t write_return_frame(struct remote_thread *t, uint64_t returns_to, uint64_t end)
{
    char frame[REMOTE_FRAME_MOST];
    uint64_t address = 0;
    size_t size = returns_to ? remote_frame(&t->registers, t->signals, t->vectors, t->vectors_size,
                                            returns_to, end, frame, &address)
                             : 0;
    return size && pwrite(t->way.memory, frame, size, (off_t)address) == (ssize_t)size ? address
                                                                                       : 0;
}

/* Leads the thread from the end of a system call to a stop where the kernel would restart the
 * system call that the thread was in before. */
static int leave_call(struct remote_thread *t)
{
    ptrace(PTRACE_INTERRUPT, t->tid, NULL, NULL);
    for (;;) {
        if (ptrace(PTRACE_CONT, t->tid, NULL, NULL) != 0)
            return -errno;
        int status = await_stop(t->tid, STOP_NS);
        if (status < 0 || is_event_stop(status))
            return status < 0 ? status : 0;
        int code = handle_other_stop(t, status);
        if (code)
            return code;
    }
}

long remote_syscall(struct remote_thread *t, long number, const uint64_t arguments[6])
{
    struct user_regs_struct r = t->registers;
    uint64_t stack =
        write_return_frame(t, t->way.signal_return, stopped_stack(&r) - REMOTE_RED_ZONE);
    remote_set_system_call(&r, t->way.system_call, number, arguments);
    if (stack)
        remote_set_stack(&r, stack);
    ptrace(PTRACE_SETOPTIONS, t->tid, NULL, (void *)PTRACE_O_TRACESYSGOOD);
    int code = set_registers(t->tid, &r) ? go_to_call(t) : -errno;
    if (!code)
        code = go_to_call(t);
    if (!code && !get_registers(t->tid, &r))
        code = -errno;
    int left = leave_call(t);
    remote_restore(t);
    return code ? code : left ? left : (long)remote_result(&r);
}

/* Lets the thread run until the function has returned. */
static int go_until_back(struct remote_thread *t, uint64_t done, uint64_t limit_ns)
{
    struct patience patience = {0};
    if (ptrace(PTRACE_CONT, t->tid, NULL, NULL) != 0)
        return -errno;
    for (unsigned round = 0;; round++) {
        int status;
        pid_t got = waitpid(t->tid, &status, __WALL | WNOHANG);
        if ((got < 0 && errno != EINTR) || (got == t->tid && !WIFSTOPPED(status)))
            return -ESRCH;
        if (got == t->tid) {
            int code = handle_other_stop(t, status);
            if (code || ptrace(PTRACE_CONT, t->tid, NULL, NULL) != 0)
                return code ? code : -errno;
            continue;
        }
        if (word_at(t->way.memory, done))
            return interrupt(t->tid);
        if (patience_waited(&patience, monotonic_ns()) > limit_ns) {
            int code = interrupt(t->tid);
            return code ? code : -ETIMEDOUT;
        }
        if (round < YIELDS)
            sched_yield();
        else
            nanosleep(&(struct timespec){.tv_nsec = NAP_NS}, NULL);
    }
}

int remote_function_call(struct remote_thread *t, const struct remote_place *where,
                         uint64_t function, const uint64_t arguments[4], uint64_t limit_ns,
                         uint64_t *result)
{
    const struct return_words none = RETURN_WORDS;
    struct user_regs_struct r = t->registers;
    uint64_t words = where->back + RETURN_OFFSET_WORDS;
    uint64_t done = words + offsetof(struct return_words, done);
    uint64_t stack = write_return_frame(t, where->back, where->stack_end);
    if (!stack || pwrite(t->way.memory, &none, sizeof none, (off_t)words) != (ssize_t)sizeof none)
        return -EFAULT;
    remote_set_call(&r, function, arguments, stack);
    int code = set_registers(t->tid, &r) ? go_until_back(t, done, limit_ns) : -errno;
    *result = word_at(t->way.memory, words + offsetof(struct return_words, result));
    if (!code && !get_registers(t->tid, &r))
        code = -errno;
    if (!code && remote_pc(&r) - where->back > RETURN_CODE_MOST)
        return remote_save(t); /* the thread waited too long for us and restored itself */
    remote_restore(t);
    return code;
}
