/*
 * Programs that are executed.
 *
 * Most inherit the environment, and with it everything that makes them part of the session. One
 * that is given an environment of its own (`env -i`, a build tool, a sandbox) gets what is missing
 * there: the library in LD_PRELOAD, before the others, and the session's variables.
 *
 * This may run in a vfork child, whose memory is its parent's: nothing is written except the stack,
 * and little of that. The program's own environment is not changed. An environment too large for
 * the stack is passed on unchanged, and so is one that names another session.
 *
 * If the library cannot be read (after chroot, or as another user), the loader would complain on
 * the program's stderr, and that of another C library would not even start the program: there it is
 * removed from LD_PRELOAD. A static program passes LD_PRELOAD on to programs that nobody examines,
 * and the loader of another C library gives up on ours. There the name begins with $ORIGIN, the
 * folder of whatever program is run, and leads from there to the root: glibc's loader follows it,
 * others find no such file and continue without.
 */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdarg.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "record/libc.h"
#include "record/loaded_file.h"
#include "record/can_preload.h"
#include "record/recorder.h"

#define PRELOAD         "LD_PRELOAD="
#define PRELOAD_SIZE    (sizeof PRELOAD - 1)
#define ENVIRONMENT_MAX 1024 /* variables: 8 KiB of the stack */
#define STRINGS_MAX     4096

/* The variables as they go into an environment; `only` is NULL if all programs are recorded. */
static struct {
    char text[7 * STRINGS_MAX]; /* what the others point into */
    const char *library, *socket, *key, *only, *filters, *drop;
    const char *guarded; /* the library's name for programs that a static program may execute */
} ours;
#define SESSION_VARIABLES 5                       /* socket, key, only, filters, drop */
#define ADDED_VARIABLES   (SESSION_VARIABLES + 2) /* those, LD_PRELOAD, and the NULL at the end */

/* Writes NAME=VALUE at `at`. Returns where the next one goes, or NULL: no room. */
static char *put(char *at, const char *name, const char *value)
{
    size_t n = strlen(name), v = strlen(value);
    if (v >= STRINGS_MAX)
        return NULL;
    memcpy(at, name, n);
    at[n] = '=';
    memcpy(at + n + 1, value, v + 1);
    return at + n + v + 2;
}

bool exec_remember(const char *socket, const char *key, const char *only, const char *filters,
                   const char *drop)
{
    const struct link_map *self = loaded_file_map(ours.text);
    char *at = ours.text;
    if (!self || !self->l_name[0])
        return false;
    const char *up = strstr(self->l_name, WIRE_PRELOAD_UP); /* its guarded name, expanded */
    const char *library = up ? up + sizeof WIRE_PRELOAD_UP - 1 : self->l_name;
    size_t size = strlen(library);
    if (size + sizeof WIRE_PRELOAD_GUARD > STRINGS_MAX)
        return false;
    ours.guarded = memcpy(at, WIRE_PRELOAD_GUARD, sizeof WIRE_PRELOAD_GUARD - 1);
    at += sizeof WIRE_PRELOAD_GUARD - 1;
    ours.library = memcpy(at, library, size + 1);
    at += size + 1;
    ours.socket = at;
    at = at ? put(at, WIRE_ENV_SOCKET, socket) : NULL;
    ours.key = at;
    at = at ? put(at, WIRE_ENV_KEY, key) : NULL;
    ours.filters = filters ? at : NULL;
    at = at && filters ? put(at, WIRE_ENV_FILTERS, filters) : at;
    ours.drop = drop ? at : NULL;
    at = at && drop ? put(at, WIRE_ENV_DROP, drop) : at;
    ours.only = only ? at : NULL;
    return at && (!only || put(at, WIRE_ENV_ONLY, only));
}

const char *exec_library(void)
{
    return recorder.hand_on ? ours.library : NULL;
}

/* --- finding what is missing ------------------------------------------------------------------ */

struct handover {
    size_t count;       /* variables there are */
    size_t preload_at;  /* which of them is LD_PRELOAD; count: none */
    const char *others; /* its value: others_size bytes, whatever another thread does to it */
    size_t others_size;
    bool has_ours;
    size_t ours_at, ours_size;              /* in `others` */
    const char *missing[SESSION_VARIABLES]; /* of ours; or NULL */
    bool take_out;
    const char *name; /* the name for our library; NULL: as it is there */
};

/* What the executed program does with LD_PRELOAD. */
enum preloading { LOADS_IT, HANDS_IT_ON, CANNOT_LOAD_IT };

static bool is_text(const char *bytes, size_t size, const char *text)
{
    return strlen(text) == size && memcmp(bytes, text, size) == 0;
}

/* Finds our library in a list, separated by colons and blanks as for the loader. */
static const char *find_ours(const char *list, size_t *size)
{
    while (*list) {
        size_t n = *size = strcspn(list, ": ");
        if (is_text(list, n, ours.library) || is_text(list, n, ours.guarded))
            return list;
        list += n + (list[n] != '\0');
    }
    return NULL;
}

