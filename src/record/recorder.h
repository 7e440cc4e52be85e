/*
 * recorder: the part of tidemark that lives inside the program (libtidemark.so).
 *
 * It must not disturb the program: docs/SAFETY.md states the rules. On the hot path there is no
 * system call, no lock, no allocation, no floating point; nothing here ever prints or exits, and
 * only cpu_timer.c installs a signal handler, if the user asks for it (run --cpu=timer). Memory
 * comes from mmap, made by raw system calls so that neither our own hooks nor errno are involved.
 *
 *   start.c           whether this program is recorded (run --only)
 *   connection.c      the recorder's state: shared memory, requests to the collector
 *   bootstrap_alloc.h memory for allocations before `next` is known
 *   thread.c          a thread's ring and remembered stack; made on first use, reused after its end
 *   modules.c         which file an address belongs to
 *   event.c           what a hook records: a stack, and counts or words in the ring
 *   accounts.h        what each thread counts for each stack; count.h: what an event changes
 *   heap_peak.h       the size of the heap, and its peak
 *   block_index.h     the live blocks by address
 *   stack_tree.c      the tree of call stacks
 *   allocator.c       figures that the allocator itself reports
 *   untouched.c       large blocks: were they ever touched?
 *   alloc_sample.c    run --sample: which blocks are recorded
 *   routes.h          where calls of malloc and free go
 *   python.h          the frames of CPython
 *   python_objects.h  wraps CPython's allocators
 *   own_malloc.c      programs that define malloc themselves
 *   other_names.c     allocators that are called by other names
 *   mark_on.c         functions whose entries are marks
 *   gpu.h             memory of graphics processors
 *   cpu_timer.c       samples of CPU time by a timer of each thread
 *   nested_hook.c     a hook within a hook, and hooks that were left by longjmp
 *   hooks_*.c         the functions that replace those of libc
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
#include "record/system_calls.h"
#include "unwind/walk.h"
#include "wire/layout.h"

/*
 * The hooks for malloc and operator new are compiled twice: once for the dynamic linker, and once
 * for jumps from functions of the executable (FROM_ENTRY, see entry_patch.h), which entry_wrapper
 * calls.
 */
#ifndef FROM_ENTRY
#define FROM_ENTRY        0
#define EXPORT            __attribute__((visibility("default")))
#define HOOK(name)        name
#define HOOK_SYMBOL(name) name
/* The hooks to which the exported functions of wire/routes.h jump. */
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
    /* The memory from here to stack_high is certainly the thread's own stack. */
    uint64_t stack_sure;
    struct walk walk;
    uint64_t *path;     /* [THREAD_PATH]: frames to be added to the stack tree, outermost first */
    uint32_t *path_ids; /* [THREAD_PATH]: the numbers of these frames in the tree */
    struct python_thread *python; /* python.h; NULL: no Python frames were seen */
    bool hashed; /* native stacks are identified by a hash: the thread runs Python code */
    /* The thread is reading the interpreter, which must not be unloaded now. */
    _Atomic bool in_python;
    uint32_t tid;
    uint32_t number;      /* 1 to 65535 */
    uint32_t names;       /* number of names that the thread has reported */
    uint32_t exits;       /* how often the thread's destructor ran */
    uint32_t name_checks; /* how many more events check its Python name without a tick (thread.c) */
    int timer;            /* the timer on the thread's CPU clock (cpu_timer.h) */
    bool timed;           /* the thread has a timer */
    /* The thread is in the handler of its timer's signal, and may write nothing but the sample. */
    bool in_handler;
    bool named;          /* tide_thread_name has named it: other names do not matter */
    bool python_named;   /* Python has named it: the kernel's name does not matter */
    struct thread *next; /* the next one in the list of unused states */
    /* run --sample (alloc_sample.c): */
    uint64_t sample_state;   /* state of the random numbers; 0: not seeded yet */
    const void *sample_last; /* the last block that was recorded */
    /* While tide_sample_left has this value, no allocation has followed it. */
    uint64_t sample_last_left;
    struct counting counting;
};

#define THREAD_PATH (WALK_FRAMES + 8192 + 8) /* native and Python frames of the deepest stack */

enum recorder_state {
    STATE_BOOTING, /* the recorder has not connected yet */
    STATE_LIVE,
    STATE_OFF /* not recorded, or the collector has ended: the hooks only forward calls */
};

