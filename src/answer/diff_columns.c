/*
 * The columns of `tidemark diff`, and its JSON and CSV. diff_text.c writes the text around the
 * table; model/diff.c matches the rows and decides their order.
 */
#include "answer/diff.h"

#include "answer/columns.h"
#include "answer/json_parts.h"
#include "answer/location.h"
#include "model/imported.h"

const char *diff_status_name(enum diff_status s)
{
    static const char *const names[] = {
        [DIFF_SAME] = "same", [DIFF_CHANGED] = "changed", [DIFF_NEW] = "new", [DIFF_GONE] = "gone"};
    return names[s];
}

/* --- columns ---------------------------------------------------------------------------------- */

/* The rows as they are listed. */
struct listed {
    const struct diff *diff;
    struct json_stacks *stacks; /* for JSON, of each side */
};

static const struct query *query_of(const void *answer)
{
    return ((const struct listed *)answer)->diff->query;
}

static bool is_tree(const void *answer)
{
    return query_of(answer)->shape == SHAPE_TREE;
}

static const char *title_of_count(const void *answer)
{
    return report_count_title(query_of(answer)->metric);
}

static const char *title_of_name(const void *answer)
{
    return is_tree(answer) ? "call tree" : grouping_name(query_of(answer)->by);
}

/* What columns depend on. */
enum {
    TREE = 1,
    STACK = 4,
    NO_STACK = 8,
    FILES = 16,
    THREADS = 32,
    NAMES = 64,
    PLACED = 128,
    TOTALS = 256
};

static unsigned kind_of(const struct listed *l)
{
    enum grouping by = query_of(l)->by;
    bool tree = is_tree(l);
    return (tree ? TREE : 0u) | (by == BY_STACK ? STACK : NO_STACK) |
           (by == BY_FILE     ? FILES
            : by == BY_THREAD ? THREADS
                              : NAMES) |
           (by == BY_FUNCTION || by == BY_LINE ? PLACED : 0u) |
           (by != BY_THREAD && !tree ? TOTALS : 0u);
}

/* What a column shows: one side or the change; self, total, or what a tree or table shows; the
 * amount or the count. */
enum { A, B, CHANGE, SIDE = 3, TOTAL = 4, SHOWN = 8, COUNT = 16 };

static const struct value *values_of(struct spot s)
{
    const struct diff_row *r = s.row;
    bool total = s.column->number & TOTAL || (s.column->number & SHOWN && is_tree(s.answer));
    return total ? r->total : r->self;
}

static struct cell get_value(struct spot s)
{
    const struct value *v = values_of(s);
    const struct diff *d = ((const struct listed *)s.answer)->diff;
    int side = s.column->number & SIDE;
    if (s.column->number & COUNT &&
        !(side == CHANGE ? d->counted : known_counts(d->side[side].profile, d->query->metric)))
        return CELL_NOT_KNOWN;
    struct value one = side == CHANGE ? value_change(v) : v[side];
    return CELL_OF(s.column->number & COUNT ? one.count : one.amount);
}

/* The change relative to the first recording; unknown if that has nothing. */
static struct cell get_share(struct spot s)
{
    const struct value *v = values_of(s);
    return v[0].amount ? CELL_OF((double)value_change(v).amount / (double)amount_size(v[0].amount))
                       : CELL_NOT_KNOWN;
}

static struct cell get_percent(struct spot s)
{
    struct cell share = get_share(s);
    share.real *= 100;
    return share;
}

static struct cell get_shown_share(struct spot s)
{
    const struct diff_row *r = s.row;
    return r->status == DIFF_NEW || r->status == DIFF_GONE ? CELL_OF(diff_status_name(r->status))
                                                           : get_share(s);
}

static struct cell get_status(struct spot s)
{
    return CELL_OF(diff_status_name(((const struct diff_row *)s.row)->status));
}

static struct cell get_place(struct spot s)
{
    const struct diff_row *r = s.row;
    location_put(s.made, r->file, r->line, r->module);
    return CELL_OF(s.made->data);
}

static struct cell get_stack(struct spot s)
{
    const struct diff *d = ((const struct listed *)s.answer)->diff;
    const struct diff_row *r = s.row;
    strbuf_puts(s.made, "");
    for (uint32_t n = r->node; n; n = d->nodes.items[n].parent)
        strbuf_printf(s.made, "%s%s", n == r->node ? "" : ";",
                      strpool_get(&d->names, d->nodes.items[n].name));
    return CELL_OF(s.made->data);
}

/* From the second recording, if it has the row. */
static void put_stack(struct spot s, const char *key, struct json *j)
{
    const struct listed *t = s.answer;
    const struct diff_row *r = s.row;
    int i = r->there[1];
    (void)key;
    json_stack(j, &t->stacks[i], &t->diff->side[i].answer.merged, r->call[i]);
}

