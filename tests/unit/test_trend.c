/* Growth with confidence, on series whose truth is known. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "analyse/trend.h"

static uint64_t seed;

static double uniform(void)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(seed >> 11) / 9007199254740992.0;
}

/* A sum of uniforms: near enough to normal, with variance 1. */
static double noise(void)
{
    double sum = -6;
    for (int i = 0; i < 12; i++)
        sum += uniform();
    return sum;
}

static struct trend trend(const double *y, size_t n)
{
    struct trend t;
    assert_true(trend_of(&t, y, NULL, n));
    return t;
}

/* A line through these "proves" 11.7 +- 5.2 MB an event; they are jumps to new maxima. */
static void test_few_steps_are_no_growth(void **state)
{
    (void)state;
    const double vm[] = {4580.335, 4589.772, 4589.772, 4602.355, 4602.355,
                         4602.355, 4602.355, 4677.853, 4677.853, 4677.853};
    struct trend t = trend(vm, 10);
    assert_int_not_equal(t.model, TREND_RAMP);
    assert_true(t.low < 0);
    assert_true(t.high > t.slope);
    assert_true(t.detectable > 10);
    assert_false(t.sure || t.steady);
}

/* What the same events touch: six of nine differences are something, and still it is new maxima. */
static void test_uneven_rises_are_no_growth(void **state)
{
    (void)state;
    const double items[] = {10, 50, 60, 80, 80.5, 100, 100, 300, 300, 300};
    struct trend t = trend(items, 10);
    assert_int_equal(t.model, TREND_STEPS);
    assert_true(t.low < 0);
    assert_false(t.sure || t.steady);
    double with_leak[10]; /* new maxima, and a little at each event besides */
    for (int i = 0; i < 10; i++)
        with_leak[i] = items[i] + i * 0.5;
    t = trend(with_leak, 10);
    assert_false(t.sure || t.steady);
}

static void test_constant(void **state)
{
    (void)state;
    double y[50];
    for (int i = 0; i < 50; i++)
        y[i] = 1e6;
    struct trend t = trend(y, 50);
    assert_int_equal(t.model, TREND_FLAT);
    assert_true(t.slope == 0 && t.low == 0 && t.high == 0 && t.skipped == 0);
}

static void test_exact_ramp(void **state)
{
    (void)state;
    double y[20];
    for (int i = 0; i < 20; i++)
        y[i] = 5e6 + 10485760.0 * i;
    struct trend t = trend(y, 20);
    assert_int_equal(t.model, TREND_RAMP);
    assert_true(fabs(t.slope - 10485760) < 1 && t.low <= t.slope && t.slope <= t.high);
    assert_int_equal(t.used + t.skipped, 20);
}

static void test_plateau(void **state)
{
    (void)state;
    double y[100];
    for (int i = 0; i < 100; i++)
        y[i] = i < 20 ? 1000.0 * i : 20000;
    struct trend t = trend(y, 100);
    assert_int_equal(t.model, TREND_PLATEAU);
    assert_int_equal(t.skipped, 20);
    assert_true(t.slope == 0 && t.warm_up == 20000);
}

/* A ramp over a clock that was read seldom at first: no part of it is a warm-up. */
static void test_uneven_clock(void **state)
{
    (void)state;
    double x[64], y[64];
    for (int i = 0; i < 64; i++) {
        x[i] = i < 20 ? 3.0 * i + i % 3 : 40 + i;
        y[i] = 20000 * x[i];
    }
    struct trend t;
    assert_true(trend_of(&t, y, x, 64));
    assert_int_equal(t.model, TREND_RAMP);
    assert_int_equal(t.skipped, 0);
    assert_true(t.slope == 20000);
}

/* A cache of 200 keys that are asked for at random fills up, ever more slowly; one that is loaded
 * at the start, and gains at every tenth event, grows. */
static void test_filling_cache(void **state)
{
    (void)state;
    int false_alarms = 0;
    double y[400];
    for (seed = 1; seed <= 200 * 1000003u; seed += 1000003u) {
        uint64_t own = seed;
        bool known[200] = {false};
        double sum = 0;
        for (int i = 0; i < 400; i++) {
            for (int k = 0; k < 3; k++) {
                int key = (int)(200 * uniform());
                sum += known[key] ? 0 : 30000;
                known[key] = true;
            }
            y[i] = sum;
        }
        struct trend t = trend(y, 400);
        false_alarms += !t.stopped && (t.steady || (t.model == TREND_RAMP && t.sure));
        seed = own;
    }
    assert_in_range(false_alarms, 0, 2);
    for (int i = 0; i < 400; i++)
        y[i] = (i < 20 ? i : 20) * 1e6 + 1000 * (i / 10);
    struct trend t = trend(y, 400);
    assert_true(t.steady || t.sure);
}

/* In 200 series without growth, few are called a ramp; with growth of half the noise's width over
 * the run, nearly all are, and the truth is inside nearly all intervals. */
