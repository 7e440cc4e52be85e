#include "collect/counting/ring_records.h"

#include <string.h>

#include "collect/counting/threads.h"

/* The ledger's account of a stack and the ring's thread. If the program never made the stack, the
 * account of stack 0. */
static uint32_t record_account(struct target *t, const struct reader *r, uint32_t stack,
                               enum domain domain)
{
    uint32_t known = ledger_find(&t->ledger, stack, r->thread, domain);
    if (known != MAP_NONE)
        return known;
    enum stack_state state;
    if (!program_stacks_state(&t->program_stacks, stack, &state)) {
        stack = 0; /* the program never made such a stack: damage */
        state = STACK_INCOMPLETE;
    }
    return ledger_account(&t->ledger, stack, r->thread, domain, state);
}

/* When the program wrote a record, which may be long before the collector reads it. */
static uint64_t since_start_ns(const struct target *t, uint64_t monotonic_ns)
{
    return monotonic_ns > t->start_monotonic_ns ? monotonic_ns - t->start_monotonic_ns : 0;
}

void record_thread(struct target *t, struct reader *r, const uint64_t *w)
{
    if (WIRE_KIND(w[0]) == WIRE_THREAD_BEGIN)
        thread_numbers_update(&t->thread_numbers);
    uint32_t tid = thread_numbers_outside(&t->thread_numbers, (uint32_t)w[0]);
    switch (WIRE_KIND(w[0])) {
    case WIRE_THREAD_BEGIN:
        r->thread = r->first_thread =
            thread_begin(t, tid, WIRE_DETAIL(w[0]) != 0, since_start_ns(t, w[1]));
        r->names = 0;
        break;
    case WIRE_THREAD_NAME: {
        char name[17] = {0};
        memcpy(name, &w[1], 16);
        if (WIRE_DETAIL(w[0]) || r->names++ < 2) {
            thread_rename(t, r->thread, tid, WIRE_DETAIL(w[0]), name);
            break;
        }
        r->thread =
            thread_renames(t, r->thread, r->first_thread, tid, name, since_start_ns(t, w[3]));
        break;
    }
    default: {
        uint64_t end_ns = since_start_ns(t, w[1]);
        t->profile.threads.items[r->thread].end_ns = end_ns ? end_ns : 1; /* 0: has not ended */
        break;
    }
    }
}

/* Saves what sites have now for the last peak that the program has noted. */
static void set_epoch(struct ledger *l, uint64_t epoch)
{
    if (epoch > l->peak_epoch)
        l->peak_epoch = epoch;
}

void record_map(struct target *t, struct reader *r, const uint64_t *w)
{
    uint64_t address = w[0] & WIRE_LOW48;
    bool maps = WIRE_KIND(w[0]) == WIRE_MAP;
    unsigned detail = WIRE_DETAIL(w[0]); /* of a map: the pool; else enum wire_unmap */
    t->events++;
    if (!maps && detail == WIRE_GPU_REFUSED) {
        pools_put_back(t, &r->freed, address);
        return;
    }
    if (!maps && detail >= WIRE_GPU_RETAINED) {
        pools_gpu_reference(t, detail, address, w[1], w[2]);
        return;
    }
    set_epoch(&t->ledger, maps ? w[1] >> WIRE_MAP_EPOCH : w[2]);
    if (maps && detail) {
        pools_alloc(t, detail, record_account(t, r, (uint32_t)w[1], pools_domain(detail)), address,
                    w[2]);
    } else if (!maps && detail == WIRE_UNMAP_POOL) {
        pools_free(t, w[1], address, &r->freed);
    } else if (maps) {
        bool arena = w[1] & WIRE_MAP_ARENA;
        r->cuts.items.count = 0;
        t->python.has_arenas |= arena;
        program_mmaps_map(
            &t->program_mmaps, &t->ledger, address, w[2],
            record_account(t, r, (uint32_t)w[1], arena ? DOMAIN_ARENA : DOMAIN_MAPPED));
    } else if (detail == WIRE_UNMAP_DONE) {
        program_mmaps_unmap(&t->program_mmaps, &t->ledger, address, w[1], &r->cuts);
    } else {
        program_mmaps_put_back(&t->program_mmaps, &t->ledger, &r->cuts);
    }
}
