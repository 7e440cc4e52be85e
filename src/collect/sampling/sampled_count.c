/*
 * What the kernel itself counted (CPU time, page faults of a process), and what one sample stands
 * for.
 */
#include "collect/sampling/samples_state.h"

#include <time.h>
#include <unistd.h>

#include "collect/proc/proc.h"

#define SETTLED_SAMPLES 50 /* fewer samples say too little */
#define TICK_NS         UINT64_C(10000000)

/* CPU time of a process. /proc has it in ticks of 10 ms. The CPU clock is exact, but does not say
 * how much of it was in user mode. */
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

void add_sample(struct samples *s, struct target *t, uint32_t account, uint64_t count,
                uint64_t amount, enum column kind, uint64_t time_ns)
{
    bool none = !t->sampled.late.count;
    target_sample(t, account, count, amount, kind, time_ns);
    if (none && t->sampled.late.count)
        *vec_push(&s->late) = t;
    t->events++;
}

static uint64_t more(uint64_t now, uint64_t before)
{
    /* The split between the two is the kernel's estimate and may go back. */
    return now > before ? now - before : 0;
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
    g->user_ns = more(user, t->sampled.before.user_ns);
    g->system_ns = more(system, t->sampled.before.system_ns);
    g->minor_faults = state.minor_faults - t->sampled.before.minor_faults;
    g->major_faults = state.major_faults - t->sampled.before.major_faults;
}

bool samples_in_kernel(const struct target *t, const struct account *a)
{
    uint32_t node = a->node;
    return !t->ledger.timed && node < t->sampled.stacks.nodes.count &&
           t->sampled.stacks.nodes.items[node].address == NODE_KERNEL;
}

static void set_units(struct target *t, uint64_t unit, bool kernel)
{
    for (size_t i = 0; i < t->ledger.accounts.count; i++) {
        const struct account *a = &t->ledger.accounts.items[i];
        if (a->domain == DOMAIN_CPU && samples_in_kernel(t, a) == kernel)
            ledger_set_unit(&t->ledger, (uint32_t)i, unit);
    }
}

/* The kernel's time, if it is known from samples that did not come: they did not come either while
 * the host had the processor. Then there are far more of them than the kernel counts for itself. */
static uint64_t kernel_time(const struct sampling *g, uint64_t missed_ns)
{
    uint64_t all_ns = g->user_ns + g->system_ns;
    bool too_much = missed_ns > 2 * g->system_ns + all_ns / 20 + TICK_NS;
    return g->kernel == KERNEL_ESTIMATED && too_much ? g->system_ns : missed_ns;
}

struct sample_units samples_units(const struct sampling *g, uint64_t user, uint64_t kernel)
{
    uint64_t period = g->cpu_period_ns, all_ns = g->user_ns + g->system_ns;
    struct sample_units units = {period, period};
    if (!g->counted || user + kernel < SETTLED_SAMPLES)
        return units;
    uint64_t kernel_ns = kernel_time(g, all_ns / (user + kernel) * kernel);
    /* Less CPU time than samples: the last reading of it was long before the end. */
    if (user && (all_ns - kernel_ns) / user < period - period / 5) {
        if (g->kernel != KERNEL_ESTIMATED || all_ns <= user * period)
            return units;
        kernel_ns = all_ns - user * period;
    }
    if (user)
        units.user = (all_ns - kernel_ns) / user;
    if (kernel)
        units.kernel = kernel_ns / kernel;
    return units;
}

void samples_settle(struct target *t)
{
    uint64_t user = 0, kernel = 0;
    for (size_t i = 0; i < t->ledger.accounts.count; i++) {
        const struct account *a = &t->ledger.accounts.items[i];
        if (a->domain == DOMAIN_CPU)
            *(samples_in_kernel(t, a) ? &kernel : &user) += ledger_live(&t->ledger, a).blocks;
    }
    if (t->was_paused)
        return;
    struct sample_units units = samples_units(&t->profile.sampling, user, kernel);
    set_units(t, units.user, false);
    set_units(t, units.kernel, true);
}
