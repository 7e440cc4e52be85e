#include "answer/report_columns.h"

#include <string.h>

#include "base/say.h"
#include "model/imported.h"
#include "answer/histogram.h"
#include "answer/location.h"
#include "answer/merge.h"
#include "answer/stack_text.h"

static const struct answer *answer_of(struct spot s)
{
    return ((const struct report_table *)s.answer)->answer;
}

/* The share of self, or of total. */
enum { SHARE_SELF, SHARE_TOTAL };

#define MERGED   1u /* condition in struct rows.is: the recording was merged */
#define OF_TOTAL 64 /* added to enum merge_column, and to these: */
#define SAMPLED  2u /* condition in struct rows.is: figures are estimates */
#define THREADS  4u /* condition in struct rows.is: a row is about threads of the same name */
enum { ESTIMATE_LOW, ESTIMATE_HIGH, ESTIMATE_HALF };

static struct cell get_share(struct spot s)
{
    const struct answer_row *row = s.row;
    int64_t scale = answer_of(s)->tree.scale;
    int64_t part = s.column->number == SHARE_SELF ? row->self.amount : row->total.amount;
    return scale ? CELL_OF((double)part / (double)scale) : CELL_NOT_KNOWN;
}

/* In a tree most calls have nothing of their own. */
static struct cell get_own(struct spot s)
{
    const struct answer_row *row = s.row;
    return value_is_zero(row->self) ? CELL_OF("") : CELL_OF(row->self.amount);
}

static struct cell get_where(struct spot s)
{
    const struct answer_row *row = s.row;
    enum grouping by = answer_of(s)->query->by;
    if (row->threads > 1 && by == BY_THREAD)
        say(s.made, "%d threads", row->threads);
    else if (by != BY_LIBRARY)
        location_put(s.made, by == BY_FILE && row->module ? NULL : row->file, row->line,
                     row->module);
    return CELL_OF(s.made->data);
}

static struct cell get_stack(struct spot s)
{
    const struct answer *a = answer_of(s);
    const struct answer_row *row = s.row;
    stack_names(&a->frames, a->merged.parent.items, a->merged.key.items, row->call, s.made);
    return CELL_OF(s.made->data);
}

static void json_row_stack(struct spot s, const char *key, struct json *j)
{
    const struct report_table *t = s.answer;
    const struct answer_row *row = s.row;
    (void)key;
    /* The texts of frames are kept from one row to the next. */
    json_stack(j, (struct json_stacks *)&t->stacks, &t->answer->merged, row->call);
}

static void json_row_histogram(struct spot s, const char *key, struct json *j)
{
    const struct answer *a = answer_of(s);
    size_t row = (size_t)((const struct answer_row *)s.row - a->rows.rows.items);
    (void)key;
    if (a->query->histogram_rows)
        histogram_json(j, &a->histograms, &a->histograms.rows.items[row]);
}

static struct cell get_spread(struct spot s)
{
    const struct answer_row *row = s.row;
    bool total = s.column->number & OF_TOTAL;
    return merge_cell(answer_of(s)->profile->merge, total ? row->total_spread : row->self_spread,
                      total ? row->total.amount : row->self.amount,
                      (enum merge_column)(s.column->number & ~OF_TOTAL));
}

/* How a value is spread over the inputs of a merged recording. */
#define SPREAD(key, title, kind, what)                                                             \
    {                                                                                              \
        key, title, kind, .get = get_spread, .number = what, .json_if = MERGED, .csv_if = MERGED,  \
                          .text_if = MERGED                                                        \
    }
#define SELF_SPREAD(mean, max, where)                                                              \
    SPREAD("inputs", NULL, COLUMN_COUNT, MERGE_INPUTS),                                            \
        SPREAD("min_bytes", NULL, COLUMN_AMOUNT, MERGE_MIN),                                       \
        SPREAD("mean_bytes", mean, COLUMN_AMOUNT, MERGE_MEAN),                                     \
        SPREAD("max_bytes", max, COLUMN_AMOUNT, MERGE_MAX),                                        \
        SPREAD("max_input", where, COLUMN_WORD, MERGE_WHERE)
