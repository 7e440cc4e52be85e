/*
 * What the end of a process may cost: bounded, and never so little that a small step is left out.
 */
#include "unit.h"

#include "base/clock.h"
#include "collect/session/end_budget.h"

#define MS UINT64_C(1000000)

static struct session_options options;

static struct session session_now(void)
{
    options = (struct session_options){0};
    return (struct session){.options = &options, .start_ns = monotonic_ns()};
}

static void test_a_program(void **state)
{
    struct session s = session_now();
    struct target t = {0};
    (void)state;
    assert_true(end_budget_left(&s, &t) >= 200 * MS);
    t.end_spent_ns = 150 * MS;
    uint64_t left = end_budget_left(&s, &t);
    assert_true(left >= 50 * MS && left < 100 * MS); /* more after a run of more than 4 s */
}

/* The steps before took long, because the machine is slow: a small one is done all the same. */
static void test_a_slow_machine(void **state)
{
    struct session s = session_now();
    struct target t = {.end_spent_ns = 3600000 * MS};
    (void)state;
    assert_int_equal(end_budget_left(&s, &t), 20 * MS);
    s.forked_spent_ns = 3600000 * MS;
    t.forked = true;
    assert_int_equal(end_budget_left(&s, &t), 2 * MS);
}

/* A machine that takes a hundred times as long leaves what the estimates leave. */
static void test_a_step_counts_for_twice_its_estimate(void **state)
{
    struct session s = session_now();
    struct target t = {.forked = true};
    (void)state;
    assert_int_equal(end_budget_most(5 * MS), 10 * MS);
    assert_int_equal(end_budget_stop(&s, &t, end_budget_start(), 1000 * MS, 10 * MS), 10 * MS);
    assert_int_equal(s.forked_spent_ns, 10 * MS);
    assert_int_equal(t.end_spent_ns, 10 * MS);
    uint64_t less = end_budget_stop(&s, &t, end_budget_start(), 1 * MS, 3600000 * MS);
    assert_true(less >= 1 * MS); /* less than the most counts as it is */
    assert_int_equal(s.forked_spent_ns, 10 * MS + less);
}

static void test_no_bounds(void **state)
{
    struct session s = session_now();
    struct target t = {.end_spent_ns = 3600000 * MS};
    (void)state;
    options.full_scan = true;
    assert_true(end_budget_left(&s, &t) == UINT64_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_program),
        cmocka_unit_test(test_a_slow_machine),
        cmocka_unit_test(test_a_step_counts_for_twice_its_estimate),
        cmocka_unit_test(test_no_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
