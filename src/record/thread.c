/*
 * A thread's ring and cached stack: made at its first event, passed on when it ends.
 *
 * A pthread key's destructor notices the end; it arms itself again until the last round, so that
 * blocks freed by other destructors are still recorded. Later events (or those of a thread that
 * ended without destructors) get a ring again; a ring whose thread no longer exists is reclaimed
 * when a new one is needed.
 */
#include <errno.h>
#include <pthread.h>
#include <limits.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "record/cpu_timer.h"
#include "record/libc.h"
#include "record/loader_list.h"
#include "record/python.h"
#include "record/recorder.h"

__thread struct tls tls __attribute__((tls_model("initial-exec")));

extern void *__libc_stack_end;

#define NAME_CHECKS 16
#define STACK_MOST  (UINT64_C(1) << 30)

static struct thread *free_threads; /* their rings are theirs for good */
static struct thread *all_threads[65535];
static uint32_t thread_count;
static uint32_t begun;           /* how often a thread began */
static struct spin threads_lock; /* taken when a thread begins or ends, never in between */
static pthread_key_t end_key;
static bool end_key_made;

/* Reports that what follows in the ring is of `tick`, and the peak of the interval that ended at
 * `ended`. Everything that the thread has counted comes before. */
static void put_tick(struct thread *t, uint32_t tick, uint32_t ended)
{
    accounts_rows(t);
    if (remark_room(t, 2)) {
        event_word(t, WIRE_WORD(WIRE_TICK, 0, tick));
        event_word(t, accounts_interval_peak(ended));
        event_publish(t);
    }
}

/* Goes on with the shared tick. */
static void take_tick(struct thread *t)
{
    uint32_t tick = atomic_load_explicit(&recorder.header->tick, memory_order_acquire);
    put_tick(t, tick, tick);
    t->tick = tick;
}

void thread_interval_ends(struct thread *t, uint32_t tick)
{
    put_tick(t, tick - 1, tick);
}

/* Longer names are reported in parts. An empty one could not be asked for. */
static void tell_name(struct thread *t, const char *name)
{
    for (unsigned part = 0; part < THREAD_NAME_SIZE / 16 && *name; part++) {
        char padded[16] = {0};
        uint64_t words[2];
        size_t size = strnlen(name, 16);
        memcpy(padded, name, size);
        memcpy(words, padded, 16);
        name += size;
        if (!remark_room(t, 4))
            return;
        event_word(t, WIRE_WORD(WIRE_THREAD_NAME, part, t->tid));
        event_word(t, words[0]);
        event_word(t, words[1]);
        event_word(t, sys_monotonic_ns());
        event_publish(t);
    }
}

void thread_named(struct thread *t, const char *name)
{
    bool another = t->names++ >= 2; /* the first is inherited, the second its own */
    if (another) {
        accounts_rows(t); /* those belong to its last name */
        accounts_begin(t);
    }
    tell_name(t, name);
    if (another)
        accounts_begun(t);
}

/* Reports the kernel's name of the calling thread. */
static void tell_kernel_name(struct thread *t)
{
    char name[17] = {0};
    sys_call(SYS_prctl, (long)PR_GET_NAME, name);
    thread_named(t, name);
}

static void forget_stacks(struct thread *t)
{
    atomic_store_explicit(&t->ring->stack, 0, memory_order_relaxed);
    atomic_store_explicit(&t->ring->signal_stack, 0, memory_order_relaxed);
}

/* The next thread that begins gets this state. Call it with the lock. */
static void keep_for_next(struct thread *t)
{
    t->tid = 0;
    t->next = free_threads;
    free_threads = t;
}

