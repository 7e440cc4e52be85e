/* The sentences of growth agree with each other, and with the account of RSS below them. */
#include "test_model_fixture.h"

#include "analyse/growth.h"
#include "answer/findings.h"
#include "answer/growth.h"

#define MIB    UINT64_C(1048576)
#define KIB    UINT64_C(1024)
#define STAMPS 60

/* A process whose sizes a test sets at each of 60 stamps, one every second. */
struct made {
    struct recording *recording;
    struct profile *profile;
    uint32_t sites[2]; /* heap blocks of main and of parse */
};

static struct made make(void)
{
    struct made m = {.recording = recording_new()};
    m.profile = fx_profile(m.recording, 100, 1, "./app");
    uint32_t thread = fx_thread(m.profile, 100, "main");
    m.sites[0] = fx_site(m.profile, fx_node(m.profile, 0, 0x1010), thread, DOMAIN_HEAP);
    m.sites[1] = fx_site(m.profile, fx_node(m.profile, 0, 0x1020), thread, DOMAIN_HEAP);
    fx_symbol_table(m.recording, m.profile);
    m.profile->duration_ns = (STAMPS + 1) * SECOND;
    return m;
}

static void add_stamp(struct made *m, uint64_t i, uint64_t live, uint64_t anonymous,
                      uint64_t shared)
{
    *vec_push(&m->profile->stamps) = (struct stamp){.time_ns = i * SECOND,
                                                    .vm_bytes = 400 * MIB,
                                                    .rss_bytes = anonymous + shared,
                                                    .anon_bytes = anonymous,
                                                    .live_bytes = live,
                                                    .live_blocks = 100 + i,
                                                    .allocations = 100 + i};
}

struct told {
    struct growth growth;
    struct strbuf answer;
    struct sentences why;
};

static struct told tell(struct made *m)
{
    struct told t = {0};
    struct err err = {0};
    static const struct growth_question question;
    assert_int_equal(growth_init(&t.growth, m->recording, &question, &err), 0);
    growth_answer(&t.growth, &t.answer);
    growth_evidence(&t.growth, &t.why);
    return t;
}

static void told_release(struct told *t, struct made *m)
{
    growth_release(&t->growth);
    strbuf_release(&t->answer);
    sentences_release(&t->why);
    recording_free(m->recording);
}

static void expect_verdict(const struct told *t, const char *verdict)
{
    if (strcmp(growth_verdict_name(t->growth.verdict), verdict) != 0)
        fail_msg("%s: %s", growth_verdict_name(t->growth.verdict), t->answer.data);
}

static void expect_words(const struct told *t, const char *words)
{
    if (!strstr(t->answer.data, words))
        fail_msg("no '%s' in: %s", words, t->answer.data);
}

/* Two functions gain 512 KiB a second each. The live heap is 8 MiB higher at the first stamp, and
 * lower at the last, because of blocks that come and go: the line through all stamps is steeper than
 * the difference between these two. The account is of the same line. */
static void test_live_heap_with_noise(void **state)
{
    (void)state;
    struct made m = make();
    for (uint64_t i = 1; i <= STAMPS; i++) {
        uint64_t noise = (i == 1 ? 8 : i == STAMPS ? 0 : 1 + i * 7919 % 7) * MIB;
        fx_interval(m.profile, i * SECOND, 100 * MIB);
        for (int k = 0; k < 2; k++)
            fx_row(m.profile, m.sites[k], 512 * KIB, 1, 0, 0);
        add_stamp(&m, i, i * MIB + noise, (10 + i) * MIB + noise, 20 * MIB + i * 512 * KIB);
    }
    m.profile->peak_bytes = 68 * MIB;
    struct told t = tell(&m);
    const struct growth *g = &t.growth;
    expect_verdict(&t, "growth");
    assert_true(g->trends[GROWTH_LIVE].fitted);
    /* The difference alone is (60 + 0 - 1 - 8) MiB in 59 s, 0.86 MiB per second. */
    assert_true(g->cause.rate > 0.9 * (double)MIB);
    double live = g->rates.parts[GAIN_REACHABLE] + g->rates.parts[GAIN_LOST];
    assert_true(live > g->cause.rate - 1 && live < g->cause.rate + 1);
    double sum = 0;
    for (int i = 0; i < GROWTH_PARTS; i++)
        sum += g->rates.parts[i];
    assert_true(sum > g->rates.rss - 1 && sum < g->rates.rss + 1);
    told_release(&t, &m);
}

