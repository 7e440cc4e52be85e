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
static void expect_nothing_grows(enum domain domain)
{
    struct recording *r = waits_after_its_start(domain);
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
    expect_nothing_grows(DOMAIN_ARENA);
}

static void test_mapped(void **state)
{
    (void)state;
    expect_nothing_grows(DOMAIN_MAPPED);
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
    struct growth_rates rates = growth_rates_between(&g, 0, g.count - 1);
    double span = growth_span(&g, 0, g.count - 1);
    assert_int_equal((int64_t)(rates.parts[GAIN_REACHABLE] * span), -20 * (int64_t)MIB);
    assert_true(rates.parts[GAIN_ROUNDING] * span >= -64 && rates.parts[GAIN_ROUNDING] * span <= 0);
    growth_release(&g);
    recording_free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arenas),
        cmocka_unit_test(test_mapped),
        cmocka_unit_test(test_rounding),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
