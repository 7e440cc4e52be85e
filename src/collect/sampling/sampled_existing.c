/*
 * Processes that existed before the recording: what the kernel did not report about them is read
 * from /proc.
 */
#include "collect/sampling/samples_state.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "collect/proc/proc.h"
#include "collect/proc/smaps.h"

#define SCANS_APART_NS 250000000
#define WATCHED        (MAP_NONE - 1)

/* --- one process ------------------------------------------------------------------------------ */

/* Adds the mappings as if the kernel had just reported each. */
static void find_mappings(struct samples *s, struct process *p)
{
    struct strbuf text = {0};
    struct proc_mappings all = {0};
    proc_read_mappings(p->pid, "maps", &text, &all);
    for (size_t i = 0; i < all.items.count; i++) {
        const struct proc_mapping *m = &all.items.items[i];
        take_mapping(s, p,
                     &(struct perf_record){.kind = PERF_MMAP,
                                           .pid = p->pid,
                                           .tid = p->pid,
                                           .start = m->mapping.start,
                                           .size = m->mapping.end - m->mapping.start,
                                           .offset = m->mapping.offset,
                                           .path = m->name,
                                           .executable = m->mapping.flags & MAPPING_EXECUTE});
    }
    vec_release(&all.items);
    strbuf_release(&text);
}

static void find_name(pid_t pid, pid_t tid, char *name, size_t size)
{
    char path[32], text[64];
    snprintf(path, sizeof path, "task/%d/comm", tid);
    if (proc_read_text(pid, path, text, sizeof text))
        snprintf(name, size, "%.*s", (int)strcspn(text, "\n"), text);
}

struct process *process_found(struct samples *s, pid_t pid)
{
    struct proc_state state = {0};
    char name[16] = "";
    proc_read_state(pid, &state);
    find_name(pid, pid, name, sizeof name);
    struct process *p = process_new(s, pid, (pid_t)state.ppid);
    p->skipped = is_skipped(s, pid, name);
    if (p->skipped)
        return p;
    find_mappings(s, p);
    DIR *tasks = proc_open_threads(pid);
    for (pid_t tid; (tid = proc_next_number(tasks));) {
        struct sampled_thread *t = thread_of(p, tid);
        if (tid != pid)
            find_name(pid, tid, t->name, sizeof t->name);
    }
    if (tasks)
        closedir(tasks);
    return p;
}

/* --- all processes of a user ------------------------------------------------------------------ */

/* Opens events for the threads of a process. Threads that start meanwhile inherit the events, or
 * are missed. */
static bool watch(struct samples *s, pid_t pid)
{
    VEC(pid_t) tids = {0};
    DIR *tasks = proc_open_threads(pid);
    for (pid_t tid; (tid = proc_next_number(tasks));)
        *vec_push(&tids) = tid;
    if (tasks)
        closedir(tasks);
    int code = 0;
    for (size_t i = 0; i < tids.count; i++) {
        int one = perf_watch(&s->perf, tids.items[i]);
        code = one && one != -ESRCH ? one : code;
    }
    vec_release(&tids);
    return code == 0;
}

/* Does the process have events of its own, or is it known from events that it inherited? */
static bool has_events(const struct samples *s, pid_t pid)
{
    const struct process *p = process_of(s, pid);
    return pid == getpid() || (p && p->alive) || map_get(&s->seen, (uint64_t)pid) == WATCHED;
}

/* Was it started by a process with events? Then its fork is, or soon will be, in the records. */
static bool inherits(const struct samples *s, pid_t pid)
{
    struct proc_state state;
    if (!proc_read_state(pid, &state))
        return true; /* it is gone */
    return (pid_t)state.ppid != getpid() && has_events(s, (pid_t)state.ppid);
}

/*
 * The list of processes was made before events of any of them are opened: those in the first list
 * existed before us, and inherit nothing. Later, a process counts as unknown only if two scans in a
 * row find it so; that its parent has events by then does not help it.
 */
static bool is_unknown(struct samples *s, pid_t pid)
{
    if (has_events(s, pid))
        return false;
    if (map_get(&s->seen, (uint64_t)pid) != MAP_NONE)
        return true;
    if (inherits(s, pid))
        return false;
    *map_at(&s->seen, (uint64_t)pid) = s->scans;
    return s->scans == 1;
}

void watch_others(struct samples *s)
{
    VEC(pid_t) pids = {0};
    DIR *proc = opendir("/proc");
    size_t unknown = 0;
    s->scans++;
    s->next_scan_ns = monotonic_ns() + SCANS_APART_NS;
    for (pid_t pid; (pid = proc_next_number(proc));) {
        char folder[32];
        struct stat st;
        snprintf(folder, sizeof folder, "/proc/%d", pid);
        if (stat(folder, &st) == 0 && st.st_uid == geteuid())
            *vec_push(&pids) = pid;
    }
    if (proc)
        closedir(proc);
    for (size_t i = 0; i < pids.count; i++)
        if (is_unknown(s, pids.items[i]))
            pids.items[unknown++] = pids.items[i];
    for (size_t i = 0; i < unknown; i++) {
        *map_at(&s->seen, (uint64_t)pids.items[i]) = WATCHED;
        s->unwatched += !watch(s, pids.items[i]);
    }
    vec_release(&pids);
}
