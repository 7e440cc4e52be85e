#include "collect/sampling/samples_state.h"

#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "collect/proc/descendants.h"

#define GIVE_BACK_AT 64 /* records */

static void count_cpu(struct samples *s, struct process *p, const struct perf_record *r)
{
    /* Samples of the kernel's own threads have no registers of a program. */
    if ((r->in_kernel && !r->registers.known && s->perf.options.system) || !has_target(s, p))
        return;
    struct target *t = p->target;
    struct sampled_thread *sampled = thread_of(p, r->tid);
    uint32_t thread = thread_number(p, sampled, r->time_ns), stack = stack_of(s, p, r);
    uint32_t account = ledger_account(&t->ledger, stack, thread, DOMAIN_CPU, STACK_WHOLE);
    add_sample(s, t, account, 1, s->perf.options.cpu_period_ns, COLUMNS, r->time_ns);
    if (perf_estimates(&s->perf))
        kernel_sampled(s, p, sampled, r->time_ns, stack);
    if (s->perf.options.wall)
        note_sample(s, p, sampled, stack, r->time_ns);
}

static void take_entry(struct samples *s, struct process *p, const struct perf_record *r)
{
    if (has_target(s, p))
        kernel_entered(s, p, thread_of(p, r->tid), r->time_ns, stack_of(s, p, r));
}

static void take_on_or_off(struct samples *s, struct process *p, const struct perf_record *r)
{
    if (p->alive && perf_estimates(&s->perf))
        kernel_switch(thread_of(p, r->tid), r->kind == PERF_ON, r->time_ns);
    if (s->perf.options.wall)
        take_switch(s, p, r);
}

static void take_lost(struct samples *s, const struct perf_record *r)
{
    if (r->lost_stacks)
        return;
    struct target *first = s->session.first(s->session.session);
    if (first)
        first->profile.sampling.lost += r->lost;
    kernel_forget(s);
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
    if (!p) /* it existed before us, or the record of its fork was lost */
        p = s->session.all ? process_found(s, r->pid) : process_new(s, r->pid, 0);
    switch (r->kind) {
    case PERF_CPU:
        count_cpu(s, p, r);
        break;
    case PERF_FAULT:
    case PERF_FAULT_STACK:
        take_fault(s, p, r);
        break;
    case PERF_OFF_STACK:
        take_off_stack(s, p, r);
        break;
    case PERF_ENTRY:
        take_entry(s, p, r);
        break;
    case PERF_OFF:
    case PERF_ON:
        take_on_or_off(s, p, r);
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

/* There are several events per processor, and as many again for every thread that is watched. The
 * program keeps its own limit. */
static void use_all_descriptors(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

struct samples *samples_new(const struct sampled_session *session, const struct perf_options *o,
                            struct err *err)
{
    struct samples *s = xcalloc(1, sizeof *s);
    s->session = *session;
    pid_t program = session->program;
    bool all = session->all;
    struct perf_options one = *o, system = *o;
    one.all = system.all = all;
    system.system = true;
    use_all_descriptors();
    bool system_wide = all && geteuid() == 0 && perf_open(&s->perf, &system, program, err) == 0;
    if (!system_wide && perf_open(&s->perf, &one, program, err)) {
        free(s);
        return NULL;
    }
    s->watches = all && !system_wide;
    if (all)
        process_new(s, getpid(), 0)->skipped = true;
    struct process *p = process_new(s, program, getpid());
    p->expects_exec = true;
    p->skipped = session->only; /* until it is known what it executes */
    thread_of(p, program);
    if (s->watches) /* now, before the program has started other processes */
        watch_others(s);
    return s;
}

void samples_begin(struct samples *s, struct target *t)
{
    struct process *p = process_of(s, t->pid);
    p->target = t;
}

static void add_late(struct samples *s)
{
    for (size_t i = 0; i < s->late.count; i++)
        target_add_late_samples(s->late.items[i]);
    s->late.count = 0;
}

void samples_drain(struct samples *s, bool all)
{
    uint64_t now_ns = monotonic_ns();
    bool pressed = perf_read_heads(&s->perf);
    uint64_t until_ns = all ? UINT64_MAX : pressed ? now_ns : s->passed_ns;
    if (s->watches && now_ns >= s->next_scan_ns)
        watch_others(s);
    if (all || pressed)
        s->session.drain(
            s->session.session); /* what was allocated before these samples must be known */
    struct perf_record r;
    for (unsigned n = 1; perf_next(&s->perf, until_ns, &r); n++) {
        take_record(s, &r);
        if (n % GIVE_BACK_AT == 0)
            perf_give_back(&s->perf);
    }
    perf_give_back(&s->perf);
    if (s->perf.options.wall)
        examine_waits(s, s->passed_ns);
    add_late(s);
    s->passed_ns = now_ns;
}

void samples_pause(struct samples *s, bool paused)
{
    samples_drain(s, true);
    kernel_forget(s);
    if (s->perf.options.wall && paused != s->session.is_paused(s->session.session))
        cut_waits(s, paused, monotonic_ns());
}

/* The record of a process's end may be lost like any other, so the kernel is asked. */
unsigned samples_running(const struct samples *s)
{
    unsigned n = 0;
    for (size_t i = 0; i < s->processes.count; i++) {
        const struct process *p = s->processes.items[i];
        bool seen_to_end = p->target && p->target->ended && !p->target->profile.execed;
        n += p->alive && !p->skipped && !seen_to_end && descendants_runs(p->pid);
    }
    return n;
}

void samples_end(struct samples *s, struct target *t)
{
    struct process *p = process_of(s, t->pid);
    struct profile *profile = &t->profile;
    if (p && p->target == t)
        process_settle(s, p, monotonic_ns());
    target_add_late_samples(t);
    jit_names_read(&t->jit, profile); /* while the file exists */
    if (!profile->command.count)      /* it ended before its command could be read */
        *vec_push(&profile->command) =
            xstrdup(*profile->executable ? profile->executable : t->name);
}

bool samples_see_kernel(const struct samples *s)
{
    return s->perf.kernel;
}

void samples_count_lost(struct samples *s)
{
    uint64_t lost;
    struct target *first = s->session.first(s->session.session);
    if (first && perf_lost(&s->perf, &lost))
        first->profile.sampling.lost = lost;
}

unsigned samples_unwatched(const struct samples *s)
{
    return s->unwatched;
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
