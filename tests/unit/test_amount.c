#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/amount.h"

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
    static const char *const wrong[] = {"",     "x",   "-1",  "10X",    "10MX", "10Mib2",
                                        "1e30", "nan", "inf", "10 M B", "K"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        int64_t bytes;
        assert_false(amount_parse(wrong[i], &bytes));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_sizes),
                                       cmocka_unit_test(test_nonsense)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
