/* Marks and stamps as rows: numbers within a label, values of several threads, merging by time. */
#include "test_model_fixture.h"

#include "model/mark_rows.h"
#include "model/mark_scopes.h"
#include "answer/mark_scopes.h"
#include "answer/marks.h"

static void add_mark(struct recording *r, const char *label, uint64_t time_ns)
{
    struct mark *m = vec_push(&r->profiles.items[0].marks);
    *m = (struct mark){.label = strpool_add(&r->strings, label), .stamp.time_ns = time_ns};
    m->name = strpool_get(&r->strings, m->label);
}

static void add_value(struct recording *r, uint32_t mark, const char *key, double value)
{
    *vec_push(&r->profiles.items[0].mark_values) =
        (struct mark_value){.mark = mark, .key = strpool_add(&r->strings, key), .value = value};
}

static struct recording *sample(void)
{
    struct recording *r = recording_new();
    strpool_add(&r->strings, "");
    struct profile *p = fx_profile(r, 7, 1, "./app");
    for (uint64_t time = 0; time < 40; time += 15)
        *vec_push(&p->stamps) = (struct stamp){.time_ns = time, .vm_bytes = 4096};
    add_mark(r, "a", 10);
    add_mark(r, "b,\"", 15);
    add_mark(r, "a", 20);
    add_mark(r, "", 30);
    add_value(r, 2, "second", 2.5);
    add_value(r, 0, "first", 1);
    add_value(r, 2, "third", 0.1);
    add_value(r, 9, "of a mark that is not there", 0);
    return r;
}

static char *csv_of(const struct recording *r, const char *label, bool stamps)
{
    struct mark_rows m;
    struct strbuf out = {0};
    assert_int_equal(mark_rows_init(&m, r, &r->profiles.items[0], label, stamps, NULL), 0);
    struct rows rows = marks_document(&m).rows;
    rows_csv(&rows, NULL, &out);
    mark_rows_release(&m);
    return strbuf_detach(&out);
}

#define TITLES                                                                                     \
    "label,index,time_ns,vm_bytes,rss_bytes,anon_bytes,faults,live_bytes,live_blocks,"             \
    "allocations,allocator_held_bytes,allocator_free_bytes,allocator,values\n"

static void expect(const char *label, bool stamps, const char *rows)
{
    struct recording *r = sample();
    char *text = csv_of(r, label, stamps);
    assert_memory_equal(text, TITLES, strlen(TITLES));
    assert_string_equal(text + strlen(TITLES), rows);
    free(text);
    recording_free(r);
}

static void test_marks(void **state)
{
    (void)state;
    expect(NULL, false,
           "a,1,10,0,0,0,0,0,0,0,,,,first=1\n"
           "\"b,\"\"\",1,15,0,0,0,0,0,0,0,,,,\n"
           "a,2,20,0,0,0,0,0,0,0,,,,second=2.5;third=0.10000000000000001\n"
           ",1,30,0,0,0,0,0,0,0,,,,\n");
    expect("a", false,
           "a,1,10,0,0,0,0,0,0,0,,,,first=1\n"
           "a,2,20,0,0,0,0,0,0,0,,,,second=2.5;third=0.10000000000000001\n");
}

/* A mark is before a stamp of the same time. */
static void test_stamps(void **state)
{
    (void)state;
    expect("b,\"", true,
           ",0,0,4096,0,0,0,0,0,0,,,,\n"
           "\"b,\"\"\",1,15,0,0,0,0,0,0,0,,,,\n"
           ",0,15,4096,0,0,0,0,0,0,,,,\n"
           ",0,30,4096,0,0,0,0,0,0,,,,\n");
}

static void test_no_such_label(void **state)
{
    (void)state;
    struct recording *r = sample();
    struct mark_rows m;
    struct err err;
    assert_int_equal(mark_rows_init(&m, r, &r->profiles.items[0], "c", false, &err), -ENOENT);
    assert_string_equal(err.text, "no mark is called 'c'; there are a#1 to #2, b,\"#1, #1");
    recording_free(r);
}

