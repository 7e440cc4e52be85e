/* From words in rings to numbers: what a program in good order writes. */
#include "test_read_rings_fixture.h"

#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collect/counting/heap_peak.h"

/* --- one thread ------------------------------------------------------------------------------- */

static void test_one_thread(void **state)
{
    (void)state;
    struct ring r[3];
    struct target *t = target_open(r);
    alloc(&r[0], 100, 4, 1);
    alloc(&r[0], 50, 0, 3);
    assert_u64_equal(target_drain(t, 10), 14);
    assert_u64_equal(t->ledger.live.bytes, 150);
    assert_u64_equal(t->ledger.live.blocks, 2);
    assert_u64_equal(t->ledger.live.usable, 154);
    assert_u64_equal(r[0].shared->read, r[0].at);
    assert_u64_equal(target_drain(t, 20), 0);
    release(&r[0], 100, 4, 1);
    alloc(&r[0], 7, 1, 1);
    release(&r[0], 7, 1, 1);
    assert_u64_equal(target_drain(t, 30), 21);
    assert_u64_equal(t->ledger.live.bytes, 50);
    assert_u64_equal(t->ledger.live.usable, 50);
    assert_u64_equal(total(t, 1, 0, COL_ALLOCS), 2);
    assert_u64_equal(total(t, 1, 0, COL_BYTES), 107);
    assert_u64_equal(total(t, 1, 0, COL_FREED), 107);
    assert_u64_equal(total(t, 1, 0, COL_USABLE), 112);
    assert_u64_equal(total(t, 1, 0, COL_USABLE_FREED), 112);
    assert_u64_equal(total(t, 3, 0, COL_ALLOCS), 1);
    assert_u64_equal(t->events, 5);
    assert_clean(t);
    target_end(t, 40);
    finish(t);
    assert_u64_equal(t->profile.duration_ns, 40);
    assert_int_equal(t->profile.sites.count, 2);
    assert_int_equal(t->profile.sites.items[0].node, 1);
    assert_int_equal(t->profile.nodes.count, 4);
    assert_int_equal(t->profile.nodes.items[3].parent, 2);
    assert_int_equal(t->profile.notes.count, 0);
    target_free(t);
}

/* What a row of two words says is what one of seven says. */
static void test_small_rows(void **state)
{
    (void)state;
    struct ring r[3];
    struct target *t = target_open(r);
    uint32_t account = account_of(&r[0], 2, 0);
    const uint64_t counts = UINT64_C(9) << 40 | UINT64_C(4) << 32 | account;
    const uint64_t sizes = UINT64_C(900) << 44 | UINT64_C(400) << 24 | 90 << 12 | 40;
    record(&r[0], 2, WIRE_WORD(WIRE_ROW_SMALL, 1, counts), sizes, 0, 0);
    record(&r[0], 2, WIRE_WORD(WIRE_ROW_SMALL, 0, counts), sizes, 0, 0);
    const uint64_t large[7] = {WIRE_WORD(WIRE_ROW, 0, account), UINT64_C(1) << 32 | 2, 1000, 20,
                               UINT64_C(3) << 32 | 4,           UINT64_C(2) << 32 | 1, 20};
    record_words(&r[0], 7, large);
    target_drain(t, 1);
    assert_u64_equal(total(t, 2, 0, COL_ALLOCS), 19);
    assert_u64_equal(total(t, 2, 0, COL_BYTES), 2800);
    assert_u64_equal(total(t, 2, 0, COL_FREES), 10);
    assert_u64_equal(total(t, 2, 0, COL_FREED), 820);
    assert_u64_equal(total(t, 2, 0, COL_TEMPS), 4 + 2);
    assert_u64_equal(total(t, 2, 0, COL_TEMP_BYTES), 400 + 20);
    assert_u64_equal(total(t, 2, 0, COL_REALLOCS), 1);
    assert_u64_equal(total(t, 2, 0, COL_USABLE), 2800 + 183);
    assert_u64_equal(total(t, 2, 0, COL_USABLE_FREED), 820 + 84);
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
        alloc(&r[0], 10 * k, 0, 1);
    uint32_t others = account_of(&r[1], account_of(&r[0], 1, 0), WIRE_ACCOUNT_OTHERS);
    alloc(&r[1], 7, 0, 2);
    row_of_frees(&r[1], others, 2, 10 + 20, 0);
    target_drain(t, 2);
    release(&r[0], 40, 0, 1);
    release(&r[1], 7, 0, 2);
    target_drain(t, 3);
    assert_u64_equal(totals(t, 0, 1, DOMAIN_FOREIGN).columns[COL_ALLOCS], 2);
    assert_u64_equal(totals(t, 0, 1, DOMAIN_FOREIGN).columns[COL_BYTES], 10 + 20);
    assert_u64_equal(totals(t, 0, 0, DOMAIN_FOREIGN).columns[COL_ALLOCS], 0);
    assert_u64_equal(total(t, 1, 0, COL_FREES), 3);
    assert_u64_equal(t->ledger.live.bytes, 30);
    for (const struct account *a = t->ledger.accounts.items; a <= vec_last(&t->ledger.accounts);
         a++)
        assert_int_equal(a->own_peak_shared, a->domain == DOMAIN_HEAP && a->node == 1);
    assert_clean(t);
    target_free(t);
}

