/* From words in rings to numbers: what a program in good order writes. */
#include "test_drain_fixture.h"

/* --- one thread ------------------------------------------------------------------------------- */

static void test_one_thread(void **state)
{
    (void)state;
    struct ring r[3];
    struct target *t = target_open(r);
    alloc(&r[0], 0x10000, 100, 4, 1);
    alloc(&r[0], 0x20000, 50, 0, 3);
    assert_u64_equal(target_drain(t, 10), 4);
    assert_u64_equal(t->ledger.live.bytes, 150);
    assert_u64_equal(t->ledger.live.blocks, 2);
    assert_u64_equal(t->ledger.live.usable, 154);
    assert_u64_equal(t->blocks.count, 2);
    assert_u64_equal(r[0].shared->read, r[0].at);
    assert_u64_equal(target_drain(t, 20), 0);
    release(&r[0], 0x10000);
    alloc(&r[0], 0x10000, 7, 1, 1); /* and gone within the same pass */
    release(&r[0], 0x10000);
    assert_u64_equal(target_drain(t, 30), 4);
    assert_u64_equal(t->ledger.live.bytes, 50);
    assert_u64_equal(t->ledger.live.usable, 50);
    assert_u64_equal(t->ledger.peak_bytes, 150);
    assert_u64_equal(t->blocks.count, 1);
    assert_u64_equal(total(t, 1, 0, COL_ALLOCS), 2);
    assert_u64_equal(total(t, 1, 0, COL_BYTES), 107);
    assert_u64_equal(total(t, 1, 0, COL_FREED), 107);
    assert_u64_equal(total(t, 1, 0, COL_USABLE), 112);
    assert_u64_equal(total(t, 1, 0, COL_USABLE_FREED), 112);
    assert_u64_equal(total(t, 3, 0, COL_ALLOCS), 1);
    assert_u64_equal(t->events, 5);
    assert_clean(t);
    target_end(t, 40);
    target_finish(t);
    assert_u64_equal(t->profile.duration_ns, 40);
    assert_u64_equal(t->profile.peak_bytes, 150);
    assert_u64_equal(t->profile.peak_blocks, 2);
    assert_u64_equal(t->profile.peak_skew_bytes, 0);
    assert_u64_equal(t->profile.peak_time_ns, 10);
    assert_int_equal(t->profile.sites.count, 2);
    assert_int_equal(t->profile.sites.items[0].node, 1);
    assert_u64_equal(t->profile.sites.items[0].at_peak_bytes, 100);
    assert_u64_equal(t->profile.sites.items[0].at_peak_usable, 104);
    assert_int_equal(t->profile.nodes.count, 4);
    assert_int_equal(t->profile.nodes.items[3].parent, 2);
    assert_int_equal(t->profile.notes.count, 0);
    target_free(t);
}

static void test_large(void **state)
{
    (void)state;
    struct ring r[3];
    struct target *t = target_open(r);
    const uint64_t huge = UINT64_C(1) << 40;
    alloc_large(&r[0], 0x10000, huge, huge + 4096, 1);
    alloc_large(&r[0], 0x20000, 1000001, 1310720, 1); /* rounded up by an odd number */
    alloc_large(&r[0], 0x30000, 100, 65635, 1);       /* 65535 more than asked for */
    alloc_large(&r[0], 0x40000, 100, 50, 1);          /* less than asked for cannot be */
    target_drain(t, 1);
    assert_u64_equal(t->ledger.live.bytes, huge + 1000001 + 200);
    assert_u64_equal(t->ledger.live.usable, huge + 4096 + 1310720 + 65635 + 100);
    for (uint64_t address = 0x10000; address <= 0x40000; address += 0x10000)
        release(&r[0], address);
    target_drain(t, 2);
    assert_u64_equal(t->ledger.live.bytes, 0);
    assert_u64_equal(t->ledger.live.usable, 0);
    assert_u64_equal(t->ledger.accounts.items[0].site.largest_bytes, huge);
    assert_clean(t);
    target_free(t);
}

