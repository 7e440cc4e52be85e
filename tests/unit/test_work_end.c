/*
 * When the work of a program was done: one that runs for 5 s, one interval a second, with 30
 * allocations in each of the first four.
 */
#include "test_model_fixture.h"

#include "analyse/work_end.h"

/* `last`: allocations in the last second. */
static struct recording *program(size_t python_end, uint64_t last)
{
    struct recording *r = recording_new();
    struct profile *p = fx_profile(r, 100, 1, "./app");
    uint32_t thread = fx_thread(p, 100, "main");
    uint32_t site = fx_site(p, fx_node(p, 0, 0x1010), thread, DOMAIN_HEAP);
    uint32_t other = fx_site(p, fx_node(p, 0, 0x1020), thread, DOMAIN_CPU);
    for (uint64_t i = 1; i <= 5; i++) {
        fx_interval(p, i * SECOND, 0);
        fx_row(p, site, 8, i < 5 ? 30 : last, 0, 0);
        fx_row(p, other, 8, i < 5 ? 1 : 1000, 0, 0); /* samples are no work */
    }
    p->python_end = python_end;
    return r;
}

static void expect(struct recording *r, size_t python, size_t end, uint64_t end_ns)
{
    struct work_end w = work_end_of(&r->profiles.items[0]);
    assert_int_equal(w.python, python);
    assert_int_equal(w.intervals, end);
    assert_int_equal(w.time_ns, end_ns);
    recording_free(r);
}

static struct recording *with_exit(struct recording *r)
{
    *vec_push(&r->profiles.items[0].scans) =
        (struct scan){.kind = SCAN_EXIT, .time_ns = 5 * SECOND - 7, .intervals = 5};
    return r;
}

static void test_without_python(void **state)
{
    (void)state;
    expect(program(0, 0), 0, 5, UINT64_MAX);
    expect(with_exit(program(0, 0)), 0, 5, 5 * SECOND - 7);
}

static void test_python_ends(void **state)
{
    (void)state;
    expect(program(4, 0), 4, 4, 4 * SECOND);
    expect(program(5, 0), 5, 5, 5 * SECOND);
    expect(with_exit(program(4, 0)), 4, 4, 4 * SECOND);
}

/* The program goes on without it, if more than a few allocations follow: here 1 in 10. */
static void test_python_was_a_part(void **state)
{
    (void)state;
    expect(with_exit(program(4, 13)), 4, 4, 4 * SECOND);
    expect(with_exit(program(4, 14)), 0, 5, 5 * SECOND - 7);
    expect(program(1, 0), 0, 5, UINT64_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_without_python),
        cmocka_unit_test(test_python_ends),
        cmocka_unit_test(test_python_was_a_part),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
