#include "record/cpu_timer.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>

#include "machine/interrupted.h"

#define FIRST_SIGNAL 64 /* from here down to LAST_SIGNAL, the first free one is used */
#define LAST_SIGNAL  36 /* glibc and debuggers use those below */
#define STARTS       256
#define STALE_OWED   64 /* periods after which to check whether the hook still exists */

static _Atomic int signal_used; /* 0: none */
static _Atomic bool stopped;
static struct spin moving;

bool cpu_timer_wanted(void)
{
    const struct wire_header *h = recorder.header;
    return h && h->cpu_period_ns && !atomic_load_explicit(&stopped, memory_order_relaxed);
}

bool cpu_timer_uses(int number)
{
    return UNLIKELY(number == atomic_load_explicit(&signal_used, memory_order_relaxed)) && number;
}

static void set_state(enum wire_cpu state)
{
    if (recorder.header)
        atomic_store_explicit(&recorder.header->cpu_state, state, memory_order_relaxed);
}

static void count_lost(uint32_t periods)
{
    if (recorder.header)
        atomic_fetch_add_explicit(&recorder.header->cpu_lost, periods, memory_order_relaxed);
}

/* --- a sample --------------------------------------------------------------------------------- */

static void put_sample(uint32_t tid, uint32_t stack, uint32_t periods)
{
    struct wire_header *h = recorder.header;
    struct wire_sample *samples = (void *)((char *)h + h->samples_offset);
    uint64_t n = atomic_load_explicit(&h->samples_claimed, memory_order_relaxed);
    do
        if (n - atomic_load_explicit(&h->samples_read, memory_order_acquire) >= WIRE_SAMPLES) {
            count_lost(periods);
            return;
        }
    while (!atomic_compare_exchange_weak(&h->samples_claimed, &n, n + 1));
    struct wire_sample *s = &samples[n % WIRE_SAMPLES];
    s->tid = tid;
    s->stack = stack;
    s->periods = periods;
    s->tick = atomic_load_explicit(&h->tick, memory_order_relaxed);
    atomic_store_explicit(&s->number, n + 1, memory_order_release);
}

static bool is_recorded(const struct thread *t)
{
    return t && t->tick && recorder.header &&
           atomic_load_explicit(&recorder.state, memory_order_relaxed) == STATE_LIVE;
}

/* An exchange, because the signal may come in between. */
void cpu_timer_pay(const uint64_t *caller)
{
    uint32_t owed = __atomic_exchange_n(&tls.cpu_owed, 0, __ATOMIC_RELAXED);
    struct thread *t = tls.thread;
    if (!is_recorded(t)) {
        count_lost(owed);
    } else if (!recorder_paused()) {
        put_sample(t->tid, event_stack(t, caller), owed);
    }
}

/* The cached frames may be of code that was unloaded since the last hook. */
static void take_sample(struct thread *t, const uint64_t *caller, uint32_t periods)
{
    uint32_t generation = atomic_load(&recorder.generation);
    if (t->generation != generation) {
        walk_forget(&t->walk);
        t->generation = generation;
    }
    t->in_handler = true;
    put_sample(t->tid, event_interrupted(t, caller), periods);
    t->in_handler = false;
}

/*
 * Calls that end with EINTR after any handler, and can be repeated unchanged. A sleep begins anew,
 * which makes it longer by the time it had taken before: nearly none, because the thread was using
 * the processor when its timer expired. close and connect are not among them.
 */
static bool may_be_restarted(long call)
{
    static const uint16_t calls[] = {
        SYS_nanosleep,    SYS_clock_nanosleep, SYS_ppoll,         SYS_pselect6,
        SYS_epoll_pwait,  SYS_futex,           SYS_read,          SYS_write,
        SYS_readv,        SYS_writev,          SYS_recvfrom,      SYS_recvmsg,
        SYS_sendto,       SYS_sendmsg,         SYS_accept,        SYS_accept4,
        SYS_semtimedop,   SYS_semop,           SYS_msgsnd,        SYS_msgrcv,
        SYS_io_getevents, SYS_rt_sigtimedwait, SYS_rt_sigsuspend, SYS_getrandom,
#ifdef SYS_poll
        SYS_poll,         SYS_select,          SYS_epoll_wait,    SYS_pause,
#endif
#ifdef SYS_epoll_pwait2
        SYS_epoll_pwait2,
#endif
    };
    for (unsigned i = 0; i < sizeof calls / sizeof *calls; i++)
        if (call == calls[i])
            return true;
    return false;
}

/* If another signal is pending, that one interrupts the call. */
static bool is_only_signal(const ucontext_t *u)
{
    uint64_t waiting = 0, blocked;
    memcpy(&blocked, &u->uc_sigmask, sizeof blocked);
    return sys_call(SYS_rt_sigpending, &waiting, 8L) == 0 && !(waiting & ~blocked);
}

