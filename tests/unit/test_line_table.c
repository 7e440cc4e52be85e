/* Line tables: hand-written ones of DWARF 3 and 5, and every way to cut them short or damage them. */
#include "unit.h"

#include "symbol/line_table.h"

#define LINE_STR "/src\0lib\0main.c\0part.h"

/* Version 3: directory "lib", files "a.c" in the unit's own and "b.c" in lib. One instruction has
 * one byte, lines go from -1 to 2 with one opcode. */
static const uint8_t old_table[] = {
    0x53, 0, 0, 0,                /* length */
    3, 0,                         /* version */
    0x22, 0, 0, 0,                /* length of the header */
    1, 1,                         /* bytes of an instruction, is_stmt */
    0xff, 4,                      /* line_base -1, line_range 4 */
    10,                           /* opcode_base */
    0, 1, 1, 1, 1,                /* arguments of opcodes 1 to 9 */
    0, 0, 0, 1,                   /**/
    'l', 'i', 'b', 0, 0,          /* directories */
    'a', '.', 'c', 0, 0, 0, 0,    /* files */
    'b', '.', 'c', 0, 1, 0, 0, 0, /**/
    /* the first sequence: 0x2000 to 0x2014 */
    0, 9, 2, 0, 0x20, 0, 0, 0, 0, 0, 0, /* set_address 0x2000 */
    3, 9,                               /* line += 9: 10 */
    1,                                  /* row 0x2000 a.c:10 */
    4, 2,                               /* file 2 */
    10 + 4 * 4 + 2,                     /* +4, line +1: row 0x2004 b.c:11 */
    8,                                  /* const_add_pc: 245 / 4 = 61 */
    9, 0, 0,                            /* fixed_advance_pc 0 */
    2, 0x0f,                            /* advance_pc 15 */
    0, 1, 1,                            /* end_sequence at 0x2050 */
    /* the second: 0x1000 to 0x1008 */
    0, 9, 2, 0, 0x10, 0, 0, 0, 0, 0, 0, /* set_address 0x1000 */
    10 + 1,                             /* +0, line +0: row 0x1000 a.c:1 */
    2, 8, 0, 1, 1,                      /* end_sequence at 0x1008 */
};

/* Version 5 with names in .debug_line_str, and an MD5 sum for each file. */
static const uint8_t new_table[] = {
    0x61,
    0,
    0,
    0,
    5,
    0,
    8,
    0, /* length, version, address and segment size */
    0x38,
    0,
    0,
    0, /* length of the header */
    1,
    1,
    1,
    0xff,
    4,
    10, /* */
    0,
    1,
    1,
    1,
    1,
    0,
    0,
    0,
    1, /* arguments of opcodes */
    1,
    1,
    0x1f,
    2, /* directories: path as line_strp; two of them */
    0,
    0,
    0,
    0,
    5,
    0,
    0,
    0, /* "/src", "lib" */
    3,
    1,
    0x1f,
    2,
    0x0b,
    5,
    0x1e,
    1, /* files: path, directory as data1, MD5 as data16; one */
    16,
    0,
    0,
    0,
    1, /* "part.h" in lib */
    1,
    2,
    3,
    4,
    5,
    6,
    7,
    8,
    9,
    10,
    11,
    12,
    13,
    14,
    15,
    16, /* its MD5 */
    0,
    9,
    2,
    0,
    0x30,
    0,
    0,
    0,
    0,
    0,
    0, /* set_address 0x3000 */
    4,
    0,              /* file 0 */
    10 + 2,         /* row 0x3000 part.h:2 */
    10 + 3,         /* row 0x3000 part.h:4, which counts */
    10 + 8 * 4 + 0, /* +8, line -1: row 0x3008 part.h:3 */
    2,
    8,
    0,
    1,
    1, /* end_sequence at 0x3010 */
    0,
    9,
    2,
    0,
    0x30,
    0,
    0,
    0,
    0,
    0,
    0, /* a sequence without an end */
    1, /**/
};

struct source {
    Elf_Data line, line_str;
    struct line_sections sections;
};

