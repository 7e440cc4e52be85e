#include "collect/session/not_recorded.h"
#include "collect/session/only.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/path.h"
#include "collect/leakscan/lsan_default_suppressions.h"
#include "collect/proc/proc.h"

#define CHECK_FIRST_NS   2000000
#define CHECK_LONGEST_NS 1000000000
#define MAPPING_NS       3000  /* what reading the libraries takes per mapping */
#define THREAD_NS        15000 /* what reading the children takes per thread */
/* The pause is so many times the cost of the last reading of libraries or children: 2 % of a
 * processor. */
#define CHECK_APART_COST  50
#define NOTES_MAX         16 /* notes about children; more would hide the rest */
#define SUPPRESSIONS_MOST 8
#define KERNEL_NAME_MAX   15

/* --- reasons ---------------------------------------------------------------------------------- */

const struct executable *not_recorded_file(struct not_recorded *u, const char *path)
{
    uint32_t number = strpool_add(&u->paths, path), *known = map_at(&u->examined_by_path, number);
    if (*known == MAP_NONE) {
        *known = (uint32_t)u->examined.count;
        *vec_push(&u->examined) = executable_examine(path);
    }
    return &u->examined.items[*known];
}

/* Did the user ask for programs of this name? */
static const char *const libc_reason =
    "it uses another C library than glibc; record a build for glibc";
static const char *const sanitizer_reason =
    "it is built with a sanitizer, which must be its first library; record a build without";
static const char *const static_reason =
    "it is statically linked, so nothing can be preloaded into it; record a dynamically linked "
    "build of it";
static const char *const no_library_reason =
    "tidemark's library cannot be read there (another root directory, as in a sandbox, or another "
    "user); make tidemark's folder readable there, at the same path";
static const char *const narrow_reason = "it is a 32-bit program; record a 64-bit build of it";

/* Why the recorder cannot be preloaded into it, and what to do; NULL: it can. */
static const char *kind_reason(const struct executable *e)
{
    switch (e->kind) {
    case EXECUTABLE_STATIC:
        return e->is_go ? "it is a Go program, statically linked, whose runtime has its own "
                          "allocator; use Go's own profiler"
                        : static_reason;
    case EXECUTABLE_32_BIT:
        return narrow_reason;
    case EXECUTABLE_FOREIGN:
        return "it is a program for another kind of machine; record a native build of it";
    case EXECUTABLE_OTHER_LOADER:
        return libc_reason;
    case EXECUTABLE_SANITIZED:
        return sanitizer_reason;
    case EXECUTABLE_DYNAMIC:
    case EXECUTABLE_UNKNOWN:
        break;
    }
    return NULL;
}

static const char *const rights_reason =
    "it runs with other rights (setuid, setgid or file capabilities), where the loader ignores "
    "what is preloaded; record a copy without them, or as the user it belongs to";

static const char *const silent_reason =
    "it ended while it was being loaded, runs under a seccomp filter, which may forbid what "
    "recording needs, has a root directory without tidemark's library, or was started without "
    "tidemark's environment; 'tidemark doctor' says what is permitted";

static const char *const network_reason =
    "it is in another network namespace, from where the collector cannot be reached; run tidemark "
    "inside that";

static const char *const attached_reason =
    "what an attached program executes is not recorded; attach to its process too, or start all of "
    "it with 'tidemark run'";

char *not_recorded_program_note(const struct not_recorded *u, const char *name)
{
    if (!only_wants(u->only, name))
        return xasprintf(
            "nothing was recorded of %s: neither it nor a program that it ran has a name "
            "that contains what --only asks for",
            name);
    char *file = executable_find(name);
    char *program = file ? executable_interpreter(file) : xstrdup(name);
    struct executable e = executable_examine(program);
    const char *reason = kind_reason(&e);
    char *note =
        file && strcmp(file, program) != 0
            ? xasprintf("nothing could be seen in %s, a script for %s: of that, %s", name, program,
                        reason ? reason : silent_reason)
            : xasprintf("nothing could be seen in %s: %s", name, reason ? reason : silent_reason);
    free(program);
    free(file);
    return note;
}

