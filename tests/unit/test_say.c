#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/say.h"

#define SAYS(expected, ...)                                                                        \
    do {                                                                                           \
        struct strbuf out = {0};                                                                   \
        say(&out, __VA_ARGS__);                                                                    \
        assert_string_equal(out.data, expected);                                                   \
        strbuf_release(&out);                                                                      \
    } while (0)

static void test_numbers(void **state)
{
    (void)state;
    SAYS("plain", "plain");
    SAYS("1.5 KiB in 3 blocks", "%B in %N block(s)", (uint64_t)1536, 3);
    SAYS("12 B in 1 block", "%B in %N block(s)", 12u, (size_t)1);
    SAYS("0 processes, 1 process", "%d process(es), %d process(es)", 0, 1);
    SAYS("-3.0 MiB", "%B", INT64_C(-3145728));
    SAYS("+3.0 MiB -2 +1 0", "%+B %+N %+d %+N", INT64_C(3145728), -2, 1, 0);
    SAYS("1,234,567 1234567", "%N %d", 1234567, 1234567);
    SAYS("18446744073709551615 ff", "%d %x", UINT64_MAX, 255);
    SAYS("3.2 ms, 2 min 3 s, 1,234.5 ms", "%T, %T, %M", 3200000, UINT64_C(123000000000),
         INT64_C(1234500000));
    SAYS("12.3 % 100.0 0.0", "%P %% %P %P", 12.34, 100, -0.0);
    SAYS("1.30 2.5", "%.2f %.3g", 1.3, 2.5f);
}

static void test_text(void **state)
{
    (void)state;
    const char *name = "a\033[31mb";
    char buffer[] = "own";
    SAYS("a?[31mb a\033[31mb own", "%s %r %s", name, name, buffer);
    SAYS("(null)", "%s", (const char *)NULL);
    SAYS("f(x) (sic)", "f(x) (sic)");
}

/* A mistake is seen instead of read as something else. */
static void test_mistakes(void **state)
{
    (void)state;
    SAYS("2 things 1.5 KiB", "%N thing(s) %B", 1.9, 1536.0);
    SAYS("(?)", "%B", "text");
    SAYS("(?)", "%s", 12);
    SAYS("1 (?)", "%d %d", 1);
    SAYS("(?)", "%y", 1);
    SAYS("(?)", "%", 1);
}

static void test_most_arguments(void **state)
{
    (void)state;
    SAYS("1 2 3 4 5 6 7 8 9 10 11 12", "%d %d %d %d %d %d %d %d %d %d %d %d", 1, 2, 3, 4, 5, 6, 7,
         8, 9, 10, 11, 12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_most_arguments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
