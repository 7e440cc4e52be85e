/*
 * drain: from words in rings to entries in the ledger.
 *
 * Within a ring events are in the thread's order. Between rings they are read in the order of their
 * logical time (wire/layout.h), in which a block is freed after it was allocated and its address
 * comes up again after that. A pass notes how far every ring is, then looks again how far they are:
 * what the first look's events depend on was there by the second. So it reads, in order, until all
 * that the first look saw is done.
 *
 * Most blocks die young: in a batch of one ring's events, allocations whose free is in the same
 * batch never enter the block table. (If another thread had freed and allocated the address between
 * the two, their logical times would have ended the batch between them.)
 */
#include <string.h>

#include "collect/counting/ring_records.h"
#include "collect/counting/target.h"
#include "collect/counting/weights.h"

#define BATCH 512
#define AHEAD 16   /* events between asking for one of a block's cache lines and using it */
#define YOUNG 2048 /* places to remember a batch's allocations by address */

/* Kinds of allocations, of whatever size: those that realloc made are apart. */
enum { EVENT_ALLOC = WIRE_ALLOC, EVENT_REALLOCED = WIRE_ALLOC_LARGE };
static_assert(WIRE_ALLOC < WIRE_FREE && WIRE_ALLOC_LARGE < WIRE_FREE, "is_alloc");

struct event {
    uint64_t address, size, usable;
    uint32_t stack;
    uint16_t partner; /* event of the same batch that frees or allocated this block; 0: none */
    uint8_t kind;     /* EVENT_ALLOC, EVENT_REALLOCED, WIRE_FREE or WIRE_REALLOC */
    bool maybe;       /* of a free: its block need not be known */
    bool later;       /* likewise: not temporary, whatever the events say (run --sample) */
    uint32_t account;
};

struct batch {
    struct event events[1 + BATCH]; /* from 1 on; 0 is the thread's last one before them, if it was
                                       an allocation: struct reader.fresh */
    unsigned count;
    uint16_t young[YOUNG]; /* hash of address -> event */
};

static inline bool is_alloc(const struct event *e)
{
    return e->kind < WIRE_FREE;
}

static unsigned young_place(uint64_t address)
{
    return (unsigned)((address >> 4) * UINT32_C(0x9e3779b1) >> 16) & (YOUNG - 1);
}

/* volatile: the program could change a word between two reads of it, and we must not see both */
static inline uint64_t word_at(const struct reader *r, unsigned i)
{
    return ((const volatile uint64_t *)r->chunk)[r->at % WIRE_CHUNK_WORDS + i];
}

/* At the beginning of a chunk: finds it. false: the program says nonsense about where it is. */
static bool enter_chunk(struct reader *r)
{
    unsigned place = atomic_load_explicit(&r->ring->order[r->at / WIRE_CHUNK_WORDS % WIRE_ORDER],
                                          memory_order_relaxed);
    r->chunk = r->chunks + (size_t)place * WIRE_CHUNK_WORDS;
    return place < WIRE_CHUNKS;
}

/* --- blocks ----------------------------------------------------------------------------------- */

/* An account of the heap, where the same few stacks come again and again. */
static inline uint32_t heap_account_of(struct target *t, struct reader *r, uint32_t stack)
{
    struct recent_account *recent = &r->recent[stack % RECENT_ACCOUNTS];
    if (recent->stack != stack || recent->thread != r->thread)
        *recent = (struct recent_account){.stack = stack,
                                          .thread = r->thread,
                                          .account = record_account(t, r, stack, DOMAIN_HEAP)};
    return recent->account;
}

/* That will be asked for soon. */
static inline void expect_account(const struct target *t, const struct reader *r, uint32_t stack)
{
    const struct recent_account *recent = &r->recent[stack % RECENT_ACCOUNTS];
    if (recent->stack != stack || recent->thread != r->thread)
        ledger_prefetch(&t->ledger, stack, r->thread, DOMAIN_HEAP);
}

/* What a block counts for, and what an allocation does. */
static inline struct amount block_weight(const struct target *t, const struct block *b)
{
    return weigh(t->profile.sample_bytes, b->address, b->size, b->usable);
}

static inline struct amount event_weight(const struct target *t, const struct event *e)
{
    return weigh(t->profile.sample_bytes, e->address, e->size, e->usable);
}

