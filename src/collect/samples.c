#include "collect/samples.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "collect/areas.h"
#include "collect/owners.h"
#include "collect/pages.h"
#include "collect/proc.h"
#include "collect/session_state.h"
#include "collect/threads.h"
#include "unwind/copied.h"

#define FRAMES_MAX   2048
#define WAITING_MAX  4096 /* faults of a thread whose stack may yet come */
#define GIVE_BACK_AT 64   /* records */

#define SETTLED_SAMPLES 50 /* fewer say too little */

/* A fault whose stack has not come. */
struct waiting {
    uint64_t pc, sp, address;
};

struct sampled_thread {
    pid_t tid;
    uint32_t number; /* in profile.threads of the target; NO_THREAD: not yet */
    char name[16];   /* empty: it was given none */
    bool ended;
    struct waiting last; /* the last fault with a stack, */
    uint32_t last_stack; /* which is this; 0: none */
    struct owner owner;
    bool last_counted;
    VEC(struct waiting) waiting;
};

struct process {
    pid_t pid, parent;
    bool alive;
    bool expects_exec;     /* of the program itself, whose target is there */
    bool skipped;          /* not to be recorded */
    struct target *target; /* NULL: nothing to count yet */
    struct areas mappings;
    struct rules *rules; /* NULL: no stack yet */
    struct pages pages;
    VEC(struct sampled_thread) threads;
};

struct samples {
    struct session *session;
    struct perf perf;
    struct code_files files;
    VEC(struct process *) processes;
    struct map by_pid;  /* -> place in processes; the last of that pid */
    uint64_t passed_ns; /* when the last pass began */
    uint64_t addresses[FRAMES_MAX];
};

static uint64_t monotonic_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* --- processes -------------------------------------------------------------------------------- */

static struct process *process_of(const struct samples *s, pid_t pid)
{
    uint32_t place = map_get(&s->by_pid, (uint64_t)pid);
    return place == MAP_NONE ? NULL : s->processes.items[place];
}

static void threads_clear(struct process *p)
{
    for (size_t i = 0; i < p->threads.count; i++)
        vec_release(&p->threads.items[i].waiting);
    p->threads.count = 0;
}

/* Gives back what was needed to make sense of its samples: there may be many processes. */
static void process_forget(struct process *p)
{
    vec_release(&p->mappings.items);
    pages_clear(&p->pages);
    free(p->rules);
    p->rules = NULL;
}

/* What it was is forgotten: it executes another program, or its pid is another's. */
static void process_clear(struct process *p)
{
    threads_clear(p);
    process_forget(p);
    p->target = NULL;
    p->skipped = false;
}

static struct process *process_new(struct samples *s, pid_t pid, pid_t parent)
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
    return p;
}

static struct sampled_thread *thread_of(struct process *p, pid_t tid)
{
    for (size_t i = p->threads.count; i-- > 0;)
        if (p->threads.items[i].tid == tid && !p->threads.items[i].ended)
            return &p->threads.items[i];
    struct sampled_thread *t = vec_push(&p->threads);
    *t = (struct sampled_thread){.tid = tid, .number = NO_THREAD};
    return t;
}

/* Is there something to count for it? */
static bool has_target(struct samples *s, struct process *p)
{
    if (p->skipped || s->session->paused)
        return false;
    if (!p->target) { /* it was forked and has executed nothing since */
        p->target = session_target(s->session, p->pid);
        if (!p->target)
            p->target = session_add_target(s->session, p->pid);
        if (p->parent && !p->target->profile.ppid)
            p->target->profile.ppid = (uint32_t)p->parent;
    }
    return !p->target->ended;
}

static uint64_t target_time(const struct target *t, uint64_t time_ns)
{
    return time_ns > t->start_monotonic_ns ? time_ns - t->start_monotonic_ns : 0;
}

static uint32_t thread_number(struct process *p, struct sampled_thread *t, uint64_t time_ns)
{
    if (t->number == NO_THREAD) {
        t->number = thread_sampled(p->target, (uint32_t)t->tid, target_time(p->target, time_ns));
        if (*t->name)
            thread_rename_sampled(p->target, t->number, (uint32_t)t->tid, t->name);
    }
    return t->number;
}

/* --- stacks ----------------------------------------------------------------------------------- */

struct sampled_space {
    struct copied_stack copied;
    struct process *process;
};

