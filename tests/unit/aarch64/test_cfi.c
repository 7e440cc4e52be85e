/*
 * Call frame information: rows of functions whose rules are known to the instruction, and of all of
 * this program and the C library as readelf prints them. And the rules that rows are packed into.
 */
#include "../unit.h"

#include <sys/prctl.h>

#include "unwind/cfi.h"
#include "unwind/cfi_expression.h"
#include "unwind/rule.h"

#define LR 30

/* As readelf calls them; "ra" is x30. */
static const char *const cfi_registers[ARCH_REGISTERS] = {
    "x0",  "x1",  "x2",  "x3",  "x4",  "x5",  "x6",  "x7",  "x8",  "x9",  "x10",
    "x11", "x12", "x13", "x14", "x15", "x16", "x17", "x18", "x19", "x20", "x21",
    "x22", "x23", "x24", "x25", "x26", "x27", "x28", "x29", "ra",  "sp",  "pc"};

#include "../cfi_rows.h"

#define AT(label) ((uint64_t)(uintptr_t)(label))

void probe(void);
extern const char probe_signed[], probe_saved[], probe_fp[], probe_left[], probe_undefined[];

__asm__(".text\n"
        ".globl probe, probe_signed, probe_saved, probe_fp, probe_left, probe_undefined\n"
        "probe:\n"
        "\t.cfi_startproc\n"
        "\tpaciasp\n"
        "\t.cfi_negate_ra_state\n"
        "probe_signed:\n"
        "\tstp x29, x30, [sp, #-48]!\n"
        "\t.cfi_def_cfa_offset 48\n"
        "\t.cfi_offset 29, -48\n"
        "\t.cfi_offset 30, -40\n"
        "probe_saved:\n"
        "\tmov x29, sp\n"
        "\t.cfi_def_cfa 29, 48\n"
        "probe_fp:\n"
        "\tnop\n"
        "\tldp x29, x30, [sp], #48\n"
        "\t.cfi_restore 30\n"
        "\t.cfi_restore 29\n"
        "\t.cfi_def_cfa 31, 0\n"
        "probe_left:\n"
        "\tautiasp\n"
        "\t.cfi_negate_ra_state\n"
        "\tret\n"
        "\t.cfi_undefined 30\n"
        "probe_undefined:\n"
        "\tnop\n"
        "\t.cfi_endproc\n");

static int space_find(const struct unwind_space *self, uint64_t address, struct unwind_module *out)
{
    (void)self;
    return own_module(address, out);
}

static rule_word rule_at(const char *place)
{
    static const struct unwind_space space = {.find = space_find};
    struct rules *rules = calloc(1, sizeof *rules);
    rule_word rule = rule_get(rules, &space, AT(place) + 1);
    free(rules);
    return rule;
}

static void check(const char *place, unsigned reg, int64_t cfa, enum cfi_how saved,
                  enum rule_kind kind)
{
    struct cfi_row row;
    rule_word rule = rule_at(place);
    assert_int_equal(own_row(AT(place), &row), 0);
    assert_int_equal(row.return_reg, LR);
    assert_int_equal(row.cfa_reg, reg);
    assert_u64_equal(row.cfa_offset, cfa);
    assert_int_equal(row.regs[LR].how, saved);
    assert_int_equal(rule_kind(rule), kind);
    if (saved != CFI_OFFSET)
        return;
    assert_u64_equal(row.regs[LR].offset, -40);
    assert_u64_equal(row.regs[ARCH_REG_FP].offset, -48);
    assert_u64_equal(rule_cfa_offset(rule), cfa);
    assert_u64_equal(rule_return_offset(rule), -40);
    assert_u64_equal(rule_fp_offset(rule), -48);
}

/* While the return address is in x30, the way out needs all registers. */
static void test_known_function(void **state)
{
    (void)state;
    check((const char *)(uintptr_t)probe, ARCH_REG_SP, 0, CFI_SAME, RULE_SLOW);
    check(probe_signed, ARCH_REG_SP, 0, CFI_SAME, RULE_SLOW);
    check(probe_saved, ARCH_REG_SP, 48, CFI_OFFSET, RULE_SP);
    check(probe_fp, ARCH_REG_FP, 48, CFI_OFFSET, RULE_FP);
    check(probe_left, ARCH_REG_SP, 0, CFI_SAME, RULE_SLOW);
    check(probe_undefined, ARCH_REG_SP, 0, CFI_UNDEFINED, RULE_OUTERMOST);
}

static void test_rules_hold_what_fits(void **state)
{
    (void)state;
    static const int64_t offsets[] = {8, 16, -8, -16, 4096, -4096, 32767 * 8, -32768 * 8};
    for (size_t i = 0; i < 8; i++)
        for (size_t k = 0; k < 8; k++)
            for (uint32_t epoch = 0; epoch <= 4095; epoch += 1365) {
                rule_word r = rule_pack(RULE_SP, epoch, offsets[i], offsets[k], offsets[7 - k]);
                assert_true(rule_fits(offsets[i], offsets[k], offsets[7 - k]));
                assert_int_equal(rule_kind(r), RULE_SP);
                assert_int_equal(rule_epoch(r), epoch);
                assert_u64_equal(rule_cfa_offset(r), offsets[i]);
                assert_u64_equal(rule_fp_offset(r), offsets[k]);
                assert_u64_equal(rule_return_offset(r), offsets[7 - k]);
            }
    assert_false(rule_fits(32768 * 8, 0, -8));
    assert_false(rule_fits(16, -32769 * 8, -8));
    assert_false(rule_fits(16, -16, 4));
}

/* Where a frame ends that holds one vector of any length: sp + 16 + VG * 8. */
static void test_length_of_vectors(void **state)
{
    (void)state;
    static const uint8_t end[] = {0x8f, 16, 0x92, 46, 0, 0x38, 0x1e, 0x22};
    struct arch_registers r = {.known = ARCH_BIT(ARCH_REG_SP)};
    struct unwind_space space = {0};
    uint64_t cfa = 0;
    bool sve = getauxval(AT_HWCAP) & HWCAP_SVE;
    r.value[ARCH_REG_SP] = 0x1000;
    assert_int_equal(expr_evaluate(&space, &r, end, sizeof end, NULL, &cfa), sve ? 0 : -1);
    if (sve)
        assert_u64_equal(cfa, 0x1010 + (uint64_t)(prctl(PR_SVE_GET_VL) & PR_SVE_VL_LEN_MASK));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_function),
        cmocka_unit_test(test_as_readelf_has_it),
        cmocka_unit_test(test_rules_hold_what_fits),
        cmocka_unit_test(test_length_of_vectors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
