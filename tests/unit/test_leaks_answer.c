/* What `tidemark leaks` prints: text, JSON and CSV. */
#include "test_leaks_fixture.h"

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
    pattern_list_add(&q.query.filter.ignore, "std::", "--ignore", NULL);
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
        "at exit    700 B in 7 blocks more were freed as the program ended; "
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
    expect_part(text, "at exit    700 B in 7 blocks of these were freed as the program ended\n");
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

/* Most blocks were scanned: what came after the scan leaves the answer for the others. */
static void test_text_after_the_scan(void **state)
{
    (void)state;
    struct leaks_question q = all_of_it();
    for (int attached = 0; attached < 2; attached++) {
        struct recording *r = leaky();
        struct profile *p = &r->profiles.items[0];
        for (size_t i = 0; i < p->live.count; i++)
            p->live.items[i].reach = REACH_REACHABLE;
        vec_last(&p->live)->reach = REACH_UNKNOWN;
        p->attached.is = p->attached.detached = attached;
        char *text = print_of(r, &q, TEXT);
        expect_part(text, attached
                              ? "Nothing was lost of what was allocated between the attach and "
                                "the last leak scan.\n"
                              : "Nothing was lost of what was allocated before the last leak "
                                "scan.\n");
        expect_part(text, "unclassified: allocated after the last leak scan");
        /* A program that goes on frees blocks at any time. */
        assert_int_equal(strstr(text, "were freed as the program ended") == NULL, attached);
        free(text);
    }
    struct recording *r = leaky();
    r->profiles.items[0].attached.is = r->profiles.items[0].attached.detached = true;
    q.query.at = "exit";
    char *text = print_of(r, &q, TEXT);
    expect_part(text, "state      at exit (7.000 s), before tidemark detached");
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
    pattern_list_add(&q.query.filter.ignore, "worker", "--ignore", NULL);
    char *text = print_of(leaky(), &q, JSON);
    assert_string_equal(
        text,
        "{\"schema\":\"tidemark.leaks/1\",\"command\":[\"./app\"],\"pid\":100,\"exit_code\":0,"
        "\"signal\":null,\"ending\":\"exit status "
        "0\",\"complete\":true,\"duration_ns\":8000000000,\"at\":\"end\","
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
        "app\"],\"exit_code\":0,\"signal\":null,\"ending\":\"exit status "
        "0\",\"peak_bytes\":0,\"memory_peak_bytes\":0}],"
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
                        "threads,indirect_bytes,indirect_count,grew,stack\n"
                        "reachable,800,80,1440,400,0,7500000000,main,1,,,true,keep;main\n"
                        "indirect,500,1,508,250,6000000000,6500000000,main,1,,,false,lose;main\n"
                        "indirect,40,4,72,20,3000000000,3500000000,helper,1,,,false,worker\n"
                        "lost,30,3,54,15,1000000000,5500000000,helper,2,,,false,lose;main\n"
                        "freed at exit,700,7,756,,0,1500000000,main,1,,,false,keep;main\n");
    free(text);
}

/* A library without lines loses a block in a thread: its own function is named, not libc's, whose
 * lines are known. */
static void test_text_of_a_library(void **state)
{
    (void)state;
    struct recording *r = recording_new();
    struct profile *p = program(r, 100);
    fx_symbols(
        r, p, 0x2010, 1,
        (struct sym[]){{"start_thread", "/lib/libc.so.6", "./nptl/pthread_create.c", 442, 0}});
    fx_symbols(r, p, 0x2020, 1, (struct sym[]){{"reserve", "/lib/libjvm.so", NULL, 0, 0}});
    uint32_t site = fx_site(p, fx_node(p, fx_node(p, 0, 0x2010), 0x2020), 0, DOMAIN_HEAP);
    add_scan(p, SCAN_END, 8);
    add_row(p, site, 1, REACH_LOST, 1, 100);
    struct leaks_question q = all_of_it();
    char *text = print_of(r, &q, TEXT);
    expect_part(text, "100 B in 1 block was lost, all by reserve.\n");
    free(text);
    query_release(&q.query);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_text_when),
        cmocka_unit_test(test_text_unclassified),
        cmocka_unit_test(test_text_after_the_scan),
        cmocka_unit_test(test_text_clean),
        cmocka_unit_test(test_text_of_a_library),
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_csv),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