static struct area *code_at(const struct process *p, uint64_t address)
{
    struct area *m = areas_find(&p->mappings, address);
    return m && m->file ? m : NULL;
}

static int find_tables(const struct unwind_space *self, uint64_t address, struct unwind_module *out)
{
    const struct sampled_space *space =
        (const void *)((const char *)self - offsetof(struct sampled_space, copied.space));
    const struct area *m = code_at(space->process, address);
    out->epoch = 0; /* rules are forgotten when code goes away */
    return m && code_file_tables(m->file, m->bias, &out->cfi) ? 0 : -1;
}

/* The address as a node has it, its module made known to the profile. */
static uint64_t node_address(struct process *p, uint64_t address)
{
    struct area *m = code_at(p, address - 1);
    address &= (UINT64_C(1) << 48) - 1;
    if (!m)
        return address | (uint64_t)SAMPLE_EPOCH << 48;
    if (!m->known) {
        struct module *module = vec_push(&p->target->profile.modules);
        *module = (struct module){.start = m->start,
                                  .end = m->end,
                                  .bias = m->bias,
                                  .epoch = m->epoch,
                                  .path = xstrdup(m->file->path),
                                  .build_id_size = m->file->build_id_size};
        memcpy(module->build_id, m->file->build_id, sizeof module->build_id);
        m->known = true;
    }
    return address | (uint64_t)m->epoch << 48;
}

/* The stack of a sample, in the target's own tree. */
static uint32_t stack_of(struct samples *s, struct process *p, const struct perf_record *r)
{
    struct stack_tree *tree = &p->target->stacks;
    uint32_t count = 0, node = 0;
    enum copied_end end = COPIED_LOST;
    if (r->registers.known) {
        if (!p->rules)
            p->rules = xcalloc(1, sizeof *p->rules);
        struct sampled_space space = {.copied = {.space = {.find = find_tables},
                                                 .rules = p->rules,
                                                 .bytes = r->stack,
                                                 .start = r->registers.value[ARCH_REG_SP],
                                                 .size = r->stack_size},
                                      .process = p};
        count = copied_walk(&space.copied, &r->registers, s->addresses, FRAMES_MAX, &end);
    } else { /* a 32-bit program, say */
        s->addresses[count++] = r->registers.value[ARCH_REG_PC] + 1;
    }
    if (end != COPIED_WHOLE)
        node =
            stack_tree_child(tree, 0, end == COPIED_TRUNCATED ? NODE_TRUNCATED : NODE_INCOMPLETE);
    while (count--)
        node = stack_tree_child(tree, node, node_address(p, s->addresses[count]));
    return node;
}

/* --- counting --------------------------------------------------------------------------------- */

static void count_cpu(struct samples *s, struct process *p, const struct perf_record *r)
{
    if (!has_target(s, p))
        return;
    struct target *t = p->target;
    uint32_t thread = thread_number(p, thread_of(p, r->tid), r->time_ns);
    uint32_t account =
        ledger_account(&t->ledger, stack_of(s, p, r), thread, DOMAIN_CPU, STACK_WHOLE);
    ledger_sample(&t->ledger, account, 1, s->perf.options.cpu_period_ns, COLUMNS);
    t->events++;
}

static void count_fault(struct samples *s, struct process *p, struct sampled_thread *thread,
                        uint64_t address, uint32_t stack)
{
    static const enum column column[] = {[FAULT_TOUCH] = COLUMNS,
                                         [FAULT_HUGE] = COL_HUGE_FAULTS,
                                         [FAULT_FILE] = COL_FILE_FAULTS,
                                         [FAULT_COPY] = COL_COPIES};
    struct target *t = p->target;
    uint64_t weight = s->perf.options.fault_period;
    const struct area *m = areas_find(&p->mappings, address);
    enum fault_kind kind = pages_fault(&p->pages, p->pid, m, address);
    uint32_t account = ledger_account(&t->ledger, stack, thread_number(p, thread, monotonic_ns()),
                                      DOMAIN_FAULTS, STACK_WHOLE);
    ledger_sample(&t->ledger, account, weight, weight * fault_bytes(kind), column[kind]);
    t->events++;
    if (owner_find(&thread->owner, t, m, address, &account)) {
        struct site owner = t->ledger.accounts.items[account].site;
        account = ledger_account(&t->ledger, owner.node, owner.thread, DOMAIN_TOUCHED, STACK_WHOLE);
        ledger_sample(&t->ledger, account, weight, weight * fault_bytes(kind), column[kind]);
    }
}

