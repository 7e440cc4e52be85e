/* What is folded, ignored, renamed and picked. */
#include "test_model_fixture.h"

static struct recording *ask(struct answer *a, struct query *q)
{
    struct recording *r = fx_sample();
    q->top = QUERY_ALL;
    fx_answer(a, r, q);
    return r;
}

static void done(struct answer *a, struct recording *r, struct query *q)
{
    answer_release(a);
    recording_free(r);
    query_release(q);
}

static const char *frame_name(const struct answer *a, const struct answer_row *row, uint32_t i)
{
    uint32_t node = row->call;
    assert_true(i < row->depth);
    while (i-- > 0)
        node = a->merged.parent.items[node];
    uint32_t frame = a->merged.key.items[node];
    return frame_table_string(&a->frames, a->frames.frames.items[frame].name);
}

static void test_fold_default(void **state)
{
    (void)state;
    struct answer a;
    struct query q = {.metric = METRIC_TOTAL, .by = BY_STACK};
    struct recording *r = ask(&a, &q);
    const struct answer_row *row = fx_find(&a, "Store::add(int)");
    assert_int_equal(row->depth, 2); /* neither operator new nor std:: */
    assert_string_equal(frame_name(&a, row, 0), "Store::add(int)");
    assert_string_equal(frame_name(&a, row, 1), "main");
    done(&a, r, &q);
}

static void test_no_fold(void **state)
{
    (void)state;
    struct answer a;
    struct query q = {.metric = METRIC_TOTAL, .by = BY_STACK, .filter.no_fold = true};
    struct recording *r = ask(&a, &q);
    const struct answer_row *row =
        fx_find(&a, "void std::vector<int>::_M_realloc_insert<int>(int&&)");
    assert_int_equal(row->depth, 4); /* operator new is still not listed */
    assert_string_equal(frame_name(&a, row, 1), "push_back");
    assert_string_equal(frame_name(&a, row, 2), "Store::add(int)");
    assert_string_equal(frame_name(&a, row, 3), "main");
    done(&a, r, &q);
}

/* Stacks of std:: alone, of the allocator alone, cut off, and of no frames at all. */
static void test_fold_nothing_left(void **state)
{
    (void)state;
    struct recording *r = recording_new();
    struct profile *p = fx_profile(r, 1, 0, "x");
    fx_symbols(r, p, 0x10, 1,
               (struct sym[]){{"std::locale::classic()", "/l/libstdc++.so.6", NULL, 0, 0}});
    fx_symbols(r, p, 0x20, 1, (struct sym[]){{"malloc", "/l/libc.so.6", NULL, 0, 0}});
    fx_thread(p, 1, "main");
    uint32_t cut = fx_node(p, 0, NODE_TRUNCATED);
    fx_site(p, fx_node(p, 0, 0x10), 0, DOMAIN_HEAP);
    fx_site(p, fx_node(p, 0, 0x20), 0, DOMAIN_HEAP);
    fx_site(p, fx_node(p, cut, 0x10), 0, DOMAIN_HEAP);
    fx_site(p, 0, 0, DOMAIN_HEAP);
    fx_site(p, 999, 7, DOMAIN_HEAP); /* damaged: no such node or thread */
    fx_interval(p, SECOND, 0);
    for (uint32_t s = 0; s < 5; s++)
        fx_row(p, s, 1u << s, 1, 0, 0);
    struct query q = {.top = QUERY_ALL};
    struct answer a;
    fx_answer(&a, r, &q);
    fx_expect(&a, "std::locale::classic()", 1 + 4, 2, 5, 2);
    fx_expect(&a, "[cut]", 0, 0, 4, 1);
    fx_expect(&a, "[unknown]", 2 + 8 + 16, 3, 26, 3);
    fx_expect_sum(&a, 31, 5);
    answer_release(&a);
    q.by = BY_THREAD;
    fx_answer(&a, r, &q);
    fx_expect(&a, "main", 15, 4, 15, 4);
    fx_expect(&a, "[unknown]", 16, 1, 16, 1);
    done(&a, r, &q);
}

