#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/parse_amount.h"

static void test_sizes(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t bytes;
    } known[] = {{"0", 0},
                 {"4096", 4096},
                 {"4096B", 4096},
                 {"64K", 65536},
                 {"64KiB", 65536},
                 {"64kib", 65536},
                 {"64kB", 64000},
                 {"10MB", 10000000},
                 {"10MiB", 10485760},
                 {"10 MiB", 10485760},
                 {"1.5G", 1610612736},
                 {"2TB", 2000000000000}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        int64_t bytes = -1;
        assert_true(amount_parse(known[i].text, &bytes));
        assert_int_equal(bytes, known[i].bytes);
    }
}

static void test_nonsense(void **state)
{
    (void)state;
    static const char *const wrong[] = {"",    "x",   "-1",     "10X", "10MX", "10Mib2", "1e30",
                                        "nan", "inf", "10 M B", "K",   "0x10", " 5",     "+5"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        int64_t bytes;
        assert_false(amount_parse(wrong[i], &bytes));
    }
}

static void test_durations(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double ns;
    } known[] = {{"0s", 0},  {"12.5s", 12.5e9}, {".5s", 5e8},    {"300ms", 3e8}, {"7us", 7000},
                 {"1ns", 1}, {"2m", 120e9},     {"2min", 120e9}, {"1h", 3600e9}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        double ns = -1;
        assert_true(duration_parse(known[i].text, &ns));
        assert_true(ns == known[i].ns);
    }
    static const char *const wrong[] = {"",   "5",   "s",      "-1s", "5 s", "5S",    "5ss",
                                        "1d", "+1s", "1e999s", "nan", "inf", "event", "0x10s"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        double ns;
        assert_false(duration_parse(wrong[i], &ns));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_sizes),
                                       cmocka_unit_test(test_nonsense),
                                       cmocka_unit_test(test_durations)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
