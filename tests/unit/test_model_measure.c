/* Metrics, sizes, moments and differences, with figures that follow from the sample's table. */
#include "test_model_fixture.h"

static void ask(struct query q, struct answer *a, struct recording **r)
{
    q.top = QUERY_ALL;
    *r = fx_sample();
    static struct query kept; /* the answer borrows it */
    kept = q;
    fx_answer(a, *r, &kept);
}

static void done(struct answer *a, struct recording *r)
{
    answer_release(a);
    recording_free(r);
}

static void test_live(void **state)
{
    (void)state;
    struct answer a;
    struct recording *r;
    ask((struct query){0}, &a, &r);
    fx_expect(&a, "parse(int)", 450, 9, 450, 9);
    fx_expect(&a, "main", 0, 0, 450, 9);
    fx_expect(&a, "libx.so+0x1100", 3200, 50, 3200, 50);
    fx_expect(&a, "worker", 0, 0, 3200, 50);
    assert_int_equal(a.rows.rows.count, 4); /* Store::add has nothing left */
    fx_expect_sum(&a, 3650, 59);
    assert_int_equal(a.totals.allocations, 123);
    assert_int_equal(a.totals.frees, 64);
    assert_int_equal(a.totals.live_blocks, 59);
    assert_int_equal(a.totals.live_bytes, 3650);
    assert_int_equal(a.totals.bytes_allocated, 1000 + 100 + 3000 + 6400);
    assert_int_equal(a.totals.reallocations, 7);
    assert_int_equal(a.totals.temporary_allocations, 23);
    assert_int_equal(a.totals.peak_bytes, 3600);
    assert_int_equal(a.totals.peak_time_ns, 1900000000);
    assert_int_equal(a.totals.unknown_frees, 1);
    assert_int_equal(a.totals.lost_events, 3);
    assert_int_equal(a.totals.truncated_stacks, 2);
    done(&a, r);
}

static void test_total(void **state)
{
    (void)state;
    struct answer a;
    struct recording *r;
    ask((struct query){.metric = METRIC_TOTAL}, &a, &r);
    fx_expect(&a, "parse(int)", 1100, 20, 1100, 20);
    fx_expect(&a, "Store::add(int)", 3000, 3, 3000, 3);
    fx_expect(&a, "main", 0, 0, 4100, 23);
    fx_expect(&a, "libx.so+0x1100", 6400, 100, 6400, 100);
    fx_expect_sum(&a, a.totals.bytes_allocated, a.totals.allocations);
    done(&a, r);
}

static void test_temporary(void **state)
{
    (void)state;
    struct answer a;
    struct recording *r;
    ask((struct query){.metric = METRIC_TEMPORARY}, &a, &r);
    fx_expect(&a, "parse(int)", 200, 2, 200, 2);
    fx_expect(&a, "Store::add(int)", 1000, 1, 1000, 1);
    fx_expect(&a, "libx.so+0x1100", 1280, 20, 1280, 20);
    fx_expect_sum(&a, 2480, a.totals.temporary_allocations);
    done(&a, r);
}

static void test_peak(void **state)
{
    (void)state;
    struct answer a;
    struct recording *r;
    ask((struct query){.metric = METRIC_PEAK}, &a, &r);
    fx_expect(&a, "parse(int)", 600, 15, 600, 15);
    fx_expect(&a, "Store::add(int)", 3000, 3, 3000, 3);
    fx_expect(&a, "main", 0, 0, 3600, 18);
    assert_int_equal(a.rows.rows.count, 3);
    fx_expect_sum(&a, 3600, 18);
    assert_string_equal(a.window.at.word, "peak");
    assert_int_equal(a.window.at.time_ns, 1900000000);
    assert_int_equal(a.totals.live_bytes, 3600);
    assert_int_equal(a.totals.live_blocks, 18);
    assert_int_equal(a.totals.allocations, 23); /* until the end of the peak's interval */
    assert_int_equal(a.totals.allocations - a.totals.frees, a.totals.live_blocks);
    assert_int_equal(a.totals.peak_bytes, 3600);
    done(&a, r);
    /* The same asked as a moment. */
    ask((struct query){.at = "peak"}, &a, &r);
    fx_expect(&a, "parse(int)", 600, 15, 600, 15);
    fx_expect_sum(&a, 3600, 18);
    done(&a, r);
}

/* If several threads or processes ran, the highest total of an interval is an upper bound. No part
 * of the run has a higher peak than the whole run. */