/* A block of ours is no more: in which bucket that was counted. One that ends in the era of its
 * birth is in the shortest, where all are that are not counted. */
static inline unsigned count_life(struct target *t, const struct block *b)
{
    unsigned bucket = eras_life(&t->eras, b->birth);
    if (bucket && __builtin_expect(t->profile.sample_bytes != 0, 0))
        ledger_lived_weighed(&t->ledger, b->site, bucket, block_weight(t, b).blocks);
    else if (bucket)
        ledger_lived(&t->ledger, b->site, bucket);
    return bucket;
}

static inline void process_alloc(struct target *t, struct reader *r, struct event *e,
                                 bool by_realloc)
{
    struct amount weight = event_weight(t, e);
    r->last_alloc = e->address;
    t->pass_bytes += weight.bytes;
    if (!e->partner) { /* else it dies in this batch */
        struct block old, block = {.address = e->address,
                                   .size = e->size,
                                   .usable = e->usable,
                                   .site = e->account,
                                   .birth = eras_now(&t->eras)};
        if (blocks_put(&t->blocks, &block, &old)) { /* it was freed where we could not see it */
            ledger_free_by(&t->ledger, old.site, block_weight(t, &old), false, r->thread);
            count_life(t, &old);
            t->missed_frees++;
        }
    }
    ledger_alloc_weighed(&t->ledger, e->account, e->size, weight, by_realloc);
}

static inline struct fresh fresh_of(const struct target *t, const struct event *e)
{
    return (struct fresh){e->address, e->size, e->account, eras_now(&t->eras)};
}

/* Out of line: it is rare, and what it needs would be in the way. */
static __attribute__((noinline)) void look_closer(struct target *t, const struct reader *r,
                                                  const struct batch *batch, const struct event *e,
                                                  const struct block *old)
{
    const struct event *a = &batch->events[e->partner];
    struct fresh f = e - 1 == batch->events ? r->fresh : fresh_of(t, e - 1);
    struct block young = {
        .address = a->address, .size = a->size, .site = a->account, .birth = eras_now(&t->eras)};
    realloc_chains_replaced(t, &f, old ? old : &young);
}

/* Does a block go because a larger one takes its place, which was allocated just before? */
static inline bool may_be_growth(const struct target *t, const struct event *e, uint64_t old_size,
                                 uint32_t old_site)
{
    const struct event *latest = e - 1;
    return latest->kind == EVENT_ALLOC && !t->profile.sample_bytes && /* else not all are seen */
           realloc_chains_may_replace(latest->size, latest->account, old_size, old_site) &&
           !t->ledger.accounts.items[old_site].any_size;
}

static void process_free(struct target *t, struct reader *r, struct batch *batch, struct event *e)
{
    bool temporary = e->address == r->last_alloc && e->kind == WIRE_FREE && !e->later;
    if (temporary)
        r->last_alloc = 0;
    if (e->partner) {
        struct event *a = &batch->events[e->partner];
        ledger_free_by(&t->ledger, a->account, event_weight(t, a), temporary, r->thread);
        if (may_be_growth(t, e, a->size, a->account))
            look_closer(t, r, batch, e, NULL);
        return;
    }
    struct block block = {0};
    struct blocks *table = &t->blocks;
    unsigned life = 0;
    bool known = blocks_take(&t->blocks, e->address, &block), foreign = false;
    if (known) {
        /* Another thread may have freed ours and allocated at its address since. */
        struct amount weight = block_weight(t, &block);
        foreign = ledger_free_by(&t->ledger, block.site, weight, temporary, r->thread);
        r->foreign_blocks += foreign ? weight.blocks : 0;
        r->foreign_bytes += foreign ? weight.bytes : 0;
        life = count_life(t, &block);
        if (may_be_growth(t, e, block.size, block.site) && e->kind == WIRE_FREE)
            look_closer(t, r, batch, e, &block);
    } else if (inherit_take(t, e->address, &block, &table)) {
        known = true;
    } else if (!e->maybe) {
        *target_unknown_frees(t) += 1;
    }
    if (e->kind == WIRE_REALLOC) {
        r->old_known = known;
        r->old_foreign = foreign;
        r->old_counted = !known && !e->maybe;
        r->old_table = table;
        r->old = block;
        r->old_life = life;
    }
}

