/* What may be missing at a peak of several threads (wire/layout.h). */
#include "unit.h"
#include "wire/layout.h"

static void test_bytes_of_one_peak_add_up(void **state)
{
    (void)state;
    uint64_t unsure = wire_unsure_add(0, 7, 5000);
    unsure = wire_unsure_add(unsure, 7, 6000);
    assert_int_equal(wire_unsure_bytes(unsure, 7), 11000);
    assert_int_equal(wire_unsure_bytes(unsure, 8), 0);
}

static void test_another_peak_begins_anew(void **state)
{
    (void)state;
    uint64_t unsure = wire_unsure_add(wire_unsure_add(0, 7, 5000), 8, 6000);
    assert_int_equal(wire_unsure_bytes(unsure, 7), 0);
    assert_int_equal(wire_unsure_bytes(unsure, 8), 6000);
}

/* Numbers of peaks have more bits than there is room for; and there may be very many bytes. */
static void test_limits(void **state)
{
    (void)state;
    uint64_t unsure = wire_unsure_add(0, 0x12345678, 5000);
    assert_int_equal(wire_unsure_bytes(unsure, 0x12345678), 5000);
    unsure = wire_unsure_add(unsure, 0x12345678, UINT64_C(1) << 47);
    assert_int_equal(wire_unsure_bytes(unsure, 0x12345678), WIRE_UNSURE_MOST);
    assert_int_equal(wire_unsure_bytes(wire_unsure_add(unsure, 0x12345678, 1), 0x12345678),
                     WIRE_UNSURE_MOST);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bytes_of_one_peak_add_up),
        cmocka_unit_test(test_another_peak_begins_anew),
        cmocka_unit_test(test_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
