/*
 * What the program's allocator reports about itself: bytes that it holds from the system, and how
 * many of them are free. glibc (mallinfo2), jemalloc (mallctl), gperftools' tcmalloc
 * (MallocExtension) and mimalloc (mi_process_info) can be asked; nothing is known about any other.
 *
 * Asking takes the allocator's locks. They are free, or held by threads that will release them,
 * unless this very thread is inside the allocator. It is not in one of our hooks (thread_enter()
 * has checked that). So it could only have been interrupted there by a signal, or be at the entry
 * of a function of the allocator itself (mark_on.c). The stack is unwound to its end to rule out
 * the first, and marks at functions near the allocator do not ask. In a child of which the
 * allocator was not informed in time (_Fork, clone), a lock may be held by a thread that does not
 * exist: there it is never asked. Signals are blocked meanwhile: the mark may be at a function that
 * a handler may interrupt and allocate.
 *
 * glibc counts by walking through everything that is free, so it may take long. There is a budget
 * for asking at every mark; when it is used up, the distance to the next question is a hundred
 * times what the last answer cost.
 */
#include <errno.h>
#include <link.h>
#include <signal.h>
#include <string.h>
#include <time.h>

#include "record/find_export.h"
#include "record/other_names.h"
#include "record/libc.h"
#include "record/loaded_file.h"
#include "record/recorder.h"

#define SHORT_NS 1000000    /* a shorter answer does not matter at the end */
#define CREDIT   20000000   /* ns to spend on asking at every mark, and after that */
#define SHARE    100        /* one part in so many of the time */
#define ASKING   UINT64_MAX /* some thread is asking */

typedef struct libc_mallinfo glibc_function(void);
typedef int jemalloc_function(const char *, void *, size_t *, void *, size_t);
typedef int tcmalloc_function(const char *, size_t *);
typedef void mimalloc_function(size_t *, size_t *, size_t *, size_t *, size_t *, size_t *, size_t *,
                               size_t *);

static enum wire_allocator kind;
static union {
    void *any;
    glibc_function *glibc;
    jemalloc_function *jemalloc;
    tcmalloc_function *tcmalloc;
    mimalloc_function *mimalloc;
} question;
static const struct link_map *its_file, *libc_file;
static bool unsafe;                   /* not usable in this process */
static _Atomic uint64_t next_ns;      /* not before this time; or ASKING */
static _Atomic uint64_t last_cost_ns; /* cost of the last answer + 1; 0: there was none */
static _Atomic uint64_t spent_ns;     /* of CREDIT */

/* --- finding the allocator -------------------------------------------------------------------- */

static const struct link_map *file_of(const void *slot)
{
    void *f;
    memcpy(&f, slot, sizeof f);
    return f ? loaded_file_map(f) : NULL;
}

static bool has(const struct exports *x, const char *name, enum wire_allocator who)
{
    const ElfW(Sym) *s = exports_find(x, name);
    if (!s || ELF64_ST_TYPE(s->st_info) != STT_FUNC)
        return false;
    question.any = (void *)(uintptr_t)(x->base + s->st_value);
    kind = who;
    return true;
}

/*
 * If all functions are in one file, that file's allocator serves the program. A library that hooks
 * malloc and calls another's cannot be distinguished from one that has a malloc and nothing beyond
 * it.
 */
void allocator_find(void)
{
    struct exports x;
    if (its_file)
        return;
    const struct link_map *file = file_of(&next.malloc_usable_size);
    libc_file = file_of(&next.syscall);
    if (!file || (own_malloc_taken_over() || other_names_taken_over()
                      ? file != file_of(&next.allocator)
                      : file != file_of(&next.malloc) || file != file_of(&next.free)))
        return;
    its_file = file;
    exports_read(&x, file);
    (void)(has(&x, "mallctl", WIRE_ALLOCATOR_JEMALLOC) ||
           has(&x, "MallocExtension_GetNumericProperty", WIRE_ALLOCATOR_TCMALLOC) ||
           has(&x, "mi_process_info", WIRE_ALLOCATOR_MIMALLOC) ||
           (file == libc_file && exports_find(&x, "gnu_get_libc_version") &&
            has(&x, "mallinfo2", WIRE_ALLOCATOR_GLIBC)));
}

bool allocator_is_near(uint64_t address)
{
    void *f = (void *)(uintptr_t)address;
    const struct link_map *file = file_of(&f);
    return !file || file == its_file || file == libc_file;
}

void allocator_forked(bool prepared)
{
    unsafe |= !prepared;
    atomic_store(&next_ns, 0);
    atomic_store(&last_cost_ns, 0);
    atomic_store(&spent_ns, 0);
}

/* --- the questions ---------------------------------------------------------------------------- */