static void process_realloced(struct target *t, const struct reader *r, const struct event *e)
{
    struct fresh f = fresh_of(t, e);
    if (r->old_known && !t->profile.sample_bytes)
        realloc_chains_realloced(t, &f, &r->old);
}

/* The old block of a realloc is still there after all. */
static void process_realloc_failed(struct target *t, struct reader *r)
{
    if (!r->in_realloc)
        return;
    if (r->old_known && r->old_table != &t->blocks) {
        inherit_put(t, r->old_table, &r->old);
    } else if (r->old_known) {
        struct amount weight = block_weight(t, &r->old);
        ledger_unfree_weighed(&t->ledger, r->old.site, weight);
        if (r->old_foreign)
            ledger_unsample(&t->ledger,
                            ledger_account(&t->ledger, 0, r->thread, DOMAIN_FOREIGN, STACK_WHOLE),
                            weight.blocks, weight.bytes);
        if (r->old_life && t->profile.sample_bytes)
            ledger_unlived_weighed(&t->ledger, r->old.site, r->old_life, weight.blocks);
        else if (r->old_life)
            ledger_unlived(&t->ledger, r->old.site, r->old_life);
        struct block none;
        blocks_put(&t->blocks, &r->old, &none);
    } else if (r->old_counted && *target_unknown_frees(t)) {
        *target_unknown_frees(t) -= 1;
    }
}

/* What a thread freed and others had allocated has an account of its own. */
static void settle_foreign(struct target *t, struct reader *r)
{
    uint32_t account = ledger_account(&t->ledger, 0, r->thread, DOMAIN_FOREIGN, STACK_WHOLE);
    ledger_sample(&t->ledger, account, r->foreign_blocks, r->foreign_bytes, COLUMNS);
    r->foreign_blocks = r->foreign_bytes = 0;
}

/* --- batches ---------------------------------------------------------------------------------- */

static void batch_pair(struct batch *b, unsigned i)
{
    struct event *e = &b->events[i];
    uint16_t *place = &b->young[young_place(e->address)];
    if (is_alloc(e)) {
        *place = (uint16_t)i;
        return;
    }
    if (e->kind == WIRE_REALLOC)
        return; /* may be taken back, so its block is one of the table's */
    unsigned j = *place;
    if (j && b->events[j].address == e->address && !b->events[j].partner) {
        b->events[j].partner = (uint16_t)i;
        e->partner = (uint16_t)j;
        *place = 0;
    }
}

/* Before an event that `left` others follow. */
static inline void look_ahead(struct target *t, const struct event *e, unsigned left)
{
    if (AHEAD * 2 <= left) {
        const struct event *later = &e[AHEAD * 2];
        if (!later->partner)
            blocks_prefetch(&t->blocks, later->address);
        if (is_alloc(later))
            ledger_prefetch_account(&t->ledger, later->account);
    }
    if (AHEAD <= left && is_alloc(&e[AHEAD]))
        ledger_prefetch_size(&t->ledger, e[AHEAD].account, e[AHEAD].size);
    if (AHEAD <= left && !e[AHEAD].partner)
        blocks_prefetch_entry(&t->blocks, e[AHEAD].address);
}

static void batch_process(struct target *t, struct reader *r, struct batch *b)
{
    if (!b->count)
        return;
    b->events[0].kind = r->fresh.account != FRESH_NONE ? EVENT_ALLOC : WIRE_NOTHING;
    b->events[0].size = r->fresh.size;
    b->events[0].account = r->fresh.account;
    for (unsigned i = 1; i <= b->count; i++) {
        struct event *e = &b->events[i];
        if (is_alloc(e))
            e->account = heap_account_of(t, r, e->stack);
    }
    for (unsigned i = 1; i <= b->count; i++) {
        struct event *e = &b->events[i];
        look_ahead(t, e, b->count - i);
        if (e->kind == EVENT_ALLOC && e->partner == i + 1 && !t->profile.sample_bytes) {
            ledger_temporary(&t->ledger, e->account, e->size, e->usable);
            t->pass_bytes += e->size;
            r->last_alloc = 0;
            i++; /* its free is the next one */
        } else if (e->kind == EVENT_ALLOC) {
            process_alloc(t, r, e, false);
        } else if (e->kind == EVENT_REALLOCED) {
            process_alloc(t, r, e, true);
            process_realloced(t, r, e);
        } else {
            process_free(t, r, b, e);
        }
    }
    if (r->foreign_blocks)
        settle_foreign(t, r);
    const struct event *last = &b->events[b->count];
    r->fresh.account = FRESH_NONE;
    if (last->kind == EVENT_ALLOC)
        r->fresh = fresh_of(t, last);
    if (b->count < YOUNG / 16)
        for (unsigned i = 1; i <= b->count; i++)
            b->young[young_place(b->events[i].address)] = 0;
    else
        memset(b->young, 0, sizeof b->young);
    t->events += b->count;
    b->count = 0;
}