static void test_fold_option(void **state)
{
    (void)state;
    struct answer a;
    struct query q = {0};
    pattern_list_add(&q.filter.fold, "^parse", "--fold", NULL);
    pattern_list_add(&q.filter.fold, "worker|libx", "--fold", NULL);
    struct recording *r = ask(&a, &q);
    fx_expect(&a, "main", 450, 9, 450, 9);
    fx_expect(&a, "[folded]", 3200, 50, 3200, 50);
    assert_int_equal(a.rows.rows.count, 2);
    fx_expect_sum(&a, 3650, 59);
    done(&a, r, &q);
}

static void test_within(void **state)
{
    (void)state;
    struct answer a;
    struct query q = {.metric = METRIC_TOTAL};
    pattern_list_add(&q.filter.within, "Store::", "--within", NULL);
    struct recording *r = ask(&a, &q);
    fx_expect(&a, "Store::add(int)", 3000, 3, 3000, 3);
    fx_expect(&a, "main", 0, 0, 3000, 3);
    assert_int_equal(a.rows.rows.count, 2);
    assert_int_equal(a.tree.outside.amount, 7500);
    assert_int_equal(a.tree.outside.count, 120);
    assert_int_equal(a.totals.bytes_allocated, 10500); /* whatever the filter */
    done(&a, r, &q);
    /* A folded frame still says what a stack is about. */
    struct query folded = {.metric = METRIC_TOTAL};
    pattern_list_add(&folded.filter.within, "_M_realloc_insert", "--within", NULL);
    r = ask(&a, &folded);
    fx_expect_sum(&a, 3000, 3);
    done(&a, r, &folded);
    /* The allocator itself is no frame: --within new does not mean operator new. */
    struct query allocator = {.metric = METRIC_TOTAL};
    pattern_list_add(&allocator.filter.within, "new", "--within", NULL);
    r = fx_sample();
    fx_refused(r, &allocator, -ENOENT, "matches --within 'new'");
    recording_free(r);
    query_release(&allocator);
}

static void test_ignore(void **state)
{
    (void)state;
    struct answer a;
    struct query q = {0};
    pattern_list_add(&q.filter.ignore, "nothing_like_it", "--ignore", NULL);
    pattern_list_add(&q.filter.ignore, "^worker$", "--ignore", NULL);
    struct recording *r = ask(&a, &q);
    fx_expect_sum(&a, 450, 9);
    assert_int_equal(a.tree.ignored.amount, 3200);
    assert_int_equal(a.tree.ignored.count, 50);
    done(&a, r, &q);
}

static void test_merge(void **state)
{
    (void)state;
    struct answer a;
    struct query q = {.metric = METRIC_TOTAL};
    rename_list_add(&q.filter.merge, "s/^(parse|Store::add|libx).*/work/", NULL);
    struct recording *r = ask(&a, &q);
    fx_expect(&a, "work", 10500, 123, 10500, 123); /* one row, though of two modules */
    fx_expect(&a, "main", 0, 0, 4100, 23);
    done(&a, r, &q);
}

/* Patterns match old and new names, so that renaming takes nothing out of a filter. */
static void test_merge_and_patterns(void **state)
{
    (void)state;
    static const char *const names[] = {"^work$", "^worker$"};
    for (size_t i = 0; i < 2; i++) {
        struct answer a;
        struct query q = {.metric = METRIC_LIVE};
        rename_list_add(&q.filter.merge, "s/^worker$/work/", NULL);
        pattern_list_add(&q.filter.ignore, names[i], "--ignore", NULL);
        struct recording *r = ask(&a, &q);
        fx_expect_sum(&a, 450, 9);
        assert_int_equal(a.tree.ignored.amount, 3200);
        done(&a, r, &q);
    }
}

