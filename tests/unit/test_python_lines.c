/* Lines of Python code, against what every interpreter on this machine says about its own library.
 */
#include "unit.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "record/python_lines.h"

/* Prints for each code object: form, first line, table in hexadecimal, then start:end:line ... */
static const char script[] =
    "import sys, dis, argparse, json.decoder, dataclasses, typing, tarfile, inspect, "
    "asyncio.base_events as b\n"
    "seen = set()\n"
    "def walk(c):\n"
    "  if c in seen: return\n"
    "  seen.add(c)\n"
    "  v = sys.version_info\n"
    "  if v >= (3, 10):\n"
    "    rows = [(s, e, l or 0) for s, e, l in c.co_lines()]\n"
    "    table = c.co_linetable\n"
    "  else:\n"
    "    starts = list(dis.findlinestarts(c)) + [(len(c.co_code), 0)]\n"
    "    rows = [(s, e, l) for (s, l), (e, _) in zip(starts, starts[1:])]\n"
    "    table = c.co_lnotab\n"
    "  form = 2 if v >= (3, 11) else 1 if v >= (3, 10) else 0\n"
    "  print(form, c.co_firstlineno, table.hex() or '-', *('%d:%d:%d' % r for r in rows))\n"
    "  for k in c.co_consts:\n"
    "    if hasattr(k, 'co_code'): walk(k)\n"
    "odd = 'def f(x):\\n' + '\\n' * 300 + '  return [\\n' + '\\n' * 200 + '    i for i in\\n\\n "
    "x]\\n'\n"
    "walk(compile(odd + 'y = ' + '+'.join(['x'] * 900), 'odd', 'exec'))\n"
    "for m in (argparse, json.decoder, dataclasses, typing, tarfile, inspect, b):\n"
    "  with open(m.__file__, encoding='utf-8') as f: walk(compile(f.read(), m.__file__, 'exec'))\n";

static size_t unhex(const char *text, uint8_t **out)
{
    size_t size = strlen(text) / 2;
    *out =
        malloc(size ? size : 1); /* exactly as much as there is: a sanitizer sees reads beyond it */
    for (size_t i = 0; i < size; i++) {
        unsigned byte;
        assert_int_equal(sscanf(text + 2 * i, "%2x", &byte), 1);
        (*out)[i] = (uint8_t)byte;
    }
    return strcmp(text, "-") == 0 ? 0 : size;
}

/* How many instructions were compared. */
static size_t check_code(char *line)
{
    size_t compared = 0;
    char *rest = line;
    unsigned form = (unsigned)atoi(strtok_r(rest, " \n", &rest));
    unsigned first = (unsigned)atoi(strtok_r(rest, " \n", &rest));
    uint8_t *table;
    size_t size = unhex(strtok_r(rest, " \n", &rest), &table);
    struct python_cursor forth = {0}, to_and_fro = {0};
    for (char *range; (range = strtok_r(rest, " \n", &rest));) {
        int start, end;
        unsigned want;
        assert_int_equal(sscanf(range, "%d:%d:%u", &start, &end, &want), 3);
        for (int byte = start; byte < end; byte += 2, compared++) {
            enum wire_lines f = (enum wire_lines)form;
            assert_int_equal(python_line(f, table, size, first, byte), want);
            assert_int_equal(python_line_from(&forth, f, table, size, first, byte), want);
            python_line_from(&to_and_fro, f, table, size, first, byte / 2 + compared % 3 * 16);
            assert_int_equal(python_line_from(&to_and_fro, f, table, size, first, byte), want);
        }
    }
    assert_int_equal(python_line((enum wire_lines)form, table, size, first, -1), first);
    free(table);
    return compared;
}

static size_t check_interpreter(const char *python)
{
    char command[4096];
    size_t compared = 0, room = 0;
    char *line = NULL, file[] = "/tmp/tide-unit-XXXXXX";
    int fd = mkstemp(file);
    FILE *f = fdopen(fd, "w");
    fputs(script, f);
    fclose(f);
    snprintf(command, sizeof command, "'%s' -I %s 2>/dev/null", python, file);
    FILE *out = popen(command, "r");
    while (getline(&line, &room, out) > 0)
        compared += check_code(line);
    assert_int_equal(pclose(out), 0);
    remove(file);
    free(line);
    return compared;
}

