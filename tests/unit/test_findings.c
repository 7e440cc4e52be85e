/* What is called growth at marks, and which functions only allocate for others. */
#include "test_model_fixture.h"

#include "analyse/findings.h"
#include "analyse/places.h"
#include "analyse/wrappers.h"
#include "answer/findings.h"
#include "answer/summary.h"

#define PEAK (8u << 20)
#define MIB  ((uint64_t)1 << 20)

/* One function that holds live[i] at the i-th mark of `label`, after calls[i] more calls (NULL: one
 * if there is more). */
static struct recording *marked(const char *label, const int64_t *live, const uint64_t *calls,
                                size_t count)
{
    struct recording *r = recording_new();
    r->complete = true;
    struct profile *p = fx_profile(r, 100, 1, "./app");
    fx_symbol_table(r, p);
    uint32_t thread = fx_thread(p, 100, "main");
    uint32_t site = fx_site(p, fx_node(p, fx_node(p, 0, 0x1010), 0x1020), thread, DOMAIN_HEAP);
    for (size_t i = 0; i < count; i++) {
        int64_t change = live[i] - (i ? live[i - 1] : 0);
        fx_interval(p, (i + 1) * SECOND, PEAK);
        uint64_t made = calls ? calls[i] : 1;
        if (change > 0)
            fx_row(p, site, (uint64_t)change / made, made, 0, 0);
        else if (change < 0)
            fx_row(p, site, (uint64_t)-change, 0, 1, 0);
        struct mark m = {.label = strpool_add(&r->strings, label), .intervals = i + 1};
        m.name = strpool_get(&r->strings, m.label);
        m.stamp = (struct stamp){.time_ns = (i + 1) * SECOND, .live_bytes = (uint64_t)live[i]};
        *vec_push(&p->marks) = m;
        *vec_push(&p->stamps) = m.stamp;
    }
    p->duration_ns = count * SECOND;
    p->peak_bytes = PEAK;
    p->peak_time_ns = SECOND;
    return r;
}

/* Bytes of the growth that is found; -1: none. Of work, where `by_work`. Frees the recording. */
static int64_t growth_in(struct recording *r, bool *by_work)
{
    struct query q = {.top = QUERY_ALL};
    struct findings f;
    struct err err = {{0}};
    int64_t found = -1;
    assert_int_equal(findings_init(&f, r, &q, &err), 0);
    for (size_t i = 0; i < f.list.count; i++)
        if (f.list.items[i].kind == FINDING_GROWTH) {
            found = f.list.items[i].bytes;
            *by_work = !f.list.items[i].mark;
        }
    findings_release(&f);
    recording_free(r);
    return found;
}

static int64_t growth_of(const char *label, const int64_t *live, size_t count, bool *by_work)
{
    return growth_in(marked(label, live, NULL, count), by_work);
}

#define MARKS 1000

static void test_sawtooth_is_no_growth(void **state)
{
    (void)state;
    static int64_t live[MARKS];
    bool by_work;
    for (int i = 0; i < MARKS; i++) /* three teeth of eight, as examples/threads.py has */
        live[i] = 100000 * (i % 8 + 1);
    assert_int_equal(growth_of("event", live, 24, &by_work), -1);
    /* Few of many marks are compared; a tooth of any length may look like a ramp in them. */
    for (int length = 2; length < 200; length++) {
        for (int i = 0; i < MARKS; i++)
            live[i] = 1000000 + 10000 * (i % length);
        if (growth_of("event", live, MARKS, &by_work) != -1)
            fail_msg("teeth of %d marks are called growth", length);
    }
}

static void test_growth_with_falls(void **state)
{
    (void)state;
    static int64_t live[MARKS];
    bool by_work = true;
    for (int i = 0; i < MARKS; i++) /* a ramp, and something small that comes and goes */
        live[i] = 4000 * i + (i % 7 == 0 ? 3000 : 0);
    assert_true(growth_of("event", live, MARKS, &by_work) > 3 << 20);
    assert_false(by_work);
}