/*
 * Did a handler of the program interrupt the call, and our signal only come after it? Then EINTR is
 * for the program. So it is if the call, and with it that handler, blocks our signal.
 */
static bool is_programs(const ucontext_t *u, int number)
{
    const uint64_t *mask = interrupted_mask(u, interrupted_number(u));
    return mask && (*mask >> (number - 1) & 1);
}

static void restart_call(ucontext_t *u, int number)
{
    if (UNLIKELY(interrupted_call(u)) && may_be_restarted(interrupted_number(u)) &&
        !is_programs(u, number) && is_only_signal(u))
        interrupted_again(u, interrupted_number(u));
}

/* Such a signal from anybody else is ignored: it would have ended the program. */
static void on_signal(int number, siginfo_t *info, void *context)
{
    uintptr_t frame = (uintptr_t)__builtin_frame_address(0);
    if (info->si_code != SI_TIMER)
        return;
    restart_call(context, number);
    uint32_t periods = 1 + (info->si_overrun > 0 ? (uint32_t)info->si_overrun : 0);
    struct thread *t = tls.thread;
    if ((tls.busy && (tls.cpu_owed < STALE_OWED || hook_nested(frame))) || modules_held() ||
        (t && !t->tick)) {
        __atomic_fetch_add(&tls.cpu_owed, periods, __ATOMIC_RELAXED);
        return;
    }
    if (!is_recorded(t)) {
        count_lost(periods);
        return;
    }
    if (recorder_paused())
        return;
    tls.busy = frame;
    atomic_signal_fence(memory_order_seq_cst);
    take_sample(t, OWN_FRAME(), periods);
    atomic_signal_fence(memory_order_seq_cst);
    tls.busy = 0;
}

/* --- the signal ------------------------------------------------------------------------------- */

static bool install(int number)
{
    struct sigaction action = {.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};
    action.sa_sigaction = on_signal;
    memset(&action.sa_mask, 0xff, sizeof action.sa_mask);
    return next.sigaction && next.sigaction(number, &action, NULL) == 0;
}

static bool is_free(int number)
{
    struct sigaction action;
    return next.sigaction && next.sigaction(number, NULL, &action) == 0 &&
           !(action.sa_flags & SA_SIGINFO) && action.sa_handler == SIG_DFL;
}

/* The requested signal, or the highest free one below `below`; 0: none. */
static int choose_signal(int below)
{
    int wanted = (int)recorder.header->cpu_signal, saved = errno, found = 0;
    if (wanted && below > FIRST_SIGNAL)
        found = is_free(wanted) && install(wanted) ? wanted : 0;
    for (int n = below - 1; !wanted && !found && n >= LAST_SIGNAL; n--)
        if (is_free(n) && install(n))
            found = n;
    errno = saved;
    return found;
}

static void unblock(int number)
{
    uint64_t set = UINT64_C(1) << (number - 1);
    sys_call(SYS_rt_sigprocmask, (long)SIG_UNBLOCK, &set, 0L, 8L);
}

const sigset_t *cpu_timer_without(const sigset_t *set, sigset_t *copy)
{
    int number = atomic_load_explicit(&signal_used, memory_order_relaxed);
    uint64_t bits;
    if (LIKELY(!number) || !set)
        return set;
    memcpy(&bits, set, sizeof bits);
    if (!(bits >> (number - 1) & 1))
        return set;
    *copy = *set;
    bits &= ~(UINT64_C(1) << (number - 1));
    memcpy(copy, &bits, sizeof bits);
    return copy;
}

/* --- timers ----------------------------------------------------------------------------------- */

/* The clock of a thread's CPU time, as the kernel derives it from the thread id. */
static clockid_t clock_of(uint32_t tid)
{
    return (clockid_t)(~tid << 3 | 6);
}

static bool make_timer(uint32_t tid, int number, int *timer)
{
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = number};
    uint64_t period = recorder.header->cpu_period_ns;
    struct timespec each = {(time_t)(period / 1000000000u), (long)(period % 1000000000u)};
    struct itimerspec when = {each, each};
    event._sigev_un._tid = (pid_t)tid;
    if (sys_call(SYS_timer_create, (long)clock_of(tid), &event, timer) < 0)
        return false;
    if (sys_call(SYS_timer_settime, (long)*timer, 0L, &when, 0L) == 0)
        return true;
    sys_call(SYS_timer_delete, (long)*timer);
    return false;
}

