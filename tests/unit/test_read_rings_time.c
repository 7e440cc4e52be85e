/* From words in rings to numbers: intervals, marks, and what was dropped. */
#include "test_read_rings_fixture.h"

#include "collect/counting/heap_peak.h"
#include "collect/counting/threads.h"

/* An interval's events are those that were written before the program saw its end. */
static void test_intervals(void **state)
{
    (void)state;
    struct ring r[3];
    struct target *t = target_open(r);
    uint32_t first = t->header->tick;
    alloc(&r[0], 1, 0, 1);
    alloc(&r[1], 10, 0, 1);
    target_boundary(t, INTERVAL); /* closed in this pass, and the tick moves on */
    target_drain(t, INTERVAL);
    assert_int_equal(t->header->tick, first + 1);
    assert_int_equal(t->timeline.slices.count, 1);
    alloc(&r[0], 100, 0, 1); /* has not seen the new tick */
    for (unsigned i = 0; i < 2; i++)
        tick_to(&r[i], first + 1);
    alloc(&r[1], 1000, 0, 1);
    target_boundary(t, 2 * INTERVAL);
    target_drain(t, 2 * INTERVAL);
    assert_int_equal(t->timeline.slices.count, 2);
    tick_to(&r[0], first + 2);
    alloc(&r[0], 10000, 0, 1);  /* after the end of the second interval */
    alloc(&r[1], 100000, 0, 1); /* this ring has not seen it yet */
    target_boundary(t, 3 * INTERVAL);
    target_drain(t, 3 * INTERVAL);
    target_end(t, 3 * INTERVAL + 1);
    finish(t);
    static const uint64_t peaks[] = {11, 1111, 111111, 111111};
    static const uint64_t ends[] = {INTERVAL, 2 * INTERVAL, 3 * INTERVAL, 3 * INTERVAL + 1};
    assert_int_equal(t->profile.intervals.count, 4);
    for (size_t i = 0; i < 4; i++) {
        assert_u64_equal(t->profile.intervals.items[i].end_ns, ends[i]);
        assert_u64_equal(t->profile.intervals.items[i].peak_bytes, peaks[i]);
    }
    target_free(t);
}

/* A tick beyond the interval's end stops a ring for this interval, not for this pass. */
static void test_later_tick_is_in_the_next_interval(void **state)
{
    (void)state;
    struct ring r[3];
    struct target *t = target_open(r);
    uint32_t tick = t->header->tick;
    alloc(&r[0], 1, 0, 1);
    tick_to(&r[0], tick + 1); /* as if seen between the two looks */
    alloc(&r[0], 10, 0, 1);
    target_boundary(t, INTERVAL);
    target_drain(t, INTERVAL);
    assert_u64_equal(t->timeline.slices.items[0].interval.peak_bytes, 1);
    assert_u64_equal(t->ledger.live.bytes, 11);
    target_free(t);
}

/* A mark is made after the boundaries were looked at and before the rings are: what follows it must
 * not be read before its own boundary is there. */
static void test_mark_made_between_the_two_looks(void **state)
{
    (void)state;
    struct ring r[3];
    struct target *t = target_open(r);
    target_drain(t, 1);
    uint32_t tick = ++t->header->tick;
    alloc(&r[0], 1, 0, 1);
    tick_to(&r[0], tick);
    alloc(&r[0], 10, 0, 1);
    drain_rings(t, 2);
    assert_u64_equal(t->ledger.live.bytes, 1);
    target_drain(t, 3);
    assert_int_equal(t->timeline.slices.count, 1);
    assert_u64_equal(t->timeline.slices.items[0].live_bytes, 1);
    assert_u64_equal(t->ledger.live.bytes, 11);
    target_free(t);
}

/* Several threads may note a peak that is too low. What is live at the end of an interval is exact,
 * and the peak is not below it. */
static void test_peak_at_the_end_of_an_interval(void **state)
{
    (void)state;
    struct ring r[3];
    struct target *t = target_open(r);
    uint32_t tick = t->header->tick;
    alloc(&r[0], 100, 0, 1);
    alloc(&r[1], 50, 0, 2);
    target_boundary(t, INTERVAL);
    target_drain(t, INTERVAL);
    for (unsigned i = 0; i < 2; i++)
        tick_to(&r[i], tick + 1);
    release(&r[0], 100, 0, 1);
    t->header->totals.peak_bytes = 120;
    target_end(t, 2 * INTERVAL);
    finish(t);
    heap_peak_settle_time(&t->profile);
    assert_u64_equal(t->profile.intervals.items[0].end_ns, INTERVAL);
    assert_u64_equal(t->profile.peak_bytes, 150);
    assert_u64_equal(t->profile.peak_blocks, 2);
    assert_u64_equal(t->profile.peak_time_ns, INTERVAL);
    uint64_t bytes = 0, blocks = 0;
    for (size_t i = 0; i < t->profile.sites.count; i++) {
        bytes += t->profile.sites.items[i].at_peak_bytes;
        blocks += t->profile.sites.items[i].at_peak_blocks;
    }
    assert_u64_equal(bytes, 150);
    assert_u64_equal(blocks, 2);
    target_free(t);
}

