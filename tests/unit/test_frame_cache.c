/* A recording that is held answers as one that is not, whatever was asked of it before. */
#include "test_model_fixture.h"

#include "answer/report.h"
#include "store/held_recordings.h"

#define NODES     3000
#define SITES     2000
#define INTERVALS 6
#define QUESTIONS 600

static uint32_t chance; /* the state of a small generator: the same on every machine */

static uint32_t below(uint32_t most)
{
    chance = chance * 1664525 + 1013904223;
    return (chance >> 8) % most;
}

static const struct sym kinds[] = {
    {"main", "/bin/app", "/src/app.c", 10, FRAME_NATIVE},
    {"main", "/bin/app", "/src/app.c", 11, FRAME_NATIVE},
    {"parse(int)", "/bin/app", "/src/app.c", 20, FRAME_NATIVE},
    {"parse(int)", "/lib/libp.so", "/src/p.c", 20, FRAME_NATIVE},
    {"std::vector<int>::push_back", "/bin/app", "/usr/include/c++/12/v.h", 3, FRAME_INLINED},
    {"operator new(unsigned long)", "/lib/libstdc++.so.6", NULL, 0, FRAME_NATIVE},
    {"malloc", "/src/malloc.py", "/src/malloc.py", 5, FRAME_PYTHON},
    {"load", "/src/load.py", "/src/load.py", 7, FRAME_PYTHON},
    {"_PyEval_EvalFrameDefault", "/usr/bin/python3.11", NULL, 0, FRAME_NATIVE},
    {"tidemark_hook", "/usr/lib/libtidemark.so", NULL, 0, FRAME_NATIVE},
};
#define KINDS (sizeof kinds / sizeof *kinds)

/* Stacks of all kinds of frames, cut and damaged ones too. The same for the same seed. */
static struct recording *random_recording(uint32_t seed, bool python)
{
    struct recording *r = recording_new();
    struct profile *p = fx_profile(r, 100, 1, "./app");
    chance = seed;
    r->complete = true;
    for (uint32_t i = 0; i < KINDS; i++)
        if (python || kinds[i].kind != FRAME_PYTHON)
            fx_symbols(r, p, 0x1000 + i, 1, &kinds[i]);
    fx_symbols(r, p, 0x2000, 2, (struct sym[]){kinds[4], kinds[2]});
    fx_thread(p, 100, "main");
    fx_thread(p, 101, "worker");
    for (uint32_t i = 1; i < NODES; i++) {
        uint32_t what = below(KINDS + 4);
        fx_node(p, below(8) ? below(i) : i + below(3), /* of a few the parent comes later */
                what < KINDS        ? 0x1000 + what
                : what == KINDS     ? NODE_TRUNCATED
                : what == KINDS + 1 ? 0x7000 + below(50)
                                    : 0x2000);
    }
    for (uint32_t i = 0; i < SITES; i++) {
        uint32_t site = fx_site(p, below(50) ? below(NODES) : NODES + below(9), below(3),
                                below(9) ? DOMAIN_HEAP : DOMAIN_MAPPED);
        uint32_t blocks = below(4);
        fx_peaks(p, site, 10 * blocks, blocks, 10 * blocks + 10, blocks + 1, 10);
    }
    for (uint32_t i = 0; i < INTERVALS; i++) {
        fx_interval(p, (i + 1) * SECOND, 1000);
        for (uint32_t site = 0; site < SITES; site++)
            if (below(12) == 0)
                fx_row(p, site, 1 + below(5), below(3), below(3), 0);
    }
    p->duration_ns = INTERVALS * SECOND;
    p->peak_bytes = 1000;
    return r;
}

static void random_question(struct query *q)
{
    static const char *const moments[] = {NULL, "2s", "50%", "peak", "5s"};
    static const enum metric metrics[] = {METRIC_LIVE,    METRIC_TOTAL,  METRIC_PEAK,
                                          METRIC_LARGEST, METRIC_MAPPED, METRIC_SITEPEAK};
    static const char *const patterns[] = {"parse", "^ma", "load|new", "std::", "0x10", "[unk"};
    *q = (struct query){.top = below(3) ? QUERY_ALL : 1 + below(20),
                        .metric = metrics[below(6)],
                        .by = (enum grouping)below(GROUPINGS),
                        .at = moments[below(5)],
                        .since = below(3) ? NULL : "1s"};
    q->shape = q->by != BY_STACK && q->by != BY_THREAD && !below(3) ? SHAPE_TREE : SHAPE_TABLE;
    q->filter.no_fold = !below(4);
    q->filter.native_only = !below(6);
    q->filter.thread = below(8) ? NULL : "worker";
    struct {
        struct pattern_list *list;
        uint32_t rarely;
    } lists[] = {{&q->filter.within, 3}, {&q->filter.ignore, 4}, {&q->filter.fold, 6}};
    for (size_t i = 0; i < 3; i++)
        if (!below(lists[i].rarely))
            pattern_list_add(lists[i].list, patterns[below(5)], "--test", NULL);
}

/* The answer as JSON, or why there is none. */
static void asked(const struct recording *r, const struct query *q, struct strbuf *out)
{
    struct answer a;
    struct err err = {{0}};
    strbuf_clear(out);
    if (answer_query(&a, r, q, &err)) {
        strbuf_puts(out, err.text);
        return;
    }
    report_json(&a, NULL, out);
    answer_release(&a);
}

static void check(uint32_t seed, bool python)
{
    struct recording *plain = random_recording(seed, python);
    struct recording *held = random_recording(seed, python);
    struct strbuf want = {0}, got = {0};
    size_t answered = 0;
    recording_hold("held", held);
    answer_prepare(held);
    for (int i = 0; i < QUESTIONS; i++) {
        struct query q;
        random_question(&q);
        asked(plain, &q, &want);
        asked(held, &q, &got);
        if (strcmp(want.data, got.data) != 0)
            fail_msg("question %d: %s\ninstead of %s", i, got.data, want.data);
        answered += want.data[0] == '{';
        query_release(&q);
    }
    assert_true(answered > QUESTIONS / 3);
    strbuf_release(&want);
    strbuf_release(&got);
    recording_free(plain);
}

static void test_native(void **state)
{
    (void)state;
    check(1, false);
}

static void test_python(void **state)
{
    (void)state;
    check(2, true);
    check(3, true); /* held under the same name: nothing is left of the one before */
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_native),
                                       cmocka_unit_test(test_python)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
