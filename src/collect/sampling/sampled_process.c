/*
 * Processes and threads, as the kernel reports them: when they begin, fork, execute, map and end.
 */
#include "collect/sampling/samples_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collect/counting/threads.h"
#include "unwind/rule.h"

struct process *process_of(const struct samples *s, pid_t pid)
{
    uint32_t place = map_get(&s->by_pid, (uint64_t)pid);
    return place == MAP_NONE ? NULL : s->processes.items[place];
}

static void threads_clear(struct process *p)
{
    for (size_t i = 0; i < p->threads.count; i++)
        vec_release(&p->threads.items[i].lone);
    p->threads.count = 0;
    map_release(&p->by_tid);
    p->by_tid = (struct map){0};
}

/* Frees what was needed to interpret the samples of a process: there may be many processes. */
static void process_forget(struct process *p)
{
    vec_release(&p->mappings.items);
    touched_pages_clear(&p->pages);
    free(p->rules);
    p->rules = NULL;
    map_release(&p->epilogues);
    p->epilogues = (struct map){0};
}

/* Clears a process that executes another program, or whose pid was reused. */
static void process_clear(struct process *p)
{
    threads_clear(p);
    process_forget(p);
    p->target = NULL;
    p->skipped = false;
}

struct process *process_new(struct samples *s, pid_t pid, pid_t parent)
{
    struct process *p = process_of(s, pid);
    if (p) {
        process_clear(p);
    } else {
        p = xcalloc(1, sizeof *p);
        *map_at(&s->by_pid, (uint64_t)pid) = (uint32_t)s->processes.count;
        *vec_push(&s->processes) = p;
    }
    p->pid = pid;
    p->parent = parent;
    p->alive = true;
    p->expects_exec = false;
    p->fresh = false;
    return p;
}

struct sampled_thread *thread_of(struct process *p, pid_t tid)
{
    uint32_t *place = map_at(&p->by_tid, (uint64_t)tid);
    if (*place == MAP_NONE) {
        *place = (uint32_t)p->threads.count;
        *vec_push(&p->threads) = (struct sampled_thread){.tid = tid, .number = NO_THREAD};
    }
    return &p->threads.items[*place];
}

/* The last thread takes its place in the list: a process may have very many threads in its life. */
static void thread_forget(struct process *p, struct sampled_thread *t)
{
    vec_release(&t->lone);
    *map_at(&p->by_tid, (uint64_t)t->tid) = MAP_NONE;
    struct sampled_thread *last = vec_last(&p->threads);
    if (t != last) {
        *t = *last;
        *map_at(&p->by_tid, (uint64_t)t->tid) = (uint32_t)(t - p->threads.items);
    }
    p->threads.count--;
}

bool has_target(struct samples *s, struct process *p)
{
    if (p->skipped || s->session.is_paused(s->session.session)) {
        p->fresh &= !s->session.is_paused(s->session.session);
        return false;
    }
    if (!p->target) { /* it was forked and has executed no program since */
        p->target = s->session.find(s->session.session, p->pid);
        if (!p->target)
            p->target = s->session.add(s->session.session, p->pid, p->fresh);
        if (p->parent && !p->target->profile.ppid)
            p->target->profile.ppid = (uint32_t)p->parent;
    }
    return !p->target->ended;
}

uint32_t thread_number(struct process *p, struct sampled_thread *t, uint64_t time_ns)
{
    if (t->number == NO_THREAD) {
        t->number = thread_sampled(p->target, (uint32_t)t->tid, target_time(p->target, time_ns));
        if (*t->name)
            thread_rename_sampled(p->target, t->number, (uint32_t)t->tid, t->name);
    }
    return t->number;
}

static void thread_settle(struct samples *s, struct process *p, struct sampled_thread *t,
                          uint64_t time_ns)
{
    settle_faults(s, p, t);
    if (perf_estimates(&s->perf))
        kernel_settle(s, p, t, time_ns);
    if (s->perf.options.wall)
        settle_off(s, p, t, time_ns);
}

void process_settle(struct samples *s, struct process *p, uint64_t time_ns)
{
    for (size_t i = 0; i < p->threads.count && p->target && !p->target->ended; i++)
        thread_settle(s, p, &p->threads.items[i], time_ns);
}

/* The thread has not been on the processor yet. */
static void thread_begins(struct sampled_thread *t, uint64_t time_ns)
{
    t->off = (struct off){.since_ns = time_ns, .preempted = true};
}