static bool same_name(const char *variable, const char *mine)
{
    size_t size = strcspn(mine, "=") + 1;
    return strncmp(variable, mine, size) == 0;
}

/* The loader calls access() too; any other answer than these is left to it. */
static bool library_unreachable(void)
{
    long answer = sys_call(SYS_faccessat, (long)AT_FDCWD, ours.library, (long)R_OK);
    return answer == -ENOENT || answer == -EACCES || answer == -ENOTDIR;
}

/* The bytes of stack that handover_fill() needs; 0: the environment is passed on unchanged. */
static size_t handover_plan(struct handover *h, char *const *environment, enum preloading what)
{
    static char *const nothing[] = {NULL};
    const char *const all[SESSION_VARIABLES] = {ours.socket, ours.key, ours.only, ours.filters,
                                                ours.drop};
    if (!recorder.hand_on)
        return 0;
    environment = environment ? environment : nothing;
    *h = (struct handover){.missing = {ours.socket, ours.key, ours.only, ours.filters, ours.drop}};
    const char *preload = NULL;
    for (; environment[h->count]; h->count++) {
        const char *e = environment[h->count];
        if (strncmp(e, PRELOAD, PRELOAD_SIZE) == 0) { /* of several the loader takes the last */
            preload = e + PRELOAD_SIZE;
            h->preload_at = h->count;
        }
        for (unsigned i = 0; i < SESSION_VARIABLES; i++)
            if (all[i] && same_name(e, all[i]))
                h->missing[i] = NULL;
        if (same_name(e, ours.socket) && strcmp(e, ours.socket) != 0)
            return 0; /* another session's */
    }
    const char *found = preload ? find_ours(preload, &h->ours_size) : NULL;
    h->has_ours = found != NULL;
    h->ours_at = found ? (size_t)(found - preload) : 0;
    h->take_out = what == CANNOT_LOAD_IT || library_unreachable();
    h->name = what == HANDS_IT_ON ? ours.guarded : found ? NULL : ours.library;
    bool any_missing =
        !found || (h->name && !is_text(found, h->ours_size, h->name)); /* by that name */
    for (unsigned i = 0; i < SESSION_VARIABLES; i++)
        any_missing |= h->missing[i] != NULL;
    if (h->take_out ? !found : !any_missing)
        return 0;
    h->others = preload ? preload : "";
    h->others_size = strlen(h->others);
    if (!preload)
        h->preload_at = h->count;
    if (h->count > ENVIRONMENT_MAX || h->others_size > STRINGS_MAX)
        return 0;
    return (h->count + ADDED_VARIABLES) * sizeof(char *) + PRELOAD_SIZE + strlen(ours.guarded) +
           h->others_size + 2;
}

static char *append(char *at, const char *text, size_t size)
{
    memcpy(at, text, size);
    return at + size;
}

/* Writes LD_PRELOAD with our library at its beginning, or where it was; or without it. */
static const char *write_preload(const struct handover *h, char *start)
{
    size_t after = h->ours_at + h->ours_size;
    char *at = append(start, PRELOAD, PRELOAD_SIZE);
    if (h->take_out) {
        at = append(at, h->others, h->ours_at);
        if (after < h->others_size) /* with the separator before the next */
            at = append(at, h->others + after + 1, h->others_size - after - 1);
    } else if (h->has_ours && h->name) {
        at = append(at, h->others, h->ours_at);
        at = append(at, h->name, strlen(h->name));
        if (after < h->others_size)
            at = append(at, h->others + after, h->others_size - after);
    } else {
        if (!h->has_ours) {
            at = append(at, h->name, strlen(h->name));
            at = append(at, ":", h->others_size ? 1 : 0);
        }
        at = append(at, h->others, h->others_size);
    }
    *at = '\0';
    return start;
}

/* Copies at most what handover_plan() counted: another thread may be changing it. */
static char *const *handover_fill(const struct handover *h, char *const *environment, void *memory)
{
    const char **to = memory;
    const char *preload = write_preload(h, (char *)(to + h->count + ADDED_VARIABLES));
    size_t n = 0;
    for (size_t i = 0; i < h->count && environment[i]; i++)
        if (i != h->preload_at)
            to[n++] = environment[i];
    if (preload[PRELOAD_SIZE])
        to[n++] = preload;
    for (unsigned i = 0; i < SESSION_VARIABLES && !h->take_out; i++)
        if (h->missing[i])
            to[n++] = h->missing[i];
    to[n] = NULL;
    return (char *const *)memory;
}

/* --- the exec functions ----------------------------------------------------------------------- */

