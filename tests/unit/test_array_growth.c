/* Which steps of arrays that grow are reported (record/array_growth.c). */
#include "record/array_growth.h"

#include "record/accounts_memory.h"
#include "unit.h"

/* --- what array_growth.c wants of the recorder ------------------------------------------------ */

struct recorder recorder;
struct accounts_memory accounts;
__thread struct tls tls;

bool ring_spare_room(struct thread *t)
{
    (void)t;
    return false;
}

/* --- a thread whose ring is an array ---------------------------------------------------------- */

#define RECORD_WORDS 6u

static uint64_t words[RECORD_WORDS * 64];
static struct wire_ring ring;
static struct growing_array growing[GROWING_ARRAYS];
static struct thread thread;

static void begin(void)
{
    memset(growing, 0, sizeof growing);
    thread =
        (struct thread){.ring = &ring, .at = words, .end = words + sizeof words / sizeof *words};
    thread.counting.growing = growing;
}

/* An array moves from one address to another, and grows. */
static void grow(uintptr_t from, uintptr_t to, uint64_t old_size, uint64_t size)
{
    struct growth_step step = {
        .from = from, .to = to, .size = size, .old = {.size = old_size}, .by_realloc = true};
    growth_step(&thread, &step);
}

/* The new sizes in the records, in their order; returns how many there are. */
static size_t reported(uint64_t sizes[64])
{
    size_t count = (size_t)(thread.at - words) / RECORD_WORDS;
    for (size_t i = 0; i < count; i++)
        sizes[i] = words[i * RECORD_WORDS + 3];
    return count;
}

static void test_two_steps_are_kept_back(void **state)
{
    uint64_t sizes[64];
    (void)state;
    begin();
    for (uintptr_t array = 0; array < 1000; array++) {
        grow(0x10000 + array * 64, 0x20000 + array * 64, 16, 32);
        grow(0x20000 + array * 64, 0x30000 + array * 64, 32, 64);
    }
    assert_int_equal(reported(sizes), 0);
}

static void test_the_third_step_reports_all(void **state)
{
    uint64_t sizes[64];
    (void)state;
    begin();
    grow(0x1000, 0x2000, 16, 32);
    grow(0x2000, 0x2000, 32, 64); /* in place */
    grow(0x2000, 0x3000, 64, 128);
    assert_int_equal(reported(sizes), 3);
    assert_int_equal(sizes[0], 32);
    assert_int_equal(sizes[1], 64);
    assert_int_equal(sizes[2], 128);
    grow(0x3000, 0x4000, 128, 256);
    assert_int_equal(reported(sizes), 4);
    assert_int_equal(sizes[3], 256);
}

static void test_arrays_that_grow_in_turn(void **state)
{
    uint64_t sizes[64];
    (void)state;
    begin();
    for (uint64_t size = 16; size < 128; size *= 2)
        for (uintptr_t array = 0; array < 5; array++)
            grow(size * 0x10000 + array * 64, size * 0x20000 + array * 64, size, size * 2);
    assert_int_equal(reported(sizes), 15);
}

static void test_another_block_at_the_address(void **state)
{
    uint64_t sizes[64];
    (void)state;
    begin();
    grow(0x1000, 0x2000, 16, 32);
    grow(0x2000, 0x3000, 32, 64);
    grow(0x3000, 0x4000, 80, 160); /* of another size: not the same array */
    assert_int_equal(reported(sizes), 0);
}

static void test_large_arrays_are_reported_at_once(void **state)
{
    uint64_t sizes[64];
    (void)state;
    begin();
    grow(0x1000, 0x2000, 1024, 2048);
    grow(0x2000, 0x8000, 2048, GROWTH_LARGE);
    assert_int_equal(reported(sizes), 2);
    assert_int_equal(sizes[0], 2048);
    grow(0x10000, 0x20000, 100000, 200000);
    assert_int_equal(reported(sizes), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_two_steps_are_kept_back),
        cmocka_unit_test(test_the_third_step_reports_all),
        cmocka_unit_test(test_arrays_that_grow_in_turn),
        cmocka_unit_test(test_another_block_at_the_address),
        cmocka_unit_test(test_large_arrays_are_reported_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
