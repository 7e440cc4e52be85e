/*
 * recorder: the part of tidemark that lives inside the program (libtidemark.so).
 *
 * Here we are a guest: docs/SAFETY.md states the rules. On the hot path there is no system call, no
 * lock, no allocation, no floating point; nothing here ever prints or exits, and only cpu_timer.c
 * installs a handler, where the user asks for it.
 * Memory comes from mmap, made by raw system calls so that neither our own hooks nor errno are
 * involved.
 *
 *   connection.c the one state: what comes next in line, the shared memory, the collector
 *   thread.c    a thread's ring and remembered stack; made on first use, reused after its end
 *   modules.c   which file an address belongs to
 *   event.c     from a hook's call to words in the ring
 *   nodes.c     the tree of call stacks
 *   allocator.c what the allocator says of itself
 *   large.c     large blocks: were they ever touched?
 *   sample.c    run --sample: which blocks are recorded
 *   routes.h    where calls of malloc and free go
 *   python.h    the frames of CPython
 *   python_objects.h   its allocators, wrapped
 *   entry.c     programs that define malloc themselves
 *   inner.c     allocators that are called by other names
 *   mark_on.c   functions whose entries are marks
 *   cpu_timer.c samples of CPU time by a timer of each thread
 *   nested.c    a hook within a hook, and hooks that were left by longjmp
 *   hooks_*.c   the functions that take the place of libc's
 */
#ifndef TIDE_RECORD_RECORDER_H
#define TIDE_RECORD_RECORDER_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>

#include "machine/caller.h"
#include "machine/page.h"
#include "machine/system.h"
#include "record/accounts.h"
#include "unwind/walk.h"
#include "wire/layout.h"

/*
 * The hooks for malloc and operator new are compiled twice: to be found by the dynamic linker, and
 * to be jumped to from functions of the executable (FROM_ENTRY, see entry.h). entry_wrapper calls
 * the latter.
 */
#ifndef FROM_ENTRY
#define FROM_ENTRY        0
#define EXPORT            __attribute__((visibility("default")))
#define HOOK(name)        name
#define HOOK_SYMBOL(name) name
/* For those of wire/routes.h, the exported functions jump to these. */
#define ROUTED(name)        recorded_##name
#define ROUTED_SYMBOL(name) "recorded_" name
#else
#define EXPORT              __attribute__((visibility("hidden")))
#define HOOK(name)          entry_##name
#define HOOK_SYMBOL(name)   "entry_" name
#define ROUTED(name)        entry_##name
#define ROUTED_SYMBOL(name) "entry_" name
#endif
/* A name of our own for a hook, for attach.c: in a library that was loaded late, the plain names
 * are libc's. */
