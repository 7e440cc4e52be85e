/*
 * Any bytes as unwind tables: rows, rules and steps at addresses all over the code they speak of.
 *
 * The first byte 0: the rest is .eh_frame_hdr and .eh_frame as they lie in a file. Else: the rest
 * is the CIE's augmentation and instructions and an FDE's, around which the tables are built.
 */
#include "fuzz.h"

#include "base/err.h"
#include "base/strbuf.h"
#include "unwind/rule.h"
#include "unwind/slow_step.h"

enum { HEADER = 24, CODE = 0x10000, CODE_SIZE = 0x100 };

static struct cfi_section section;
static struct rules *rules;

static int find(const struct unwind_space *self, uint64_t address, struct unwind_module *out)
{
    (void)self;
    (void)address;
    *out = (struct unwind_module){.cfi = section};
    return 0;
}

/* Memory is the tables' bytes, over and over; some of it cannot be read. */
static int read_word(const struct unwind_space *self, uint64_t address, uint64_t *out)
{
    (void)self;
    size_t size = (size_t)(section.end - section.begin);
    if (address % 64 == 56 || size < 8)
        return -1;
    memcpy(out, section.begin + address % (size - 7), 8);
    return 0;
}

static const struct unwind_space space = {.find = find, .read = read_word};

static void put_u32(struct strbuf *b, uint32_t v)
{
    strbuf_add(b, &v, 4);
}

static void set_u32(struct strbuf *b, size_t at, size_t v)
{
    uint32_t n = (uint32_t)v;
    memcpy(b->data + at, &n, 4);
}

/* size of the augmentation, its data's size, the CIE's instructions' size; those; the FDE's. */
static void build(struct strbuf *b, const uint8_t *data, size_t size)
{
    if (size < 3)
        return;
    size_t letters = data[0] % 8, extra = data[1] % 16, program = data[2] % 64;
    data += 3, size -= 3;
    if (letters + extra + program > size)
        letters = extra = program = 0;
    strbuf_add(b, "\x01\x1b\x03\x3b", 4);
    for (int i = 0; i < 5; i++)
        put_u32(b, 0);
    set_u32(b, 8, 1);
    size_t cie = b->size;
    put_u32(b, 0);
    put_u32(b, 0);
    strbuf_putc(b, 1);
    strbuf_putc(b, 'z');
    strbuf_putc(b, 'R');
    strbuf_add(b, data, letters);
    strbuf_add(b, "\0\x01\x78\x10", 4);
    strbuf_varint(b, extra + 1);
    strbuf_putc(b, 0x1b);
    strbuf_add(b, data + letters, extra);
    strbuf_add(b, "\x0c\x07\x08\x90\x01", 5);
    strbuf_add(b, data + letters + extra, program);
    data += letters + extra + program, size -= letters + extra + program;
    set_u32(b, cie, b->size - cie - 4);
    size_t fde = b->size;
    put_u32(b, 0);
    put_u32(b, (uint32_t)(fde + 4 - cie));
    put_u32(b, (uint32_t)(CODE - b->size));
    put_u32(b, CODE_SIZE);
    strbuf_putc(b, 0);
    strbuf_add(b, data, size);
    set_u32(b, fde, b->size - fde - 4);
    set_u32(b, 12, CODE);
    set_u32(b, 16, fde);
    set_u32(b, 20, 0x7fffffff); /* a second function, never reached: only the first is counted */
}