#define ROW(member)    FIELD(struct diff_row, member)
#define VALUE(number_) .get = get_value, .number = (number_)
#define JSON_ONLY      .csv_if = COLUMN_NEVER
#define CSV_ONLY       .json_if = COLUMN_NEVER

/* JSON and CSV have some of these in a different order. */
static const struct column_def columns[] = {
    {NULL, "change", COLUMN_AMOUNT, VALUE(SHOWN | CHANGE), .plus = true},
    {NULL, "%", COLUMN_PERCENT, .get = get_shown_share, .number = SHOWN, .plus = true},
    {NULL, "a", COLUMN_AMOUNT, VALUE(SHOWN | A)},
    {NULL, "b", COLUMN_AMOUNT, VALUE(SHOWN | B)},
    {NULL, NULL, COLUMN_COUNT, VALUE(SHOWN | CHANGE | COUNT), .plus = true,
     .title_of = title_of_count},
    {NULL, "total", COLUMN_AMOUNT, VALUE(TOTAL | CHANGE), .plus = true, .text_if = TOTALS},
    {"depth", "depth", COLUMN_COUNT, ROW(depth), .text_if = COLUMN_DEEP, .csv_if = TREE, CSV_ONLY},
    {NULL, NULL, COLUMN_CALL, ROW(name), .title_of = title_of_name, .text_if = NAMES},
    {NULL, "file", COLUMN_PATH, ROW(name), .text_if = FILES},
    {NULL, "thread", COLUMN_TITLE, ROW(name), .text_if = THREADS},
    {NULL, "where", COLUMN_PATH, .get = get_place, .text_if = PLACED},
    {"status", NULL, COLUMN_WORD, .get = get_status, JSON_ONLY},
    {"name", NULL, COLUMN_NAME, ROW(name), .csv_if = NO_STACK},
    {"module", NULL, COLUMN_WORD, ROW(module), .csv_if = NO_STACK},
    {"file", NULL, COLUMN_PATH, ROW(file), .csv_if = NO_STACK},
    {"line", NULL, COLUMN_COUNT, ROW(line), .zero_is_unknown = true, .csv_if = NO_STACK},
    {"thread", NULL, COLUMN_TITLE, ROW(thread), .csv_if = STACK, CSV_ONLY},
    {"stack", NULL, COLUMN_WORDS, .get = get_stack, .csv_if = STACK, CSV_ONLY},
    {"status", NULL, COLUMN_WORD, .get = get_status, CSV_ONLY},
    {"a_bytes", NULL, COLUMN_AMOUNT, VALUE(A)},
    {"b_bytes", NULL, COLUMN_AMOUNT, VALUE(B)},
    {"change_bytes", NULL, COLUMN_AMOUNT, VALUE(CHANGE), CSV_ONLY},
    {"a_count", NULL, COLUMN_COUNT, VALUE(A | COUNT)},
    {"b_count", NULL, COLUMN_COUNT, VALUE(B | COUNT)},
    {"change_bytes", NULL, COLUMN_AMOUNT, VALUE(CHANGE), JSON_ONLY},
    {"change_count", NULL, COLUMN_COUNT, VALUE(CHANGE | COUNT)},
    {"change_percent", NULL, COLUMN_REAL, .get = get_percent, JSON_ONLY},
    {"a_total_bytes", NULL, COLUMN_AMOUNT, VALUE(A | TOTAL)},
    {"b_total_bytes", NULL, COLUMN_AMOUNT, VALUE(B | TOTAL)},
    {"a_total_count", NULL, COLUMN_COUNT, VALUE(A | TOTAL | COUNT), JSON_ONLY},
    {"b_total_count", NULL, COLUMN_COUNT, VALUE(B | TOTAL | COUNT), JSON_ONLY},
    {"change_total_bytes", NULL, COLUMN_AMOUNT, VALUE(CHANGE | TOTAL)},
    {"change_total_count", NULL, COLUMN_COUNT, VALUE(CHANGE | TOTAL | COUNT), JSON_ONLY},
    /* B minus A, with the names of a report. */
    {"bytes", NULL, COLUMN_AMOUNT, VALUE(CHANGE), .json_if = STACK, JSON_ONLY},
    {"count", NULL, COLUMN_COUNT, VALUE(CHANGE | COUNT), .json_if = STACK, JSON_ONLY},
    {"self_bytes", NULL, COLUMN_AMOUNT, VALUE(CHANGE), .json_if = NO_STACK, JSON_ONLY},
    {"self_count", NULL, COLUMN_COUNT, VALUE(CHANGE | COUNT), .json_if = NO_STACK, JSON_ONLY},
    {"total_bytes", NULL, COLUMN_AMOUNT, VALUE(CHANGE | TOTAL), .json_if = NO_STACK, JSON_ONLY},
    {"total_count", NULL, COLUMN_COUNT, VALUE(CHANGE | TOTAL | COUNT), .json_if = NO_STACK,
     JSON_ONLY},
    {"depth", NULL, COLUMN_COUNT, ROW(depth), .json_if = TREE, JSON_ONLY},
    {"thread", NULL, COLUMN_TITLE, ROW(thread), .json_if = STACK, JSON_ONLY},
    {"stack", NULL, COLUMN_WORDS, .json = put_stack, .json_if = STACK},
};