/* Faults whose stack, or one like it, was the last have found theirs. `any`: whatever they wait
 * for, they wait no longer. */
static void settle_waiting(struct samples *s, struct process *p, struct sampled_thread *t, bool any)
{
    size_t left = 0;
    for (size_t i = 0; i < t->waiting.count; i++) {
        struct waiting w = t->waiting.items[i];
        bool same = t->last_stack && w.pc == t->last.pc && w.sp == t->last.sp;
        if (same) {
            t->last_counted |= w.address == t->last.address;
            count_fault(s, p, t, w.address, t->last_stack);
        } else if (any) {
            struct stack_tree *tree = &p->target->stacks;
            uint32_t node = stack_tree_child(tree, 0, NODE_TRUNCATED);
            node = stack_tree_child(tree, node, node_address(p, w.pc + 1));
            count_fault(s, p, t, w.address, node);
        } else {
            t->waiting.items[left++] = w;
        }
    }
    t->waiting.count = left;
}

static void take_fault(struct samples *s, struct process *p, const struct perf_record *r)
{
    if (!has_target(s, p))
        return;
    struct sampled_thread *t = thread_of(p, r->tid);
    struct waiting w = {.pc = r->registers.value[ARCH_REG_PC],
                        .sp = r->registers.value[ARCH_REG_SP],
                        .address = r->address};
    if (r->kind == PERF_FAULT_STACK) {
        t->last = w;
        t->last_stack = stack_of(s, p, r);
        t->last_counted = false;
        settle_waiting(s, p, t, false);
        return;
    }
    if (t->last_stack && !t->last_counted && w.address == t->last.address) {
        t->last_counted = true;
        count_fault(s, p, t, w.address, t->last_stack);
        return;
    }
    /* Its own stack comes next, if it was not lost; that of those before it was. */
    settle_waiting(s, p, t, t->waiting.count == WAITING_MAX);
    *vec_push(&t->waiting) = w;
}

/* --- what processes do ------------------------------------------------------------------------ */

static bool is_skipped(const struct samples *s, pid_t pid, const char *name)
{
    const struct session_options *o = s->session->options;
    return (o->no_follow && pid != s->session->program) ||
           (o->only && !session_is_wanted(s->session, pid, name));
}

static void settle(struct samples *s, struct process *p)
{
    for (size_t i = 0; i < p->threads.count && p->target && !p->target->ended; i++)
        settle_waiting(s, p, &p->threads.items[i], true);
}

static void take_exec(struct samples *s, struct process *p, const char *name)
{
    if (p->expects_exec) {
        p->expects_exec = false;
        p->mappings.items.count = 0;
        p->skipped = is_skipped(s, p->pid, name);
        return;
    }
    settle(s, p);
    struct target *before = session_target(s->session, p->pid);
    process_clear(p);
    if (before)
        session_end_target(s->session, before, true);
    p->skipped = is_skipped(s, p->pid, name);
    if (!p->skipped && !s->session->paused) {
        p->target = session_add_target(s->session, p->pid);
        p->target->profile.ppid = (uint32_t)p->parent;
    }
}

static void take_name(struct samples *s, struct process *p, const struct perf_record *r)
{
    if (r->exec) {
        take_exec(s, p, r->name);
        if (p->target)
            snprintf(p->target->name, sizeof p->target->name, "%s", r->name);
        return;
    }
    struct sampled_thread *t = thread_of(p, r->tid);
    snprintf(t->name, sizeof t->name, "%s", r->name);
    if (t->number != NO_THREAD && p->target && !p->target->ended)
        thread_rename_sampled(p->target, t->number, (uint32_t)t->tid, t->name);
}

static void take_fork(struct samples *s, const struct perf_record *r)
{
    struct process *parent = process_of(s, r->parent);
    if (r->pid == r->parent) {
        if (parent) { /* a thread: whatever had its number has ended */
            thread_of(parent, r->tid)->ended = true;
            thread_of(parent, r->tid);
        }
        return;
    }
    struct process *p = process_new(s, r->pid, r->parent);
    if (parent) {
        areas_copy(&p->mappings, &parent->mappings);
        pages_fork(&parent->pages, &p->pages);
        p->skipped = parent->skipped || is_skipped(s, r->pid, NULL);
    }
    thread_of(p, r->tid);
}

