/*
 * tidemark.h: how a program talks to the profiler that records it.
 *
 * Nothing has to be linked. Each function looks up libtidemark.so once; if the program is not
 * recorded, a call only tests a pointer. All functions may be called from any thread at any time,
 * but not from a signal handler. C89 and later, C++11 and later, gcc and clang.
 *
 *     tide_mark("event");                 names a moment: report --at event#50, --since event#50
 *     tide_mark_value("event", "photons", 1e6);
 *     tide_snapshot("app.%I.tide");       writes the profile so far to a file of its own
 *     tide_figures(&heap, 1);             what is live now, and the peak since the last call
 *     tide_pause(); tide_resume();        allocations in between are not recorded, frees are
 *     tide_thread_name("reader");
 *     tide_alloc("events", p, size);      reports a block of the program's own allocator,
 *     tide_free("events", p);             and its end: report --metric pool
 *     tide_start("part.tide");            records a program that was started without tidemark
 *     tide_stop();
 *
 * C++ also has tide::scope, which marks its begin and its end, and tide::paused.
 */
#ifndef TIDEMARK_H
#define TIDEMARK_H

#ifdef __cplusplus
extern "C" {
#endif

/*
 * dlsym, without <dlfcn.h> and the macros that it may need, whether or not that is included too.
 * NULL in a static program that does not use dlsym otherwise.
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

/* Marks a moment with a name, of which 63 bytes count. Marks of one name are numbered from 1. */
static __inline__ void tide_mark(const char *label)
{
    static tide_function_ known;
    void (*call)(const char *) = (void (*)(const char *))tide_find_("tide_mark", &known);
    if (call)
        call(label);
}

/* The same with a number that belongs to the mark, for example how much work there was. */
static __inline__ void tide_mark_value(const char *label, const char *key, double value)
{
    static tide_function_ known;
    void (*call)(const char *, const char *, double) =
        (void (*)(const char *, const char *, double))tide_find_("tide_mark_value", &known);
    if (call)
        call(label, key, value);
}

/* The same with several numbers: one mark, in which value i has the name keys[i]. */
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
 * pid, %n %h %t %q{VAR} as for `run -o`. A relative path is relative to where `tidemark run` was
 * started. With a leading |, the profile is piped to a command. Returns 0, or a negative number:
 * the program is not recorded, or the collector could not begin.
 */
static __inline__ int tide_snapshot(const char *path)
{
    static tide_function_ known;
    int (*call)(const char *) = (int (*)(const char *))tide_find_("tide_snapshot", &known);
    return call ? call(path) : -1;
}

struct tide_heap {
    __SIZE_TYPE__ size;                       /* of this struct; set by tide_figures */
    __UINT64_TYPE__ live_bytes, live_blocks;  /* allocated and not freed, now */
    __UINT64_TYPE__ total_bytes, allocations; /* since the process began */
    __UINT64_TYPE__ peak_bytes; /* highest live_bytes since then, or since the restart */
};

/*
 * Reads the figures of this process's heap. They include everything that the calling thread did
 * before; of what other threads do meanwhile, some is included. Asks the collector and waits for
 * its answer, about 0.1 ms. With `restart`, the peak of the next call counts from here. Returns 0,
 * or a negative number: not recorded, or no answer.
 */
static __inline__ int tide_figures(struct tide_heap *heap, int restart)
{
    static tide_function_ known;
    int (*call)(struct tide_heap *, int) =
        (int (*)(struct tide_heap *, int))tide_find_("tide_figures", &known);
    heap->size = sizeof *heap;
    return call ? call(heap, restart) : -1;
}

/* Until tide_resume(), allocations are not recorded in any thread; frees of known blocks are. */
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

/* Sets the calling thread's name in reports, of which 128 bytes count; the kernel's name is not
 * changed. */
static __inline__ void tide_thread_name(const char *name)
{
    static tide_function_ known;
    void (*call)(const char *) = (void (*)(const char *))tide_find_("tide_thread_name", &known);
    if (call)
        call(name);
}

/*
 * Reports a block of the program's own allocator, by the name of the pool, of which 63 bytes count.
 * The memory of a pool comes from somewhere else and is counted there, so its blocks are counted
 * separately: report --metric pool. Report a block after the pool has returned it, and its end
 * before it can be returned again. If the pool already has a block at this address, it is replaced.
 */
static __inline__ void tide_alloc(const char *pool, void *block, __SIZE_TYPE__ size)
{
    static tide_function_ known;
    void (*call)(const char *, void *, __SIZE_TYPE__) =
        (void (*)(const char *, void *, __SIZE_TYPE__))tide_find_("tide_alloc", &known);
    if (call)
        call(pool, block, size);
    __asm__ __volatile__(""); /* prevents a tail call, so that the caller stays on the stack */
}

static __inline__ void tide_free(const char *pool, void *block)
{
    static tide_function_ known;
    void (*call)(const char *, void *) =
        (void (*)(const char *, void *))tide_find_("tide_free", &known);
    if (call)
        call(pool, block);
}

/* --- programs that were started without tidemark ---------------------------------------------- */

/* Functions of libc under names of our own and without their headers, as dlsym above. */
static int tide_fork_(void) __attribute__((weakref("fork")));
static int tide_setsid_(void) __attribute__((weakref("setsid")));
static int tide_execvp_(const char *, char *const *) __attribute__((weakref("execvp")));
static void tide_exit_(int) __attribute__((weakref("_exit"))) __attribute__((noreturn));
static int tide_pipe2_(int *, int) __attribute__((weakref("pipe2")));
static int tide_dup2_(int, int) __attribute__((weakref("dup2")));
static int tide_fcntl_(int, int, ...) __attribute__((weakref("fcntl")));
static int tide_close_(int) __attribute__((weakref("close")));
static long tide_read_(int, void *, __SIZE_TYPE__) __attribute__((weakref("read")));
static long tide_write_(int, const void *, __SIZE_TYPE__) __attribute__((weakref("write")));
static int tide_waitpid_(int, int *, int) __attribute__((weakref("waitpid")));
static int tide_kill_(int, int) __attribute__((weakref("kill")));
static int tide_getpid_(void) __attribute__((weakref("getpid")));
static int tide_prctl_(int, ...) __attribute__((weakref("prctl")));
static long tide_syscall_(long, ...) __attribute__((weakref("syscall")));
static char *tide_getenv_(const char *) __attribute__((weakref("getenv")));
static int *tide_errno_(void) __attribute__((weakref("__errno_location")));

/* One instance in the program, however many files include this. */
struct tide_tool_ {
    int state; /* 0: off; 1: beginning or ending; 2: recording */
    int owner; /* the process; another one is a child that was forked since */
    int pid;   /* of `tidemark attach`; 0: only marks are made */
    int lines; /* number of lines that the tool has written */
};
extern struct tide_tool_ tide_tool_;
struct tide_tool_ tide_tool_ __attribute__((weak)) = {0, 0, 0, 0};

/* With Yama (ptrace_scope 1), a child may trace its parent only if the parent names it; 0:
 * nobody. */
static __inline__ void tide_allow_(int pid)
{
    tide_prctl_(0x59616d61 /* PR_SET_PTRACER */, (unsigned long)pid, 0UL, 0UL, 0UL);
}

/* Runs in the child. It closes the program's descriptors, because another process may wait for the
 * end of a pipe. */
static __inline__ void tide_become_tool_(const char *path, int tell, int target)
{
    static char failed[] = "failed 000\n";
    char number[16], *digit = number + sizeof number;
    const char *tool = tide_getenv_("TIDEMARK");
    const char *argv[9];
    int error, fd, i = 0;
    *--digit = '\0';
    do
        *--digit = (char)('0' + target % 10);
    while ((target /= 10) != 0);
    argv[i++] = tool && *tool ? tool : "tidemark";
    argv[i++] = "attach";
    argv[i++] = "--quiet";
    argv[i++] = "--tell";
    argv[i++] = "3";
    if (path) {
        argv[i++] = "-o";
        argv[i++] = path;
    }
    argv[i++] = digit;
    argv[i] = (const char *)0;
    tide_setsid_(); /* Ctrl-C is not meant for it */
    if (tell == 3)
        tide_fcntl_(3, 2 /* F_SETFD */, 0);
    else
        tide_dup2_(tell, 3);
    if (tide_syscall_(436L /* close_range */, 4UL, ~0U + 0UL, 0UL) != 0)
        for (fd = 4; fd < 65536; fd++)
            tide_close_(fd);
    tide_execvp_(argv[0], (char *const *)(__SIZE_TYPE__)argv);
    for (error = *tide_errno_(), i = 9; i > 6; i--, error /= 10)
        failed[i] = (char)('0' + error % 10);
    if (tide_write_(3, failed, sizeof failed - 1) < 0)
        tide_exit_(126);
    tide_exit_(127);
}

/* Reads the next line of the tool: 0, or the negative errno of a failure. */
static __inline__ int tide_told_(int lines)
{
    char first = 0, byte = 0;
    int error = 0;
    for (;;) {
        long n = tide_read_(lines, &byte, 1);
        if (n < 0 && *tide_errno_() == 4 /* EINTR */)
            continue;
        if (n <= 0)
            return -5; /* EIO: it ended without an answer */
        if (byte == '\n')
            return first == 'f' ? -(error ? error : 5) : 0;
        if (!first)
            first = byte;
        if (byte >= '0' && byte <= '9' && error < 10000)
            error = error * 10 + (byte - '0');
    }
}

static __inline__ void tide_tool_gone_(void)
{
    while (tide_waitpid_(tide_tool_.pid, (int *)0, 0) < 0 && *tide_errno_() == 4 /* EINTR */)
        ;
    tide_close_(tide_tool_.lines);
    tide_allow_(0);
}

/*
 * Records this process from now on, if it was started without tidemark: it starts `tidemark attach`
 * as a child, which does the work. The environment variable TIDEMARK names the tool, or it is found
 * on PATH. `path` is as for `tidemark attach -o`; NULL: tidemark.NAME.PID.tide. Under `tidemark
 * run` it only makes the mark "tracker".
 *
 * Returns 0 once recording is on; otherwise a negative errno. -EBUSY: it is already on; -ENOENT:
 * there is no tool; for other failures attach prints the reason on stderr. Until tide_stop, one of
 * the program's children is not its own: waiting for any child may return it.
 */
static __inline__ int tide_start(const char *path)
{
    static tide_function_ known;
    int free_state = 0, pipe_ends[2], code;
    if (!tide_fork_ || !tide_execvp_ || !tide_pipe2_ || !tide_prctl_ || !tide_syscall_)
        return -38;                                               /* ENOSYS: a static program */
    if (tide_tool_.owner && tide_tool_.owner != tide_getpid_()) { /* in a forked child */
        if (tide_tool_.state == 2 && tide_tool_.pid)
            tide_close_(tide_tool_.lines);
        tide_tool_.owner = tide_tool_.state = 0;
    }
    if (!__atomic_compare_exchange_n(&tide_tool_.state, &free_state, 1, 0, __ATOMIC_ACQUIRE,
                                     __ATOMIC_RELAXED))
        return -16; /* EBUSY */
    tide_tool_.owner = tide_getpid_();
    tide_tool_.pid = 0;
    if (tide_find_("tide_mark", &known)) {
        tide_mark("tracker");
        __atomic_store_n(&tide_tool_.state, 2, __ATOMIC_RELEASE);
        return 0;
    }
    code = tide_pipe2_(pipe_ends, 02000000 /* O_CLOEXEC */) ? -*tide_errno_() : 0;
    if (!code) {
        tide_allow_(tide_tool_.owner); /* any child, so that the tool cannot come too early */
        tide_tool_.lines = pipe_ends[0];
        tide_tool_.pid = tide_fork_();
        if (tide_tool_.pid == 0)
            tide_become_tool_(path, pipe_ends[1], tide_tool_.owner);
        code = tide_tool_.pid < 0 ? -*tide_errno_() : 0;
        tide_close_(pipe_ends[1]);
        if (code) {
            tide_close_(pipe_ends[0]);
            tide_allow_(0);
        } else {
            tide_allow_(tide_tool_.pid);
            if ((code = tide_told_(tide_tool_.lines)) != 0)
                tide_tool_gone_();
        }
    }
    __atomic_store_n(&tide_tool_.state, code ? 0 : 2, __ATOMIC_RELEASE);
    return code;
}

/*
 * Ends the recording. When it returns, the program has its own code back and the file is written.
 * Returns 0, or a negative errno. -ESRCH: nothing is being recorded in this process; otherwise the
 * file could not be written, and attach prints the reason on stderr.
 */
static __inline__ int tide_stop(void)
{
    int on = 2, code = 0;
    if (!tide_getpid_ || tide_tool_.owner != tide_getpid_() ||
        !__atomic_compare_exchange_n(&tide_tool_.state, &on, 1, 0, __ATOMIC_ACQUIRE,
                                     __ATOMIC_RELAXED))
        return -3; /* ESRCH */
    if (tide_tool_.pid) {
        if (tide_waitpid_(tide_tool_.pid, (int *)0, 1 /* WNOHANG */) == 0)
            tide_kill_(tide_tool_.pid, 15 /* SIGTERM */);
        code = tide_told_(tide_tool_.lines);
        tide_tool_gone_();
    } else {
        tide_mark("tracker.end");
    }
    __atomic_store_n(&tide_tool_.state, 0, __ATOMIC_RELEASE);
    return code;
}

#ifdef __cplusplus
}

namespace tide
{

/* Marks NAME at its begin and NAME.end at its end. The string NAME must live as long. */
class scope
{
  public:
    explicit scope(const char *name) : name_(name)
    {
        tide_mark(name);
    }
    ~scope()
    {
        char label[64]; /* the longest label */
        unsigned i = 0;
        for (; name_[i] && i < sizeof label - 5; i++)
            label[i] = name_[i];
        while (i > sizeof label - 9 && (name_[i] & 0xc0) == 0x80) /* no half of a character */
            i--;
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

/* Pauses the recording while it lives. Inside another one, or in a pause, it changes nothing. */
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