static void source_init(struct source *s, const uint8_t *bytes, size_t size)
{
    static char strings[] = LINE_STR;
    *s = (struct source){.line = {.d_buf = (void *)(uintptr_t)bytes, .d_size = size},
                         .line_str = {.d_buf = strings, .d_size = sizeof strings}};
    s->sections = (struct line_sections){.line = &s->line, .line_str = &s->line_str};
}

static void assert_line(struct line_table *t, uint64_t address, const char *path, uint32_t line)
{
    const struct line_row *row = line_table_find(t, address);
    if (!path) {
        assert_null(row);
        return;
    }
    assert_non_null(row);
    assert_int_equal(row->line, line);
    assert_string_equal(line_table_path(t, row->file), path);
}

static void test_old(void **state)
{
    (void)state;
    struct source s;
    struct line_table t = {0};
    source_init(&s, old_table, sizeof old_table);
    assert_u64_equal(line_table_bytes(&s.sections, 0), sizeof old_table - 4);
    line_table_load(&t, &s.sections, 0);
    assert_int_equal(t.sequences.count, 2);
    assert_int_equal(t.rows.count, 3);
    assert_line(&t, 0xfff, NULL, 0);
    assert_line(&t, 0x1000, "a.c", 1);
    assert_line(&t, 0x1007, "a.c", 1);
    assert_line(&t, 0x1008, NULL, 0);
    assert_line(&t, 0x1fff, NULL, 0);
    assert_line(&t, 0x2003, "a.c", 10);
    assert_line(&t, 0x2004, "lib/b.c", 11);
    assert_line(&t, 0x204f, "lib/b.c", 11);
    assert_line(&t, 0x2050, NULL, 0);
    assert_null(line_table_path(&t, 0)); /* number 0 is no file before DWARF 5 */
    assert_null(line_table_path(&t, 3));
    line_table_release(&t);
    line_table_load(&t, &s.sections, sizeof old_table);
    assert_int_equal(t.rows.count, 0);
    assert_u64_equal(line_table_bytes(&s.sections, sizeof old_table), UINT64_MAX);
}

static void test_new(void **state)
{
    (void)state;
    struct source s;
    struct line_table t = {0};
    source_init(&s, new_table, sizeof new_table);
    line_table_load(&t, &s.sections, 0);
    assert_int_equal(t.sequences.count, 1);
    assert_int_equal(t.rows.count, 2);
    assert_line(&t, 0x3000, "lib/part.h", 4);
    assert_line(&t, 0x3007, "lib/part.h", 4);
    assert_line(&t, 0x3008, "lib/part.h", 3);
    assert_line(&t, 0x3010, NULL, 0);
    assert_null(line_table_path(&t, 1));
    line_table_release(&t);
}

/* In memory of exactly their size, so that a sanitizer sees any byte read beyond it. */
static void test_damaged(void **state)
{
    (void)state;
    uint64_t random = 19;
    const uint8_t *tables[] = {old_table, new_table};
    const size_t sizes[] = {sizeof old_table, sizeof new_table};
    for (int round = 0; round < 40000; round++) {
        size_t size = sizes[round % 2], kept = round < 400 ? (size_t)round / 2 % size : size;
        uint8_t *bytes = malloc(size);
        memcpy(bytes, tables[round % 2], size);
        for (int i = 0; round >= 400 && i < 3; i++)
            bytes[unit_random(&random) % size] = (uint8_t)(unit_random(&random) >> 32);
        struct source s;
        struct line_table t = {0};
        uint8_t *cut = malloc(kept ? kept : 1);
        memcpy(cut, bytes, kept);
        source_init(&s, cut, kept);
        line_table_load(&t, &s.sections, 0);
        assert_true(t.rows.count <= size && t.files.count <= size);
        for (uint64_t address = 0xff0; address < 0x3020; address += 4) {
            const struct line_row *row = line_table_find(&t, address);
            if (row)
                line_table_path(&t, row->file);
        }
        line_table_release(&t);
        free(cut);
        free(bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_old),
        cmocka_unit_test(test_new),
        cmocka_unit_test(test_damaged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