static void test_unknown_and_missed_frees(void **state)
{
    (void)state;
    struct ring r[3];
    struct target *t = target_open(r);
    release(&r[0], 0x999000);
    alloc(&r[0], 0x10000, 10, 6, 1);
    target_drain(t, 1);
    alloc(&r[0], 0x10000, 20, 4, 2); /* its free was not seen */
    target_drain(t, 2);
    assert_u64_equal(t->ledger.unknown_frees, 1);
    assert_u64_equal(t->missed_frees, 1);
    assert_u64_equal(t->ledger.live.bytes, 20);
    assert_u64_equal(t->ledger.live.blocks, 1);
    assert_u64_equal(total(t, 1, 0, COL_FREES), 1);
    assert_u64_equal(total(t, 1, 0, COL_TEMPS), 0);
    alloc(&r[0], 0x10000, 30, 2, 2); /* twice in one pass */
    alloc(&r[0], 0x10000, 40, 8, 2);
    release(&r[0], 0x10000);
    release(&r[0], 0x10000);
    target_drain(t, 3);
    assert_u64_equal(t->ledger.live.bytes, 0);
    assert_u64_equal(t->ledger.live.blocks, 0);
    assert_u64_equal(t->blocks.count, 0);
    uint64_t unknown = t->ledger.unknown_frees;
    assert_true(unknown >= 1 && t->missed_frees >= 2);
    target_end(t, 4);
    target_finish(t);
    assert_int_equal(t->profile.notes.count, 1);
    assert_u64_equal(t->profile.intervals.items[0].unknown_frees, unknown);
    target_free(t);
}

static void test_temporary(void **state)
{
    (void)state;
    for (int drains = 0; drains < 2; drains++) { /* all in one pass, and each event in its own */
        struct ring r[3];
        struct target *t = target_open(r);
#define NEXT (drains ? (void)target_drain(t, 1) : (void)0)
        alloc(&r[0], 0x10000, 10, 0, 1), NEXT;
        release(&r[0], 0x10000), NEXT; /* temporary */
        alloc(&r[0], 0x10000, 20, 0, 1), NEXT;
        alloc(&r[0], 0x20000, 30, 0, 1), NEXT;
        release(&r[0], 0x10000), NEXT; /* not: there was another allocation */
        release(&r[0], 0x20000), NEXT; /* temporary: frees between do not matter */
        alloc(&r[0], 0x30000, 40, 0, 1), NEXT;
        change(&r[0], 0x30000), NEXT; /* realloc is not a free */
        alloc(&r[0], 0x30000, 50, 0, 1), NEXT;
        release(&r[0], 0x30000), NEXT; /* temporary */
        alloc(&r[0], 0x40000, 60, 0, 1), NEXT;
        change(&r[0], 0x40000), NEXT;
        change_failed(&r[0]), NEXT;
        release(&r[0], 0x40000), NEXT; /* temporary: it is the same block still */
        alloc(&r[0], 0x50000, 70, 0, 1), NEXT;
#undef NEXT
        target_drain(t, 2);
        assert_u64_equal(total(t, 1, 0, COL_TEMPS), 4);
        assert_u64_equal(total(t, 1, 0, COL_TEMP_BYTES), 10 + 30 + 50 + 60);
        assert_u64_equal(total(t, 1, 0, COL_FREES), 6);
        assert_u64_equal(t->ledger.live.bytes, 70);
        assert_clean(t);
        target_free(t);
    }
}

/* A thread frees an address that it allocated last, but the block there is another thread's. */
static void test_not_temporary_when_another_thread_allocated(void **state)
{
    (void)state;
    struct ring r[3];
    struct target *t = target_open(r);
    clock_to(&r[0], 1), alloc(&r[0], 0x10000, 10, 0, 1);
    clock_to(&r[1], 2), release(&r[1], 0x10000);
    clock_to(&r[1], 3), alloc(&r[1], 0x10000, 20, 0, 2);
    clock_to(&r[0], 4), release(&r[0], 0x10000);
    target_drain(t, 1);
    assert_u64_equal(t->ledger.live.bytes, 0);
    assert_u64_equal(total(t, 1, 0, COL_FREES), 1);
    assert_u64_equal(total(t, 2, 1, COL_FREES), 1);
    assert_u64_equal(total(t, 1, 0, COL_TEMPS), 0);
    assert_u64_equal(total(t, 2, 1, COL_TEMPS), 0);
    assert_clean(t);
    target_free(t);
}

