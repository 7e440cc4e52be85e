/*
 * drain: from words in rings to entries in the ledger.
 *
 * Order. Within a ring events are in the thread's order. Between rings there is only cause and effect: a
 * block is freed after it was allocated, and its address is handed out again after that free was written (the hooks write a free before
 * they do it). A pass first notes how far every ring is, then reads that far. So what an event of pass n depends on has been read by the end
 * of pass n + 1 at the latest, and two oddities have one meaning each until then:
 *
 *   a free of a block we do not know: its allocation is in another ring; it waits (early_frees).
 *   an allocation at an address that is live: the free of the old block is in another ring (a realloc that moved, mostly); the old block ends now,
 *   and its free, when it comes from another thread, finds nothing left to do (owed_frees).
 *
 * Two passes later an early free is a block allocated before we came (unknown_frees), and an owed one was never going to come (missed_frees).
 *
 * Most blocks die young: of a batch of events, allocations whose free is in the same batch never enter the block table.
 */
#include <string.h>

#include "collect/target.h"

#define BATCH 1024
#define YOUNG 2048 /* places to remember a batch's allocations by address */

struct event {
    uint64_t address, size, usable;
    uint32_t stack;
    uint16_t partner; /* event + 1 of the same batch that frees or allocated this block */
    uint8_t kind;
    bool by_realloc;
    uint32_t account;
};

struct batch {
    struct event events[BATCH];
    unsigned count;
    uint16_t young[YOUNG]; /* hash of address -> event + 1 */
};

static unsigned young_place(uint64_t address)
{
    return (unsigned)((address >> 4) * UINT32_C(0x9e3779b1) >> 16) & (YOUNG - 1);
}

static inline uint64_t word_at(const struct reader *r, uint64_t position)
{
    /* volatile: the program could change it between two reads, and we must not see both */
    return *(const volatile uint64_t *)&r->words[position & (WIRE_RING_WORDS - 1)];
}

/* --- threads ---------------------------------------------------------------------------------- */

#define THREADS_APART 4096 /* those that come after are counted together */

static uint32_t thread_new(struct target *t, uint32_t tid, uint64_t now_ns)
{
    struct thread *thread = vec_push(&t->profile.threads);
    *thread = (struct thread){.tid = tid,
                              .name = xstrdup(tid == (uint32_t)t->pid ? "main" : "thread"),
                              .start_ns = now_ns};
    return (uint32_t)(t->profile.threads.count - 1);
}

static void thread_rename(struct target *t, struct reader *r, uint32_t tid, const char *name)
{
    struct thread *thread = &t->profile.threads.items[r->thread];
    if (thread->tid != tid || !*name)
        return;
    /* The first thread carries the program's name unless it took another. */
    if (tid == (uint32_t)t->pid) {
        const char *slash = t->profile.executable ? strrchr(t->profile.executable, '/') : NULL;
        if (strncmp(name, slash ? slash + 1 : "", 15) == 0)
            return;
        if (t->profile.command.count) {
            const char *own = strrchr(t->profile.command.items[0], '/');
            own = own ? own + 1 : t->profile.command.items[0];
            if (strncmp(name, own, 15) == 0)
                return;
        }
    }
    if (strcmp(thread->name, name) == 0)
        return;
    free(thread->name);
    thread->name = xstrdup(name);
}

static void thread_record(struct target *t, struct reader *r, const uint64_t *w, uint64_t now_ns)
{
    uint32_t tid = (uint32_t)w[0];
    switch (WIRE_KIND(w[0])) {
    case WIRE_THREAD_BEGIN:
        if (t->profile.threads.count < THREADS_APART) {
            r->thread = thread_new(t, tid, now_ns);
        } else {
            if (t->profile.threads.count == THREADS_APART) {
                struct thread *others = &t->profile.threads.items[thread_new(t, 0, now_ns)];
                free(others->name);
                others->name = xstrdup("(other threads)");
            }
            r->thread = THREADS_APART;
        }
        r->last_alloc = 0;
        break;
    case WIRE_THREAD_NAME: {
        char name[17] = {0};
        memcpy(name, &w[1], 16);
        thread_rename(t, r, tid, name);
        break;
    }
    default:
        t->profile.threads.items[r->thread].end_ns = now_ns;
        break;
    }
}