/* A block that another thread frees before the interval ends was live nevertheless. */
static void test_own_peak_of_a_block_that_another_frees(void **state)
{
    (void)state;
    struct ring r[3];
    struct target *t = target_open(r);
    uint32_t account = account_of(&r[0], 1, 0);
    changed(&r[0], account, (struct wire_account){.allocs = 1, .size = 100, .slack = 4});
    changed(&r[1], account_of(&r[1], account, WIRE_ACCOUNT_OTHERS),
            (struct wire_account){.frees = 1, .size = 100, .slack = 4});
    drain_counters(t);
    assert_u64_equal(t->ledger.live.bytes, 0);
    heap_peak_settle(t, 5);
    struct site_amounts m = site_amounts_get(&t->ledger.amounts, &t->ledger.accounts.items[0]);
    assert_u64_equal(m.own_peak_bytes, 100);
    assert_u64_equal(m.own_peak_blocks, 1);
    target_free(t);
}

/* While all blocks of an account are alike, their number says everything. */
static void test_blocks_that_are_alike(void **state)
{
    (void)state;
    struct ring r[3];
    struct target *t = target_open(r);
    struct wire_account *a = changed(&r[0], account_of(&r[0], 1, 0),
                                     (struct wire_account){.allocs = 5,
                                                           .frees = 2,
                                                           .temps = 1,
                                                           .own_peak_blocks = 4,
                                                           .saved_blocks = 2,
                                                           .saved_epoch = 1,
                                                           .size = 100,
                                                           .slack = 4});
    t->header->totals.peak_bytes = 1000; /* noted in epoch 1 */
    drain_counters(t);
    assert_u64_equal(total(t, 1, 0, COL_BYTES), 500);
    assert_u64_equal(total(t, 1, 0, COL_FREED), 200);
    assert_u64_equal(total(t, 1, 0, COL_USABLE), 520);
    assert_u64_equal(total(t, 1, 0, COL_USABLE_FREED), 208);
    assert_u64_equal(total(t, 1, 0, COL_TEMP_BYTES), 100);
    heap_peak_settle(t, 5);
    struct account *site = &t->ledger.accounts.items[0];
    assert_u64_equal(ledger_at_peak(&t->ledger, site).bytes, 300); /* live now: more than saved */
    a->saved_blocks = 4;
    heap_peak_settle(t, 5);
    assert_u64_equal(ledger_at_peak(&t->ledger, site).bytes, 400);
    assert_u64_equal(ledger_at_peak(&t->ledger, site).usable, 416);
    assert_u64_equal(ledger_at_peak(&t->ledger, site).blocks, 4);
    struct site_amounts m = site_amounts_get(&t->ledger.amounts, site);
    assert_u64_equal(m.own_peak_bytes, 400);
    assert_u64_equal(m.own_peak_blocks, 4);
    assert_u64_equal(m.largest_bytes, 100);
    target_free(t);
}

