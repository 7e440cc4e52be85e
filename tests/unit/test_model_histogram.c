/* Histograms and untouched memory of the sample program. */
#include "test_model_fixture.h"

#include "store/buckets.h"

#define MS UINT64_C(1000000)

/*
 * Of D's 100 blocks 30 are of 8 bytes, 5 of 4 KiB or more; 7 of its 50 frees are of blocks that
 * lived 4 ms, 3 of such that lived a second.
 */
static struct recording *sample(void)
{
    struct recording *r = fx_sample();
    struct profile *p = &r->profiles.items[0];
    static const uint64_t units[] = {100, 10, 1000, 64, 4096};
    for (uint32_t i = 0; i < 5; i++)
        p->sites.items[i].unit_bytes = units[i];
    p->has_histograms = true;
    *vec_push(&p->sizes) = (struct bucket_row){SITE_D, 3, 30, 240};
    *vec_push(&p->sizes) = (struct bucket_row){SITE_D, 12, 5, 5000};
    *vec_push(&p->lifetimes) = (struct bucket_row){SITE_A, 3, 1, 0};
    *vec_push(&p->lifetimes) = (struct bucket_row){SITE_D, 3, 7, 0};
    *vec_push(&p->lifetimes) = (struct bucket_row){SITE_D, 11, 3, 0};
    return r;
}

static struct query asked(enum histogram_kind kind, enum grouping by, bool rows)
{
    return (struct query){.metric = METRIC_TOTAL,
                          .histogram = kind,
                          .histogram_rows = rows,
                          .by = by,
                          .top = QUERY_ALL};
}

static void expect(const struct answer *a, const struct spread *s, size_t count,
                   const struct bucket *want, uint64_t never)
{
    assert_int_equal(s->count, count);
    assert_int_equal(s->never, never);
    for (size_t i = 0; i < count; i++) {
        const struct bucket *b = &a->histograms.buckets.items[s->first + i];
        assert_int_equal(b->from, want[i].from);
        assert_int_equal(b->to, want[i].to);
        assert_int_equal(b->count, want[i].count);
        assert_int_equal(b->bytes, want[i].bytes);
    }
}

static const struct spread *row_named(const struct answer *a, const char *name)
{
    return &a->histograms.rows.items[fx_find(a, name) - a->rows.rows.items];
}

static void test_sizes(void **state)
{
    (void)state;
    struct recording *r = sample();
    struct answer a;
    struct query q = asked(HISTOGRAM_SIZE, BY_FUNCTION, true);
    fx_answer(&a, r, &q);
    expect(&a, &a.histograms.all, 4,
           (struct bucket[]){{8, 16, 10 + 30, 100 + 240},
                             {64, 128, 10 + 65, 1000 + 6400 - 5240},
                             {512, 1024, 3, 3000},
                             {4096, 8192, 5, 5000}},
           0);
    expect(&a, row_named(&a, "parse(int)"), 2,
           (struct bucket[]){{8, 16, 10, 100}, {64, 128, 10, 1000}}, 0);
    expect(&a, row_named(&a, "libx.so+0x1100"), 3,
           (struct bucket[]){{8, 16, 30, 240}, {64, 128, 65, 1160}, {4096, 8192, 5, 5000}}, 0);
    expect(&a, row_named(&a, "main"), 0, NULL, 0); /* it allocates nothing itself */
    answer_release(&a);
    recording_free(r);
}

static void test_lifetimes(void **state)
{
    (void)state;
    struct recording *r = sample();
    struct answer a;
    struct query q = asked(HISTOGRAM_LIFETIME, BY_THREAD, true);
    fx_answer(&a, r, &q);
    expect(&a, &a.histograms.all, 3,
           (struct bucket[]){
               {0, MS, 64 - 11, 0}, {4 * MS, 8 * MS, 8, 0}, {1024 * MS, 2048 * MS, 3, 0}},
           59);
    expect(&a, row_named(&a, "worker"), 3,
           (struct bucket[]){{0, MS, 40, 0}, {4 * MS, 8 * MS, 7, 0}, {1024 * MS, 2048 * MS, 3, 0}},
           50);
    expect(&a, row_named(&a, "main"), 2, (struct bucket[]){{0, MS, 13, 0}, {4 * MS, 8 * MS, 1, 0}},
           9);
    answer_release(&a);
    recording_free(r);
}

static void test_stacks_and_filter(void **state)
{
    (void)state;
    struct recording *r = sample();
    struct answer a;
    struct query q = asked(HISTOGRAM_SIZE, BY_STACK, true);
    q.top = 1;
    q.filter.thread = "worker";
    fx_answer(&a, r, &q);
    assert_int_equal(a.histograms.rows.count, 1);
    const struct bucket d[] = {{8, 16, 30, 240}, {64, 128, 65, 1160}, {4096, 8192, 5, 5000}};
    expect(&a, &a.histograms.rows.items[0], 3, d, 0);
    expect(&a, &a.histograms.all, 3, d, 0);
    answer_release(&a);
    recording_free(r);
}

static void test_refusals(void **state)
{
    (void)state;
    struct recording *r = sample();
    struct query q = asked(HISTOGRAM_SIZE, BY_FUNCTION, false);
    q.metric = METRIC_PEAK;
    fx_refused(r, &q, -EINVAL, "not of peak");
    q = asked(HISTOGRAM_SIZE, BY_FUNCTION, false);
    q.since = "1s";
    fx_refused(r, &q, -EINVAL, "whole run");
    r->profiles.items[0].has_histograms = false;
    q.since = NULL;
    fx_refused(r, &q, -ENODATA, "no histograms");
    q = (struct query){.metric = METRIC_UNTOUCHED, .top = QUERY_ALL};
    fx_refused(r, &q, -ENODATA, "untouched");
    recording_free(r);
}

/* The last scan that looked counts; what was freed comes to it. */
static void test_untouched(void **state)
{
    (void)state;
    struct recording *r = sample();
    struct profile *p = &r->profiles.items[0];
    for (uint32_t i = 0; i < 3; i++) {
        *vec_push(&p->scans) = (struct scan){.kind = i,
                                             .time_ns = i * SECOND,
                                             .residency = i < 2,
                                             .first_row = i * 2,
                                             .row_count = 2};
        *vec_push(&p->live) = (struct live_row){
            .site = SITE_A, .blocks = 4, .bytes = 400, .untouched = i == 1 ? 300 : 399};
        *vec_push(&p->live) = (struct live_row){.site = SITE_D, .blocks = 50, .bytes = 3200};
    }
    *vec_push(&p->freed_readings) = (struct freed_reading){SITE_C, 3, 3000, 2, 1500};
    struct answer a;
    struct query q = {.metric = METRIC_UNTOUCHED, .top = QUERY_ALL};
    fx_answer(&a, r, &q);
    fx_expect(&a, "parse(int)", 300, 4, 300, 4);
    fx_expect(&a, "Store::add(int)", 1500, 2, 1500, 2);
    fx_expect_sum(&a, 1800, 6);
    struct untouched u = untouched_of(p);
    assert_int_equal(u.scan->time_ns, SECOND);
    assert_int_equal(u.live.amount, 300);
    assert_int_equal(u.freed.amount, 1500);
    assert_int_equal(u.freed_examined.amount, 3000);
    assert_int_equal(u.freed_examined.count, 3);
    answer_release(&a);
    recording_free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes),     cmocka_unit_test(test_lifetimes),
        cmocka_unit_test(test_refusals),  cmocka_unit_test(test_stacks_and_filter),
        cmocka_unit_test(test_untouched),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