static void test_thread(void **state)
{
    (void)state;
    struct answer a;
    struct query q = {.filter.thread = "worker"};
    struct recording *r = ask(&a, &q);
    fx_expect_sum(&a, 3200, 50);
    assert_int_equal(a.tree.outside.amount, 450);
    done(&a, r, &q);
    struct query by_id = {.filter.thread = "100"};
    r = ask(&a, &by_id);
    fx_expect_sum(&a, 450, 9);
    done(&a, r, &by_id);
    r = fx_sample();
    fx_refused(r, &(struct query){.filter.thread = "nobody"}, -ENOENT,
               "no thread is named 'nobody'");
    recording_free(r);
}

static void test_python(void **state)
{
    (void)state;
    struct recording *r = recording_new();
    struct profile *p = fx_profile(r, 1, 0, "python3");
    fx_symbols(r, p, 0x10, 1, (struct sym[]){{"Py_Main", "/bin/python3", NULL, 0, 0}});
    fx_symbols(r, p, 0x20, 1, (struct sym[]){{"load", "app.py", "/src/app.py", 7, FRAME_PYTHON}});
    fx_symbols(r, p, 0x30, 1, (struct sym[]){{"list_resize", "/bin/python3", NULL, 0, 0}});
    fx_thread(p, 1, "main");
    uint32_t top = fx_node(p, 0, 0x10);
    fx_site(p, fx_node(p, fx_node(p, top, 0x20), 0x30), 0, DOMAIN_HEAP);
    fx_site(p, top, 0, DOMAIN_HEAP);
    fx_interval(p, SECOND, 0);
    fx_row(p, 0, 100, 1, 0, 0);
    fx_row(p, 1, 10, 1, 0, 0);
    struct query q = {.top = QUERY_ALL, .filter.python_only = true};
    struct answer a;
    fx_answer(&a, r, &q);
    fx_expect(&a, "load", 100, 1, 100, 1);
    fx_expect(&a, "[native]", 10, 1, 10, 1);
    assert_int_equal(a.rows.rows.count, 2);
    answer_release(&a);
    q.filter = (struct stack_filter){.native_only = true};
    fx_answer(&a, r, &q);
    fx_expect(&a, "list_resize", 100, 1, 100, 1);
    fx_expect(&a, "Py_Main", 10, 1, 110, 2);
    assert_int_equal(a.rows.rows.count, 2);
    answer_release(&a);
    q.filter.python_only = true;
    fx_refused(r, &q, -EINVAL, "exclude each other");
    recording_free(r);
}

