/* run --sample: which blocks are recorded, the table of them (record/alloc_sample.c), and their weights. */
#include <math.h>

#include "record/bootstrap_alloc.h"
#include "record/recorder.h"
#include "recorder_memory.h"
#include "unit.h"
#include "wire/weights.h"

/* --- what alloc_sample.c wants of the recorder ------------------------------------------------------ */

struct recorder recorder;
__thread struct tls tls;
static struct wire_header header;
static char boot[64]; /* given out before the next malloc was known */

void sys_yield(void)
{
}

size_t boot_bytes(char **start)
{
    *start = boot;
    return sizeof boot;
}

static void begin(uint64_t period, uint64_t seed)
{
    header.sample_bytes = period;
    header.sample_seed = seed;
    recorder.header = &header;
    tide_sample_left = 0;
    assert_true(sample_reset(&header));
}

/* --- which blocks ----------------------------------------------------------------------------- */

/* Of many blocks of one size, the share that is recorded is 1 - exp(-size / period). */
static void test_probability(void **state)
{
    static const size_t sizes[] = {0, 1, 16, 1000, 4096, 20000};
    (void)state;
    begin(4096, 5);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct thread t = {.number = (uint32_t)i + 1};
        const unsigned all = 400000;
        unsigned taken = 0;
        tide_sample_left = 0;
        for (unsigned n = 0; n < all; n++)
            taken += !sample_skips(&t, sizes[i]);
        double p = -expm1(-(double)sizes[i] / 4096);
        double deviation = sqrt(p * (1 - p) * all);
        assert_true(fabs(taken - p * all) < 4 * deviation + 1);
    }
}

/* All sizes together: the bytes between two points are so many on average. */
static void test_mixed_sizes(void **state)
{
    struct thread t = {.number = 1};
    uint64_t random = 9, bytes = 0;
    unsigned points = 0;
    (void)state;
    begin(65536, 1);
    for (unsigned n = 0; n < 2000000; n++) {
        size_t size = 1 + unit_random(&random) % 200;
        bytes += size;
        points += !sample_skips(&t, size);
    }
    double expected = (double)bytes / 65536;
    assert_true(fabs(points - expected) < 4 * sqrt(expected));
}

static void test_seed(void **state)
{
    unsigned first[2][64];
    (void)state;
    for (unsigned k = 0; k < 2; k++) {
        struct thread t = {.number = 3};
        begin(1000, 77);
        for (unsigned i = 0; i < 64; i++) {
            first[k][i] = 0;
            while (sample_skips(&t, 10))
                first[k][i]++;
        }
    }
    assert_memory_equal(first[0], first[1], sizeof *first);
}

/* --- the table -------------------------------------------------------------------------------- */

#define ADDRESSES 60000

static struct indexed numbered(size_t i)
{
    return (struct indexed){(uint32_t)i, (uint32_t)i + 1, i + 2, i + 3};
}

static bool adds(uintptr_t address, size_t i)
{
    struct indexed b = numbered(i), none;
    return sample_add((const void *)address, &b, &none) == SAMPLE_ADDED;
}

static bool removes(uintptr_t address, size_t i)
{
    struct indexed b = {0}, want = numbered(i);
    bool found =
        sample_may_be((const void *)address) && sample_find((const void *)address, &b, true);
    if (found)
        assert_memory_equal(&b, &want, sizeof b);
    return found;
}

/* The collector finds the table by what it was told. */
static size_t told_blocks(void)
{
    uint64_t where = atomic_load(&header.totals.sample_table);
    const struct wire_block *table = (const void *)(uintptr_t)(where & ~UINT64_C(4095));
    size_t count = 0;
    for (size_t i = 0; i < (size_t)1 << (where & 4095); i++)
        count += table[i].address != 0;
    return count;
}