/* --- blocks ----------------------------------------------------------------------------------- */

static enum stack_state state_of(struct target *t, uint32_t node)
{
    if (node >= t->stack_states.count)
        target_update_code(t);
    return node < t->stack_states.count ? t->stack_states.items[node] : STACK_INCOMPLETE;
}

static uint32_t account_of(struct target *t, const struct reader *r, uint32_t stack,
                           enum domain domain)
{
    enum stack_state state = state_of(t, stack);
    if (stack >= t->stack_states.count)
        stack = 0; /* the program never made such a node: damage */
    return ledger_account(&t->ledger, stack, r->thread, domain, state);
}

static uint64_t usable_of(struct target *t, const struct block *b)
{
    uint64_t over = b->key & BLOCK_OVER_MAX;
    if (over == BLOCK_OVER_MAX) {
        uint32_t pages = map_get(&t->large_overs, block_address(b));
        return b->size + (pages == MAP_NONE ? over : (uint64_t)pages * 16);
    }
    return b->size + over;
}

static void free_block(struct target *t, struct block *b, bool temporary)
{
    ledger_free(&t->ledger, b->site, b->size, usable_of(t, b), temporary);
    t->pass_bytes += b->size;
    blocks_remove(&t->blocks, b);
}

static void wait_for(struct target *t, struct blocks *table, uint64_t address, uint32_t thread)
{
    blocks_add(table, &(struct block){.key = block_key(address, 0), .site = thread, .birth = t->pass});
    *vec_push(&t->waiting) =
        (struct waiting){.address = address, .pass = t->pass, .owed = table == &t->owed_frees};
}

static uint32_t thread_of(const struct target *t, uint32_t account)
{
    return t->ledger.accounts.items[account].site.thread;
}

static void process_alloc(struct target *t, struct reader *r, struct event *e)
{
    e->account = account_of(t, r, e->stack, DOMAIN_HEAP);
    r->last_alloc = e->address;
    t->pass_bytes += e->size;
    if (e->partner) { /* dies in this batch */
        ledger_alloc(&t->ledger, e->account, e->size, e->usable, e->by_realloc);
        return;
    }
    struct block *old = blocks_find(&t->blocks, e->address);
    if (old) {
        free_block(t, old, false);
        if (!blocks_find(&t->owed_frees, e->address))
            wait_for(t, &t->owed_frees, e->address, r->thread);
    }
    ledger_alloc(&t->ledger, e->account, e->size, e->usable, e->by_realloc);
    if (t->early_frees.count) {
        struct block *early = blocks_find(&t->early_frees, e->address);
        if (early && early->site != r->thread) {
            blocks_remove(&t->early_frees, early);
            ledger_free(&t->ledger, e->account, e->size, e->usable, false);
            return;
        }
    }
    uint64_t over = e->usable - e->size;
    if (over >= BLOCK_OVER_MAX)
        *map_at(&t->large_overs, e->address) = over / 16 < MAP_NONE ? (uint32_t)(over / 16) : MAP_NONE - 1;
    blocks_add(&t->blocks, &(struct block){.key = block_key(e->address, over),
                                           .size = e->size,
                                           .site = e->account,
                                           .birth = (uint32_t)t->timeline.slices.count});
}