/* If the program cannot load the library, the recording says so. */
static __attribute__((noinline)) enum preloading look_at(int folder, const char *path, bool search)
{
    struct program p;
    if (UNLIKELY(!next.execve))
        recorder_start();
    if (!recorder.hand_on || !path)
        return LOADS_IT;
    if (search)
        program_examine_by_name(&p, path);
    else
        program_examine(&p, folder, path);
    if (!p.why && *p.name && library_unreachable())
        p.why = WIRE_OUT_NO_LIBRARY;
    if (p.why)
        recorder_left_out(p.name, p.why);
    return !p.why ? LOADS_IT : p.why == WIRE_OUT_STATIC ? HANDS_IT_ON : CANNOT_LOAD_IT;
}

/* `environment`, or one made on the stack of the calling function. */
#define HAND_ON(environment, looked)                                                               \
    do {                                                                                           \
        struct handover plan;                                                                      \
        enum preloading what = looked;                                                             \
        size_t room = handover_plan(&plan, environment, what);                                     \
        if (room)                                                                                  \
            environment = handover_fill(&plan, environment, __builtin_alloca(room));               \
    } while (0)

/* The arguments of execl and similar functions as an array on the stack; leaves `args` after
 * them. */
#define GATHER(argv, first, args)                                                                  \
    do {                                                                                           \
        va_list counting;                                                                          \
        size_t n = 1;                                                                              \
        va_copy(counting, args);                                                                   \
        for (const char *a = first; a; a = va_arg(counting, const char *))                         \
            n++;                                                                                   \
        va_end(counting);                                                                          \
        argv = __builtin_alloca(n * sizeof *argv);                                                 \
        argv[0] = (char *)(uintptr_t)first;                                                        \
        for (size_t i = 1; i < n; i++)                                                             \
            argv[i] = va_arg(args, char *);                                                        \
    } while (0)

static int run_path(const char *path, char *const *argv, char *const *environment)
{
    HAND_ON(environment, look_at(AT_FDCWD, path, false));
    return next.execve(path, argv, environment);
}

/* Functions without an environment argument are forwarded unchanged unless something is missing. */
static int run_path_inheriting(const char *path, char *const *argv)
{
    char *const *environment = environ;
    HAND_ON(environment, look_at(AT_FDCWD, path, false));
    return environment == environ ? next.execv(path, argv) : next.execve(path, argv, environment);
}

static int run_file_inheriting(const char *file, char *const *argv)
{
    char *const *environment = environ;
    HAND_ON(environment, look_at(AT_FDCWD, file, true));
    return environment == environ ? next.execvp(file, argv) : next.execvpe(file, argv, environment);
}

EXPORT int execve(const char *path, char *const argv[], char *const environment[])
{
    return run_path(path, argv, environment);
}

EXPORT int execvpe(const char *file, char *const argv[], char *const environment[])
{
    HAND_ON(environment, look_at(AT_FDCWD, file, true));
    return next.execvpe(file, argv, environment);
}

EXPORT int fexecve(int fd, char *const argv[], char *const environment[])
{
    HAND_ON(environment, look_at(fd, "", false));
    return next.fexecve(fd, argv, environment);
}

EXPORT int execveat(int folder, const char *path, char *const argv[], char *const environment[],
                    int flags)
{
    HAND_ON(environment, look_at(folder, path, false));
    if (next.execveat)
        return next.execveat(folder, path, argv, environment, flags);
    return (int)next.syscall(SYS_execveat, folder, path, argv, environment, flags);
}

EXPORT int execv(const char *path, char *const argv[])
{
    return run_path_inheriting(path, argv);
}

EXPORT int execvp(const char *file, char *const argv[])
{
    return run_file_inheriting(file, argv);
}

#define EXEC_OF_LIST(name, run)                                                                    \
    EXPORT int name(const char *file, const char *first, ...)                                      \
    {                                                                                              \
        va_list args;                                                                              \
        char **argv;                                                                               \
        va_start(args, first);                                                                     \
        GATHER(argv, first, args);                                                                 \
        va_end(args);                                                                              \
        return run(file, argv);                                                                    \
    }
EXEC_OF_LIST(execl, run_path_inheriting)
EXEC_OF_LIST(execlp, run_file_inheriting)

EXPORT int execle(const char *path, const char *first, ...)
{
    va_list args;
    char **argv;
    va_start(args, first);
    GATHER(argv, first, args);
    char *const *environment = va_arg(args, char *const *);
    va_end(args);
    return run_path(path, argv, environment);
}

EXPORT int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
                       const posix_spawnattr_t *attributes, char *const argv[],
                       char *const environment[])
{
    HAND_ON(environment, look_at(AT_FDCWD, path, false));
    return next.posix_spawn(pid, path, actions, attributes, argv, environment);
}

EXPORT int posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
                        const posix_spawnattr_t *attributes, char *const argv[],
                        char *const environment[])
{
    HAND_ON(environment, look_at(AT_FDCWD, file, true));
    return next.posix_spawnp(pid, file, actions, attributes, argv, environment);
}