#define OWN(name, ...)                                                                             \
    __attribute__((alias(#name), visibility("hidden"), nothrow, leaf,                              \
                   ##__VA_ARGS__)) __typeof__(name) own_##name
#define LIKELY(x)   __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)
#define INTERNAL    __attribute__((visibility("hidden")))

/*
 * The state of one thread. It is in memory that a forked child finds zeroed (MADV_WIPEONFORK): tick
 * 0 never equals the shared tick, so the child's first hook calls thread_sync(), where it becomes a
 * process of its own (fork_begin_child).
 */
struct thread {
    uint32_t tick; /* the last tick written to the ring; 0: not of this process */
    uint32_t generation;
    uint64_t *at, *end; /* room in the current chunk */
    uint64_t bias;      /* position of `at` in the ring = bias + its address / 8 */
    struct wire_ring *ring;
    uint64_t chunk;       /* number of the current chunk + 1; 0: none yet */
    uint64_t chunk_freed; /* chunks before this one are known to have been read */
    uint32_t free_chunks;
    uint64_t stack_low, stack_high; /* bounds of the thread's own stack, for the walk */
    uint64_t stack_sure; /* from here to stack_high it is certainly the thread's own stack */
    struct walk walk;
    uint64_t *path;     /* [THREAD_PATH]: frames to be added to the tree, outermost first, */
    uint32_t *path_ids; /* and their numbers there */
    struct python_thread *python; /* python.h; NULL: no Python frames were seen */
    bool hashed; /* native stacks are identified by a hash: the thread runs Python code */
    _Atomic bool in_python; /* it is reading the interpreter, which must not be unloaded now */
    uint32_t tid;
    uint32_t number;      /* 1 to 65535 */
    uint32_t names;       /* number of names that it has reported */
    uint32_t exits;       /* how often its destructor ran */
    uint32_t name_checks; /* how many more events check its Python name without a tick (thread.c) */
    int timer;            /* the timer of its CPU time (cpu_timer.h), */
    bool timed;           /* if it has one */
    bool in_handler;      /* in the handler of its timer's signal: nothing else may be touched */
    bool named;           /* by tide_thread_name: other names do not matter */
    bool python_named;    /* by Python: the kernel's name does not matter */
    struct thread *next;  /* in the list of free ones */
    /* run --sample (sample.c): */
    uint64_t sample_state;     /* of its random numbers; 0: not seeded yet */
    const void *sample_last;   /* the last block that was recorded. No other allocation of this */
    uint64_t sample_last_left; /* thread has followed as long as tide_sample_left has this value */
    struct counting counting;
};

#define THREAD_PATH (WALK_FRAMES + 8192 + 8) /* native and Python frames of the deepest stack */

enum recorder_state {
    STATE_BOOTING, /* nothing known yet */
    STATE_LIVE,
    STATE_OFF /* not asked to record, or the collector is gone: the hooks only forward */
};

/* What a wrapper of CPython's allocators is waiting for (python_objects.h). */
enum beneath { BENEATH_NOTHING, BENEATH_ALLOC, BENEATH_REALLOC, BENEATH_FREE };

struct tls {
    struct thread *thread;
    uintptr_t busy; /* the frame of the hook that is running; 0: none (nested.c) */
    bool ended;     /* its thread has reported its end; it is on its way out */
    /* Number of the fork that it makes, or that made it and has not been reported yet. */
    uint32_t fork;
    bool fork_prepared; /* libc prepared the allocator for it */
    size_t wanted; /* 1 + the size requested from an aligned operator new, until it allocates */
    enum beneath beneath; /* the interpreter's own allocator is calling now; */
    void *around;         /* this is the block that it reallocates or frees, */
    void *malloced;       /* and this what it got from malloc; NULL: nothing */
    uint32_t closing;   /* number of unloads in progress that may be an interpreter's (python.c) */
    uint32_t cpu_owed;  /* periods of CPU time, to be charged to the current hook */
    uint32_t timer_tid; /* of the thread that has `timer`; 0: none */
    int timer;          /* the kernel's number of it */
};
extern __thread struct tls tls __attribute__((tls_model("initial-exec")));

struct recorder {
    struct wire_header *header;
    struct rules *rules;
    _Atomic int state;
    bool hand_on; /* there is a session, and executed programs shall be part of it (hooks_exec.c) */
    _Atomic uint32_t generation; /* counts dlclose: cached addresses may have another meaning */
    _Atomic size_t least_stack; /* the smallest stack of all created threads; 0: none was created */
    _Atomic bool several;       /* there is, or was, more than one thread */
    _Atomic uint64_t sequence;  /* the last sequence number (WIRE_SEQUENCE) */
    uint64_t loader, loader_size; /* where ld.so is */
    _Atomic uint32_t forks;       /* made by this process */
    uint32_t pid;        /* of this process; in a new child, until it connects, its parent's */
    _Atomic bool python; /* CPython was found, and can be read (python.h) */
    _Atomic bool
        objects_unsettled; /* its allocators may have been replaced since we wrapped them */
    /* Its objects are freed by free: python_objects.h has to see them. */
    _Atomic bool frees_watched;
    char *python_memory;   /* where its code is reported */
    uint32_t python_size;  /* 0: not wanted */
    _Atomic bool confined; /* it runs, or is about to run, under a seccomp filter of its own */
    bool late; /* the program was already running when the recorder was loaded (attach.h) */
    uint64_t sample_bytes; /* run --sample: one allocation per so many bytes; 0: all */
};
extern struct recorder recorder;

/* The functions that the hooks forward to. All are set before the first hook returns. */
struct next {
    long (*syscall)(long, ...); /* the first: hooks_seccomp.c */
    void *(*malloc)(size_t);
    void *(*calloc)(size_t, size_t);
    void *(*realloc)(void *, size_t);
    void (*free)(void *);
    int (*posix_memalign)(void **, size_t, size_t);
    void *(*aligned_alloc)(size_t, size_t);
    void *(*memalign)(size_t, size_t);
    void *(*valloc)(size_t);
    void *(*pvalloc)(size_t);
    void (*free_sized)(void *, size_t); /* NULL: free does the same */
    void (*free_aligned_sized)(void *, size_t, size_t);
    size_t (*malloc_usable_size)(void *); /* NULL: it does not belong to the allocator that frees */
    /* The same of the allocator itself, even if another library hooks malloc in between. */
    size_t (*allocator)(void *);
    bool pvalloc_is_foreign; /* libc's, if the other allocator has none */
    void *(*mmap)(void *, size_t, int, int, int, long);
    int (*munmap)(void *, size_t);
    void *(*mremap)(void *, size_t, size_t, int, ...);
    void *(*dlopen)(const char *, int);
    int (*dlclose)(void *);
    int (*pthread_create)(unsigned long *, const void *, void *(*)(void *), void *);
    int (*pthread_setname_np)(unsigned long, const char *);
    int (*sigaction)(int, const void *, void *);
    void (*(*signal)(int, void (*)(int)))(int);
    int (*sigprocmask)(int, const sigset_t *, sigset_t *);
    int (*pthread_sigmask)(int, const sigset_t *, sigset_t *);
    int (*sigwait)(const sigset_t *, int *);
    int (*sigwaitinfo)(const sigset_t *, siginfo_t *);
    int (*sigtimedwait)(const sigset_t *, siginfo_t *, const struct timespec *);
    int (*signalfd)(int, const sigset_t *, int);
    int (*prctl)(int, unsigned long, unsigned long, unsigned long, unsigned long);
    int (*fork)(void);
    int (*_Fork)(void);
    int (*execv)(const char *, char *const *);
    int (*execvp)(const char *, char *const *);
    int (*execve)(const char *, char *const *, char *const *);
    int (*execvpe)(const char *, char *const *, char *const *);
    int (*fexecve)(int, char *const *, char *const *);
    int (*execveat)(int, const char *, char *const *, char *const *, int);
    int (*posix_spawn)(int *, const char *, const void *, const void *, char *const *,
                       char *const *);
    int (*posix_spawnp)(int *, const char *, const void *, const void *, char *const *,
                        char *const *);
    int (*__libc_start_main)(int (*)(int, char **, char **), int, char **, void (*)(void),
                             void (*)(void), void (*)(void), void *);
    void (*exit)(int);
    void (*quick_exit)(int);
    void (*_exit)(int);
    char *(*getenv)(const char *);
};
extern struct next next;

/* connection.c */
void recorder_start(void);   /* idempotent; sets `next`, connects; state leaves BOOTING */
bool recorder_connect(void); /* to the collector, for this process */
/* For a program that was already running (attach.h). */
bool recorder_find_next(void); /* sets `next`; false: there is no malloc */
bool recorder_attach(const char *socket, const char *key, bool drop); /* connected? */
/* Releases everything that a session took; all other threads are stopped. */
void recorder_leave(void);
void recorder_own(const void *start, size_t size); /* mapped by us: reports it to the collector */
struct wire_ring *recorder_ring(void); /* a ring that no thread uses; NULL: none is available */
void recorder_stop(void);              /* the collector is gone */
bool recorder_collector_alive(void);
bool recorder_is_alone(void);                         /* there is one thread */
bool recorder_owns_allocations(const void *function); /* is it in the allocator's file? */
/* Asks for a snapshot; 0 once it is being written. */
int recorder_snapshot(const char *path, const struct wire_held *held);
/* The heap up to now; `restart`: the peak begins anew. Returns 0, or a negative errno. */
int recorder_figures(bool restart, struct wire_figures *out);
/* Finds the functions of a loaded file whose entries shall be marks; returns how many. */
unsigned recorder_functions(const char *path, struct wire_function out[WIRE_FUNCTIONS_MAX]);
void recorder_left_alone(const char *path, uint64_t number, enum wire_left why);
/* Reports that the interpreter is about to free its objects. */
void recorder_python_ends(void);
/* A library was bound to our hooks; `missed`: it may have called libc directly before. */
void recorder_bound(const char *path, bool missed);
/* A program is executed without the recorder. */
void recorder_left_out(const char *path, enum wire_out why);
/* Reports the end, and waits until the collector has read the process. `stack`: the program's
 * frames begin there. */
enum wire_end recorder_exiting(enum wire_exit what, uint64_t stack, const struct wire_held *held);
void *boot_alloc(size_t size); /* before `next` is known: dlsym itself may allocate */
#define BOOT_BYTES 65536
extern INTERNAL char boot_memory[BOOT_BYTES];
static inline bool boot_owns(const void *p)
{
    return (uintptr_t)p - (uintptr_t)boot_memory < BOOT_BYTES;
}
size_t boot_bytes(char **start); /* how much of it was used, from *start on */
size_t boot_room(const void *p); /* how many bytes can be read from p on */

/* entry.c */
void entry_take_over(void); /* once, at the start: redirects an executable's own malloc to us */
bool entry_taken_over(void);
bool entry_took(uint64_t address);      /* is the function there one of those? */
void *entry_original(const char *name); /* the original function; NULL: the executable has none */

/* allocator.c */
void allocator_find(void);                /* once, when `next` is known */
void allocator_forked(bool prepared);     /* in a forked child; prepared: by libc, as fork does */
bool allocator_is_near(uint64_t address); /* may code there hold the allocator's locks? */
/* What the allocator reports now; false: not known. Call it between thread_enter() and
 * thread_leave(). */
bool allocator_ask(struct thread *t, const uint64_t *caller, struct wire_held *out);
bool allocator_ask_at_exit(struct thread *t, const uint64_t *caller, struct wire_held *out);

/* hooks_exec.c: stores what programs that are executed later need in their environment; false: too
 * long. */
bool exec_remember(const char *socket, const char *key, const char *only, const char *filters,
                   const char *drop);

const char *exec_library(void); /* our own file; NULL: not known */

/* hooks_exit.c */
void exit_forget(void);      /* in a forked child: it has not begun to end */
void exit_python_ends(void); /* its interpreter is about to free its objects */

/* hooks_malloc.c */
void own_free(void *p); /* our free, whoever else defines one */

/* ring.c */
/* Takes another chunk; false: there is none, and so many events are lost. */
bool ring_room(struct thread *t, unsigned events);
/* The same for records that may be dropped: never waits, and leaves a quarter of the room to
 * others. */
bool ring_spare_room(struct thread *t);
void ring_recover(struct thread *t);

/* thread.c */
#define THREAD_NAME_SIZE 128                  /* bytes of a name that are reported */
struct thread *thread_begin(void);            /* this thread's, made now; NULL: do not record */
struct thread *thread_sync(struct thread *t); /* the shared tick moved, or we are a forked child */
/* The first event of a forked child: connects it to the collector as a process of its own. Returns
 * its thread; NULL: nothing is recorded. */
struct thread *fork_begin_child(void);
void thread_tick(struct thread *t); /* the shared tick moved */
/* This thread has advanced it to `tick`: it reports what it has counted before. */
void thread_interval_ends(struct thread *t, uint32_t tick);
void thread_named(struct thread *t, const char *name);
void thread_recover(struct thread *t); /* after a hook that did not end normally */
void thread_check_name(void);          /* the last chance to read its name from Python */
void threads_reset(void);              /* in a forked child */
/* Calls a function for each thread that has not ended, while none can begin or end. */
void threads_each(void (*f)(struct thread *t, void *context), void *context);
void threads_leave(void);     /* frees their memory: no thread may know its own */
bool threads_in_python(void); /* is any other thread? */

/* api.c */
/* Code is unloaded: advances the tick, so that all threads notice. */
void note_unload(struct thread *t);
void note_unrecorded(struct thread *t); /* after event_realloc, if its result is not recorded */

void note_pool(struct thread *t, unsigned number, const char *name);
/* The function was entered; the collector knows its name. */
void mark_function(uint64_t number, bool near_allocator);

/* hooks_pool.c */
void pools_reset(void); /* in a forked child: the numbers are new */

/* mark_on.c */
void mark_on_start(void); /* once, at the start: makes entries of functions marks, if asked to */

/* modules.c */
extern const struct unwind_space own_space;
extern const struct unwind_space quiet_space; /* for lookups only: takes no lock */
bool modules_reset(void);  /* in a forked child, or before the first; false: no memory */
void modules_forget(void); /* code was unloaded; the tick must be advanced too */
/* The loader is allocating: was code unloaded without our noticing? */
void modules_check(struct thread *t);
void modules_recover(void); /* this thread left a hook by longjmp, an exception or cancellation */
bool modules_held(void);    /* does this thread hold their lock? */
struct link_map;
void modules_check_python(
    const struct link_map *m); /* is it CPython? As if an address in it had been seen */

/* nested.c */
/* Around an event that is written inside a wrapper of CPython's allocators: it must not come
 * between the two of a realloc. NULL: we are not inside one. */
struct thread *beneath_enter(enum beneath *was);
void beneath_leave(struct thread *t, enum beneath was);
/* Called when nothing else is recorded: a block that is freed inside the wrapper of another one. */
void free_beneath(void *p, usable_of *usable);
/* tls.busy is set: is that hook still on this thread's stack? `frame`: of the hook that asks. */
bool hook_nested(uintptr_t frame);

/* event.c */
enum free_how {
    FREE_SURE, /* the allocation of the block could be seen */
    FREE_MAYBE /* perhaps not, and that is nothing to report */
};
bool event_alloc(struct thread *t, void *p, size_t size, const uint64_t *caller); /* recorded? */
bool event_alloc_foreign(struct thread *t, void *p, size_t size, const uint64_t *caller);
bool event_alloc_sized(struct thread *t, void *p, size_t size, size_t usable,
                       const uint64_t *caller);
/* The same for a block whose allocator cannot be asked at its free. */
bool event_alloc_stored(struct thread *t, void *p, size_t size, size_t usable,
                        const uint64_t *caller);
/* Call these before the operation. `usable` asks the allocator for the usable size of a block;
 * NULL: it cannot be asked. false: the block is not known. */
bool event_free(struct thread *t, void *p, usable_of *usable, enum free_how how);
bool event_realloc(struct thread *t, void *old, usable_of *usable, enum free_how how);
void event_realloc_failed(struct thread *t); /* after it; or event_alloc */
void event_fork(struct thread *t);           /* before the fork */
/* `plain`: private, anonymous, at any address: it may be an arena of CPython. */
void event_map(struct thread *t, void *p, size_t size, bool plain, const uint64_t *caller);
/* Before the operation; was a record written? */
bool event_unmap(struct thread *t, void *p, size_t size);
void event_unmap_failed(struct thread *t); /* after it, if a record was written */
void event_pool_alloc(struct thread *t, unsigned pool, const void *p, size_t size,
                      const uint64_t *caller);
void event_pool_free(struct thread *t, unsigned pool, const void *p);
/* The number of the caller's stack, for anything but an allocation. */
uint32_t event_stack(struct thread *t, const uint64_t *caller);
/* The same for what a signal handler interrupted. `caller`: of that handler. */
uint32_t event_interrupted(struct thread *t, const uint64_t *caller);
/* Did this thread get where it is by calls only, without a signal in between? false: this cannot be
 * proven. */
bool event_stack_is_plain(struct thread *t, const uint64_t *caller);

/* large.c */
#define LARGE_BLOCK ((size_t)256 << 10)
/* Call it before a free: examines its pages. `account`: of its allocation, if it is known. */
void large_freed(struct thread *t, void *p, size_t size, uint32_t account);
/* Bytes of [start, end) on pages that are not resident; false: the kernel does not say. */
bool pages_absent(uintptr_t start, uintptr_t end, size_t *absent);
bool pages_may_be_swapped(void); /* if so, absent pages may be in swap */

/* sample.c */
#define SAMPLE_FILTER_SIZE  ((size_t)1 << 22)
#define SAMPLE_FILTER_SHIFT 10
#define SAMPLE_FILTER_OF(address)                                                                  \
    (&tide_sample_filter[(address) >> SAMPLE_FILTER_SHIFT & (SAMPLE_FILTER_SIZE - 1)])
/* arch/MACHINE/routes.c uses both, for calls that are not recorded. */
extern INTERNAL _Atomic uint8_t *tide_sample_filter; /* [SAMPLE_FILTER_SIZE] */
/* Bytes up to this thread's next recorded block; 0: not drawn yet. */
extern INTERNAL __thread uint64_t tide_sample_left __attribute__((tls_model("initial-exec")));
bool sample_reset(struct wire_header *h);        /* for a new process; false: there is no memory */
void sample_recover(void);                       /* this thread was torn out of a hook */
bool sample_draw(struct thread *t, size_t size); /* is a block of this size to be recorded? */
/* It is recorded. SAMPLE_REPLACED: another was there, whose free was missed: *old. */
enum sample_added { SAMPLE_ADDED, SAMPLE_REPLACED, SAMPLE_NO_ROOM };
enum sample_added sample_add(const void *p, const struct indexed *b, struct indexed *old);
/* Was it recorded? `remove`: it no longer is. */
bool sample_find(const void *p, struct indexed *out, bool remove);

static inline bool sample_skips(struct thread *t, size_t size)
{
    if (LIKELY(size < tide_sample_left)) {
        tide_sample_left -= size;
        return true;
    }
    return !sample_draw(t, size);
}

/* May it be a block that was recorded? */
static inline bool sample_may_be(const void *p)
{
    return UNLIKELY(atomic_load_explicit(SAMPLE_FILTER_OF((uintptr_t)p), memory_order_relaxed));
}

/* Before the next in line does its work: asks for what event_alloc will look at. */
static inline __attribute__((always_inline)) void event_prefetch(const struct thread *t,
                                                                 const uint64_t *caller)
{
    if (LIKELY(!recorder.sample_bytes))
        walk_prefetch(&t->walk, recorder.rules, CALLER_PC(caller), CALLER_SP(caller));
}

/* While it is, frees are followed and nothing else. */
static inline bool recorder_paused(void)
{
    struct wire_header *h = recorder.header;
    return h && atomic_load_explicit(&h->paused, memory_order_relaxed);
}

/* sys.c: system calls that leave errno alone. A confined program makes those alone that its
 * allocator makes anyway; the others are -EPERM without the kernel being asked. */
long sys_call(long number, ...); /* the result or a negative errno */
void sys_yield(void);
void sys_nap(void); /* about a millisecond */
uint64_t sys_nanoseconds(const struct timespec *t);
uint64_t sys_monotonic_ns(void); /* no system call: the C library reads the clock's page */
/* Under a limit on the program's address space: may we take so much of it? A quarter of what is
 * left at the most, so that the program goes on. */
bool sys_leaves_room(size_t size);
void *sys_map(size_t size); /* private, zeroed, no huge pages; NULL: none */

/* A lock that knows its holder: a thread that was torn out (longjmp, cancellation) lets go later.
 */
struct spin {
    _Atomic uintptr_t holder;
};

static inline void spin_lock(struct spin *s)
{
    uintptr_t none = 0;
    while (!atomic_compare_exchange_weak_explicit(&s->holder, &none, (uintptr_t)&tls,
                                                  memory_order_acquire, memory_order_relaxed)) {
        none = 0;
        sys_yield();
    }
}

static inline void spin_unlock(struct spin *s)
{
    atomic_store_explicit(&s->holder, 0, memory_order_release);
}

static inline void spin_recover(struct spin *s)
{
    uintptr_t own = (uintptr_t)&tls;
    atomic_compare_exchange_strong(&s->holder, &own, 0);
}

static inline void spin_reset(struct spin *s)
{
    atomic_store(&s->holder, 0);
}

/* run --dormant: while it is, hooks forward and do nothing else. */
static inline bool recorder_dormant(void)
{
    struct wire_header *h = recorder.header;
    return h && atomic_load_explicit(&h->dormant, memory_order_relaxed) == WIRE_DORMANT;
}

/*
 * The thread's state if this call is to be recorded, else NULL. From here to thread_leave() the
 * thread is busy: what the next in line calls in turn is part of the same allocation, and a signal
 * handler finds a state that it must not touch.
 */
static inline __attribute__((always_inline)) struct thread *thread_enter(void)
{
    struct thread *t = tls.thread;
    if (UNLIKELY(recorder_dormant()))
        return NULL;
    if (UNLIKELY(tls.busy) && hook_nested((uintptr_t)__builtin_frame_address(0)))
        return NULL;
    if (UNLIKELY(!t)) {
        if (atomic_load_explicit(&recorder.state, memory_order_relaxed) == STATE_OFF)
            return NULL;
        t = thread_begin();
        if (!t)
            return NULL;
    }
    tls.busy = (uintptr_t)__builtin_frame_address(0);
    if (UNLIKELY(t->tick != atomic_load_explicit(&recorder.header->tick, memory_order_relaxed))) {
        t = thread_sync(t);
        tls.busy = t ? (uintptr_t)__builtin_frame_address(0) : 0;
    }
    return t;
}

/* cpu_timer.c: charges what is owed to the stack of the hook's caller. */
void cpu_timer_pay(const uint64_t *caller);

/* A timer's signal that came in a hook is charged to it now, when the thread's state is whole. */
static inline __attribute__((always_inline)) void thread_leave(void)
{
    if (UNLIKELY(tls.cpu_owed))
        cpu_timer_pay(CALLER());
    tls.busy = 0;
}

static inline bool event_room(struct thread *t, unsigned words)
{
    return LIKELY(t->end - t->at >= (ptrdiff_t)words) || ring_room(t, 1);
}

/* For what is no event: it is missed without being counted. */
static inline bool remark_room(struct thread *t, unsigned words)
{
    return t->end - t->at >= (ptrdiff_t)words || ring_room(t, 0);
}

static inline void event_word(struct thread *t, uint64_t word)
{
    *t->at++ = word;
}

/* Pairs with the collector's acquire load of `written`: it sees the words before the position. */
static inline void event_publish(struct thread *t)
{
    atomic_store_explicit(&t->ring->written, t->bias + (uintptr_t)t->at / 8, memory_order_release);
    /* The collector's core had these lines last; waiting for them one by one would cost more than
     * all the rest. */
    arch_prefetch_write(t->at + 48);
}

/*
 * Gives the record about to be written its place among those of other threads; room for one word
 * more than the record must have been found.
 */
static inline void event_sequence(struct thread *t)
{
    if (UNLIKELY(atomic_load_explicit(&recorder.several, memory_order_relaxed)))
        event_word(t, WIRE_WORD(WIRE_SEQUENCE, 0,
                                (atomic_fetch_add(&recorder.sequence, 1) + 1) & WIRE_LOW48));
}

#endif