static void process_free(struct target *t, struct reader *r, struct batch *batch, struct event *e)
{
    bool temporary = e->address == r->last_alloc && e->kind == WIRE_FREE;
    if (temporary)
        r->last_alloc = 0;
    if (e->partner) {
        struct event *a = &batch->events[e->partner - 1];
        t->pass_bytes += a->size;
        ledger_free(&t->ledger, a->account, a->size, a->usable, temporary);
        return;
    }
    struct block *b = blocks_find(&t->blocks, e->address);
    if (b && t->owed_frees.count && thread_of(t, b->site) != r->thread) {
        struct block *owed = blocks_find(&t->owed_frees, e->address);
        if (owed) { /* this is the free of the block that was there before */
            blocks_remove(&t->owed_frees, owed);
            return;
        }
    }
    if (b)
        free_block(t, b, temporary);
    else if (blocks_find(&t->early_frees, e->address))
        t->ledger.unknown_frees++;
    else
        wait_for(t, &t->early_frees, e->address, r->thread);
}

/* Frees and debts that no event can settle any more. */
void drain_expire(struct target *t, bool all)
{
    size_t i = 0;
    for (; i < t->waiting.count; i++) {
        struct waiting *w = &t->waiting.items[i];
        if (!all && t->pass - w->pass < 2)
            break;
        struct blocks *table = w->owed ? &t->owed_frees : &t->early_frees;
        struct block *b = blocks_find(table, w->address);
        if (!b || b->birth != w->pass)
            continue; /* settled */
        blocks_remove(table, b);
        if (w->owed)
            t->missed_frees++;
        else
            t->ledger.unknown_frees++;
    }
    t->waiting.count -= i;
    if (i)
        memmove(t->waiting.items, t->waiting.items + i, t->waiting.count * sizeof *t->waiting.items);
}

/* --- batches ---------------------------------------------------------------------------------- */

static void batch_pair(struct batch *b, unsigned i)
{
    struct event *e = &b->events[i];
    uint16_t *place = &b->young[young_place(e->address)];
    if (e->kind == WIRE_ALLOC) {
        *place = (uint16_t)(i + 1);
        return;
    }
    unsigned j = *place;
    if (j && b->events[j - 1].address == e->address && !b->events[j - 1].partner) {
        b->events[j - 1].partner = (uint16_t)(i + 1);
        e->partner = (uint16_t)j;
        *place = 0;
    }
}

static void batch_process(struct target *t, struct reader *r, struct batch *b)
{
    for (unsigned i = 0; i < b->count; i++)
        if (!b->events[i].partner)
            blocks_prefetch(&t->blocks, b->events[i].address);
    for (unsigned i = 0; i < b->count; i++) {
        struct event *e = &b->events[i];
        if (e->kind == WIRE_ALLOC)
            process_alloc(t, r, e);
        else
            process_free(t, r, b, e);
    }
    t->events += b->count;
    b->count = 0;
    memset(b->young, 0, sizeof b->young);
}

static void process_map(struct target *t, struct reader *r, const uint64_t *w)
{
    uint64_t address = w[0] & WIRE_LOW48;
    if (WIRE_KIND(w[0]) == WIRE_MAP)
        ranges_map(&t->ranges, &t->ledger, address, w[2],
                   account_of(t, r, (uint32_t)w[1], DOMAIN_MAPPED));
    else
        ranges_unmap(&t->ranges, &t->ledger, address, w[1]);
    t->events++;
}

