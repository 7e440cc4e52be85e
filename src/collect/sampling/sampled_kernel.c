/*
 * Estimates time in the kernel for users who may not sample it.
 *
 * A sample is due at each period of a thread's CPU time, and does not come while the kernel works.
 * The CPU time is known from when the thread was on the processor, so it is known how many samples
 * are missing, and when they were due. Each is charged to what entered the kernel then: the page
 * fault just before, of which one in so many is recorded. System calls cannot be seen. A missing
 * sample is charged to the functions that the last stack before it and the first one after it have
 * in common: one of these made the call, or called what made it.
 */
#include "collect/sampling/samples_state.h"

/* The longest time that one recorded fault, and those that it stands for, may account for. */
#define FAULT_MOST_NS 50000

void kernel_switch(struct sampled_thread *t, bool on, uint64_t time_ns)
{
    struct unsampled *u = &t->unsampled;
    if (u->on && time_ns > u->on_ns)
        u->used_ns += time_ns - u->on_ns;
    u->on = on;
    u->on_ns = time_ns;
}

/* The thread's CPU time. If it is not known when it got the processor, it is taken to be now. */
static uint64_t used_by(struct unsampled *u, uint64_t time_ns)
{
    if (!u->on) {
        u->on = true;
        u->on_ns = time_ns;
    }
    return u->used_ns + (time_ns > u->on_ns ? time_ns - u->on_ns : 0);
}

static void charge(struct samples *s, struct process *p, struct sampled_thread *t, uint32_t stack,
                   uint64_t count, uint64_t time_ns)
{
    if (!count || !has_target(s, p))
        return;
    uint32_t account = ledger_account(&p->target->ledger, kernel_stack(p, stack),
                                      thread_number(p, t, time_ns), DOMAIN_CPU, STACK_WHOLE);
    add_sample(s, p->target, account, count, count * s->perf.options.cpu_period_ns, COLUMNS,
               time_ns);
}

/* The number of frames up to the outermost. */
static uint32_t depth_of(const struct sampled_tree *t, uint32_t node)
{
    uint32_t depth = 0;
    for (; node; node = t->nodes.items[node].parent)
        depth++;
    return depth;
}

/* The common part of two stacks: the outer frames of `b` with the same functions as `a`. */
static uint32_t common_part(struct process *p, uint32_t a, uint32_t b)
{
    const struct sampled_tree *t = &p->target->sampled.stacks;
    uint32_t depth_a = depth_of(t, a), depth_b = depth_of(t, b), below_a = 0, below_b = 0;
    while (a != b) {
        bool up_a = depth_a >= depth_b, up_b = depth_b >= depth_a;
        if (up_a) {
            below_a = a;
            a = t->nodes.items[a].parent;
            depth_a--;
        }
        if (up_b) {
            below_b = b;
            b = t->nodes.items[b].parent;
            depth_b--;
        }
    }
    bool same =
        below_a && below_b && t->nodes.items[below_a].parent == a &&
        t->nodes.items[below_b].parent == b &&
        is_same_function(p, t->nodes.items[below_a].address, t->nodes.items[below_b].address);
    return same ? below_b : b;
}

/* The thread has this stack in user mode: charges the periods that wait for a stack. */
static void charge_waiting(struct samples *s, struct process *p, struct sampled_thread *t,
                           uint32_t stack, uint64_t time_ns)
{
    struct unsampled *u = &t->unsampled;
    if (u->waiting && has_target(s, p))
        charge(s, p, t, common_part(p, u->last, stack), u->waiting, time_ns);
    u->waiting = 0;
    u->last = stack;
}

/* So many samples were due and did not come, one period after another. */
static void count_missed(struct samples *s, struct process *p, struct sampled_thread *t,
                         uint64_t count, uint64_t time_ns)
{
    struct unsampled *u = &t->unsampled;
    uint64_t period = s->perf.options.cpu_period_ns, faults = 0;
    uint64_t most = FAULT_MOST_NS * perf_entries_apart(&s->perf);
    for (uint64_t i = 1; i <= count && u->entry; i++)
        faults += u->until_ns + i * period <= u->entry_ns + most;
    charge(s, p, t, u->entry, faults, time_ns);
    u->waiting += count - faults;
    u->until_ns += count * period;
}

void kernel_sampled(struct samples *s, struct process *p, struct sampled_thread *t,
                    uint64_t time_ns, uint32_t stack)
{
    struct unsampled *u = &t->unsampled;
    uint64_t period = s->perf.options.cpu_period_ns, used = used_by(u, time_ns);
    uint64_t periods = used > u->until_ns ? (used - u->until_ns + period / 2) / period : 0;
    if (periods > 1)
        count_missed(s, p, t, periods - 1, time_ns);
    charge_waiting(s, p, t, stack, time_ns);
    u->until_ns = used;
}

void kernel_entered(struct samples *s, struct process *p, struct sampled_thread *t,
                    uint64_t time_ns, uint32_t stack)
{
    struct unsampled *u = &t->unsampled;
    uint64_t period = s->perf.options.cpu_period_ns, used = used_by(u, time_ns);
    /* A sample that was due just now may still come. */
    if (used > u->until_ns + period + period / 4)
        count_missed(s, p, t, (used - u->until_ns - period / 4) / period, time_ns);
    charge_waiting(s, p, t, stack, time_ns);
    u->entry = stack;
    u->entry_ns = used;
}

void kernel_settle(struct samples *s, struct process *p, struct sampled_thread *t, uint64_t time_ns)
{
    struct unsampled *u = &t->unsampled;
    uint64_t period = s->perf.options.cpu_period_ns;
    uint64_t used = u->on ? used_by(u, time_ns) : u->used_ns;
    if (used > u->until_ns + period)
        count_missed(s, p, t, (used - u->until_ns) / period, time_ns);
    charge(s, p, t, 0, u->waiting, time_ns); /* at the end of a process only the kernel works */
    u->waiting = 0;
}

void kernel_forget(struct samples *s)
{
    for (size_t i = 0; i < s->processes.count; i++)
        for (size_t k = 0; k < s->processes.items[i]->threads.count; k++) {
            struct unsampled *u = &s->processes.items[i]->threads.items[k].unsampled;
            u->on = false;
            u->waiting = 0;
            u->until_ns = u->used_ns;
            u->entry = u->last = 0;
        }
}