bool is_skipped(const struct samples *s, pid_t pid, const char *name)
{
    const struct sampled_session *o = &s->session;
    bool first = pid == o->program;
    return (o->no_follow && !first) || (o->launcher && first) ||
           (o->only && !o->is_wanted(o->session, pid, name));
}

static void take_exec(struct samples *s, struct process *p, const char *name, uint64_t time_ns)
{
    if (p->expects_exec) {
        p->expects_exec = false;
        p->mappings.items.count = 0;
        p->skipped = is_skipped(s, p->pid, name);
        return;
    }
    process_settle(s, p, time_ns);
    struct target *before = s->session.find(s->session.session, p->pid);
    bool fresh = p->fresh && (!before || !before->profile.sampling.counted);
    process_clear(p);
    p->fresh = false;
    if (before)
        s->session.end(s->session.session, before, true);
    p->skipped = is_skipped(s, p->pid, name);
    if (!p->skipped && !s->session.is_paused(s->session.session)) {
        p->target = s->session.add(s->session.session, p->pid, fresh);
        p->target->profile.ppid = (uint32_t)p->parent;
    }
}

void take_name(struct samples *s, struct process *p, const struct perf_record *r)
{
    if (r->exec) {
        take_exec(s, p, r->name, r->time_ns);
        if (p->target)
            snprintf(p->target->name, sizeof p->target->name, "%s", r->name);
        kernel_switch(thread_of(p, r->tid), true, r->time_ns);
        return;
    }
    struct sampled_thread *t = thread_of(p, r->tid);
    snprintf(t->name, sizeof t->name, "%s", r->name);
    if (t->number != NO_THREAD && p->target && !p->target->ended)
        thread_rename_sampled(p->target, t->number, (uint32_t)t->tid, t->name);
}

void take_fork(struct samples *s, const struct perf_record *r)
{
    struct process *parent = process_of(s, r->parent);
    if (!parent && s->session.all)
        parent = process_found(s, r->parent);
    if (r->pid == r->parent) {
        if (parent) { /* a new thread: whatever had its number before has ended */
            thread_forget(parent, thread_of(parent, r->tid));
            thread_begins(thread_of(parent, r->tid), r->time_ns);
        }
        return;
    }
    struct process *p = process_new(s, r->pid, r->parent);
    if (parent) {
        sampled_maps_copy(&p->mappings, &parent->mappings);
        touched_pages_fork(&parent->pages, &p->pages);
        p->skipped = parent->skipped || is_skipped(s, r->pid, NULL);
        bool launched = s->session.launcher && r->parent == s->session.program;
        p->fresh = !p->skipped || launched;
    }
    thread_begins(thread_of(p, r->tid), r->time_ns);
}

void take_exit(struct samples *s, struct process *p, const struct perf_record *r)
{
    struct sampled_thread *t = thread_of(p, r->tid);
    bool counts = p->target && !p->target->ended;
    if (counts)
        thread_settle(s, p, t, r->time_ns);
    if (counts && t->number != NO_THREAD) {
        struct thread *thread = &p->target->profile.threads.items[t->number];
        if (!thread->end_ns)
            thread->end_ns = target_time(p->target, r->time_ns);
    }
    thread_forget(p, t);
    p->alive = p->threads.count > 0;
    if (!p->alive)
        process_forget(p);
}

/* Shared anonymous memory has a name too. */
static bool is_file_path(const char *path)
{
    static const char *const memory[] = {"//", "/dev/zero", "/memfd:", "/SYSV", "/dev/shm/"};
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++)
        if (strncmp(path, memory[i], strlen(memory[i])) == 0)
            return false;
    return path[0] == '/';
}

void take_mapping(struct samples *s, struct process *p, const struct perf_record *r)
{
    struct sampled_map m = {.start = r->start,
                            .end = r->start + r->size,
                            .offset = r->offset,
                            .is_file = is_file_path(r->path)};
    if (m.end <= m.start)
        return;
    if (strcmp(r->path, "[heap]") != 0) /* the heap grows: the old part stays */
        touched_pages_forget(&p->pages, m.start, m.end);
    struct profile *profile = p->target ? &p->target->profile : NULL;
    if (r->executable && m.is_file && profile && !*profile->executable) {
        /* The process was gone before its executable could be read: the program's file is the first
         * one that is mapped. */
        free(profile->executable);
        profile->executable = xstrdup(r->path);
    }
    if (r->executable) {
        m.file = code_file(&s->files, r->path, r->build_id, r->build_id_size);
        m.bias = code_file_bias(m.file, m.start, m.offset);
    }
    if (sampled_maps_add(&p->mappings, m) && p->rules)
        rules_forget(p->rules);
}