/* Is the record about the ring's thread or what it did? A ring says whose it is before that. */
static bool has_subject(unsigned kind)
{
    return kind != WIRE_TICK && kind != WIRE_CLOCK && kind != WIRE_PAD;
}

/*
 * A batch of a ring's events, not beyond tick `limit` nor logical time `until`: two rings of the
 * same time have nothing to do with each other. At least one record is read if the ring has any.
 */
static void drain_some(struct target *t, struct reader *r, struct batch *b, uint32_t limit,
                       uint64_t until, uint64_t now_ns)
{
    while (r->at < r->head && b->count < BATCH) {
        uint64_t w[WIRE_RECORD_MAX];
        unsigned kind = WIRE_NOTHING, words = 0;
        if (r->at % WIRE_CHUNK_WORDS != 0 || enter_chunk(r)) {
            w[0] = word_at(r, 0);
            kind = WIRE_KIND(w[0]);
            words = t->in_place ? wire_counted_words(kind) : wire_record_words(kind);
        }
        if (kind == WIRE_NOTHING || kind >= WIRE_KINDS || r->head - r->at < words ||
            WIRE_CHUNK_WORDS - r->at % WIRE_CHUNK_WORDS < words ||
            (r->thread == NO_THREAD && kind != WIRE_THREAD_BEGIN && has_subject(kind))) {
            r->damaged = true;
            t->ledger.lost_events++;
            r->at = r->due = r->head;
            break;
        }
        for (unsigned i = 1; i < words; i++)
            w[i] = word_at(r, i);
        r->at += words;
        if (t->in_place && kind <= WIRE_GROWTH) {
            accounts_record(t, r, w);
            continue;
        }
        struct event *e = &b->events[b->count + 1];
        uint64_t address = w[0] & WIRE_LOW48;
        switch (kind) {
        case WIRE_ALLOC:
        case WIRE_ALLOC_LARGE: {
            bool large = kind == WIRE_ALLOC_LARGE;
            uint64_t size = large ? w[2] & WIRE_LOW48 : w[1] >> 32;
            uint64_t usable = large ? w[3] & WIRE_LOW48 : size + WIRE_DETAIL(w[0]);
            *e = (struct event){.address = address,
                                .size = size,
                                .usable = usable < size ? size : usable,
                                .stack = (uint32_t)w[1],
                                .kind = r->in_realloc ? EVENT_REALLOCED : EVENT_ALLOC};
            r->in_realloc = false;
            expect_account(t, r, e->stack);
            batch_pair(b, ++b->count);
            continue;
        }
        case WIRE_FREE:
        case WIRE_REALLOC:
            *e = (struct event){.address = address,
                                .kind = (uint8_t)kind,
                                .maybe = WIRE_DETAIL(w[0]) == WIRE_FREE_MAYBE,
                                .later = WIRE_DETAIL(w[0]) == WIRE_FREE_LATER};
            r->in_realloc = kind == WIRE_REALLOC;
            batch_pair(b, ++b->count);
            continue;
        case WIRE_TICK:
            r->tick = (uint32_t)w[0];
            if (t->in_place && w[1] > t->accounts.interval_peak_bytes)
                t->accounts.interval_peak_bytes = w[1];
            break;
        case WIRE_PAD:
            r->at = (r->at + WIRE_CHUNK_WORDS - 1) / WIRE_CHUNK_WORDS * WIRE_CHUNK_WORDS;
            continue;
        case WIRE_CLOCK:
            r->clock = address > r->clock ? address : r->clock;
            if (r->clock > until)
                break;
            continue;
        default:
            break;
        }
        batch_process(t, r, b); /* what follows is about the state after these */
        if (kind == WIRE_NOTE) {
            uint32_t tick = marks_note(t, r->thread, w);
            r->tick = tick > r->tick ? tick : r->tick;
            r->in_realloc = false;
        }
        if (kind == WIRE_TICK || kind == WIRE_CLOCK || kind == WIRE_NOTE) {
            if (r->tick > limit || r->clock > until)
                break;
        } else if (kind == WIRE_MAP || kind == WIRE_UNMAP) {
            record_map(t, r, w);
        } else if (kind == WIRE_FORK) {
            if (t->in_place)
                accounts_inherited(t, w[1], w[2]);
            inherit_fork(t, (uint32_t)w[0]);
        } else if (kind == WIRE_REALLOC_FAILED) {
            process_realloc_failed(t, r);
            r->in_realloc = false;
        } else {
            record_thread(t, r, w, now_ns);
        }
    }
    batch_process(t, r, b);
    /* Pairs with the acquire load in thread_room(): the words may be written again. */
    atomic_store_explicit(&r->ring->read, r->at, memory_order_release);
}