/* What `ctl snapshot` and `ctl leaks` leave are no events of the program. */
static void test_own_labels(void **state)
{
    (void)state;
    static int64_t live[20];
    bool by_work = false;
    for (int i = 0; i < 20; i++)
        live[i] = 300000 * (i + 1);
    assert_true(growth_of("event", live, 20, &by_work) > 0);
    assert_false(by_work);
    growth_of("snapshot", live, 20, &by_work);
    assert_true(by_work);
    by_work = false;
    growth_of("leaks", live, 20, &by_work);
    assert_true(by_work);
}

/* A collector that had to wait for a processor finds most of the work in one interval. */
static void test_growth_by_work_in_uneven_intervals(void **state)
{
    (void)state;
    int64_t live[40];
    uint64_t calls[40];
    bool by_work = false;
    for (int i = 0; i < 40; i++) {
        calls[i] = i == 16 ? 300 : 10;
        live[i] = (i ? live[i - 1] : 0) + 10000 * (int64_t)calls[i];
    }
    int64_t found = growth_in(marked("snapshot", live, calls, 40), &by_work);
    assert_true(by_work);
    assert_true(found > 1 << 20);
    for (int i = 17; i < 40; i++) /* an input that has been read, for the most part */
        live[i] = live[i - 1] + 4000 * (int64_t)calls[i];
    assert_int_equal(growth_in(marked("snapshot", live, calls, 40), &by_work), -1);
}

/* It builds for six seconds, and computes for two: that is no growth up to the end. */
static void test_builds_and_computes(void **state)
{
    (void)state;
    int64_t live[80];
    bool by_work = false;
    for (int i = 0; i < 80; i++)
        live[i] = 100000 * (i < 60 ? i + 1 : 60);
    assert_int_equal(growth_of("snapshot", live, 80, &by_work), -1);
    for (int i = 0; i < 80; i++)
        live[i] = 100000 * (i + 1);
    assert_true(growth_of("snapshot", live, 80, &by_work) > 1 << 20);
    assert_true(by_work);
}

/* A block a second is lost for 20 seconds; then the look for it takes `scan_s`. */
static char *why_lost(uint64_t scan_s)
{
    static int64_t live[20];
    for (int i = 0; i < 20; i++)
        live[i] = 100000 * (i + 1);
    struct recording *r = marked("event", live, NULL, 20);
    struct profile *p = &r->profiles.items[0];
    p->duration_ns += scan_s * SECOND;
    *vec_push(&p->scans) =
        (struct scan){.kind = SCAN_END, .time_ns = 20 * SECOND, .intervals = 20, .row_count = 1};
    *vec_push(&p->live) = (struct live_row){
        .reach = REACH_LOST, .bytes = 2000000, .blocks = 20, .last_ns = 19 * SECOND};
    struct query q = {.top = QUERY_ALL};
    struct findings f;
    struct err err = {{0}};
    struct strbuf why = {0};
    assert_int_equal(findings_init(&f, r, &q, &err), 0);
    assert_true(f.list.count && f.list.items[0].kind == FINDING_LEAK);
    finding_why(&f, &f.list.items[0], &why);
    findings_release(&f);
    recording_free(r);
    return why.data;
}

static void test_look_is_no_work(void **state)
{
    (void)state;
    for (uint64_t scan_s = 0; scan_s < 60; scan_s += 30) {
        char *why = why_lost(scan_s);
        assert_non_null(strstr(why, "the last at 19.000 s of 20.000 s: a longer run loses more"));
        free(why);
    }
}

/* main freed 40 of 60 MiB; the allocator keeps 20 MiB on pages that also hold blocks of parse and of
 * others. The first finding, if parse's blocks keep `pinned` of these, and malloc_trim would release
 * `trim`: 0 if it is another allocator than glibc's. `title`: and what to do. */
