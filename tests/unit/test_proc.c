/* What /proc says of a process, and what it would never say. */
#include "unit.h"

#include "collect/proc/proc.h"

static void test_stat(void **state)
{
    (void)state;
    struct proc_state got = {0};
    assert_true(proc_parse_stat("42 (cat) S 7 42 42 0 -1 4194304 123 9 5 8 1 2 0 0 20 0\n", &got));
    assert_int_equal(got.ppid, 7);
    assert_u64_equal(got.minor_faults, 123);
    assert_u64_equal(got.major_faults, 5);
    assert_u64_equal(got.user_ticks, 1);
    assert_u64_equal(got.system_ticks, 2);
    /* A thread may be called anything, this too. */
    assert_true(proc_parse_stat("42 (a) R 1 (b) S 8 42 42 0 -1 4194304 1 9 2 8\n", &got));
    assert_int_equal(got.ppid, 8);
    assert_u64_equal(got.minor_faults, 1);
}

static void test_statm(void **state)
{
    (void)state;
    struct proc_memory got;
    assert_true(proc_parse_statm("1000 300 200 5 0 90 0\n", &got));
    assert_u64_equal(got.vm_bytes, 4096000);
    assert_u64_equal(got.rss_bytes, 300 * 4096);
    assert_u64_equal(got.anon_bytes, 100 * 4096);
    assert_true(proc_parse_statm("1000 300 301 5 0 90 0\n", &got));
    assert_u64_equal(got.anon_bytes, 0);
}

static void test_anything_else(void **state)
{
    (void)state;
    static const char *const texts[] = {"",          ")",     "(",          "42 (cat)",
                                        "42 (cat) ", "())",   "42 (cat) S", "42 (cat) S 7",
                                        "1 2",       "x y z", "-"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct proc_state state_kept = {.ppid = 77};
        struct proc_memory memory_kept = {.vm_bytes = 78};
        char *exact = strdup(texts[i]); /* a read beyond its end must be seen */
        assert_false(proc_parse_stat(exact, &state_kept));
        assert_false(proc_parse_statm(exact, &memory_kept));
        assert_int_equal(state_kept.ppid, 77);
        assert_u64_equal(memory_kept.vm_bytes, 78);
        free(exact);
    }
    struct proc_memory zombie;
    assert_false(proc_parse_statm("0 0 0 0 0 0 0\n", &zombie));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stat),
        cmocka_unit_test(test_statm),
        cmocka_unit_test(test_anything_else),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