static void test_peak_of_a_part(void **state)
{
    (void)state;
    struct recording *r = recording_new();
    struct profile *p = fx_profile(r, 1, 0, "x");
    for (uint64_t i = 1; i <= 3; i++)
        fx_interval(p, i * SECOND, 100 + i);
    p->peak_bytes = 102;
    p->peak_time_ns = 2 * SECOND - 1;
    static const uint64_t peaks[] = {101, 102, 102};
    for (size_t i = 0; i < 3; i++) {
        struct window w = {.at = {.intervals = i + 1}};
        assert_int_equal(totals_of(p, &w).peak_bytes, peaks[i]);
        w.since.intervals = i;
        assert_int_equal(totals_of(p, &w).peak_bytes, peaks[i]);
    }
    recording_free(r);
}

static void test_sitepeak_and_largest(void **state)
{
    (void)state;
    struct answer a;
    struct recording *r;
    ask((struct query){.metric = METRIC_SITEPEAK}, &a, &r);
    fx_expect(&a, "parse(int)", 900, 18, 900, 18);
    fx_expect(&a, "libx.so+0x1100", 3200, 50, 3200, 50);
    fx_expect_sum(&a, 900 + 3000 + 3200, 18 + 3 + 50);
    done(&a, r);
    ask((struct query){.metric = METRIC_LARGEST}, &a, &r);
    fx_expect(&a, "parse(int)", 100, 1, 100, 1);
    fx_expect(&a, "main", 0, 0, 1000, 1);
    fx_expect(&a, "worker", 0, 0, 64, 1);
    assert_int_equal(a.tree.sum.amount, 1000);
    assert_int_equal(a.tree.scale, 1000);
    done(&a, r);
}

static void test_mapped(void **state)
{
    (void)state;
    struct answer a;
    struct recording *r;
    ask((struct query){.metric = METRIC_MAPPED}, &a, &r);
    fx_expect(&a, "main", 4096, 1, 4096, 1);
    fx_expect_sum(&a, 4096, 1);
    assert_int_equal(a.totals.live_bytes, 3650); /* the heap's */
    done(&a, r);
    ask((struct query){.metric = METRIC_MAPPED, .at = "peak"}, &a, &r);
    fx_expect(&a, "main", 8192, 2, 8192, 2);
    done(&a, r);
}

static void test_sizes(void **state)
{
    (void)state;
    struct answer a;
    struct recording *r;
    ask((struct query){.size = SIZE_USABLE}, &a, &r);
    fx_expect(&a, "parse(int)", 450 + 9 * 8, 9, 450 + 9 * 8, 9);
    fx_expect_sum(&a, 3650 + 59 * 8, 59);
    done(&a, r);
    ask((struct query){.size = SIZE_OVERHEAD}, &a, &r);
    fx_expect(&a, "parse(int)", 72, 9, 72, 9);
    fx_expect_sum(&a, 59 * 8, 59);
    done(&a, r);
    ask((struct query){.metric = METRIC_TOTAL, .size = SIZE_OVERHEAD}, &a, &r);
    fx_expect_sum(&a, 123 * 8, 123);
    done(&a, r);
    ask((struct query){.metric = METRIC_TOTAL, .size = SIZE_USABLE}, &a, &r);
    fx_expect(&a, "Store::add(int)", 3024, 3, 3024, 3);
    done(&a, r);
    ask((struct query){.metric = METRIC_PEAK, .size = SIZE_OVERHEAD}, &a, &r);
    fx_expect(&a, "parse(int)", 15 * 8, 15, 15 * 8, 15);
    done(&a, r);
    ask((struct query){.metric = METRIC_PEAK, .size = SIZE_USABLE}, &a, &r);
    fx_expect_sum(&a, 3600 + 18 * 8, 18);
    done(&a, r);
}

static void test_differences(void **state)
{
    (void)state;
    struct answer a;
    struct recording *r;
    ask((struct query){.since = "1s", .at = "2s"}, &a, &r);
    fx_expect(&a, "parse(int)", -200 + 90, -2 + 9, -110, 7);
    fx_expect(&a, "Store::add(int)", 3000, 3, 3000, 3);
    fx_expect(&a, "main", 0, 0, 2890, 10);
    fx_expect_sum(&a, 2890, 10);
    assert_int_equal(a.totals.live_bytes, 2890);
    assert_int_equal(a.totals.allocations, 12);
    assert_int_equal(a.totals.frees, 2);
    assert_int_equal(a.totals.lost_events, 3);
    assert_int_equal(a.totals.unknown_frees, 0);
    assert_int_equal(a.totals.peak_bytes, 3600);
    assert_int_equal(a.totals.peak_time_ns, 19 * SECOND / 10);
    /* 100 % is what changed, without signs, so that shares stay below it: A and B are two places.
     */
    assert_int_equal(a.tree.scale, 200 + 90 + 3000);
    done(&a, r);
    ask((struct query){.since = "peak"}, &a, &r);
    fx_expect(&a, "parse(int)", 450 - 600, 9 - 15, -150, -6);
    fx_expect(&a, "Store::add(int)", -3000, -3, -3000, -3);
    fx_expect(&a, "libx.so+0x1100", 3200, 50, 3200, 50);
    fx_expect_sum(&a, 50, 41);
    assert_int_equal(a.totals.live_bytes, 50);
    assert_int_equal(a.totals.live_blocks, a.totals.allocations - a.totals.frees);
    /* Order: by size of the change. */
    assert_string_equal(a.rows.rows.items[0].name, "libx.so+0x1100");
    assert_string_equal(a.rows.rows.items[1].name, "Store::add(int)");
    done(&a, r);
    ask((struct query){.since = "1s", .metric = METRIC_PEAK}, &a, &r);
    fx_expect_sum(&a, 3600 - 610, 18 - 7);
    done(&a, r);
    ask((struct query){.since = "2s", .metric = METRIC_TOTAL}, &a, &r);
    fx_expect_sum(&a, 6400, 100);
    done(&a, r);
}

