/*
 * Growth of a long run without marks, whose intervals are as long as the time between stamps: a
 * program that allocates while it starts, and then waits.
 */
#include "test_model_fixture.h"

#include "analyse/growth.h"
#include "answer/growth.h"

#define MIB UINT64_C(1048576)

/* 60 stamps, one every 8 s, each a little before the end of an interval of 8 s. */
static struct recording *waits_after_its_start(enum domain domain)
{
    struct recording *r = recording_new();
    struct profile *p = fx_profile(r, 100, 1, "./app");
    uint32_t thread = fx_thread(p, 100, "main");
    uint32_t site = fx_site(p, fx_node(p, 0, 0x1010), thread, domain);
    fx_symbol_table(r, p);
    for (uint64_t i = 1; i <= 60; i++) {
        fx_interval(p, i * 8 * SECOND, 6 * MIB);
        if (i == 1)
            fx_row(p, site, MIB, 6, 0, 0);
        *vec_push(&p->stamps) = (struct stamp){.time_ns = i * 8 * SECOND - SECOND / 5,
                                               .vm_bytes = 200 * MIB,
                                               .rss_bytes = 26 * MIB,
                                               .anon_bytes = 14 * MIB,
                                               .live_bytes = 9 * MIB,
                                               .live_blocks = 4000,
                                               .allocations = 20000};
    }
    p->duration_ns = 60 * 8 * SECOND;
    return r;
}

/* What was done within the first interval is no growth: at the first stamp it was there already. */
static void expect_nothing_grows(struct recording *r)
{
    struct growth g;
    struct growth_question question = {0};
    struct err err = {0};
    struct strbuf words = {0};
    assert_int_equal(growth_init(&g, r, &question, &err), 0);
    assert_string_equal(growth_verdict_name(g.verdict), "stable");
    growth_answer(&g, &words);
    assert_non_null(strstr(words.data, "Nothing grows"));
    strbuf_release(&words);
    growth_release(&g);
    recording_free(r);
}

static void test_arenas(void **state)
{
    (void)state;
    expect_nothing_grows(waits_after_its_start(DOMAIN_ARENA));
}

/* What arenas had before the first stamp says nothing about growth since then. */
static void test_arenas_that_were_read_before(void **state)
{
    (void)state;
    struct recording *r = waits_after_its_start(DOMAIN_HEAP);
    struct profile *p = &r->profiles.items[0];
    *vec_push(&p->arenas) = (struct arena_reading){.time_ns = SECOND, .bytes = MIB};
    *vec_push(&p->arenas) = (struct arena_reading){.time_ns = 479 * SECOND, .bytes = 3 * MIB};
    expect_nothing_grows(r);
}

static void test_mapped(void **state)
{
    (void)state;
    expect_nothing_grows(waits_after_its_start(DOMAIN_MAPPED));
}

/* A large block lives for a moment of each interval, and the first stamps are taken then: what is live
 * at a stamp is compared with what blocks take at that stamp, not at the end of its interval. */
static void test_rounding(void **state)
{
    (void)state;
    struct recording *r = recording_new();
    struct profile *p = fx_profile(r, 100, 1, "./app");
    uint32_t thread = fx_thread(p, 100, "main");
    uint32_t site = fx_site(p, fx_node(p, 0, 0x1010), thread, DOMAIN_HEAP);
    fx_symbol_table(r, p);
    for (uint64_t i = 1; i <= 60; i++) {
        fx_interval(p, i * 8 * SECOND, 24 * MIB);
        fx_row(p, site, 20 * MIB, i == 1 ? 2 : 1, 1, 0);
        *vec_push(&p->stamps) = (struct stamp){.time_ns = i * 8 * SECOND - SECOND / 5,
                                               .vm_bytes = 200 * MIB,
                                               .rss_bytes = 40 * MIB,
                                               .anon_bytes = 30 * MIB,
                                               .live_bytes = i <= 10 ? 40 * MIB : 20 * MIB,
                                               .live_blocks = i <= 10 ? 2 : 1,
                                               .allocations = i + 1};
    }
    p->duration_ns = 60 * 8 * SECOND;
    struct growth g;
    struct growth_question question = {0};
    struct err err = {0};
    assert_int_equal(growth_init(&g, r, &question, &err), 0);
    struct growth_rates rates = growth_rates_between(&g, 0, g.count - 1, false);
    double span = growth_span(&g, 0, g.count - 1);
    assert_int_equal((int64_t)(rates.parts[GAIN_REACHABLE] * span), -20 * (int64_t)MIB);
    assert_true(rates.parts[GAIN_ROUNDING] * span >= -64 && rates.parts[GAIN_ROUNDING] * span <= 0);
    growth_release(&g);
    recording_free(r);
}

