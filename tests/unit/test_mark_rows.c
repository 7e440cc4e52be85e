/* Marks and stamps as rows: numbers within a label, values of several threads, merging by time. */
#include "test_model_fixture.h"

#include "model/mark_rows.h"
#include "report/marks.h"

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
    marks_csv(&m, NULL, &out);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_marks),
        cmocka_unit_test(test_stamps),
        cmocka_unit_test(test_no_such_label),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
