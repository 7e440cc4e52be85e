/* Which threads that cannot be woken count as stopped. */
#include "unit.h"

#include <stdio.h>
#include <sys/syscall.h>

#include "collect/proc/stop_threads.h"

#define MS UINT64_C(1000000)

static bool sleeps_in(long number, uint64_t waited_ns)
{
    char call[128];
    snprintf(call, sizeof call, "%ld 0x1 0x2 0x3 0x4 0x5 0x6 0x7ffd0000 0x7f000000\n", number);
    return stop_threads_sleeps(call, waited_ns);
}

static void test_in_a_system_call(void **state)
{
    (void)state;
    assert_true(sleeps_in(SYS_clone, 0));
    assert_true(sleeps_in(SYS_clone3, 0));
    assert_false(sleeps_in(SYS_read, 0));
    assert_false(sleeps_in(SYS_read, 100 * MS));
    assert_true(sleeps_in(SYS_read, 101 * MS));
}

/* It waits for a page, or it is frozen: its stack is not known. */
static void test_in_no_call(void **state)
{
    (void)state;
    assert_false(stop_threads_sleeps("-1 0x7ffd0000 0x7f000000\n", 1000 * MS));
    assert_false(stop_threads_sleeps("running\n", 1000 * MS));
    assert_false(stop_threads_sleeps("", 1000 * MS));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_in_a_system_call),
        cmocka_unit_test(test_in_no_call),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