/* The first thread that wants a timer finds the signal for all. Call it with the lock. */
static int signal_for_all(void)
{
    int number = atomic_load(&signal_used);
    if (!number && !atomic_load(&stopped)) {
        number = choose_signal(FIRST_SIGNAL + 1);
        atomic_store(&signal_used, number);
        if (!number) {
            atomic_store(&stopped, true);
            set_state(WIRE_CPU_NO_SIGNAL);
        }
    }
    return number;
}

/* Call it with the lock, until cpu_timer_move knows the thread's timer. */
static void begin(uint32_t tid)
{
    int number = signal_for_all(), timer = 0;
    if (!number)
        return;
    unblock(number);
    if (make_timer(tid, number, &timer)) {
        tls.timer = timer;
        tls.timer_tid = tid;
        set_state(WIRE_CPU_ON);
    } else {
        set_state(WIRE_CPU_REFUSED);
    }
}

void cpu_timer_begin(struct thread *t)
{
    if (!cpu_timer_wanted() || tls.ended || !t->tid)
        return;
    spin_lock(&moving);
    if (tls.timer_tid != t->tid)
        begin(t->tid);
    else
        set_state(WIRE_CPU_ON);
    t->timed = tls.timer_tid == t->tid;
    t->timer = tls.timer;
    spin_unlock(&moving);
}

void cpu_timer_abandon(struct thread *t)
{
    if (t->timed)
        sys_call(SYS_timer_delete, (long)t->timer);
    t->timed = false;
}

void cpu_timer_end(struct thread *t)
{
    cpu_timer_abandon(t);
    if (tls.cpu_owed)
        cpu_timer_pay(OWN_FRAME());
    tls.timer_tid = 0;
}

void cpu_timer_reset(void)
{
    spin_reset(&moving);
}

void cpu_timer_forked(void)
{
    tls.cpu_owed = 0;
    tls.timer_tid = 0;
    cpu_timer_reset();
    if (cpu_timer_wanted()) {
        spin_lock(&moving);
        begin((uint32_t)sys_call(SYS_gettid));
        spin_unlock(&moving);
    }
}

static void stop_one(struct thread *t, void *context)
{
    (void)context;
    cpu_timer_abandon(t);
}

void cpu_timer_stop(void)
{
    if (!cpu_timer_wanted() || !atomic_load(&signal_used))
        return;
    atomic_store(&stopped, true);
    threads_each(stop_one, NULL);
    set_state(WIRE_CPU_FILTER);
}

static void move_one(struct thread *t, void *context)
{
    int number = *(const int *)context;
    bool timed = t->timed;
    cpu_timer_abandon(t);
    t->timed = timed && number && make_timer(t->tid, number, &t->timer);
    if (tls.thread == t) {
        tls.timer = t->timer;
        tls.timer_tid = t->timed ? t->tid : 0;
    }
}

/* If a thread blocks signals that were set after ours, it goes on blocking them. */
void cpu_timer_move(void)
{
    struct sigaction ignored = {.sa_handler = SIG_IGN}, none = {0};
    spin_lock(&moving);
    int before = atomic_load(&signal_used), saved = errno;
    int number = before ? choose_signal(before) : 0;
    atomic_store(&signal_used, number);
    threads_each(move_one, &number);
    if (before) { /* pending signals are dropped first: they would end the program */
        next.sigaction(before, &ignored, NULL);
        next.sigaction(before, &none, NULL);
    }
    if (!number) {
        atomic_store(&stopped, true);
        set_state(WIRE_CPU_NO_SIGNAL);
    }
    errno = saved;
    spin_unlock(&moving);
}

/* --- threads that begin ----------------------------------------------------------------------- */

static struct start {
    _Atomic bool taken;
    struct cpu_timer_start asked;
} starts[STARTS];

/* Jumps to the program's function, so that nothing of ours is on the thread's stack. */
static void *begin_thread(void *slot)
{
    struct start *s = slot;
    struct cpu_timer_start asked = s->asked;
    atomic_store_explicit(&s->taken, false, memory_order_release);
    if (thread_enter())
        thread_leave();
    return asked.start(asked.argument);
}

struct cpu_timer_start cpu_timer_start(void *(*start)(void *), void *argument)
{
    struct cpu_timer_start asked = {start, argument};
    for (unsigned i = 0; i < STARTS && cpu_timer_wanted(); i++) {
        if (atomic_exchange_explicit(&starts[i].taken, true, memory_order_acquire))
            continue;
        starts[i].asked = asked;
        return (struct cpu_timer_start){begin_thread, &starts[i]};
    }
    return asked; /* it gets its timer at its first event */
}

void cpu_timer_not_started(const struct cpu_timer_start *s)
{
    if (s->start == begin_thread)
        atomic_store(&((struct start *)s->argument)->taken, false);
}