/* Why a connected process recorded nothing; NULL if it recorded something and nothing is
 * missing. */
static char *quiet_note(struct not_recorded *u, const struct target *t)
{
    const char *path = t->profile.executable;
    if (!t->size) { /* it was only sampled */
        const char *reason = *path ? kind_reason(not_recorded_file(u, path)) : NULL;
        return xasprintf("no allocations by %s could be seen: %s", *path ? path : t->name,
                         reason ? reason : silent_reason);
    }
    bool none = t->ledger.allocations == 0;
    const struct executable *e = not_recorded_file(u, path);
    if (e->own_malloc == OWN_MALLOC_HIDDEN ||
        (none && e->own_malloc == OWN_MALLOC_EXPORTED && !(t->entries_taken & WIRE_TAKEN_MALLOC)))
        return xasprintf("%s by %s could be seen: a malloc of its own is linked into it, and calls "
                         "of that bypass tidemark; link the allocator as a shared library",
                         none ? "no allocations" : "only allocations by libraries and not those",
                         path);
    if (e->other_allocator && e->own_malloc == OWN_MALLOC_NONE &&
        !(t->entries_taken & WIRE_TAKEN_OTHER_NAMES))
        return xasprintf("blocks of the %s inside %s could not be seen: it is linked into the "
                         "program under names of its own; what it maps is in --metric mapped; "
                         "link it as a shared library, or use the system's malloc",
                         e->other_allocator, path);
    if (!none)
        return NULL;
    if (e->is_go)
        return xasprintf("no allocations by %s could be seen: it is a Go program, whose runtime "
                         "has its own allocator; use Go's own profiler, or --metric mapped",
                         path);
    if (e->kind == EXECUTABLE_DYNAMIC && !e->imports_malloc && !e->has_symbols)
        return xasprintf("no allocations by %s could be seen: it calls none of the C library's "
                         "allocation functions; if it allocates at all, an allocator without "
                         "symbols is linked into it: link that as a shared library",
                         path);
    if (!t->was_joined)
        return xasprintf("nothing could be seen in %s: its limits leave the recorder no address "
                         "space (ulimit -v) or no file descriptor (ulimit -n); raise them",
                         path);
    if (t->was_paused)
        return NULL; /* it may have allocated; another note says that it was paused */
    return xasprintf("it made no allocations%s%s",
                     t->profile.sample_bytes ? " that were sampled" : "",
                     t->profile.execed ? " before it became another program" : "");
}

/* --- reading /proc ---------------------------------------------------------------------------- */

/* Does the process still run the program that this target had when it connected, without another
 * exec? */
static bool is_unchanged(const struct target *t, pid_t pid, const struct proc_state *state)
{
    struct stat s;
    char link[64];
    snprintf(link, sizeof link, "/proc/%d/exe", pid);
    if (stat(link, &s) != 0)
        return strcmp(state->name, *t->watched.name ? t->watched.name : t->name) == 0;
    return s.st_dev == t->exe_device && s.st_ino == t->exe_inode &&
           (!t->attached || !t->stack_start || !state->stack_start ||
            t->stack_start == state->stack_start);
}

/* Reads the first word of its command. Anybody may read that. */
static bool read_first_argument(pid_t pid, char *out, size_t size)
{
    return proc_read_text(pid, "cmdline", out, size) && *out;
}

static bool has_other_rights(pid_t pid, const char *path)
{
    struct proc_status s;
    if (!proc_read_status(pid, &s))
        return false;
    if (*path)
        return executable_changes_rights(path, s.uid, s.euid, s.gid, s.egid);
    return s.uid != s.euid || s.gid != s.egid || s.euid != geteuid();
}