/* A thread frees what others allocated: counted for it, without a stack. */
static void test_frees_of_others(void **state)
{
    (void)state;
    struct ring r[3];
    struct target *t = target_open(r);
    for (uint64_t k = 1; k <= 4; k++)
        alloc(&r[0], 0x10000 * k, 10 * k, 0, 1);
    target_drain(t, 1);
    clock_to(&r[1], 1);
    alloc(&r[1], 0x50000, 7, 0, 2);
    release(&r[1], 0x10000);
    change(&r[1], 0x20000); /* succeeds */
    alloc(&r[1], 0x60000, 100, 0, 2);
    change(&r[1], 0x30000); /* fails */
    change_failed(&r[1]);
    release(&r[1], 0x60000); /* its own */
    target_drain(t, 2);
    change(&r[1], 0x40000);
    target_drain(t, 3);
    change_failed(&r[1]); /* in another pass */
    release(&r[1], 0x50000);
    release(&r[1], 0x777000); /* nobody's */
    target_drain(t, 4);
    clock_to(&r[0], 2);
    release(&r[0], 0x40000);
    target_drain(t, 5);
    assert_u64_equal(totals(t, 0, 1, DOMAIN_FOREIGN).columns[COL_ALLOCS], 2);
    assert_u64_equal(totals(t, 0, 1, DOMAIN_FOREIGN).columns[COL_BYTES], 10 + 20);
    assert_u64_equal(totals(t, 0, 0, DOMAIN_FOREIGN).columns[COL_ALLOCS], 0);
    assert_u64_equal(t->ledger.live.bytes, 30);
    assert_u64_equal(t->ledger.unknown_frees, 1);
    target_free(t);
}

static void test_reallocations(void **state)
{
    (void)state;
    for (int drains = 0; drains < 2; drains++) {
        struct ring r[3];
        struct target *t = target_open(r);
#define NEXT (drains ? (void)target_drain(t, 1) : (void)0)
        alloc(&r[0], 0x10000, 10, 2, 1), NEXT;
        change(&r[0], 0x10000), NEXT; /* moves */
        alloc(&r[0], 0x20000, 100, 4, 2), NEXT;
        change(&r[0], 0x20000), NEXT; /* stays */
        alloc(&r[0], 0x20000, 200, 8, 2), NEXT;
        change(&r[0], 0x20000), NEXT; /* fails */
        change_failed(&r[0]), NEXT;
        change(&r[0], 0x777000), NEXT; /* of a block that was never seen: fails, then succeeds */
        change_failed(&r[0]), NEXT;
        change(&r[0], 0x777000), NEXT;
        alloc(&r[0], 0x888000, 1000, 0, 1), NEXT;
        change_failed(&r[0]), NEXT; /* none is under way */
        alloc(&r[0], 0x30000, 5, 0, 1), NEXT;
#undef NEXT
        target_drain(t, 2);
        assert_u64_equal(t->ledger.live.bytes, 200 + 1000 + 5);
        assert_u64_equal(t->ledger.live.usable, 208 + 1000 + 5);
        assert_u64_equal(t->ledger.live.blocks, 3);
        assert_u64_equal(t->blocks.count, 3);
        assert_u64_equal(total(t, 1, 0, COL_ALLOCS), 3);
        assert_u64_equal(total(t, 1, 0, COL_REALLOCS), 1);
        assert_u64_equal(total(t, 1, 0, COL_FREES), 1);
        assert_u64_equal(total(t, 2, 0, COL_ALLOCS), 2);
        assert_u64_equal(total(t, 2, 0, COL_REALLOCS), 2);
        assert_u64_equal(total(t, 2, 0, COL_FREES), 1);
        assert_u64_equal(total(t, 2, 0, COL_FREED), 100);
        assert_u64_equal(t->ledger.unknown_frees, 1);
        assert_u64_equal(t->missed_frees, 0);
        release(&r[0], 0x20000);
        release(&r[0], 0x30000);
        release(&r[0], 0x888000);
        target_drain(t, 3);
        assert_u64_equal(t->ledger.live.bytes + t->ledger.live.usable + t->ledger.live.blocks, 0);
        target_free(t);
    }
}

