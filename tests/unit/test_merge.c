/* The rules of a merge (model/merge.h): sums, spreads, matching by build id, what is refused, and that order and
 * grouping do not show. */
#include "test_model_fixture.h"

#include "model/merge_intervals.h"
#include "model/frames.h"
#include "model/merge.h"
#include "store/merge.h"
#include "store/reader.h"
#include "store/writer.h"

/* The sample as the rank of a job: `times` as often, at other addresses. */
static struct recording *rank_of(uint32_t rank, uint64_t times)
{
    struct recording *r = fx_sample();
    struct profile *p = r->profiles.items;
    p->rank1 = rank + 1;
    p->pid = 100 + rank;
    p->host = xasprintf("node%u", rank / 2);
    p->start_unix_ns = 1000 + rank;
    p->executable = xstrdup("/bin/app");
    for (size_t i = 0; i < p->rows.count; i++)
        for (int k = 0; k < COLUMNS; k++)
            p->rows.items[i].columns[k] *= times;
    return r;
}

static void add(struct merging *m, struct recording *r, const char *file)
{
    struct err err = {{0}};
    if (merging_add(m, r, file, &err))
        fail_msg("%s", err.text);
    recording_free(r);
}

static void written(struct recording *r, struct strbuf *out)
{
    recording_write(out, r);
    recording_free(r);
}

/* The bytes of a merge of ranks first..end-1, each added as it is. */
static void merged(uint32_t first, uint32_t end, struct strbuf *out)
{
    struct merging *m = merging_new();
    for (uint32_t i = first; i < end; i++)
        add(m, rank_of(i, i + 1), "x.tide");
    written(merging_finish(m), out);
    merging_free(m);
}

static struct recording *parsed(const struct strbuf *bytes)
{
    struct recording *r;
    struct err err = {{0}};
    if (recording_parse(bytes->data, bytes->size, "merged.tide", &r, &err))
        fail_msg("%s", err.text);
    assert_true(r->complete);
    return r;
}

static void test_sums_and_spreads(void **state)
{
    struct strbuf bytes = {0};
    struct answer a;
    struct query q;
    (void)state;
    merged(0, 3, &bytes); /* 1, 2 and 3 times the sample */
    struct recording *r = parsed(&bytes);
    query_init(&q);
    fx_answer(&a, r, &q);
    fx_expect_sum(&a, 6 * 3650, 6 * 59);
    fx_expect(&a, "worker", 0, 0, 6 * 3200, 6 * 50);
    fx_expect(&a, "parse(int)", 6 * 450, 6 * 9, 6 * 450, 6 * 9);
    const struct input_spread *s = fx_find(&a, "parse(int)")->self_spread;
    assert_non_null(s);
    assert_int_equal(s->inputs, 3);
    assert_int_equal(s->min, 450);
    assert_int_equal(s->max, 3 * 450);
    assert_int_equal(s->sum, 6 * 450);
    assert_int_equal(s->where, 2);
    assert_string_equal(r->profiles.items[0].merge->inputs.items[2].label, "rank 2");
    assert_int_equal(a.sum_spread->max, 3 * 3650);
    answer_release(&a);
    q.metric = METRIC_LARGEST; /* no sum: the highest of all */
    fx_answer(&a, r, &q);
    assert_int_equal(a.tree.sum.amount, 1000);
    answer_release(&a);
    query_release(&q);
    recording_free(r);
    strbuf_release(&bytes);
}

/* Only blocks with untouched pages are counted, also where a site has others of the same kind. */
static void test_untouched_blocks(void **state)
{
    (void)state;
    struct strbuf bytes = {0};
    struct merging *m = merging_new();
    struct recording *r = rank_of(0, 1);
    struct profile *p = r->profiles.items;
    for (uint32_t i = 0; i < 2; i++)
        *vec_push(&p->live) = (struct live_row){.site = SITE_D,
                                                .interval = i,
                                                .reach = REACH_REACHABLE,
                                                .blocks = 10 + i,
                                                .bytes = 8192,
                                                .untouched = i ? 4096 : 0};
    *vec_push(&p->scans) = (struct scan){
        .kind = SCAN_END, .intervals = p->intervals.count, .residency = true, .row_count = 2};
    struct query q;
    struct answer a;
    query_init(&q);
    q.metric = METRIC_UNTOUCHED;
    fx_answer(&a, r, &q);
    fx_expect_sum(&a, 4096, 11);
    answer_release(&a);
    add(m, r, "x.tide");
    written(merging_finish(m), &bytes);
    merging_free(m);
    r = parsed(&bytes);
    fx_answer(&a, r, &q);
    fx_expect_sum(&a, 4096, 11);
    answer_release(&a);
    query_release(&q);
    recording_free(r);
    strbuf_release(&bytes);
}

