/*
 * refused_memory: after the kernel has refused memory, the recorder does not ask again before the
 * collector's next tick, because asking takes system calls. {0} is no refusal. Any thread may call
 * these functions. [malloc-free] [async-signal-safe]
 */
#ifndef TIDE_RECORD_REFUSED_MEMORY_H
#define TIDE_RECORD_REFUSED_MEMORY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct refusal {
    _Atomic uint32_t refused; /* the tick after the one in which there was no memory; 0: none */
};

/* Was there no memory in this tick? */
static inline bool refusal_holds(const struct refusal *r, uint32_t tick)
{
    uint32_t after = atomic_load_explicit(&r->refused, memory_order_relaxed);
    return after && after == tick + 1;
}

/* Remembers that there was no memory in this tick, unless it was granted. Returns `granted`. */
static inline bool refusal_note(struct refusal *r, uint32_t tick, bool granted)
{
    if (!granted)
        atomic_store_explicit(&r->refused, tick + 1, memory_order_relaxed);
    return granted;
}

static inline void refusal_clear(struct refusal *r)
{
    atomic_store(&r->refused, 0);
}

#endif
