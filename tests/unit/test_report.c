/* Text, JSON and CSV of the sample, against exact strings. */
#include "test_model_fixture.h"

#include "answer/report.h"
#include "answer/summary.h"
#include "answer/tree_indent.h"
#include "answer/text_table.h"
#include "base/units.h"
#include "answer/wrap.h"

static const struct style plain = {.width = 100};

enum form { TEXT, JSON, CSV };

/* What a question to the recording prints; the caller frees. */
static char *print_of(const struct recording *r, const struct query *q, enum form form,
                      const struct style *style)
{
    struct answer a;
    struct strbuf out = {0};
    fx_answer(&a, r, q);
    if (form == JSON)
        report_json(&a, NULL, &out);
    else if (form == CSV)
        report_csv(&a, NULL, &out);
    else
        report_text(&a, "app.tide", style, &out);
    answer_release(&a);
    return strbuf_detach(&out);
}

static char *print(const struct query *q, enum form form)
{
    struct recording *r = fx_sample();
    char *text = print_of(r, q, form, &plain);
    recording_free(r);
    return text;
}

static void expect_part(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("should hold\n%s\nbut is\n%s", part, text);
}

static void test_json(void **state)
{
    (void)state;
    char *text = print(&(struct query){.top = QUERY_ALL}, JSON);
    assert_string_equal(
        text,
        "{\"schema\":\"tidemark.report/1\",\"command\":[\"./app\"],\"pid\":100,\"exit_code\":0,"
        "\"signal\":null,\"ending\":\"exit status "
        "0\",\"complete\":true,\"duration_ns\":4000000000,\"since\":\"start\",\"at\":"
        "\"end\","
        "\"since_ns\":0,\"at_ns\":4000000000,\"metric\":\"live\",\"unit\":\"bytes\","
        "\"size\":\"requested\","
        "\"by\":\"function\",\"shape\":\"table\",\"totals\":{\"allocations\":123,\"frees\":64,"
        "\"reallocations\":7,\"bytes_allocated\":10500,\"live_blocks\":59,\"live_bytes\":3650,"
        "\"peak_bytes\":3600,\"peak_time_ns\":1900000000,\"temporary_allocations\":23,"
        "\"unknown_frees\":1,\"lost_events\":3,\"truncated_stacks\":2,\"incomplete_stacks\":0},"
        "\"waits\":0,"
        "\"sum\":{\"bytes\":3650,\"count\":59},\"ignored\":{\"bytes\":0,\"count\":0,\"by\":[]},"
        "\"outside\":{\"bytes\":0,\"count\":0},\"processes\":[{\"pid\":100,\"ppid\":1,"
        "\"command\":[\"./"
        "app\"],\"exit_code\":0,\"signal\":null,\"ending\":\"exit status "
        "0\",\"peak_bytes\":3600,\"memory_peak_bytes\":3600}],"
        "\"notes\":[],\"stack_nodes\":"
        "10,\"rows_left_"
        "out\":0,"
        "\"rows\":[{\"name\":\"libx.so+0x1100\",\"module\":\"libx.so\",\"file\":null,\"line\":null,"
        "\"self_bytes\":3200,\"self_count\":50,\"total_bytes\":3200,\"total_count\":50},"
        "{\"name\":\"parse(int)\",\"module\":\"app\",\"file\":\"/src/app.c\",\"line\":20,"
        "\"self_bytes\":450,\"self_count\":9,\"total_bytes\":450,\"total_count\":9},"
        "{\"name\":\"worker\",\"module\":\"app\",\"file\":\"/src/app.c\",\"line\":50,"
        "\"self_bytes\":0,\"self_count\":0,\"total_bytes\":3200,\"total_count\":50},"
        "{\"name\":\"main\",\"module\":\"app\",\"file\":\"/src/app.c\",\"line\":10,"
        "\"self_bytes\":0,\"self_count\":0,\"total_bytes\":450,\"total_count\":9}]}\n");
    free(text);
}