/* Up to `most` events of a ring, as far as `head` and not beyond tick `limit`. false: nothing left to read now. */
static bool drain_some(struct target *t, struct reader *r, struct batch *b, uint32_t limit,
                       uint64_t now_ns)
{
    if (r->tick > limit || r->damaged)
        return false;
    while (r->at < r->head && b->count < BATCH) {
        uint64_t w[WIRE_RECORD_MAX];
        w[0] = word_at(r, r->at);
        unsigned kind = WIRE_KIND(w[0]), words = wire_record_words(kind);
        if (kind == WIRE_NOTHING || kind >= WIRE_KINDS || r->head - r->at < words) {
            r->damaged = true;
            t->ledger.lost_events++;
            r->at = r->head;
            break;
        }
        for (unsigned i = 1; i < words; i++)
            w[i] = word_at(r, r->at + i);
        if (kind == WIRE_TICK) {
            r->at += words;
            r->tick = (uint32_t)w[0];
            if (r->tick > limit)
                break;
            continue;
        }
        struct event *e = &b->events[b->count];
        uint64_t address = w[0] & WIRE_LOW48;
        switch (kind) {
        case WIRE_ALLOC:
        case WIRE_ALLOC_LARGE: {
            bool large = kind == WIRE_ALLOC_LARGE;
            uint64_t size = large ? w[2] & WIRE_LOW48 : w[1] >> 32;
            uint64_t usable = large ? w[3] & WIRE_LOW48 : size + WIRE_SMALL(w[0]);
            *e = (struct event){.address = address,
                                .size = size,
                                .usable = usable < size ? size : usable,
                                .stack = (uint32_t)w[1],
                                .kind = WIRE_ALLOC,
                                .by_realloc = r->realloc_follows};
            r->realloc_follows = false;
            batch_pair(b, b->count++);
            break;
        }
        case WIRE_FREE:
        case WIRE_REALLOC_FREE:
            *e = (struct event){.address = address, .kind = (uint8_t)kind};
            r->realloc_follows = kind == WIRE_REALLOC_FREE;
            batch_pair(b, b->count++);
            break;
        case WIRE_MAP:
        case WIRE_UNMAP:
            process_map(t, r, w);
            break;
        default:
            batch_process(t, r, b); /* what came before is the thread's that was */
            thread_record(t, r, w, now_ns);
            break;
        }
        r->at += words;
    }
    batch_process(t, r, b);
    /* Pairs with the acquire load in thread_room(): the words may be written again. */
    atomic_store_explicit(&r->ring->read, r->at, memory_order_release);
    return r->at < r->head && r->tick <= limit && !r->damaged;
}

/* All rings in turn, a batch each, so that threads which ran together are read together. */
static void drain_until(struct target *t, uint32_t limit, uint64_t now_ns)
{
    if (!t->batch)
        t->batch = xcalloc(1, sizeof *t->batch);
    for (bool more = true; more;) {
        more = false;
        for (size_t i = 0; i < t->readers.count; i++)
            more |= drain_some(t, &t->readers.items[i], t->batch, limit, now_ns);
    }
}

uint64_t drain_rings(struct target *t, uint64_t now_ns)
{
    uint64_t words = 0, before = t->ledger.peak_epoch;
    t->pass++;
    t->pass_bytes = 0;
    unsigned rings = 0;
    for (size_t i = 0; i < t->readers.count; i++) {
        struct reader *r = &t->readers.items[i];
        uint64_t written = atomic_load_explicit(&r->ring->written, memory_order_acquire);
        uint64_t dropped = atomic_load_explicit(&r->ring->dropped, memory_order_relaxed);
        if (written < r->at || written - r->at > WIRE_RING_WORDS)
            r->damaged = true;
        r->head = r->damaged ? r->at : written;
        words += r->head - r->at;
        rings += r->head != r->at;
        if (dropped > r->dropped)
            t->ledger.lost_events += dropped - r->dropped;
        r->dropped = dropped;
    }
    size_t done = 0;
    for (; done < t->boundaries.count; done++) {
        struct boundary *b = &t->boundaries.items[done];
        drain_until(t, b->tick, b->time_ns);
        timeline_close(&t->timeline, &t->ledger, b->time_ns);
    }
    t->boundaries.count = 0;
    drain_until(t, UINT32_MAX, now_ns);
    drain_expire(t, false);
    if (t->ledger.peak_epoch != before) {
        t->profile.peak_time_ns = now_ns;
        t->profile.peak_skew_bytes = rings > 1 ? t->pass_bytes : 0;
    }
    return words;
}
