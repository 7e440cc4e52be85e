/*
 * Call frame information: rows of functions whose rules are known to the instruction, of all of
 * this program and the C library as readelf prints them, and of tables made by hand, also broken
 * ones. And the rules that rows are packed into.
 */
#include "../unit.h"

#include <dlfcn.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "unwind/cfi.h"
#include "unwind/rule.h"

/* As readelf calls them. */
static const char *const cfi_registers[ARCH_REGISTERS] = {"rax", "rdx", "rcx", "rbx", "rsi", "rdi",
                                                          "rbp", "rsp", "r8",  "r9",  "r10", "r11",
                                                          "r12", "r13", "r14", "r15", "ra"};

#include "../cfi_rows.h"

#define AT(label) ((uint64_t)(uintptr_t)(label))

/* --- functions whose rows are known ----------------------------------------------------------- */

void probe(void);
extern const char probe_pushed[], probe_fp[], probe_left[], probe_again[], probe_end[];
void probe_odd(void);
extern const char probe_register[], probe_value[], probe_restored[], probe_expression[],
    probe_undefined[];
void probe_signal(void);

__asm__(".text\n"
        ".globl probe, probe_pushed, probe_fp, probe_left, probe_again, probe_end\n"
        "probe:\n"
        "\t.cfi_startproc\n"
        "\tpushq %rbp\n"
        "\t.cfi_adjust_cfa_offset 8\n"
        "\t.cfi_rel_offset rbp, 0\n"
        "probe_pushed:\n"
        "\tmovq %rsp, %rbp\n"
        "\t.cfi_def_cfa_register rbp\n"
        "probe_fp:\n"
        "\tpushq %rbx\n"
        "\t.cfi_offset rbx, -24\n"
        "\tnop\n"
        "\t.cfi_remember_state\n"
        "\tpopq %rbx\n"
        "\tpopq %rbp\n"
        "\t.cfi_restore rbx\n"
        "\t.cfi_restore rbp\n"
        "\t.cfi_def_cfa rsp, 8\n"
        "probe_left:\n"
        "\tret\n"
        "\t.cfi_restore_state\n"
        "probe_again:\n"
        "\tnop\n"
        "\tud2\n"
        "\t.cfi_endproc\n"
        "probe_end:\n"
        ".globl probe_odd, probe_register, probe_value, probe_restored, probe_expression\n"
        ".globl probe_undefined\n"
        "probe_odd:\n"
        "\t.cfi_startproc\n"
        "\tnop\n"
        "\t.cfi_register rip, r11\n"
        "\t.cfi_register rbp, r10\n"
        "probe_register:\n"
        "\tnop\n"
        "\t.cfi_escape 0x15, 7, 0x7e\n" /* rsp is CFA + 16 */
        "\t.cfi_def_cfa r10, -48\n"
        "probe_value:\n"
        "\tnop\n"
        "\t.cfi_restore rip\n"
        "\t.cfi_same_value rbp\n"
        "\t.cfi_restore rsp\n"
        "\t.cfi_def_cfa rsp, 1000000\n"
        "probe_restored:\n"
        "\tnop\n"
        "\t.cfi_escape 0x0f, 3, 0x76, 0x78, 0x06\n"    /* CFA = [rbp - 8] */
        "\t.cfi_escape 0x10, 6, 2, 0x76, 0\n"          /* rbp is at [rbp] */
        "\t.cfi_escape 0x16, 3, 3, 0x77, 0xff, 0x00\n" /* rbx is rsp + 127 */
        "\t.cfi_escape 0x2e, 0x10\n"                   /* GNU_args_size */
        "probe_expression:\n"
        "\tnop\n"
        "\t.cfi_undefined rip\n"
        "probe_undefined:\n"
        "\tnop\n"
        "\t.cfi_endproc\n"
        ".globl probe_signal\n"
        "probe_signal:\n"
        "\t.cfi_startproc\n"
        "\t.cfi_signal_frame\n"
        "\tnop\n"
        "\t.cfi_endproc\n");

static void assert_rule(const struct cfi_row *row, unsigned reg, enum cfi_how how, int64_t offset)
{
    assert_int_equal(row->regs[reg].how, how);
    if (how == CFI_OFFSET || how == CFI_VAL_OFFSET)
        assert_u64_equal(row->regs[reg].offset, offset);
}