static void same_bytes(const struct strbuf *a, const struct strbuf *b)
{
    assert_int_equal(a->size, b->size);
    assert_memory_equal(a->data, b->data, a->size);
}

/* ((0 1) (2 (3 4))) and 4 3 2 1 0 are 0 1 2 3 4, byte for byte. */
static void test_order_and_grouping(void **state)
{
    struct strbuf flat = {0}, left = {0}, right = {0}, inner = {0}, other = {0};
    (void)state;
    merged(0, 5, &flat);
    merged(0, 2, &left);
    merged(3, 5, &inner);
    struct merging *m = merging_new();
    add(m, rank_of(2, 3), "x.tide");
    add(m, parsed(&inner), "inner.tide");
    written(merging_finish(m), &right);
    merging_free(m);
    m = merging_new();
    add(m, parsed(&right), "right.tide");
    add(m, parsed(&left), "left.tide");
    written(merging_finish(m), &other);
    merging_free(m);
    same_bytes(&other, &flat);
    struct recording *all = parsed(&flat);
    assert_int_equal(all->profiles.items[0].merge->inputs.count, 5);
    recording_free(all);
    strbuf_clear(&other);
    m = merging_new();
    for (uint32_t i = 5; i-- > 0;)
        add(m, rank_of(i, i + 1), "x.tide");
    written(merging_finish(m), &other);
    merging_free(m);
    same_bytes(&other, &flat);
    strbuf_release(&flat);
    strbuf_release(&left);
    strbuf_release(&right);
    strbuf_release(&inner);
    strbuf_release(&other);
}

/* A site in a library at `base`, with a build id of bytes `id`; a name only if there is one. */
static struct recording *in_library(uint32_t rank, uint64_t base, uint8_t id, const char *name)
{
    struct recording *r = recording_new();
    struct profile *p = fx_profile(r, 10 + rank, 1, "./app");
    r->complete = true;
    p->rank1 = rank + 1;
    p->host = xstrdup("node");
    p->executable = xstrdup("/bin/app");
    struct module m = {.start = base,
                       .end = base + 0x10000,
                       .bias = base,
                       .path = xstrdup("/lib/libm.so"),
                       .build_id_size = 20};
    memset(m.build_id, id, 20);
    *vec_push(&p->modules) = m;
    strpool_add(&r->strings, "");
    if (name)
        fx_symbols(r, p, base + 0x123, 1,
                   (struct sym[]){{name, "/lib/libm.so", "/src/m.c", 7, FRAME_NATIVE}});
    else
        *vec_push(&p->frame_runs) = 0;
    fx_thread(p, 1, "main");
    fx_site(p, fx_node(p, 0, base + 0x123), 0, DOMAIN_HEAP);
    fx_interval(p, SECOND, 64);
    fx_row(p, 0, 64, 1, 0, 0);
    p->peak_bytes = 64;
    p->duration_ns = SECOND;
    return r;
}

/* One build at several addresses is one call path, which has the name that any input knows; another
 * build of the same file is another one. */
static void test_matching_by_build_id(void **state)
{
    struct merging *m = merging_new();
    struct answer a;
    struct query q;
    (void)state;
    add(m, in_library(0, 0x10000, 1, "f"), "0.tide");
    add(m, in_library(1, 0x990000, 1, NULL), "1.tide");
    add(m, in_library(2, 0x50000, 2, "f"), "2.tide");
    struct recording *r = merging_finish(m);
    merging_free(m);
    const struct profile *p = r->profiles.items;
    assert_int_equal(p->nodes.count, 3); /* with the root */
    assert_int_equal(p->modules.count, 2);
    assert_int_equal(p->sites.count, 2);
    query_init(&q);
    fx_answer(&a, r, &q);
    fx_expect(&a, "f", 192, 3, 192, 3); /* functions are matched by name and library */
    answer_release(&a);
    query_release(&q);
    recording_free(r);
}

