/* /tmp/perf-PID.map, and the code of trampolines. */
#include "unit.h"

#include "collect/naming/jit_names.h"

static struct jit_names parsed(const char *text)
{
    struct jit_names j = {0};
    jit_names_parse(&j, xstrdup(text));
    return j;
}

static void test_names(void **state)
{
    (void)state;
    struct jit_names j = parsed("7f0000002000 10 second\n"
                                "7f0000001000 b py::first:/a/b.py\n"
                                "7f0000002000 20 second, made again\n"
                                "1000 8 with spaces in it");
    assert_string_equal(jit_names_find(&j, 0x7f0000001000), "py::first:/a/b.py");
    assert_string_equal(jit_names_find(&j, 0x7f000000100a), "py::first:/a/b.py");
    assert_null(jit_names_find(&j, 0x7f000000100b));
    assert_null(jit_names_find(&j, 0xfff));
    assert_string_equal(jit_names_find(&j, 0x7f0000002001), "second, made again");
    assert_string_equal(jit_names_find(&j, 0x7f000000201f), "second, made again");
    assert_string_equal(jit_names_find(&j, 0x1007), "with spaces in it");
    jit_names_release(&j);
}

static void test_senseless(void **state)
{
    (void)state;
    char longer[4000];
    memset(longer, 'x', sizeof longer);
    memcpy(longer, "2000 8 ", 7);
    longer[sizeof longer - 1] = '\0';
    static const char *const wrong[] = {"",
                                        "\n\n\n",
                                        "1000",
                                        "1000 ",
                                        "1000 8",
                                        "1000 8 ",
                                        " 1000 8 a",
                                        "zz 8 a",
                                        "-1 8 a",
                                        "1000 0 a",
                                        "1000 -8 a",
                                        "1000  8 a",
                                        "ffffffffffffffff 8 a",
                                        "1000 ffffffffffffffff a",
                                        "1000000000000000000000 8 a"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct jit_names j = parsed(wrong[i]);
        assert_int_equal(j.items.count, 0);
        jit_names_release(&j);
    }
    struct jit_names j = parsed(longer);
    assert_int_equal(strlen(jit_names_find(&j, 0x2000)), 512);
    jit_names_release(&j);
    j = parsed("1000 8 a\tb\033[31m\r\n");
    assert_string_equal(jit_names_find(&j, 0x1000), "a?b?[31m?");
    jit_names_release(&j);
}

static void test_frames(void **state)
{
    (void)state;
    struct strpool strings = {0};
    struct jit_names j =
        parsed("1000 8 py::C.f:/a/b.py\n2000 8 LazyCompile:~g\n3000 8 py::nothing\n");
    struct module made = {.path = (char *)"//anon"}, file = {.path = (char *)"/usr/bin/python3"};
    struct frame f;
    strpool_add(&strings, "");
    assert_true(jit_names_frame(&j, &made, 0x1005, &strings, &f));
    assert_int_equal(f.kind, FRAME_PYTHON);
    assert_string_equal(strpool_get(&strings, f.function), "C.f");
    assert_string_equal(strpool_get(&strings, f.file), "/a/b.py");
    assert_false(jit_names_frame(&j, &file, 0x1005, &strings, &f)); /* it has names of its own */
    assert_true(jit_names_frame(&j, &made, 0x2005, &strings, &f));
    assert_int_equal(f.kind, FRAME_NATIVE);
    assert_string_equal(strpool_get(&strings, f.function), "LazyCompile:~g");
    assert_true(jit_names_frame(&j, &made, 0x3000, &strings, &f));
    assert_string_equal(strpool_get(&strings, f.function), "py::nothing");
    assert_false(jit_names_frame(&j, &made, 0x4000, &strings, &f));
    jit_names_release(&j);
    strpool_release(&strings);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_senseless),
        cmocka_unit_test(test_frames),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
