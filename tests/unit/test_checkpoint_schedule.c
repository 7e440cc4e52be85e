/* When checkpoints are written: soon, and for a small part of the time. */
#include "unit.h"

#include "collect/session/checkpoint_schedule.h"

#define MS    UINT64_C(1000000)
#define USUAL .apart_cost = CHECKPOINTS_APART_COST

static void test_first(void **state)
{
    struct checkpoint_schedule none = {0};
    (void)state;
    assert_false(checkpoint_is_due(&none, 249 * MS, 1000));
    assert_true(checkpoint_is_due(&none, 250 * MS, 1000));
}

static void test_cheap_ones_are_half_a_second_apart(void **state)
{
    struct checkpoint_schedule c = {USUAL, .last_ns = 300 * MS, .cost_ns = 2 * MS, .amount = 1000};
    (void)state;
    assert_false(checkpoint_is_due(&c, 799 * MS, 1000));
    assert_true(checkpoint_is_due(&c, 800 * MS, 1000));
}

static void test_a_pause_of_fifty_times_the_cost(void **state)
{
    struct checkpoint_schedule c = {USUAL, .last_ns = 1000 * MS, .cost_ns = 100 * MS,
                                    .amount = 1000};
    (void)state;
    assert_false(checkpoint_is_due(&c, 5999 * MS, 1000));
    assert_true(checkpoint_is_due(&c, 6000 * MS, 1000));
}

static void test_sampled_ones_wait_longer(void **state)
{
    struct checkpoint_schedule c = {.apart_cost = CHECKPOINTS_APART_SAMPLED,
                                    .last_ns = 1000 * MS,
                                    .cost_ns = 4 * MS,
                                    .amount = 1000};
    (void)state;
    assert_false(checkpoint_is_due(&c, 2999 * MS, 1000));
    assert_true(checkpoint_is_due(&c, 3000 * MS, 1000));
}

/* Twenty times as much is written in twenty times the time: ten times that is waited for. */
static void test_much_more_than_last_time(void **state)
{
    struct checkpoint_schedule c = {USUAL, .last_ns = 300 * MS, .cost_ns = 50 * MS, .amount = 1000};
    (void)state;
    assert_true(checkpoint_is_due(&c, 2800 * MS, 5000));
    assert_false(checkpoint_is_due(&c, 2800 * MS, 20000));
    assert_false(checkpoint_is_due(&c, 10299 * MS, 20000));
    assert_true(checkpoint_is_due(&c, 10300 * MS, 20000));
}

static void test_the_longest_pause(void **state)
{
    struct checkpoint_schedule c = {USUAL, .last_ns = 300 * MS, .cost_ns = 50 * MS, .amount = 1};
    (void)state;
    assert_false(checkpoint_is_due(&c, 30299 * MS, UINT64_C(1) << 40));
    assert_true(checkpoint_is_due(&c, 30300 * MS, UINT64_C(1) << 40));
    c.cost_ns = 1000 * MS; /* then the pause is fifty times that */
    assert_false(checkpoint_is_due(&c, 30300 * MS, 1));
    assert_true(checkpoint_is_due(&c, 50300 * MS, 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_first),
        cmocka_unit_test(test_cheap_ones_are_half_a_second_apart),
        cmocka_unit_test(test_a_pause_of_fifty_times_the_cost),
        cmocka_unit_test(test_sampled_ones_wait_longer),
        cmocka_unit_test(test_much_more_than_last_time),
        cmocka_unit_test(test_the_longest_pause),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