static enum finding_kind found_kept(uint64_t pinned, uint64_t trim, char **title)
{
    struct recording *r = recording_new();
    r->complete = true;
    struct profile *p = fx_profile(r, 100, 1, "./app");
    fx_symbol_table(r, p);
    uint32_t thread = fx_thread(p, 100, "main"), top = fx_node(p, 0, 0x1010);
    uint32_t burst = fx_site(p, top, thread, DOMAIN_HEAP);
    uint32_t small = fx_site(p, fx_node(p, top, 0x1020), thread, DOMAIN_HEAP);
    fx_peaks(p, burst, 40 * MIB, 40, 40 * MIB, 40, MIB);
    fx_interval(p, SECOND, 60 * MIB);
    fx_row(p, burst, MIB, 40, 0, 0);
    fx_row(p, small, 1024, 20 * 1024, 0, 0);
    fx_interval(p, 2 * SECOND, 20 * MIB);
    fx_row(p, burst, MIB, 0, 40, 0);
    fx_interval(p, 9 * SECOND, 20 * MIB);
    p->duration_ns = 9 * SECOND;
    p->peak_bytes = 60 * MIB;
    p->peak_time_ns = SECOND;
    struct footprint *f = vec_push(&p->footprints);
    *f = (struct footprint){.time_ns = 8 * SECOND,
                            .exact = true,
                            .rss_bytes = 50 * MIB,
                            .live_bytes = 20 * MIB,
                            .trim_bytes = trim,
                            .pin_count = 1};
    f->parts[PART_LIVE] = 20 * MIB;
    f->parts[PART_HELD] = 20 * MIB;
    *vec_push(&p->pins) = (struct pin){.site = small, .pinned = pinned, .bytes = MIB};
    struct query q = {.top = QUERY_ALL};
    struct findings found;
    struct err err = {{0}};
    struct strbuf text = {0};
    assert_int_equal(findings_init(&found, r, &q, &err), 0);
    assert_true(found.list.count);
    enum finding_kind kind = found.list.items[0].kind;
    finding_title(&found, &found.list.items[0], &text);
    strbuf_puts(&text, ": ");
    finding_do(&found, &found.list.items[0], &text);
    *title = text.data;
    findings_release(&found);
    recording_free(r);
    return kind;
}

static void test_no_function_keeps_much(void **state)
{
    (void)state;
    char *title;
    assert_int_equal(found_kept(3 * MIB, MIB, &title), FINDING_FRAGMENTED);
    assert_string_equal(
        title, "parse holds small blocks that keep 3.0 MiB of free memory, of 50.0 MiB resident: "
               "allocate long-lived blocks before short-lived ones, or from a pool of their own");
    free(title);
    assert_int_equal(found_kept(MIB, MIB, &title), FINDING_RETAINED);
    assert_string_equal(
        title, "main held most of the 20.0 MiB that the allocator keeps free, of 50.0 MiB "
               "resident: call malloc_trim(0) after such a phase, or work in smaller pieces");
    free(title);
    assert_int_equal(found_kept(MIB, 0, &title), FINDING_RETAINED);
    assert_string_equal(title,
                        "main held most of the 20.0 MiB that the allocator keeps free, of 50.0 MiB "
                        "resident: work in smaller pieces; the allocator may have a setting that "
                        "returns memory earlier");
    free(title);
}