static void take_exit(struct samples *s, struct process *p, const struct perf_record *r)
{
    struct sampled_thread *t = thread_of(p, r->tid);
    bool counts = p->target && !p->target->ended;
    if (counts)
        settle_waiting(s, p, t, true);
    t->ended = true;
    if (counts && t->number != NO_THREAD) {
        struct thread *thread = &p->target->profile.threads.items[t->number];
        if (!thread->end_ns)
            thread->end_ns = target_time(p->target, r->time_ns);
    }
    p->alive = false;
    for (size_t i = 0; i < p->threads.count; i++)
        p->alive |= !p->threads.items[i].ended;
    if (!p->alive)
        process_forget(p);
}

/* Anonymous memory that is shared has a name too. */
static bool is_file_path(const char *path)
{
    static const char *const memory[] = {"//", "/dev/zero", "/memfd:", "/SYSV", "/dev/shm/"};
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++)
        if (strncmp(path, memory[i], strlen(memory[i])) == 0)
            return false;
    return path[0] == '/';
}

static void take_mapping(struct samples *s, struct process *p, const struct perf_record *r)
{
    struct area m = {.start = r->start,
                     .end = r->start + r->size,
                     .offset = r->offset,
                     .is_file = is_file_path(r->path)};
    if (m.end <= m.start)
        return;
    if (strcmp(r->path, "[heap]") != 0) /* which grows: what was there stays */
        pages_forget(&p->pages, m.start, m.end);
    struct profile *profile = p->target ? &p->target->profile : NULL;
    if (r->executable && m.is_file && profile && !*profile->executable) {
        free(profile->executable); /* it was gone before we could look: the program comes first */
        profile->executable = xstrdup(r->path);
    }
    if (r->executable) {
        m.file = code_file(&s->files, r->path, r->build_id, r->build_id_size);
        m.bias = code_file_bias(m.file, m.start, m.offset);
    }
    if (areas_add(&p->mappings, m) && p->rules)
        rules_forget(p->rules);
}

static void take_lost(struct samples *s, const struct perf_record *r)
{
    if (!r->lost_stacks && s->session->targets.count)
        s->session->targets.items[0]->profile.sampling.lost += r->lost;
}

static void take_record(struct samples *s, const struct perf_record *r)
{
    if (r->kind == PERF_LOST) {
        take_lost(s, r);
        return;
    }
    if (r->kind == PERF_FORK) {
        take_fork(s, r);
        return;
    }
    if (r->kind == PERF_OTHER || r->pid <= 0)
        return;
    struct process *p = process_of(s, r->pid);
    if (!p) /* its fork was lost */
        p = process_new(s, r->pid, 0);
    switch (r->kind) {
    case PERF_CPU:
        count_cpu(s, p, r);
        break;
    case PERF_FAULT:
    case PERF_FAULT_STACK:
        take_fault(s, p, r);
        break;
    case PERF_MMAP:
        take_mapping(s, p, r);
        break;
    case PERF_COMM:
        take_name(s, p, r);
        break;
    case PERF_EXIT:
        take_exit(s, p, r);
        break;
    default:
        break;
    }
}

/*
 * Samples are a period of CPU time apart, but some do not come: where another virtual machine had
 * the processor, or while the kernel was at work. In the end each counts for its share of what the
 * kernel says was used, unless that is far off. Rows are kept as samples x unit, so this is all.
 */
void samples_settle(struct target *t)
{
    const struct sampling *g = &t->profile.sampling;
    uint64_t count = 0, unit;
    for (size_t i = 0; i < t->ledger.accounts.count; i++)
        if (t->ledger.accounts.items[i].site.domain == DOMAIN_CPU)
            count += t->ledger.accounts.items[i].live.blocks;
    if (!g->counted || t->was_paused || count < SETTLED_SAMPLES)
        return;
    unit = g->user_ns / count;
    if (unit < g->cpu_period_ns - g->cpu_period_ns / 5 ||
        unit > g->cpu_period_ns + g->cpu_period_ns / 4)
        return;
    for (size_t i = 0; i < t->ledger.accounts.count; i++) {
        struct account *a = &t->ledger.accounts.items[i];
        if (a->site.domain != DOMAIN_CPU)
            continue;
        a->site.unit_bytes = a->site.unit_usable = a->site.largest_bytes = unit;
        a->live.bytes = a->live.blocks * unit;
    }
}

