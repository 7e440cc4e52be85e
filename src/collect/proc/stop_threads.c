#include "collect/proc/stop_threads.h"

#include <ctype.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/older_libc.h"
#include "collect/proc/proc.h"
#include "machine/stopped.h"

#define PATIENCE_NS UINT64_C(2000000000) /* how long to wait for a thread to stop */
#define SLEEP_NS    UINT64_C(100000000)  /* the same for one that sleeps and cannot be woken */
#define YIELDS      64                   /* checks without a nap: most threads stop at once */
#define NAP_NS      50000
#define REAP_SIGNAL SIGVTALRM /* nothing else here uses it */
#define REAP_NS     5000000
#define REAPED_NS   UINT64_C(1000000000) /* for a thread to end that was killed */

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

/* Can it neither run nor be stopped: because it has ended, or is a thread of the kernel? */
static bool is_left_alone(pid_t pid, pid_t tid)
{
    struct proc_state state;
    return proc_read_thread_state(pid, tid, &state) &&
           (state.state == 'Z' || state.state == 'X' || proc_is_kernel_worker(&state));
}

unsigned stop_threads_count(pid_t pid)
{
    return proc_count_threads(pid);
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
        if (h->threads.items[i].tid == tid && !h->threads.items[i].ended)
            return &h->threads.items[i];
    return NULL;
}

/* --- a program that executes another one meanwhile -------------------------------------------- */

/*
 * A thread that executes a program waits until all other threads are gone. Those that we trace are
 * gone when we have reaped them. Meanwhile the kernel lets nobody begin to trace the waiting
 * thread: the call waits. So while we begin to trace threads, a timer interrupts that call again
 * and again, and its handler reaps. The kernel repeats the call afterwards.
 */
static _Thread_local struct stopped_threads *volatile seizing;

static bool says_ended(const siginfo_t *what)
{
    return what->si_pid && (what->si_code == CLD_EXITED || what->si_code == CLD_KILLED ||
                            what->si_code == CLD_DUMPED);
}

/* Reaps a thread of ours that has ended. The first thread is left to those who wait for the
 * process. The kernel reports stops here too: those are left for has_stopped. */
static bool reap_one(const struct stopped_threads *h, pid_t tid)
{
    siginfo_t what = {0};
    int how = WEXITED | WNOHANG | __WALL;
    return tid != h->pid && waitid(P_PID, (id_t)tid, &what, how | WNOWAIT) == 0 &&
           says_ended(&what) && waitid(P_PID, (id_t)tid, &what, how) == 0;
}

static void reap(struct stopped_threads *h)
{
    for (size_t i = 0; i < h->listed.count; i++) {
        struct stopped_thread *t = thread_of(h, h->listed.items[i]);
        if (reap_one(h, h->listed.items[i]) && t) {
            t->ended = true;
            t->stopped = false;
        }
    }
}

static void on_timer(int signal)
{
    (void)signal;
    int kept = errno;
    if (seizing)
        reap(seizing);
    errno = kept;
}

struct reaper {
    bool begun;
    int timer; /* the kernel's number */
    sigset_t mask;
};

/* Without a timer, which is unlikely, the threads are stopped nevertheless. */
static void reaper_begin(struct reaper *r)
{
    struct sigaction action = {.sa_handler = on_timer, .sa_flags = SA_RESTART};
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = REAP_SIGNAL};
    struct itimerspec often = {{0, REAP_NS}, {0, REAP_NS}};
    sigset_t only;
    event._sigev_un._tid = (pid_t)syscall(SYS_gettid);
    r->begun = sigaction(REAP_SIGNAL, &action, NULL) == 0 &&
               syscall(SYS_timer_create, CLOCK_MONOTONIC, &event, &r->timer) == 0;
    if (!r->begun)
        return;
    sigemptyset(&only);
    sigaddset(&only, REAP_SIGNAL);
    pthread_sigmask(SIG_UNBLOCK, &only, &r->mask);
    syscall(SYS_timer_settime, r->timer, 0, &often, NULL);
}

static void reaper_end(struct reaper *r)
{
    if (!r->begun)
        return;
    syscall(SYS_timer_delete, r->timer);
    pthread_sigmask(SIG_SETMASK, &r->mask, NULL);
}

/* --- stopping --------------------------------------------------------------------------------- */

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

static int list_threads(struct stopped_threads *h, struct err *err)
{
    DIR *all = proc_open_threads(h->pid);
    if (!all)
        return err_set(err, -errno, "the program could not be stopped: it has ended");
    h->listed.count = 0;
    for (pid_t tid; (tid = proc_next_number(all));)
        *vec_push(&h->listed) = tid;
    closedir(all);
    return 0;
}

/* Seizes threads that are new. Returns how many, or a negative errno. */
static int seize_new(struct stopped_threads *h, pid_t waiting, struct err *err)
{
    int seized = list_threads(h, err);
    for (size_t i = 0; seized >= 0 && i < h->listed.count; i++) {
        pid_t tid = h->listed.items[i];
        if (tid == waiting || thread_of(h, tid) || is_left_alone(h->pid, tid))
            continue;
        seizing = h;
        int code = stop_threads_seize(tid) ? 0 : errno;
        seizing = NULL;
        if (!code) {
            *vec_push(&h->threads) = (struct stopped_thread){.tid = tid};
            seized++;
        } else if (code != ESRCH && !is_dead(h->pid, tid)) {
            seized = refuse(h->pid, code, err);
        }
    }
    return seized;
}