/* What xmalloc lost for one of its callers is not what xmalloc lost: the title names the caller. */
static void test_title_names_the_caller(void **state)
{
    (void)state;
    static const char *const titles[] = {"xmalloc loses 80.0 KiB in 20 blocks",
                                         "xmalloc, called by parse, loses 80.0 KiB in 20 blocks"};
    for (int callers = 1; callers <= 2; callers++) {
        struct recording *r = recording_new();
        r->complete = true;
        struct profile *p = fx_profile(r, 100, 1, "./app");
        fx_symbol_table(r, p);
        fx_symbols(r, p, 0x1060, 1, (struct sym[]){{"xmalloc", "/bin/app", NULL, 0, 0}});
        uint32_t thread = fx_thread(p, 100, "main"), top = fx_node(p, 0, 0x1010);
        static const uint64_t addresses[] = {0x1020, 0x1050};
        fx_interval(p, SECOND, PEAK);
        for (int i = 0; i < callers; i++) {
            uint32_t node = fx_node(p, fx_node(p, top, addresses[i]), 0x1060);
            fx_row(p, fx_site(p, node, thread, DOMAIN_HEAP), 4096, 20, 0, 0);
        }
        p->duration_ns = SECOND;
        p->peak_bytes = PEAK;
        *vec_push(&p->scans) =
            (struct scan){.kind = SCAN_END, .time_ns = SECOND, .intervals = 1, .row_count = 1};
        *vec_push(&p->live) =
            (struct live_row){.reach = REACH_LOST, .bytes = 20 * 4096, .blocks = 20, .last_ns = 1};
        struct query q = {.top = QUERY_ALL};
        struct findings f;
        struct err err = {{0}};
        struct strbuf title = {0};
        assert_int_equal(findings_init(&f, r, &q, &err), 0);
        assert_true(f.list.count && f.list.items[0].kind == FINDING_LEAK);
        finding_title(&f, &f.list.items[0], &title);
        assert_string_equal(title.data, titles[callers - 1]);
        strbuf_release(&title);
        findings_release(&f);
        recording_free(r);
    }
}

/* Whether something grew is not claimed where nothing could be compared. */
static void test_too_few_moments(void **state)
{
    (void)state;
    static const int64_t live[] = {300000, 600000, 900000};
    static const uint64_t peaks[] = {PEAK, 900000};
    for (int i = 0; i < 2; i++) {
        struct recording *r = marked("snapshot", live, NULL, 3);
        struct query q = {.top = QUERY_ALL};
        struct findings f;
        struct err err = {{0}};
        r->profiles.items[0].peak_bytes = peaks[i];
        assert_int_equal(findings_init(&f, r, &q, &err), 0);
        assert_int_equal(f.basis.growth_known, i == 1); /* too little to be growth */
        findings_release(&f);
        recording_free(r);
    }
}

/* xmalloc from `callers` functions, `bytes` each; the rest by main itself. */
static void expect_hint(const char *name, int callers, uint64_t bytes, uint64_t rest,
                        const char *pattern)
{
    struct recording *r = recording_new();
    r->complete = true;
    struct profile *p = fx_profile(r, 100, 1, "./app");
    fx_symbol_table(r, p);
    fx_symbols(r, p, 0x1060, 1, (struct sym[]){{name, "/bin/app", "/src/app.c", 60, 0}});
    uint32_t thread = fx_thread(p, 100, "main"), top = fx_node(p, 0, 0x1010);
    static const uint64_t addresses[] = {0x1020, 0x1050};
    fx_interval(p, SECOND, bytes);
    for (int i = 0; i < callers; i++) {
        uint32_t node = fx_node(p, fx_node(p, top, addresses[i]), 0x1060);
        fx_row(p, fx_site(p, node, thread, DOMAIN_HEAP), bytes, 1, 0, 0);
    }
    fx_row(p, fx_site(p, top, thread, DOMAIN_HEAP), rest, 1, 0, 0);
    p->duration_ns = SECOND;
    struct query q = {.top = QUERY_ALL};
    struct answer a;
    struct wrappers w;
    struct strbuf out = {0};
    fx_answer(&a, r, &q);
    assert_int_equal(wrappers_find(&w, &a), pattern != NULL);
    if (pattern) {
        wrappers_pattern(&w, &a, &out);
        assert_string_equal(out.data, pattern);
        /* It does what it promises. */
        struct query folded = {.top = QUERY_ALL};
        struct answer b;
        assert_int_equal(pattern_list_add(&folded.filter.fold, out.data, "--fold", NULL), 0);
        fx_answer(&b, r, &folded);
        fx_expect(&b, "parse(int)", (int64_t)bytes, 1, (int64_t)bytes, 1);
        assert_false(wrappers_find(&w, &b));
        answer_release(&b);
        pattern_list_release(&folded.filter.fold);
    }
    strbuf_release(&out);
    answer_release(&a);
    recording_free(r);
}