/* --- a small leak at every mark, beside memory that the allocator keeps ------------------------- */

#define EVENTS 100
#define LOST   512
#define KIB    UINT64_C(1024)

/* Bytes for mark i, from 1: they go up and down and differ at every mark. */
static uint64_t noise(uint64_t i)
{
    return i * 7919 * 104729 % (200 * KIB);
}

/* Resident memory beyond live blocks: most of it comes with the first marks. */
static uint64_t kept(uint64_t i, uint64_t each)
{
    return 300 * KIB * i / (i + 10) + each * i;
}

static void add_footprint(struct profile *p, uint64_t i, uint64_t free_bytes, uint64_t rss_bytes)
{
    struct footprint f = {.kind = i == EVENTS ? FOOTPRINT_EXIT : FOOTPRINT_MARK,
                          .time_ns = i * SECOND + 1,
                          .rss_bytes = rss_bytes,
                          .live_bytes = MIB + noise(i) + i * LOST};
    f.parts[PART_LIVE] = f.live_bytes;
    f.parts[PART_FREE] = free_bytes;
    f.parts[PART_TEXT] = rss_bytes - f.live_bytes - free_bytes;
    *vec_push(&p->footprints) = f;
}

/* 512 bytes are lost before each mark. Besides, resident memory gains "each" bytes at each mark,
 * which nothing explains; and it is higher by "jump" at every tenth mark. The first footprint is from
 * after mark 31. */
static struct recording *loses_a_little(uint64_t each, uint64_t jump)
{
    struct recording *r = recording_new();
    struct profile *p = fx_profile(r, 100, 1, "./app");
    uint32_t thread = fx_thread(p, 100, "main"), label = strpool_add(&r->strings, "event");
    uint32_t lost = fx_site(p, fx_node(p, 0, 0x1010), thread, DOMAIN_HEAP);
    uint32_t held = fx_site(p, fx_node(p, 0, 0x1020), thread, DOMAIN_HEAP);
    fx_symbol_table(r, p);
    *vec_push(&p->scans) = (struct scan){.kind = SCAN_END, .time_ns = EVENTS * SECOND + 2};
    for (uint64_t i = 1; i <= EVENTS; i++) {
        fx_interval(p, i * SECOND, 2 * MIB);
        fx_row(p, lost, LOST, 1, 0, 0);
        fx_row(p, held, MIB + noise(i), 1, 0, 0);
        if (i > 1) { /* the one before is freed */
            struct row *row = vec_last(&p->rows);
            row->columns[COL_FREES] = 1;
            row->columns[COL_FREED] = MIB + noise(i - 1);
            row->columns[COL_USABLE_FREED] = MIB + noise(i - 1) + 8;
        }
        *vec_push(&p->live) = (struct live_row){.site = lost,
                                                .interval = (uint32_t)i - 1,
                                                .reach = REACH_LOST,
                                                .blocks = 1,
                                                .bytes = LOST,
                                                .usable = LOST + 8,
                                                .first_ns = i * SECOND - 1,
                                                .last_ns = i * SECOND - 1};
        uint64_t anonymous = MIB + 200 * KIB + i * LOST + kept(i, each) + (i % 10 ? 0 : jump);
        *vec_push(&p->marks) = (struct mark){.label = label,
                                             .name = strpool_get(&r->strings, label),
                                             .intervals = i,
                                             .stamp = {.time_ns = i * SECOND,
                                                       .vm_bytes = 200 * MIB,
                                                       .rss_bytes = 2 * MIB + anonymous,
                                                       .anon_bytes = anonymous,
                                                       .live_bytes = MIB + noise(i) + i * LOST,
                                                       .live_blocks = i + 1,
                                                       .allocations = 2 * i}};
        if (i == 31)
            add_footprint(p, i, 400 * KIB, 2 * MIB + anonymous);
        if (i == EVENTS)
            add_footprint(p, i, 300 * KIB, 2 * MIB + anonymous);
    }
    vec_last(&p->scans)->row_count = p->live.count;
    p->duration_ns = EVENTS * SECOND + 3;
    return r;
}

static void expect_verdict(struct recording *r, const char *verdict, const char *first,
                           const char *second)
{
    struct growth g;
    struct growth_question question = {0};
    struct err err = {0};
    struct strbuf words = {0};
    assert_int_equal(growth_init(&g, r, &question, &err), 0);
    growth_answer(&g, &words);
    assert_string_equal(growth_verdict_name(g.verdict), verdict);
    if (!strstr(words.data, first) || !strstr(words.data, second))
        fail_msg("%s", words.data);
    strbuf_release(&words);
    growth_release(&g);
    recording_free(r);
}