static void thread_end(void *arg)
{
    struct thread *t = arg;
    if (tls.thread != t || t->tick == 0)
        return; /* a forked child's copy */
    if (++t->exits < PTHREAD_DESTRUCTOR_ITERATIONS) {
        libc.setspecific(end_key, t);
        return;
    }
    if (tls.busy) /* cancelled in a hook */
        thread_recover(t);
    tls.busy = (uintptr_t)__builtin_frame_address(0);
    if (!t->named && !t->python_named && !tls.ended)
        tell_kernel_name(t);
    accounts_rows(t);
    accounts_settle(t);
    if (remark_room(t, 2)) {
        event_word(t, WIRE_WORD(WIRE_THREAD_END, 0, t->tid));
        event_word(t, sys_monotonic_ns());
        event_publish(t);
    }
    cpu_timer_end(t);
    tls.thread = NULL;
    tls.ended = true;
    forget_stacks(t);
    spin_lock(&threads_lock);
    keep_for_next(t);
    spin_unlock(&threads_lock);
    tls.busy = 0;
}

/* Reclaims rings of threads that ended without reporting it. Call it with the lock. */
static void take_back_dead(void)
{
    long pid = recorder.pid;
    for (uint32_t i = 0; i < thread_count; i++) {
        struct thread *t = all_threads[i];
        if (t->tid && sys_call(SYS_tgkill, pid, (long)t->tid, 0L) == -ESRCH) {
            cpu_timer_abandon(t);
            forget_stacks(t);
            keep_for_next(t);
        }
    }
}

static struct thread *thread_new(void)
{
    if (thread_count == sizeof all_threads / sizeof *all_threads)
        return NULL;
    struct thread *t;
    struct wire_ring *ring = recorder_ring();
    const size_t own = (sizeof(struct thread) + 63) & ~(size_t)63;
    const size_t paths = THREAD_PATH * (sizeof *t->path + sizeof *t->path_ids);
    const size_t size = own + WALK_BYTES + paths + COUNTING_BYTES;
    t = ring ? sys_map(size) : NULL;
    if (!t)
        return NULL;
    if (sys_call(SYS_madvise, t, size, (long)MADV_WIPEONFORK) < 0) {
        /* Otherwise a forked child would write into its parent's ring. */
        sys_call(SYS_munmap, t, size);
        return NULL;
    }
    wire_own_set(&ring->own[0], (uintptr_t)t, size);
    t->ring = ring;
    t->free_chunks = (1u << WIRE_CHUNKS) - 1;
    walk_init(&t->walk, (char *)t + own);
    t->path = (void *)((char *)t + own + WALK_BYTES);
    t->path_ids = (void *)(t->path + THREAD_PATH);
    accounts_init(&t->counting, (char *)t->path + paths);
    all_threads[thread_count++] = t;
    t->number = thread_count;
    return t;
}

/* If we may not ask the kernel, libc knows: it makes a thread's clock from its tid, as the kernel
 * defines it (CPUCLOCK_PID). */
static uint32_t own_tid(void)
{
    clockid_t clock;
    if (!atomic_load_explicit(&recorder.confined, memory_order_relaxed))
        return (uint32_t)sys_call(SYS_gettid);
    return libc.getcpuclockid && libc.getcpuclockid(pthread_self(), &clock) == 0
               ? (uint32_t) ~(clock >> 3)
               : 0;
}

/* A Python thread begins before its code does: then its next events check again, as if the tick had
 * advanced. */
static void check_python_name(struct thread *t)
{
    if (python_check_name(t))
        t->name_checks = 0;
    else if (t->name_checks)
        t->name_checks--;
    if (t->name_checks)
        t->tick = UINT32_MAX;
}

/*
 * Where a thread is certainly on its own stack, and not on a coroutine's beside it. For the first
 * thread, the kernel keeps as much free below it as the limit was at the start. For others, the
 * thread pointer is near the top of the requested size.
 */
static uint64_t sure_stack(bool first, uint64_t high)
{
    static _Atomic uint64_t of_first; /* + 1 */
    struct rlimit limit;
    uint64_t size = atomic_load(&recorder.least_stack), none = 0;
    if (first) {
        if (!atomic_load(&of_first) &&
            sys_call(SYS_prlimit64, 0L, (long)RLIMIT_STACK, 0L, &limit) == 0)
            atomic_compare_exchange_strong(
                &of_first, &none, 1 + (limit.rlim_cur < STACK_MOST ? limit.rlim_cur : STACK_MOST));
        size = atomic_load(&of_first) ? atomic_load(&of_first) - 1 : 0;
    }
    uint64_t above = first ? page_bytes() : ARCH_ABOVE_THREAD_POINTER;
    return size > above && size < high ? high - size + above : high;
}

