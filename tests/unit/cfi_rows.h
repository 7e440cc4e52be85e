/*
 * All rows of this program's and the C library's call frame information, compared with what readelf
 * prints. Who includes this defines cfi_registers: readelf's names of the registers, that of the
 * return address among them.
 */
#ifndef TIDE_UNIT_CFI_ROWS_H
#define TIDE_UNIT_CFI_ROWS_H

#include <link.h>
#include <unistd.h>

#include "own_module.h"
#include "unwind/cfi.h"

static int own_row(uint64_t address, struct cfi_row *row)
{
    struct unwind_module m;
    assert_int_equal(own_module(address, &m), 0);
    return cfi_row(&m.cfi, address, row);
}

static int register_number(const char *word)
{
    for (int i = 0; i < ARCH_REGISTERS; i++)
        if (strcmp(word, cfi_registers[i]) == 0)
            return i;
    return -1;
}

/* "rsp+8", "exp" */
static void check_cfa(const struct cfi_row *row, const char *text)
{
    if (strcmp(text, "exp") == 0) {
        assert_non_null(row->cfa_expression);
        return;
    }
    char word[8] = {0};
    size_t n = strcspn(text, "+-");
    assert_true(n < sizeof word);
    memcpy(word, text, n);
    assert_null(row->cfa_expression);
    assert_int_equal(row->cfa_reg, register_number(word));
    assert_u64_equal(row->cfa_offset, strtoll(text + n, NULL, 10));
}

static void check_register(const struct cfi_row *row, int reg, const char *text)
{
    const struct cfi_rule *rule = &row->regs[reg];
    if (text[0] == 'u') { /* also: never mentioned */
        assert_true(rule->how == CFI_UNDEFINED || (rule->how == CFI_SAME && reg != ARCH_REG_PC));
    } else if (strcmp(text, "s") == 0) {
        assert_int_equal(rule->how, CFI_SAME);
    } else if (strcmp(text, "exp") == 0) {
        assert_int_equal(rule->how, CFI_EXPRESSION);
    } else if (strcmp(text, "vexp") == 0) {
        assert_int_equal(rule->how, CFI_VAL_EXPRESSION);
    } else if (text[0] == 'c') {
        assert_int_equal(rule->how, CFI_OFFSET);
        assert_u64_equal(rule->offset, strtoll(text + 1, NULL, 10));
    } else if (text[0] == 'v') {
        assert_int_equal(rule->how, CFI_VAL_OFFSET);
        assert_u64_equal(rule->offset, strtoll(text + 1, NULL, 10));
    } else {
        assert_int_equal(rule->how, CFI_REGISTER);
        assert_int_equal(rule->reg, register_number(text));
    }
}

/* Every row of the file that holds `inside`; how many there were. */
static unsigned check_file(const char *path, const void *inside)
{
    struct dl_find_object o;
    assert_int_equal(_dl_find_object((void *)inside, &o), 0);
    const struct cfi_section section = {
        .begin = o.dlfo_map_start, .end = o.dlfo_map_end, .header = o.dlfo_eh_frame};
    uint64_t bias = o.dlfo_link_map->l_addr;
    char command[4200], line[1024];
    snprintf(command, sizeof command, "readelf --debug-dump=frames-interp '%s' 2>/dev/null", path);
    FILE *f = popen(command, "r");
    int columns[ARCH_REGISTERS] = {0}, column_count = 0;
    bool in_fde = false;
    unsigned rows = 0;
    while (f && fgets(line, sizeof line, f)) {
        char *words[24] = {0}, *save = NULL;
        int n = 0;
        for (char *w = strtok_r(line, " \n", &save); w && n < 24; w = strtok_r(NULL, " \n", &save))
            words[n++] = w;
        if (n == 0) {
            in_fde = false;
        } else if (n >= 6 && strcmp(words[3], "FDE") == 0) {
            in_fde = true;
        } else if (n >= 4 && strcmp(words[3], "CIE") == 0) {
            in_fde = false;
        } else if (in_fde && strcmp(words[0], "LOC") == 0) {
            column_count = n - 2;
            for (int i = 0; i < column_count; i++)
                columns[i] = register_number(words[i + 2]);
        } else if (in_fde && n == column_count + 2 && strlen(words[0]) == 16) {
            struct cfi_row row;
            uint64_t address = bias + strtoull(words[0], NULL, 16);
            assert_int_equal(cfi_row(&section, address, &row), 0);
            check_cfa(&row, words[1]);
            for (int i = 0; i < column_count; i++)
                if (columns[i] >= 0)
                    check_register(&row, columns[i], words[i + 2]);
            rows++;
        }
    }
    if (f)
        pclose(f);
    return rows;
}

static void test_as_readelf_has_it(void **state)
{
    (void)state;
    if (system("readelf --version >/dev/null 2>&1") != 0)
        skip();
    char own[4096] = {0};
    assert_true(readlink("/proc/self/exe", own, sizeof own - 1) > 0);
    assert_true(check_file(own, (void *)test_as_readelf_has_it) > 150);
    Dl_info info;
    void *libc = dlsym(RTLD_DEFAULT, "qsort");
    assert_true(libc && dladdr(libc, &info));
    assert_true(check_file(info.dli_fname, libc) > 10000);
}

#endif