/* The allocator kept more in the first footprint than in the last. What RSS gained before the first
 * one is the allocator's too, up to what the allocator has. */
static void test_kept_before_the_first_footprint(void **state)
{
    (void)state;
    expect_verdict(loses_a_little(2 * KIB, 0), "leak", "It leaks 512 B per event: main",
                   "3.0 KiB free in the allocator + 1.5 KiB not explained");
}

/* What is lost at every mark is a fact. Some hundred KiB of RSS that nothing explains do not hide
 * it, but some MiB do. */
static void test_lost_beside_what_is_not_explained(void **state)
{
    (void)state;
    expect_verdict(loses_a_little(6 * KIB, 0), "leak", "It leaks 512 B per event: main",
                   "512 B lost");
    expect_verdict(loses_a_little(60 * KIB, 0), "growth", "most of it not explained. RSS +",
                   "KiB free in the allocator + 55.");
}

/* Besides, `rise` bytes more are kept at each mark. Pages come and go whose kind differs from mark to
 * mark, up to `moved` bytes: RSS shows a line, and its anonymous part does not. */
static struct recording *loses_and_keeps(uint64_t each, uint64_t rise, uint64_t moved)
{
    struct recording *r = loses_a_little(each, 0);
    struct profile *p = &r->profiles.items[0];
    for (uint64_t i = 1; i <= EVENTS; i++) {
        struct row *held = &p->rows.items[2 * i - 1];
        struct stamp *stamp = &p->marks.items[i - 1].stamp;
        held->columns[COL_BYTES] += rise * i;
        held->columns[COL_USABLE] += rise * i;
        held->columns[COL_FREED] += rise * (i - 1);
        held->columns[COL_USABLE_FREED] += rise * (i - 1);
        stamp->live_bytes += rise * i;
        stamp->rss_bytes += rise * i;
        stamp->anon_bytes += rise * i + moved / (200 * KIB) * noise(7 * i);
    }
    return r;
}

/* What the allocator may have gained is not known to grow, so it does not hide what is lost. */
static void test_lost_beside_what_may_have_grown(void **state)
{
    (void)state;
    expect_verdict(loses_and_keeps(4 * KIB, 4500, 4 * MIB), "leak",
                   "It leaks 512 B per event: main", "512 B lost");
}

/* The answer says that RSS stays flat only if what it is about explains nearly all that RSS gained
 * according to --why. */
static void test_answer_and_account_agree_on_rss(void **state)
{
    (void)state;
    for (uint64_t each = 0; each <= 8 * KIB; each += KIB) {
        struct recording *r = loses_a_little(each, 0);
        struct growth g;
        assert_int_equal(growth_init(&g, r, &(struct growth_question){0}, &(struct err){0}), 0);
        struct strbuf words = {0};
        growth_answer(&g, &words);
        if (g.rates.rss < 2 * LOST || strstr(words.data, "stays flat") ||
            (!each && !strstr(words.data, " RSS gained another ")))
            fail_msg("%s (RSS %+.0f)", words.data, g.rates.rss);
        strbuf_release(&words);
        growth_release(&g);
        recording_free(r);
    }
}

/* RSS rises and falls, and is much higher at the last mark than at the first: that is not flat. */
static void test_rss_that_rises_and_falls(void **state)
{
    (void)state;
    expect_verdict(loses_a_little(0, 20 * MIB), "leak", "It leaks 512 B per event: main",
                   " RSS went from 3.2 MiB to 23.5 MiB");
}

/* Without marks: 32 bytes are lost now and then, while RSS gains 20 MiB in steps. Where RSS is flat,
 * they are all that grows. */
