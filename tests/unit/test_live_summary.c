/*
 * The live blocks at the end of a process that was looked at only when it began to end
 * (collect/counting/live_summary.h).
 */
#include "unit.h"

#include "collect/counting/target.h"

#define INTERVALS 6

static struct target *make_target(void)
{
    struct target *t = xcalloc(1, sizeof *t);
    for (uint32_t tick = 1; tick <= INTERVALS; tick++)
        *vec_push(&t->timeline.slices) = (struct slice){.tick = tick};
    t->tick = INTERVALS;
    return t;
}

static void drop_target(struct target *t)
{
    vec_release(&t->timeline.slices);
    vec_release(&t->profile.live);
    vec_release(&t->profile.scans);
    free(t);
}

/* Blocks of `size` bytes each, allocated by a site at a tick. */
static struct live_row row(uint32_t site, uint32_t tick, enum reach reach, uint64_t blocks,
                           uint64_t size)
{
    return (struct live_row){.site = site,
                             .interval = tick,
                             .reach = (uint32_t)reach,
                             .blocks = blocks,
                             .bytes = blocks * size,
                             .usable = blocks * (size + 8)};
}

static void finish(struct target *t, enum scan_kind kind, const struct live_row *rows, size_t count)
{
    struct live_summary s;
    live_summary_begin(&s, t, kind, 0);
    s.looked = kind == SCAN_EXIT;
    for (size_t i = 0; i < count; i++)
        *vec_push(&s.rows) = rows[i];
    live_summary_close(&s);
    live_summary_finish(&s, t);
    live_summary_release(&s);
}

/* Of the last scan. */
static struct amount sum_of(const struct target *t, uint32_t site, enum reach reach)
{
    const struct scan *last = vec_last(&t->profile.scans);
    struct amount sum = {0};
    for (size_t i = last->first_row; i < last->first_row + last->row_count; i++) {
        const struct live_row *r = &t->profile.live.items[i];
        assert_true(r->blocks > 0);
        if (r->site == site && r->reach == (uint32_t)reach) {
            sum.blocks += r->blocks;
            sum.bytes += r->bytes;
            sum.usable += r->usable;
        }
    }
    return sum;
}

static void assert_sum(const struct target *t, uint32_t site, enum reach reach, uint64_t blocks,
                       uint64_t bytes)
{
    struct amount sum = sum_of(t, site, reach);
    assert_int_equal(sum.blocks, blocks);
    assert_int_equal(sum.bytes, bytes);
    assert_int_equal(sum.usable, bytes + 8 * blocks);
}

/* A block's birth and the interval that has its allocation may differ by a tick. */
static void test_another_interval(void **state)
{
    struct target *t = make_target();
    const struct live_row at_exit[] = {row(0, 4, REACH_LOST, 1, 2010),
                                       row(1, 5, REACH_REACHABLE, 1, 2011)};
    const struct live_row at_end[] = {row(0, 3, REACH_UNKNOWN, 1, 2010),
                                      row(1, 4, REACH_UNKNOWN, 1, 2011)};
    (void)state;
    finish(t, SCAN_EXIT, at_exit, 2);
    finish(t, SCAN_END, at_end, 2);
    assert_sum(t, 0, REACH_LOST, 1, 2010);
    assert_sum(t, 0, REACH_REACHABLE, 0, 0);
    assert_sum(t, 1, REACH_REACHABLE, 1, 2011);
    drop_target(t);
}

/* What is left of a site is thought to be what it allocated last, whatever was lost of it. */
static void test_blocks_of_several_sizes(void **state)
{
    struct target *t = make_target();
    const struct live_row at_exit[] = {
        row(0, 1, REACH_LOST, 10, 100), row(0, 1, REACH_INDIRECT, 5, 40),
        row(0, 2, REACH_LOST, 3, 1000), row(0, 3, REACH_REACHABLE, 20, 8),
        row(0, 5, REACH_LOST, 2, 16)};
    const struct live_row at_end[] = {row(0, 2, REACH_UNKNOWN, 3, 1000),
                                      row(0, 3, REACH_UNKNOWN, 11, 10),
                                      row(0, 4, REACH_UNKNOWN, 10, 120)};
    (void)state;
    finish(t, SCAN_EXIT, at_exit, 5);
    finish(t, SCAN_END, at_end, 3);
    assert_sum(t, 0, REACH_LOST, 15, 4032);
    assert_sum(t, 0, REACH_INDIRECT, 5, 200);
    assert_sum(t, 0, REACH_REACHABLE, 4, 78);
    drop_target(t);
}

/* Blocks that were freed all the same are not there: a pointer to them was disguised. */
static void test_lost_and_freed(void **state)
{
    struct target *t = make_target();
    const struct live_row at_exit[] = {row(0, 1, REACH_LOST, 10, 100), row(0, 2, REACH_LOST, 1, 7)};
    const struct live_row at_end[] = {row(0, 3, REACH_UNKNOWN, 4, 100)};
    (void)state;
    finish(t, SCAN_EXIT, at_exit, 2);
    finish(t, SCAN_END, at_end, 1);
    assert_sum(t, 0, REACH_LOST, 1, 7);
    assert_sum(t, 0, REACH_REACHABLE, 3, 393);
    drop_target(t);
}

/* Nothing is known of what was allocated after the look. */
static void test_allocated_afterwards(void **state)
{
    struct target *t = make_target();
    const struct live_row at_exit[] = {row(0, 1, REACH_LOST, 1, 50)};
    const struct live_row at_end[] = {row(0, 2, REACH_UNKNOWN, 1, 50),
                                      row(0, INTERVALS, REACH_UNKNOWN, 2, 50)};
    (void)state;
    t->tick = INTERVALS - 1;
    finish(t, SCAN_EXIT, at_exit, 1);
    finish(t, SCAN_END, at_end, 2);
    assert_sum(t, 0, REACH_LOST, 1, 50);
    assert_sum(t, 0, REACH_REACHABLE, 0, 0);
    assert_sum(t, 0, REACH_UNKNOWN, 2, 100);
    drop_target(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_another_interval),
        cmocka_unit_test(test_blocks_of_several_sizes),
        cmocka_unit_test(test_lost_and_freed),
        cmocka_unit_test(test_allocated_afterwards),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