static void test_mappings(void **state)
{
    (void)state;
    struct ring r[3];
    struct target *t = target_open(r);
    map(&r[0], 0x7f0000000000, 0x10000, 1);
    map(&r[0], 0x7f0000004000, 0x1000, 3); /* over a part of it */
    unmap(&r[0], 0x7f0000000000, 0x2000);
    alloc(&r[0], 0x10000, 1, 0, 1);
    target_drain(t, 1);
    struct row one = totals(t, 1, 0, DOMAIN_MAPPED), three = totals(t, 3, 0, DOMAIN_MAPPED);
    assert_u64_equal(one.columns[COL_BYTES], 0x10000);
    assert_u64_equal(one.columns[COL_FREED], 0x3000);
    assert_u64_equal(three.columns[COL_BYTES], 0x1000);
    assert_u64_equal(t->ledger.live.bytes, 1);
    assert_int_equal(t->program_mmaps.items.count, 3);
    unmap(&r[0], 0x7f0000000000, 0x10000);
    target_drain(t, 2);
    one = totals(t, 1, 0, DOMAIN_MAPPED), three = totals(t, 3, 0, DOMAIN_MAPPED);
    assert_u64_equal(one.columns[COL_FREED], 0x10000);
    assert_u64_equal(one.columns[COL_ALLOCS], one.columns[COL_FREES]);
    assert_u64_equal(three.columns[COL_FREED], 0x1000);
    assert_u64_equal(t->events, 5);
    assert_clean(t);
    target_free(t);
}

/* Records of all lengths over many chunks, with padding where they do not fit. */
static void test_chunks(void **state)
{
    (void)state;
    struct ring r[3];
    struct target *t = target_open(r);
    uint64_t seed = 9, bytes = 0, blocks = 0, words = 0;
    const uint64_t n = 200000;
    for (uint64_t i = 0; i < n; i++) {
        uint64_t address = 0x100000 + i * 16, size = unit_random(&seed) % 1000;
        if (unit_random(&seed) % 3)
            alloc(&r[0], address, size, 0, 1);
        else
            alloc_large(&r[0], address, size, size, 2);
        bytes += size;
        blocks++;
        if (unit_random(&seed) % 4 == 0) {
            release(&r[0], address);
            bytes -= size;
            blocks--;
        }
        if (r[0].at - r[0].shared->read > (WIRE_CHUNKS - 2) * WIRE_CHUNK_WORDS ||
            unit_random(&seed) % 5000 == 0) {
            words += target_drain(t, 1);
            assert_u64_equal(r[0].shared->read, r[0].at);
            assert_u64_equal(t->ledger.live.bytes, bytes);
            assert_u64_equal(t->ledger.live.blocks, blocks);
        }
    }
    words += target_drain(t, 2);
    assert_u64_equal(words, r[0].at - 1);
    assert_true(r[0].at > 100 * WIRE_CHUNK_WORDS); /* order[] went around */
    assert_u64_equal(t->ledger.live.bytes, bytes);
    assert_u64_equal(t->blocks.count, blocks);
    assert_u64_equal(t->ledger.allocations, n);
    assert_clean(t);
    target_free(t);
}

/* --- several threads -------------------------------------------------------------------------- */