void thread_ask_signal_stack(struct thread *t)
{
    stack_t stack = {.ss_flags = SS_DISABLE};
    sys_call(SYS_sigaltstack, 0L, &stack);
    uintptr_t address = stack.ss_flags & SS_DISABLE ? 0 : (uintptr_t)stack.ss_sp;
    atomic_store_explicit(&t->ring->signal_stack, address, memory_order_relaxed);
}

/* Makes `t` the calling thread's. */
static struct thread *thread_adopt(struct thread *t)
{
    t->tid = own_tid();
    t->exits = t->names = 0;
    t->named = t->python_named = false;
    t->generation = atomic_load(&recorder.generation);
    walk_forget(&t->walk);
    t->hashed = false;
    python_begin(t);

    /* glibc keeps a thread's descriptor at the top of its stack; the first thread's stack ends
     * where the kernel put its arguments. */
    bool first = t->tid == recorder.pid;
    t->stack_high = first ? (uint64_t)(uintptr_t)__libc_stack_end + 64
                          : (uint64_t)(uintptr_t)__builtin_thread_pointer();
    atomic_store_explicit(&t->ring->stack, t->stack_high, memory_order_relaxed);
    t->stack_low = t->stack_high > STACK_MOST ? t->stack_high - STACK_MOST : 0;
    t->stack_sure = sure_stack(first, t->stack_high);
    thread_ask_signal_stack(t);

    accounts_begin(t);
    take_tick(t);
    if (remark_room(t, 2)) {
        event_word(t, WIRE_WORD(WIRE_THREAD_BEGIN, tls.ended, t->tid));
        event_word(t, sys_monotonic_ns());
        event_publish(t);
    }
    accounts_begun(t);
    if (!tls.ended)
        tell_kernel_name(t);
    tls.thread = t;
    if (end_key_made)
        libc.setspecific(end_key, t);
    cpu_timer_begin(t);
    t->name_checks = NAME_CHECKS;
    check_python_name(t);
    return t;
}

/* As many as there are threads now, or these. The state of a thread has 3 MiB of addresses, which
 * are memory if the program has locked all. */
#define PREPARED_LEAST 3

void threads_prepare(void)
{
    struct thread *t;
    spin_lock(&threads_lock);
    uint32_t wanted = thread_count > PREPARED_LEAST ? thread_count : PREPARED_LEAST;
    uint32_t left = recorder_rings_left();
    for (uint32_t i = wanted < left ? wanted : left; i > 0 && (t = thread_new()); i--)
        keep_for_next(t);
    spin_unlock(&threads_lock);
}

struct thread *thread_begin(void)
{
    int state = atomic_load_explicit(&recorder.state, memory_order_acquire);
    if (state == STATE_OFF)
        return NULL;
    tls.busy = (uintptr_t)__builtin_frame_address(0);
    struct thread *t = NULL;
    if (state == STATE_BOOTING) {
        recorder_start();
        if (atomic_load(&recorder.state) != STATE_LIVE)
            goto out;
    }
    spin_lock(&threads_lock);
    if (!end_key_made)
        end_key_made = libc.key_create && libc.key_create(&end_key, thread_end) == 0;
    if (!free_threads && thread_count >= 4 && (thread_count & (thread_count - 1)) == 0)
        take_back_dead();
    t = free_threads;
    if (t)
        free_threads = t->next;
    else
        t = thread_new();
    if (begun++) /* this thread may have been created without pthread_create */
        atomic_store(&recorder.several, true);
    spin_unlock(&threads_lock);
    if (t)
        t = thread_adopt(t);
    else
        atomic_fetch_add_explicit(&recorder.header->unrecorded, 1, memory_order_relaxed);
out:
    tls.busy = 0;
    return t;
}