static void test_noise(void **state)
{
    (void)state;
    int false_alarms = 0, found = 0, inside = 0;
    double y[100];
    for (seed = 1; seed <= 200 * 1000003u; seed += 1000003u) {
        uint64_t own = seed;
        for (int i = 0; i < 100; i++)
            y[i] = 1e6 + 1000 * noise();
        false_alarms += trend(y, 100).model == TREND_RAMP;
        for (int i = 0; i < 100; i++)
            y[i] += 20 * i;
        struct trend t = trend(y, 100);
        found += t.model == TREND_RAMP;
        inside += t.low <= 20 && 20 <= t.high;
        seed = own;
    }
    assert_in_range(false_alarms, 0, 16);
    assert_in_range(found, 176, 200);
    assert_in_range(inside, 184, 200);
}

static void test_sawtooth(void **state)
{
    (void)state;
    double y[120];
    for (int i = 0; i < 120; i++)
        y[i] = 1e6 + 1e5 * (i % 8);
    struct trend t = trend(y, 120);
    assert_int_not_equal(t.model, TREND_RAMP);
    assert_true(t.low <= 0 && t.high >= 0);
}

/* A leak that shows in RSS only when the heap is extended: many even steps are growth. */
static void test_many_steps_are_growth(void **state)
{
    (void)state;
    double y[400];
    for (int i = 0; i < 400; i++)
        y[i] = 135168.0 * (i / 10);
    struct trend t = trend(y, 400);
    assert_int_equal(t.model, TREND_RAMP);
    assert_true(t.low <= 13516.8 && 13516.8 <= t.high);
}

/* Maxima of random sizes, rounded up to powers of two: 1,000 events. */
static void test_new_maxima(void **state)
{
    (void)state;
    double y[1000];
    for (seed = 7; seed < 7 + 20; seed++) {
        uint64_t own = seed;
        double capacity = 1;
        for (int i = 0; i < 1000; i++) {
            double wanted = 10000 + 290000 * uniform();
            while (capacity < wanted)
                capacity *= 2;
            y[i] = capacity * 96;
        }
        assert_int_not_equal(trend(y, 1000).model, TREND_RAMP);
        seed = own;
    }
}

/* 96 bytes for each item are kept; the items differ from event to event. */
static void test_against_a_value(void **state)
{
    (void)state;
    double x[60], y[60], items = 0;
    seed = 3;
    for (int i = 0; i < 60; i++) {
        items += 1000 + 9000 * uniform();
        x[i] = items;
        y[i] = 1e7 + 96 * items;
    }
    struct trend t;
    assert_true(trend_of(&t, y, x, 60));
    assert_int_equal(t.model, TREND_RAMP);
    assert_true(fabs(t.slope - 96) < 1e-6 * 96);
}

/* Nothing until 70 of 100, and then `rate` at each, or at every `often`th. */
static struct trend late(size_t begin, size_t end, int often, double wide)
{
    double y[100];
    for (size_t i = 0; i < 100; i++) {
        size_t grown = i < begin ? 0 : i > end ? end - begin : i - begin;
        y[i] = 1e6 + 1000 * (double)(grown / (size_t)often * (size_t)often) + wide * noise();
    }
    return trend(y, 100);
}

static void test_onset(void **state)
{
    (void)state;
    struct trend t = late(70, 99, 1, 0);
    assert_int_equal(t.model, TREND_RAMP);
    assert_true(t.began && !t.stopped && t.sure && t.steady);
    assert_int_equal(t.begin, 70);
    assert_int_equal(t.end, 99);
    assert_true(fabs(t.rate - 1000) < 1e-6 && fabs(t.slope - 1000) < 1e-6);
}

static void test_end(void **state)
{
    (void)state;
    struct trend t = late(0, 60, 1, 0);
    assert_int_equal(t.model, TREND_PLATEAU);
    assert_true(!t.began && t.stopped);
    assert_int_equal(t.begin, 0);
    assert_int_equal(t.end, 60);
    assert_true(fabs(t.rate - 1000) < 1e-6 && t.slope == 0);
    t = late(30, 60, 1, 0);
    assert_int_equal(t.model, TREND_PLATEAU);
    assert_true(t.began && t.stopped && t.begin == 30 && t.end == 60);
    assert_true(fabs(t.rate - 1000) < 1e-6);
}

/* Below noise as wide as what two values gain, the bend is found within a few values. */
static void test_onset_and_end_below_noise(void **state)
{
    (void)state;
    int begins = 0, ends = 0;
    for (uint64_t own = 1; own <= 100; own++) {
        seed = own * 1000003u;
        struct trend t = late(60, 99, 1, 2000);
        begins += t.model == TREND_RAMP && t.began && t.begin >= 55 && t.begin <= 65 &&
                  fabs(t.rate - 1000) < 150;
        t = late(0, 50, 1, 2000);
        ends += t.model == TREND_PLATEAU && t.stopped && t.end >= 45 && t.end <= 55 &&
                fabs(t.rate - 1000) < 150;
    }
    assert_in_range(begins, 98, 100);
    assert_in_range(ends, 98, 100);
}