/* Which call a wrapper of CPython's allocators has forwarded (python_objects.h). */
enum beneath { BENEATH_NOTHING, BENEATH_ALLOC, BENEATH_REALLOC, BENEATH_FREE };

struct tls {
    struct thread *thread;
    uintptr_t busy; /* the frame of the hook that is running; 0: none (nested_hook.c) */
    bool ended;     /* the thread has reported its end */
    /* Number of the fork that this thread makes; in the child, of the fork that made it, until it
     * is reported. */
    uint32_t fork;
    bool fork_prepared; /* libc prepared the allocator for this fork */
    size_t wanted; /* 1 + the size requested from an aligned operator new, until it allocates */
    enum beneath beneath; /* the call of CPython's own allocator that is running */
    void *around;         /* the block that this call reallocates or frees */
    void *malloced;       /* the block that this call got from malloc; NULL: none */
    uint32_t closing;   /* number of unloads in progress that may be an interpreter's (python.c) */
    uint32_t cpu_owed;  /* periods of CPU time that the current hook will charge to its caller */
    uint32_t timer_tid; /* id of the thread that has `timer`; 0: none */
    int timer;          /* the kernel's number of the timer */
};
extern __thread struct tls tls __attribute__((tls_model("initial-exec")));

struct recorder {
    /* What keeps a call from the fast path (fast_path.h). A call reads all of it at once: `special`
     * for an allocation, `special_free` for a free. */
    union {
        _Atomic uint64_t special;
        struct {
            union {
                _Atomic uint32_t special_free;
                struct {
                    _Atomic bool sizes_unverified; /* see glibc_chunk.h */
                    _Atomic bool sampled;          /* run --sample */
                    /* CPython's objects are freed by free(), so python_objects.h must see each
                     * free. */
                    _Atomic bool frees_watched;
                };
            };
            _Atomic bool several; /* there is, or was, more than one thread */
            _Atomic bool python;  /* CPython was found, and can be read (python.h) */
        };
    };
    _Atomic bool any_stored; /* there are blocks with a stored size (block_index.h) */
    struct wire_header *header;
    struct rules *rules;
    _Atomic int state;
    bool hand_on;                /* programs that are executed are recorded too (hooks_exec.c) */
    _Atomic uint32_t generation; /* counts dlclose: cached addresses may have another meaning */
    _Atomic size_t least_stack; /* the smallest stack of all created threads; 0: none was created */
    _Atomic uint64_t sequence;  /* the last sequence number (WIRE_SEQUENCE) */
    uint64_t loader, loader_size; /* where ld.so is */
    _Atomic uint32_t forks;       /* number of forks that this process has made */
    uint32_t pid; /* of this process; a forked child has its parent's until it connects */
    /* CPython's allocators may have been replaced since we wrapped them. */
    _Atomic bool objects_unsettled;
    char *python_memory;   /* shared memory in which code objects are reported */
    uint32_t python_size;  /* 0: not wanted */
    _Atomic bool confined; /* the program has installed, or is about to install, a seccomp filter */
    _Atomic bool memory_locked; /* what is mapped from now on is locked (hooks_lock.c) */
    bool late; /* the program was already running when the recorder was loaded (attach.h) */
    uint64_t sample_bytes; /* run --sample: records one allocation per this many bytes; 0: all */
};
extern struct recorder recorder;