static bool is_elsewhere(pid_t pid)
{
    char theirs[64];
    struct stat a, b;
    snprintf(theirs, sizeof theirs, "/proc/%d/ns/net", pid);
    return stat(theirs, &a) == 0 && stat("/proc/self/ns/net", &b) == 0 && a.st_ino != b.st_ino;
}

static void examine_target(struct target *t)
{
    struct watched *w = &t->watched;
    char exe[PATH_MAX];
    struct proc_state state;
    if (!proc_read_state(t->pid, &state) || state.state == 'Z')
        return;
    if (!w->became && !is_unchanged(t, t->pid, &state)) {
        w->is_path = proc_read_exe(t->pid, exe, sizeof exe);
        bool named = w->is_path || read_first_argument(t->pid, exe, sizeof exe);
        w->became = xstrdup(named ? exe : state.name);
        w->is_elsewhere = is_elsewhere(t->pid);
    }
    memcpy(w->name, state.name, sizeof w->name);
}

static bool is_silent_child(const struct not_recorded *u, pid_t pid)
{
    for (size_t i = 0; i < u->silent_children.count; i++)
        if (u->silent_children.items[i].pid == pid)
            return true;
    return false;
}

/* Examines a child that has not connected. It may be about to, unless its program cannot. */
static void examine_child(struct not_recorded *u, const struct target *parent, pid_t pid)
{
    char exe[PATH_MAX];
    const char *reason;
    if (proc_read_exe(pid, exe, sizeof exe)) {
        if (strcmp(exe, parent->profile.executable) == 0)
            return; /* it was only forked */
        reason =
            has_other_rights(pid, exe) ? rights_reason : kind_reason(not_recorded_file(u, exe));
        if (!reason && is_elsewhere(pid))
            reason = network_reason;
    } else {
        if (errno != EACCES)
            return;
        /* Without arguments it is in the middle of exec: look again next time. */
        bool named = read_first_argument(pid, exe, sizeof exe);
        reason = named && has_other_rights(pid, "") ? rights_reason : NULL;
    }
    if (reason && (only_wants(u->only, exe) || only_wants_process(u->only, pid)))
        *vec_push(&u->silent_children) = (struct silent_child){
            pid, xasprintf("nothing could be seen in %s (process %d): %s", exe, pid, reason)};
}

static void add_left_out(struct not_recorded *u, const char *path, enum left_out_why why)
{
    if (u->no_children || !only_wants(u->only, path))
        return;
    for (size_t i = 0; i < u->left_out.count; i++)
        if (strcmp(u->left_out.items[i].path, path) == 0) {
            u->left_out.items[i].times++;
            return;
        }
    if (u->left_out.count < NOTES_MAX)
        *vec_push(&u->left_out) = (struct left_out){xstrdup(path), why, 1};
}

/* Examines a child of an attached program. If it was only forked, it will connect. A program that
 * it executes has no recorder. */
static void examine_executed(struct not_recorded *u, const struct target *parent, pid_t pid)
{
    char exe[PATH_MAX];
    struct proc_state state;
    if (!proc_read_state(pid, &state) || state.state == 'Z' || is_unchanged(parent, pid, &state) ||
        (!proc_read_exe(pid, exe, sizeof exe) && !read_first_argument(pid, exe, sizeof exe)))
        return;
    for (size_t i = 0; i < u->executed_children.count; i++) {
        struct executed_child *c = &u->executed_children.items[i];
        if (c->pid == pid && (!c->stack_start || c->stack_start == state.stack_start)) {
            c->stack_start = state.stack_start;
            c->is_there = true;
            return;
        }
    }
    *vec_push(&u->executed_children) = (struct executed_child){pid, state.stack_start, true};
    add_left_out(u, exe, LEFT_OUT_ATTACHED);
}

/* Keeps those that the reading found, for the next one. */
static void forget_executed(struct not_recorded *u)
{
    size_t kept = 0;
    for (size_t i = 0; i < u->executed_children.count; i++)
        if (u->executed_children.items[i].is_there) {
            u->executed_children.items[kept] = u->executed_children.items[i];
            u->executed_children.items[kept++].is_there = false;
        }
    u->executed_children.count = kept;
}