/* Reads what is due up to a tick, always from the ring that is furthest behind in logical time. */
static void drain_until(struct target *t, uint32_t limit, uint64_t now_ns)
{
    for (;;) {
        struct reader *behind = NULL;
        uint64_t until = UINT64_MAX; /* the next one's time */
        bool due = false;
        for (size_t i = 0; i < t->active.count; i++) {
            struct reader *r = t->active.items[i];
            if (r->at >= r->head || r->tick > limit)
                continue;
            due |= r->at < r->due;
            if (!behind || r->clock < behind->clock) {
                if (behind)
                    until = behind->clock;
                behind = r;
            } else if (r->clock < until) {
                until = r->clock;
            }
        }
        if (!due)
            return;
        drain_some(t, behind, t->batch, limit, until, now_ns);
    }
}

static uint64_t written_in(struct target *t, struct reader *r)
{
    uint64_t written = atomic_load_explicit(&r->ring->written, memory_order_acquire);
    if (!r->damaged && (written < r->at || written - r->at > WIRE_RING_WORDS)) {
        r->damaged = true;
        t->ledger.lost_events++;
    }
    if (r->damaged) { /* we cannot make sense of it, but its thread must not wait for us */
        r->at = written;
        atomic_store_explicit(&r->ring->read, written, memory_order_release);
    }
    return written;
}

#define LOOKS       8
#define PATIENCE_NS 50000000   /* for threads that have not noticed that an interval has ended, */
#define TELLING_NS  1000000000 /* and for those that are just telling what they did before */

/* Is it better to look at the accounts later? Of one thread alone: what several tell of one block is
 * to be read in about the order in which it happened. The last boundary alone may be put off: what
 * comes after it is not read meanwhile. */
static bool puts_off(const struct target *t, size_t i, uint64_t now_ns)
{
    const struct boundary *b = &t->boundaries.items[i];
    const struct reader *only = NULL;
    if (!t->patient || !b->patient || i + 1 != t->boundaries.count ||
        now_ns - b->time_ns > PATIENCE_NS)
        return false;
    for (size_t k = 0; k < t->readers.count; k++) {
        const struct reader *r = &t->readers.items[k];
        if (r->thread == NO_THREAD || r->damaged)
            continue;
        if (only)
            return false;
        only = r;
    }
    uint32_t dirty = only ? atomic_load_explicit(&only->ring->dirty, memory_order_relaxed) : 0;
    return only && only->tick <= b->tick && dirty && dirty != WIRE_LAST;
}

/* At the end of an interval: what threads have counted that have not noticed it yet. One that is
 * just noticing writes rows, which are read then; false: one is still at it. */
