/* Leaks of a recording made by hand: entries, totals, moments, stacks. */
#include "test_leaks_fixture.h"

/* --- entries, order, totals ------------------------------------------------------------------- */

static void test_entries(void **state)
{
    (void)state;
    struct leaks_question q = all_of_it();
    expect(&q, "lost lose 30/3, indirect lose 500/1, indirect worker 40/4, reachable keep 800/80");
    q.by_size = true;
    expect(&q, "reachable keep 800/80, indirect lose 500/1, indirect worker 40/4, lost lose 30/3");
}

static void test_one_entry(void **state)
{
    (void)state;
    struct recording *r = leaky();
    struct leaks_question q = all_of_it();
    struct leaks l;
    find(&l, r, &q);
    const struct leak *lost = &l.list.leaks.items[0], *kept = &l.list.leaks.items[3];
    assert_int_equal(lost->usable, 30 + 8 * 3);
    assert_int_equal(lost->untouched, 5 + 10);
    assert_int_equal(lost->first_ns, 1 * SECOND);
    assert_int_equal(lost->last_ns, 5 * SECOND + SECOND / 2);
    assert_string_equal(lost->thread, "helper"); /* 20 of the 30 */
    assert_int_equal(lost->threads, 2);
    assert_false(leak_grew(lost));
    assert_string_equal(kept->thread, "main");
    assert_int_equal(kept->threads, 1);
    assert_true(leak_grew(kept));
    leaks_release(&l);
    recording_free(r);
}

static void test_totals(void **state)
{
    (void)state;
    struct recording *r = leaky();
    struct leaks_question q = all_of_it();
    struct leaks l;
    q.kinds = LEAKS_OF(REACH_LOST); /* what is listed does not matter */
    q.query.top = 0;
    find(&l, r, &q);
    expect_sum(&l.all, 1370, 88, 4);
    expect_sum(&l.sums[REACH_LOST], 30, 3, 1);
    expect_sum(&l.sums[REACH_INDIRECT], 540, 5, 2);
    expect_sum(&l.sums[REACH_REACHABLE], 800, 80, 1);
    expect_sum(&l.sums[REACH_UNKNOWN], 0, 0, 0);
    expect_sum(&l.growing, 800, 80, 1);
    expect_sum(&l.freed, 700, 7, 1);
    assert_int_equal(l.list.leaks.count, 0);
    expect_sum(&l.list.left_out, 30, 3, 1);
    leaks_release(&l);
    struct leak_sum lost = leaks_lost(&r->profiles.items[0]);
    assert_int_equal(lost.bytes, 570);
    assert_int_equal(lost.blocks, 8);
    recording_free(r);
}

static void test_kinds(void **state)
{
    (void)state;
    struct leaks_question q = all_of_it();
    struct err err;
    assert_int_equal(leak_kinds_parse("lost", &q.kinds, &err), 0);
    expect(&q, "lost lose 30/3");
    assert_int_equal(leak_kinds_parse("reachable,lost", &q.kinds, &err), 0);
    expect(&q, "lost lose 30/3, reachable keep 800/80");
    assert_int_equal(leak_kinds_parse("unclassified,indirect", &q.kinds, &err), 0);
    expect(&q, "indirect lose 500/1, indirect worker 40/4");
    static const char *const wrong[] = {"", "lost,", ",lost", "los", "lostt", "lost, indirect"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(leak_kinds_parse(wrong[i], &q.kinds, &err), -EINVAL);
        assert_non_null(strstr(err.text, "one of lost, indirect, reachable, unclassified"));
    }
}

static void test_top_and_min(void **state)
{
    (void)state;
    struct leaks_question q = all_of_it();
    q.query.top = 2;
    expect(&q, "lost lose 30/3, indirect lose 500/1");
    q.query.top = QUERY_ALL;
    q.query.min_percent = 36; /* of 1370: 493.2 */
    expect(&q, "indirect lose 500/1, reachable keep 800/80");
    q.kinds = LEAKS_NOT_FREED; /* of 570: 205.2 */
    expect(&q, "indirect lose 500/1");
}

/* --- when ------------------------------------------------------------------------------------- */