/* For examine_found_child. */
struct children {
    struct not_recorded *not_recorded;
    struct target *const *targets;
    size_t count;
    const struct target *parent;
};

static void examine_found_child(void *context, pid_t pid)
{
    struct children *c = context;
    struct not_recorded *u = c->not_recorded;
    if (target_find(c->targets, c->count, pid) ||
        pid == getpid()) /* a Tracker started this collector */
        return;
    if (c->parent->attached)
        examine_executed(u, c->parent, pid);
    else if (u->silent_children.count < NOTES_MAX && !is_silent_child(u, pid))
        examine_child(u, c->parent, pid);
}

static void examine_children(struct not_recorded *u, struct target *const *targets, size_t count,
                             uint64_t now_ns)
{
    uint64_t threads = 0;
    if (u->no_children || now_ns < u->next_children_check_ns)
        return;
    for (size_t i = 0; i < count; i++) {
        struct children c = {u, targets, count, targets[i]};
        if (!targets[i]->ended)
            threads += proc_each_child(targets[i]->pid, examine_found_child, &c);
    }
    forget_executed(u);
    u->next_children_check_ns = now_ns + threads * THREAD_NS * CHECK_APART_COST;
}

/* Often at first, when programs and libraries are loaded; then a fixed number of times while the
 * run time doubles. */
static uint64_t next_check(uint64_t now_ns, uint64_t first_ns, unsigned share)
{
    uint64_t pause = now_ns / share;
    pause = pause < first_ns ? first_ns : pause;
    return now_ns + (pause > CHECK_LONGEST_NS ? CHECK_LONGEST_NS : pause);
}

void not_recorded_left_out(struct not_recorded *u, const char *path, uint32_t why)
{
    if (*path && why != WIRE_OUT_NONE && why <= WIRE_OUT_NO_LIBRARY)
        add_left_out(u, path, (enum left_out_why)why);
}

static bool has_libraries(const struct target *t)
{
    return !t->ended && t->size && !t->watched.became;
}

/* Reads the libraries of the targets. Forked processes have their parent's libraries, and there may
 * be many: one of them is read each time, in turn. */
static void examine_libraries(struct not_recorded *u, struct target *const *targets, size_t count,
                              uint64_t now_ns)
{
    uint64_t mappings = 0;
    struct target *forked = NULL;
    if (now_ns < u->next_libraries_check_ns)
        return;
    for (size_t i = 0; i < count; i++) {
        struct target *t = targets[i];
        /* An attached malloc is hooked at its entry: no library can avoid it. */
        if (!has_libraries(t) || t->attached)
            continue;
        if (!t->forked)
            mappings += unhooked_libraries_check(u, t);
        else if (!forked || t->watched.libraries_readings < forked->watched.libraries_readings)
            forked = t;
    }
    if (forked) {
        mappings += unhooked_libraries_check(u, forked);
        forked->watched.libraries_readings++;
    }
    uint64_t paid_ns = now_ns + mappings * MAPPING_NS * CHECK_APART_COST;
    u->next_libraries_check_ns = next_check(now_ns, CHECK_FIRST_NS * 8, 8);
    u->next_libraries_check_ns =
        u->next_libraries_check_ns > paid_ns ? u->next_libraries_check_ns : paid_ns;
}

void not_recorded_check(struct not_recorded *u, struct target *const *targets, size_t count,
                        uint64_t now_ns)
{
    if (now_ns < u->next_check_ns)
        return;
    for (size_t i = 0; i < count; i++)
        if (!targets[i]->ended)
            examine_target(targets[i]);
    examine_children(u, targets, count, now_ns);
    examine_libraries(u, targets, count, now_ns);
    u->next_check_ns = u->seldom ? next_check(now_ns, CHECK_FIRST_NS * 4, 16)
                                 : next_check(now_ns, CHECK_FIRST_NS, 64);
}

