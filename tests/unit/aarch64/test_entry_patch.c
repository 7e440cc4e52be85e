/* A function's first instruction, moved: what it becomes at its new place. */
#include "../unit.h"

#include <asm/hwcap.h>
#include <sys/auxv.h>
#include <sys/prctl.h>

#include "record/entry_patch.h"

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

/* --- registers ------------------------------------------------------------------------------- */

extern const char entry_wrapper[] __attribute__((visibility("hidden")));

#define LONGEST 256 /* bytes of a vector */

/* All that a compiler may use in a hook and need not keep. */
static void *overwrite(void)
{
    __asm__ volatile("movi v20.16b, #0\n\t"
                     "movi v3.16b, #0\n\t"
                     "mov x7, #0\n\t"
                     :
                     :
                     : "v20", "v3", "x7");
    return NULL;
}

__asm__(".text\n"
        ".arch_extension sve\n"
        "call_wrapped:\n" /* slot, room for a vector each */
        "stp x29, x30, [sp, #-32]!\n"
        "stp x19, x20, [sp, #16]\n"
        "mov x16, x0\n"
        "mov x19, x1\n"
        "mov x20, x2\n"
        "dup z20.b, w3\n"
        "dup z3.b, w3\n"
        "mov x7, x3\n"
        "bl entry_wrapper\n"
        "mov x0, x7\n"
        "str z20, [x19]\n"
        "str z3, [x20]\n"
        "ldp x19, x20, [sp, #16]\n"
        "ldp x29, x30, [sp], #32\n"
        "ret\n"
        ".arch_extension nosve\n");
uint64_t call_wrapped(const void *slot, uint8_t *one, uint8_t *other, uint64_t value);

/* Vectors are kept whole, where they are longer than 16 bytes. */
static void test_vectors(void **state)
{
    (void)state;
    const void *hook = (const void *)overwrite;
    uint8_t one[LONGEST], other[LONGEST];
    uint32_t made[ENTRY_SLOT / 4];
    if (!(getauxval(AT_HWCAP) & HWCAP_SVE))
        return;
    assert_true(make(branch(FUNCTION, FUNCTION + TO), SLOT, made));
    memset(one, 0, sizeof one);
    memset(other, 0, sizeof other);
    assert_u64_equal(call_wrapped(&hook, one, other, 7), 7);
    size_t length = LONGEST;
    while (length && !one[length - 1])
        length--;
    assert_true(length >= 16 && length == (size_t)prctl(PR_SVE_GET_VL) % (LONGEST * 2));
    for (size_t i = 0; i < length; i++)
        assert_true(one[i] == 7 && other[i] == 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_moved_branches),
        cmocka_unit_test(test_out_of_reach),
        cmocka_unit_test(test_vectors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