static void try_address(uint64_t address)
{
    struct cfi_row row;
    if (cfi_row(&section, address, &row) == 0) {
        fuzz_must(row.return_reg < ARCH_REGISTERS);
        fuzz_must(!row.cfa_expression ||
                  (row.cfa_expression >= section.begin && row.cfa_expression <= section.end &&
                   row.cfa_expression_size <= (size_t)(section.end - row.cfa_expression)));
        for (unsigned i = 0; i < ARCH_REGISTERS; i++)
            if (row.regs[i].how == CFI_EXPRESSION || row.regs[i].how == CFI_VAL_EXPRESSION)
                fuzz_must(row.regs[i].expression >= section.begin &&
                          row.regs[i].expression_size <=
                              (size_t)(section.end - row.regs[i].expression));
    }
    rule_word rule = rule_compute(rules, &space, address + 1);
    fuzz_must(rule_kind(rule) != RULE_NONE && rule_kind(rule) <= RULE_SLOW);
    struct arch_registers r = {.known = (1u << ARCH_REGISTERS) - 1};
    struct step_result result;
    for (unsigned i = 0; i < ARCH_REGISTERS; i++)
        r.value[i] = 0x7000 + i * 8;
    r.value[ARCH_REG_PC] = address + 1;
    for (int i = 0; i < 4 && unwind_step(&space, &r, &result) == STEP_OK; i++)
        fuzz_must(r.known >> ARCH_REG_PC & 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct strbuf b = {0};
    if (!rules)
        rules = must_alloc(aligned_alloc(64, sizeof *rules)), memset(rules, 0, sizeof *rules);
    if (size < 2)
        return 0;
    if (data[0] == 0)
        strbuf_add(&b, data + 1, size - 1);
    else
        build(&b, data + 1, size - 1);
    uint8_t *exact = xmalloc(b.size); /* a read outside must be seen */
    if (b.size)
        memcpy(exact, b.data, b.size);
    section = (struct cfi_section){.begin = exact, .end = exact + b.size, .header = exact};
    section.delta = UINT64_C(0x7f0000000000) - (uint64_t)(uintptr_t)exact; /* as in any other run */
    uint64_t base = UINT64_C(0x7f0000000000);
    for (unsigned i = 0; i < CODE_SIZE; i += 37)
        try_address(base + CODE + i);
    for (size_t i = 12; i + 8 <= b.size && i < 76;
         i += 8) { /* where the table says there is code */
        int32_t start;
        memcpy(&start, exact + i, 4);
        try_address(base + (uint64_t)(int64_t)start);
        try_address(base + (uint64_t)(int64_t)start + 20);
    }
    free(exact);
    strbuf_release(&b);
    return 0;
}

/* --- seeds ------------------------------------------------------------------------------------ */

void fuzz_seeds(const char *folder)
{
    static const struct {
        const char *name, *bytes;
        size_t size;
    } seeds[] = {
        {"usual", "\x01\0\0\0\x41\x0e\x10\x86\x02\x43\x0d\x06\x0a\x02\x20\x0c\x07\x08\x0b", 19},
        {"expressions", "\x01\0\0\0\x0f\x03\x76\x78\x06\x10\x06\x02\x76\x00\x16\x03\x02\x77\x10",
         19},
        {"arithmetic",
         "\x01\0\0\0\x0f\x11\x77\x08\x80\x00\x08\x0f\x1a\x3b\x2a\x33\x24\x22\x12\x16\x23\x07\x28"
         "\x00\x00",
         25},
        {"signal", "\x01\x03\x05\0SPL\x1b\x11\x22\x33\x44\x09\x10\x0b\x14\x07\x02\x15\x06\x7e", 19},
        {"rest",
         "\x01\0\0\x02\x0a\x0b\x05\x06\x02\x11\x03\x7d\x12\x07\x7e\x13\x7c\x2e\x10\x07\x10\x08\x06",
         23}};
    for (size_t i = 0; i < sizeof seeds / sizeof *seeds; i++) {
        struct strbuf file = {0};
        fuzz_save(folder, seeds[i].name, seeds[i].bytes, seeds[i].size);
        strbuf_putc(&file, 0);
        build(&file, (const uint8_t *)seeds[i].bytes + 1, seeds[i].size - 1);
        char name[64];
        snprintf(name, sizeof name, "%s.tables", seeds[i].name);
        fuzz_save(folder, name, file.data, file.size);
        strbuf_release(&file);
    }
}