static bool look_at_accounts(struct target *t, uint32_t tick, uint64_t now_ns)
{
    bool again = true;
    for (unsigned tries = 0; tries < LOOKS && again; tries++) {
        again = false;
        for (size_t i = 0; i < t->readers.count; i++) {
            struct reader *r = &t->readers.items[i];
            if (r->tick > tick || accounts_look(t, r, false))
                continue;
            if (r->head == r->at) {
                bool listed = false;
                for (size_t k = 0; k < t->active.count; k++)
                    listed |= t->active.items[k] == r;
                if (!listed)
                    *vec_push(&t->active) = r;
            }
            r->head = r->due = written_in(t, r);
            again = true;
        }
        if (again)
            drain_until(t, tick, now_ns);
    }
    accounts_take_counters(t);
    return !again;
}

void drain_look(struct target *t, uint64_t now_ns)
{
    if (t->in_place && t->header)
        look_at_accounts(t, t->tick, now_ns);
}

uint64_t drain_rings(struct target *t, uint64_t now_ns)
{
    uint64_t words = 0, peaks = t->ledger.peak_epoch, before = t->ledger.live.bytes;
    unsigned rings = 0;
    size_t held = 0; /* boundaries: left for a later pass */
    t->pass_bytes = t->pass_words = t->active.count = 0;
    if (!t->batch)
        t->batch = xcalloc(1, sizeof *t->batch);
    if (t->in_place)
        accounts_note_counters(t);
    uint64_t unrecorded = atomic_load_explicit(&t->header->unrecorded, memory_order_relaxed);
    if (unrecorded > t->unrecorded)
        t->ledger.lost_events += unrecorded - t->unrecorded;
    t->unrecorded = unrecorded;
    for (size_t i = 0; i < t->readers.count; i++) {
        struct reader *r = &t->readers.items[i];
        uint64_t dropped = atomic_load_explicit(&r->ring->dropped, memory_order_relaxed);
        r->due = written_in(t, r);
        words += r->due - r->at;
        if (r->due - r->at > t->pass_words)
            t->pass_words = r->due - r->at;
        rings += r->due != r->at;
        if (dropped > r->dropped)
            t->ledger.lost_events += dropped - r->dropped;
        r->dropped = dropped;
    }
    for (size_t i = 0; i < t->readers.count; i++) {
        struct reader *r = &t->readers.items[i];
        r->head = written_in(t, r);
        if (r->head > r->at)
            *vec_push(&t->active) = r;
    }
    for (size_t i = 0; i < t->boundaries.count; i++) {
        struct boundary *b = &t->boundaries.items[i];
        bool kept;
        drain_until(t, b->tick, b->time_ns);
        if (t->in_place &&
            (puts_off(t, i, now_ns) || (!look_at_accounts(t, b->tick, b->time_ns) && t->patient &&
                                        now_ns - b->time_ns < TELLING_NS))) {
            held = t->boundaries.count - i;
            memmove(t->boundaries.items, b, held * sizeof *b);
            break;
        }
        if (t->in_place)
            accounts_end_interval(t, b->tick);
        uint64_t end_ns = marks_end(t, b, &kept);
        interval_log_close(&t->timeline, &t->ledger, end_ns, b->tick, kept);
        eras_begin(&t->eras, end_ns, b->tick + 1,
                   t->in_place || !kept || t->timeline.kept < INTERVAL_LOG_KEPT);
    }
    t->boundaries.count = held;
    if (t->in_place)
        accounts_begin_era(t, now_ns);
    else
        eras_begin(&t->eras, t->eras.pass_ns, t->tick, false);
    /* Marks that were made since the boundaries were looked at get theirs in the next pass; what
     * follows them has to wait for it. After the last look at how far rings were written. */
    uint32_t made = atomic_load(&t->header->tick);
    uint32_t limit = held ? t->boundaries.items[0].tick : t->tick;
    drain_until(t, held || made - t->tick - 1 < INT32_MAX ? limit : UINT32_MAX, now_ns);
    realloc_chains_settle(t);
    t->eras.pass_ns = now_ns;
    if (t->in_place) {
        accounts_take_unknown(t);
        accounts_watch_peak(t, now_ns);
    } else if (t->ledger.peak_epoch != peaks) {
        t->profile.peak_time_ns = now_ns;
        /* In whatever order the threads really were, the total stayed between these two. */
        uint64_t after = t->ledger.live.bytes, low = before > after ? before : after;
        t->profile.peak_skew_bytes = rings > 1 ? before + t->pass_bytes - low : 0;
    }
    return words;
}