#define TOTAL_SPREAD                                                                               \
    SPREAD("total_inputs", NULL, COLUMN_COUNT, MERGE_INPUTS | OF_TOTAL),                           \
        SPREAD("total_min_bytes", NULL, COLUMN_AMOUNT, MERGE_MIN | OF_TOTAL),                      \
        SPREAD("total_mean_bytes", NULL, COLUMN_AMOUNT, MERGE_MEAN | OF_TOTAL),                    \
        SPREAD("total_max_bytes", NULL, COLUMN_AMOUNT, MERGE_MAX | OF_TOTAL),                      \
        SPREAD("total_max_input", NULL, COLUMN_WORD, MERGE_WHERE | OF_TOTAL)

static struct cell get_estimate(struct spot s)
{
    const struct answer *a = answer_of(s);
    const struct answer_row *row = s.row;
    struct estimate e =
        estimate_of(a->profile, s.column->number & OF_TOTAL ? row->total.amount : row->self.amount);
    if (!estimate_known(a->profile, a->query->metric, a->query->size, &a->window))
        return CELL_NOT_KNOWN;
    switch (s.column->number & ~OF_TOTAL) {
    case ESTIMATE_LOW:
        return CELL_OF(e.low);
    case ESTIMATE_HIGH:
        return CELL_OF(e.high);
    default:
        return CELL_OF((e.high - e.low) / 2);
    }
}

/* The 95 % interval of an estimate; in text, half of its width. */
#define ESTIMATE(key, title, what)                                                                 \
    {                                                                                              \
        key, title, COLUMN_AMOUNT, .get = get_estimate, .number = what, .json_if = SAMPLED,        \
                                   .csv_if = SAMPLED, .text_if = SAMPLED                           \
    }
#define SELF_ESTIMATE                                                                              \
    ESTIMATE("low_bytes", NULL, ESTIMATE_LOW), ESTIMATE("high_bytes", NULL, ESTIMATE_HIGH)
#define TOTAL_ESTIMATE                                                                             \
    ESTIMATE("total_low_bytes", NULL, ESTIMATE_LOW | OF_TOTAL),                                    \
        ESTIMATE("total_high_bytes", NULL, ESTIMATE_HIGH | OF_TOTAL)

#define ROW(member) FIELD(struct answer_row, member)
#define LABEL                                                                                      \
    {"name", NULL, COLUMN_NAME, ROW(name)}, {"module", NULL, COLUMN_WORD, ROW(module)},            \
        {"file", NULL, COLUMN_PATH, ROW(file)},                                                    \
    {                                                                                              \
        "line", NULL, COLUMN_COUNT, ROW(line), .zero_is_unknown = true                             \
    }
#define LABEL_COLUMNS 4
#define HISTOGRAM                                                                                  \
    {                                                                                              \
        "histogram", NULL, COLUMN_WORDS, .json = json_row_histogram                                \
    }

static struct cell get_not_known(struct spot s)
{
    (void)s;
    return CELL_NOT_KNOWN;
}

/* An imported recording may have bytes only, or no threads. */
static void hide_unknown(const struct answer *a, struct column_def *columns, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const char *key = columns[i].key ? columns[i].key : "";
        bool counts = strcmp(key, "count") == 0 || strcmp(key, "self_count") == 0 ||
                      strcmp(key, "total_count") == 0;
        if ((counts && !known_counts(a->profile, a->query->metric)) ||
            (strcmp(key, "thread") == 0 && profile_lacks(a->profile, UNKNOWN_THREADS)))
            columns[i].type = 0, columns[i].get = get_not_known;
    }
}

static void use(struct report_table *t, const struct column_def *columns, size_t count,
                size_t label, size_t label_count)
{
    const struct answer *a = t->answer;
    memcpy(t->columns, columns, count * sizeof *columns);
    hide_unknown(a, t->columns, count);
    t->rows = (struct rows){
        .columns = t->columns,
        .column_count = count,
        .answer = t,
        ITEMS(a->rows.rows),
        .metric = a->query->metric,
        .is = (a->profile->merge ? MERGED : 0) | (a->query->by == BY_THREAD ? THREADS : 0) |
              (metric_is_estimated(a->profile, a->query->metric) ? SAMPLED : 0)};
    t->label = t->values = t->rows;
    t->label.columns += label;
    t->label.column_count = label_count;
    t->values.columns += label + label_count;
    t->values.column_count -= label + label_count;
}

