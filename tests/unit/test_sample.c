/* run --sample: which blocks are recorded, and the table of their addresses (record/sample.c). */
#include <math.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "record/recorder.h"
#include "unit.h"

/* --- what sample.c wants of the recorder ------------------------------------------------------ */

struct recorder recorder;
__thread struct tls tls;
static struct wire_header header;
static char boot[64]; /* given out before the next malloc was known */

long sys_call(long number, ...)
{
    long a[6];
    va_list args;
    va_start(args, number);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(args, long);
    va_end(args);
    return syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

void sys_yield(void)
{
}

void *sys_map(size_t size)
{
    void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

void recorder_own(const void *start, size_t size)
{
    (void)start;
    (void)size;
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
        double p = -expm1(-(double)(sizes[i] ? sizes[i] : 1) / 4096);
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

/* Grows over three tables, with every second address taken out again, in another order. */
static void test_table(void **state)
{
    static uintptr_t all[ADDRESSES];
    uint64_t random = 3;
    (void)state;
    begin(1000, 1);
    for (size_t i = 0; i < ADDRESSES; i++) {
        all[i] = (uintptr_t)0x7f0000000000 + (i << 6 | (unit_random(&random) & 0x30));
        assert_true(sample_add((const void *)all[i]));
        assert_true(*SAMPLE_FILTER_OF(all[i]) != 0);
    }
    for (size_t i = 0; i < ADDRESSES; i++)
        assert_false(sample_remove((const void *)(all[i] ^ 0x30)));
    for (size_t i = ADDRESSES; i-- > 0;)
        if (i % 2)
            assert_true(sample_remove((const void *)all[i]));
    for (size_t i = 0; i < ADDRESSES; i++)
        assert_int_equal(sample_remove((const void *)all[i]), i % 2 == 0);
    for (size_t i = 0; i < ADDRESSES; i++) /* filters that were never full are empty again */
        assert_false(sample_takes((const void *)all[i]));
}

/* An address that comes again without its free having been seen is there once. */
static void test_twice(void **state)
{
    const void *p = (const void *)(uintptr_t)0x5550;
    (void)state;
    begin(1000, 1);
    assert_true(sample_add(p));
    assert_true(sample_add(p));
    assert_true(sample_takes(p));
    assert_false(sample_takes(p));
}

/* Free must not hand such memory on: its addresses look as if they were recorded. */
static void test_memory_from_before(void **state)
{
    (void)state;
    begin(1000, 1);
    for (size_t at = 0; at < sizeof boot; at += 16) {
        assert_int_equal(*SAMPLE_FILTER_OF((uintptr_t)boot + at), UINT8_MAX);
        assert_false(sample_takes(boot + at));
        assert_int_equal(*SAMPLE_FILTER_OF((uintptr_t)boot + at), UINT8_MAX);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_probability), cmocka_unit_test(test_mixed_sizes),
        cmocka_unit_test(test_seed),        cmocka_unit_test(test_table),
        cmocka_unit_test(test_twice),       cmocka_unit_test(test_memory_from_before)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
