/*
 * The program's side of the shared memory, for tests of the collector's: words are written into
 * rings by hand, as they should be and as they should not.
 */
#ifndef TIDE_TEST_DRAIN_FIXTURE_H
#define TIDE_TEST_DRAIN_FIXTURE_H

#include "unit.h"

#include <time.h>
#include <unistd.h>

#include "collect/counting/target.h"

#define INTERVAL UINT64_C(1000000)

/* --- the program ------------------------------------------------------------------------------ */

struct ring {
    struct target *target;
    struct wire_ring *shared;
    uint64_t *chunks;
    uint64_t at;
};

/* The program gives this ring to a thread, unless it has. */
static inline struct ring ring_of(struct target *t, unsigned number)
{
    if (t->header->rings_used <= number)
        t->header->rings_used = number + 1;
    target_meet_rings(t);
    struct reader *r = &t->readers.items[number];
    return (struct ring){.target = t, .shared = r->ring, .chunks = (uint64_t *)r->chunks};
}

static inline void put(struct ring *r, uint64_t word)
{
    uint64_t chunk = r->at / WIRE_CHUNK_WORDS;
    unsigned place = (unsigned)((chunk * 5 + 3) % WIRE_CHUNKS); /* not in order, but all of them */
    r->shared->order[chunk % WIRE_ORDER] = (uint8_t)place;
    r->chunks[place * WIRE_CHUNK_WORDS + r->at % WIRE_CHUNK_WORDS] = word;
    r->at++;
}

/* No record crosses from one chunk into the next. */
static inline void record_words(struct ring *r, unsigned words, const uint64_t *all)
{
    uint64_t left = WIRE_CHUNK_WORDS - r->at % WIRE_CHUNK_WORDS;
    if (left < words) {
        put(r, WIRE_WORD(WIRE_PAD, 0, 0));
        r->at += left - 1;
    }
    for (unsigned i = 0; i < words; i++)
        put(r, all[i]);
    r->shared->written = r->at;
}

static inline void record(struct ring *r, unsigned words, uint64_t a, uint64_t b, uint64_t c,
                          uint64_t d)
{
    const uint64_t all[] = {a, b, c, d};
    record_words(r, words, all);
}

static inline void tick_to(struct ring *r, uint64_t tick)
{
    record(r, 2, WIRE_WORD(WIRE_TICK, 0, tick), 0, 0, 0);
}

/* A new thread has accounts of its own. */
static inline void begin_at(struct ring *r, uint32_t tid, uint64_t monotonic_ns)
{
    static uint32_t owners;
    r->shared->owner = 0;
    r->shared->dirty = WIRE_LAST;
    record(r, 2, WIRE_WORD(WIRE_THREAD_BEGIN, 0, tid), monotonic_ns, 0, 0);
    r->shared->owner_from = r->shared->written;
    r->shared->owner = ++owners * WIRE_ACCOUNT_OWNER;
}

static inline void begin(struct ring *r, uint32_t tid)
{
    begin_at(r, tid, 0);
}

/* An account in the first window, as the program writes to it. */
static inline struct wire_account *account_at(struct target *t, uint32_t number)
{
    return (struct wire_account *)(uintptr_t)t->accounts.windows[0] + number;
}

/* The account of the ring's thread for a stack, or for another thread's account. */
static inline uint32_t account_of(struct ring *r, uint32_t node, uint32_t flags)
{
    struct target *t = r->target;
    uint32_t end = t->header->totals.accounts_end, owner = r->shared->owner | flags;
    for (uint32_t n = end; n-- > WIRE_ACCOUNT_USUAL;)
        if (account_at(t, n)->owner == owner && account_at(t, n)->node == node)
            return n;
    assert_true(end < WIRE_ACCOUNTS_FIRST);
    *account_at(t, end) = (struct wire_account){.owner = owner, .node = node};
    t->header->totals.accounts_end = end + 1;
    return end;
}

/* Changes an account, as the only one of its thread that has changed. */
static inline struct wire_account *changed(struct ring *r, uint32_t number, struct wire_account as)
{
    struct wire_account *a = account_at(r->target, number);
    as.owner = a->owner;
    as.node = a->node;
    as.next_dirty = WIRE_LAST;
    *a = as;
    atomic_store(&r->shared->dirty, number);
    return a;
}