/* The same address through three rings, read in one pass; the rings' numbers are in no order. */
static void test_address_through_three_rings(void **state)
{
    (void)state;
    static const unsigned orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                          {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    for (unsigned k = 0; k < 6; k++) {
        struct ring r[3];
        struct target *t = target_open(r);
        struct ring *a = &r[orders[k][0]], *b = &r[orders[k][1]], *c = &r[orders[k][2]];
        uint32_t ta = orders[k][0], tb = orders[k][1], tc = orders[k][2];
        clock_to(a, 1), alloc(a, 0x10000, 10, 0, 1);
        clock_to(b, 2), release(b, 0x10000);
        clock_to(b, 3), alloc(b, 0x10000, 200, 0, 2);
        clock_to(c, 4), release(c, 0x10000);
        clock_to(c, 5), alloc(c, 0x10000, 3000, 0, 3);
        clock_to(a, 6), release(a, 0x10000);
        clock_to(a, 7), alloc(a, 0x10000, 10, 0, 1);
        clock_to(b, 8), release(b, 0x10000);
        clock_to(b, 9), alloc(b, 0x10000, 40000, 0, 1);
        target_drain(t, 1);
        assert_clean(t);
        assert_u64_equal(t->ledger.live.bytes, 40000);
        assert_u64_equal(t->blocks.count, 1);
        assert_u64_equal(t->ledger.peak_bytes, 40000);
        assert_u64_equal(total(t, 1, ta, COL_FREED), 20);
        assert_u64_equal(total(t, 2, tb, COL_FREED), 200);
        assert_u64_equal(total(t, 3, tc, COL_FREED), 3000);
        assert_u64_equal(total(t, 1, tb, COL_ALLOCS), 1);
        assert_u64_equal(total(t, 1, tb, COL_FREES), 0);
        target_free(t);
    }
}

/* While a process has one thread its events have no time; they come before all that have. */
static void test_before_there_was_time(void **state)
{
    (void)state;
    for (unsigned k = 0; k < 2; k++) {
        struct ring r[3];
        struct target *t = target_open(r);
        struct ring *first = &r[k], *second = &r[!k];
        alloc(first, 0x10000, 10, 0, 1);
        alloc(first, 0x20000, 20, 0, 1);
        clock_to(second, 1), release(second, 0x10000);
        clock_to(second, 2), alloc(second, 0x10000, 100, 0, 2);
        clock_to(first, 3), release(first, 0x10000);
        clock_to(first, 4), release(first, 0x20000);
        clock_to(second, 5), alloc(second, 0x20000, 200, 0, 2);
        target_drain(t, 1);
        assert_clean(t);
        assert_u64_equal(t->ledger.live.bytes, 200);
        assert_u64_equal(total(t, 1, k, COL_FREED), 30);
        assert_u64_equal(total(t, 2, !k, COL_FREED), 100);
        target_free(t);
    }
}

enum { THREADS = 4, ADDRESSES = 64 };

struct shadow {
    bool live;
    uint32_t thread, stack;
    uint64_t size, clock; /* of the last event at the address, */
    uint32_t by;          /* and whose it was */
};

/*
 * Threads pass blocks around at random, with the recorder's rules for logical time; passes come at
 * random moments. Nothing is ever unknown or missed, and at the end every count is exact.
 */
static void test_threads_at_random(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 6; seed++) {
        struct ring r[THREADS];
        struct target *t = target_open(r);
        struct shadow shadows[ADDRESSES] = {0};
        uint64_t sums[THREADS][4][COLUMNS] = {0}, random = seed, live = 0, last[THREADS] = {0};
        uint64_t time[THREADS] = {0};
        r[3] = ring_of(t, 3);
        begin(&r[3], 103);
        for (int i = 0; i < 60000; i++) {
            uint32_t who = (uint32_t)(unit_random(&random) % THREADS);
            if (unit_random(&random) % 8 == 0)
                who = 0;
            uint64_t place = unit_random(&random) % ADDRESSES, address = 0x10000 + place * 64;
            struct shadow *s = &shadows[place];
            if (s->by != who && s->clock >= time[who]) /* another thread was here last */
                time[who] = s->clock + 1;
            clock_to(&r[who], time[who]);
            s->clock = time[who];
            s->by = who;
            if (s->live) {
                uint64_t *sum = sums[s->thread][s->stack];
                bool temporary = s->thread == who && last[who] == address;
                release(&r[who], address);
                s->live = false;
                live -= s->size;
                sum[COL_FREES]++;
                sum[COL_FREED] += s->size;
                sum[COL_USABLE_FREED] += s->size + 3;
                sum[COL_TEMPS] += temporary;
                sum[COL_TEMP_BYTES] += temporary ? s->size : 0;
            } else {
                *s = (struct shadow){.live = true,
                                     .thread = who,
                                     .stack = 1 + (uint32_t)(unit_random(&random) % 3),
                                     .size = unit_random(&random) % 100,
                                     .clock = time[who],
                                     .by = who};
                uint64_t *sum = sums[who][s->stack];
                alloc(&r[who], address, s->size, 3, s->stack);
                last[who] = address;
                live += s->size;
                sum[COL_ALLOCS]++;
                sum[COL_BYTES] += s->size;
                sum[COL_USABLE] += s->size + 3;
            }
            if (unit_random(&random) % 3000 == 0) {
                target_drain(t, 1);
                assert_u64_equal(t->ledger.live.bytes, live);
                assert_clean(t);
            }
        }
        target_drain(t, 2);
        assert_clean(t);
        assert_u64_equal(t->ledger.live.bytes, live);
        for (uint32_t who = 0; who < THREADS; who++)
            for (uint32_t stack = 1; stack < 4; stack++)
                for (unsigned k = 0; k < COLUMNS; k++)
                    assert_u64_equal(total(t, stack, who, k), sums[who][stack][k]);
        target_free(t);
    }
}