static void refuse(struct merging *m, struct recording *r, int code, const char *text)
{
    struct err err = {{0}};
    assert_int_equal(merging_add(m, r, "twice.tide", &err), code);
    if (!strstr(err.text, text))
        fail_msg("'%s' should say '%s'", err.text, text);
    recording_free(r);
}

/* The same process twice, also inside of a merge; and what is not known of an imported one. Nothing
 * of what is refused is in the result. */
static void test_refused(void **state)
{
    struct merging *m = merging_new();
    struct strbuf part = {0}, alone = {0}, after = {0};
    (void)state;
    merged(0, 1, &alone);
    add(m, rank_of(0, 1), "x.tide");
    refuse(m, rank_of(0, 7), -EEXIST, "count twice");
    merged(0, 2, &part);
    refuse(m, parsed(&part), -EEXIST, "count twice");
    struct recording *r = rank_of(5, 1);
    r->profiles.items[0].imported.from = xstrdup("massif");
    refuse(m, r, -ENODATA, "was imported from massif");
    written(merging_finish(m), &after);
    merging_free(m);
    same_bytes(&after, &alone);
    m = merging_new();
    assert_null(merging_finish(m));
    merging_free(m);
    strbuf_release(&part);
    strbuf_release(&alone);
    strbuf_release(&after);
}

/* With one row a site, every question about the whole run has the same answer. */
static void test_merge_intervals(void **state)
{
    (void)state;
    for (int exit = 0; exit < 2; exit++)
        for (int metric = 0; metric < METRICS; metric++) {
            struct recording *r = fx_sample();
            struct profile *p = r->profiles.items;
            struct answer before, after;
            struct query q;
            struct err err = {{0}};
            if (exit)
                *vec_push(&p->scans) = (struct scan){.kind = SCAN_EXIT, .intervals = 2};
            query_init(&q);
            q.metric = (enum metric)metric;
            if (answer_query(&before, r, &q, &err) == 0) {
                int64_t allocations = totals_of(p, &before.window).allocations;
                profile_merge_intervals(p);
                assert_int_equal(p->intervals.count, exit ? 2 : 1);
                fx_answer(&after, r, &q);
                assert_int_equal(after.tree.sum.amount, before.tree.sum.amount);
                assert_int_equal(after.tree.sum.count, before.tree.sum.count);
                assert_int_equal(after.rows.rows.count, before.rows.rows.count);
                for (size_t i = 0; i < before.rows.rows.count; i++) {
                    const struct answer_row *row = &before.rows.rows.items[i];
                    fx_expect(&after, row->name, row->self.amount, row->self.count,
                              row->total.amount, row->total.count);
                }
                if (!after.window.at.peak) /* calls until the peak are known to the interval */
                    assert_int_equal(totals_of(p, &after.window).allocations, allocations);
                answer_release(&before);
                answer_release(&after);
            }
            query_release(&q);
            recording_free(r);
        }
}

static void add_module(struct profile *p, uint64_t start, uint64_t end, uint32_t epoch)
{
    *vec_push(&p->modules) =
        (struct module){.start = start, .end = end, .epoch = epoch, .path = xstrdup("/lib/x.so")};
}

/* The index finds what the search one by one finds, with gaps, with epochs and with overlaps. */
static void test_module_index(void **state)
{
    (void)state;
    for (int overlap = 0; overlap < 2; overlap++) {
        struct recording *r = recording_new();
        struct profile *p = fx_profile(r, 1, 0, "./app");
        add_module(p, 0x5000, 0x6000, 0);
        add_module(p, 0x1000, 0x2000, 0);
        add_module(p, 0x3000, 0x4000, 1);
        add_module(p, 0x2000, 0x2800, 2);
        if (overlap)
            add_module(p, 0x5800, 0x7000, 3);
        struct module_index x;
        module_index_init(&x, p);
        for (uint64_t epoch = 0; epoch < 5; epoch++)
            for (uint64_t pc = 0x0f00; pc < 0x7200; pc += 0x3f) {
                uint64_t address = epoch << 48 | pc;
                assert_ptr_equal(module_index_at(&x, address), module_at(p, address));
            }
        module_index_release(&x);
        recording_free(r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sums_and_spreads),     cmocka_unit_test(test_order_and_grouping),
        cmocka_unit_test(test_matching_by_build_id), cmocka_unit_test(test_refused),
        cmocka_unit_test(test_merge_intervals),      cmocka_unit_test(test_module_index),
        cmocka_unit_test(test_untouched_blocks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