/* A footprint: its live blocks are what the stamps say, and the rest of RSS is as given. */
static struct footprint *add_footprint(struct made *m, uint64_t time_ns, uint64_t rss_bytes,
                                       uint64_t live_bytes)
{
    struct footprint *f = vec_push(&m->profile->footprints);
    *f = (struct footprint){.kind = FOOTPRINT_PERIODIC,
                            .time_ns = time_ns,
                            .exact = true,
                            .rss_bytes = rss_bytes,
                            .live_bytes = live_bytes};
    f->parts[PART_LIVE] = live_bytes;
    return f;
}

/* Blocks are lost every ten seconds, in steps, and RSS is higher by 20 MiB from the twelfth stamp
 * on. */
static struct told loses_in_steps(struct made *m, uint64_t largest, uint64_t others)
{
    uint64_t lost = 0;
    *vec_push(&m->profile->scans) =
        (struct scan){.kind = SCAN_END, .time_ns = (STAMPS + 1) * SECOND - 1};
    for (uint64_t i = 1; i <= STAMPS; i++) {
        uint64_t bytes = i == 35 ? largest : others;
        fx_interval(m->profile, i * SECOND, 20 * MIB);
        if (i % 10 == 5) {
            fx_row(m->profile, m->sites[0], bytes, 1, 0, 0);
            *vec_push(&m->profile->live) = (struct live_row){.site = m->sites[0],
                                                             .interval = (uint32_t)i - 1,
                                                             .reach = REACH_LOST,
                                                             .blocks = 1,
                                                             .bytes = bytes,
                                                             .first_ns = i * SECOND - 1,
                                                             .last_ns = i * SECOND - 1};
            lost += bytes;
        }
        add_stamp(m, i, MIB + lost, (10 + i / 12 + (i >= 12 ? 20 : 0)) * MIB + lost, 5 * MIB);
    }
    vec_last(&m->profile->scans)->row_count = m->profile->live.count;
    return tell(m);
}

/* The rate of what is lost is the same in both sentences, however small it is. */
static void test_leak_in_steps(void **state)
{
    (void)state;
    struct made m = make();
    struct told t = loses_in_steps(&m, 100 * KIB, 100 * KIB);
    expect_verdict(&t, "leak");
    expect_words(&t, "It leaks 10.2 KiB per second: main"); /* 600 KiB in 59 s */
    expect_words(&t, "= 10.2 KiB lost");
    told_release(&t, &m);
}

/* A rate would promise that it goes on. */
static void test_leak_mostly_at_once(void **state)
{
    (void)state;
    struct made m = make();
    struct told t = loses_in_steps(&m, 595 * KIB, KIB);
    expect_verdict(&t, "leak");
    expect_words(&t, "It leaked 600.0 KiB in 59.000 s: main");
    expect_words(&t, "= 10.2 KiB lost");
    told_release(&t, &m);
}

/* The program mapped its memory at the start and touches a MiB of it every second. */
static void test_touched_mapping(void **state)
{
    (void)state;
    struct made m = make();
    for (uint64_t i = 1; i <= STAMPS; i++) {
        fx_interval(m.profile, i * SECOND, MIB);
        add_stamp(&m, i, MIB, (5 + i) * MIB + i * 64 * KIB, 5 * MIB);
        if (i % 20 != 1 && i != STAMPS)
            continue;
        struct footprint *f = add_footprint(&m, i * SECOND, (10 + i) * MIB + i * 64 * KIB, MIB);
        f->parts[PART_MAPPED] = i * MIB;
        f->parts[PART_STACKS] = i * 64 * KIB;
        f->parts[PART_TEXT] = 5 * MIB;
        f->parts[PART_DATA] = 4 * MIB;
    }
    struct told t = tell(&m);
    expect_verdict(&t, "mapped");
    expect_words(&t, "It touches 1.0 MiB per second more of the memory that it has mapped.");
    /* The account counts 8 bytes of each block, one per second, as the allocator's. */
    assert_int_equal((int64_t)(t.growth.cause.rate + 0.5), MIB - 8);
    told_release(&t, &m);
}

/* Code of libraries that are loaded one after the other takes a MiB per second more, or a file that
 * the program reads does. */
