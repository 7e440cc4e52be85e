/* Threads over time: names that tell them apart, and what they freed of each other. */
#include "test_model_fixture.h"

#include "analyse/threads.h"

static struct threads lines_of(struct recording *r)
{
    struct threads t;
    struct query q = {0};
    struct err err;
    assert_int_equal(threads_init(&t, r, &q, &err), 0);
    return t;
}

static const struct timeline_line *line_of(const struct threads *t, uint32_t thread)
{
    for (size_t i = 0; i < t->lines.count; i++)
        if (t->lines.items[i].thread == thread)
            return &t->lines.items[i];
    fail();
    return NULL;
}

/* A pool's threads have one name, and the kernel gives their ids again. */
static void test_names(void **state)
{
    (void)state;
    static const struct {
        uint32_t tid;
        const char *name, *label;
    } threads[] = {{10, "main", "main"},      {11, "pool", "pool:11"}, {12, "pool", "pool:12"},
                   {11, "pool", "pool:11#2"}, {13, "", "thread:13"},   {13, "", "thread:13#2"},
                   {11, "pool", "pool:11#3"}, {12, "once", "once"},    {11, "twice", "twice:11"},
                   {14, "twice", "twice:14"}};
    struct recording *r = recording_new();
    struct profile *p = fx_profile(r, 10, 1, "app");
    for (size_t i = 0; i < sizeof threads / sizeof *threads; i++)
        fx_thread(p, threads[i].tid, threads[i].name);
    struct threads t = lines_of(r);
    for (uint32_t i = 0; i < sizeof threads / sizeof *threads; i++)
        assert_string_equal(line_of(&t, i)->name, threads[i].label);
    threads_release(&t);
    recording_free(r);
}

static void test_frees_of_others(void **state)
{
    (void)state;
    struct recording *r = recording_new();
    struct profile *p = fx_profile(r, 10, 1, "app");
    fx_thread(p, 10, "main");
    fx_thread(p, 11, "worker");
    uint32_t own = fx_site(p, fx_node(p, 0, 0x1010), 0, DOMAIN_HEAP);
    uint32_t foreign = fx_site(p, 0, 1, DOMAIN_FOREIGN);
    fx_interval(p, SECOND, 1000);
    fx_row(p, own, 100, 10, 4, 0);
    fx_row(p, foreign, 100, 4, 0, 0);
    fx_interval(p, 2 * SECOND, 600);
    fx_row(p, own, 100, 0, 1, 0);
    fx_row(p, foreign, 100, 1, 0, 0);
    struct threads t = lines_of(r);
    const struct timeline_line *worker = line_of(&t, 1), *main_line = line_of(&t, 0);
    assert_int_equal(worker->foreign_blocks, 5);
    assert_int_equal(worker->foreign_bytes, 500);
    assert_int_equal(worker->live_bytes, 0);
    assert_int_equal(worker->allocations, 0);
    assert_int_equal(main_line->foreign_blocks, 0);
    assert_int_equal(main_line->live_bytes, 500);
    assert_int_equal(t.moments, 3);
    assert_int_equal(worker->foreign[0], 0);
    assert_int_equal(worker->foreign[1], 400);
    assert_int_equal(worker->foreign[2], 500);
    assert_int_equal(main_line->allocated[1], 1000);
    threads_release(&t);
    recording_free(r);
}

/* Of two threads, the peak is known better than the highest total of its interval. */
static void test_peak_is_the_process_s(void **state)
{
    (void)state;
    struct recording *r = recording_new();
    struct profile *p = fx_profile(r, 10, 1, "app");
    fx_thread(p, 10, "main");
    uint32_t site = fx_site(p, fx_node(p, 0, 0x1010), 0, DOMAIN_HEAP);
    fx_interval(p, SECOND, 1101); /* too high */
    fx_row(p, site, 100, 10, 4, 0);
    fx_interval(p, 2 * SECOND, 900); /* too low */
    fx_interval(p, 3 * SECOND, 600);
    p->peak_bytes = 1100;
    p->peak_time_ns = 2 * SECOND - 1;
    struct threads t = lines_of(r);
    assert_int_equal(t.moments, 4);
    assert_int_equal(t.process[1], 1099);
    assert_int_equal(t.process[2], 1100);
    assert_int_equal(t.process[3], 600);
    assert_int_equal(t.peak_bytes, 1100);
    threads_release(&t);
    recording_free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_frees_of_others),
        cmocka_unit_test(test_peak_is_the_process_s),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