static void test_since(void **state)
{
    (void)state;
    struct leaks_question q = all_of_it();
    q.query.since = "event"; /* four intervals lie before it */
    expect(&q, "lost lose 20/2, indirect lose 500/1, reachable keep 420/42");
    q.query.since = "5s";
    expect(&q, "lost lose 20/2, indirect lose 500/1, reachable keep 330/33");
    q.query.since = "end";
    expect(&q, "");
    q.query.since = "never";
    refused(&q, -EINVAL, "'never' is not a moment");
    q.query.since = "event";
    q.query.at = "leaks#1";
    refused(&q, -EINVAL, "--since event (4.000 s) comes after the leak scan (2.000 s)");
}

static void test_older(void **state)
{
    (void)state;
    struct leaks_question q = all_of_it();
    q.older_ns = 4500000000; /* until 3.5 s: those of 3.0 to 3.5 just count */
    expect(&q, "lost lose 10/1, indirect worker 40/4, reachable keep 380/38");
    q.older_ns++;
    expect(&q, "lost lose 10/1, reachable keep 290/29");
    q.query.since = "1s";
    expect(&q, "lost lose 10/1, reachable keep 190/19");
    q.older_ns = 9 * SECOND;
    expect(&q, "");
    q.older_ns = UINT64_MAX;
    expect(&q, "");
}

static void test_at(void **state)
{
    (void)state;
    struct leaks_question q = all_of_it();
    static const char *const asked[] = {"leaks", "leaks#1", "leaks#-1", "2s", "25%"};
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        q.query.at = asked[i];
        expect(&q, "lost lose 10/1");
    }
    q.query.at = "exit";
    expect(&q, "lost lose 10/1, reachable keep 900/27");
    q.query.at = "end";
    q.kinds = LEAKS_OF(REACH_LOST);
    expect(&q, "lost lose 30/3");
    static const char *const wrong[] = {"leaks#2", "leaks#0",  "event", "3s",
                                        "peak",    "nonsense", ""};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        q.query.at = wrong[i];
        refused(&q, -EINVAL, "leaks#1 (2.000 s), exit (7.000 s), end (8.000 s)");
    }
}

/* --- freed at exit ---------------------------------------------------------------------------- */

/* Without a scan at the end, the intervals of the blocks that are left are an assumption. */
static void test_no_more_freed_than_counted(void **state)
{
    (void)state;
    struct recording *r = leaky();
    struct leaks_question q = all_of_it();
    struct leaks l;
    struct row *freed = vec_last(&r->profiles.items[0].rows);
    freed->columns[COL_FREES] = 2;
    freed->columns[COL_FREED] = 30;
    find(&l, r, &q);
    expect_sum(&l.freed, 30, 2, 1);
    leaks_release(&l);
    freed->columns[COL_FREES] = freed->columns[COL_FREED] = 0;
    find(&l, r, &q);
    expect_sum(&l.freed, 0, 0, 0);
    leaks_release(&l);
    query_release(&q.query);
    recording_free(r);
}

static void test_freed_at_exit(void **state)
{
    (void)state;
    struct recording *r = leaky();
    struct leaks_question q = all_of_it();
    struct leaks l;
    q.freed = true;
    find(&l, r, &q);
    /* Of the first interval 3 in 660 B, of the second 4 in 40 B; nothing of lose. */
    assert_int_equal(l.freed_list.leaks.count, 1);
    assert_int_equal(l.freed_list.leaks.items[0].bytes, 700);
    assert_int_equal(l.freed_list.leaks.items[0].blocks, 7);
    assert_int_equal(l.freed_list.leaks.items[0].first_ns, 0);
    assert_int_equal(l.freed_list.leaks.items[0].last_ns, SECOND + SECOND / 2);
    leaks_release(&l);
    q.query.since = "1s";
    find(&l, r, &q);
    expect_sum(&l.freed, 40, 4, 1);
    leaks_release(&l);
    q.query.since = NULL;
    q.query.at = "leaks#1"; /* long before */
    find(&l, r, &q);
    expect_sum(&l.freed, 0, 0, 0);
    leaks_release(&l);
    q.query.at = NULL;
    assert_int_equal(pattern_list_add(&q.query.filter.ignore, "keep", "--ignore", NULL), 0);
    find(&l, r, &q);
    expect_sum(&l.freed, 0, 0, 0);
    assert_int_equal(l.left_out.ignored.amount, 800); /* of what is left, not of what was freed */
    leaks_release(&l);
    query_release(&q.query);
    recording_free(r);
}