/* A mark of a thread, after so many intervals, with so much live. */
static void add_moment(struct recording *r, const char *label, uint32_t thread, uint64_t live)
{
    struct profile *p = &r->profiles.items[0];
    add_mark(r, label, 10 * (p->marks.count + 1));
    struct mark *m = vec_last(&p->marks);
    m->thread = thread;
    m->stamp.live_bytes = m->stamp.rss_bytes = live;
    m->stamp.live_blocks = live / 10;
    m->stamp.allocations = p->marks.count;
    m->intervals = p->intervals.count;
}

static void add_peak(struct recording *r, uint64_t bytes)
{
    *vec_push(&r->profiles.items[0].intervals) = (struct interval){.peak_bytes = bytes};
}

#define LONG "sixty-one bytes are more than can be followed by the word end"

static struct recording *scoped(void)
{
    struct recording *r = recording_new();
    strpool_add(&r->strings, "");
    fx_profile(r, 7, 1, "./app");
    add_peak(r, 900);
    add_moment(r, "early.end", 0, 0); /* has no begin */
    add_moment(r, "outer", 0, 100);
    add_peak(r, 500);
    add_moment(r, "inner", 0, 200);
    add_moment(r, "inner", 1, 210); /* of another thread */
    add_peak(r, 400);
    add_moment(r, "inner.end", 0, 250); /* +50 */
    add_peak(r, 450);
    add_moment(r, "inner.end", 1, 190); /* -20 */
    add_moment(r, "outer", 0, 190);     /* within itself */
    add_moment(r, "outer.end", 0, 195); /* +5, of those that follow */
    add_moment(r, "outer.end", 0, 130); /* +30 in all */
    add_moment(r, "open", 0, 130);
    add_moment(r, "no scope", 0, 130);
    add_moment(r, "early", 0, 130);
    add_moment(r, LONG, 0, 0);
    add_moment(r, "sixty-one bytes are more than can be followed by the word e.end", 0, 3);
    return r;
}

static void test_scopes(void **state)
{
    (void)state;
    struct recording *r = scoped();
    const struct profile *p = &r->profiles.items[0];
    struct mark_scopes s;
    struct strbuf out = {0};
    struct err err;
    assert_int_equal(sizeof LONG - 1, 61);
    assert_true(mark_scopes_exist(p));
    assert_int_equal(mark_scopes_init(&s, r, p, NULL, NULL), 0);
    struct rows rows = mark_scopes_document(&s).rows;
    rows_csv(&rows, NULL, &out);
    assert_string_equal(out.data, "name,entered,open,time_ns,live_bytes,live_blocks,most_bytes,"
                                  "peak_bytes,rss_bytes,allocations\n"
                                  "inner,2,0,40,30,3,50,240,30,4\n"
                                  "outer,2,0,70,30,3,30,400,30,7\n" LONG ",1,0,10,3,0,3,0,3,1\n"
                                  "early,1,1,0,0,0,0,0,0,0\n");
    mark_scopes_release(&s);
    strbuf_clear(&out);
    assert_int_equal(mark_scopes_init(&s, r, p, "inner", NULL), 0);
    rows = mark_scopes_document(&s).rows;
    rows_csv(&rows, NULL, &out);
    assert_non_null(strstr(out.data, "\ninner,2,"));
    assert_null(strstr(out.data, "outer"));
    mark_scopes_release(&s);
    assert_int_equal(mark_scopes_init(&s, r, p, "open", &err), -ENOENT);
    assert_non_null(strstr(err.text, "no scope is called 'open'"));
    strbuf_release(&out);
    recording_free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_marks),
        cmocka_unit_test(test_stamps),
        cmocka_unit_test(test_no_such_label),
        cmocka_unit_test(test_scopes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