static void test_lines_of_real_code(void **state)
{
    (void)state;
    static const char *const patterns[] = {"/usr/bin/python3",
                                           "/.pyenv/versions/3.[89].*/bin/python3",
                                           "/.pyenv/versions/3.1[0123].*/bin/python3"};
    size_t interpreters = 0;
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        char pattern[4096];
        glob_t found;
        const char *home = getenv("HOME");
        snprintf(pattern, sizeof pattern, "%s%s", i && home ? home : "", patterns[i]);
        if (glob(pattern, 0, NULL, &found) != 0)
            continue;
        for (size_t k = 0; k < found.gl_pathc; k++, interpreters++)
            assert_true(check_interpreter(found.gl_pathv[k]) > 20000);
        globfree(&found);
    }
    assert_true(interpreters > 0);
}

/* 3.10: a range that belongs to no line does not move the line; long ranges take several pairs. */
static void test_ranges(void **state)
{
    (void)state;
    const uint8_t table[] = {4, 1, 2, 0x80, 254, 127, 6, 0xff};
    assert_int_equal(python_line(WIRE_LINES_RANGES, table, sizeof table, 10, 0), 11);
    assert_int_equal(python_line(WIRE_LINES_RANGES, table, sizeof table, 10, 4), 0);
    assert_int_equal(python_line(WIRE_LINES_RANGES, table, sizeof table, 10, 6), 138);
    assert_int_equal(python_line(WIRE_LINES_RANGES, table, sizeof table, 10, 260), 137);
    assert_int_equal(python_line(WIRE_LINES_RANGES, table, sizeof table, 10, 266), 0);
}

static void test_tables_that_end_too_soon(void **state)
{
    (void)state;
    static const uint8_t bytes[] = {0xf0, 0xff, 0xff, 0x7f, 0x40, 0xe8, 0xc0, 0x80};
    for (size_t size = 0; size <= sizeof bytes; size++) {
        uint8_t *table = malloc(size ? size : 1);
        memcpy(table, bytes, size);
        for (int form = WIRE_LINES_LNOTAB; form <= WIRE_LINES_LOCATIONS; form++)
            for (int byte = -1; byte < 64; byte++)
                python_line((enum wire_lines)form, table, size, 1, byte);
        assert_int_equal(python_line(WIRE_LINES_LOCATIONS, table, 0, 7, 2), 7);
        free(table);
    }
}

/* Code that goes on is not read again from its start: here that cannot be read any more. */
static void test_large_tables_are_read_on(void **state)
{
    (void)state;
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), size = 16 * page;
    /* Each entry of each form: 2 bytes of code, one line further. */
    static const uint8_t entries[][2] = {{2, 1}, {2, 1}, {0xe8, 2}};
    for (int form = WIRE_LINES_LNOTAB; form <= WIRE_LINES_LOCATIONS; form++) {
        uint8_t *table =
            mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        assert_ptr_not_equal(table, MAP_FAILED);
        for (size_t i = 0; i < size; i++)
            table[i] = entries[form][i % 2];
        struct python_cursor cursor = {0};
        const int lines = (int)size / 2;
        for (int i = 0; i + 1 < lines; i += 100) {
            uint32_t want = (uint32_t)i + (form == WIRE_LINES_LNOTAB ? 5 : 6);
            assert_int_equal(
                python_line_from(&cursor, (enum wire_lines)form, table, size, 5, i * 2), want);
            if (i * 2 > (int)page)
                mprotect(table, (size_t)(i * 2) / page * page - page, PROT_NONE);
        }
        munmap(table, size);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines_of_real_code),
        cmocka_unit_test(test_ranges),
        cmocka_unit_test(test_large_tables_are_read_on),
        cmocka_unit_test(test_tables_that_end_too_soon),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