static void expect_moment(const struct profile *p, const char *word, size_t intervals, uint64_t ns)
{
    struct moment m;
    struct err err = {{0}};
    if (moment_resolve(p, word, &m, &err))
        fail_msg("%s", err.text);
    assert_int_equal(m.intervals, intervals);
    assert_int_equal(m.time_ns, ns);
}

static void test_moments(void **state)
{
    (void)state;
    struct recording *r = fx_sample();
    const struct profile *p = &r->profiles.items[0];
    expect_moment(p, "start", 0, 0);
    expect_moment(p, "end", 3, 4 * SECOND);
    expect_moment(p, "peak", 2, 1900000000);
    expect_moment(p, "0s", 0, 0);
    expect_moment(p, "0.4s", 0, 0);
    expect_moment(p, "0.6s", 1, SECOND);
    expect_moment(p, "1100ms", 1, SECOND);
    expect_moment(p, "2.9s", 2, 2 * SECOND);
    expect_moment(p, "3.1s", 3, 4 * SECOND);
    expect_moment(p, "4s", 3, 4 * SECOND);
    expect_moment(p, "50%", 2, 2 * SECOND);
    expect_moment(p, "100%", 3, 4 * SECOND);
    expect_moment(p, "0%", 0, 0);
    recording_free(r);
}

static void test_refusals(void **state)
{
    (void)state;
    struct recording *r = fx_sample();
    fx_refused(r, &(struct query){.at = "event#3"}, -EINVAL, "moments are start, exit, end, peak");
    fx_refused(r, &(struct query){.at = "9s"}, -EINVAL, "the run lasted 4.000 s");
    fx_refused(r, &(struct query){.at = "101%"}, -EINVAL, "after the end");
    fx_refused(r, &(struct query){.at = ""}, -EINVAL, "not a moment");
    fx_refused(r, &(struct query){.since = "2s", .at = "1s"}, -EINVAL, "swap them");
    fx_refused(r, &(struct query){.since = "2s", .at = "peak"}, -EINVAL, "swap them");
    fx_refused(r, &(struct query){.metric = METRIC_CPU}, -ENODATA,
               "this recording has no CPU samples; record with 'tidemark run --cpu'");
    fx_refused(r, &(struct query){.metric = METRIC_FAULTS}, -ENODATA, "no page faults");
    fx_refused(r, &(struct query){.metric = METRIC_LARGEST, .since = "1s"}, -EINVAL,
               "whole run only");
    fx_refused(r, &(struct query){.metric = METRIC_SITEPEAK, .at = "1s"}, -EINVAL,
               "whole run only");
    fx_refused(r, &(struct query){.metric = METRIC_TEMPORARY, .size = SIZE_USABLE}, -EINVAL,
               "--size usable");
    fx_refused(r, &(struct query){.metric = METRIC_MAPPED, .size = SIZE_OVERHEAD}, -EINVAL,
               "not for mapped");
    fx_refused(r, &(struct query){.metric = METRIC_PEAK, .at = "1s"}, -EINVAL,
               "--metric live --at 1s");
    fx_refused(r, &(struct query){.process = "7"}, -ENOENT, "no process 7");
    fx_refused(r, &(struct query){.process = "x"}, -EINVAL, "not a process id");
    fx_refused(r, &(struct query){.shape = SHAPE_TREE, .by = BY_STACK}, -EINVAL,
               "--tree can be combined with");
    recording_free(r);
}

static void test_empty(void **state)
{
    (void)state;
    struct recording *r = recording_new();
    fx_refused(r, &(struct query){0}, -ENOENT, "holds no process");
    *vec_push(&r->profiles) = (struct profile){.pid = 5};
    struct query q = {.top = QUERY_ALL};
    struct answer a;
    for (int by = 0; by < GROUPINGS; by++) {
        q.by = (enum grouping)by;
        fx_answer(&a, r, &q);
        assert_int_equal(a.rows.rows.count, 0);
        answer_release(&a);
    }
    recording_free(r);
}