static void test_json_stack(void **state)
{
    (void)state;
    char *text = print(
        &(struct query){.top = 1, .by = BY_STACK, .metric = METRIC_PEAK, .filter.no_fold = true},
        JSON);
    expect_part(
        text,
        "\"stack_nodes\":10,\"rows_left_out\":2,\"rows\":[{\"bytes\":3000,\"count\":3,\"thread\":"
        "\"main\",\"stack\":["
        "{\"function\":\"void std::vector<int>::_M_realloc_insert<int>(int&&)\","
        "\"module\":\"app\",\"file\":\"/usr/include/c++/12/bits/vector.tcc\",\"line\":440,"
        "\"kind\":\"inlined\"},"
        "{\"function\":\"push_back\",\"module\":\"app\","
        "\"file\":\"/usr/include/c++/12/bits/stl_vector.h\",\"line\":1280,\"kind\":\"inlined\"},"
        "{\"function\":\"Store::add(int)\",\"module\":\"app\",\"file\":\"/src/store.cc\","
        "\"line\":30,\"kind\":\"native\"},"
        "{\"function\":\"main\",\"module\":\"app\",\"file\":\"/src/app.c\",\"line\":10,"
        "\"kind\":\"native\"}]}]}\n");
    free(text);
}

static void test_json_tree(void **state)
{
    (void)state;
    char *text =
        print(&(struct query){.top = QUERY_ALL, .metric = METRIC_PEAK, .shape = SHAPE_TREE}, JSON);
    const char *rows = strstr(text, "\"rows\":");
    assert_non_null(rows);
#define NODE(name, file, line, sb, sc, tb, tc)                                                     \
    "{\"name\":\"" name "\",\"module\":\"app\",\"file\":\"/src/" file "\",\"line\":" line          \
    ",\"self_bytes\":" sb ",\"self_count\":" sc ",\"total_bytes\":" tb ",\"total_count\":" tc      \
    ",\"children\":["
    assert_string_equal(
        rows,
        "\"rows\":[" NODE("main", "app.c", "10", "0", "0", "3600", "18")
            NODE("Store::add(int)", "store.cc", "30", "3000", "3", "3000",
                 "3") "]}," NODE("parse(int)", "app.c", "20", "500", "5", "600", "15")
                NODE("parse(int)", "app.c", "20", "0", "0", "100", "10")
                    NODE("parse(int)", "app.c", "20", "100", "10", "100", "10") "]}]}]}]}]}\n");
#undef NODE
    free(text);
}

static void test_json_callers(void **state)
{
    (void)state;
    char *text =
        print(&(struct query){.top = QUERY_ALL, .shape = SHAPE_CALLERS, .function = "parse"}, JSON);
    expect_part(text, "\"shape\":\"callers\"");
    expect_part(text, "\"of\":\"parse(int)\",\"of_values\":{\"self_bytes\":450,\"self_count\":9,"
                      "\"total_bytes\":450,\"total_count\":9},");
    expect_part(text, "\"rows\":[{\"name\":\"main\",");
    free(text);
}

static void test_json_endings(void **state)
{
    (void)state;
    struct recording *r = fx_sample();
    struct profile *p = &r->profiles.items[0];
    p->exit_code = -1;
    p->signal = 11;
    p->complete = false;
    *vec_push(&p->notes) = xstrdup("a \"note\"");
    char *text = print_of(r, &(struct query){.at = "1s", .top = QUERY_ALL}, JSON, &plain);
    expect_part(text, "\"exit_code\":null,\"signal\":11,"
                      "\"ending\":\"killed by SIGSEGV (signal 11)\",\"complete\":false,");
    expect_part(text, "\"since\":\"start\",\"at\":\"1s\",\"since_ns\":0,\"at_ns\":1000000000,");
    expect_part(text, "\"notes\":[\"a \\\"note\\\"\"]");
    free(text);
    recording_free(r);
}

/* Far deeper than the JSON writer's own nesting. */
static void test_json_deep_tree(void **state)
{
    (void)state;
    struct recording *r = recording_new();
    struct profile *p = fx_profile(r, 1, 0, "x");
    fx_symbols(r, p, 0x10, 1, (struct sym[]){{"deep", "/bin/x", NULL, 0, 0}});
    fx_thread(p, 1, "main");
    uint32_t node = 0;
    for (int i = 0; i < 2000; i++)
        node = fx_node(p, node, 0x10);
    fx_site(p, node, 0, DOMAIN_HEAP);
    fx_interval(p, SECOND, 0);
    fx_row(p, 0, 1, 1, 0, 0);
    char *text = print_of(r, &(struct query){.top = QUERY_ALL, .shape = SHAPE_TREE}, JSON, &plain);
    int depth = 0, deepest = 0, nodes = 0;
    for (const char *s = text; *s; s++) {
        depth += (*s == '{' || *s == '[') - (*s == '}' || *s == ']');
        deepest = depth > deepest ? depth : deepest;
        nodes += strncmp(s, "\"children\"", 10) == 0;
    }
    assert_int_equal(depth, 0);
    assert_int_equal(nodes, 2000);
    assert_int_equal(deepest, 2 * 2000 + 2);
    free(text);
    text = print_of(r, &(struct query){.top = QUERY_ALL}, CSV, &plain);
    expect_part(text, "deep,x,,,1,1,1,1\n"); /* 2000 recursions, counted once */
    free(text);
    recording_free(r);
}

