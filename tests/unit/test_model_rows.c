/* Grouping, recursion, trees, callers and callees, order and cuts. */
#include "test_model_fixture.h"

static struct recording *ask(struct answer *a, const struct query *q)
{
    struct recording *r = fx_sample();
    fx_answer(a, r, q);
    return r;
}

static void done(struct answer *a, struct recording *r)
{
    answer_release(a);
    recording_free(r);
}

static void test_function_place(void **state)
{
    (void)state;
    struct answer a;
    struct recording *r = ask(&a, &(struct query){.top = QUERY_ALL});
    const struct answer_row *parse = fx_find(&a, "parse(int)");
    assert_string_equal(parse->module, "app");
    assert_string_equal(parse->file, "/src/app.c");
    assert_int_equal(parse->line, 20); /* where 400 of the 450 bytes are */
    const struct answer_row *bare = fx_find(&a, "libx.so+0x1100");
    assert_string_equal(bare->module, "libx.so");
    assert_null(bare->file);
    assert_int_equal(bare->line, 0);
    done(&a, r);
}

static void test_unknown_module(void **state)
{
    (void)state;
    struct recording *r = recording_new();
    struct profile *p = fx_profile(r, 1, 0, "x");
    *vec_push(&p->modules) =
        (struct module){.start = 0x1000, .end = 0x2000, .path = xstrdup("/a/old.so")};
    *vec_push(&p->modules) =
        (struct module){.start = 0x1000, .end = 0x2000, .epoch = 2, .path = xstrdup("/a/new.so")};
    fx_thread(p, 1, "main");
    const uint64_t addresses[] = {0x1500, 0x1500 | UINT64_C(2) << 48, 0x2000, 0x9000, 2};
    fx_interval(p, SECOND, 0);
    for (uint32_t i = 0; i < 5; i++) {
        fx_site(p, fx_node(p, 0, addresses[i]), 0, DOMAIN_HEAP);
        fx_row(p, i, i + 1, 1, 0, 0);
    }
    struct query q = {.top = QUERY_ALL};
    struct answer a;
    fx_answer(&a, r, &q);
    fx_expect(&a, "old.so+0x1500", 1, 1, 1, 1);
    fx_expect(&a, "new.so+0x1500", 2, 1, 2, 1);
    fx_expect(&a, "old.so+0x2000", 3, 1, 3, 1); /* a call at the very end returns past it */
    fx_expect(&a, "[unknown]+0x9000", 4, 1, 4, 1);
    fx_expect(&a, "[no unwind information]", 5, 1, 5, 1);
    assert_null(fx_find(&a, "[unknown]+0x9000")->module);
    done(&a, r);
}

/* Code of no library is one row by library and by file, however many addresses it has; markers
 * are rows of their own. */
static void test_unknown_code_is_one_row(void **state)
{
    (void)state;
    static const enum grouping groupings[] = {BY_LIBRARY, BY_FILE};
    for (size_t g = 0; g < 2; g++) {
        struct recording *r = recording_new();
        struct profile *p = fx_profile(r, 1, 0, "x");
        fx_thread(p, 1, "main");
        const uint64_t addresses[] = {0x9000, 0xa000, 0xb000, 2};
        fx_interval(p, SECOND, 0);
        for (uint32_t i = 0; i < 4; i++) {
            fx_site(p, fx_node(p, 0, addresses[i]), 0, DOMAIN_HEAP);
            fx_row(p, i, 10, 1, 0, 0);
        }
        fx_site(p, 0, 0, DOMAIN_HEAP); /* no stack is known */
        fx_row(p, 4, 5, 1, 0, 0);
        struct query q = {.by = groupings[g], .top = QUERY_ALL};
        struct answer a;
        fx_answer(&a, r, &q);
        assert_int_equal(a.rows.rows.count, 2);
        fx_expect(&a, "[unknown]", 35, 4, 35, 4);
        fx_expect(&a, "[no unwind information]", 10, 1, 10, 1);
        done(&a, r);
    }
}

