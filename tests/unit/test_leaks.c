/*
 * Leaks of a recording made by hand, with known blocks of every kind.
 *
 * The program runs for 8 s, one interval a second. Addresses: 0x1010 main, 0x1020 lose, 0x1030
 * keep, 0x1040 worker, 0x1050 std::vector's internals.
 */
#include "test_model_fixture.h"

#include "analyse/leaks.h"
#include "answer/leaks.h"

enum { LOSE, LOSE_TOO, KEEP, WORKER, VECTOR };

static void add_row(struct profile *p, uint32_t site, uint32_t interval, enum reach reach,
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

static void add_scan(struct profile *p, enum scan_kind kind, size_t intervals)
{
    *vec_push(&p->scans) = (struct scan){.kind = (uint32_t)kind,
                                         .time_ns = intervals * SECOND,
                                         .intervals = intervals,
                                         .held_ns = 2000000,
                                         .residency = true,
                                         .first_row = p->live.count};
}

static struct profile *program(struct recording *r, uint32_t pid)
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
static struct recording *leaky(void)
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

static struct leaks_question all_of_it(void)
{
    struct leaks_question q = {.kinds = LEAKS_ALL};
    query_init(&q.query);
    return q;
}

static void find(struct leaks *l, const struct recording *r, const struct leaks_question *q)
{
    struct err err = {{0}};
    if (leaks_find(l, r, q, &err))
        fail_msg("%s", err.text);
}

/* Runs the question and compares kind, function, bytes and blocks of all entries, in order. */
static void expect(const struct leaks_question *q, const char *wanted)
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

static void refused(const struct leaks_question *q, int code, const char *text)
{
    struct recording *r = leaky();
    struct leaks l;
    struct err err = {{0}};
    assert_int_equal(leaks_find(&l, r, q, &err), code);
    if (!strstr(err.text, text) || strchr(err.text, '\n'))
        fail_msg("'%s' should say '%s' in one line", err.text, text);
    recording_free(r);
}

static void expect_sum(const struct leak_sum *s, uint64_t bytes, uint64_t blocks, uint64_t places)
{
    assert_int_equal(s->bytes, bytes);
    assert_int_equal(s->blocks, blocks);
    assert_int_equal(s->places, places);
}

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
    assert_int_equal(pattern_list_add(&q.query.focus.ignore, "keep", "--ignore", NULL), 0);
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

static void test_focus(void **state)
{
    (void)state;
    struct leaks_question q = all_of_it();
    struct focus *f = &q.query.focus;
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
    assert_int_equal(rename_list_add(&q.query.focus.merge, "s/lose|keep/it/", NULL), 0);
    expect(&q, "lost it 30/3, indirect it 500/1, indirect worker 40/4, reachable it 800/80");
    query_release(&q.query);
}

static void test_ignored(void **state)
{
    (void)state;
    struct recording *r = leaky();
    struct leaks_question q = all_of_it();
    struct leaks l;
    pattern_list_add(&q.query.focus.ignore, "lose", "--ignore", NULL);
    q.query.focus.thread = "helper";
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

static bool grew(uint64_t blocks, const uint64_t births[LEAK_PARTS])
{
    struct leak e = {.blocks = blocks};
    memcpy(e.births, births, sizeof e.births);
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

/* --- text, JSON, CSV -------------------------------------------------------------------------- */

enum form { TEXT, JSON, CSV };

static char *print_of(struct recording *r, const struct leaks_question *q, enum form form)
{
    struct leaks l;
    struct strbuf out = {0};
    find(&l, r, q);
    if (form == JSON)
        leaks_json(&l, NULL, &out);
    else if (form == CSV)
        leaks_csv(&l, NULL, &out);
    else
        leaks_text(&l, "app.tide", &(struct style){.width = 100}, &out);
    leaks_release(&l);
    recording_free(r);
    return strbuf_detach(&out);
}

static void expect_part(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("should hold\n%s\nbut is\n%s", part, text);
}

static void test_text(void **state)
{
    (void)state;
    struct leaks_question q = all_of_it();
    q.kinds = LEAKS_NOT_FREED;
    q.query.top = 2;
    pattern_list_add(&q.query.focus.ignore, "std::", "--ignore", NULL);
    char *text = print_of(leaky(), &q, TEXT);
    assert_string_equal(
        text,
        "570 B in 8 blocks were lost, 30 B of it by lose app.c:20.\n"
        "\n"
        "command    ./app\n"
        "ran        8.000 s, exit status 0, pid 100\n"
        "state      at end (8.000 s) of the run; the program was stopped for 2.0 ms\n"
        "lost       30 B in 3 blocks from 1 stack: nothing points to them any more\n"
        "indirect   540 B in 5 blocks from 2 stacks: only lost blocks point to them\n"
        "reachable  740 B in 74 blocks from 1 stack: something still points to them; 740 B of it "
        "grew through\n           the whole run; --all lists them\n"
        "at exit    700 B in 7 blocks more were freed by destructors and at exit; "
        "--freed-at-exit lists them\n"
        "ignored    60 B in 6 blocks by --ignore, not in the table\n"
        "\n"
        "1. lost: 30 B in 3 blocks of 10 B\n"
        "    first at 1.000 s, last at 5.500 s; thread helper and 1 more; 15 B never touched\n"
        "    lose  app.c:20\n"
        "    main  app.c:10\n"
        "\n"
        "2. indirect: 500 B in 1 block\n"
        "    allocated at 6.000 s; thread main; 250 B never touched\n"
        "    lose  app.c:20\n"
        "    main  app.c:10\n"
        "\n"
        "... 1 more stack with 40 B in 4 blocks; --top 0 --min 0 shows all\n"
        "\n"
        "next: find the code that should free what lose allocates; --ignore leaves out what is "
        "meant to stay\n");
    free(text);
    query_release(&q.query);
}

static void test_text_when(void **state)
{
    (void)state;
    struct leaks_question q = all_of_it();
    q.query.since = "event";
    q.older_ns = SECOND;
    q.freed = true;
    q.query.at = "exit";
    char *text = print_of(leaky(), &q, TEXT);
    expect_part(
        text, "state      at exit (7.000 s), when the program began to end and before destructors "
              "ran; the program\n           was stopped for 2.0 ms\n"
              "only       blocks allocated after event (4.000 s) and at least 1.000 s before "
              "that\n"
              "lost       nothing was lost, and nothing is left\n");
    free(text);
    q.query.since = NULL;
    q.older_ns = 0;
    text = print_of(leaky(), &q, TEXT);
    expect_part(text,
                "at exit    700 B in 7 blocks of these were freed by destructors and at exit\n");
    expect_part(text, "1. freed at exit: 700 B in 7 blocks of 100 B\n"
                      "    first at 0 s, last at 1.500 s; thread main\n"
                      "    keep  app.c:30\n");
    free(text);
}

static void test_text_unclassified(void **state)
{
    (void)state;
    struct recording *r = leaky();
    struct profile *p = &r->profiles.items[0];
    struct leaks_question q = all_of_it();
    for (size_t i = p->scans.items[2].first_row; i < p->live.count; i++)
        p->live.items[i].reach = REACH_UNKNOWN;
    p->scans.items[2].unreachable = xstrdup("it may not be held");
    p->scans.items[2].residency = false;
    char *text = print_of(r, &q, TEXT);
    expect_part(text, "unknown    1.3 KiB in 88 blocks from 3 stacks, unclassified: it may not be "
                      "held; --at exit shows\n           what was known then\n");
    expect_part(text, "1. unclassified: 800 B in 80 blocks of 10 B\n    first at 0 s, last at "
                      "7.500 s: grew through the whole run; thread main\n    keep");
    assert_null(strstr(text, "lost  "));
    assert_null(strstr(text, "touched"));
    free(text);
}

static void test_text_clean(void **state)
{
    (void)state;
    struct recording *r = leaky();
    struct profile *p = &r->profiles.items[0];
    struct leaks_question q = all_of_it();
    q.kinds = LEAKS_NOT_FREED;
    for (size_t i = 0; i < p->live.count; i++)
        p->live.items[i].reach = REACH_REACHABLE;
    char *text = print_of(r, &q, TEXT);
    expect_part(text, "lost       nothing was lost\nreachable  1.3 KiB in 88 blocks from 3 stacks");
    expect_part(text, "\nnext: tidemark leaks app.tide --all\n");
    free(text);
    r = leaky();
    r->profiles.items[0].scans.items[2].row_count = 0;
    text = print_of(r, &q, TEXT);
    expect_part(text, "lost       nothing was lost, and nothing is left\n");
    expect_part(text, "\nnext: tidemark report app.tide --metric peak\n");
    free(text);
}

static void test_json(void **state)
{
    (void)state;
    struct leaks_question q = all_of_it();
    q.by_size = true;
    q.query.top = 1;
    q.freed = true;
    pattern_list_add(&q.query.focus.ignore, "worker", "--ignore", NULL);
    char *text = print_of(leaky(), &q, JSON);
    assert_string_equal(
        text,
        "{\"schema\":\"tidemark.leaks/1\",\"command\":[\"./app\"],\"pid\":100,\"exit_code\":0,"
        "\"signal\":null,\"complete\":true,\"duration_ns\":8000000000,\"at\":\"end\","
        "\"at_ns\":8000000000,\"since\":\"start\",\"since_ns\":0,\"older_ns\":0,"
        "\"held_ns\":2000000,\"unclassified_because\":null,\"totals\":{\"bytes\":1330,"
        "\"blocks\":84,\"unique\":3,\"lost_bytes\":30,\"lost_blocks\":3,\"indirect_bytes\":500,"
        "\"indirect_blocks\":1,\"reachable_bytes\":800,\"reachable_blocks\":80,"
        "\"unclassified_bytes\":0,\"unclassified_blocks\":0,\"freed_at_exit_bytes\":700,"
        "\"freed_at_exit_blocks\":7,\"ignored_bytes\":40,\"ignored_blocks\":4,"
        "\"outside_bytes\":0,\"outside_blocks\":0,\"may_match_bytes\":0,\"may_match_blocks\":0},"
        "\"others\":{\"processes\":0,\"lost_bytes\":0,\"lost_blocks\":0},"
        "\"ignored\":{\"bytes\":40,\"count\":4,\"by\":[{"
        "\"kind\":\"ignore\",\"name\":\"--ignore\",\"bytes\":40,\"count\":4}]},\"processes\":[{"
        "\"pid\":100,\"ppid\":1,"
        "\"command\":[\"./"
        "app\"],\"exit_code\":0,\"signal\":null,\"peak_bytes\":0,\"memory_peak_bytes\":0}],"
        "\"notes\":[],"
        "\"leaks_left_out\":2,\"leaks\":[{\"kind\":\"reachable\",\"bytes\":800,\"count\":80,"
        "\"usable_bytes\":1440,\"untouched_bytes\":400,\"first_ns\":0,\"last_ns\":7500000000,"
        "\"grew\":true,\"thread\":\"main\",\"threads\":1,\"stack\":["
        "{\"function\":\"keep\",\"module\":\"app\",\"file\":\"/src/app.c\",\"line\":30,"
        "\"kind\":\"native\"},{\"function\":\"main\",\"module\":\"app\",\"file\":\"/src/app.c\","
        "\"line\":10,\"kind\":\"native\"}]}],\"freed_at_exit\":[{\"bytes\":700,\"count\":7,"
        "\"usable_bytes\":756,\"untouched_bytes\":null,\"first_ns\":0,\"last_ns\":1500000000,"
        "\"grew\":false,\"thread\":\"main\",\"threads\":1,\"stack\":["
        "{\"function\":\"keep\",\"module\":\"app\",\"file\":\"/src/app.c\",\"line\":30,"
        "\"kind\":\"native\"},{\"function\":\"main\",\"module\":\"app\",\"file\":\"/src/app.c\","
        "\"line\":10,\"kind\":\"native\"}]}]}\n");
    free(text);
    query_release(&q.query);
}

static void test_csv(void **state)
{
    (void)state;
    struct leaks_question q = all_of_it();
    q.by_size = true;
    q.freed = true;
    char *text = print_of(leaky(), &q, CSV);
    assert_string_equal(text,
                        "kind,bytes,count,usable_bytes,untouched_bytes,first_ns,last_ns,thread,"
                        "threads,stack\n"
                        "reachable,800,80,1440,400,0,7500000000,main,1,keep;main\n"
                        "indirect,500,1,508,250,6000000000,6500000000,main,1,lose;main\n"
                        "indirect,40,4,72,20,3000000000,3500000000,helper,1,worker\n"
                        "lost,30,3,54,15,1000000000,5500000000,helper,2,lose;main\n"
                        "freed at exit,700,7,756,,0,1500000000,main,1,keep;main\n");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_entries),       cmocka_unit_test(test_one_entry),
        cmocka_unit_test(test_totals),        cmocka_unit_test(test_kinds),
        cmocka_unit_test(test_top_and_min),   cmocka_unit_test(test_since),
        cmocka_unit_test(test_older),         cmocka_unit_test(test_at),
        cmocka_unit_test(test_freed_at_exit), cmocka_unit_test(test_exit_unknown),
        cmocka_unit_test(test_focus),         cmocka_unit_test(test_merge),
        cmocka_unit_test(test_ignored),       cmocka_unit_test(test_process),
        cmocka_unit_test(test_growth),        cmocka_unit_test(test_without_scans),
        cmocka_unit_test(test_huge_numbers),  cmocka_unit_test(test_text),
        cmocka_unit_test(test_text_when),     cmocka_unit_test(test_text_unclassified),
        cmocka_unit_test(test_text_clean),    cmocka_unit_test(test_json),
        cmocka_unit_test(test_csv),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