/* --- the whole -------------------------------------------------------------------------------- */

struct samples *samples_new(struct session *session, const struct perf_options *o, pid_t program,
                            struct err *err)
{
    struct samples *s = xcalloc(1, sizeof *s);
    s->session = session;
    if (perf_open(&s->perf, o, program, err)) {
        free(s);
        return NULL;
    }
    struct process *p = process_new(s, program, getpid());
    p->expects_exec = true;
    thread_of(p, program);
    return s;
}

void samples_free(struct samples *s)
{
    if (!s)
        return;
    perf_close(&s->perf);
    code_files_release(&s->files);
    for (size_t i = 0; i < s->processes.count; i++) {
        process_clear(s->processes.items[i]);
        vec_release(&s->processes.items[i]->threads);
        free(s->processes.items[i]);
    }
    vec_release(&s->processes);
    map_release(&s->by_pid);
    free(s);
}

void samples_begin(struct samples *s, struct target *t)
{
    struct process *p = process_of(s, t->pid);
    p->target = t;
}

void samples_drain(struct samples *s, bool all)
{
    uint64_t now_ns = monotonic_ns();
    bool pressed = perf_look(&s->perf);
    uint64_t until_ns = all || pressed ? UINT64_MAX : s->passed_ns;
    if (all || pressed)
        session_drain(s->session); /* what was allocated before these samples is to be known */
    struct perf_record r;
    for (unsigned n = 1; perf_next(&s->perf, until_ns, &r); n++) {
        take_record(s, &r);
        if (n % GIVE_BACK_AT == 0)
            perf_give_back(&s->perf);
    }
    perf_give_back(&s->perf);
    s->passed_ns = now_ns;
}

unsigned samples_running(const struct samples *s)
{
    unsigned n = 0;
    for (size_t i = 0; i < s->processes.count; i++) {
        const struct process *p = s->processes.items[i];
        n += p->alive && !p->skipped && (kill(p->pid, 0) == 0 || errno == EPERM);
    }
    return n;
}

/* CPU time of a process, which /proc has in ticks of 10 ms: the clock has it exactly, but not how
 * much of it was in user mode. */
static void cpu_times(pid_t pid, const struct proc_state *state, uint64_t *user, uint64_t *system)
{
    uint64_t tick_ns = 1000000000u / (uint64_t)sysconf(_SC_CLK_TCK);
    uint64_t ticks = state->user_ticks + state->system_ticks;
    clockid_t clock;
    struct timespec used;
    *user = state->user_ticks * tick_ns;
    *system = state->system_ticks * tick_ns;
    if (clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &used))
        return;
    double all = (double)used.tv_sec * 1e9 + (double)used.tv_nsec;
    *user = (uint64_t)(ticks ? all * (double)state->user_ticks / (double)ticks : all);
    *system = (uint64_t)all - *user;
}

static uint64_t more(uint64_t now, uint64_t before)
{
    return now > before ? now - before : 0; /* how time is split is an estimate */
}

void samples_count(struct target *t)
{
    struct sampling *g = &t->profile.sampling;
    struct proc_state state;
    uint64_t user, system;
    if (!proc_read_state(t->pid, &state))
        return;
    cpu_times(t->pid, &state, &user, &system);
    g->counted = true;
    g->user_ns = more(user, t->before.user_ns);
    g->system_ns = more(system, t->before.system_ns);
    g->minor_faults = state.minor_faults - t->before.minor_faults;
    g->major_faults = state.major_faults - t->before.major_faults;
}

void samples_end(struct samples *s, struct target *t)
{
    struct process *p = process_of(s, t->pid);
    struct profile *profile = &t->profile;
    if (p && p->target == t)
        settle(s, p);
    if (!profile->command.count) /* its life was too short to ask for it */
        *vec_push(&profile->command) =
            xstrdup(*profile->executable ? profile->executable : t->name);
}

size_t samples_rings(const struct samples *s)
{
    return s->perf.rings.count;
}

size_t samples_poll(struct samples *s, struct pollfd *out)
{
    return perf_poll(&s->perf, out);
}

void samples_polled(struct samples *s, const struct pollfd *in, size_t count)
{
    perf_polled(&s->perf, in, count);
}