/* Once they are not, the amounts say how many bytes these are, and `size` means nothing. */
static void test_blocks_that_are_not_alike(void **state)
{
    (void)state;
    struct ring r[3];
    struct target *t = target_open(r);
    uint32_t number = account_of(&r[0], 1, 0), amounts = t->header->totals.accounts_end + 1;
    amounts += amounts % 2;
    t->header->totals.accounts_end = amounts + 2;
    *(struct wire_amounts *)(void *)account_at(t, amounts) =
        (struct wire_amounts){.bytes = 1100,
                              .freed = 100,
                              .slack = 12,
                              .slack_freed = 8,
                              .own_peak_bytes = 1050,
                              .largest_bytes = 1000};
    struct wire_account as = {.allocs = 2, .frees = 1, .own_peak_blocks = 2, .size = WIRE_NO_SIZE};
    as.amounts = amounts;
    struct wire_account *a = changed(&r[0], number, as);
    drain_counters(t);
    assert_u64_equal(total(t, 1, 0, COL_BYTES), 1100);
    assert_u64_equal(total(t, 1, 0, COL_USABLE_FREED), 108);
    heap_peak_settle(t, 5);
    assert_int_equal(t->ledger.accounts.count, 1); /* the amounts do not look like an account */
    struct site_amounts m = site_amounts_get(&t->ledger.amounts, &t->ledger.accounts.items[0]);
    assert_u64_equal(m.at_peak.bytes, 1000);
    assert_u64_equal(m.own_peak_bytes, 1050);
    assert_u64_equal(m.own_peak_blocks, 2);
    assert_u64_equal(m.largest_bytes, 1000);
    for (uint32_t absurd = 1; absurd; absurd <<= 1) { /* the program has overwritten it */
        struct wire_amounts read;
        a->amounts = absurd - 1;
        assert_true(accounts_read(t, number, &as, &read));
    }
    target_free(t);
}

/* They may be read before anything of the thread that allocated: they wait for it. */
static void test_frees_before_the_allocations(void **state)
{
    (void)state;
    struct ring r[3];
    struct err err;
    struct target *t = target_new(getpid(), true, WIRE_WAIT, INTERVAL, &err);
    for (uint32_t i = 1; i <= 3; i++)
        assert_int_equal(node(t, i - 1, i << 12), i);
    for (unsigned i = 0; i < 2; i++)
        r[i] = ring_of(t, i);
    begin(&r[0], 100);
    target_drain(t, 0);
    r[1].shared->owner = UINT32_C(1) << 30;
    uint32_t late = account_of(&r[1], 2, 0);
    row_of_frees(&r[0], account_of(&r[0], late, WIRE_ACCOUNT_OTHERS), 1, 10, 0);
    target_drain(t, 1);
    assert_u64_equal(t->ledger.live.bytes, 0);
    assert_int_equal(t->accounts.early.count, 1);
    record(&r[1], 2, WIRE_WORD(WIRE_THREAD_BEGIN, 0, 101), 0, 0, 0);
    alloc(&r[1], 10, 0, 2);
    alloc(&r[1], 5, 0, 2);
    target_drain(t, 2);
    drain_counters(t);
    assert_int_equal(t->accounts.early.count, 0);
    assert_true(t->ledger.accounts.items[0].own_peak_shared);
    assert_u64_equal(t->ledger.live.bytes, 5);
    assert_u64_equal(total(t, 2, 1, COL_FREES), 1);
    target_free(t);
}

/* An interval may end between the two: its rows are packed, and must not mean anything else when the
 * size of the blocks is known. */
