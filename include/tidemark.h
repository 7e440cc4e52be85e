/*
 * tidemark.h: what a program may tell the profiler that records it.
 *
 * Needs no linking. Every call looks once whether the program runs under `tidemark run`; if it does
 * not, the call is a test of a pointer. All may be called from any thread at any time, but not from
 * a signal handler.
 *
 *     tide_mark("event");                 a moment: report --at event#50, --since event#50
 *     tide_mark_value("event", "photons", 1e6);
 *     tide_snapshot("app.%I.tide");       the profile so far, in a file of its own
 *     tide_pause(); tide_resume();        allocations in between are not recorded, frees are
 *     tide_thread_name("reader");
 *
 * In C++ there is tide::scope, which marks its begin and its end, and tide::paused.
 */
#ifndef TIDEMARK_H
#define TIDEMARK_H

#ifdef __cplusplus
extern "C" {
#endif

/* dlsym, without <dlfcn.h> and the macros that it may need. Weak: a static program has none. */
extern void *dlsym(void *, const char *) __attribute__((weak));

typedef void (*tide_function_)(void);

/* The function of that name in libtidemark.so, or NULL; remembered in *known. */
static inline tide_function_ tide_find_(const char *name, tide_function_ *known)
{
    union {
        void *address;
        tide_function_ function;
    } found;
    static char none;
    found.function = __atomic_load_n(known, __ATOMIC_RELAXED);
    if (!found.address) {
        found.address = dlsym ? dlsym((void *)0, name) : (void *)0;
        if (!found.address)
            found.address = &none;
        __atomic_store_n(known, found.function, __ATOMIC_RELAXED);
    }
    return found.address == &none ? (tide_function_)0 : found.function;
}

/* Is the program being recorded, and not paused? */
static inline int tide_active(void)
{
    static tide_function_ known;
    int (*call)(void) = (int (*)(void))tide_find_("tide_active", &known);
    return call ? call() : 0;
}

/* A moment with a name (63 bytes of it count). Marks of one name are numbered from 1. */
static inline void tide_mark(const char *label)
{
    static tide_function_ known;
    void (*call)(const char *) = (void (*)(const char *))tide_find_("tide_mark", &known);
    if (call)
        call(label);
}

/* The same, with a number that belongs to it: how much there was to do, say. */
static inline void tide_mark_value(const char *label, const char *key, double value)
{
    static tide_function_ known;
    void (*call)(const char *, const char *, double) =
        (void (*)(const char *, const char *, double))tide_find_("tide_mark_value", &known);
    if (call)
        call(label, key, value);
}

/*
 * Writes the profile so far; the program goes on meanwhile. %I counts snapshots from 1, %p is the
 * pid, %n %h %t %q{VAR} as for `run -o`. A leading | pipes it to a command. 0, or negative: not
 * recorded, or the collector could not begin.
 */
static inline int tide_snapshot(const char *path)
{
    static tide_function_ known;
    int (*call)(const char *) = (int (*)(const char *))tide_find_("tide_snapshot", &known);
    return call ? call(path) : -1;
}

/* Until tide_resume(), what is allocated is not recorded; frees of known blocks are. All threads. */
static inline void tide_pause(void)
{
    static tide_function_ known;
    void (*call)(void) = tide_find_("tide_pause", &known);
    if (call)
        call();
}

static inline void tide_resume(void)
{
    static tide_function_ known;
    void (*call)(void) = tide_find_("tide_resume", &known);
    if (call)
        call();
}

/* The calling thread's name in reports (15 bytes of it count); the kernel's is not changed. */
static inline void tide_thread_name(const char *name)
{
    static tide_function_ known;
    void (*call)(const char *) = (void (*)(const char *))tide_find_("tide_thread_name", &known);
    if (call)
        call(name);
}

#ifdef __cplusplus
}

namespace tide {

/* Marks NAME at its begin and NAME.end at its end. */
class scope {
  public:
    explicit scope(const char *name) : name_(name)
    {
        tide_mark(name);
    }
    ~scope()
    {
        char label[64];
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

/* Recording is paused while it lives. */
class paused {
  public:
    paused()
    {
        tide_pause();
    }
    ~paused()
    {
        tide_resume();
    }
    paused(const paused &) = delete;
    paused &operator=(const paused &) = delete;
};

} // namespace tide
#endif

#endif