void not_recorded_check_now(struct not_recorded *u, struct target *const *targets, size_t count,
                            uint64_t now_ns)
{
    u->next_check_ns = u->next_children_check_ns = 0;
    not_recorded_check(u, targets, count, now_ns);
}

void not_recorded_at_exit(struct not_recorded *u, struct target *t)
{
    if (has_libraries(t) && !t->attached)
        unhooked_libraries_check(u, t);
}

void not_recorded_check_ended(struct target *t)
{
    struct proc_state state;
    if (proc_read_state(t->pid, &state) && state.state == 'Z')
        memcpy(t->watched.last_name, state.name, sizeof state.name);
}

/* --- notes ------------------------------------------------------------------------------------ */

/* The program of this name, as the kernel cuts it, that a process said it executes; or NULL. */
static const struct left_out *find_left_out(const struct not_recorded *u, const char *name)
{
    for (size_t i = 0; i < u->left_out.count; i++)
        if (strncmp(path_base(u->left_out.items[i].path), name, KERNEL_NAME_MAX) == 0)
            return &u->left_out.items[i];
    return NULL;
}

/* The process ended before it could be examined. If its last name differs from the target's and it
 * did not set that name itself, it had executed another program. */
static void judge_by_name(const struct not_recorded *u, struct watched *w, const struct target *t)
{
    if (w->became || !*w->last_name || strcmp(w->last_name, *w->name ? w->name : t->name) == 0)
        return;
    for (size_t i = 0; i < t->profile.threads.count; i++)
        if (strcmp(w->last_name, t->profile.threads.items[i].name) == 0)
            return;
    const struct left_out *l = find_left_out(u, w->last_name);
    w->is_path = l != NULL;
    w->became = xstrdup(l ? l->path : w->last_name);
}

static const char *left_out_reason(struct not_recorded *u, const struct left_out *l)
{
    switch (l->why) {
    case LEFT_OUT_ATTACHED:
        return attached_reason;
    case LEFT_OUT_LIBC:
        return libc_reason;
    case LEFT_OUT_32_BIT:
        return narrow_reason;
    case LEFT_OUT_SANITIZER:
        return sanitizer_reason;
    case LEFT_OUT_NO_LIBRARY:
        return no_library_reason;
    case LEFT_OUT_STATIC:
        break;
    }
    const char *reason = kind_reason(not_recorded_file(u, l->path)); /* a Go program? */
    return reason ? reason : static_reason;
}

static char *became_note(struct not_recorded *u, const struct target *t)
{
    const struct watched *w = &t->watched;
    const char *reason = t->attached  ? attached_reason
                         : w->is_path ? kind_reason(not_recorded_file(u, w->became))
                                      : NULL;
    if (!reason && w->is_path &&
        executable_changes_rights(w->became, getuid(), geteuid(), getgid(), getegid()))
        reason = rights_reason;
    const struct left_out *l = find_left_out(u, path_base(w->became));
    if (!reason && l && strcmp(l->path, w->became) == 0)
        reason = left_out_reason(u, l);
    if (!reason && w->is_elsewhere)
        reason = network_reason;
    return xasprintf("it became another program, %s, in which nothing could be seen: %s", w->became,
                     reason       ? reason
                     : w->is_path ? silent_reason
                                  : "it is statically linked, setuid, in another network "
                                    "namespace, or was started without tidemark's environment");
}

static bool is_noted(struct target *const *targets, size_t count, const char *path)
{
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < targets[i]->profile.notes.count; k++)
            if (strstr(targets[i]->profile.notes.items[k], path))
                return true;
    return false;
}

/* Is this note about a program that was left out at least `times` times? One note covers all its
 * processes. */
static bool names_left_out(const struct not_recorded *u, const char *note, unsigned times)
{
    for (size_t i = 0; i < u->left_out.count; i++)
        if (u->left_out.items[i].times >= times && strstr(note, u->left_out.items[i].path))
            return true;
    return false;
}

