/* Ranges of addresses that lie within each other. */
#include "unit.h"

#include "symbol/nested_ranges.h"

static uint32_t owner_at(const struct spans *s, uint64_t address)
{
    const struct span *span = nested_ranges_find(s, address);
    return span ? span->owner : 0;
}

static void test_spans(void **state)
{
    (void)state;
    struct spans s = {0};
    nested_ranges_flatten(&s);
    assert_null(nested_ranges_find(&s, 0));
    nested_ranges_add(&s, 50, 60, 5); /* reaches out of 4 */
    nested_ranges_add(&s, 10, 40, 1);
    nested_ranges_add(&s, 20, 30, 2); /* nested */
    nested_ranges_add(&s, 25, 28, 3); /* nested twice */
    nested_ranges_add(&s, 45, 55, 4);
    nested_ranges_add(&s, 70, 70, 6); /* empty */
    nested_ranges_add(&s, 80, 90, 7);
    nested_ranges_add(&s, 80, 90, 8); /* the same again */
    nested_ranges_add(&s, 100, 110, 11);
    nested_ranges_add(&s, 100, 120, 10); /* begins where a smaller one does */
    nested_ranges_add(&s, UINT64_MAX - 1, UINT64_MAX, 9);
    nested_ranges_flatten(&s);
    static const struct {
        uint64_t address;
        uint32_t owner;
    } expected[] = {{9, 0},    {10, 1},
                    {19, 1},   {20, 2},
                    {24, 2},   {25, 3},
                    {27, 3},   {28, 2},
                    {29, 2},   {30, 1},
                    {39, 1},   {40, 0},
                    {45, 4},   {50, 5},
                    {54, 5},   {55, 5},
                    {59, 5},   {60, 0},
                    {70, 0},   {85, 8},
                    {100, 11}, {109, 11},
                    {110, 10}, {119, 10},
                    {120, 0},  {UINT64_MAX - 1, 9}};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        assert_int_equal(owner_at(&s, expected[i].address), expected[i].owner);
    for (size_t i = 1; i < s.count; i++)
        assert_true(s.items[i - 1].high <= s.items[i].low);
    nested_ranges_release(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_spans),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