static void assert_cfa(const struct cfi_row *row, unsigned reg, int64_t offset)
{
    assert_null(row->cfa_expression);
    assert_int_equal(row->cfa_reg, reg);
    assert_u64_equal(row->cfa_offset, offset);
    assert_int_equal(row->return_reg, ARCH_REG_PC);
}

static void test_usual_function(void **state)
{
    (void)state;
    struct cfi_row row;
    assert_int_equal(own_row(AT(probe), &row), 0);
    assert_cfa(&row, ARCH_REG_SP, 8);
    assert_rule(&row, ARCH_REG_PC, CFI_OFFSET, -8);
    assert_rule(&row, ARCH_REG_FP, CFI_SAME, 0);
    assert_false(row.signal_frame);
    assert_int_equal(own_row(AT(probe_pushed), &row), 0);
    assert_cfa(&row, ARCH_REG_SP, 16);
    assert_rule(&row, ARCH_REG_FP, CFI_OFFSET, -16);
    assert_int_equal(own_row(AT(probe_pushed) - 1, &row), 0); /* the push is not done yet */
    assert_cfa(&row, ARCH_REG_SP, 8);
    assert_int_equal(own_row(AT(probe_fp), &row), 0);
    assert_cfa(&row, ARCH_REG_FP, 16);
    assert_rule(&row, 3, CFI_SAME, 0);
    assert_int_equal(own_row(AT(probe_fp) + 1, &row), 0);
    assert_rule(&row, 3, CFI_OFFSET, -24);
    assert_int_equal(own_row(AT(probe_left), &row), 0);
    assert_cfa(&row, ARCH_REG_SP, 8);
    assert_rule(&row, 3, CFI_SAME, 0);
    assert_rule(&row, ARCH_REG_FP, CFI_SAME, 0);
    assert_int_equal(own_row(AT(probe_again), &row), 0);
    assert_cfa(&row, ARCH_REG_FP, 16);
    assert_rule(&row, 3, CFI_OFFSET, -24);
    assert_rule(&row, ARCH_REG_FP, CFI_OFFSET, -16);
    assert_int_equal(own_row(AT(probe_end) - 1, &row), 0);
    assert_cfa(&row, ARCH_REG_FP, 16);
}

static void test_odd_function(void **state)
{
    (void)state;
    struct cfi_row row;
    assert_int_equal(own_row(AT(probe_register), &row), 0);
    assert_int_equal(row.regs[ARCH_REG_PC].how, CFI_REGISTER);
    assert_int_equal(row.regs[ARCH_REG_PC].reg, 11);
    assert_int_equal(row.regs[ARCH_REG_FP].reg, 10);
    assert_int_equal(own_row(AT(probe_value), &row), 0);
    assert_cfa(&row, 10, -48);
    assert_rule(&row, ARCH_REG_SP, CFI_VAL_OFFSET, 16);
    assert_int_equal(own_row(AT(probe_restored), &row), 0);
    assert_cfa(&row, ARCH_REG_SP, 1000000);
    assert_rule(&row, ARCH_REG_PC, CFI_OFFSET, -8);
    assert_rule(&row, ARCH_REG_FP, CFI_SAME, 0);
    assert_rule(&row, ARCH_REG_SP, CFI_SAME, 0);
    assert_int_equal(own_row(AT(probe_expression), &row), 0);
    assert_int_equal(row.cfa_expression_size, 3);
    assert_memory_equal(row.cfa_expression, "\x76\x78\x06", 3);
    assert_int_equal(row.regs[ARCH_REG_FP].how, CFI_EXPRESSION);
    assert_memory_equal(row.regs[ARCH_REG_FP].expression, "\x76\x00", 2);
    assert_int_equal(row.regs[3].how, CFI_VAL_EXPRESSION);
    assert_int_equal(row.regs[3].expression_size, 3);
    assert_int_equal(own_row(AT(probe_undefined), &row), 0);
    assert_rule(&row, ARCH_REG_PC, CFI_UNDEFINED, 0);
    assert_int_equal(own_row(AT(probe_signal), &row), 0);
    assert_true(row.signal_frame);
}

/* --- tables made by hand ---------------------------------------------------------------------- */

