/* A table described once: its text, its JSON and its CSV. */
#include "answer/columns.h"
#include "unit.h"

struct pair {
    uint64_t bytes, count;
};

struct line {
    const char *name;
    uint32_t number;
    int64_t change;
    bool known;
    struct pair self;
};

static bool is_known(const void *row)
{
    return ((const struct line *)row)->known;
}

static const char *title_of_name(const void *answer)
{
    return answer;
}

static const struct column_def of_pair[] = {
    {"bytes", NULL, COLUMN_BYTES, FIELD(struct pair, bytes)},
    {"count", NULL, COLUMN_COUNT, FIELD(struct pair, count)},
};

static const struct column_def columns[] = {
    {"change", "change", COLUMN_BYTES, FIELD(struct line, change), .plus = true},
    {"name", NULL, COLUMN_NAME, FIELD(struct line, name), .title_of = title_of_name},
    {"line", NULL, COLUMN_COUNT, FIELD(struct line, number), .zero_is_unknown = true},
    {"once", NULL, COLUMN_COUNT, FIELD(struct line, number), .known = is_known, .optional = true,
     .csv_if = COLUMN_NEVER},
    {"self", NULL, COLUMN_WORD, FIELDS(struct line, self, of_pair), .known = is_known},
};

static const struct line lines[] = {
    {"work", 12, 2048, true, {100, 2}},
    {"a, b", 0, -3, false, {0}},
};

static struct rows table(void)
{
    return (struct rows){COLUMN_DEFS(columns), .items = lines, .item_size = sizeof *lines,
                         .count = 2, .answer = "function"};
}

static void test_text(void **state)
{
    struct rows rows = table();
    struct strbuf out = {0};
    (void)state;
    rows_text(&rows, &(struct style){.width = 80}, &out);
    assert_string_equal(out.data, "  change  function\n"
                                  "+2.0 KiB  work\n"
                                  "    -3 B  a, b\n");
    strbuf_release(&out);
}

static void test_json(void **state)
{
    struct rows rows = table();
    struct strbuf out = {0};
    struct json j;
    (void)state;
    json_init(&j, &out);
    rows_json(&rows, NULL, NULL, &j);
    assert_string_equal(out.data,
                        "[{\"change\":2048,\"name\":\"work\",\"line\":12,\"once\":12,"
                        "\"self\":{\"bytes\":100,\"count\":2}},"
                        "{\"change\":-3,\"name\":\"a, b\",\"line\":null,\"self\":null}]\n");
    strbuf_release(&out);
}

static void test_csv(void **state)
{
    struct rows rows = table();
    struct strbuf out = {0};
    (void)state;
    rows_csv(&rows, NULL, &out);
    rows.continued = true;
    rows.count = 1;
    rows_csv(&rows, NULL, &out);
    assert_string_equal(out.data, "change,name,line,self_bytes,self_count\n"
                                  "2048,work,12,100,2\n"
                                  "-3,\"a, b\",,,\n"
                                  "2048,work,12,100,2\n");
    strbuf_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_csv),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