static void test_exit_unknown(void **state)
{
    (void)state;
    struct recording *r = leaky();
    struct profile *p = &r->profiles.items[0];
    struct leaks_question q = all_of_it();
    struct leaks l;
    p->scans.items[1].kind = SCAN_ASKED;
    find(&l, r, &q);
    expect_sum(&l.freed, 0, 0, 0);
    leaks_release(&l);
    struct err err;
    q.query.at = "exit";
    assert_int_equal(leaks_find(&l, r, &q, &err), -EINVAL);
    assert_non_null(strstr(err.text, "leaks#1 (2.000 s), leaks#2 (7.000 s), end (8.000 s)"));
    recording_free(r);
}

/* --- which stacks ----------------------------------------------------------------------------- */

static void test_filter(void **state)
{
    (void)state;
    struct leaks_question q = all_of_it();
    struct stack_filter *f = &q.query.filter;
    pattern_list_add(&f->within, "worker|lose", "--within", NULL);
    expect(&q, "lost lose 30/3, indirect lose 500/1, indirect worker 40/4");
    pattern_list_add(&f->ignore, "worker", "--ignore", NULL);
    expect(&q, "lost lose 30/3, indirect lose 500/1");
    query_release(&q.query);
    q = all_of_it();
    f->thread = "helper";
    expect(&q, "lost lose 20/2, indirect worker 40/4");
    f->thread = "nobody";
    refused(&q, -ENOENT, "no thread is named 'nobody'");
    f->thread = NULL;
    f->no_fold = true;
    expect(&q, "lost lose 30/3, indirect lose 500/1, indirect worker 40/4, reachable keep 740/74, "
               "reachable std::vector<int>::push_back(int) 60/6");
    f->no_fold = false;
    pattern_list_add(&f->fold, "lose|worker", "--fold", NULL);
    expect(&q,
           "lost main 30/3, indirect main 500/1, indirect [folded] 40/4, reachable keep 800/80");
    query_release(&q.query);
    q = all_of_it();
    f->python_only = f->native_only = true;
    refused(&q, -EINVAL, "exclude each other");
}

static void test_merge(void **state)
{
    (void)state;
    struct leaks_question q = all_of_it();
    assert_int_equal(rename_list_add(&q.query.filter.merge, "s/lose|keep/it/", NULL), 0);
    expect(&q, "lost it 30/3, indirect it 500/1, indirect worker 40/4, reachable it 800/80");
    query_release(&q.query);
}

static void test_ignored(void **state)
{
    (void)state;
    struct recording *r = leaky();
    struct leaks_question q = all_of_it();
    struct leaks l;
    pattern_list_add(&q.query.filter.ignore, "lose", "--ignore", NULL);
    q.query.filter.thread = "helper";
    find(&l, r, &q);
    assert_int_equal(l.left_out.ignored.amount, 20);
    assert_int_equal(l.left_out.ignored.count, 2);
    assert_int_equal(l.left_out.outside.amount, 10 + 500 + 800);
    assert_int_equal(l.left_out.outside.count, 82);
    expect_sum(&l.all, 40, 4, 1);
    leaks_release(&l);
    query_release(&q.query);
    recording_free(r);
}

static void test_process(void **state)
{
    (void)state;
    struct recording *r = leaky();
    struct profile *p = program(r, 200);
    add_scan(p, SCAN_END, 8);
    add_row(p, WORKER, 2, REACH_UNKNOWN, 5, 55);
    struct leaks_question q = all_of_it();
    struct leaks l;
    q.query.process = "200";
    find(&l, r, &q);
    expect_sum(&l.all, 55, 5, 1);
    expect_sum(&l.sums[REACH_UNKNOWN], 55, 5, 1);
    leaks_release(&l);
    struct err err;
    q.query.process = "300";
    assert_int_equal(leaks_find(&l, r, &q, &err), -ENOENT);
    recording_free(r);
}

