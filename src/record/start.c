/* Whether this program is recorded is decided: as it starts, or when tidemark attaches to it. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>

#include "record/attach.h"
#include "record/callers_definition.h"
#include "record/libc.h"
#include "record/next_functions.h"
#include "record/python.h"
#include "record/recorder.h"
#include "record/routes.h"
#include "wire/only.h"

extern char **environ;

static const char *environment(const char *name)
{
    size_t size = strlen(name);
    for (char **e = environ; e && *e; e++)
        if (strncmp(*e, name, size) == 0 && (*e)[size] == '=')
            return *e + size + 1;
    return NULL;
}

/* Should this program be recorded? `only`: names, one per line; empty or absent: all. The name is
 * that of its file, the one it was called by, or that of the script that it runs. */
static bool wanted(const char *only)
{
    if (!only || !*only)
        return true;
    char exe[4096];
    long n = sys_call(SYS_readlinkat, (long)AT_FDCWD, "/proc/self/exe", exe, sizeof exe - 1);
    exe[n > 0 ? n : 0] = '\0';
    const char *invoked = program_invocation_short_name, *script = (void *)getauxval(AT_EXECFN);
    return wire_only_wants(only, exe) || (invoked && wire_only_wants(only, invoked)) ||
           (script && wire_only_wants(only, script));
}

static unsigned number(const char *digits)
{
    unsigned n = 0;
    for (; digits && *digits >= '0' && *digits <= '9'; digits++)
        n = n * 10 + (unsigned)(*digits - '0');
    return n;
}

/*
 * How many seccomp filters this program runs under. If there are more than the collector has, one
 * of them might end the program for what we would do. Finding out takes only calls that the loader
 * has just made.
 */
static unsigned filters(void)
{
    char text[4096];
    long fd =
        sys_call(SYS_openat, (long)AT_FDCWD, "/proc/self/status", (long)(O_RDONLY | O_CLOEXEC));
    if (fd < 0)
        return 0;
    long n = sys_call(SYS_read, fd, text, sizeof text - 1);
    sys_call(SYS_close, fd);
    text[n > 0 ? n : 0] = '\0';
    const char *line = strstr(text, "Seccomp_filters:\t");
    return line ? number(line + 17) : 0;
}

/* This program is not recorded. What it executes may be. */
static void skip(void)
{
    atomic_store(&recorder.state, STATE_OFF);
    routes_off();
}

void recorder_start(void)
{
    static _Atomic int started;
    if (atomic_exchange(&started, 1)) {
        while (atomic_load_explicit(&recorder.state, memory_order_acquire) == STATE_BOOTING)
            sys_yield(); /* another thread is starting */
        return;
    }
    int saved = errno;
    definition_start();
    next_find_all();
    next_make_libc_ready();
    const char *name = environment(WIRE_ENV_SOCKET), *key = environment(WIRE_ENV_KEY);
    const char *only = environment(WIRE_ENV_ONLY), *allowed = environment(WIRE_ENV_FILTERS);
    const char *drop = environment(WIRE_ENV_DROP);
    if (!name || !key || !recorder_set_collector(name, key, drop)) {
        recorder_stop();
    } else {
        recorder.hand_on = exec_remember(name, key, only, allowed, drop);
        if (wanted(only) && filters() <= number(allowed))
            recorder_connect();
        else
            skip();
    }
    errno = saved;
}

/* --- in a program that ran already ------------------------------------------------------------ */

bool recorder_find_next(void)
{
    if (next.malloc)
        return true;
    recorder.late = true;
    definition_start();
    next_find_all();
    return next.malloc && next.free;
}

/* There may be threads that we do not know. */
bool recorder_attach(const char *name, const char *key, bool drop)
{
    if (!recorder_set_collector(name, key, drop))
        return false;
    atomic_store(&recorder.several, true);
    atomic_store(&recorder.state, STATE_BOOTING);
    if (!recorder_connect())
        return false;
    python_check_loaded();
    return true;
}

/* --- as the library is loaded ----------------------------------------------------------------- */

/* So that programs that never allocate are seen too. */
__attribute__((constructor)) static void at_load(void)
{
    if (attach_is_late())
        return;
    if (!tls.thread)
        thread_begin();
    tls.busy = (uintptr_t)__builtin_frame_address(0);
    python_check_loaded();
    tls.busy = 0;
}
