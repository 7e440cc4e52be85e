/*
 * Blocks of a program's own allocator, which it reports itself: tide_alloc and tide_free.
 *
 * Pools have names, and events have numbers: a name gets one when it is first used, and it is
 * reported to the collector. The table grows without a lock; two threads that use the same new name
 * at once may waste a number.
 */
#include <string.h>
#include <sys/syscall.h>

#include "record/recorder.h"

#define SLOTS 8192 /* places by hash: at most half are taken */

EXPORT void tide_alloc(const char *pool, const void *p, size_t size);
EXPORT void tide_free(const char *pool, const void *p);

struct pools {
    char names[WIRE_POOLS][WIRE_LABEL_SIZE]; /* by number; 0 is none */
    _Atomic uint16_t slots[SLOTS];
    _Atomic uint32_t last; /* number given */
};
static struct pools *_Atomic pools; /* made when it is first needed */

void pools_reset(void)
{
    struct pools *p = atomic_load(&pools);
    if (!p)
        return;
    uint32_t last = atomic_load(&p->last);
    memset(p->names, 0, (last < WIRE_POOLS ? last + 1 : WIRE_POOLS) * sizeof *p->names);
    memset((void *)p->slots, 0, sizeof p->slots);
    atomic_store(&p->last, 0);
}

static struct pools *the_pools(void)
{
    struct pools *known = atomic_load_explicit(&pools, memory_order_acquire);
    if (LIKELY(known))
        return known;
    struct pools *own = sys_map(sizeof *own);
    if (own && !atomic_compare_exchange_strong(&pools, &known, own)) {
        sys_call(SYS_munmap, own, (long)sizeof *own);
        return known;
    }
    recorder_own(own, sizeof *own);
    return own;
}

/* Its number; 0: there is no room. The last one stands for all further names. */
static unsigned number_of(struct thread *t, const char *name)
{
    struct pools *p = the_pools();
    uint32_t hash = 2166136261u, own = 0;
    if (!p)
        return 0;
    if (!name)
        name = "";
    size_t size = wire_label_size(name);
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ (uint8_t)name[i]) * 16777619u;
    for (uint32_t i = hash;; i++) {
        _Atomic uint16_t *slot = &p->slots[i % SLOTS];
        uint16_t there = atomic_load_explicit(slot, memory_order_acquire);
        if (!there) {
            if (!own) {
                own = atomic_fetch_add(&p->last, 1) + 1;
                if (own >= WIRE_POOLS_NAMED) {
                    atomic_store(&p->last, WIRE_POOLS);
                    return WIRE_POOLS - 1;
                }
                memcpy(p->names[own], name, size);
            }
            /* Pairs with the acquire above: a thread that finds the number finds the name. */
            if (atomic_compare_exchange_strong(slot, &there, (uint16_t)own)) {
                note_pool(t, own, p->names[own]);
                return own;
            }
        }
        if (memcmp(p->names[there], name, size) == 0 && !p->names[there][size])
            return there;
    }
}

void tide_alloc(const char *pool, const void *p, size_t size)
{
    struct thread *t = p ? thread_enter() : NULL;
    if (!t)
        return;
    unsigned number = recorder_paused() ? 0 : number_of(t, pool);
    if (number)
        event_pool_alloc(t, number, p, size, CALLER());
    thread_leave();
}

void tide_free(const char *pool, const void *p)
{
    struct thread *t = p ? thread_enter() : NULL;
    if (!t)
        return;
    unsigned number = number_of(t, pool);
    if (number)
        event_pool_free(t, number, p);
    thread_leave();
}