static void test_by_line(void **state)
{
    (void)state;
    struct answer a;
    struct recording *r = ask(&a, &(struct query){.top = QUERY_ALL, .by = BY_LINE});
    assert_int_equal(a.rows.rows.count, 6);
    const struct answer_row *row = a.rows.rows.items;
    assert_string_equal(row[0].name, "libx.so+0x1100");
    assert_string_equal(row[1].name, "parse(int)");
    assert_int_equal(row[1].line, 20);
    assert_int_equal(row[1].self.amount, 400);
    assert_int_equal(row[1].total.amount, 450); /* line 20 twice on stack B: counted once */
    assert_int_equal(row[1].total.count, 9);
    assert_int_equal(row[2].line, 21);
    assert_int_equal(row[2].self.amount, 50);
    assert_int_equal(row[2].total.amount, 50);
    assert_string_equal(row[4].name, "main"); /* after worker, which has more below it */
    assert_int_equal(row[4].line, 10);
    assert_int_equal(row[4].total.amount, 400);
    assert_int_equal(row[5].line, 11);
    assert_int_equal(row[5].total.amount, 50);
    fx_expect_sum(&a, 3650, 59);
    done(&a, r);
}

static void test_by_library_and_file(void **state)
{
    (void)state;
    struct answer a;
    struct recording *r = ask(&a, &(struct query){.top = QUERY_ALL, .by = BY_LIBRARY});
    fx_expect(&a, "app", 450, 9, 3650, 59);
    fx_expect(&a, "libx.so", 3200, 50, 3200, 50);
    assert_int_equal(a.rows.rows.count, 2);
    done(&a, r);
    r = ask(&a, &(struct query){.top = QUERY_ALL, .by = BY_FILE, .metric = METRIC_TOTAL});
    fx_expect(&a, "/src/app.c", 1100, 20, 10500, 123);
    fx_expect(&a, "/src/store.cc", 3000, 3, 3000, 3);
    fx_expect(&a, "libx.so", 6400, 100, 6400, 100); /* no file: its library */
    assert_int_equal(a.rows.rows.count, 3);
    done(&a, r);
}

static void test_by_thread(void **state)
{
    (void)state;
    struct answer a;
    struct recording *r = ask(&a, &(struct query){.top = QUERY_ALL, .by = BY_THREAD});
    fx_expect(&a, "main", 450, 9, 450, 9);
    fx_expect(&a, "worker", 3200, 50, 3200, 50);
    assert_int_equal(fx_find(&a, "worker")->threads, 1);
    done(&a, r);
}

static void test_threads_of_one_name(void **state)
{
    (void)state;
    struct recording *r = fx_sample();
    struct profile *p = &r->profiles.items[0];
    uint32_t another = fx_thread(p, 102, "worker");
    uint32_t site = fx_site(p, p->sites.items[SITE_D].node, another, DOMAIN_HEAP);
    fx_row(p, site, 64, 2, 0, 0);
    struct query q = {.top = QUERY_ALL, .by = BY_THREAD};
    struct answer a;
    fx_answer(&a, r, &q);
    fx_expect(&a, "worker", 3328, 52, 3328, 52);
    assert_int_equal(fx_find(&a, "worker")->threads, 2);
    answer_release(&a);
    q.by = BY_STACK; /* and one stack of both */
    fx_answer(&a, r, &q);
    fx_expect(&a, "libx.so+0x1100", 3328, 52, 3328, 52);
    done(&a, r);
}

static void test_by_stack(void **state)
{
    (void)state;
    struct answer a;
    struct recording *r = ask(&a, &(struct query){.top = QUERY_ALL, .by = BY_STACK});
    assert_int_equal(a.rows.rows.count, 3);
    const struct answer_row *row = a.rows.rows.items;
    assert_string_equal(row[0].thread, "worker");
    assert_int_equal(row[0].self.amount, 3200);
    assert_int_equal(row[0].depth, 2);
    assert_int_equal(row[1].self.amount, 400);
    assert_string_equal(row[1].thread, "main");
    assert_int_equal(row[2].self.amount, 50);
    assert_int_equal(row[2].depth, 4); /* every recursion is listed */
    fx_expect_sum(&a, 3650, 59);
    done(&a, r);
}