static struct recording *loses_now_and_then(uint64_t step, uint64_t apart_ns)
{
    struct recording *r = recording_new();
    struct profile *p = fx_profile(r, 100, 1, "./app");
    uint32_t thread = fx_thread(p, 100, "main");
    uint32_t lost = fx_site(p, fx_node(p, 0, 0x1010), thread, DOMAIN_HEAP);
    fx_symbol_table(r, p);
    *vec_push(&p->scans) = (struct scan){.kind = SCAN_END, .time_ns = 61 * apart_ns};
    for (uint64_t i = 1; i <= 60; i++) {
        uint64_t rss = 30 * MIB + i / 12 * step;
        fx_interval(p, i * apart_ns, MIB);
        fx_row(p, lost, 32, 1, 0, 0);
        *vec_push(&p->live) = (struct live_row){.site = lost,
                                                .interval = (uint32_t)i - 1,
                                                .reach = REACH_LOST,
                                                .blocks = 1,
                                                .bytes = 32,
                                                .first_ns = i * apart_ns - 1,
                                                .last_ns = i * apart_ns - 1};
        *vec_push(&p->stamps) = (struct stamp){.time_ns = i * apart_ns,
                                               .vm_bytes = 200 * MIB,
                                               .rss_bytes = rss,
                                               .anon_bytes = rss - 10 * MIB,
                                               .live_bytes = MIB + 32 * i,
                                               .live_blocks = 100 + i,
                                               .allocations = 100 + i};
    }
    vec_last(&p->scans)->row_count = p->live.count;
    p->duration_ns = 61 * apart_ns;
    return r;
}

static void test_lost_without_marks(void **state)
{
    (void)state;
    expect_verdict(loses_now_and_then(0, SECOND), "leak", "It leaks 32 B per second: main",
                   ". RSS otherwise stays flat.");
    expect_verdict(loses_now_and_then(0, SECOND / 1000), "leak",
                   "It leaked 1.8 KiB in 57.0 ms: main", "");
    expect_verdict(loses_now_and_then(4 * MIB, SECOND), "warm-up", "RSS rose by 20.0 MiB", "");
}

/* Files are read into memory while the heap does hardly anything: no function of the heap is the
 * cause. */
static void test_files_that_are_read(void **state)
{
    (void)state;
    struct recording *r = recording_new();
    struct profile *p = fx_profile(r, 100, 1, "./app");
    uint32_t thread = fx_thread(p, 100, "main"), label = strpool_add(&r->strings, "event");
    uint32_t site = fx_site(p, fx_node(p, 0, 0x1010), thread, DOMAIN_HEAP);
    fx_symbol_table(r, p);
    for (uint64_t i = 1; i <= 40; i++) {
        uint64_t file = i < 20 ? i * MIB : 20 * MIB, live = (i < 20 ? i : 20) * 1000;
        fx_interval(p, i * SECOND, 2 * MIB);
        if (i <= 20)
            fx_row(p, site, 1000, 1, 0, 0);
        *vec_push(&p->marks) = (struct mark){.label = label,
                                             .name = strpool_get(&r->strings, label),
                                             .intervals = i,
                                             .stamp = {.time_ns = i * SECOND,
                                                       .vm_bytes = 200 * MIB,
                                                       .rss_bytes = 2 * MIB + live + file,
                                                       .anon_bytes = MIB + live,
                                                       .live_bytes = live,
                                                       .live_blocks = i,
                                                       .allocations = i}};
    }
    p->duration_ns = 40 * SECOND;
    expect_verdict(r, "warm-up", "RSS rose by 19.0 MiB up to event 20, and not since.", "");
}

/* A verdict is about one process: workers beside it may grow. */
static void test_other_processes(void **state)
{
    (void)state;
    struct recording *r = waits_after_its_start(DOMAIN_HEAP);
    r->profiles.items[0].peak_bytes = 9 * MIB;
    fx_profile(r, 101, 100, "worker")->peak_bytes = 2 * MIB;
    fx_profile(r, 102, 100, "uname")->peak_bytes = 1000;
    struct growth g;
    struct growth_question question = {0};
    struct err err = {0};
    struct strbuf text = {0};
    assert_int_equal(growth_init(&g, r, &question, &err), 0);
    growth_text(&g, "app.tide", 10, false, &(struct style){.width = 100}, &text);
    if (!strstr(text.data, "others     1 other process with a peak of 1 MiB or more is not judged "
                           "here; see tidemark findings\n"))
        fail_msg("%s", text.data);
    strbuf_release(&text);
    growth_release(&g);
    recording_free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arenas),
        cmocka_unit_test(test_arenas_that_were_read_before),
        cmocka_unit_test(test_mapped),
        cmocka_unit_test(test_rounding),
        cmocka_unit_test(test_kept_before_the_first_footprint),
        cmocka_unit_test(test_files_that_are_read),
        cmocka_unit_test(test_lost_without_marks),
        cmocka_unit_test(test_other_processes),
        cmocka_unit_test(test_lost_beside_what_is_not_explained),
        cmocka_unit_test(test_lost_beside_what_may_have_grown),
        cmocka_unit_test(test_answer_and_account_agree_on_rss),
        cmocka_unit_test(test_rss_that_rises_and_falls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