static void test_frees_in_an_earlier_interval(void **state)
{
    (void)state;
    struct ring r[3];
    struct target *t = target_open(r);
    uint32_t own = account_of(&r[0], 1, 0);
    row_of_frees(&r[1], account_of(&r[1], own, WIRE_ACCOUNT_OTHERS), 2, 100, 12);
    target_drain(t, 1);
    interval_log_close(&t->timeline, &t->ledger, 2, 1, false);
    row(&r[0], own, 4, 4 * 64, 0);
    target_drain(t, 3);
    assert_u64_equal(total(t, 1, 0, COL_BYTES), 4 * 64);
    const struct units units = ledger_units(&t->ledger);
    const struct strbuf *packed = &t->timeline.slices.items[0].rows;
    struct cursor c = {.at = (const uint8_t *)packed->data,
                       .end = (const uint8_t *)packed->data + packed->size};
    uint32_t previous = UINT32_MAX;
    struct row first;
    assert_true(row_take(&c, &previous, &first, &units));
    assert_u64_equal(first.columns[COL_FREES], 2);
    assert_u64_equal(first.columns[COL_FREED], 100);
    assert_u64_equal(first.columns[COL_USABLE_FREED], 112);
    target_free(t);
}

/* A mark is noticed while its thread still reports what it did before: its interval waits for that. */
static void test_mark_of_a_thread_that_reports(void **state)
{
    (void)state;
    struct ring r[3];
    struct target *t = target_open(r);
    target_drain(t, 1);
    r[0].shared->rows_written = 1;
    wire_move_tick(t->header);
    target_pass(t, 2);
    assert_int_equal(t->timeline.slices.count, 0);
    alloc(&r[0], 10, 0, 1);
    r[0].shared->rows_written = 2;
    target_pass(t, 3);
    assert_int_equal(t->timeline.slices.count, 1);
    assert_u64_equal(t->timeline.slices.items[0].live_bytes, 10);
    target_free(t);
}

static void *report_soon(void *ring)
{
    struct ring *r = ring;
    usleep(1000);
    alloc(r, 10, 0, 1);
    r->shared->rows_written = 2;
    return NULL;
}

/* The same if the interval must end now: the thread is waited for, if it goes on. */
static void test_mark_that_must_end_now(void **state)
{
    (void)state;
    struct ring r[3];
    pthread_t thread;
    struct target *t = target_open(r);
    target_drain(t, 1);
    r[0].shared->rows_written = 1;
    wire_move_tick(t->header);
    pthread_create(&thread, NULL, report_soon, &r[0]);
    target_drain(t, 2);
    pthread_join(thread, NULL);
    assert_int_equal(t->timeline.slices.count, 1);
    assert_u64_equal(t->timeline.slices.items[0].live_bytes, 10);
    r[0].shared->rows_written = 3; /* and it stays so */
    t->stopped = true;
    wire_move_tick(t->header);
    target_drain(t, 3);
    assert_int_equal(t->timeline.slices.count, 2);
    target_free(t);
}

/* A ring goes from one thread to the next: whose an account is, is known when that has been read. */
static void test_next_thread_of_a_ring(void **state)
{
    (void)state;
    uint32_t site;
    struct ring r[3];
    struct target *t = target_open(r);
    alloc(&r[0], 10, 0, 1);
    target_drain(t, 1);
    begin(&r[0], 300);
    uint32_t account = account_of(&r[0], 2, 0);
    assert_false(accounts_site(t, account, &site));
    target_drain(t, 2);
    assert_true(accounts_site(t, account, &site));
    uint32_t thread = t->ledger.accounts.items[site].thread;
    assert_int_equal(t->profile.threads.items[thread].tid, 300);
    target_free(t);
}

static void test_mappings(void **state)
{
    (void)state;
    struct ring r[3];
    struct target *t = target_open(r);
    map(&r[0], 0x7f0000000000, 0x10000, 1);
    map(&r[0], 0x7f0000004000, 0x1000, 3); /* over a part of it */
    unmap(&r[0], 0x7f0000000000, 0x2000);
    alloc(&r[0], 1, 0, 1);
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
    const uint64_t n = 100000;
    uint32_t account = account_of(&r[0], 1, 0);
    for (uint64_t i = 0; i < n; i++) {
        uint64_t size = unit_random(&seed) % 1000;
        if (unit_random(&seed) % 3)
            record(&r[0], 2, WIRE_WORD(WIRE_ROW_SMALL, 0, UINT64_C(1) << 40 | account), size << 44,
                   0, 0);
        else
            alloc(&r[0], size, 0, 2);
        bytes += size;
        blocks++;
        if (r[0].at - r[0].shared->read > (WIRE_CHUNKS - 2) * WIRE_CHUNK_WORDS ||
            unit_random(&seed) % 5000 == 0) {
            words += target_drain(t, 1);
            assert_u64_equal(r[0].shared->read, r[0].at);
            assert_u64_equal(t->ledger.live.bytes, bytes);
            assert_u64_equal(t->ledger.live.blocks, blocks);
        }
    }
    words += target_drain(t, 2);
    assert_u64_equal(words, r[0].at - wire_record_words(WIRE_THREAD_BEGIN));
    assert_true(r[0].at > 80 * WIRE_CHUNK_WORDS); /* order[] went around */
    assert_u64_equal(t->ledger.live.bytes, bytes);
    assert_u64_equal(t->ledger.allocations, n);
    assert_clean(t);
    target_free(t);
}

