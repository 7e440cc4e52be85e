/*
 * tidemark.h: what a program may tell the profiler that records it.
 *
 * Needs no linking. Every call looks once whether the program runs under `tidemark run`; if it does
 * not, the call is a test of a pointer. All may be called from any thread at any time, but not from
 * a signal handler. C89 and later, C++11 and later, gcc and clang.
 *
 *     tide_mark("event");                 a moment: report --at event#50, --since event#50
 *     tide_mark_value("event", "photons", 1e6);
 *     tide_snapshot("app.%I.tide");       the profile so far, in a file of its own
 *     tide_figures(&heap, 1);             what is live now, and how much was since the last call
 *     tide_pause(); tide_resume();        allocations in between are not recorded, frees are
 *     tide_thread_name("reader");
 *     tide_alloc("events", p, size);      a block of an allocator of the program's own,
 *     tide_free("events", p);             and its end: report --metric pool
 *
 * In C++ there is tide::scope, which marks its begin and its end, and tide::paused.
 */
#ifndef TIDEMARK_H
#define TIDEMARK_H

#ifdef __cplusplus
extern "C" {
#endif

/*
 * dlsym, without <dlfcn.h> and the macros that it may need, whether or not that is included too.
 * NULL in a static program that does not use it otherwise.
 */
static void *tide_dlsym_(void *, const char *) __attribute__((weakref("dlsym")));

typedef void (*tide_function_)(void);

/* The function of that name in libtidemark.so, or NULL; remembered in *known. */
static __inline__ tide_function_ tide_find_(const char *name, tide_function_ *known)
{
    static char none;
    union {
        void *address;
        tide_function_ function;
    } found;
    found.function = __atomic_load_n(known, __ATOMIC_RELAXED);
    if (!found.address) {
        found.address = tide_dlsym_ ? tide_dlsym_((void *)0, name) : (void *)0;
        if (!found.address)
            found.address = &none;
        __atomic_store_n(known, found.function, __ATOMIC_RELAXED);
    }
    return found.address == &none ? (tide_function_)0 : found.function;
}

/* Is the program being recorded, and not paused? */
static __inline__ int tide_active(void)
{
    static tide_function_ known;
    int (*call)(void) = (int (*)(void))tide_find_("tide_active", &known);
    return call ? call() : 0;
}

/* A moment with a name (63 bytes of it count). Marks of one name are numbered from 1. */
static __inline__ void tide_mark(const char *label)
{
    static tide_function_ known;
    void (*call)(const char *) = (void (*)(const char *))tide_find_("tide_mark", &known);
    if (call)
        call(label);
}

/* The same, with a number that belongs to it: how much there was to do, say. */
static __inline__ void tide_mark_value(const char *label, const char *key, double value)
{
    static tide_function_ known;
    void (*call)(const char *, const char *, double) =
        (void (*)(const char *, const char *, double))tide_find_("tide_mark_value", &known);
    if (call)
        call(label, key, value);
}

/* The same, with several: one mark, to which value i belongs under the name of key i. */
static __inline__ void tide_mark_values(const char *label, unsigned count, const char *const *keys,
                                        const double *values)
{
    static tide_function_ known;
    void (*call)(const char *, unsigned, const char *const *, const double *) =
        (void (*)(const char *, unsigned, const char *const *, const double *))tide_find_(
            "tide_mark_values", &known);
    if (call)
        call(label, count, keys, values);
}

/*
 * Writes the profile so far; the program goes on meanwhile. %I counts snapshots from 1, %p is the
 * pid, %n %h %t %q{VAR} as for `run -o`. A relative path begins where `tidemark run` was started. A
 * leading | pipes it to a command. 0, or negative: not recorded, or the collector could not begin.
 */
static __inline__ int tide_snapshot(const char *path)
{
    static tide_function_ known;
    int (*call)(const char *) = (int (*)(const char *))tide_find_("tide_snapshot", &known);
    return call ? call(path) : -1;
}

struct tide_heap {
    __SIZE_TYPE__ size;                       /* of this struct: set by tide_figures */
    __UINT64_TYPE__ live_bytes, live_blocks;  /* allocated and not freed, now */
    __UINT64_TYPE__ total_bytes, allocations; /* since the process began */
    __UINT64_TYPE__ peak_bytes;               /* highest live_bytes since then, or the restart */
};

/*
 * The heap of this process, exact for all that the calling thread did before; of what other threads
 * do meanwhile, some is counted. Asks the collector and waits for its answer, about 0.1 ms. With
 * `restart`, the next call's peak is that from here on. 0, or negative: not recorded, no answer.
 */
static __inline__ int tide_figures(struct tide_heap *heap, int restart)
{
    static tide_function_ known;
    int (*call)(struct tide_heap *, int) =
        (int (*)(struct tide_heap *, int))tide_find_("tide_figures", &known);
    heap->size = sizeof *heap;
    return call ? call(heap, restart) : -1;
}

/* Until tide_resume(), no thread's allocations are recorded; frees of known blocks are. */
static __inline__ void tide_pause(void)
{
    static tide_function_ known;
    void (*call)(void) = tide_find_("tide_pause", &known);
    if (call)
        call();
}

static __inline__ void tide_resume(void)
{
    static tide_function_ known;
    void (*call)(void) = tide_find_("tide_resume", &known);
    if (call)
        call();
}

/* The calling thread's name in reports (128 bytes of it count); the kernel's is not changed. */
static __inline__ void tide_thread_name(const char *name)
{
    static tide_function_ known;
    void (*call)(const char *) = (void (*)(const char *))tide_find_("tide_thread_name", &known);
    if (call)
        call(name);
}

/*
 * Blocks of an allocator of the program's own, by the name of the pool (63 bytes of it count). The
 * memory of a pool comes from somewhere and is counted there, so its blocks are counted apart:
 * report --metric pool. Tell of a block when the pool has handed it out, and of its end before it
 * can be handed out again. A block that the pool has already is replaced.
 */
static __inline__ void tide_alloc(const char *pool, void *block, __SIZE_TYPE__ size)
{
    static tide_function_ known;
    void (*call)(const char *, void *, __SIZE_TYPE__) =
        (void (*)(const char *, void *, __SIZE_TYPE__))tide_find_("tide_alloc", &known);
    if (call)
        call(pool, block, size);
    __asm__ __volatile__(
        ""); /* so that the call is not the last thing, and its caller stays on the stack */
}

static __inline__ void tide_free(const char *pool, void *block)
{
    static tide_function_ known;
    void (*call)(const char *, void *) =
        (void (*)(const char *, void *))tide_find_("tide_free", &known);
    if (call)
        call(pool, block);
}

#ifdef __cplusplus
}

namespace tide
{

/* Marks NAME at its begin and NAME.end at its end. NAME must live as long. */
class scope
{
  public:
    explicit scope(const char *name) : name_(name)
    {
        tide_mark(name);
    }
    ~scope()
    {
        char label[64]; /* all that counts of one */
        unsigned i = 0;
        for (; name_[i] && i < sizeof label - 5; i++)
            label[i] = name_[i];
        for (const char *end = ".end"; *end; end++)
            label[i++] = *end;
        label[i] = '\0';
        tide_mark(label);
    }
    scope(const scope &) = delete;
    scope &operator=(const scope &) = delete;

  private:
    const char *name_;
};

/* Recording is paused while it lives. One inside another, or in a pause, changes nothing. */
class paused
{
  public:
    paused() : was_active_(tide_active())
    {
        tide_pause();
    }
    ~paused()
    {
        if (was_active_)
            tide_resume();
    }
    paused(const paused &) = delete;
    paused &operator=(const paused &) = delete;

  private:
    int was_active_;
};

} /* namespace tide */
#endif

#endif