static bool ask_jemalloc(struct wire_held *out)
{
    static const char *const names[] = {"stats.resident", "stats.active", "stats.allocated",
                                        "stats.arenas.4096.pdirty" /* MALLCTL_ARENAS_ALL */,
                                        "arenas.page"};
    size_t value[5];
    uint64_t epoch = 1;
    size_t size = sizeof epoch;
    if (question.jemalloc("epoch", NULL, NULL, &epoch, size))
        return false;
    for (unsigned i = 0; i < 5; i++) {
        size = sizeof *value;
        if (question.jemalloc(names[i], &value[i], &size, NULL, 0))
            return false; /* it was built without statistics */
    }
    out->held_bytes = value[0];
    out->free_bytes = value[1] - value[2] + value[3] * value[4];
    return true;
}

static bool ask_tcmalloc(struct wire_held *out)
{
    size_t held, used;
    if (!question.tcmalloc("generic.heap_size", &held) ||
        !question.tcmalloc("generic.current_allocated_bytes", &used))
        return false;
    out->held_bytes = held;
    out->free_bytes = held - used;
    return true;
}

static bool ask_mimalloc(struct wire_held *out)
{
    size_t committed = 0, other[7];
    if (atomic_load_explicit(&recorder.confined, memory_order_relaxed))
        return false; /* it would ask the kernel for what we do not need */
    question.mimalloc(&other[0], &other[1], &other[2], &other[3], &other[4], &committed, &other[5],
                      &other[6]);
    out->held_bytes = committed;
    return committed != 0;
}

static bool ask_glibc(struct wire_held *out)
{
    struct libc_mallinfo m = question.glibc();
    out->held_bytes = m.arena + m.hblkhd;
    out->free_bytes = m.fordblks;
    return true;
}

static bool ask(struct wire_held *out)
{
    switch (kind) {
    case WIRE_ALLOCATOR_GLIBC:
        return ask_glibc(out);
    case WIRE_ALLOCATOR_JEMALLOC:
        return ask_jemalloc(out);
    case WIRE_ALLOCATOR_TCMALLOC:
        return ask_tcmalloc(out);
    case WIRE_ALLOCATOR_MIMALLOC:
        return ask_mimalloc(out);
    default:
        return false;
    }
}

/* --- when to ask ------------------------------------------------------------------------------ */

/* The thread's CPU time: time off the processor is no cost. */
static uint64_t work_ns(void)
{
    struct timespec now;
    return sys_call(SYS_clock_gettime, (long)CLOCK_THREAD_CPUTIME_ID, &now) < 0
               ? sys_monotonic_ns()
               : sys_nanoseconds(&now);
}

static bool may_ask(struct thread *t, const uint64_t *caller)
{
    return kind && !unsafe && event_stack_is_plain(t, caller);
}

#define SIGNAL(number) (UINT64_C(1) << ((number)-1))

/* Blocks all signals except those that an instruction raises. false: the kernel must not be
 * asked. */
static bool hold_signals(uint64_t *before)
{
    uint64_t held = ~(SIGNAL(SIGSEGV) | SIGNAL(SIGBUS) | SIGNAL(SIGILL) | SIGNAL(SIGFPE) |
                      SIGNAL(SIGTRAP) | SIGNAL(SIGSYS) | SIGNAL(SIGABRT));
    return sys_call(SYS_rt_sigprocmask, (long)SIG_BLOCK, &held, before, sizeof held) == 0;
}

static void release_signals(const uint64_t *before)
{
    sys_call(SYS_rt_sigprocmask, (long)SIG_SETMASK, before, 0L, sizeof *before);
}

/* Unless another thread has been asking since `due`. */
static bool ask_now(uint64_t due, struct wire_held *out)
{
    uint64_t before;
    if (due == ASKING || !hold_signals(&before))
        return false;
    if (!atomic_compare_exchange_strong(&next_ns, &due, ASKING)) {
        release_signals(&before);
        return false;
    }
    int saved = errno;
    uint64_t begin = work_ns();
    bool answered = ask(out);
    uint64_t cost = work_ns() - begin;
    errno = saved;
    atomic_store(&last_cost_ns, cost + 1);
    bool credit = atomic_fetch_add(&spent_ns, cost) < CREDIT;
    atomic_store(&next_ns, credit ? 0 : sys_monotonic_ns() + cost * SHARE);
    release_signals(&before);
    out->allocator = answered ? kind : WIRE_ALLOCATOR_NONE;
    return answered;
}

bool allocator_ask(struct thread *t, const uint64_t *caller, struct wire_held *out)
{
    uint64_t due = atomic_load(&next_ns);
    *out = (struct wire_held){0};
    return sys_monotonic_ns() >= due && may_ask(t, caller) && ask_now(due, out);
}

/*
 * glibc follows the pointers of everything that is free. A program that has overwritten some of
 * them, and would have ended without noticing, must also end like that with us: it is asked only if
 * it has survived that before.
 */
bool allocator_ask_at_exit(struct thread *t, const uint64_t *caller, struct wire_held *out)
{
    uint64_t cost = atomic_load(&last_cost_ns);
    *out = (struct wire_held){0};
    if (kind == WIRE_ALLOCATOR_GLIBC && !cost)
        return false;
    if (cost > SHORT_NS)
        return allocator_ask(t, caller, out);
    return may_ask(t, caller) && ask_now(atomic_load(&next_ns), out);
}