/* The time that was noted may be one of the interval before, or of one after. */
static void test_time_of_the_peak(void **state)
{
    (void)state;
    static const struct {
        uint64_t noted, settled;
    } times[] = {{10, 30}, {15, 30}, {20, 30}, {21, 21}, {30, 30}, {31, 30}, {45, 30}};
    struct profile p = {.peak_bytes = 7};
    for (uint64_t i = 1; i <= 4; i++)
        *vec_push(&p.intervals) = (struct interval){.end_ns = 10 * i, .peak_bytes = i == 3 ? 7 : 6};
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        p.peak_time_ns = times[i].noted;
        heap_peak_settle_time(&p);
        assert_u64_equal(p.peak_time_ns, times[i].settled);
    }
    p.intervals.items[0].peak_bytes = 7; /* the first of two */
    p.peak_time_ns = 0;
    heap_peak_settle_time(&p);
    assert_u64_equal(p.peak_time_ns, 0);
    p.peak_time_ns = 25;
    heap_peak_settle_time(&p);
    assert_u64_equal(p.peak_time_ns, 10);
    vec_release(&p.intervals);
}

/* Several threads: what the sites had at the peak adds up to a little more, or less, than the total
 * that was noted then. The collector saw the peak one interval too late. */
static void test_time_of_a_peak_that_no_interval_has(void **state)
{
    (void)state;
    static const uint64_t sums[] = {75, 65};
    for (size_t i = 0; i < sizeof sums / sizeof *sums; i++) {
        struct profile p = {.peak_bytes = sums[i], .peak_time_ns = 35};
        *vec_push(&p.intervals) = (struct interval){.end_ns = 10, .peak_bytes = 60};
        *vec_push(&p.intervals) = (struct interval){.end_ns = 20, .peak_bytes = 70};
        *vec_push(&p.intervals) = (struct interval){.end_ns = 30, .peak_bytes = 64};
        *vec_push(&p.intervals) = (struct interval){.end_ns = 40, .peak_bytes = 10};
        heap_peak_settle_time(&p);
        assert_u64_equal(p.peak_time_ns, 20);
        vec_release(&p.intervals);
    }
}

/* Figures of this moment are wanted while an interval waits to be ended: what is after it stays out. */
static void test_figures_before_an_interval_has_ended(void **state)
{
    (void)state;
    struct ring r[3];
    struct target *t = target_open(r);
    target_drain(t, 1);
    alloc(&r[0], 10, 0, 1);
    wire_move_tick(t->header);
    record(&r[0], 2, WIRE_WORD(WIRE_TICK, 0, t->tick + 1), 0, 0, 0);
    alloc(&r[0], 20, 0, 1);
    target_boundary(t, 2); /* the second one; both are ended by the next pass */
    drain_counters(t);
    assert_u64_equal(t->ledger.live.bytes, 10);
    target_drain(t, 3);
    assert_int_equal(t->timeline.slices.count, 2);
    assert_u64_equal(t->timeline.slices.items[0].live_bytes, 10);
    assert_u64_equal(t->timeline.slices.items[1].live_bytes, 30);
    target_free(t);
}

/* Samples are read later than what a thread reports. */
static void test_sample_of_a_thread_that_has_ended(void **state)
{
    (void)state;
    struct ring r[3];
    struct target *t = target_open(r);
    t->start_monotonic_ns = 1000;
    begin_at(&r[0], 77, 1003);
    record(&r[0], 2, WIRE_WORD(WIRE_THREAD_END, 0, 77), 1006, 0, 0);
    target_drain(t, 7);
    uint32_t ended = (uint32_t)t->profile.threads.count - 1;
    assert_int_equal(t->profile.threads.items[ended].tid, 77);
    assert_int_equal(thread_sampled(t, 77, 5), ended);
    assert_int_equal(thread_sampled(t, 77, 9), ended); /* on its way out */
    uint32_t next = thread_sampled(t, 77, UINT64_C(2000000000));
    assert_int_equal(next, ended + 1);
    assert_int_equal(thread_sampled(t, 77, UINT64_C(2000000001)), next);
    target_free(t);
}

static void test_dropped(void **state)
{
    (void)state;
    struct ring r[3];
    struct target *t = target_open(r);
    r[0].shared->dropped = 5;
    r[1].shared->dropped = 2;
    target_drain(t, 1);
    assert_u64_equal(t->ledger.lost_events, 7);
    r[0].shared->dropped = 6;
    target_drain(t, 2);
    assert_u64_equal(t->ledger.lost_events, 8);
    r[0].shared->dropped = 1; /* nonsense, and no reason to count back */
    target_drain(t, 3);
    assert_u64_equal(t->ledger.lost_events, 8);
    target_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_intervals),
        cmocka_unit_test(test_later_tick_is_in_the_next_interval),
        cmocka_unit_test(test_mark_made_between_the_two_looks),
        cmocka_unit_test(test_peak_at_the_end_of_an_interval),
        cmocka_unit_test(test_time_of_the_peak),
        cmocka_unit_test(test_time_of_a_peak_that_no_interval_has),
        cmocka_unit_test(test_figures_before_an_interval_has_ended),
        cmocka_unit_test(test_sample_of_a_thread_that_has_ended),
        cmocka_unit_test(test_dropped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