static void test_csv(void **state)
{
    (void)state;
    char *text = print(&(struct query){.top = QUERY_ALL, .metric = METRIC_TOTAL}, CSV);
    assert_string_equal(text,
                        "name,module,file,line,self_bytes,self_count,total_bytes,total_count\n"
                        "libx.so+0x1100,libx.so,,,6400,100,6400,100\n"
                        "Store::add(int),app,/src/store.cc,30,3000,3,3000,3\n"
                        "parse(int),app,/src/app.c,20,1100,20,1100,20\n"
                        "worker,app,/src/app.c,50,0,0,6400,100\n"
                        "main,app,/src/app.c,10,0,0,4100,23\n");
    free(text);
    text = print(&(struct query){.top = QUERY_ALL, .by = BY_STACK}, CSV);
    assert_string_equal(text, "bytes,count,thread,stack\n"
                              "3200,50,worker,libx.so+0x1100;worker\n"
                              "400,4,main,parse(int);main\n"
                              "50,5,main,parse(int);parse(int);parse(int);main\n");
    free(text);
    struct recording *r = fx_sample();
    free(r->profiles.items[0].threads.items[1].name);
    r->profiles.items[0].threads.items[1].name = xstrdup("a \"b\", c");
    text = print_of(r, &(struct query){.top = 1, .by = BY_THREAD}, CSV, &plain);
    expect_part(text, "\n\"a \"\"b\"\", c\",,,,3200,50,3200,50,1\n");
    free(text);
    recording_free(r);
}

static void test_text(void **state)
{
    (void)state;
    char *text = print(&(struct query){.top = 3}, TEXT);
    assert_string_equal(text,
                        "command    ./app\n"
                        "ran        4.000 s, exit status 0, pid 100\n"
                        "allocated  10.3 KiB in 123 allocations (7 by realloc), 64 freed\n"
                        "live       3.6 KiB in 59 blocks at end\n"
                        "peak       3.5 KiB at 1.900 s\n"
                        "temporary  18.7 % of allocations (23) were freed before the next one\n"
                        "threads    2\n"
                        "missing    3 events lost; 2 stacks cut off; 1 free of an unknown block\n"
                        "\n"
                        "live bytes by function: 3.6 KiB\n"
                        "   self     %  blocks    total     %  function        where\n"
                        "3.1 KiB  87.7      50  3.1 KiB  87.7  libx.so+0x1100  libx.so\n"
                        "  450 B  12.3       9    450 B  12.3  parse(int)      app.c:20\n"
                        "    0 B   0.0       0  3.1 KiB  87.7  worker          app.c:50\n"
                        "... 1 more row with 0 B of their own; --top 0 --min 0 shows all\n"
                        "\n"
                        "next: tidemark report app.tide --by stack --top 3\n");
    free(text);
}

/* However much there is to say, the summary has at most twelve lines and tells what was ignored. */
static void test_summary_lines(void **state)
{
    (void)state;
    struct recording *r = fx_sample();
    struct profile *p = &r->profiles.items[0];
    r->complete = false;
    r->incomplete = xstrdup("the file was cut after 10 bytes");
    p->peak_skew_bytes = 4096;
    p->host = xstrdup("host1");
    for (int i = 0; i < 5; i++)
        *vec_push(&p->notes) = xasprintf("note %d", i);
    struct query q = {.since = "1s", .filter.thread = "main", .top = QUERY_ALL};
    pattern_list_add(&q.filter.ignore, "Store", "--ignore", NULL);
    struct answer a;
    fx_answer(&a, r, &q);
    struct strbuf out = {0};
    summary_text(&a, &plain, &out);
    int lines = 0;
    for (size_t i = 0; i < out.size; i++)
        lines += out.data[i] == '\n';
    assert_int_equal(lines, SUMMARY_LINES);
    expect_part(out.data, "window     from 1s (1.000 s) to end (4.000 s); all");
    expect_part(out.data, "blocks, the change since 1s\n");
    expect_part(out.data, "ignored    0 B in 0 blocks by --ignore, not in the table\n");
    expect_part(out.data, "outside    3.1 KiB in 50 blocks not matching");
    expect_part(out.data, "incomplete the file was cut after 10 bytes; 3 events lost;");
    expect_part(out.data, "pid 100 on host1\n");
    expect_part(out.data, "may be off by up to 4.0 KiB");
    expect_part(out.data, "note       5 more notes; --json lists all\n");
    strbuf_release(&out);
    answer_release(&a);
    query_release(&q);
    recording_free(r);
}