/* After fork there is one thread, and its memory here was zeroed; the parent's rings are not
 * ours. */
void threads_reset(void)
{
    free_threads = NULL;
    thread_count = begun = 0;
    spin_reset(&threads_lock);
    cpu_timer_reset();
    if (atomic_exchange(&recorder.several, false))
        loader_list_forked();
    tls.thread = NULL;
}

void threads_each(void (*f)(struct thread *t, void *context), void *context)
{
    spin_lock(&threads_lock);
    for (uint32_t i = 0; i < thread_count; i++)
        if (all_threads[i]->tid)
            f(all_threads[i], context);
    spin_unlock(&threads_lock);
}

void threads_leave(void)
{
    while (thread_count) {
        const struct wire_ring *ring = all_threads[--thread_count]->ring;
        const struct wire_own *own = ring ? ring->own : NULL;
        if (!own)
            continue; /* a forked child's copy, which it never used */
        struct {
            uint64_t start, size;
        } mapped[WIRE_RING_OWN];
        for (unsigned i = 0; i < WIRE_RING_OWN; i++) { /* the first is where we read this from */
            mapped[i].start = atomic_load(&own[i].start);
            mapped[i].size = atomic_load(&own[i].size);
        }
        for (unsigned i = WIRE_RING_OWN; i-- > 0;)
            if (mapped[i].size)
                sys_call(SYS_munmap, mapped[i].start, mapped[i].size);
    }
    free_threads = NULL;
    spin_reset(&threads_lock);
}

bool threads_in_python(void)
{
    bool found = false;
    const struct thread *own = thread_enter();
    if (!own)
        return false;
    spin_lock(&threads_lock);
    for (uint32_t i = 0; i < thread_count && !found; i++) {
        const struct thread *t = all_threads[i];
        found = t != own && t->tid && atomic_load(&t->in_python) &&
                sys_call(SYS_tgkill, (long)recorder.pid, (long)t->tid, 0L) != -ESRCH;
    }
    spin_unlock(&threads_lock);
    thread_leave();
    return found;
}

void thread_tick(struct thread *t)
{
    take_tick(t);
    /* After the tick: a thread that changes both advances the tick last. */
    uint32_t generation = atomic_load(&recorder.generation);
    if (t->generation != generation) {
        walk_forget(&t->walk);
        t->generation = generation;
    }
    if (UNLIKELY(t->name_checks))
        t->tick = UINT32_MAX;
}

void thread_check_name(void)
{
    struct thread *t = tls.thread ? thread_enter() : NULL;
    if (t) {
        check_python_name(t);
        thread_leave();
    }
}

struct thread *thread_sync(struct thread *t)
{
    if (UNLIKELY(t->tick == 0))
        return fork_begin_child();
    if (UNLIKELY(atomic_load_explicit(&recorder.header->detached, memory_order_relaxed)))
        recorder_stop();
    if (UNLIKELY(atomic_load_explicit(&recorder.state, memory_order_relaxed) == STATE_OFF)) {
        tls.thread = NULL;
        return NULL;
    }
    thread_tick(t);
    check_python_name(t);
    return t;
}

__attribute__((noinline)) struct thread *thread_enter_slowly(uintptr_t frame)
{
    if (recorder_dormant() || (tls.busy && hook_nested(frame)))
        return NULL;
    struct thread *t = tls.thread;
    if (!t) {
        if (atomic_load_explicit(&recorder.state, memory_order_relaxed) == STATE_OFF)
            return NULL;
        t = thread_begin();
        if (!t)
            return NULL;
    }
    tls.busy = frame;
    if (t->tick != atomic_load_explicit(&recorder.header->tick, memory_order_relaxed)) {
        t = thread_sync(t);
        tls.busy = t ? frame : 0;
    }
    return t;
}

/* The cached stack may be half changed, too. */
void thread_recover(struct thread *t)
{
    ring_recover(t);
    walk_forget(&t->walk);
    accounts_recover(t);
    spin_recover(&threads_lock);
    modules_recover();
    sample_recover();
    python_recover(t);
}
