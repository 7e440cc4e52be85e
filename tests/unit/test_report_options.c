/* The options of commands that ask questions. The command line is no library, so its source is
 * taken in. */
#include "test_model_fixture.h"

#include "cli/options.c"
#include "cli/query_options.c"

static int extra_value;

static int take_extra(void *context, int val, const char *argument, struct err *err)
{
    (void)err;
    assert_ptr_equal(context, &extra_value);
    assert_int_equal(val, QUERY_EXTRA);
    extra_value = atoi(argument);
    return 0;
}

static const struct option extra[] = {{"older", required_argument, NULL, QUERY_EXTRA}, {0}};

static int parse(struct query_options *o, struct err *err, const char *line)
{
    static char text[512]; /* options point into it */
    static char *argv[64];
    const struct query_command command = {
        .name = "report", .files = 1, .extra = extra, .take = take_extra, .context = &extra_value};
    int argc = 0;
    snprintf(text, sizeof text, "report %s", line);
    for (char *word = strtok(text, " "); word; word = strtok(NULL, " "))
        argv[argc++] = word;
    argv[argc] = NULL;
    err->text[0] = '\0';
    return query_options_parse(o, argc, argv, &command, err);
}

static void test_defaults(void **state)
{
    (void)state;
    struct query_options o;
    struct err err;
    assert_int_equal(parse(&o, &err, "a.tide"), 0);
    assert_string_equal(o.files.items[0], "a.tide");
    assert_int_equal(o.query.metric, METRIC_LIVE);
    assert_int_equal(o.query.by, BY_FUNCTION);
    assert_int_equal(o.query.shape, SHAPE_TABLE);
    assert_true(o.query.top == QUERY_ALL);
    assert_false(o.top_given || o.min_given || o.help);
    assert_int_equal(o.output, OUTPUT_TEXT);
    query_options_release(&o);
}

static void test_all(void **state)
{
    (void)state;
    struct query_options o;
    struct err err;
    assert_int_equal(
        parse(&o, &err,
              "--metric=total --size usable --by line --at 50% a.tide --since=start --callers f "
              "--top 7 --min 2.5 --within a --within b --ignore c --fold d --no-fold "
              "--merge s/a/b/ --thread main --python-only --process 12 --json --older 9"),
        0);
    assert_string_equal(o.files.items[0], "a.tide");
    assert_int_equal(o.query.metric, METRIC_TOTAL);
    assert_int_equal(o.query.size, SIZE_USABLE);
    assert_int_equal(o.query.by, BY_LINE);
    assert_string_equal(o.query.at, "50%");
    assert_string_equal(o.query.since, "start");
    assert_int_equal(o.query.shape, SHAPE_CALLERS);
    assert_string_equal(o.query.function, "f");
    assert_int_equal(o.query.top, 7);
    assert_true(o.query.min_percent == 2.5 && o.top_given && o.min_given);
    assert_int_equal(o.query.filter.within.patterns.count, 2);
    assert_int_equal(o.query.filter.ignore.patterns.count, 1);
    assert_int_equal(o.query.filter.fold.patterns.count, 1);
    assert_int_equal(o.query.filter.merge.rules.count, 1);
    assert_true(o.query.filter.no_fold && o.query.filter.python_only &&
                !o.query.filter.native_only);
    assert_string_equal(o.query.filter.thread, "main");
    assert_string_equal(o.query.process, "12");
    assert_int_equal(o.output, OUTPUT_JSON);
    assert_int_equal(extra_value, 9);
    query_options_release(&o);
    assert_int_equal(parse(&o, &err, "--top 0 a.tide --tree --csv --native-only"), 0);
    assert_true(o.query.top == QUERY_ALL && o.top_given);
    assert_int_equal(o.query.shape, SHAPE_TREE);
    assert_int_equal(o.output, OUTPUT_CSV);
    query_options_release(&o);
    assert_int_equal(parse(&o, &err, "--help"), 0);
    assert_true(o.help);
    query_options_release(&o);
}

static void expect_wrong(const char *line, const char *text)
{
    struct query_options o;
    struct err err;
    assert_int_equal(parse(&o, &err, line), -EINVAL);
    if (!strstr(err.text, text) || strchr(err.text, '\n'))
        fail_msg("'%s' gives '%s', not '%s'", line, err.text, text);
}

static void test_wrong(void **state)
{
    (void)state;
    expect_wrong("", "a recording is missing: tidemark report FILE");
    expect_wrong("a b", "'b' is one file too many");
    expect_wrong("a --mertic x", "unknown option '--mertic'; did you mean --metric?");
    expect_wrong("a --mertic=x", "unknown option '--mertic'; did you mean --metric?");
    expect_wrong("a --frobnicate", "tidemark report --help lists the options");
    expect_wrong("a -x", "unknown option '-x'; tidemark report --help");
    expect_wrong("a --m live", "option '--m' may mean --metric, --min, --merge");
    expect_wrong("a --metric lives",
                 "--metric 'lives' is not known; it is one of live, total, peak, "
                 "sitepeak, largest, temporary, mapped, pool, gpu, tensor, cpu, faults");
    expect_wrong("a --by colour", "--by 'colour' is not known; it is one of function, line, stack, "
                                  "library, file, thread");
    expect_wrong("a --size big",
                 "--size 'big' is not known; it is one of requested, usable, overhead");
    expect_wrong("a --at", "--at needs a value");
    expect_wrong("a --json=1", "--json takes no value");
    expect_wrong("a --top x", "--top 'x' is not a number of rows");
    expect_wrong("a --top -1", "--top '-1' is not a number of rows");
    expect_wrong("a --min 101", "--min '101' is not a percentage");
    expect_wrong("a --ignore (", "--ignore '(' is not an extended regular expression");
    expect_wrong("a --merge x", "--merge 'x' is not of the form");
    expect_wrong("a --json --csv", "--json and --csv exclude each other");
    expect_wrong("a --tree --callers f", "exclude each other");
}

/* What --help says must be what is there. */
static void test_help(void **state)
{
    (void)state;
    for (size_t i = 0; i < COMMON; i++) {
        char word[32];
        snprintf(word, sizeof word, "--%s", common[i].name);
        if (!strstr(query_options_help(), word))
            fail_msg("--help does not tell of %s", word);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_all),
        cmocka_unit_test(test_wrong),
        cmocka_unit_test(test_help),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