static void test_processes(void **state)
{
    (void)state;
    struct recording *r = fx_sample();
    struct profile *child = fx_profile(r, 101, 100, "./child");
    *vec_push(&child->command) = xstrdup("two words");
    child->signal = 11;
    child->exit_code = -1;
    fx_profile(r, 102, 101, "./grandchild\033[31m")->execed = true;
    char *text = print_of(r, &(struct query){.top = 1, .process = "101"}, TEXT, &plain);
    expect_part(
        text,
        "processes  3; this is about 101, child; --process PID picks another\n"
        "     100  app  peak 3.5 KiB, exit status 0\n"
        "       101  child 'two words'  peak 0 B, killed by SIGSEGV (signal 11)  <- this report\n"
        "         102  'grandchild?[31m'  peak 0 B, became another program\n"
        "\n"
        "command    ./child 'two words'\n");
    expect_part(text, "complete   no event lost, no stack cut off, no unknown frees\n");
    expect_part(text, "nothing to show\n");
    assert_null(strchr(text, '\033'));
    free(text);
    text = print_of(r, &(struct query){.top = 1}, TEXT, &plain);
    expect_part(text, "processes  3; this is about 100, app, which has the highest peak; --process "
                      "PID picks another\n");
    free(text);
    r->profiles.items[1].memory_peak_bytes = 5 << 20;
    text = print_of(r, &(struct query){.top = 1}, TEXT, &plain);
    expect_part(text,
                "processes  3; this is about 101, child, which held the most memory, including "
                "mappings; --process\n");
    expect_part(text, "     101  child 'two wo...  peak 0 B (with mappings 5.0 MiB), killed by ");
    free(text);
    recording_free(r);
}

/* A title is no path, whatever it ends with. */
static void test_title_of_a_process(void **state)
{
    (void)state;
    struct recording *r = fx_sample();
    fx_profile(r, 101, 100, "nginx: worker process /usr/sbin/nginx -c /etc/nginx.conf")
        ->peak_bytes = 4000;
    char *text = print_of(r, &(struct query){.top = 1, .process = "101"}, TEXT, &plain);
    expect_part(text, "       101  'nginx: worker process /usr/sbin/nginx ");
    free(text);
    struct profile *chromium = fx_profile(r, 102, 100, "/usr/lib/chromium --type=gpu --dir=/tmp/x");
    free(chromium->executable);
    chromium->executable = xstrdup("/usr/lib/chromium");
    text = print_of(r, &(struct query){.top = 1, .process = "101"}, TEXT, &plain);
    expect_part(text, "     102  'chromium --type=gpu --dir=/tmp/x'");
    free(text);
    recording_free(r);
}

/* What a process started is below it, whatever started in between. Small ones share a line. */
static void test_tree_of_processes(void **state)
{
    (void)state;
    struct recording *r = recording_new();
    fx_profile(r, 10, 1, "clone")->peak_bytes = 40000;
    fx_profile(r, 11, 10, "upload")->peak_bytes = 30000;
    fx_profile(r, 12, 10, "index")->peak_bytes = 20000;
    fx_profile(r, 13, 11, "pack")->peak_bytes = 50000;
    fx_profile(r, 14, 10, "sleep")->peak_bytes = 499;
    char *text = print_of(r, &(struct query){.top = 1}, TEXT, &plain);
    expect_part(text, "      10  clone  peak 39.1 KiB, exit status 0\n"
                      "        11  upload  peak 29.3 KiB, exit status 0\n"
                      "          13  pack  peak 48.8 KiB, exit status 0  <- this report\n"
                      "        12  index  peak 19.5 KiB, exit status 0\n"
                      "        14  sleep  peak 499 B, exit status 0\n\n");
    free(text);
    fx_profile(r, 15, 10, "cat")->peak_bytes = 400;
    text = print_of(r, &(struct query){.top = 1}, TEXT, &plain);
    expect_part(text, "        12  index  peak 19.5 KiB, exit status 0\n"
                      "          and 2 more, peak at most 499 B; --json lists all\n\n");
    free(text);
    r->profiles.items[4].peak_bytes = 500; /* a hundredth of the largest is not small */
    text = print_of(r, &(struct query){.top = 1}, TEXT, &plain);
    expect_part(text, "        14  sleep  peak 500 B, exit status 0\n"
                      "        15  cat  peak 400 B, exit status 0\n\n");
    free(text);
    recording_free(r);
}