static void expect_tree(const struct answer *a, size_t i, uint32_t depth, const char *name,
                        int64_t self, int64_t total)
{
    const struct answer_row *row = &a->rows.rows.items[i];
    assert_string_equal(row->name, name);
    assert_int_equal(row->depth, depth);
    assert_int_equal(row->self.amount, self);
    assert_int_equal(row->total.amount, total);
}

static void test_tree(void **state)
{
    (void)state;
    struct answer a;
    struct recording *r =
        ask(&a, &(struct query){.top = QUERY_ALL, .metric = METRIC_TOTAL, .shape = SHAPE_TREE});
    assert_int_equal(a.rows.rows.count, 7);
    expect_tree(&a, 0, 0, "worker", 0, 6400);
    expect_tree(&a, 1, 1, "libx.so+0x1100", 6400, 6400);
    expect_tree(&a, 2, 0, "main", 0, 4100); /* lines 10 and 11 are one */
    expect_tree(&a, 3, 1, "Store::add(int)", 3000, 3000);
    expect_tree(&a, 4, 1, "parse(int)", 1000, 1100);
    expect_tree(&a, 5, 2, "parse(int)", 0, 100);
    expect_tree(&a, 6, 3, "parse(int)", 100, 100);
    fx_expect_sum(&a, 10500, 123);
    done(&a, r);
    r = ask(&a,
            &(struct query){
                .top = QUERY_ALL, .metric = METRIC_TOTAL, .shape = SHAPE_TREE, .by = BY_LIBRARY});
    assert_int_equal(a.rows.rows.count, 2); /* calls inside a library are no steps */
    expect_tree(&a, 0, 0, "app", 4100, 10500);
    expect_tree(&a, 1, 1, "libx.so", 6400, 6400);
    done(&a, r);
}

static void test_tree_cut(void **state)
{
    (void)state;
    struct answer a;
    struct recording *r =
        ask(&a, &(struct query){.top = 3, .metric = METRIC_TOTAL, .shape = SHAPE_TREE});
    assert_int_equal(a.rows.rows.count, 3);
    expect_tree(&a, 1, 1, "libx.so+0x1100", 6400, 6400);
    expect_tree(&a, 2, 0, "main", 0, 4100);
    assert_int_equal(a.rows.left_out, 4);
    assert_int_equal(a.rows.left_out_value.amount, 4100);
    done(&a, r);
    r = ask(&a,
            &(struct query){
                .top = QUERY_ALL, .min_percent = 20, .metric = METRIC_TOTAL, .shape = SHAPE_TREE});
    assert_int_equal(a.rows.rows.count, 4);
    done(&a, r);
}

static void test_callers(void **state)
{
    (void)state;
    struct answer a;
    struct recording *r =
        ask(&a, &(struct query){.top = QUERY_ALL, .shape = SHAPE_CALLERS, .function = "parse"});
    assert_string_equal(a.of.name, "parse(int)");
    assert_int_equal(a.of.self.amount, 450);
    assert_int_equal(a.of.total.amount, 450);
    fx_expect(&a, "main", 450, 9, 450, 9);
    fx_expect(&a, "parse(int)", 0, 0, 50, 5); /* calls itself in stack B, once counted */
    assert_int_equal(a.rows.rows.count, 2);
    done(&a, r);
    r = ask(&a, &(struct query){.top = QUERY_ALL, .shape = SHAPE_CALLERS, .function = "main"});
    fx_expect(&a, "[no caller]", 450, 9, 450, 9);
    done(&a, r);
    r = fx_sample();
    fx_refused(r, &(struct query){.shape = SHAPE_CALLERS, .function = "nosuch"}, -ENOENT,
               "no function 'nosuch'");
    recording_free(r);
}