/* If one recorded process became such a program, the process's own note says so. */
static void explain_left_out(struct not_recorded *u, struct target *const *targets, size_t count,
                             struct target *main)
{
    for (size_t i = 0; i < u->left_out.count; i++) {
        const struct left_out *l = &u->left_out.items[i];
        if (l->why != LEFT_OUT_ATTACHED && l->times == 1 && is_noted(targets, count, l->path))
            continue;
        char *times = l->times > 1 ? xasprintf(" %u times", l->times) : xstrdup("");
        *vec_push(&main->profile.notes) =
            xasprintf("in %s, which was executed%s, nothing could be seen: %s", l->path, times,
                      left_out_reason(u, l));
        free(times);
    }
}

/* Takes the suppressions for LeakSanitizer that a program has built in, once for all its
 * processes. */
static void take_suppressions(struct not_recorded *u, struct target *t)
{
    const char *path = t->profile.executable, *name = path_base(path);
    bool unread;
    if (!*path || !not_recorded_file(u, path)->has_suppressions ||
        u->suppressions.count == SUPPRESSIONS_MOST)
        return;
    for (size_t i = 0; i < u->suppressions.count; i++)
        if (strcmp(u->suppressions.items[i].name, name) == 0)
            return;
    char *text = lsan_default_suppressions(path, &unread);
    if (unread)
        *vec_push(&t->profile.notes) =
            xasprintf("%s has a function " LSAN_FUNCTION ", and what it returns cannot be known "
                      "without calling it; give these suppressions to 'tidemark leaks' as a file",
                      path);
    if (text)
        *vec_push(&u->suppressions) = (struct recorded_default){
            .kind = DEFAULT_OF_PROGRAM, .name = xstrdup(name), .text = text};
}

void not_recorded_explain(struct not_recorded *u, struct target *const *targets, size_t count,
                          pid_t program)
{
    if (!count)
        return;
    struct target *main = target_find(targets, count, program);
    main = main ? main : targets[0];
    for (size_t i = 0; i < count; i++) {
        struct target *t = targets[i];
        struct watched *w = &t->watched;
        judge_by_name(u, w, t);
        bool became = w->became && !t->profile.execed && only_wants(u->only, w->became);
        char *note = became ? became_note(u, t) : NULL;
        if (note && t != main && !names_left_out(u, note, 2))
            *vec_push(&main->profile.notes) =
                xasprintf("process %d, %s: %s", t->pid, path_base(t->profile.executable), note);
        if (note)
            *vec_push(&t->profile.notes) = note;
        take_suppressions(u, t);
        if ((note = quiet_note(u, t)))
            *vec_push(&t->profile.notes) = note;
    }
    unhooked_libraries_explain(u);
    for (size_t i = 0; i < u->silent_children.count; i++)
        if (!target_find(targets, count, u->silent_children.items[i].pid) &&
            !names_left_out(u, u->silent_children.items[i].note, 1))
            *vec_push(&main->profile.notes) = xstrdup(u->silent_children.items[i].note);
    explain_left_out(u, targets, count, main);
}

void not_recorded_release(struct not_recorded *u)
{
    for (size_t i = 0; i < u->unhooked.count; i++)
        free(u->unhooked.items[i].library);
    for (size_t i = 0; i < u->silent_children.count; i++)
        free(u->silent_children.items[i].note);
    for (size_t i = 0; i < u->left_out.count; i++)
        free(u->left_out.items[i].path);
    for (size_t i = 0; i < u->suppressions.count; i++) {
        free(u->suppressions.items[i].name);
        free(u->suppressions.items[i].text);
    }
    vec_release(&u->examined);
    map_release(&u->examined_by_path);
    strpool_release(&u->paths);
    vec_release(&u->unhooked);
    vec_release(&u->silent_children);
    vec_release(&u->executed_children);
    vec_release(&u->left_out);
    vec_release(&u->suppressions);
}
