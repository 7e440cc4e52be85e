/*
 * A thread's ring: room for what it writes next, and what happens when there is none. The collector
 * reads it (collect/counting/read_rings.c). Whether a thread waits or drops events when the ring is
 * full is decided by run --on-full.
 */
#include <sys/syscall.h>

#include "record/recorder.h"

#define CONFINED_PAUSES (UINT64_C(1) << 28) /* some seconds */
#define NAP_FIRST_NS    10000
#define NAP_MOST_NS     1000000   /* a longer one would delay the thread more than it saves */
#define ALIVE_EACH_NS   200000000 /* how often a thread that waits checks the collector */
#define ALIVE_EACH_LOST 65536     /* after how many losses one that drops events does */

/* Enters the next chunk, if one is free: the lowest, which is most likely in the cache. */
static bool next_chunk(struct thread *t)
{
    struct wire_ring *ring = t->ring;
    uint64_t read = atomic_load_explicit(&ring->read, memory_order_acquire) / WIRE_CHUNK_WORDS;
    for (; t->chunk_freed < read && t->chunk_freed < t->chunk; t->chunk_freed++)
        t->free_chunks |= 1u << (atomic_load(&ring->order[t->chunk_freed % WIRE_ORDER]) & 31);
    if (!t->free_chunks)
        return false;
    unsigned chunk = (unsigned)__builtin_ctz(t->free_chunks);
    t->free_chunks &= ~(1u << chunk);
    atomic_store_explicit(&ring->order[t->chunk % WIRE_ORDER], (uint8_t)chunk,
                          memory_order_relaxed);
    t->at = (uint64_t *)((char *)ring + WIRE_PAGE) + (size_t)chunk * WIRE_CHUNK_WORDS;
    t->end = t->at + WIRE_CHUNK_WORDS;
    t->bias = t->chunk * WIRE_CHUNK_WORDS - (uintptr_t)t->at / 8;
    t->chunk++;
    return true;
}

/* What was written but not published was half an event: the ring continues where the collector will
 * read next. */
void ring_recover(struct thread *t)
{
    uint64_t written = atomic_load_explicit(&t->ring->written, memory_order_relaxed);
    if (written == t->chunk * WIRE_CHUNK_WORDS) /* nothing in it yet, or it was being taken */
        t->at = t->end;
    else
        t->at = (uint64_t *)((written - t->bias) * 8);
}

/*
 * We may neither sleep nor ask whether the collector lives. So the wait has an end; and once it was
 * in vain nobody waits, until there is room again.
 */
static bool confined_room(struct thread *t, unsigned events)
{
    static _Atomic bool in_vain;
    for (uint64_t i = 0; !atomic_load(&in_vain) && i < CONFINED_PAUSES; i++) {
        if (next_chunk(t))
            return true;
        arch_pause();
    }
    bool room = next_chunk(t);
    atomic_store(&in_vain, !room);
    if (!room)
        atomic_fetch_add_explicit(&t->ring->dropped, events, memory_order_relaxed);
    return room;
}

static void end_chunk(struct thread *t)
{
    if (t->at != t->end) {
        *t->at = WIRE_WORD(WIRE_PAD, 0, 0);
        t->at = t->end;
        event_publish(t);
    }
}

bool ring_spare_room(struct thread *t)
{
    uint64_t read = atomic_load_explicit(&t->ring->read, memory_order_acquire);
    uint64_t unread = atomic_load_explicit(&t->ring->written, memory_order_relaxed) - read;
    if (unread > WIRE_RING_WORDS / 4 * 3)
        return false;
    end_chunk(t);
    return next_chunk(t);
}

bool ring_room(struct thread *t, unsigned events)
{
    uint64_t nap_ns = NAP_FIRST_NS, waited_ns = 0;
    end_chunk(t);
    while (!next_chunk(t)) {
        if (atomic_load_explicit(&recorder.state, memory_order_relaxed) == STATE_OFF)
            return false;
        if (recorder.header->on_full == WIRE_DROP) {
            uint64_t dropped =
                atomic_fetch_add_explicit(&t->ring->dropped, events, memory_order_relaxed);
            if (dropped % ALIVE_EACH_LOST == ALIVE_EACH_LOST - 1 && !recorder_collector_alive())
                recorder_stop();
            return false;
        }
        if (atomic_load_explicit(&recorder.confined, memory_order_relaxed))
            return confined_room(t, events);
        struct {
            long seconds, ns;
        } nap = {0, (long)nap_ns};
        if (!waited_ns)
            atomic_fetch_add_explicit(&t->ring->waits, 1, memory_order_relaxed);
        sys_call(SYS_nanosleep, &nap, 0L);
        waited_ns += nap_ns;
        if (nap_ns < NAP_MOST_NS)
            nap_ns *= 2;
        if (waited_ns >= ALIVE_EACH_NS) {
            waited_ns = 1; /* not 0: this wait has been counted */
            if (atomic_load(&recorder.header->detached) || !recorder_collector_alive())
                recorder_stop();
        }
    }
    return true;
}
