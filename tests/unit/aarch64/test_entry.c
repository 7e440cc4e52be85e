/* A function's first instruction, moved: what it becomes at its new place. */
#include "../unit.h"

#include "record/entry.h"

#define FUNCTION   UINT64_C(0x400000)
#define SLOT       UINT64_C(0x3f0000)
#define TRAMPOLINE UINT64_C(64)
#define TO         UINT64_C(0x2000) /* how far the moved branches lead */
#define RET        0xd65f03c0u

/* Marks of functions are of no interest here. */
void entry_reached(uint64_t number)
{
    (void)number;
}

/* Branches to `to` from `from`. */
static uint32_t branch(uint64_t from, uint64_t to)
{
    return 0x14000000u | ((uint32_t)((int64_t)(to - from) / 4) & 0x3ffffff);
}

/* Makes a slot for a function that begins with `first`; false: it cannot be. */
static bool make(uint32_t first, uint64_t slot_address, uint32_t slot[ENTRY_SLOT / 4])
{
    uint32_t function[8] = {first, RET, RET, RET, RET, RET, RET, RET};
    uint8_t patch[ENTRY_PATCH];
    uint64_t trampoline;
    struct entry e = {.address = FUNCTION,
                      .code = (const uint8_t *)function,
                      .size = sizeof function,
                      .readable = sizeof function,
                      .hook = function};
    memset(slot, 0, ENTRY_SLOT);
    return entry_make(&e, (uint8_t *)slot, slot_address, patch, &trampoline) &&
           trampoline == slot_address + TRAMPOLINE;
}

/* Where it leads has no landing mark: the branch must be a direct one. */
static void test_moved_branches(void **state)
{
    (void)state;
    uint32_t slot[ENTRY_SLOT / 4], *moved = slot + TRAMPOLINE / 4;
    uint64_t at = SLOT + TRAMPOLINE, to = FUNCTION + TO;
    assert_true(make(branch(FUNCTION, to), SLOT, slot));
    assert_int_equal(moved[0], branch(at, to));

    static const uint32_t conditional[] = {
        0x54000001u, /* b.ne */
        0xb4000000u, /* cbz x0 */
        0x35000003u, /* cbnz w3 */
        0xb6400005u, /* tbz x5, #40 */
    };
    for (size_t i = 0; i < sizeof conditional / sizeof *conditional; i++) {
        assert_true(make(conditional[i] | (uint32_t)(TO / 4) << 5, SLOT, slot));
        assert_int_equal(moved[0], conditional[i] | 2u << 5);
        assert_int_equal(moved[1], branch(at + 4, at + 12));
        assert_int_equal(moved[2], branch(at + 8, to));
        assert_int_equal(moved[3], branch(at + 12, FUNCTION + 4));
    }
}

/* The function is in reach, but not where its first instruction leads. */
static void test_out_of_reach(void **state)
{
    (void)state;
    uint32_t slot[ENTRY_SLOT / 4];
    uint64_t far = FUNCTION + ENTRY_REACH - 4;
    assert_true(make(branch(FUNCTION, far), FUNCTION + (64 << 10), slot));
    assert_false(make(branch(FUNCTION, far), SLOT, slot));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_moved_branches),
        cmocka_unit_test(test_out_of_reach),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