static void test_narrow(void **state)
{
    (void)state;
    struct recording *r = fx_sample();
    const struct style narrow = {.width = 60};
    char *text = print_of(
        r, &(struct query){.metric = METRIC_TOTAL, .filter.no_fold = true, .top = QUERY_ALL}, TEXT,
        &narrow);
    expect_part(text, "28.6  _M_realloc...  ");
    char *table = strstr(text, "\n\n");
    for (char *line = strtok(table, "\n"); line; line = strtok(NULL, "\n"))
        if (strncmp(line, "next", 4) != 0 && strlen(line) > 60)
            fail_msg("too wide: %s", line);
    free(text);
    const struct style colour = {.width = 100, .colour = true};
    text = print_of(r, &(struct query){.top = 1}, TEXT, &colour);
    expect_part(text, "\033[1mcommand    \033[0m./app\n");
    free(text);
    recording_free(r);
}

static void test_other_tables(void **state)
{
    (void)state;
    char *text = print(&(struct query){.top = QUERY_ALL, .by = BY_THREAD}, TEXT);
    expect_part(text, "   self     %  blocks  thread\n"
                      "3.1 KiB  87.7      50  worker\n"
                      "  450 B  12.3       9  main\n");
    free(text);
    text = print(&(struct query){.top = QUERY_ALL, .by = BY_LIBRARY}, TEXT);
    expect_part(text, "3.1 KiB  87.7      50  3.1 KiB   87.7  libx.so\n"
                      "  450 B  12.3       9  3.6 KiB  100.0  app\n");
    free(text);
    text =
        print(&(struct query){.top = QUERY_ALL, .shape = SHAPE_TREE, .metric = METRIC_PEAK}, TEXT);
    expect_part(text, "3.5 KiB  100.0      18           main               app.c:10\n"
                      "2.9 KiB   83.3       3  2.9 KiB    Store::add(int)  store.cc:30\n");
    free(text);
    text = print(&(struct query){.top = 1, .by = BY_STACK}, TEXT);
    expect_part(text, "3.1 KiB (87.7 %) in 50 blocks, thread worker\n"
                      "    libx.so+0x1100  libx.so\n"
                      "    worker  app.c:50\n");
    free(text);
    text = print(&(struct query){.top = QUERY_ALL, .since = "peak"}, TEXT);
    expect_part(text, "\nchange of live bytes by function: 50 B\n");
    expect_part(text, "-2.9 KiB  -47.2      -3  -2.9 KiB  -47.2  Store::add(int)  store.cc:30\n");
    free(text);
}

static void expect_unit(void (*add)(struct strbuf *, int64_t), int64_t value, const char *text)
{
    struct strbuf b = {0};
    add(&b, value);
    assert_string_equal(b.data, text);
    strbuf_release(&b);
}

static void add_time(struct strbuf *b, int64_t ns)
{
    unit_time(b, (uint64_t)ns);
}

static void fill_table(struct table *t)
{
    table_init(t);
    table_column(t, "mark", CELL_PATH);
    table_column(t, "RSS", CELL_RIGHT);
    table_column(t, "held", CELL_RIGHT);
    table_column(t, "free", CELL_RIGHT);
    table_column(t, "values", CELL_WORDS);
    table_spare(t, "free");
    table_spare(t, "held");
    strbuf_puts(table_cell(t), "a label that is long#12");
    strbuf_puts(table_cell(t), "1023.9 KiB");
    strbuf_puts(table_cell(t), "1023.8 KiB");
    strbuf_puts(table_cell(t), "1023.7 KiB");
    strbuf_puts(table_cell(t), "photons=123456 electrons=7");
}

