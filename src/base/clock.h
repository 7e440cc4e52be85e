/* clock: reads one of the system's clocks, in nanoseconds, and counts how long a loop has
 * waited. */
#ifndef TIDE_BASE_CLOCK_H
#define TIDE_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t clock_ns(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline uint64_t monotonic_ns(void)
{
    return clock_ns(CLOCK_MONOTONIC);
}

/* Processor time of this thread. Limits on work are measured in it, so that a busy machine does not
 * make the answer smaller. */
static inline uint64_t thread_cpu_ns(void)
{
    return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

/*
 * How long a loop that polls another process has waited for it. A turn counts for at most
 * PATIENCE_TURN_NS: if it took longer, this process could not run (it was stopped, frozen together
 * with the other one, or the machine is busy), which is no reason to give up. Begins with zeros.
 */
#define PATIENCE_TURN_NS UINT64_C(100000000)
struct patience {
    uint64_t last_ns, waited_ns;
};

/* Call it at each turn. Returns the time waited so far. */
static inline uint64_t patience_waited(struct patience *p, uint64_t now_ns)
{
    uint64_t turn_ns = p->last_ns ? now_ns - p->last_ns : 0;
    p->waited_ns += turn_ns < PATIENCE_TURN_NS ? turn_ns : PATIENCE_TURN_NS;
    p->last_ns = now_ns;
    return p->waited_ns;
}

#endif