/* --- growth ----------------------------------------------------------------------------------- */

static bool grew(uint64_t blocks, const uint64_t allocated_in[LEAK_PARTS])
{
    struct leak e = {.blocks = blocks};
    memcpy(e.allocated_in, allocated_in, sizeof e.allocated_in);
    return leak_grew(&e);
}

static void test_growth(void **state)
{
    (void)state;
    assert_true(grew(16, (uint64_t[]){2, 2, 2, 2, 2, 2, 2, 2}));
    assert_false(grew(15, (uint64_t[]){1, 2, 2, 2, 2, 2, 2, 2})); /* too few */
    assert_true(grew(14000, (uint64_t[]){0, 2000, 2000, 2000, 2000, 2000, 2000, 2000}));
    assert_false(grew(12000, (uint64_t[]){0, 2000, 2000, 2000, 2000, 2000, 2000, 0}));
    assert_false(grew(107, (uint64_t[]){100, 1, 1, 1, 1, 1, 1, 1}));  /* set up, mostly */
    assert_false(grew(64, (uint64_t[]){15, 15, 15, 15, 1, 1, 1, 1})); /* it came to an end */
    assert_false(grew(100, (uint64_t[]){50, 0, 0, 0, 0, 0, 0, 50}));  /* no proof between */
}

/* --- odd recordings --------------------------------------------------------------------------- */

static void test_without_scans(void **state)
{
    (void)state;
    struct recording *r = recording_new();
    program(r, 100);
    struct leaks_question q = all_of_it();
    struct leaks l;
    struct err err;
    q.freed = true;
    find(&l, r, &q); /* nothing was allocated */
    expect_sum(&l.all, 0, 0, 0);
    leaks_release(&l);
    fx_row(&r->profiles.items[0], LOSE, 10, 1, 0, 0);
    assert_int_equal(leaks_find(&l, r, &q, &err), -ENODATA);
    assert_non_null(strstr(err.text, "no list of live blocks"));
    recording_free(r);
}

/* Sums wrap; nothing is read that is not there. */
static void test_huge_numbers(void **state)
{
    (void)state;
    struct recording *r = leaky();
    struct profile *p = &r->profiles.items[0];
    struct strbuf out = {0};
    for (size_t i = 0; i < p->live.count; i++) {
        struct live_row *row = &p->live.items[i];
        row->blocks = row->bytes = row->usable = row->untouched = UINT64_MAX - i;
        row->first_ns = i % 2 ? UINT64_MAX : 0;
        row->last_ns = UINT64_MAX;
    }
    p->sites.items[LOSE].thread = UINT32_MAX;
    for (int after = 0; after < 2; after++) {
        struct leaks_question q = all_of_it();
        struct leaks l;
        q.freed = true;
        q.older_ns = after ? UINT64_MAX : 0;
        p->scans.items[2].time_ns = after ? UINT64_MAX : 8 * SECOND;
        find(&l, r, &q);
        leaks_text(&l, "x.tide", &(struct style){.width = 80}, &out);
        leaks_json(&l, NULL, &out);
        leaks_csv(&l, NULL, &out);
        leaks_release(&l);
    }
    strbuf_release(&out);
    recording_free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_entries),       cmocka_unit_test(test_one_entry),
        cmocka_unit_test(test_totals),        cmocka_unit_test(test_kinds),
        cmocka_unit_test(test_top_and_min),   cmocka_unit_test(test_since),
        cmocka_unit_test(test_older),         cmocka_unit_test(test_at),
        cmocka_unit_test(test_freed_at_exit), cmocka_unit_test(test_no_more_freed_than_counted),
        cmocka_unit_test(test_exit_unknown),  cmocka_unit_test(test_filter),
        cmocka_unit_test(test_merge),         cmocka_unit_test(test_ignored),
        cmocka_unit_test(test_process),       cmocka_unit_test(test_growth),
        cmocka_unit_test(test_without_scans), cmocka_unit_test(test_huge_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
