#include "collect/counting/timer_samples.h"

#include "collect/counting/threads.h"

#define PERIODS_MOST 1000000 /* periods of one sample: more make no sense */

void timer_samples_ask(struct target *t, uint64_t period_ns, uint32_t signal)
{
    t->timer_samples.offset = t->header->samples_offset;
    t->timer_samples.period_ns = period_ns;
    t->ledger.timed = true;
    t->header->cpu_signal = signal;
    t->header->cpu_period_ns = period_ns;
}

static void count(struct target *t, const struct wire_sample *s, uint64_t now_ns)
{
    uint32_t stack = s->stack, periods = s->periods < PERIODS_MOST ? s->periods : PERIODS_MOST;
    uint32_t thread = thread_sampled(t, thread_numbers_outside(&t->thread_numbers, s->tid), now_ns);
    uint32_t account = ledger_find(&t->ledger, stack, thread, DOMAIN_CPU);
    if (account == MAP_NONE) {
        enum stack_state state;
        if (!program_stacks_state(&t->program_stacks, stack, &state)) {
            stack = 0; /* the program never made such a stack: damage */
            state = STACK_INCOMPLETE;
        }
        account = ledger_account(&t->ledger, stack, thread, DOMAIN_CPU, state);
    }
    target_sample_at(t, account, periods, periods * t->timer_samples.period_ns, s->tick);
    t->events++;
}

static void drain(struct target *t, uint64_t now_ns, bool last)
{
    struct wire_header *h = t->header;
    if (!h || !t->timer_samples.period_ns)
        return;
    const struct wire_sample *samples = (const void *)((const char *)h + t->timer_samples.offset);
    uint64_t claimed = atomic_load_explicit(&h->samples_claimed, memory_order_acquire);
    uint64_t *read = &t->timer_samples.read;
    if (claimed - *read > WIRE_SAMPLES) /* damage */
        *read = claimed;
    for (; *read != claimed; ++*read) {
        struct wire_sample s = {.number = atomic_load_explicit(
                                    &samples[*read % WIRE_SAMPLES].number, memory_order_acquire)};
        if (s.number != *read + 1 && !last)
            break; /* it is being written */
        s.tid = samples[*read % WIRE_SAMPLES].tid;
        s.stack = samples[*read % WIRE_SAMPLES].stack;
        s.periods = samples[*read % WIRE_SAMPLES].periods;
        s.tick = samples[*read % WIRE_SAMPLES].tick;
        if (s.number == *read + 1)
            count(t, &s, now_ns);
        else
            t->profile.sampling.lost++;
    }
    /* Pairs with the acquire load in put_sample(): the places may be written again. */
    atomic_store_explicit(&h->samples_read, *read, memory_order_release);
    uint64_t lost = atomic_load_explicit(&h->cpu_lost, memory_order_relaxed);
    if (lost > t->timer_samples.lost)
        t->profile.sampling.lost += lost - t->timer_samples.lost;
    t->timer_samples.lost = lost;
}

void timer_samples_drain(struct target *t, uint64_t now_ns)
{
    drain(t, now_ns, false);
}

void timer_samples_end(struct target *t, uint64_t now_ns)
{
    static const char *const why[] = {
        [WIRE_CPU_NO_SIGNAL] = "CPU time is missing: the program uses the signal that the timers "
                               "were to send; choose another with --cpu-signal, or --cpu=perf",
        [WIRE_CPU_REFUSED] =
            "CPU time of some threads is missing: the kernel refused them a timer; "
            "raise the limit on pending signals (ulimit -i)",
        [WIRE_CPU_FILTER] = "CPU time is missing from the moment when the program installed a "
                            "seccomp filter; use --cpu=perf",
    };
    drain(t, now_ns, true);
    if (!t->header || !t->timer_samples.period_ns)
        return;
    uint32_t state = atomic_load(&t->header->cpu_state);
    if (state < sizeof why / sizeof *why && why[state])
        *vec_push(&t->profile.notes) = xstrdup(why[state]);
}
