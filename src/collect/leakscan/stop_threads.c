#include "collect/leakscan/stop_threads.h"

#include <ctype.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>

#include "base/clock.h"
#include "collect/proc/proc.h"
#include "machine/stopped.h"

#define PATIENCE_NS UINT64_C(2000000000) /* how long to wait for a thread to stop */
#define YIELDS      64
#define NAP_NS      50000

/* The state as ps shows it; 0: the thread is gone. */
static char state_of(pid_t pid, pid_t tid)
{
    struct proc_state state;
    return proc_read_thread_state(pid, tid, &state) ? state.state : '\0';
}

static bool is_dead(pid_t pid, pid_t tid)
{
    char state = state_of(pid, tid);
    return !state || state == 'Z' || state == 'X';
}

unsigned stop_threads_count(pid_t pid)
{
    struct proc_status status;
    proc_read_status(pid, &status);
    return status.threads;
}

static int refuse(pid_t pid, int code, struct err *err)
{
    struct proc_status status;
    proc_read_status(pid, &status);
    if (status.tracer)
        return err_set(
            err, -code,
            "the program could not be stopped: process %u (a debugger, or strace) traces "
            "it; run it without",
            status.tracer);
    return err_set(err, -code,
                   "the program could not be stopped: %s; ptrace must be permitted ('tidemark "
                   "doctor' says what forbids it)",
                   strerror(code));
}

static struct stopped_thread *thread_of(struct stopped_threads *h, pid_t tid)
{
    for (size_t i = 0; i < h->threads.count; i++)
        if (h->threads.items[i].tid == tid)
            return &h->threads.items[i];
    return NULL;
}

/* A thread that slept in the kernel could not be released when it was stopped the last time. We
 * still trace it then, and only its tracer can interrupt it. */
bool stop_threads_seize(pid_t tid)
{
    bool seized = ptrace(PTRACE_SEIZE, tid, NULL, NULL) == 0;
    int why = errno;
    if (!seized && why != EPERM)
        return false;
    bool interrupted = ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) == 0;
    errno = why;
    return seized || interrupted;
}

/* Seizes threads that are new. Returns how many, or a negative errno. */
static int seize_new(struct stopped_threads *h, pid_t waiting, struct err *err)
{
    int seized = 0;
    DIR *all = proc_open_threads(h->pid);
    if (!all)
        return err_set(err, -errno, "the program could not be stopped: it is gone");
    for (pid_t tid; seized >= 0 && (tid = proc_next_number(all));) {
        if (tid == waiting || thread_of(h, tid))
            continue;
        int code = stop_threads_seize(tid) ? 0 : errno;
        if (!code) {
            *vec_push(&h->threads) = (struct stopped_thread){.tid = tid};
            seized++;
        } else if (code != ESRCH && !is_dead(h->pid, tid)) {
            seized = refuse(h->pid, code, err);
        }
    }
    closedir(all);
    return seized;
}

/* Has the thread stopped? If it has ended, it is not reaped: that is for those who wait for it. */
static bool has_stopped(struct stopped_thread *t)
{
    siginfo_t what = {0};
    if (waitid(P_PID, (id_t)t->tid, &what, WSTOPPED | WNOHANG | __WALL) != 0 || !what.si_pid)
        return false;
    t->stopped = true;
    if (what.si_status >> 8 != PTRACE_EVENT_STOP) /* it was about to receive a signal */
        t->signal = what.si_status & 0x7f;
    return true;
}

static bool await_stops(struct stopped_threads *h, uint64_t patience_ns, struct err *err)
{
    struct patience patience = {0};
    for (unsigned round = 0;; round++) {
        size_t running = 0;
        pid_t last = 0;
        for (size_t i = 0; i < h->threads.count; i++) {
            struct stopped_thread *t = &h->threads.items[i];
            /* A thread that sleeps in the kernel and cannot be woken (vfork) is as good as
             * stopped. */
            if (!t->stopped && !has_stopped(t) &&
                (round % YIELDS != YIELDS - 1 ||
                 !(is_dead(h->pid, t->tid) || state_of(h->pid, t->tid) == 'D')))
                running++, last = t->tid;
        }
        if (!running)
            return true;
        if (patience_waited(&patience, monotonic_ns()) > patience_ns) {
            char state = state_of(h->pid, last);
            err_set(
                err, -EBUSY,
                "the program could not be stopped: its thread %d did not stop in %u s (state %c)",
                (int)last, (unsigned)(patience_ns / 1000000000), state ? state : '?');
            return false;
        }
        if (round < YIELDS)
            sched_yield();
        else
            nanosleep(&(struct timespec){.tv_nsec = NAP_NS}, NULL);
    }
}

static void add_words(struct stopped_threads *h, const void *bytes, size_t size)
{
    const char *from = bytes;
    for (size_t at = 0; at + 8 <= size; at += 8)
        memcpy(vec_push(&h->registers), from + at, 8);
}

static void read_registers(struct stopped_threads *h, struct stopped_thread *t)
{
    struct user_regs_struct general;
    static _Alignas(64) char extended[STOPPED_EXTENDED_BYTES];
    struct iovec area = {&general, sizeof general};
    if (ptrace(PTRACE_GETREGSET, t->tid, (void *)NT_PRSTATUS, &area) == 0) {
        add_words(h, &general, sizeof general);
        t->stack = stopped_stack(&general);
        t->pointer = stopped_thread_pointer(t->tid, &general);
    }
    area = (struct iovec){extended, sizeof extended};
    if (ptrace(PTRACE_GETREGSET, t->tid, (void *)STOPPED_EXTENDED_SET, &area) == 0)
        add_words(h, extended, area.iov_len);
}

/* For a thread that sleeps in a system call: reads the call's number, its arguments, and the stack
 * pointer. */
static void read_system_call(struct stopped_threads *h, struct stopped_thread *t)
{
    char name[32], text[512], *at = text;
    uint64_t words[9] = {0};
    unsigned n = 0;
    snprintf(name, sizeof name, "task/%d/syscall", t->tid);
    proc_read_text(h->pid, name, text, sizeof text);
    if (!isdigit((unsigned char)text[0]))
        return;
    for (char *end; n < 9 && (words[n] = strtoull(at, &end, 0), end != at); at = end)
        n++;
    add_words(h, words, sizeof words);
    t->stack = words[7];
}

int stop_threads_begin(struct stopped_threads *h, pid_t pid, pid_t waiting, struct err *err)
{
    return stop_threads_patiently(h, pid, waiting, PATIENCE_NS, err);
}

int stop_threads_patiently(struct stopped_threads *h, pid_t pid, pid_t waiting,
                           uint64_t patience_ns, struct err *err)
{
    int seized;
    *h = (struct stopped_threads){.pid = pid};
    while ((seized = seize_new(h, waiting, err)) > 0)
        if (!await_stops(h, patience_ns, err))
            return -EBUSY;
    if (seized < 0)
        return seized;
    for (size_t i = 0; i < h->threads.count; i++) {
        struct stopped_thread *t = &h->threads.items[i];
        if (t->stopped)
            read_registers(h, t);
        else
            read_system_call(h, t);
    }
    return 0;
}

void stop_threads_end(struct stopped_threads *h)
{
    for (size_t i = 0; i < h->threads.count; i++)
        if (h->threads.items[i].stopped)
            ptrace(PTRACE_DETACH, h->threads.items[i].tid, NULL,
                   (void *)(intptr_t)h->threads.items[i].signal);
    vec_release(&h->threads);
    vec_release(&h->registers);
}