#define USE(t, columns, label, label_count)                                                        \
    use(t, columns, sizeof(columns) / sizeof *(columns), label, label_count)

static void use_stacks(struct report_table *t)
{
    static const struct column_def columns[] = {
        {"bytes", NULL, COLUMN_AMOUNT, ROW(self.amount)},
        {"count", NULL, COLUMN_COUNT, ROW(self.count)},
        {"thread", NULL, COLUMN_TITLE, ROW(thread)},
        {"stack", NULL, COLUMN_WORDS, .get = get_stack, .json = json_row_stack},
        HISTOGRAM,
        SELF_SPREAD(NULL, NULL, NULL),
        SELF_ESTIMATE,
    };
    USE(t, columns, 2, 2);
}

static void use_tree(struct report_table *t)
{
    const struct column_def columns[] = {
        {"depth", NULL, COLUMN_COUNT, ROW(depth), .json_if = COLUMN_NEVER},
        LABEL,
        {"self_bytes", NULL, COLUMN_AMOUNT, ROW(self.amount)},
        {"self_count", NULL, COLUMN_COUNT, ROW(self.count)},
        SELF_ESTIMATE,
        {"total_bytes", "total", COLUMN_AMOUNT, ROW(total.amount)},
        ESTIMATE(NULL, "+-", ESTIMATE_HALF | OF_TOTAL),
        TOTAL_ESTIMATE,
        {NULL, "%", COLUMN_PERCENT, .get = get_share, .number = SHARE_TOTAL},
        {"total_count", report_count_title(t->answer->query->metric), COLUMN_COUNT,
         ROW(total.count)},
        {NULL, "self", COLUMN_AMOUNT, .get = get_own},
        {NULL, "depth", COLUMN_COUNT, ROW(depth), .text_if = COLUMN_DEEP},
        {NULL, "call tree", COLUMN_CALL, ROW(name)},
        {NULL, "where", COLUMN_PATH, .get = get_where},
    };
    USE(t, columns, 1, LABEL_COLUMNS);
    t->rows.depth = 1 + offsetof(struct answer_row, depth);
}

static void use_table(struct report_table *t)
{
    enum grouping by = t->answer->query->by;
    bool thread = by == BY_THREAD, file = by == BY_FILE;
    const struct column_def columns[] = {
        LABEL,
        {"self_bytes", "self", COLUMN_AMOUNT, ROW(self.amount)},
        ESTIMATE(NULL, "+-", ESTIMATE_HALF),
        SELF_ESTIMATE,
        {NULL, "%", COLUMN_PERCENT, .get = get_share, .number = SHARE_SELF},
        {"self_count", report_count_title(t->answer->query->metric), COLUMN_COUNT, ROW(self.count)},
        {"total_bytes", thread ? NULL : "total", COLUMN_AMOUNT, ROW(total.amount)},
        TOTAL_ESTIMATE,
        {NULL, thread ? NULL : "%", COLUMN_PERCENT, .get = get_share, .number = SHARE_TOTAL},
        {"total_count", NULL, COLUMN_COUNT, ROW(total.count)},
        SELF_SPREAD("mean", "max", "in"),
        TOTAL_SPREAD,
        {"threads", NULL, COLUMN_COUNT, ROW(threads), .zero_is_unknown = true, .optional = true,
         .csv_if = THREADS},
        HISTOGRAM,
        {NULL, grouping_name(by),
         file     ? COLUMN_PATH
         : thread ? COLUMN_TITLE
                  : COLUMN_NAME,
         ROW(name)},
        {NULL,
         by == BY_LIBRARY ? NULL
         : file           ? "library"
         : thread         ? ""
                          : "where",
         file ? COLUMN_WORD : COLUMN_PATH, .get = get_where},
    };
    USE(t, columns, 0, LABEL_COLUMNS);
}

void report_table_init(struct report_table *t, const struct answer *a)
{
    *t = (struct report_table){.answer = a, .stacks = {.frames = &a->frames}};
    if (a->query->shape == SHAPE_TREE)
        use_tree(t);
    else if (a->query->by == BY_STACK)
        use_stacks(t);
    else
        use_table(t);
}

void report_table_release(struct report_table *t)
{
    json_stacks_release(&t->stacks);
}
