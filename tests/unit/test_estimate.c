/* run --sample: what a block stands for (collect/counting/weights.h), and the interval of a sum
 * (model/estimate.h). */
#include <math.h>

#include "collect/counting/weights.h"
#include "model/estimate.h"
#include "unit.h"

/* --- weights ---------------------------------------------------------------------------------- */

static void test_weights(void **state)
{
    struct amount exact = weigh(0, 0x1000, 100, 104);
    (void)state;
    assert_u64_equal(exact.bytes, 100);
    assert_u64_equal(exact.blocks, 1);
    assert_u64_equal(exact.usable, 104);
    for (uint64_t size = 1; size < UINT64_C(1) << 24; size = size * 3 + 1) {
        double p = -expm1(-(double)size / 4096);
        uint64_t blocks = 0;
        struct amount w = weigh(4096, 16, size, size + 8);
        assert_true(fabs((double)w.bytes - (double)size / p) <= 1);
        for (uint64_t i = 0; i < 4096; i++) { /* whole numbers, right on average */
            struct amount one = weigh(4096, 0x7f0000000000 + i * 16, size, size + 8);
            assert_u64_equal(one.bytes, w.bytes);
            blocks += one.blocks;
        }
        assert_true(fabs((double)blocks / 4096 - 1 / p) < 0.05);
    }
}

/* --- intervals -------------------------------------------------------------------------------- */

/* The ends are the true values x for which the estimate is 1.96 standard deviations away. */
static void test_estimate(void **state)
{
    const struct profile p = {.sample_bytes = 524288};
    (void)state;
    for (int64_t bytes = 1000; bytes < INT64_C(1) << 40; bytes *= 7) {
        struct estimate e = estimate_of(&p, bytes);
        assert_true(e.low <= bytes && bytes <= e.high);
        double high = ((double)e.high - (double)bytes) / sqrt((double)e.high * 524288);
        assert_true(fabs(high - 1.959964) < 1e-4);
        if (e.low > 1000000)
            assert_true(fabs(((double)bytes - (double)e.low) / sqrt((double)e.low * 524288) -
                             1.959964) < 1e-4);
    }
    struct estimate none = estimate_of(&p, 0);
    assert_u64_equal(none.low, 0);
    assert_true(none.high > 3 * 524288 && none.high < 4 * 524288);
    assert_u64_equal(estimate_of(&p, -5).low, 0);
    assert_u64_equal(estimate_of(&p, INT64_MAX).high, INT64_C(1) << 62);
}

static void test_what_has_an_interval(void **state)
{
    const struct profile sampled = {.sample_bytes = 4096}, exact = {0};
    const struct window all = {0};
    (void)state;
    assert_true(estimate_known(&sampled, METRIC_LIVE, SIZE_REQUESTED, &all));
    assert_true(estimate_known(&sampled, METRIC_TOTAL, SIZE_REQUESTED, &all));
    assert_false(estimate_known(&sampled, METRIC_LARGEST, SIZE_REQUESTED, &all));
    assert_false(estimate_known(&sampled, METRIC_MAPPED, SIZE_REQUESTED, &all));
    assert_false(estimate_known(&sampled, METRIC_CPU, SIZE_REQUESTED, &all));
    assert_false(estimate_known(&sampled, METRIC_LIVE, SIZE_USABLE, &all));
    assert_false(estimate_known(&exact, METRIC_LIVE, SIZE_REQUESTED, &all));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_weights),
                                       cmocka_unit_test(test_estimate),
                                       cmocka_unit_test(test_what_has_an_interval)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