static void test_names_and_ends(void **state)
{
    (void)state;
    struct err err;
    struct target *t = target_new(getpid(), true, WIRE_WAIT, INTERVAL, &err);
    struct ring r = ring_of(t, 0), s = ring_of(t, 1);
    begin(&r, (uint32_t)getpid());
    name(&r, (uint32_t)getpid(), "test_drain"); /* the program's own name is no name */
    begin(&s, 7);
    target_drain(t, 5);
    assert_int_equal(t->profile.threads.count, 2);
    assert_string_equal(t->profile.threads.items[0].name, "main");
    assert_string_equal(t->profile.threads.items[1].name, "thread");
    name(&s, 7, "sixteen bytes ab");
    name(&s, 8, "not mine");
    name(&s, 7, "");
    name(&r, (uint32_t)getpid(), "captain");
    target_drain(t, 6);
    assert_string_equal(t->profile.threads.items[0].name, "captain");
    assert_string_equal(t->profile.threads.items[1].name, "sixteen bytes ab");
    record(&s, 1, WIRE_WORD(WIRE_THREAD_END, 0, 7), 0, 0, 0);
    begin(&s, 9); /* the ring goes to another thread */
    alloc(&s, 0x10000, 1, 0, 0);
    target_drain(t, 7);
    assert_int_equal(t->profile.threads.count, 3);
    assert_u64_equal(t->profile.threads.items[1].start_ns, 5);
    assert_u64_equal(t->profile.threads.items[1].end_ns, 7);
    assert_int_equal(t->profile.threads.items[2].tid, 9);
    assert_u64_equal(total(t, 0, 2, COL_ALLOCS), 1);
    target_free(t);
}

/* Threads without end: those after the first 4096 share one name. */
static void test_many_threads(void **state)
{
    (void)state;
    struct ring r[3];
    struct target *t = target_open(r);
    for (uint32_t i = 0; i < 10000; i++) {
        begin(&r[0], 1000 + i);
        alloc(&r[0], 0x10000 + i * 16, 1, 0, 1);
        record(&r[0], 1, WIRE_WORD(WIRE_THREAD_END, 0, 1000 + i), 0, 0, 0);
    }
    target_drain(t, 1);
    assert_int_equal(t->profile.threads.count, 4097);
    assert_string_equal(t->profile.threads.items[4096].name, "(other threads)");
    assert_u64_equal(total(t, 1, 4095, COL_ALLOCS), 1);
    assert_u64_equal(total(t, 1, 4096, COL_ALLOCS), 10000 - 4093);
    assert_clean(t);
    target_free(t);
}

static void test_more_rings(void **state)
{
    (void)state;
    struct ring r[3];
    struct target *t = target_open(r);
    size_t size;
    assert_true(target_more_rings(t, 0, &size) < 0);
    assert_true(target_more_rings(t, 1000000, &size) < 0);
    int fd = target_more_rings(t, 2, &size);
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(size, 2 * WIRE_RING_BYTES);
    assert_int_equal(t->readers.count, 6);
    struct ring more = ring_of(t, 5);
    begin(&more, 200);
    alloc(&more, 0x10000, 17, 0, 1);
    target_drain(t, 1);
    assert_u64_equal(t->ledger.live.bytes, 17);
    assert_clean(t);
    target_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_thread),
        cmocka_unit_test(test_large),
        cmocka_unit_test(test_unknown_and_missed_frees),
        cmocka_unit_test(test_temporary),
        cmocka_unit_test(test_not_temporary_when_another_thread_allocated),
        cmocka_unit_test(test_frees_of_others),
        cmocka_unit_test(test_reallocations),
        cmocka_unit_test(test_mappings),
        cmocka_unit_test(test_chunks),
        cmocka_unit_test(test_address_through_three_rings),
        cmocka_unit_test(test_before_there_was_time),
        cmocka_unit_test(test_threads_at_random),
        cmocka_unit_test(test_names_and_ends),
        cmocka_unit_test(test_many_threads),
        cmocka_unit_test(test_more_rings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