/* --- several threads -------------------------------------------------------------------------- */

/* The same mapping through three rings, read in one pass; the rings' numbers are in no order. */
static void test_mapping_through_three_rings(void **state)
{
    (void)state;
    static const unsigned orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                          {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    for (unsigned k = 0; k < 6; k++) {
        struct ring r[3];
        struct target *t = target_open(r);
        struct ring *a = &r[orders[k][0]], *b = &r[orders[k][1]], *c = &r[orders[k][2]];
        uint32_t ta = orders[k][0], tb = orders[k][1], tc = orders[k][2];
        const uint64_t at = 0x7f0000000000;
        sequence(a, 1), map(a, at, 0x1000, 1);
        sequence(b, 2), unmap(b, at, 0x1000);
        sequence(b, 3), map(b, at, 0x2000, 2);
        sequence(c, 4), unmap(c, at, 0x2000);
        sequence(c, 5), map(c, at, 0x3000, 3);
        sequence(a, 6), unmap(a, at, 0x3000);
        sequence(a, 7), map(a, at, 0x1000, 1);
        sequence(b, 8), unmap(b, at, 0x1000);
        sequence(b, 9), map(b, at, 0x4000, 1);
        target_drain(t, 1);
        assert_clean(t);
        assert_int_equal(t->program_mmaps.items.count, 1);
        assert_u64_equal(totals(t, 1, ta, DOMAIN_MAPPED).columns[COL_FREED], 0x2000);
        assert_u64_equal(totals(t, 2, tb, DOMAIN_MAPPED).columns[COL_FREED], 0x2000);
        assert_u64_equal(totals(t, 3, tc, DOMAIN_MAPPED).columns[COL_FREED], 0x3000);
        assert_u64_equal(totals(t, 1, tb, DOMAIN_MAPPED).columns[COL_ALLOCS], 1);
        assert_u64_equal(totals(t, 1, tb, DOMAIN_MAPPED).columns[COL_FREES], 0);
        target_free(t);
    }
}

/* While a process has one thread its records have no numbers; they come before all that have. */
static void test_before_there_were_threads(void **state)
{
    (void)state;
    for (unsigned k = 0; k < 2; k++) {
        struct ring r[3];
        struct target *t = target_open(r);
        struct ring *first = &r[k], *second = &r[!k];
        map(first, 0x7f0000000000, 0x1000, 1);
        map(first, 0x7f0000100000, 0x2000, 1);
        sequence(second, 1), unmap(second, 0x7f0000000000, 0x1000);
        sequence(second, 2), map(second, 0x7f0000000000, 0x4000, 2);
        sequence(first, 3), unmap(first, 0x7f0000000000, 0x4000);
        sequence(first, 4), unmap(first, 0x7f0000100000, 0x2000);
        sequence(second, 5), map(second, 0x7f0000100000, 0x8000, 2);
        target_drain(t, 1);
        assert_clean(t);
        assert_u64_equal(totals(t, 1, k, DOMAIN_MAPPED).columns[COL_FREED], 0x3000);
        assert_u64_equal(totals(t, 2, !k, DOMAIN_MAPPED).columns[COL_FREED], 0x4000);
        target_free(t);
    }
}

/* A thread's times are those at which it wrote its records, not those at which they are read. */
static void test_names_and_ends(void **state)
{
    (void)state;
    struct err err;
    struct target *t = target_new(getpid(), true, WIRE_WAIT, INTERVAL, &err);
    t->start_monotonic_ns = 1000;
    struct ring r = ring_of(t, 0), s = ring_of(t, 1);
    begin(&r, (uint32_t)getpid());
    name(&r, (uint32_t)getpid(), "test_read_rings"); /* the program's own name is no name */
    begin_at(&s, 7, 1003);
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
    record(&s, 2, WIRE_WORD(WIRE_THREAD_END, 0, 7), 1006, 0, 0);
    begin(&s, 9); /* the ring goes to another thread */
    alloc(&s, 1, 0, 0);
    target_drain(t, 7);
    assert_int_equal(t->profile.threads.count, 3);
    assert_u64_equal(t->profile.threads.items[1].start_ns, 3);
    assert_u64_equal(t->profile.threads.items[1].end_ns, 6);
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
    for (uint32_t i = 0; i < 6000; i++) {
        begin(&r[0], 1000 + i);
        alloc(&r[0], 1, 0, 1);
        record(&r[0], 2, WIRE_WORD(WIRE_THREAD_END, 0, 1000 + i), 0, 0, 0);
    }
    target_drain(t, 1);
    assert_int_equal(t->profile.threads.count, 4097);
    assert_string_equal(t->profile.threads.items[4096].name, "(other threads)");
    assert_u64_equal(total(t, 1, 4095, COL_ALLOCS), 1);
    assert_u64_equal(total(t, 1, 4096, COL_ALLOCS), 6000 - 4093);
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
    assert_int_equal(t->rings.count, 6);
    struct ring more = ring_of(t, 5);
    begin(&more, 200);
    alloc(&more, 17, 0, 1);
    target_drain(t, 1);
    assert_u64_equal(t->ledger.live.bytes, 17);
    assert_clean(t);
    target_free(t);
}

static long blocks_of(const struct target *t)
{
    struct stat file;
    assert_int_equal(fstat(t->fd, &file), 0);
    return (long)file.st_blocks;
}

/* Reading a ring takes a page of memory: only those that threads have are read. */
static void test_unused_rings(void **state)
{
    (void)state;
    struct err err;
    struct target *t = target_new(getpid(), false, WIRE_WAIT, INTERVAL, &err);
    assert_non_null(t);
    target_drain(t, 1); /* touches all that it needs without rings */
    long before = blocks_of(t);
    target_drain(t, 2);
    assert_int_equal(t->readers.count, 0);
    assert_int_equal(blocks_of(t), before);
    t->header->rings_used = 3;
    target_drain(t, 3);
    assert_int_equal(t->readers.count, 3);
    assert_int_equal(blocks_of(t), before + 3 * WIRE_PAGE / 512);
    t->header->rings_used = UINT32_MAX; /* a program may say anything */
    target_drain(t, 4);
    assert_int_equal(t->readers.count, t->rings.count);
    t->header->rings_used = 0;
    target_drain(t, 5);
    assert_int_equal(t->readers.count, t->rings.count);
    target_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_thread),
        cmocka_unit_test(test_unused_rings),
        cmocka_unit_test(test_small_rows),
        cmocka_unit_test(test_frees_of_others),
        cmocka_unit_test(test_own_peak_of_a_block_that_another_frees),
        cmocka_unit_test(test_blocks_that_are_alike),
        cmocka_unit_test(test_blocks_that_are_not_alike),
        cmocka_unit_test(test_frees_before_the_allocations),
        cmocka_unit_test(test_frees_in_an_earlier_interval),
        cmocka_unit_test(test_mark_of_a_thread_that_reports),
        cmocka_unit_test(test_mark_that_must_end_now),
        cmocka_unit_test(test_next_thread_of_a_ring),
        cmocka_unit_test(test_mappings),
        cmocka_unit_test(test_chunks),
        cmocka_unit_test(test_mapping_through_three_rings),
        cmocka_unit_test(test_before_there_were_threads),
        cmocka_unit_test(test_names_and_ends),
        cmocka_unit_test(test_many_threads),
        cmocka_unit_test(test_more_rings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