static struct told pages_of_files(struct made *m, enum footprint_part part)
{
    for (uint64_t i = 1; i <= STAMPS; i++) {
        fx_interval(m->profile, i * SECOND, MIB);
        add_stamp(m, i, MIB, 5 * MIB, (5 + i) * MIB);
        if (i % 20 != 1 && i != STAMPS)
            continue;
        struct footprint *f = add_footprint(m, i * SECOND, (10 + i) * MIB, MIB);
        f->parts[PART_TEXT] = 5 * MIB;
        f->parts[PART_DATA] = 4 * MIB;
        f->parts[part] += i * MIB;
    }
    return tell(m);
}

static void test_code_is_not_shared_memory(void **state)
{
    (void)state;
    struct made m = make();
    struct told t = pages_of_files(&m, PART_TEXT);
    expect_verdict(&t, "warm-up");
    expect_words(&t, "RSS rose by 59.0 MiB");
    told_release(&t, &m);
    m = make();
    t = pages_of_files(&m, PART_FILES);
    expect_verdict(&t, "shared");
    expect_words(&t, "Pages of files take 1.0 MiB per second more.");
    told_release(&t, &m);
}

/* Nothing grows, and the allocator keeps 20 MiB of whole free pages and 8 MiB between live blocks. */
static struct told keeps(struct made *m, uint64_t pinned)
{
    for (uint64_t i = 1; i <= STAMPS; i++) {
        fx_interval(m->profile, i * SECOND, i == 1 ? 40 * MIB : 8 * MIB);
        add_stamp(m, i, 8 * MIB, 40 * MIB, 5 * MIB);
    }
    m->profile->peak_bytes = 40 * MIB;
    struct footprint *f = add_footprint(m, STAMPS * SECOND, 45 * MIB, 8 * MIB);
    f->parts[PART_FREE] = 20 * MIB;
    f->parts[PART_HELD] = 8 * MIB;
    f->parts[PART_TEXT] = 5 * MIB;
    f->parts[PART_DATA] = 4 * MIB;
    f->pin_count = 1;
    *vec_push(&m->profile->pins) =
        (struct pin){.site = m->sites[0], .pinned = pinned, .bytes = 64 * KIB};
    m->profile->sites.items[m->sites[1]].at_peak_bytes = 32 * MIB;
    fx_row(m->profile, m->sites[0], 64 * KIB, 1, 0, 0);
    fx_row(m->profile, m->sites[1], 32 * MIB, 1, 1, 0);
    return tell(m);
}

static const struct finding *kept_finding(struct findings *f, struct made *m)
{
    struct query query;
    query_init(&query);
    assert_int_equal(findings_init(f, m->recording, &query, NULL), 0);
    query_release(&query);
    for (size_t i = 0; i < f->list.count; i++)
        if (f->list.items[i].kind == FINDING_RETAINED ||
            f->list.items[i].kind == FINDING_FRAGMENTED)
            return &f->list.items[i];
    fail_msg("none of %zu findings", f->list.count);
    return NULL;
}

/* growth and findings call it the same; the bytes of a finding are those of its title. */
static void test_fragmentation_or_retention(void **state)
{
    (void)state;
    static const struct {
        uint64_t pinned, bytes;
        const char *verdict, *title;
    } cases[] = {{400 * KIB, 28 * MIB, "retention", "that the allocator keeps"},
                 {6 * MIB, 6 * MIB, "fragmentation", "keep 6.0 MiB of free memory"}};
    for (size_t i = 0; i < 2; i++) {
        struct made m = make();
        struct told t = keeps(&m, cases[i].pinned);
        struct findings f;
        struct strbuf title = {0};
        expect_verdict(&t, cases[i].verdict);
        const struct finding *n = kept_finding(&f, &m);
        assert_string_equal(finding_kind_name(n), cases[i].verdict);
        assert_int_equal(n->bytes, cases[i].bytes);
        finding_title(&f, n, &title);
        if (!strstr(title.data, cases[i].title))
            fail_msg("%s", title.data);
        strbuf_release(&title);
        findings_release(&f);
        told_release(&t, &m);
    }
}