/* For a tree, the text has all of its rows too. */
static bool is_row_shown(const void *answer, const void *row)
{
    return is_tree(answer) || ((const struct diff_row *)row)->status != DIFF_SAME;
}

static struct rows rows_of(const struct listed *t)
{
    return (struct rows){COLUMN_DEFS(columns),
                         ITEMS(t->diff->rows),
                         .answer = t,
                         .metric = t->diff->query->metric,
                         .is = kind_of(t),
                         .in_text = is_row_shown,
                         .depth = is_tree(t) ? 1 + offsetof(struct diff_row, depth) : 0};
}

void diff_table_text(const struct diff *d, const struct style *s, struct strbuf *out)
{
    struct rows rows = rows_of(&(struct listed){.diff = d});
    rows_text(&rows, s, out);
}

/* --- JSON and CSV ----------------------------------------------------------------------------- */

static void side_json(struct json *j, const char *key, const struct diff_side *s)
{
    json_object(j, key);
    json_string(j, "file", s->file);
    json_program(j, s->recording, s->profile);
    bool timed = !profile_lacks(s->profile, UNKNOWN_TIME);
    json_u64_if(j, "since_ns", timed, s->answer.window.since.time_ns);
    json_u64_if(j, "at_ns", timed, s->answer.window.at.time_ns);
    json_string(j, "missing", s->missing.text[0] ? s->missing.text : NULL);
    json_ignored(j, &s->answer.tree);
    json_value_if(j, "outside", s->answer.tree.outside, known_counts(s->profile, s->query.metric));
    json_processes(j, s->recording, s->profile);
    json_end(j);
}

static void sums_json(struct json *j, const struct diff *d)
{
    const struct value sums[2] = {d->side[0].answer.tree.sum, d->side[1].answer.tree.sum};
    json_object(j, "sum");
    json_value_if(j, "a", sums[0], known_counts(d->side[0].profile, d->query->metric));
    json_value_if(j, "b", sums[1], known_counts(d->side[1].profile, d->query->metric));
    json_value_if(j, "change", value_change(sums), d->counted);
    json_end(j);
    json_object(j, "totals");
    json_totals_as(j, "a", &d->side[0].answer.totals);
    json_totals_as(j, "b", &d->side[1].answer.totals);
    json_object(j, "change");
    json_totals_change(j, &d->side[0].answer.totals, &d->side[1].answer.totals);
    json_end(j);
    json_totals_change(j, &d->side[0].answer.totals, &d->side[1].answer.totals);
    json_end(j);
}

void diff_json(const struct diff *d, const struct report_sink *sink, struct strbuf *out)
{
    static const char *const shapes[] = {"table", "tree", "callers", "callees"};
    const struct query *q = d->query;
    struct json_stacks stacks[2] = {{.frames = &d->side[0].answer.frames},
                                    {.frames = &d->side[1].answer.frames}};
    struct json j;
    json_init(&j, out);
    json_object(&j, NULL);
    json_string(&j, "schema", "tidemark.diff/1");
    json_program(&j, d->side[1].recording, d->side[1].profile);
    json_string(&j, "since", q->since ? q->since : "start");
    json_string(&j, "at", q->at ? q->at : q->metric == METRIC_PEAK ? "peak" : "end");
    json_string(&j, "metric", metric_name(q->metric));
    json_string(&j, "size", size_kind_name(q->size));
    json_string(&j, "by", grouping_name(q->by));
    json_string(&j, "shape", shapes[q->shape]);
    json_bool(&j, "same", diff_is_empty(d));
    side_json(&j, "a", &d->side[0]);
    side_json(&j, "b", &d->side[1]);
    sums_json(&j, d);
    json_object(&j, "rows_by_status");
    for (int i = 0; i < DIFF_STATUSES; i++)
        json_u64(&j, diff_status_name((enum diff_status)i), d->count[i]);
    json_end(&j);
    json_u64(&j, "rows_left_out", d->left_out);
    struct rows rows = rows_of(&(struct listed){.diff = d, .stacks = stacks});
    rows_json(&rows, "rows", sink, &j);
    diff_marks_json(d, &j);
    json_end(&j);
    json_stacks_release(&stacks[0]);
    json_stacks_release(&stacks[1]);
}

void diff_csv(const struct diff *d, const struct report_sink *sink, struct strbuf *out)
{
    struct rows rows = rows_of(&(struct listed){.diff = d});
    rows_csv(&rows, sink, out);
}