static inline void row(struct ring *r, uint32_t account, uint64_t allocs, uint64_t bytes,
                       uint64_t slack)
{
    const uint64_t words[7] = {WIRE_WORD(WIRE_ROW, 0, account), allocs << 32, bytes, 0,
                               slack << 32};
    record_words(r, 7, words);
}

static inline void row_of_frees(struct ring *r, uint32_t account, uint64_t frees, uint64_t bytes,
                                uint64_t slack)
{
    const uint64_t words[7] = {WIRE_WORD(WIRE_ROW, 0, account), frees, 0, bytes, slack};
    record_words(r, 7, words);
}

/* A row for each block: rows add up. */
static inline void alloc(struct ring *r, uint64_t size, unsigned over, uint32_t stack)
{
    row(r, account_of(r, stack, 0), 1, size, over);
}

static inline void release(struct ring *r, uint64_t size, unsigned over, uint32_t stack)
{
    row_of_frees(r, account_of(r, stack, 0), 1, size, over);
}

static inline void map(struct ring *r, uint64_t address, uint64_t size, uint32_t stack)
{
    record(r, 3, WIRE_WORD(WIRE_MAP, 0, address), stack, size, 0);
}

static inline void unmap(struct ring *r, uint64_t address, uint64_t size)
{
    record(r, 3, WIRE_WORD(WIRE_UNMAP, 0, address), size, 0, 0);
}

/* What follows has this number among all threads. */
static inline void sequence(struct ring *r, uint64_t number)
{
    record(r, 1, WIRE_WORD(WIRE_SEQUENCE, 0, number), 0, 0, 0);
}

static inline void name(struct ring *r, uint32_t tid, const char *text)
{
    uint64_t words[2] = {0};
    memcpy(words, text, strlen(text) < 16 ? strlen(text) : 16);
    record(r, 4, WIRE_WORD(WIRE_THREAD_NAME, 0, tid), words[0], words[1], 0);
}

/* The slots of the stack tree, those of its first window. */
static inline uint64_t *slots(struct target *t)
{
    return (uint64_t *)(void *)((char *)t->header + t->header->slots_offset);
}

/* As the recorder does it: a branch, unless the caller is the slot before. */
static inline uint32_t node(struct target *t, uint32_t caller, uint64_t address)
{
    uint32_t at = t->header->slots_end;
    if (caller != at - 1)
        slots(t)[at++] = WIRE_SLOT_BRANCH | caller;
    slots(t)[at] = address;
    t->header->slots_end = at + 1;
    return at;
}

/* A target with stacks 1, 2 and 3, each calling the next, and the rings 0 to 2 begun by threads 100
 * to 102. */
static inline struct target *target_open(struct ring rings[3])
{
    struct err err;
    struct target *t = target_new(getpid(), true, WIRE_WAIT, INTERVAL, &err);
    assert_non_null(t);
    for (uint32_t i = 1; i <= 3; i++)
        assert_int_equal(node(t, i - 1, i << 12), i);
    for (unsigned i = 0; i < 3; i++) {
        rings[i] = ring_of(t, i);
        begin(&rings[i], 100 + i);
    }
    assert_u64_equal(target_drain(t, 0), 3 * wire_record_words(WIRE_THREAD_BEGIN));
    return t;
}

/* --- what came of it -------------------------------------------------------------------------- */

/* Everything that ever happened at a site: intervals that are closed and the open one. */
static inline struct row totals(struct target *t, uint32_t stack, uint32_t thread,
                                enum domain domain)
{
    struct row sum = {0};
    uint32_t number = ledger_find(&t->ledger, stack, thread, domain);
    if (number == MAP_NONE)
        return sum;
    struct delta delta = ledger_delta(&t->ledger, number);
    memcpy(sum.columns, delta.columns, sizeof sum.columns);
    return sum;
}

static inline uint64_t total(struct target *t, uint32_t stack, uint32_t thread, enum column column)
{
    return totals(t, stack, thread, DOMAIN_HEAP).columns[column];
}

static inline void assert_clean(struct target *t)
{
    assert_u64_equal(t->missed_frees, 0);
    assert_u64_equal(t->ledger.unknown_frees, 0);
    assert_u64_equal(t->ledger.lost_events, 0);
    for (size_t i = 0; i < t->readers.count; i++)
        assert_false(t->readers.items[i].damaged);
}

/* Finishes a target and puts its sites into the profile, where tests can see them. */
static inline void finish(struct target *t)
{
    target_finish_stacks(t);
    target_finish(t);
    ledger_become_sites(&t->ledger, &t->profile, t->sampled.joined);
}

#endif
