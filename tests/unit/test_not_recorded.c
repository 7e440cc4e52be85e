/*
 * What a recording lacks is noted per session. The end of the session releases all of it.
 */
#include "unit.h"

#include <malloc.h>
#include <unistd.h>

#include "base/err.h"
#include "collect/session/not_recorded.h"

static size_t bytes_in_use(void)
{
    return UNIT_SANITIZED ? 0 : mallinfo2().uordblks;
}

static void fill(struct not_recorded *u)
{
    not_recorded_left_out(u, "/opt/one", WIRE_OUT_LIBC);
    not_recorded_left_out(u, "/opt/two", WIRE_OUT_32_BIT);
    not_recorded_left_out(u, "/opt/one", WIRE_OUT_LIBC);
    not_recorded_file(u, "/nowhere/program");
    *vec_push(&u->unhooked) = (struct unhooked_library){.library = xstrdup("/opt/library.so")};
    *vec_push(&u->silent_children) = (struct silent_child){1, xstrdup("a note")};
    *vec_push(&u->executed_children) = (struct executed_child){.pid = 1};
    *vec_push(&u->suppressions) =
        (struct recorded_default){DEFAULT_OF_PROGRAM, xstrdup("program"), xstrdup("leak:main")};
}

static void test_release(void **state)
{
    struct not_recorded u = {0};
    (void)state;
    for (int i = 0; i < 10; i++) { /* libc keeps up to 7 freed blocks of each size, as in use */
        fill(&u);
        not_recorded_release(&u);
    }
    size_t before = bytes_in_use();
    fill(&u);
    assert_int_equal(u.left_out.count, 2);
    assert_int_equal(u.left_out.items[0].times, 2);
    assert_int_equal(u.examined.count, 1);
    assert_int_equal(u.executed_children.count, 1);
    not_recorded_release(&u);
    assert_null(u.executed_children.items);
    assert_int_equal(u.left_out.count, 0);
    assert_int_equal(bytes_in_use(), before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_release),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