static const struct profile *ask_process(const struct recording *r, const struct query *q)
{
    const struct profile *p = NULL;
    assert_int_equal(answer_process(r, q, &p, NULL), 0);
    return p;
}

static void test_process(void **state)
{
    (void)state;
    struct recording *r = recording_new();
    fx_profile(r, 10, 1, "sh")->execed = true;
    fx_profile(r, 11, 10, "child");
    fx_profile(r, 10, 1, "app");
    const struct profile *p;
    assert_string_equal(ask_process(r, NULL)->command.items[0], "app"); /* what the first became */
    assert_string_equal(ask_process(r, &(struct query){.process = "10#1"})->command.items[0], "sh");
    assert_string_equal(ask_process(r, &(struct query){.process = "11"})->command.items[0],
                        "child");
    assert_string_equal(ask_process(r, &(struct query){.process = "10"})->command.items[0], "app");
    assert_int_equal(answer_process(r, &(struct query){.process = "10#3"}, &p, NULL), -ENOENT);
    recording_free(r);
}

/* Without --process: the highest peak, but not a launcher's that is hardly higher. */
static void test_process_with_the_highest_peak(void **state)
{
    (void)state;
    struct recording *r = recording_new();
    fx_profile(r, 10, 1, "sh")->peak_bytes = 90000;
    fx_profile(r, 11, 10, "launcher")->execed = true;
    fx_profile(r, 12, 10, "small")->peak_bytes = 2000;
    fx_profile(r, 11, 10, "app")->peak_bytes = 150000;
    r->profiles.items[1].peak_bytes = 150000 + ANSWER_LAUNCHER_BYTES - 1;
    assert_string_equal(ask_process(r, NULL)->command.items[0], "app");
    r->profiles.items[1].peak_bytes++;
    assert_string_equal(ask_process(r, NULL)->command.items[0], "launcher");
    r->profiles.items[1].peak_bytes = 0;
    r->profiles.items[0].peak_bytes = 150000; /* of equal ones: the program that was started */
    assert_string_equal(ask_process(r, NULL)->command.items[0], "sh");
    recording_free(r);
}

/* What a process mapped itself counts as its heap does. */
static void test_process_that_mapped_the_most(void **state)
{
    (void)state;
    struct recording *r = recording_new();
    fx_profile(r, 10, 1, "driver")->peak_bytes = 1000;
    fx_profile(r, 11, 10, "compiler")->peak_bytes = 7 << 20;
    fx_profile(r, 12, 10, "assembler")->peak_bytes = 30 << 20;
    assert_string_equal(ask_process(r, NULL)->command.items[0], "assembler");
    r->profiles.items[1].memory_peak_bytes = 29 << 20;
    assert_string_equal(ask_process(r, NULL)->command.items[0], "assembler");
    r->profiles.items[1].memory_peak_bytes = 150 << 20;
    assert_string_equal(ask_process(r, NULL)->command.items[0], "compiler");
    recording_free(r);
}

/* A mark that the question names is worth more than a peak. */
static void test_process_with_the_marks(void **state)
{
    (void)state;
    struct recording *r = recording_new();
    fx_profile(r, 10, 1, "large")->peak_bytes = 90000;
    fx_profile(r, 11, 10, "marked")->peak_bytes = 100;
    fx_profile(r, 12, 10, "marked too")->peak_bytes = 200;
    for (size_t i = 1; i < 3; i++)
        *vec_push(&r->profiles.items[i].marks) = (struct mark){.name = "event"};
    *vec_push(&r->profiles.items[1].marks) = (struct mark){.name = "event"};
    static const struct {
        struct query query;
        uint32_t pid;
    } cases[] = {
        {{.at = "peak"}, 10},
        {{.at = "event#1"}, 12},
        {{.at = "event#2"}, 11},
        {{.at = "event#2", .since = "event"}, 11},
        {{.at = "no-such-mark"}, 10},
        {{.has_mark = ""}, 12},
        {{.has_mark = "event"}, 12},
        {{.has_mark = "other"}, 10},
        {{.has_mark = "event", .process = "10"}, 10},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(ask_process(r, &cases[i].query)->pid, cases[i].pid);
    recording_free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_live),
        cmocka_unit_test(test_total),
        cmocka_unit_test(test_temporary),
        cmocka_unit_test(test_peak),
        cmocka_unit_test(test_peak_of_a_part),
        cmocka_unit_test(test_sitepeak_and_largest),
        cmocka_unit_test(test_mapped),
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_differences),
        cmocka_unit_test(test_moments),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_empty),
        cmocka_unit_test(test_process),
        cmocka_unit_test(test_process_with_the_highest_peak),
        cmocka_unit_test(test_process_that_mapped_the_most),
        cmocka_unit_test(test_process_with_the_marks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