/*
 * .eh_frame_hdr, one CIE and its FDEs in a buffer; the "code" is at addresses after it, one FDE for
 * each 0x100 bytes of it.
 */
struct table {
    struct strbuf bytes;
    size_t cie;
    size_t fde[8];
    unsigned count;
    uint8_t *memory;
    size_t size;
};

enum { TABLE_HEADER = 12 + 8 * 8, CODE = 0x10000, CODE_STEP = 0x100 };

static void put_u32(struct strbuf *b, uint32_t v)
{
    strbuf_add(b, &v, 4);
}

static void end_entry(struct strbuf *b, size_t start)
{
    while ((b->size - start) % 8 != 0)
        strbuf_putc(b, 0); /* nop */
    uint32_t length = (uint32_t)(b->size - start - 4);
    memcpy(b->data + start, &length, 4);
}

static void table_begin(struct table *t, const void *program, size_t size)
{
    *t = (struct table){0};
    for (int i = 0; i < TABLE_HEADER; i++)
        strbuf_putc(&t->bytes, 0);
    while (t->bytes.size % 8)
        strbuf_putc(&t->bytes, 0);
    t->cie = t->bytes.size;
    put_u32(&t->bytes, 0);
    put_u32(&t->bytes, 0);
    strbuf_add(&t->bytes, "\x01zR\0\x01\x78\x10\x01\x1b", 9); /* pc-relative, 4 bytes */
    strbuf_add(&t->bytes, "\x0c\x07\x08\x90\x01", 5);         /* CFA = rsp + 8, ra at c-8 */
    strbuf_add(&t->bytes, program, size);
    end_entry(&t->bytes, t->cie);
}

static void table_function(struct table *t, const void *program, size_t size)
{
    size_t start = t->fde[t->count] = t->bytes.size;
    put_u32(&t->bytes, 0);
    put_u32(&t->bytes, (uint32_t)(start + 4 - t->cie));
    put_u32(&t->bytes, (uint32_t)(CODE + t->count * CODE_STEP - t->bytes.size));
    put_u32(&t->bytes, CODE_STEP);
    strbuf_putc(&t->bytes, 0); /* no augmentation data */
    strbuf_add(&t->bytes, program, size);
    end_entry(&t->bytes, start);
    t->count++;
}

/* The bytes in a place of their own, so that ASan sees a read outside. */
static struct cfi_section table_end(struct table *t)
{
    uint8_t *header = (uint8_t *)t->bytes.data;
    memcpy(header, "\x01\x1b\x03\x3b", 4);
    uint32_t frame = (uint32_t)t->cie - 4;
    memcpy(header + 4, &frame, 4);
    memcpy(header + 8, &t->count, 4);
    for (unsigned i = 0; i < t->count; i++) {
        uint32_t pair[2] = {CODE + i * CODE_STEP, (uint32_t)t->fde[i]};
        memcpy(header + 12 + i * 8, pair, 8);
    }
    t->size = t->bytes.size;
    t->memory = xmalloc(t->size);
    memcpy(t->memory, t->bytes.data, t->size);
    return (struct cfi_section){
        .begin = t->memory, .end = t->memory + t->size, .header = t->memory};
}

static void table_release(struct table *t)
{
    free(t->memory);
    strbuf_release(&t->bytes);
}

static uint64_t code_at(const struct table *t, unsigned function, unsigned offset)
{
    return (uint64_t)(uintptr_t)t->memory + CODE + function * CODE_STEP + offset;
}

static void test_ends_of_functions(void **state)
{
    (void)state;
    struct table t;
    struct cfi_row row;
    table_begin(&t, "", 0);
    table_function(&t, "\x41\x0e\x10\x02\x50\x0e\x20", 7); /* 16 after 1, 32 after 0x51 more */
    table_function(&t, "", 0);
    struct cfi_section s = table_end(&t);
    static const struct {
        unsigned offset;
        int64_t cfa;
    } rows[] = {{0, 8},     {1, 16},    {2, 16},    {0x50, 16},
                {0x51, 32}, {0xff, 32}, {0x100, 8}, {0x1ff, 8}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_int_equal(cfi_row(&s, code_at(&t, 0, rows[i].offset), &row), 0);
        assert_cfa(&row, ARCH_REG_SP, rows[i].cfa);
    }
    assert_int_equal(cfi_row(&s, code_at(&t, 0, 0x200), &row), -1);
    assert_int_equal(cfi_row(&s, code_at(&t, 0, 0) - 1, &row), -1);
    assert_int_equal(cfi_row(&s, 0, &row), -1);
    assert_int_equal(cfi_row(&s, UINT64_MAX, &row), -1);
    /* The same tables as those of another process. */
    s.delta = 0x1000000;
    assert_int_equal(cfi_row(&s, code_at(&t, 0, 1) + s.delta, &row), 0);
    assert_cfa(&row, ARCH_REG_SP, 16);
    assert_int_equal(cfi_row(&s, code_at(&t, 0, 1), &row), -1);
    table_release(&t);
}