/* Numbers are never cut: a column goes, and a line says which. */
static void test_no_room(void **state)
{
    (void)state;
    static const struct {
        size_t width;
        const char *text;
    } cases[] = {
        {100, "mark                            RSS        held        free  values\n"
              "a label that is long#12  1023.9 KiB  1023.8 KiB  1023.7 KiB  photons=123456 "
              "electrons=7\n"},
        {60, "mark                  RSS        held  values\n"
             "...is long#12  1023.9 KiB  1023.8 KiB  photons=123456 ...\n"
             "no room for: free; COLUMNS=200 or --csv shows them\n"},
        {50, "mark                   RSS  values\n"
             "... is long#12  1023.9 KiB  photons=123456 ...\n"
             "no room for: held, free; COLUMNS=200 or --csv shows them\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct style style = {.width = cases[i].width};
        struct strbuf out = {0};
        struct table t;
        fill_table(&t);
        table_print(&t, &style, &out);
        assert_string_equal(out.data, cases[i].text);
        table_release(&t);
        strbuf_release(&out);
    }
}

static void test_wrap(void **state)
{
    (void)state;
    struct strbuf out = {0};
    strbuf_puts(&out, "kept\n");
    size_t start = out.size;
    strbuf_puts(&out, "\033[1mlabel      \033[0mone two three\303\244 four");
    wrap_since(&out, start, 11, 25);
    assert_string_equal(out.data, "kept\n\033[1mlabel      \033[0mone two three\303\244\n"
                                  "           four");
    wrap_since(&out, start, 11, 100); /* it fits */
    strbuf_clear(&out);
    strbuf_puts(&out, "a_word_that_is_longer_than_the_line b");
    wrap_since(&out, 0, 2, 20);
    assert_string_equal(out.data, "a_word_that_is_longer_than_the_line\n  b");
    strbuf_release(&out);
}

/* Chains of calls stay where they are; what has sisters goes in. */
static void test_deep_trees(void **state)
{
    (void)state;
    uint32_t plain_tree[] = {0, 1, 2, 1}, in_two[] = {0, 2, 4, 2};
    assert_false(indent_tree(plain_tree, 4));
    assert_memory_equal(plain_tree, in_two, sizeof in_two);
    uint32_t deep[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 9, 3, 0};
    uint32_t columns[] = {0, 0, 0, 2, 2, 2, 2, 2, 2, 4, 4, 4, 2, 0};
    assert_true(indent_tree(deep, 14));
    assert_memory_equal(deep, columns, sizeof columns);
    assert_false(indent_tree(deep, 0));
}

static void test_counted(void **state)
{
    (void)state;
    struct strbuf out = {0};
    unit_counted(&out, 1, "wait");
    strbuf_putc(&out, ' ');
    unit_counted(&out, 1234, "wait");
    strbuf_putc(&out, ' ');
    unit_counted(&out, 0, "more process");
    assert_string_equal(out.data, "1 wait 1,234 waits 0 more processes");
    strbuf_release(&out);
}

static void test_units(void **state)
{
    (void)state;
    expect_unit(unit_bytes, 0, "0 B");
    expect_unit(unit_bytes, 1023, "1023 B");
    expect_unit(unit_bytes, 1024, "1.0 KiB");
    expect_unit(unit_bytes, -1536, "-1.5 KiB");
    expect_unit(unit_bytes, 1048575, "1.0 MiB"); /* never "1024.0 KiB" */
    expect_unit(unit_bytes, 10485760, "10.0 MiB");
    expect_unit(unit_bytes, INT64_MIN, "-8.0 EiB");
    expect_unit(unit_count, 0, "0");
    expect_unit(unit_count, 999, "999");
    expect_unit(unit_count, 1000, "1,000");
    expect_unit(unit_count, -1234567, "-1,234,567");
    expect_unit(add_time, 1500, "1.5 us");
    expect_unit(add_time, 2500000, "2.5 ms");
    expect_unit(add_time, 1234000000, "1.234 s");
    expect_unit(add_time, 125 * INT64_C(1000000000), "2 min 5 s");
    expect_unit(add_time, 7260 * INT64_C(1000000000), "2 h 1 min");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_json_stack),
        cmocka_unit_test(test_json_tree),
        cmocka_unit_test(test_json_callers),
        cmocka_unit_test(test_json_endings),
        cmocka_unit_test(test_json_deep_tree),
        cmocka_unit_test(test_csv),
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_summary_lines),
        cmocka_unit_test(test_processes),
        cmocka_unit_test(test_title_of_a_process),
        cmocka_unit_test(test_tree_of_processes),
        cmocka_unit_test(test_narrow),
        cmocka_unit_test(test_other_tables),
        cmocka_unit_test(test_units),
        cmocka_unit_test(test_no_room),
        cmocka_unit_test(test_wrap),
        cmocka_unit_test(test_deep_trees),
        cmocka_unit_test(test_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