/*
 * Has the thread stopped, or ended? A thread that ends while it is traced must be reaped by its
 * tracer: until then it is listed as one of the process, and the process can neither execute
 * another program nor end. Only the first thread is not reaped: that is for those who wait for the
 * process.
 */
static bool has_stopped(pid_t pid, struct stopped_thread *t)
{
    siginfo_t what = {0};
    int events = t->tid == pid ? WSTOPPED : WSTOPPED | WEXITED;
    if (waitid(P_PID, (id_t)t->tid, &what, events | WNOHANG | __WALL) != 0) {
        t->ended = errno == ECHILD; /* another thread has executed a program, and has this number */
        return t->ended;
    }
    if (!what.si_pid)
        return false;
    if (says_ended(&what)) {
        t->ended = true;
        return true;
    }
    t->stopped = true;
    if (what.si_status >> 8 != PTRACE_EVENT_STOP) /* it was about to receive a signal */
        t->signal = what.si_status & 0x7f;
    return true;
}

static void read_call(pid_t pid, pid_t tid, char *text, size_t size)
{
    char name[32];
    snprintf(name, sizeof name, "task/%d/syscall", tid);
    proc_read_text(pid, name, text, size);
}

bool stop_threads_sleeps(const char *call, uint64_t waited_ns)
{
    if (!isdigit((unsigned char)call[0]))
        return false;
    long number = strtol(call, NULL, 10);
#ifdef SYS_vfork
    if (number == SYS_vfork)
        return true;
#endif
    return number == SYS_clone || number == SYS_clone3 || waited_ns > SLEEP_NS;
}

/* Does it sleep in the kernel, and cannot be woken? It stops before it is back in the program, so
 * it is as good as stopped. */
static bool is_asleep(pid_t pid, pid_t tid, uint64_t waited_ns)
{
    char call[512];
    if (state_of(pid, tid) != 'D')
        return false;
    read_call(pid, tid, call, sizeof call);
    return stop_threads_sleeps(call, waited_ns);
}

static bool await_stops(struct stopped_threads *h, uint64_t patience_ns, struct err *err)
{
    struct patience patience = {0};
    for (unsigned round = 0;; round++) {
        uint64_t waited_ns = patience_waited(&patience, monotonic_ns());
        size_t running = 0;
        pid_t last = 0;
        for (size_t i = 0; i < h->threads.count; i++) {
            struct stopped_thread *t = &h->threads.items[i];
            if (t->stopped || t->ended || has_stopped(h->pid, t))
                continue;
            bool looks = round % YIELDS == YIELDS - 1;
            t->ended = looks && is_dead(h->pid, t->tid);
            if (!t->ended && !(looks && is_asleep(h->pid, t->tid, waited_ns)))
                running++, last = t->tid;
        }
        if (!running)
            return true;
        if (waited_ns > patience_ns) {
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
    char text[512], *at = text;
    uint64_t words[9] = {0};
    unsigned n = 0;
    read_call(h->pid, t->tid, text, sizeof text);
    if (!isdigit((unsigned char)text[0]))
        return;
    for (char *end; n < 9 && (words[n] = strtoull(at, &end, 0), end != at); at = end)
        n++;
    add_words(h, words, sizeof words);
    t->stack = words[7];
}

static void leave_out_ended(struct stopped_threads *h)
{
    size_t kept = 0;
    for (size_t i = 0; i < h->threads.count; i++)
        if (!h->threads.items[i].ended)
            h->threads.items[kept++] = h->threads.items[i];
    h->threads.count = kept;
}

int stop_threads_begin(struct stopped_threads *h, pid_t pid, pid_t waiting, struct err *err)
{
    return stop_threads_patiently(h, pid, waiting, PATIENCE_NS, err);
}

static int seize_and_wait(struct stopped_threads *h, pid_t waiting, uint64_t patience_ns,
                          struct err *err)
{
    int seized;
    while ((seized = seize_new(h, waiting, err)) > 0)
        if (!await_stops(h, patience_ns, err))
            return -EBUSY;
    return seized;
}

int stop_threads_patiently(struct stopped_threads *h, pid_t pid, pid_t waiting,
                           uint64_t patience_ns, struct err *err)
{
    struct reaper reaper;
    *h = (struct stopped_threads){.pid = pid};
    reaper_begin(&reaper);
    int seized = seize_and_wait(h, waiting, patience_ns, err);
    reaper_end(&reaper);
    if (seized < 0)
        return seized;
    leave_out_ended(h);
    for (size_t i = 0; i < h->threads.count; i++) {
        struct stopped_thread *t = &h->threads.items[i];
        if (t->stopped)
            read_registers(h, t);
        else
            read_system_call(h, t);
    }
    return 0;
}

/* Lets a stopped thread go. If it was killed meanwhile, it must be reaped, and ends soon. */
static void release(const struct stopped_threads *h, const struct stopped_thread *t)
{
    struct patience patience = {0};
    if (ptrace(PTRACE_DETACH, t->tid, NULL, (void *)(intptr_t)t->signal) == 0 || t->tid == h->pid)
        return;
    while (!reap_one(h, t->tid) && state_of(h->pid, t->tid) &&
           patience_waited(&patience, monotonic_ns()) < REAPED_NS)
        nanosleep(&(struct timespec){.tv_nsec = NAP_NS}, NULL);
}

void stop_threads_end(struct stopped_threads *h)
{
    for (size_t i = 0; i < h->threads.count; i++)
        if (h->threads.items[i].stopped)
            release(h, &h->threads.items[i]);
    vec_release(&h->threads);
    vec_release(&h->listed);
    vec_release(&h->registers);
}