static void test_wrappers(void **state)
{
    (void)state;
    expect_hint("xmalloc", 2, 1000, 500, "^xmalloc$");
    expect_hint("Pool::allocate(unsigned long)", 2, 1000, 500, "^Pool::allocate([(<]|$)");
    expect_hint("xmalloc", 2, 1000, 5000, NULL);    /* not most of it */
    expect_hint("xmalloc", 1, 1000, 0, NULL);       /* of one caller: nothing would be learnt */
    expect_hint("read_all", 2, 1000, 0, NULL);      /* what it does is not known */
    expect_hint("app+0x60alloc", 2, 1000, 0, NULL); /* no name */
}

/* Two overloads of a wrapper, each from two callers: the hint names the function once. */
static void test_overloads_of_a_wrapper(void **state)
{
    (void)state;
    struct recording *r = recording_new();
    r->complete = true;
    struct profile *p = fx_profile(r, 100, 1, "./app");
    fx_symbol_table(r, p);
    fx_symbols(r, p, 0x1060, 1,
               (struct sym[]){{"os::malloc(unsigned long)", "/bin/app", NULL, 0, 0}});
    fx_symbols(r, p, 0x1070, 1,
               (struct sym[]){{"os::malloc(unsigned long, int)", "/bin/app", NULL, 0, 0}});
    uint32_t thread = fx_thread(p, 100, "main"), top = fx_node(p, 0, 0x1010);
    static const uint64_t leaves[] = {0x1060, 0x1070}, callers[] = {0x1020, 0x1050};
    fx_interval(p, SECOND, PEAK);
    for (int i = 0; i < 4; i++) {
        uint32_t node = fx_node(p, fx_node(p, top, callers[i % 2]), leaves[i / 2]);
        fx_row(p, fx_site(p, node, thread, DOMAIN_HEAP), 1000, 1, 0, 0);
    }
    p->duration_ns = SECOND;
    struct query q = {.top = QUERY_ALL};
    struct answer a;
    struct strbuf out = {0};
    struct style plain = {.width = 200};
    fx_answer(&a, r, &q);
    summary_wrappers(&a, &plain, &out);
    assert_string_equal(out.data, "hint: 100.0 % is charged to os::malloc, which allocates for "
                                  "others; to see for whom: --fold '^os::malloc([(<]|$)'\n");
    strbuf_release(&out);
    answer_release(&a);
    recording_free(r);
}

/* A library without lines, called by a thread: that libc has lines does not make its code the
 * user's. */
static void test_whose_code_it_is(void **state)
{
    (void)state;
    struct recording *r = recording_new();
    struct profile *p = fx_profile(r, 100, 1, "./app");
    fx_symbol_table(r, p);
    fx_symbols(
        r, p, 0x2010, 1,
        (struct sym[]){{"start_thread", "/lib/libc.so.6", "./nptl/pthread_create.c", 442, 0}});
    fx_symbols(r, p, 0x2020, 1, (struct sym[]){{"reserve", "/lib/libjvm.so", NULL, 0, 0}});
    uint32_t thread = fx_thread(p, 100, "main");
    uint32_t top = fx_node(p, 0, 0x2010), under_main = fx_node(p, fx_node(p, 0, 0x1010), 0x2010);
    fx_site(p, fx_node(p, top, 0x2020), thread, DOMAIN_HEAP);
    fx_site(p, fx_node(p, under_main, 0x2020), thread, DOMAIN_HEAP);
    fx_interval(p, SECOND, PEAK);
    fx_row(p, 0, 1000, 1, 0, 0);
    fx_row(p, 1, 1000, 1, 0, 0);
    p->duration_ns = SECOND;
    struct query q = {.top = QUERY_ALL};
    struct places places;
    struct err err = {{0}};
    assert_int_equal(places_init(&places, r, &q, &err), 0);
    static const char *const names[] = {"reserve", "main"};
    for (size_t i = 0; i < 2; i++) {
        uint32_t own = places_own(&places, places.total.tree.site_call[i]);
        const struct call_frame *frame = places_frame(&places, own);
        assert_string_equal(frame_table_string(&places.total.frames, frame->name), names[i]);
    }
    places_release(&places);
    recording_free(r);
}