static void test_instructions(void **state)
{
    (void)state;
    static const struct {
        const char *program;
        size_t size;
        int result;
    } cases[] = {
        {"\x0a\x0a\x0a\x0a\x0b\x0b\x0b\x0b", 8, 0}, /* remembered four deep */
        {"\x0a\x0a\x0a\x0a\x0a", 5, -1},            /* deeper than is followed */
        {"\x0b", 1, -1},                            /* restored what was not remembered */
        {"\x3f", 1, -1},                            /* no such instruction */
        {"\x0f\x7f", 2, -1},                        /* an expression beyond the end */
        {"\x10\x06\x7f", 3, -1},
        {"\x05\x7f\x01", 3, 0}, /* a register that is not tracked */
        {"\x16\xff\x7f\x00", 4, 0},
        {"\x0e\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11, 0},
        {"\x05\x06\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 12, 0}, /* times -8 is too large */
        {"\x13\x80\x80\x80\x80\x80\x80\x80\x80\x80\x7f", 11, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct table t;
        struct cfi_row row;
        table_begin(&t, "", 0);
        table_function(&t, cases[i].program, cases[i].size);
        struct cfi_section s = table_end(&t);
        assert_int_equal(cfi_row(&s, code_at(&t, 0, 0x80), &row), cases[i].result);
        table_release(&t);
    }
}

/* Cut at every length and with every byte changed: no read outside, and no endless loop. */
static void test_damage(void **state)
{
    (void)state;
    struct table t;
    struct cfi_row row;
    table_begin(&t, "\x86\x02", 2);
    table_function(&t, "\x41\x0e\x10\x86\x02\x43\x0d\x06\x0a\x02\x20\x0c\x07\x08\x0b", 15);
    table_function(&t, "\x0f\x03\x76\x78\x06\x10\x06\x02\x76\x00\x44\x07\x10", 13);
    table_function(&t, "\x04\x10\x00\x00\x00\x12\x07\x7e", 8);
    struct cfi_section s = table_end(&t);
    unsigned found = 0;
    for (size_t size = 0; size < t.size; size++) {
        uint8_t *cut = xmalloc(size);
        memcpy(cut, t.memory, size);
        const struct cfi_section shorter = {
            .begin = cut, .end = cut + size, .header = cut, .delta = s.delta};
        for (unsigned i = 0; i < 3 * CODE_STEP; i += 17)
            found += cfi_row(&shorter, (uint64_t)(uintptr_t)cut + CODE + i, &row) == 0;
        free(cut);
    }
    assert_true(found > 0);
    for (size_t at = 0; at < t.size; at++) {
        uint8_t was = t.memory[at];
        for (unsigned bit = 0; bit < 9; bit++) {
            t.memory[at] = bit == 8 ? 0xff : (uint8_t)(was ^ 1u << bit);
            for (unsigned i = 0; i < 3 * CODE_STEP; i += 31)
                cfi_row(&s, code_at(&t, 0, i), &row);
        }
        t.memory[at] = was;
    }
    assert_int_equal(cfi_row(&s, code_at(&t, 1, 0), &row), 0);
    table_release(&t);
}

/* --- rules ------------------------------------------------------------------------------------ */

static struct cfi_section rule_section;
static uint32_t rule_epoch_now;
static unsigned finds;

static int table_find(const struct unwind_space *self, uint64_t address, struct unwind_module *out)
{
    (void)self;
    (void)address;
    finds++;
    *out = (struct unwind_module){.cfi = rule_section, .epoch = rule_epoch_now};
    return 0;
}

static int no_find(const struct unwind_space *self, uint64_t address, struct unwind_module *out)
{
    (void)self;
    (void)address, (void)out;
    return -1;
}

static struct rules *rules_new(void)
{
    void *p = mmap(NULL, sizeof(struct rules), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                   -1, 0);
    assert_true(p != MAP_FAILED);
    return p;
}

static rule_word rule_for(const void *program, size_t size)
{
    static const struct unwind_space space = {.find = table_find};
    struct rules *rules = rules_new();
    struct table t;
    table_begin(&t, "", 0);
    table_function(&t, program, size);
    rule_section = table_end(&t);
    rule_word rule = rule_get(rules, &space, code_at(&t, 0, 0x81));
    assert_u64_equal(rule_get(rules, &space, code_at(&t, 0, 0x81)), rule);
    table_release(&t);
    munmap(rules, sizeof *rules);
    return rule;
}

/* def_cfa_sf and offset_extended_sf: multiples of -8. */
static rule_word rule_with(unsigned cfa_reg, int64_t cfa, int64_t fp)
{
    struct strbuf b = {0};
    strbuf_putc(&b, 0x12);
    strbuf_putc(&b, (char)cfa_reg);
    for (int64_t v = cfa / -8, n = 0; n < 9; n++, v >>= 7)
        strbuf_putc(&b, (char)((v & 0x7f) | (n < 8 ? 0x80 : 0)));
    if (fp) {
        strbuf_add(&b, "\x11\x06", 2);
        for (int64_t v = fp / -8, n = 0; n < 9; n++, v >>= 7)
            strbuf_putc(&b, (char)((v & 0x7f) | (n < 8 ? 0x80 : 0)));
    }
    rule_word rule = rule_for(b.data, b.size);
    strbuf_release(&b);
    return rule;
}

static void test_rules_hold_what_fits(void **state)
{
    (void)state;
    static const int64_t cfas[] = {8, 16, 4096, (1 << 27) - 8, -8, -(1 << 27)};
    static const int64_t fps[] = {0, -16, -8, 8, (1 << 19) - 8, -(1 << 19)};
    for (size_t i = 0; i < sizeof cfas / sizeof *cfas; i++)
        for (size_t k = 0; k < sizeof fps / sizeof *fps; k++)
            for (uint32_t epoch = 0; epoch <= 4095; epoch += 1365) {
                rule_epoch_now = epoch;
                rule_word sp = rule_with(ARCH_REG_SP, cfas[i], fps[k]);
                rule_word fp = rule_with(ARCH_REG_FP, cfas[i], fps[k]);
                assert_int_equal(rule_kind(sp), RULE_SP);
                assert_int_equal(rule_kind(fp), RULE_FP);
                assert_u64_equal(rule_cfa_offset(sp), cfas[i]);
                assert_u64_equal(rule_cfa_offset(fp), cfas[i]);
                assert_u64_equal(rule_fp_offset(sp), fps[k]);
                assert_u64_equal(rule_fp_offset(fp), fps[k]);
                assert_int_equal(rule_epoch(sp), epoch);
                assert_int_equal(rule_epoch(fp), epoch);
            }
    rule_epoch_now = 0;
}

static void test_rules_refuse_what_does_not_fit(void **state)
{
    (void)state;
    rule_epoch_now = 7;
    assert_int_equal(rule_kind(rule_with(ARCH_REG_SP, 1 << 27, 0)), RULE_SLOW);
    assert_int_equal(rule_kind(rule_with(ARCH_REG_SP, -(1 << 27) - 8, 0)), RULE_SLOW);
    assert_int_equal(rule_kind(rule_with(ARCH_REG_SP, INT64_C(1) << 40, 0)), RULE_SLOW);
    assert_int_equal(rule_kind(rule_with(ARCH_REG_SP, 16, 1 << 19)), RULE_SLOW);
    assert_int_equal(rule_kind(rule_with(ARCH_REG_SP, 16, -(1 << 19) - 8)), RULE_SLOW);
    assert_int_equal(rule_kind(rule_with(3, 16, 0)), RULE_SLOW); /* CFA = rbx + 16 */
    static const struct {
        const char *program;
        size_t size;
        enum rule_kind kind;
    } cases[] = {
        {"", 0, RULE_SP},
        {"\x07\x10", 2, RULE_OUTERMOST}, /* ra undefined */
        {"\x90\x02", 2, RULE_SLOW},      /* ra at c-16 */
        {"\x09\x10\x0b", 3, RULE_SLOW},  /* ra in r11 */
        {"\x86\x00", 2, RULE_SLOW},      /* rbp at c-0 */
        {"\x09\x06\x0a", 3, RULE_SLOW},  /* rbp in r10 */
        {"\x07\x06", 2, RULE_SLOW},      /* rbp lost */
        {"\x14\x07\x02", 3, RULE_SLOW},  /* rsp is not the CFA */
        {"\x0f\x03\x76\x78\x06\x10\x06\x02\x76\x00", 10, RULE_FP_DEREF},
        {"\x0f\x03\x76\x78\x06", 5, RULE_SLOW}, /* rbp is not at [rbp] */
        {"\x0f\x03\x76\x78\x06\x86\x02", 7, RULE_SLOW},
        {"\x0f\x03\x77\x78\x06\x10\x06\x02\x76\x00", 10, RULE_SLOW},     /* [rsp - 8] */
        {"\x0f\x04\x76\xf8\x7e\x06\x10\x06\x02\x76\x00", 11, RULE_SLOW}, /* too far for a byte */
        {"\x3f", 1, RULE_GUESS},                                         /* not understood */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rule_word rule = rule_for(cases[i].program, cases[i].size);
        assert_int_equal(rule_kind(rule), cases[i].kind);
        assert_int_equal(rule_epoch(rule), 7);
        if (cases[i].kind == RULE_FP_DEREF)
            assert_u64_equal(rule_cfa_offset(rule), -8);
    }
    rule_epoch_now = 0;
    const struct unwind_space nothing = {.find = no_find};
    struct rules *rules = rules_new();
    assert_int_equal(rule_kind(rule_get(rules, &nothing, 0x1234)), RULE_GUESS);
    assert_int_equal(rule_kind(rule_get(rules, &nothing, UINT64_MAX)), RULE_GUESS);
    munmap(rules, sizeof *rules);
}

/* More addresses than there is room for: some are computed again, none comes out wrong. */
static void test_rules_are_kept(void **state)
{
    (void)state;
    static const struct unwind_space space = {.find = table_find};
    struct rules *rules = rules_new();
    struct table t;
    table_begin(&t, "", 0);
    table_function(&t, "\x41\x0e\x10\x41\x0e\x18\x41\x0e\x20\x41\x0e\x28", 12);
    rule_section = table_end(&t);
    finds = 0;
    for (int round = 0; round < 100; round++)
        for (unsigned i = 0; i < 0xff; i++) {
            rule_word rule = rule_get(rules, &space, code_at(&t, 0, i + 1));
            assert_int_equal(rule_kind(rule), RULE_SP);
            assert_u64_equal(rule_cfa_offset(rule), 8 + (i < 4 ? i : 4) * 8);
        }
    assert_int_equal(finds, 0xff);
    rules_forget(rules);
    rule_get(rules, &space, code_at(&t, 0, 1));
    rule_get(rules, &space, code_at(&t, 0, 1));
    assert_int_equal(finds, 0x100);
    /* Addresses outside the function have no rows: all the same guess, but 300,000 of them. */
    for (int round = 0; round < 2; round++)
        for (uint64_t i = 0; i < 300000; i++) {
            uint64_t address = 0x7f0000000000 + i * 7;
            assert_int_equal(rule_kind(rule_get(rules, &space, address)), RULE_GUESS);
        }
    for (unsigned i = 0; i < 0xff; i++)
        assert_u64_equal(rule_cfa_offset(rule_get(rules, &space, code_at(&t, 0, i + 1))),
                         8 + (i < 4 ? i : 4) * 8);
    table_release(&t);
    munmap(rules, sizeof *rules);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_usual_function),
        cmocka_unit_test(test_odd_function),
        cmocka_unit_test(test_as_readelf_has_it),
        cmocka_unit_test(test_ends_of_functions),
        cmocka_unit_test(test_instructions),
        cmocka_unit_test(test_damage),
        cmocka_unit_test(test_rules_hold_what_fits),
        cmocka_unit_test(test_rules_refuse_what_does_not_fit),
        cmocka_unit_test(test_rules_are_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