static void test_callees(void **state)
{
    (void)state;
    struct answer a;
    struct recording *r = ask(&a, &(struct query){.top = QUERY_ALL,
                                                  .metric = METRIC_TOTAL,
                                                  .shape = SHAPE_CALLEES,
                                                  .function = "main"});
    assert_int_equal(a.of.self.amount, 0);
    assert_int_equal(a.of.total.amount, 4100);
    fx_expect(&a, "Store::add(int)", 3000, 3, 3000, 3);
    fx_expect(&a, "parse(int)", 1100, 20, 1100, 20);
    assert_int_equal(a.rows.rows.count, 2);
    done(&a, r);
    r = ask(&a, &(struct query){.top = QUERY_ALL,
                                .metric = METRIC_TOTAL,
                                .shape = SHAPE_CALLEES,
                                .function = "parse(int)"});
    fx_expect(&a, "[itself]", 1100, 20, 1100, 20);
    fx_expect(&a, "parse(int)", 0, 0, 100, 10);
    done(&a, r);
}

/* f -> g -> f -> g, so that callers and callees recur: selves must add up to the whole. */
static void test_mutual_recursion(void **state)
{
    (void)state;
    struct recording *r = recording_new();
    struct profile *p = fx_profile(r, 1, 0, "x");
    fx_symbols(r, p, 0x10, 1, (struct sym[]){{"f", "/bin/x", NULL, 0, 0}});
    fx_symbols(r, p, 0x20, 1, (struct sym[]){{"g", "/bin/x", NULL, 0, 0}});
    fx_thread(p, 1, "main");
    uint32_t n1 = fx_node(p, 0, 0x10), n2 = fx_node(p, n1, 0x20), n3 = fx_node(p, n2, 0x10),
             n4 = fx_node(p, n3, 0x20);
    const uint32_t nodes[] = {n1, n2, n3, n4};
    fx_interval(p, SECOND, 0);
    for (uint32_t i = 0; i < 4; i++) {
        fx_site(p, nodes[i], 0, DOMAIN_HEAP);
        fx_row(p, i, 1u << (4 * i), 1, 0, 0);
    }
    struct query q = {.top = QUERY_ALL};
    struct answer a;
    fx_answer(&a, r, &q);
    fx_expect(&a, "f", 0x101, 2, 0x1111, 4);
    fx_expect(&a, "g", 0x1010, 2, 0x1110, 3);
    answer_release(&a);
    q.shape = SHAPE_CALLEES;
    q.function = "f";
    fx_answer(&a, r, &q);
    fx_expect(&a, "[itself]", 0x101, 2, 0x101, 2);
    fx_expect(&a, "g", 0x1010, 2, 0x1110, 3);
    answer_release(&a);
    q.shape = SHAPE_CALLERS;
    fx_answer(&a, r, &q);
    fx_expect(&a, "[no caller]", 0x1111, 4, 0x1111, 4);
    fx_expect(&a, "g", 0, 0, 0x1100, 2);
    answer_release(&a);
    recording_free(r);
}

static void test_order_and_cuts(void **state)
{
    (void)state;
    struct answer a;
    struct recording *r = ask(&a, &(struct query){.top = 2, .metric = METRIC_TOTAL});
    assert_int_equal(a.rows.rows.count, 2);
    assert_string_equal(a.rows.rows.items[0].name, "libx.so+0x1100");
    assert_string_equal(a.rows.rows.items[1].name, "Store::add(int)");
    assert_int_equal(a.rows.left_out, 3);
    assert_int_equal(a.rows.left_out_value.amount, 1100);
    done(&a, r);
    r = ask(&a, &(struct query){.top = QUERY_ALL, .metric = METRIC_TOTAL, .min_percent = 30});
    assert_int_equal(a.rows.rows.count, 3); /* libx, worker, main: parse has 10.5, add 28.6 */
    done(&a, r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_function_place),
        cmocka_unit_test(test_unknown_module),
        cmocka_unit_test(test_unknown_code_is_one_row),
        cmocka_unit_test(test_by_line),
        cmocka_unit_test(test_by_library_and_file),
        cmocka_unit_test(test_by_thread),
        cmocka_unit_test(test_threads_of_one_name),
        cmocka_unit_test(test_by_stack),
        cmocka_unit_test(test_tree),
        cmocka_unit_test(test_tree_cut),
        cmocka_unit_test(test_callers),
        cmocka_unit_test(test_callees),
        cmocka_unit_test(test_mutual_recursion),
        cmocka_unit_test(test_order_and_cuts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