/* All allocations of 10 s are freed at once: that is worth a finding if it takes 1 % of the time, at
 * 40 ns each, and not if it takes 0.3 %. */
static void test_churn_that_takes_no_time(void **state)
{
    (void)state;
    static const uint64_t counts[] = {750000, 2500000};
    for (size_t i = 0; i < 2; i++) {
        struct recording *r = recording_new();
        struct profile *p = fx_profile(r, 100, 1, "./app");
        fx_symbol_table(r, p);
        uint32_t site = fx_site(p, fx_node(p, 0, 0x1010), fx_thread(p, 100, "main"), DOMAIN_HEAP);
        fx_interval(p, 10 * SECOND, 64);
        fx_row(p, site, 64, counts[i], counts[i], counts[i]);
        p->duration_ns = 10 * SECOND;
        p->peak_bytes = 64;
        struct query q = {.top = QUERY_ALL};
        struct findings f;
        assert_int_equal(findings_init(&f, r, &q, NULL), 0);
        assert_int_equal(f.list.count, i);
        if (i)
            assert_int_equal(f.list.items[0].kind, FINDING_CHURN);
        findings_release(&f);
        recording_free(r);
    }
}

/* Two lines of a function have a block of 8 MiB, one after the other, and use three eighths of it: the
 * function never holds 16 MiB, for the heap never does. */
static void test_untouched_one_after_the_other(void **state)
{
    (void)state;
    struct recording *r = recording_new();
    struct profile *p = fx_profile(r, 100, 1, "./app");
    fx_symbol_table(r, p);
    uint32_t thread = fx_thread(p, 100, "main"), caller = fx_node(p, 0, 0x1010);
    for (uint32_t i = 0; i < 2; i++) {
        uint32_t site = fx_site(p, fx_node(p, caller, 0x1020 + i), thread, DOMAIN_HEAP);
        fx_peaks(p, site, i ? 0 : PEAK, !i, PEAK, 1, PEAK);
        fx_interval(p, (i + 1) * SECOND, PEAK);
        fx_row(p, site, PEAK, 1, 1, 0);
        *vec_push(&p->freed_readings) = (struct freed_reading){site, 1, PEAK, 1, PEAK * 5 / 8};
    }
    p->duration_ns = 2 * SECOND;
    p->peak_bytes = PEAK;
    struct query q = {.top = QUERY_ALL};
    struct findings f;
    assert_int_equal(findings_init(&f, r, &q, NULL), 0);
    assert_int_equal(f.list.count, 1);
    assert_int_equal(f.list.items[0].kind, FINDING_OVERSIZED);
    assert_int_equal(f.list.items[0].bytes, 5 * MIB);
    assert_int_equal(f.list.items[0].of_bytes, PEAK);
    findings_release(&f);
    recording_free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sawtooth_is_no_growth),
        cmocka_unit_test(test_growth_with_falls),
        cmocka_unit_test(test_growth_by_work_in_uneven_intervals),
        cmocka_unit_test(test_builds_and_computes),
        cmocka_unit_test(test_too_few_moments),
        cmocka_unit_test(test_look_is_no_work),
        cmocka_unit_test(test_title_names_the_caller),
        cmocka_unit_test(test_no_function_keeps_much),
        cmocka_unit_test(test_own_labels),
        cmocka_unit_test(test_whose_code_it_is),
        cmocka_unit_test(test_wrappers),
        cmocka_unit_test(test_overloads_of_a_wrapper),
        cmocka_unit_test(test_churn_that_takes_no_time),
        cmocka_unit_test(test_untouched_one_after_the_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
