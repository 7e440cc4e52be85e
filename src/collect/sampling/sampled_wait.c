/*
 * Time off the processor: waiting, or ready to run (run --cpu=wall). waiting_threads.h finds where
 * a thread waits if the kernel gives no stack.
 */
#include "collect/sampling/samples_state.h"

#define EXAMINE_AFTER_NS 1000000 /* threads that are off the processor for longer are examined */
#define EXAMINE_APART_NS 5000000 /* time between two examinations of one thread */
/* A longer wait is charged while it lasts, so that moments in between are right. */
#define CHARGED_NS 50000000

static void charge(struct samples *s, struct process *p, struct sampled_thread *t,
                   enum domain domain, uint32_t stack, uint64_t ns, uint64_t count,
                   uint64_t time_ns)
{
    struct target *target = p->target;
    if (!stack)
        stack = sampled_tree_child(&target->sampled.stacks, 0, NODE_INCOMPLETE);
    uint32_t thread = thread_number(p, t, time_ns);
    uint32_t account = ledger_account(&target->ledger, stack, thread, domain, STACK_WHOLE);
    add_sample(s, target, account, count, ns, COLUMNS, time_ns);
}

static void charge_wait(struct samples *s, struct process *p, struct sampled_thread *t,
                        uint32_t stack, uint64_t time_ns)
{
    struct off *o = &t->off;
    if (o->waited_ns || o->waits)
        charge(s, p, t, DOMAIN_WAITING, stack, o->waited_ns, o->waits, time_ns);
    o->waited_ns = o->waits = 0;
    o->last_wait = stack;
}

static void charge_ready(struct samples *s, struct process *p, struct sampled_thread *t,
                         uint32_t stack, uint64_t time_ns)
{
    if (t->off.ready_ns)
        charge(s, p, t, DOMAIN_READY, stack, t->off.ready_ns, 0, time_ns);
    t->off.ready_ns = 0;
}

void samples_waited_for_us(struct samples *s, pid_t pid, pid_t tid, uint64_t from_ns,
                           uint64_t to_ns)
{
    s->own_waits[s->own_wait_count++ % OWN_WAITS] =
        (struct own_wait){.pid = pid, .tid = tid, .from_ns = from_ns, .to_ns = to_ns};
}

/* The part of a time off the processor during which the thread waited for the collector or was
 * stopped by it. */
static uint64_t own_part(const struct samples *s, pid_t pid, pid_t tid, uint64_t from_ns,
                         uint64_t to_ns)
{
    uint64_t ours = 0;
    for (size_t i = 0; i < s->own_wait_count && i < OWN_WAITS; i++) {
        const struct own_wait *w = &s->own_waits[i];
        uint64_t from = w->from_ns > from_ns ? w->from_ns : from_ns;
        uint64_t to = w->to_ns < to_ns ? w->to_ns : to_ns;
        ours += w->pid == pid && (!w->tid || w->tid == tid) && to > from ? to - from : 0;
    }
    return ours < to_ns - from_ns ? ours : to_ns - from_ns;
}

/*
 * Charges a part of the time off the processor. If it is not known where the thread left, the time
 * is kept and charged to the next known place: where the thread is found waiting (the longer it
 * waits there, the likelier that is), or where it is sampled, for a thread that was preempted.
 */
static void pass_time(struct samples *s, struct process *p, struct sampled_thread *t,
                      uint64_t until_ns)
{
    struct off *o = &t->off;
    uint64_t ns = until_ns > o->since_ns ? until_ns - o->since_ns : 0;
    uint64_t ours =
        o->ours && !o->preempted ? ns : own_part(s, p->pid, t->tid, o->since_ns, o->since_ns + ns);
    ns -= ours;
    if (ours && !ns) {
        o->counted = true;
    } else if (o->preempted) {
        o->ready_ns += ns;
        if (o->stack)
            charge_ready(s, p, t, o->stack, until_ns);
    } else {
        o->waited_ns += ns;
        o->waits += !o->counted;
        o->counted = true;
        if (o->stack)
            charge_wait(s, p, t, o->stack, until_ns);
    }
    o->since_ns = until_ns;
}

void take_off_stack(struct samples *s, struct process *p, const struct perf_record *r)
{
    if (!p->alive || !has_target(s, p))
        return;
    uint32_t stack = stack_of(s, p, r);
    struct off *o = &thread_of(p, r->tid)->off;
    o->leaving = stack;
    o->leaving_ours = is_recorder(p, r->registers.value[ARCH_REG_PC]);
}

void take_switch(struct samples *s, struct process *p, const struct perf_record *r)
{
    if (!p->alive)
        return;
    struct sampled_thread *t = thread_of(p, r->tid);
    if (r->kind == PERF_OFF) {
        t->off.since_ns = r->time_ns;
        t->off.preempted = r->preempted;
        t->off.counted = false;
        t->off.stack = t->off.leaving;
        t->off.ours = t->off.leaving_ours;
        t->off.leaving = 0;
        t->off.leaving_ours = false;
        return;
    }
    if (t->off.since_ns && has_target(s, p))
        pass_time(s, p, t, r->time_ns);
    t->off.since_ns = 0;
}

void note_sample(struct samples *s, struct process *p, struct sampled_thread *t, uint32_t stack,
                 uint64_t time_ns)
{
    t->off.last_sample = stack;
    charge_ready(s, p, t, stack, time_ns);
}

static void examine_thread(struct samples *s, struct process *p, struct sampled_thread *t,
                           uint64_t until_ns, uint64_t now_ns)
{
    struct off *o = &t->off;
    if (!o->since_ns || o->preempted || until_ns < o->since_ns + EXAMINE_AFTER_NS)
        return;
    if (!o->stack && now_ns >= o->next_examined_ns) {
        o->stack = stack_of_blocked(s, p, t->tid, &o->ours);
        o->next_examined_ns = now_ns + EXAMINE_APART_NS;
    }
    if (o->stack && until_ns > o->since_ns + CHARGED_NS)
        pass_time(s, p, t, until_ns);
}

void examine_waits(struct samples *s, uint64_t until_ns)
{
    uint64_t now_ns = monotonic_ns();
    for (size_t i = 0; i < s->processes.count; i++) {
        struct process *p = s->processes.items[i];
        for (size_t k = 0; k < p->threads.count && p->alive; k++)
            if (p->threads.items[k].off.since_ns && has_target(s, p))
                examine_thread(s, p, &p->threads.items[k], until_ns, now_ns);
    }
}

void cut_waits(struct samples *s, bool paused, uint64_t time_ns)
{
    for (size_t i = 0; i < s->processes.count; i++) {
        struct process *p = s->processes.items[i];
        for (size_t k = 0; k < p->threads.count; k++) {
            struct sampled_thread *t = &p->threads.items[k];
            if (!t->off.since_ns)
                continue;
            if (paused && has_target(s, p))
                pass_time(s, p, t, time_ns);
            t->off.since_ns = time_ns;
        }
    }
}

void settle_off(struct samples *s, struct process *p, struct sampled_thread *t, uint64_t time_ns)
{
    if (!has_target(s, p))
        return;
    if (t->off.since_ns)
        pass_time(s, p, t, time_ns);
    charge_wait(s, p, t, t->off.last_wait, time_ns);
    charge_ready(s, p, t, t->off.last_sample, time_ns);
    t->off.since_ns = 0;
}
