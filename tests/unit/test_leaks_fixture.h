/*
 * A recording made by hand, with known blocks of every kind, for tests of leaks.
 *
 * The program runs for 8 s, one interval a second. Addresses: 0x1010 main, 0x1020 lose, 0x1030
 * keep, 0x1040 worker, 0x1050 std::vector's internals.
 */
#ifndef TIDE_TEST_LEAKS_FIXTURE_H
#define TIDE_TEST_LEAKS_FIXTURE_H

#include "test_model_fixture.h"

#include "analyse/leaks.h"
#include "answer/leaks.h"

enum { LOSE, LOSE_TOO, KEEP, WORKER, VECTOR };

static inline void add_row(struct profile *p, uint32_t site, uint32_t interval, enum reach reach,
                           uint64_t blocks, uint64_t bytes)
{
    *vec_push(&p->live) = (struct live_row){.site = site,
                                            .interval = interval,
                                            .reach = (uint32_t)reach,
                                            .blocks = blocks,
                                            .bytes = bytes,
                                            .usable = bytes + 8 * blocks,
                                            .untouched = bytes / 2,
                                            .first_ns = interval * SECOND,
                                            .last_ns = interval * SECOND + SECOND / 2};
    vec_last(&p->scans)->row_count++;
}

static inline void add_scan(struct profile *p, enum scan_kind kind, size_t intervals)
{
    *vec_push(&p->scans) = (struct scan){.kind = (uint32_t)kind,
                                         .time_ns = intervals * SECOND,
                                         .intervals = intervals,
                                         .held_ns = 2000000,
                                         .residency = true,
                                         .first_row = p->live.count};
}

static inline struct profile *program(struct recording *r, uint32_t pid)
{
    struct profile *p = fx_profile(r, pid, 1, "./app");
    fx_symbols(r, p, 0x1010, 1, (struct sym[]){{"main", "/bin/app", "/src/app.c", 10, 0}});
    fx_symbols(r, p, 0x1020, 1, (struct sym[]){{"lose", "/bin/app", "/src/app.c", 20, 0}});
    fx_symbols(r, p, 0x1030, 1, (struct sym[]){{"keep", "/bin/app", "/src/app.c", 30, 0}});
    fx_symbols(r, p, 0x1040, 1, (struct sym[]){{"worker", "/bin/app", "/src/app.c", 40, 0}});
    fx_symbols(r, p, 0x1050, 1,
               (struct sym[]){{"std::vector<int>::push_back(int)", "/bin/app", NULL, 0, 0}});
    uint32_t one = fx_thread(p, pid, "main"), two = fx_thread(p, pid + 1, "helper");
    uint32_t top = fx_node(p, 0, 0x1010), lose = fx_node(p, top, 0x1020);
    uint32_t keep = fx_node(p, top, 0x1030);
    fx_site(p, lose, one, DOMAIN_HEAP);
    fx_site(p, lose, two, DOMAIN_HEAP); /* the same stack, another thread */
    fx_site(p, keep, one, DOMAIN_HEAP);
    fx_site(p, fx_node(p, 0, 0x1040), two, DOMAIN_HEAP);
    fx_site(p, fx_node(p, keep, 0x1050), one, DOMAIN_HEAP); /* charged to keep */
    for (uint64_t i = 1; i <= 8; i++)
        fx_interval(p, i * SECOND, 0);
    p->duration_ns = 8 * SECOND;
    return p;
}

/*
 * At the end: lose lost 30 B in 3 (by two threads) and 500 B in 1 indirectly, worker 40 B in 4
 * indirectly, keep has 800 B in 80 reachable, ten of them a second, and 60 B of them by
 * std::vector. At exit there were 7 more of keep, 700 B. At 2 s, asked for, lose had lost 10 B
 * in 1.
 */
static inline struct recording *leaky(void)
{
    struct recording *r = recording_new();
    r->complete = true;
    struct profile *p = program(r, 100);
    *vec_push(&p->marks) = (struct mark){.label = strpool_add(&r->strings, "event"),
                                         .name = "event",
                                         .intervals = 4,
                                         .stamp = {.time_ns = 4 * SECOND}};
    add_scan(p, SCAN_ASKED, 2);
    add_row(p, LOSE, 1, REACH_LOST, 1, 10);
    add_scan(p, SCAN_EXIT, 7);
    add_row(p, LOSE, 1, REACH_LOST, 1, 10);
    add_row(p, KEEP, 0, REACH_REACHABLE, 13, 760);
    add_row(p, KEEP, 1, REACH_REACHABLE, 14, 140);
    /* What was freed between these two scans. */
    struct row freed = {.site = KEEP};
    freed.columns[COL_FREES] = 7;
    freed.columns[COL_FREED] = 700;
    *vec_push(&p->rows) = freed;
    vec_last(&p->intervals)->row_count++;
    add_scan(p, SCAN_END, 8);
    add_row(p, LOSE, 1, REACH_LOST, 1, 10);
    add_row(p, LOSE, 6, REACH_INDIRECT, 1, 500);
    add_row(p, LOSE_TOO, 5, REACH_LOST, 2, 20);
    for (uint32_t i = 0; i < 8; i++)
        add_row(p, KEEP, i, REACH_REACHABLE, i < 2 ? 10 : 9, i < 2 ? 100 : 90);
    add_row(p, WORKER, 3, REACH_INDIRECT, 4, 40);
    add_row(p, VECTOR, 7, REACH_REACHABLE, 6, 60);
    return r;
}

static inline struct leaks_question all_of_it(void)
{
    struct leaks_question q = {.kinds = LEAKS_ALL};
    query_init(&q.query);
    return q;
}

static inline void find(struct leaks *l, const struct recording *r, const struct leaks_question *q)
{
    struct err err = {{0}};
    if (leaks_find(l, r, q, &err))
        fail_msg("%s", err.text);
}

/* Runs the question and compares kind, function, bytes and blocks of all entries, in order. */
static inline void expect(const struct leaks_question *q, const char *wanted)
{
    struct recording *r = leaky();
    struct leaks l;
    struct strbuf got = {0};
    find(&l, r, q);
    strbuf_puts(&got, "");
    for (size_t i = 0; i < l.list.leaks.count; i++) {
        const struct leak *e = &l.list.leaks.items[i];
        const struct call_frame *f = &l.frames.frames.items[e->tree->key.items[e->node]];
        strbuf_printf(&got, "%s%s %s %d/%d", i ? ", " : "", leak_kind_name(e->kind),
                      frame_table_string(&l.frames, f->name), (int)e->bytes, (int)e->blocks);
    }
    assert_string_equal(got.data, wanted);
    strbuf_release(&got);
    leaks_release(&l);
    recording_free(r);
}

static inline void refused(const struct leaks_question *q, int code, const char *text)
{
    struct recording *r = leaky();
    struct leaks l;
    struct err err = {{0}};
    assert_int_equal(leaks_find(&l, r, q, &err), code);
    if (!strstr(err.text, text) || strchr(err.text, '\n'))
        fail_msg("'%s' should say '%s' in one line", err.text, text);
    recording_free(r);
}

static inline void expect_sum(const struct leak_sum *s, uint64_t bytes, uint64_t blocks,
                              uint64_t places)
{
    assert_int_equal(s->bytes, bytes);
    assert_int_equal(s->blocks, blocks);
    assert_int_equal(s->places, places);
}

#endif
