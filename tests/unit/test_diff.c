/* Two recordings compared: names made comparable, rows joined, text and JSON. */
#include "test_model_fixture.h"

#include "model/diff.h"
#include "model/comparable_name.h"
#include "answer/diff.h"

static const char *const files[] = {"a.tide", "b.tide"};

static void expect_origin(const char *name, bool without_numbers, const char *want)
{
    struct strbuf out = {0};
    comparable_name(&out, name, without_numbers);
    assert_string_equal(out.data, want);
    strbuf_release(&out);
}

static void test_origin(void **state)
{
    (void)state;
    static const struct {
        const char *name, *kept, *plain;
    } cases[] = {
        {"f", "f", "f"},
        {"", "", ""},
        {"f.isra.0", "f", "f"},
        {"f.constprop.0.isra.12", "f", "f"},
        {"f.part.3.cold.1", "f", "f"},
        {".isra.0", ".isra.0", ".isra.0"},
        {"f.0", "f.0", "f.0"},
        {"Cache.cold", "Cache.cold", "Cache.cold"}, /* a method in Python */
        {"f(int) [clone .cold]", "f(int)", "f(int)"},
        {"f(int) [clone .part.0] [clone .cold]", "f(int)", "f(int)"},
        {"f(int) (.cold.1)", "f(int)", "f(int)"},
        {"name[abi:cxx11](int)", "name(int)", "name(int)"},
        {"a::b[abi:v1][abi:cxx11]()", "a::b()", "a::b()"},
        {"f()::{lambda(int)#2}::operator()(int) const",
         "f()::{lambda(int)#2}::operator()(int) const",
         "f()::{lambda(int)}::operator()(int) const"},
        {"g<f()::{lambda()#1}, f()::{lambda()#12}>", "g<f()::{lambda()#1}, f()::{lambda()#12}>",
         "g<f()::{lambda()}, f()::{lambda()}>"},
        {"main::$_0::operator()() const", "main::$_0::operator()() const",
         "main::$_::operator()() const"},
        {"main::'lambda0'(int)::f", "main::'lambda0'(int)::f", "main::'lambda'(int)::f"},
        {"app::{closure#3}", "app::{closure#3}", "app::{closure}"},
        {"operator[](int)", "operator[](int)", "operator[](int)"},
        {"f#2", "f#2", "f#2"},
        {"x$_1y", "x$_1y", "x$_1y"},
        {"f[abi:", "f[abi:", "f[abi:"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        expect_origin(cases[i].name, false, cases[i].kept);
        expect_origin(cases[i].name, true, cases[i].plain);
    }
}

/* One function with one block of `size`, called by main. */
static struct recording *with(const char *function, const char *module, uint64_t size)
{
    struct recording *r = recording_new();
    struct profile *p = fx_profile(r, 1, 0, "./app");
    r->complete = true;
    fx_symbols(r, p, 0x10, 1, (struct sym[]){{"main", "/bin/app", "/src/app.c", 10, 0}});
    fx_symbols(r, p, 0x20, 1, (struct sym[]){{function, module, "/src/f.c", 20, 0}});
    fx_thread(p, 1, "main");
    fx_site(p, fx_node(p, fx_node(p, 0, 0x10), 0x20), 0, DOMAIN_HEAP);
    fx_interval(p, SECOND, size);
    fx_row(p, 0, size, 1, 0, 0);
    p->duration_ns = SECOND;
    p->peak_bytes = size;
    return r;
}

static void ask(struct diff *d, const struct recording *a, const struct recording *b,
                const struct query *q)
{
    struct err err = {{0}};
    if (diff_query(d, (const struct recording *const[]){a, b}, files, q, &err))
        fail_msg("%s", err.text);
}

static const struct diff_row *find(const struct diff *d, const char *name)
{
    for (size_t i = 0; i < d->rows.count; i++)
        if (strcmp(d->rows.items[i].name, name) == 0)
            return &d->rows.items[i];
    fail_msg("no row is named %s", name);
    return NULL;
}

/* Do the two functions count as one? */
static bool are_one(const char *one, const char *other, enum grouping by)
{
    struct recording *a = with(one, "/lib/libone.so", 100), *b = with(other, "/lib/libtwo.so", 100);
    struct query q = {.top = QUERY_ALL, .by = by};
    struct diff d;
    ask(&d, a, b, &q);
    bool same = diff_is_empty(&d);
    assert_int_equal(d.count[DIFF_NEW], d.count[DIFF_GONE]);
    assert_int_equal(same, d.count[DIFF_NEW] == 0);
    diff_release(&d);
    recording_free(a);
    recording_free(b);
    return same;
}

static void test_matching(void **state)
{
    (void)state;
    for (int by = BY_FUNCTION; by <= BY_STACK; by++) {
        assert_true(are_one("f", "f", (enum grouping)by)); /* another library */
        assert_true(are_one("f.isra.0", "f", (enum grouping)by));
        assert_true(are_one("f[abi:cxx11]()", "f()", (enum grouping)by));
        assert_true(are_one("g::{lambda()#1}::f", "g::{lambda()#2}::f", (enum grouping)by));
        assert_false(are_one("f", "g", (enum grouping)by));
        assert_false(are_one("f(int)", "f(long)", (enum grouping)by));
    }
    assert_false(are_one("f", "f", BY_LIBRARY));
    /* No build id, so nobody knows whether it is the same code. */
    assert_true(are_one("libx.so+0x10", "libx.so+0x20", BY_FUNCTION));
    assert_false(are_one("libx.so+0x10", "liby.so+0x10", BY_FUNCTION));
}

/* A function and its clone, one calling the other: what they allocate is counted once. */
static void test_clone_calls_its_origin(void **state)
{
    (void)state;
    struct recording *a = with("f", "/lib/libone.so", 100), *b = with("f", "/lib/libone.so", 100);
    struct profile *p = &b->profiles.items[0];
    fx_symbols(b, p, 0x30, 1, (struct sym[]){{"f.isra.0", "/lib/libtwo.so", "/src/f.c", 30, 0}});
    p->sites.items[0].node = fx_node(p, p->sites.items[0].node, 0x30);
    struct query q = {.top = QUERY_ALL};
    struct diff d;
    ask(&d, a, b, &q);
    assert_int_equal(d.rows.count, 2);
    assert_int_equal(find(&d, "f")->total[1].amount, 100);
    assert_true(diff_is_empty(&d));
    diff_release(&d);
    recording_free(a);
    recording_free(b);
}

static void test_code_without_symbols(void **state)
{
    (void)state;
    struct recording *a = with("libx.so+0x10", "libx.so", 100),
                     *b = with("libx.so+0x20", "libx.so", 100);
    struct recording *both[] = {a, b};
    struct query q = {.top = QUERY_ALL};
    struct diff d;
    for (int i = 0; i < 2; i++)
        *vec_push(&both[i]->profiles.items[0].modules) = (struct module){
            .path = xstrdup("/lib/libx.so"), .build_id = {1, 2}, .build_id_size = 2};
    ask(&d, a, b, &q); /* the very same file: two places in it */
    assert_int_equal(find(&d, "libx.so+0x10")->status, DIFF_GONE);
    assert_int_equal(find(&d, "libx.so+0x20")->status, DIFF_NEW);
    diff_release(&d);
    b->profiles.items[0].modules.items[0].build_id[1] = 3;
    ask(&d, a, b, &q);
    assert_int_equal(find(&d, "libx.so (no symbols)")->status, DIFF_SAME);
    diff_release(&d);
    recording_free(a);
    recording_free(b);
}

/* The numbers of lambdas count if both sides have the same ones. */
static void test_numbered(void **state)
{
    (void)state;
    struct recording *r = recording_new(), *other = recording_new();
    struct profile *p = fx_profile(r, 1, 0, "x");
    struct comparable_names o;
    const char *names[] = {"f::{lambda()#1}::f", "f::{lambda()#2}::f"};
    for (int i = 0; i < 2; i++) {
        strpool_add(&r->strings, names[i]);
        strpool_add(&other->strings, names[1 - i]); /* in another order */
    }
    for (int i = 0; i < 2; i++) {
        struct strbuf out = {0};
        comparable_names_init(&o, r, p, other);
        comparable_names_name(&o, &out, "f::{lambda()#2}::f");
        assert_string_equal(out.data, i ? "f::{lambda()}::f" : "f::{lambda()#2}::f");
        strbuf_release(&out);
        comparable_names_release(&o);
        strpool_add(&other->strings, "f::{lambda()#3}::f");
    }
    recording_free(r);
    recording_free(other);
}

static void test_files_in_other_folders(void **state)
{
    (void)state;
    struct recording *a = with("f", "app", 100), *b = with("f", "app", 130);
    strpool_release(&b->strings);
    b->strings = (struct strpool){0};
    struct profile *p = &b->profiles.items[0];
    vec_release(&p->frames);
    vec_release(&p->frame_runs);
    map_release(&p->symbols);
    fx_symbols(b, p, 0x10, 1, (struct sym[]){{"main", "/bin/app", "/elsewhere/app.c", 10, 0}});
    fx_symbols(b, p, 0x20, 1, (struct sym[]){{"f", "/bin/app", "/elsewhere/f.c", 20, 0}});
    struct query q = {.top = QUERY_ALL, .by = BY_FILE};
    struct diff d;
    ask(&d, a, b, &q);
    assert_int_equal(d.rows.count, 2);
    assert_int_equal(d.count[DIFF_CHANGED], 2);
    assert_int_equal(value_change(find(&d, "/elsewhere/f.c")->self).amount, 30);
    diff_release(&d);
    recording_free(a);
    recording_free(b);
}

static void test_sample_against_itself(void **state)
{
    (void)state;
    struct recording *a = fx_sample(), *b = fx_sample();
    for (int metric = METRIC_LIVE; metric <= METRIC_MAPPED; metric++)
        for (int by = 0; by < GROUPINGS; by++)
            for (int shape = SHAPE_TABLE; shape <= SHAPE_TREE; shape++) {
                struct query q = {.top = QUERY_ALL,
                                  .metric = (enum metric)metric,
                                  .by = (enum grouping)by,
                                  .shape = (enum shape)shape};
                if (shape == SHAPE_TREE && (by == BY_STACK || by == BY_THREAD))
                    continue;
                struct diff d;
                ask(&d, a, b, &q);
                assert_true(diff_is_empty(&d) && d.rows.count > 0);
                assert_int_equal(d.count[DIFF_SAME], d.rows.count);
                assert_int_equal(d.scale, 0);
                diff_release(&d);
            }
    recording_free(a);
    recording_free(b);
}

static void test_moments_and_cut(void **state)
{
    (void)state;
    struct recording *a = fx_sample(), *b = fx_sample();
    b->profiles.items[0].rows.items[0].columns[COL_BYTES] += 5000; /* parse(int), first second */
    struct query q = {.top = 1, .since = "start", .at = "1s"};
    struct diff d;
    ask(&d, a, b, &q);
    assert_int_equal(d.rows.count, 1);
    assert_int_equal(d.left_out, 1); /* main, which called it */
    assert_string_equal(d.rows.items[0].name, "parse(int)");
    assert_int_equal(value_change(d.rows.items[0].self).amount, 5000);
    assert_int_equal(d.count[DIFF_CHANGED], 2);
    diff_release(&d);
    q = (struct query){.top = QUERY_ALL, .since = "1s"};
    ask(&d, a, b, &q); /* it does not matter to what came later */
    assert_int_equal(d.count[DIFF_CHANGED], 0);
    diff_release(&d);
    recording_free(a);
    recording_free(b);
}

static void test_refused(void **state)
{
    (void)state;
    struct recording *a = fx_sample(), *b = with("f", "app", 100);
    static const struct {
        struct query q;
        int code;
        const char *says;
    } cases[] = {
        {{.metric = METRIC_CPU}, -ENODATA, "a.tide: this recording has no CPU samples"},
        {{.process = "100"},
         -ENOENT,
         "b.tide: no process 100 in this recording; it holds 1, the first "
         "is 1; 'tidemark report' lists them; --process PID,PID picks one in each"},
        {{.at = "nowhere"}, -EINVAL, "a.tide: 'nowhere' is not a moment"},
        {{.shape = SHAPE_TREE, .by = BY_STACK}, -EINVAL, "a.tide: --tree can be combined with"},
        {{.process = "100,2"}, -ENOENT, "b.tide: no process 2 in this recording"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct diff d;
        struct err err = {{0}};
        int code =
            diff_query(&d, (const struct recording *const[]){a, b}, files, &cases[i].q, &err);
        if (code != cases[i].code || strncmp(err.text, cases[i].says, strlen(cases[i].says)) != 0)
            fail_msg("%d '%s', expected '%s'", code, err.text, cases[i].says);
    }
    struct query q = {.top = QUERY_ALL, .process = "100,1", .filter.thread = "worker"};
    struct diff d;
    ask(&d, a, b, &q);
    assert_string_equal(d.side[0].missing.text, "");
    assert_non_null(strstr(d.side[1].missing.text, "no thread is named 'worker'"));
    assert_int_equal(d.count[DIFF_GONE], d.rows.count);
    diff_release(&d);
    recording_free(a);
    recording_free(b);
}

static void expect_part(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("'%s' is not in:\n%s", part, text);
}

static void test_text(void **state)
{
    (void)state;
    struct recording *a = with("f", "app", 100), *b = with("g", "app", 1100);
    struct query q = {.top = QUERY_ALL};
    const struct style plain = {.width = 100};
    struct strbuf out = {0};
    struct diff d;
    ask(&d, a, b, &q);
    diff_text(&d, &plain, &out);
    expect_part(out.data, "a          ./app (a.tide)\n"
                          "b          ./app (b.tide)\n"
                          "ran        a 1.000 s, exit status 0; b 1.000 s, exit status 0\n"
                          "allocated  100 B -> 1.1 KiB (+1000 B, +1000.0 %) in 1 allocation\n"
                          "live       100 B -> 1.1 KiB (+1000 B, +1000.0 %) in 1 block\n"
                          "peak       100 B -> 1.1 KiB (+1000 B, +1000.0 %)\n"
                          "result     1 row changed, 1 new, 1 gone, 0 the same\n"
                          "\n"
                          "b minus a, live bytes by function: +1000 B\n"
                          "  change     %      a        b  blocks     total  function  where\n"
                          "+1.1 KiB   new    0 B  1.1 KiB      +1  +1.1 KiB  g         f.c:20\n"
                          "  -100 B  gone  100 B      0 B      -1    -100 B  f         f.c:20\n"
                          "     0 B     -    0 B      0 B       0   +1000 B  main      app.c:10\n");
    strbuf_clear(&out);
    diff_json(&d, NULL, &out);
    expect_part(
        out.data,
        "{\"status\":\"new\",\"name\":\"g\",\"module\":\"app\",\"file\":\"/src/f.c\",\"line\":20,"
        "\"a_bytes\":0,\"b_bytes\":1100,\"a_count\":0,\"b_count\":1,\"change_bytes\":1100,"
        "\"change_count\":1,\"change_percent\":null,");
    expect_part(out.data, "\"status\":\"gone\",\"name\":\"f\"");
    expect_part(out.data,
                "\"sum\":{\"a\":{\"bytes\":100,\"count\":1},\"b\":{\"bytes\":1100,\"count\":1},"
                "\"change\":{\"bytes\":1000,\"count\":0}}");
    strbuf_clear(&out);
    diff_csv(&d, NULL, &out);
    expect_part(out.data, "g,app,/src/f.c,20,new,0,1100,1100,0,1,1,0,1100,1100\n");
    strbuf_release(&out);
    diff_release(&d);
    recording_free(a);
    recording_free(b);
}

/* However much there is to say, the summary has at most twelve lines. */
static void test_summary_lines(void **state)
{
    (void)state;
    struct recording *a = fx_sample(), *b = fx_sample();
    const struct style plain = {.width = 80};
    struct query q = {
        .top = QUERY_ALL, .since = "1s", .filter.thread = "main", .filter.presets = true};
    struct strbuf out = {0};
    struct diff d;
    b->complete = false;
    *vec_push(&a->defaults) = (struct recorded_default){DEFAULT_IGNORE, xstrdup(""), xstrdup("x")};
    pattern_list_add(&q.filter.ignore, "Store", "--ignore", NULL);
    ask(&d, a, b, &q);
    diff_text(&d, &plain, &out);
    size_t lines = 0;
    for (const char *s = out.data; strncmp(s, "\n\n", 2) != 0; s++)
        lines += *s == '\n';
    assert_in_range(lines, 8, 11);
    expect_part(out.data, "ignored    a 0 B in 0 blocks, b 0 B in 0 blocks, not in the table; some "
                          "options were given to run");
    expect_part(
        out.data,
        "outside    a 3.1 KiB in 50 blocks, b 3.1 KiB in 50 blocks not matching the filters");
    expect_part(out.data, "missing    a lost 3 events and has 2 stacks cut off; b is incomplete;");
    expect_part(out.data,
                "window     from 1s to end; a 1.000 s to 4.000 s; b 1.000 s to 4.000 s\n");
    strbuf_release(&out);
    diff_release(&d);
    query_release(&q);
    recording_free(a);
    recording_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_origin),
        cmocka_unit_test(test_matching),
        cmocka_unit_test(test_clone_calls_its_origin),
        cmocka_unit_test(test_code_without_symbols),
        cmocka_unit_test(test_numbered),
        cmocka_unit_test(test_files_in_other_folders),
        cmocka_unit_test(test_sample_against_itself),
        cmocka_unit_test(test_moments_and_cut),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_summary_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