/* Something at every tenth value is growth that goes on, and so is what comes by chance. */
static void test_rare_steps_go_on(void **state)
{
    (void)state;
    struct trend t = late(0, 99, 10, 0);
    assert_true(t.steady && !t.stopped && !t.began);
    assert_true(t.slope > 800 && t.slope < 1000);
    double y[400];
    for (uint64_t own = 1; own <= 50; own++) {
        seed = own * 7919;
        double sum = 0;
        for (int i = 0; i < 400; i++)
            y[i] = sum += uniform() < 0.05 ? 1 << 20 : 0;
        t = trend(y, 400);
        assert_true(t.steady);
        assert_false(t.stopped || t.began);
    }
}

/* A flat series, however noisy, has neither a beginning nor an end of growth. */
static void test_no_bend_in_noise(void **state)
{
    (void)state;
    int found = 0;
    double y[100];
    for (uint64_t own = 1; own <= 300; own++) {
        seed = own * 1000003u;
        double kept = 0;
        for (int i = 0; i < 100; i++) {
            kept = 0.6 * kept + noise(); /* an event leaves something to the next */
            y[i] = 1e6 + 1000 * kept;
        }
        struct trend t = trend(y, 100);
        found += t.began || (t.model == TREND_PLATEAU && t.begin != t.end && t.stopped);
    }
    assert_in_range(found, 0, 9);
}

static void test_sawtooth_is_named(void **state)
{
    (void)state;
    double y[120];
    for (int length = 4; length <= 40; length++) {
        for (int i = 0; i < 120; i++)
            y[i] = 1e6 + 1e5 * (i % length);
        assert_int_equal(trend(y, 120).model, TREND_SAWTOOTH);
    }
}

/* A cache that fills: most at first, nothing at last. */
static void test_saturates(void **state)
{
    (void)state;
    double y[100];
    for (int i = 0; i < 100; i++)
        y[i] = floor(40 * (1 - exp(-i / 10.0))) * 50000;
    struct trend t = trend(y, 100);
    assert_int_equal(t.model, TREND_PLATEAU);
    assert_true(t.stopped && t.end < 60 && y[t.end] == y[99]);
}

/* More values than are looked at one by one. */
static void test_many_values(void **state)
{
    (void)state;
    static double y[20000];
    seed = 5;
    for (int i = 0; i < 20000; i++)
        y[i] = 1e6 + 1000 * noise() + (i > 12000 ? i - 12000 : 0);
    struct trend t = trend(y, 20000);
    assert_true(t.model == TREND_RAMP && t.began && t.sure);
    assert_in_range(t.begin, 11500, 12500);
}

static void test_too_little(void **state)
{
    (void)state;
    const double y[] = {1, 2, 3, 4}, still[] = {5, 5, 5, 5};
    struct trend t;
    assert_false(trend_of(&t, y, NULL, 3));
    assert_false(trend_of(&t, y, still, 4));
    assert_true(trend_of(&t, y, NULL, 4));
}

static void test_quantile(void **state)
{
    (void)state;
    static const struct {
        double freedom, quantile;
    } known[] = {{1, 12.706}, {2, 4.303},  {3, 3.182},  {5, 2.571},
                 {10, 2.228}, {30, 2.042}, {120, 1.980}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        assert_true(fabs(trend_quantile(known[i].freedom) - known[i].quantile) < 0.02);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_few_steps_are_no_growth),
                                       cmocka_unit_test(test_uneven_clock),
                                       cmocka_unit_test(test_uneven_rises_are_no_growth),
                                       cmocka_unit_test(test_constant),
                                       cmocka_unit_test(test_exact_ramp),
                                       cmocka_unit_test(test_plateau),
                                       cmocka_unit_test(test_filling_cache),
                                       cmocka_unit_test(test_noise),
                                       cmocka_unit_test(test_sawtooth),
                                       cmocka_unit_test(test_many_steps_are_growth),
                                       cmocka_unit_test(test_new_maxima),
                                       cmocka_unit_test(test_against_a_value),
                                       cmocka_unit_test(test_onset),
                                       cmocka_unit_test(test_end),
                                       cmocka_unit_test(test_onset_and_end_below_noise),
                                       cmocka_unit_test(test_rare_steps_go_on),
                                       cmocka_unit_test(test_no_bend_in_noise),
                                       cmocka_unit_test(test_sawtooth_is_named),
                                       cmocka_unit_test(test_saturates),
                                       cmocka_unit_test(test_many_values),
                                       cmocka_unit_test(test_too_little),
                                       cmocka_unit_test(test_quantile)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