/* The functions that the hooks forward to. All are set before the first hook returns. */
struct next {
    long (*syscall)(long, ...); /* must be the first member: hooks_seccomp.c */
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
    size_t (*malloc_usable_size)(void *); /* NULL: it belongs to another allocator than free */
    /* malloc_usable_size of the allocator itself, even if another library hooks malloc too. */
    size_t (*allocator)(void *);
    bool pvalloc_is_foreign; /* pvalloc is libc's, because the program's allocator has none */
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
    int (*sigaltstack)(const stack_t *, stack_t *);
    int (*prctl)(int, unsigned long, unsigned long, unsigned long, unsigned long);
    int (*mlockall)(int);
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

/* start.c */
void recorder_start(void); /* idempotent; sets `next`, connects; state leaves BOOTING */
/* For a program that was already running (attach.h). */
bool recorder_find_next(void); /* sets `next`; false: there is no malloc */
/* Connects to the collector; false: this failed. */
bool recorder_attach(const char *socket, const char *key, bool drop);

/* connection.c */
/* Names the collector; false: these are no names of one. `drop`: the program prefers losing events
 * to waiting. */
bool recorder_set_collector(const char *socket, const char *key, bool drop);
bool recorder_connect(void); /* connects this process to the collector */
/* Releases everything that a session took; all other threads are stopped. */
void recorder_leave(void);
/* Reports memory to the collector that the recorder has mapped. */
void recorder_own(const void *start, size_t size);
struct wire_ring *recorder_ring(void); /* a ring that no thread uses; NULL: none is available */
uint32_t recorder_rings_left(void);    /* rings that are there without asking the collector */
void recorder_stop(void);              /* ends recording, because the collector has ended */
bool recorder_collector_alive(void);
bool recorder_is_alone(void);                         /* is there only one thread? */
bool recorder_owns_allocations(const void *function); /* is the function in the allocator's file? */
/* Asks the collector for a snapshot. Returns 0 when the collector has begun to write it. */
int recorder_snapshot(const char *path, const struct wire_held *held);
/* Asks the collector for the figures of the heap up to now; `restart` also begins a new peak.
 * Returns 0, or a negative errno. */
int recorder_figures(bool restart, struct wire_figures *out);
/* Finds the functions of a loaded file whose entries shall be marks; returns how many. */
unsigned recorder_functions(const char *path, struct wire_function out[WIRE_FUNCTIONS_MAX]);
/* Reports that a function of this file (number 0: of any file) is not made to mark its entries. */
void recorder_left_alone(const char *path, uint64_t number, enum wire_left why);
/* Reports that the interpreter is about to free its objects. */
void recorder_python_ends(void);
/* Reports that a library was bound to our hooks. `missed`: it may have called libc before. */
void recorder_bound(const char *path, bool missed);
/* Reports that a program is executed without the recorder. */
void recorder_left_out(const char *path, enum wire_out why);
/* Reports the end, and waits until the collector has read the process. `stack` is where the
 * program's frames begin. */
enum wire_end recorder_exiting(enum wire_exit what, uint64_t stack, const struct wire_held *held);

/* own_malloc.c */
/* Redirects an executable's own malloc to us; once, at the start. */
void own_malloc_take_over(void);
bool own_malloc_taken_over(void);
/* Was the function at this address redirected? */
bool own_malloc_took(uint64_t address);
/* The original function; NULL: the executable has none. */
void *own_malloc_original(const char *name);

/* allocator.c */
void allocator_find(void); /* once, when `next` is known */
/* Call it in a forked child. `prepared`: libc's fork has prepared the allocator. */
void allocator_forked(bool prepared);
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
void exit_python_ends(void); /* the Python interpreter is about to free its objects */

/* hooks_malloc.c */
void own_free(void *p); /* the free of this library, also if another file defines free */

/* ring.c */
/* Takes another chunk of the ring, and waits if there is none. Returns false if `events` events are
 * lost. */
bool ring_room(struct thread *t, unsigned events);
/* Takes another chunk for records that may be dropped: never waits, and leaves a quarter of the
 * ring to other records. */
bool ring_spare_room(struct thread *t);
void ring_recover(struct thread *t);

/* thread.c */
#define THREAD_NAME_SIZE 128 /* bytes of a name that are reported */
/* Makes the state of this thread; NULL: do not record. */
struct thread *thread_begin(void);
/* Call it if the shared tick has changed, or in a forked child. */
struct thread *thread_sync(struct thread *t);
/* The first event of a forked child: connects it to the collector as a process of its own. Returns
 * its thread; NULL: nothing is recorded. */
struct thread *fork_begin_child(void);
void thread_tick(struct thread *t); /* call it if the shared tick has changed */
/* This thread has advanced the shared tick to `tick`: reports what it has counted before. */
void thread_interval_ends(struct thread *t, uint32_t tick);
void thread_named(struct thread *t, const char *name);
void thread_recover(struct thread *t);          /* after a hook that did not end normally */
void thread_ask_signal_stack(struct thread *t); /* asks the kernel where signal handlers run */
void thread_check_name(void);                   /* the last chance to read its name from Python */
void threads_prepare(void); /* for threads that begin when we may not set up memory for them */
void threads_reset(void);   /* in a forked child */
/* Calls a function for each thread that has not ended, while none can begin or end. */
void threads_each(void (*f)(struct thread *t, void *context), void *context);
void threads_leave(void);     /* frees the memory of all threads, which must not use it any more */
bool threads_in_python(void); /* is any other thread reading the interpreter? */

/* api.c */
/* Advances the tick because code was unloaded, so that all threads notice. */
void note_unload(struct thread *t);
void note_unrecorded(struct thread *t); /* after event_realloc, if its result is not recorded */
void note_pool(struct thread *t, unsigned number, const char *name); /* reports a pool's name */
/* Makes a mark because a function was entered; the collector knows its name by the number. */
void mark_function(uint64_t number, bool near_allocator);

/* hooks_pool.c */
void pools_reset(void); /* in a forked child: pools get new numbers */

/* mark_on.c */
void mark_on_start(void); /* once, at the start: makes entries of functions marks, if asked to */

/* modules.c */
extern const struct unwind_space own_space;
extern const struct unwind_space quiet_space; /* for lookups only: takes no lock */
bool modules_reset(void);  /* in a forked child, or before the first; false: no memory */
void modules_forget(void); /* code was unloaded; the tick must be advanced too */
/* Call it when the loader allocates: checks whether code was unloaded without a call of dlclose. */
void modules_check(struct thread *t);
/* Call it when the loader has mapped a file, if stacks are not walked then (gpu.h). The thread must
 * be busy. */
void modules_check_loaded(void);
void modules_recover(void); /* this thread left a hook by longjmp, an exception or cancellation */
bool modules_held(void);    /* does this thread hold the lock of the modules? */
struct link_map;
/* Checks whether the file is CPython; otherwise this is done when an address in it is seen. */
void modules_check_python(const struct link_map *m);

/* nested_hook.c */
/* Call these around an event that is written inside a wrapper of CPython's allocators, so that it
 * does not come between the two events of a realloc. beneath_enter returns NULL outside a
 * wrapper. */
struct thread *beneath_enter(enum beneath *was);
void beneath_leave(struct thread *t, enum beneath was);
/* Records a block that is freed inside the wrapper of another block, when no other event is
 * recorded. */
void free_beneath(void *p, usable_of *usable);
/* Is the hook whose frame is in tls.busy still on this thread's stack? `frame` is the frame of the
 * hook that asks. */
bool hook_nested(uintptr_t frame);

/* event.c */
enum free_how {
    FREE_SURE, /* the hooks saw the allocation: a block that is not known is counted as unknown */
    FREE_MAYBE /* the hooks may have missed the allocation: a block that is not known is no error */
};
/* Records an allocation; false: it was not recorded. */
bool event_alloc(struct thread *t, void *p, size_t size, const uint64_t *caller);
bool event_alloc_foreign(struct thread *t, void *p, size_t size, const uint64_t *caller);
bool event_alloc_sized(struct thread *t, void *p, size_t size, size_t usable,
                       const uint64_t *caller);
/* event_alloc_sized for a block with a stored size: its allocator cannot be asked for the size at
 * the free. */
bool event_alloc_stored(struct thread *t, void *p, size_t size, size_t usable,
                        const uint64_t *caller);
/* Call these before the operation. `usable` asks the allocator for the usable size of a block;
 * NULL: it cannot be asked. false: the block is not known. */
bool event_free(struct thread *t, void *p, usable_of *usable, enum free_how how);
/* event_free for a block of next.malloc, on the fast path; false: nothing was done, so call
 * event_free. */
bool event_free_small(struct thread *t, void *p);
bool event_realloc(struct thread *t, void *old, usable_of *usable, enum free_how how);
void event_realloc_failed(struct thread *t); /* after event_realloc, unless event_alloc is called */
void event_fork(struct thread *t);           /* before the fork */
/* Records a mapping. `plain`: it is private, anonymous and at any address, so it may be an arena of
 * CPython. */
void event_map(struct thread *t, void *p, size_t size, bool plain, const uint64_t *caller);
/* Records an unmapping. Call it before the operation. Returns true if a record was written. */
bool event_unmap(struct thread *t, void *p, size_t size);
void event_unmap_failed(struct thread *t); /* after a failed operation, if a record was written */
void event_pool_alloc(struct thread *t, unsigned pool, const void *p, size_t size,
                      const uint64_t *caller);
void event_pool_free(struct thread *t, unsigned pool, const void *p);
/* Records memory of a graphics processor. `pool`: one of WIRE_POOL_GPU and its neighbours; `block`:
 * its address or handle. event_pool_free records that it is freed. */
void event_gpu_alloc(struct thread *t, unsigned pool, uint64_t block, size_t size,
                     const uint64_t *caller);
/* Records that something begins or ends to refer to a handle's memory, or that a free was
 * refused. */
void event_gpu_reference(struct thread *t, enum wire_unmap what, uint64_t address, uint64_t first,
                         uint64_t second);
/* The number of the caller's stack, for anything but an allocation. */
uint32_t event_stack(struct thread *t, const uint64_t *caller);
/* The number of the stack that a signal handler interrupted. `caller` is the caller of the
 * handler. */
uint32_t event_interrupted(struct thread *t, const uint64_t *caller);
/* Does the stack of this thread have only calls, without a signal handler in between? false: this
 * cannot be proven. */
bool event_stack_is_plain(struct thread *t, const uint64_t *caller);

/* untouched.c */
#define LARGE_BLOCK ((size_t)256 << 10)
/* Counts the untouched pages of a large block. Call it before the free. `account` is that of its
 * allocation, if known. */
void large_freed(struct thread *t, void *p, size_t size, uint32_t account);
/* Counts the bytes of [start, end) on pages that are not resident; false: the kernel does not
 * say. */
bool pages_absent(uintptr_t start, uintptr_t end, size_t *absent);
bool pages_may_be_swapped(void); /* true: pages that are not resident may be in swap */

/* alloc_sample.c */
#define SAMPLE_FILTER_SIZE  ((size_t)1 << 22)
#define SAMPLE_FILTER_SHIFT 10
#define SAMPLE_FILTER_OF(address)                                                                  \
    (&tide_sample_filter[(address) >> SAMPLE_FILTER_SHIFT & (SAMPLE_FILTER_SIZE - 1)])
/* arch/MACHINE/routes.c uses tide_sample_filter and tide_sample_left, for calls that are not
 * recorded. */
extern INTERNAL _Atomic uint8_t *tide_sample_filter; /* [SAMPLE_FILTER_SIZE] */
/* Bytes up to this thread's next recorded block; 0: not drawn yet. */
extern INTERNAL __thread uint64_t tide_sample_left __attribute__((tls_model("initial-exec")));
bool sample_reset(struct wire_header *h); /* begins anew in a new process; false: no memory */
void sample_recover(void);                /* this thread left a hook by longjmp, for example */
bool sample_draw(struct thread *t, size_t size); /* is a block of this size to be recorded? */
/* Notes that a block is recorded. SAMPLE_REPLACED: the table had another block at the address,
 * whose free was missed; *old is that block. */
enum sample_added { SAMPLE_ADDED, SAMPLE_REPLACED, SAMPLE_NO_ROOM };
enum sample_added sample_add(const void *p, const struct indexed *b, struct indexed *old);
/* Finds a block that was recorded; `remove` also removes it. */
bool sample_find(const void *p, struct indexed *out, bool remove);

static inline bool sample_skips(struct thread *t, size_t size)
{
    if (LIKELY(size < tide_sample_left)) {
        tide_sample_left -= size;
        return true;
    }
    return !sample_draw(t, size);
}

/* Can the block at this address have been recorded? */
static inline bool sample_may_be(const void *p)
{
    return UNLIKELY(atomic_load_explicit(SAMPLE_FILTER_OF((uintptr_t)p), memory_order_relaxed));
}

/* Prefetches what event_alloc will read. Call it before the original function is called. */
static inline __attribute__((always_inline)) void event_prefetch(const struct thread *t,
                                                                 const uint64_t *caller)
{
    if (LIKELY(!recorder.sample_bytes))
        walk_prefetch(&t->walk, recorder.rules, CALLER_PC(caller), CALLER_SP(caller));
}

/* Is recording paused? Frees are still followed, and nothing else. */
static inline bool recorder_paused(void)
{
    struct wire_header *h = recorder.header;
    return h && atomic_load_explicit(&h->paused, memory_order_relaxed);
}

/* A lock that knows its holder. A thread that left a hook by longjmp or cancellation releases the
 * lock later (spin_recover). */
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

static inline bool event_room(struct thread *t, unsigned words)
{
    return LIKELY(t->end - t->at >= (ptrdiff_t)words) || ring_room(t, 1);
}

/* Finds room for a record that is no event: if there is none, nothing is counted as lost. */
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
 * Writes a sequence number, which orders the next record among the records of other threads. There
 * must be room for one word more than the record needs.
 */
static inline void event_sequence(struct thread *t)
{
    if (UNLIKELY(atomic_load_explicit(&recorder.several, memory_order_relaxed)))
        event_word(t, WIRE_WORD(WIRE_SEQUENCE, 0,
                                (atomic_fetch_add(&recorder.sequence, 1) + 1) & WIRE_LOW48));
}

#include "record/hook_guard.h"

#endif