/* Grows over three tables, with every second address taken out again, in another order. */
static void test_table(void **state)
{
    static uintptr_t all[ADDRESSES];
    static bool stuck[ADDRESSES]; /* memory of the start is always asked for */
    uint64_t random = 3;
    (void)state;
    begin(1000, 1);
    for (size_t i = 0; i < ADDRESSES; i++) { /* before others that share their byte of the filter */
        all[i] = (uintptr_t)0x7f0000000000 + (i << 6 | (unit_random(&random) & 0x30));
        stuck[i] = sample_may_be((const void *)all[i]);
    }
    for (size_t i = 0; i < ADDRESSES; i++) {
        assert_true(adds(all[i], i));
        assert_true(*SAMPLE_FILTER_OF(all[i]) != 0);
    }
    assert_int_equal(told_blocks(), ADDRESSES);
    for (size_t i = 0; i < ADDRESSES; i++)
        assert_false(removes(all[i] ^ 0x30, i));
    for (size_t i = ADDRESSES; i-- > 0;)
        if (i % 2)
            assert_true(removes(all[i], i));
    assert_int_equal(told_blocks(), ADDRESSES / 2);
    for (size_t i = 0; i < ADDRESSES; i++)
        assert_int_equal(removes(all[i], i), i % 2 == 0);
    for (size_t i = 0; i < ADDRESSES; i++) /* filters that were never full are empty again */
        assert_int_equal(sample_may_be((const void *)all[i]), stuck[i]);
}

/* An address that comes again without its free having been seen is there once. */
static void test_twice(void **state)
{
    const uintptr_t p = 0x5550;
    struct indexed again = numbered(2), old, first = numbered(1);
    (void)state;
    begin(1000, 1);
    assert_true(adds(p, 1));
    assert_int_equal(sample_add((const void *)p, &again, &old), SAMPLE_REPLACED);
    assert_memory_equal(&old, &first, sizeof old);
    assert_true(sample_find((const void *)p, &old, false));
    assert_true(removes(p, 2));
    assert_false(removes(p, 2));
}

/* --- weights ---------------------------------------------------------------------------------- */

/* As in floating point, to a part in 10^9; blocks are rounded either way, by address. */
static void test_weights(void **state)
{
    (void)state;
    for (uint64_t period = 64; period <= WIRE_PERIOD_MOST; period *= 4)
        for (uint64_t size = 0; size < UINT64_C(1) << 36; size = size * 5 / 4 + 1) {
            double p = -expm1(-(double)(size ? size : 1) / (double)period);
            struct wire_weight w = wire_weigh(period, size * 48, size, size + 16);
            assert_true(fabs((double)w.bytes - (double)size / p) <= 0.5 + 1e-9 * (double)size / p);
            assert_true((double)w.blocks > 1 / p - 1 && (double)w.blocks < 1 / p * (1 + 1e-9) + 1);
            double slack = 16 / p < (double)WIRE_SLACK_MOST ? 16 / p : (double)WIRE_SLACK_MOST;
            assert_true(fabs((double)(w.usable - w.bytes) - slack) <= 1 + 1e-9 * slack);
        }
    uint64_t blocks = 0;
    for (uint64_t i = 0; i < 10000; i++)
        blocks += wire_weigh(1000, i * 16, 300, 300).blocks;
    assert_true(fabs((double)blocks / 10000 * -expm1(-0.3) - 1) < 0.01);
}

/* Free must not hand such memory on: its addresses look as if they were recorded. */
static void test_memory_from_before(void **state)
{
    (void)state;
    begin(1000, 1);
    for (size_t at = 0; at < sizeof boot; at += 16) {
        assert_int_equal(*SAMPLE_FILTER_OF((uintptr_t)boot + at), UINT8_MAX);
        assert_false(removes((uintptr_t)boot + at, 0));
        assert_int_equal(*SAMPLE_FILTER_OF((uintptr_t)boot + at), UINT8_MAX);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_probability), cmocka_unit_test(test_mixed_sizes),
        cmocka_unit_test(test_seed),        cmocka_unit_test(test_table),
        cmocka_unit_test(test_twice),       cmocka_unit_test(test_memory_from_before),
        cmocka_unit_test(test_weights)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
