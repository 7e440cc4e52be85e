/* Memory that was refused is not asked for again in the same tick, but in the next one. */
#include "unit.h"

#include "record/refused_memory.h"

static void test_refusal_holds_for_one_tick(void **state)
{
    (void)state;
    struct refusal r = {0};
    assert_false(refusal_holds(&r, 7));
    assert_false(refusal_note(&r, 7, false));
    assert_true(refusal_holds(&r, 7));
    assert_false(refusal_holds(&r, 8));
    assert_false(refusal_holds(&r, 6));
    assert_false(refusal_note(&r, 8, false));
    assert_true(refusal_holds(&r, 8));
}

/* The clock of a program may be read before its first tick. */
static void test_nothing_was_refused_at_tick_zero(void **state)
{
    (void)state;
    struct refusal r = {0};
    assert_false(refusal_holds(&r, 0));
    assert_false(refusal_note(&r, 0, false));
    assert_true(refusal_holds(&r, 0));
    assert_false(refusal_holds(&r, 1));
}

static void test_memory_that_is_granted_is_no_refusal(void **state)
{
    (void)state;
    struct refusal r = {0};
    assert_true(refusal_note(&r, 7, true));
    assert_false(refusal_holds(&r, 7));
    assert_false(refusal_note(&r, 7, false));
    refusal_clear(&r); /* a forked child, or another session */
    assert_false(refusal_holds(&r, 7));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refusal_holds_for_one_tick),
        cmocka_unit_test(test_nothing_was_refused_at_tick_zero),
        cmocka_unit_test(test_memory_that_is_granted_is_no_refusal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
