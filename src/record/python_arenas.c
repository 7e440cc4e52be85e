/*
 * How much of CPython's arenas is resident, found by the thread that makes a mark.
 *
 * An arena is mapped at once, and its pages become resident as objects are created in it. The
 * collector knows which arenas exist at a mark, but cannot count their pages at that moment from
 * outside, because the program goes on meanwhile. So the thread that makes the mark asks the kernel
 * for the pages that are not resident yet. CPython maps a new arena only when all others are in
 * use, so only the last ones have such pages. Those that had some at the last mark are kept in a
 * small table; an arena leaves it when all of its pages are resident. If more are mapped between
 * two marks than the table has room for, the oldest is left out, and counts as resident.
 *
 * Threads need no lock: a slot is an address or 0, and is changed by compare-and-swap. An outdated
 * address does no harm: the kernel is only asked what is there.
 */
#include "record/python.h"
#include "record/recorder.h"

#define SLOTS       64u
#define ARENA_TO_39 ((size_t)256 << 10)
#define ARENA_SINCE ((size_t)1 << 20)

static _Atomic uintptr_t filling[SLOTS];
static _Atomic unsigned turn;   /* the slot to reuse next, if all are taken */
static _Atomic bool any_mapped; /* an arena was ever mapped */

size_t python_arena_bytes(void)
{
    return python.version >> 16 < 0x30a ? ARENA_TO_39 : ARENA_SINCE;
}

void python_arena_mapped(const void *p)
{
    atomic_store_explicit(&any_mapped, true, memory_order_relaxed);
    for (unsigned i = 0; i < SLOTS; i++) {
        uintptr_t none = 0;
        if (atomic_compare_exchange_strong(&filling[i], &none, (uintptr_t)p))
            return;
    }
    atomic_store(&filling[atomic_fetch_add(&turn, 1) % SLOTS], (uintptr_t)p);
}

static void forget(unsigned slot, uintptr_t arena)
{
    atomic_compare_exchange_strong(&filling[slot], &arena, 0);
}

void python_arena_unmapped(const void *p)
{
    if (!atomic_load_explicit(&any_mapped, memory_order_relaxed))
        return;
    for (unsigned i = 0; i < SLOTS; i++)
        if (atomic_load_explicit(&filling[i], memory_order_relaxed) == (uintptr_t)p)
            forget(i, (uintptr_t)p);
}

bool python_arenas_absent(uint64_t *absent_bytes)
{
    *absent_bytes = 0;
    if (!atomic_load_explicit(&any_mapped, memory_order_relaxed) || pages_may_be_swapped())
        return false;
    for (unsigned i = 0; i < SLOTS; i++) {
        uintptr_t arena = atomic_load_explicit(&filling[i], memory_order_relaxed);
        size_t absent;
        if (!arena)
            continue;
        if (!pages_absent(arena, arena + python_arena_bytes(), &absent) || !absent)
            forget(i, arena);
        else
            *absent_bytes += absent;
    }
    return true;
}