/* Two overloads gain as much as each other. A sentence would show both as Arena::grow. */
static void test_overloads_are_named_once(void **state)
{
    (void)state;
    struct made m = make();
    struct profile *p = m.profile;
    static const char *const names[] = {
        "Arena::grow(unsigned long, enum Flags, enum Mode)",
        "Arena::grow(unsigned long, enum Flags, enum Mode, struct CallStack const&)"};
    uint32_t sites[2];
    for (uint32_t k = 0; k < 2; k++) {
        fx_symbols(m.recording, p, 0x2000 + k, 1, (struct sym[]){{names[k], "/lib/libjvm.so"}});
        sites[k] = fx_site(p, fx_node(p, 1 + k, 0x2000 + k), 0, DOMAIN_HEAP);
    }
    for (uint64_t i = 1; i <= STAMPS; i++) {
        fx_interval(p, i * SECOND, 70 * MIB);
        fx_row(p, sites[0], 512 * KIB, 1, 0, 0);
        fx_row(p, sites[1], 512 * KIB, 1, 0, 0);
        add_stamp(&m, i, i * MIB, (10 + i) * MIB, 20 * MIB);
    }
    p->peak_bytes = 60 * MIB;
    struct told t = tell(&m);
    expect_verdict(&t, "growth");
    expect_words(&t, ": Arena::grow.");
    told_release(&t, &m);
}

/* The heap grows by a MiB a second, and all of it is freed between the last stamp and the end. The
 * function is named with what it gained, and findings call that a peak, not growth. */
static void test_freed_after_the_last_stamp(void **state)
{
    (void)state;
    struct made m = make();
    for (uint64_t i = 1; i <= STAMPS; i++) {
        fx_interval(m.profile, i * SECOND, i * MIB);
        fx_row(m.profile, m.sites[0], MIB, 1, 0, 0);
        add_stamp(&m, i, i * MIB, (10 + i) * MIB, 20 * MIB);
    }
    fx_interval(m.profile, (STAMPS + 1) * SECOND, STAMPS * MIB);
    fx_row(m.profile, m.sites[0], MIB, 0, STAMPS, 0);
    m.profile->peak_bytes = STAMPS * MIB;
    struct told t = tell(&m);
    expect_verdict(&t, "growth");
    expect_words(&t, "It keeps 1.0 MiB per second more, and frees it at its end: main, app.c:10.");
    assert_int_equal(t.growth.sites.count, 1);
    assert_int_equal(t.growth.sites.items[0].bytes, (STAMPS - 1) * MIB);
    struct query q = {.top = QUERY_ALL};
    struct findings f;
    assert_int_equal(findings_init(&f, m.recording, &q, NULL), 0);
    for (size_t i = 0; i < f.list.count; i++)
        assert_int_not_equal(f.list.items[i].kind, FINDING_GROWTH);
    findings_release(&f);
    told_release(&t, &m);
}

/* The heap grows to the end. A peak soon after the last stamp but one is higher than the end, and
 * hides nothing of what comes after it. */
static void test_short_peak_before_the_end(void **state)
{
    (void)state;
    struct made m = make();
    for (uint64_t i = 1; i <= STAMPS; i++) {
        fx_interval(m.profile, i * SECOND, i * MIB);
        fx_row(m.profile, m.sites[0], MIB, 1, 0, 0);
        if (i == STAMPS)
            fx_row(m.profile, m.sites[1], 20 * MIB, 1, 0, 0);
        add_stamp(&m, i, i * MIB, (10 + i) * MIB, 20 * MIB);
    }
    for (uint64_t i = 1; i <= 10; i++) {
        fx_interval(m.profile, (STAMPS + i) * SECOND, (STAMPS + i) * MIB);
        fx_row(m.profile, m.sites[0], MIB, 1, 0, 0);
        if (i == 1)
            fx_row(m.profile, m.sites[1], 20 * MIB, 0, 1, 0);
    }
    m.profile->peak_bytes = (STAMPS + 20) * MIB;
    struct told t = tell(&m);
    assert_int_equal(t.growth.sites.items[0].bytes, (STAMPS + 10 - 1) * MIB);
    told_release(&t, &m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_live_heap_with_noise),
        cmocka_unit_test(test_leak_in_steps),
        cmocka_unit_test(test_leak_mostly_at_once),
        cmocka_unit_test(test_touched_mapping),
        cmocka_unit_test(test_code_is_not_shared_memory),
        cmocka_unit_test(test_fragmentation_or_retention),
        cmocka_unit_test(test_overloads_are_named_once),
        cmocka_unit_test(test_freed_after_the_last_stamp),
        cmocka_unit_test(test_short_peak_before_the_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