/* The interpreter's own C code is left out where there are Python frames; other C code stays. */
static void test_python_folded(void **state)
{
    (void)state;
    struct recording *r = recording_new();
    struct profile *p = fx_profile(r, 1, 0, "python3");
    fx_symbols(r, p, 0x10, 1, (struct sym[]){{"Py_Main", "libpython3.12.so.1.0", NULL, 0, 0}});
    fx_symbols(r, p, 0x20, 1, (struct sym[]){{"load", "/a/app.py", "/a/app.py", 7, FRAME_PYTHON}});
    fx_symbols(r, p, 0x30, 1, (struct sym[]){{"load", "/b/app.py", "/b/app.py", 7, FRAME_PYTHON}});
    fx_symbols(r, p, 0x40, 1, (struct sym[]){{"list_resize", "python3.12", NULL, 0, 0}});
    fx_symbols(r, p, 0x50, 1, (struct sym[]){{"extend", "python_tools.so", NULL, 0, 0}});
    fx_symbols(r, p, 0x60, 1, (struct sym[]){{"malloc", "/a/m.py", "/a/m.py", 1, FRAME_PYTHON}});
    fx_thread(p, 1, "main");
    uint32_t top = fx_node(p, 0, 0x10), a_load = fx_node(p, top, 0x20);
    uint32_t b_load = fx_node(p, top, 0x30);
    fx_site(p, fx_node(p, a_load, 0x40), 0, DOMAIN_HEAP);
    fx_site(p, fx_node(p, fx_node(p, b_load, 0x50), 0x40), 0, DOMAIN_HEAP);
    fx_site(p, top, 0, DOMAIN_HEAP);
    fx_site(p, fx_node(p, top, 0x40), 0, DOMAIN_HEAP);
    fx_site(p, fx_node(p, b_load, 0x60), 0, DOMAIN_HEAP);
    fx_interval(p, SECOND, 0);
    for (uint32_t i = 0, size = 1; i < 5; i++, size *= 10)
        fx_row(p, i, size, 1, 0, 0);
    struct query q = {.top = QUERY_ALL};
    struct answer a;
    fx_answer(&a, r, &q);
    fx_expect(&a, "Py_Main", 100, 1, 1100, 2); /* what has Python frames is charged to those */
    fx_expect(&a, "list_resize", 1000, 1, 1000, 1);
    fx_expect(&a, "malloc", 10000, 1, 10000,
              1); /* a Python function of that name is no allocator */
    fx_expect_sum(&a, 11111, 5);
    size_t loads = 0;
    for (size_t i = 0; i < a.rows.rows.count; i++) {
        const struct answer_row *row = &a.rows.rows.items[i];
        if (strcmp(row->name, "load") != 0)
            continue;
        loads++;
        assert_int_equal(row->self.amount, row->file[1] == 'a' ? 1 : 10);
        assert_int_equal(row->total.amount, row->file[1] == 'a' ? 1 : 10010);
    }
    assert_int_equal(loads, 2);
    assert_int_equal(a.rows.rows.count, 5);
    answer_release(&a);
    q.filter.no_fold = true;
    fx_answer(&a, r, &q);
    fx_expect(&a, "Py_Main", 100, 1, 11111, 5);
    fx_expect(&a, "list_resize", 1011, 3, 1011, 3);
    fx_expect(&a, "extend", 0, 0, 10, 1);
    done(&a, r, &q);
}

/* Numbers in a file are not to be trusted: cycles and wild parents end somewhere. */
static void test_damaged_tree(void **state)
{
    (void)state;
    struct recording *r = recording_new();
    struct profile *p = fx_profile(r, 1, 0, "x");
    fx_symbols(r, p, 0x10, 1, (struct sym[]){{"f", "/bin/x", NULL, 0, 0}});
    fx_thread(p, 1, "main");
    uint32_t one = fx_node(p, 2, 0x10), two = fx_node(p, 1, 0x10);
    assert_int_equal(one + two, 3);
    fx_node(p, 3, 0x10);
    fx_node(p, 1000000, 0x10);
    fx_interval(p, SECOND, 0);
    for (uint32_t n = 1; n <= 4; n++) {
        fx_site(p, n, 0, DOMAIN_HEAP);
        fx_row(p, n - 1, 1, 1, 0, 0);
    }
    struct query q = {.top = QUERY_ALL};
    struct answer a;
    fx_answer(&a, r, &q);
    fx_expect(&a, "f", 1, 1, 1, 1); /* the one with the wild parent is below the root */
    fx_expect(&a, "[unknown]", 3, 3, 3, 3);
    done(&a, r, &q);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fold_default),
        cmocka_unit_test(test_no_fold),
        cmocka_unit_test(test_fold_nothing_left),
        cmocka_unit_test(test_fold_option),
        cmocka_unit_test(test_within),
        cmocka_unit_test(test_ignore),
        cmocka_unit_test(test_merge),
        cmocka_unit_test(test_merge_and_patterns),
        cmocka_unit_test(test_thread),
        cmocka_unit_test(test_python),
        cmocka_unit_test(test_python_folded),
        cmocka_unit_test(test_damaged_tree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
