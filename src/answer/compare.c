/* One run compared with several at once: the table, JSON and CSV. */
#include "answer/compare.h"

#include <math.h>
#include <sys/wait.h>

#include "base/say.h"
#include "answer/columns.h"
#include "answer/json_parts.h"
#include "answer/location.h"
#include "answer/stack_text.h"

/* --- cells of the text ------------------------------------------------------------------------ */

/* A unit of work may take a thousandth of a millisecond, and a quarter of a fault. */
void compare_amount(struct strbuf *out, enum compare_measure m, double v)
{
    if (m == COMPARE_CPU_NS && v != 0 && fabs(v) < 1e6)
        say(out, "%.1f us", v / 1e3);
    else if (m == COMPARE_CPU_NS)
        say(out, "%M", v);
    else if (m == COMPARE_FAULT_BYTES)
        say(out, "%B", v);
    else if (v != 0 && fabs(v) < 10 && fabs(v - round(v)) > 0.004)
        say(out, "%.2f", v);
    else
        say(out, "%N", v);
}

void compare_change(struct strbuf *out, enum compare_measure m, struct compared v)
{
    strbuf_puts(out, compared_change(v) > 0 ? "+" : "");
    compare_amount(out, m, compared_change(v));
}

void compare_ratio(struct strbuf *out, struct compared v)
{
    strbuf_puts(out, compared_is_certain(v) ? "" : "~");
    if (v.alone > 0)
        say(out, "%.2f", v.together / v.alone);
    else
        strbuf_puts(out, v.together > 0 ? "new" : "-");
}

void compare_bounds(struct strbuf *out, struct compared v)
{
    say(out, isfinite(v.ratio_high) ? "%.2f - %.2f" : "%.2f -", v.ratio_low, v.ratio_high);
}

/* --- columns ---------------------------------------------------------------------------------- */

/* What columns depend on. */
enum { STACK = 1, FILES = 2, THREADS = 4, NAMES = 8, PLACED = 16 };

enum { CHANGE, RATIO, BOUNDS, ALONE, TOGETHER, OTHER };

static enum compare_measure other_than(enum compare_measure m)
{
    return m == COMPARE_CPU_NS ? COMPARE_FAULTS : COMPARE_CPU_NS;
}

static struct cell get_shown(struct spot s)
{
    const struct compare_row *r = s.row;
    enum compare_measure m = compare_measure_of(s.answer), other = other_than(m);
    struct compared v = r->self[m];
    switch (s.column->number) {
    case CHANGE:
        compare_change(s.made, m, v);
        break;
    case RATIO:
        compare_ratio(s.made, v);
        break;
    case BOUNDS:
        compare_bounds(s.made, v);
        break;
    case OTHER:
        v = r->self[other];
        strbuf_puts(s.made, compared_is_nothing(v) || compared_is_certain(v) ? "" : "~");
        compare_change(s.made, other, v);
        break;
    default:
        compare_amount(s.made, m, s.column->number == ALONE ? v.alone : v.together);
    }
    return CELL_OF(s.made->data);
}

static const char *title_of_other(const void *answer)
{
    return other_than(compare_measure_of(answer)) == COMPARE_FAULTS ? "faults" : "CPU time";
}

static const char *title_of_name(const void *answer)
{
    return grouping_name(((const struct compare *)answer)->query->by);
}

static struct cell get_place(struct spot s)
{
    const struct compare_row *r = s.row;
    location_put(s.made, r->file, r->line, r->module);
    return CELL_OF(s.made->data);
}

static const struct answer *answer_of(struct spot s)
{
    const struct compare *c = s.answer;
    return &c->answers.items[((const struct compare_row *)s.row)->answer]->answer;
}

static struct cell get_stack(struct spot s)
{
    const struct answer *a = answer_of(s);
    stack_names(&a->frames, a->merged.parent.items, a->merged.key.items,
                ((const struct compare_row *)s.row)->call, s.made);
    return CELL_OF(s.made->data);
}

static void put_stack(struct spot s, const char *key, struct json *j)
{
    const struct answer *a = answer_of(s);
    struct json_stacks stacks = {.frames = &a->frames};
    (void)key;
    json_stack(j, &stacks, &a->merged, ((const struct compare_row *)s.row)->call);
    json_stacks_release(&stacks);
}

static struct cell get_change(struct spot s)
{
    return CELL_OF(compared_change(*(const struct compared *)s.row));
}

static struct cell get_ratio(struct spot s)
{
    const struct compared *v = s.row;
    return v->alone > 0 ? CELL_OF(v->together / v->alone) : CELL_NOT_KNOWN;
}

static struct cell get_ratio_high(struct spot s)
{
    const struct compared *v = s.row;
    return isfinite(v->ratio_high) ? CELL_OF(v->ratio_high) : CELL_NOT_KNOWN;
}

static struct cell get_certain(struct spot s)
{
    return CELL_OF(compared_is_certain(*(const struct compared *)s.row));
}

#define COMPARED(member) FIELD(struct compared, member)

static const struct column_def of_measure[] = {
    {"alone", NULL, COLUMN_REAL, COMPARED(alone)},
    {"together", NULL, COLUMN_REAL, COMPARED(together)},
    {"low", NULL, COLUMN_REAL, COMPARED(low)},
    {"high", NULL, COLUMN_REAL, COMPARED(high)},
    {"change", NULL, COLUMN_REAL, .get = get_change},
    {"ratio", NULL, COLUMN_REAL, .get = get_ratio},
    {"ratio_low", NULL, COLUMN_REAL, COMPARED(ratio_low)},
    {"ratio_high", NULL, COLUMN_REAL, .get = get_ratio_high},
    {"certain", NULL, COLUMN_WORD, .get = get_certain},
};

struct measures {
    struct compared of[COMPARE_MEASURES];
};

static const struct column_def of_side[] = {
    {"cpu_ns", NULL, COLUMN_WORD, FIELDS(struct measures, of[COMPARE_CPU_NS], of_measure)},
    {"samples", NULL, COLUMN_WORD, FIELDS(struct measures, of[COMPARE_SAMPLES], of_measure)},
    {"faults", NULL, COLUMN_WORD, FIELDS(struct measures, of[COMPARE_FAULTS], of_measure)},
    {"fault_bytes", NULL, COLUMN_WORD,
     FIELDS(struct measures, of[COMPARE_FAULT_BYTES], of_measure)},
};

#define ROW(member)    FIELD(struct compare_row, member)
#define SHOWN(number_) COLUMN_COUNT, .get = get_shown, .number = (number_)

static const struct column_def columns[] = {
    {NULL, "change", SHOWN(CHANGE)},
    {NULL, "ratio", SHOWN(RATIO)},
    {NULL, "bounds", SHOWN(BOUNDS)},
    {NULL, "alone", SHOWN(ALONE)},
    {NULL, "together", SHOWN(TOGETHER)},
    {NULL, NULL, SHOWN(OTHER), .title_of = title_of_other},
    {NULL, NULL, COLUMN_NAME, ROW(name), .title_of = title_of_name, .text_if = NAMES},
    {NULL, "file", COLUMN_PATH, ROW(name), .text_if = FILES},
    {NULL, "thread", COLUMN_TITLE, ROW(name), .text_if = THREADS},
    {NULL, "where", COLUMN_PATH, .get = get_place, .text_if = PLACED},
    {"name", NULL, COLUMN_NAME, ROW(name)},
    {"module", NULL, COLUMN_WORD, ROW(module)},
    {"file", NULL, COLUMN_PATH, ROW(file)},
    {"line", NULL, COLUMN_COUNT, ROW(line), .zero_is_unknown = true},
    {"self", NULL, COLUMN_WORD, FIELDS(struct compare_row, self, of_side)},
    {"total", NULL, COLUMN_WORD, FIELDS(struct compare_row, total, of_side)},
    {"thread", NULL, COLUMN_TITLE, ROW(thread), .json_if = STACK, .csv_if = STACK},
    {"stack", NULL, COLUMN_WORDS, .get = get_stack, .json = put_stack, .json_if = STACK,
     .csv_if = STACK},
};

static bool is_row_shown(const void *answer, const void *row)
{
    const struct compare_row *r = row;
    return !compared_is_nothing(r->self[compare_measure_of(answer)]);
}

static struct rows rows_of(const struct compare *c)
{
    enum grouping by = c->query->by;
    return (struct rows){COLUMN_DEFS(columns), ITEMS(c->rows), .answer = c, .in_text = is_row_shown,
                         .is = (by == BY_STACK    ? STACK
                                : by == BY_FILE   ? FILES
                                : by == BY_THREAD ? THREADS
                                                  : NAMES) |
                               (by == BY_FUNCTION || by == BY_LINE ? PLACED : 0u)};
}

void compare_table_text(const struct compare *c, const struct style *s, struct strbuf *out)
{
    struct rows rows = rows_of(c);
    rows_text(&rows, s, out);
}

/* --- JSON and CSV ----------------------------------------------------------------------------- */

static void run_json(struct json *j, const char *key, const struct compare_run *r,
                     const int *status)
{
    json_object(j, key);
    if (status) {
        json_u64(j, "pid", r->pid);
        json_i64_if(j, "exit_code", WIFEXITED(*status), WEXITSTATUS(*status));
        json_i64_if(j, "signal", WIFSIGNALED(*status), WTERMSIG(*status));
        json_u64(j, "duration_ns", r->duration_ns);
    }
    json_u64(j, "units", r->units);
    json_u64(j, "processes", r->processes);
    json_u64(j, "cpu_ns", r->cpu_ns);
    json_u64(j, "faults", r->faults);
    json_u64(j, "fault_bytes", r->fault_bytes);
    if (key)
        json_u64(j, "lost_samples", r->lost);
    json_object(j, "kernel");
    json_u64(j, "user_ns", r->kernel.user_ns);
    json_u64(j, "system_ns", r->kernel.system_ns);
    json_u64(j, "minor_faults", r->kernel.minor_faults);
    json_u64(j, "major_faults", r->kernel.major_faults);
    json_end(j);
    json_end(j);
}

void compare_json(const struct compare *c, const struct compare_frame *f,
                  const struct report_sink *sink, struct strbuf *out)
{
    struct compare_run all = compare_copies(c);
    struct rows rows = rows_of(c);
    struct json j;
    json_init(&j, out);
    json_object(&j, NULL);
    json_string(&j, "schema", "tidemark.compare/1");
    json_array(&j, "command");
    for (char *const *a = f->command; *a; a++)
        json_string(&j, NULL, *a);
    json_end(&j);
    json_u64(&j, "copies", c->copies);
    json_string(&j, "per", c->per ? c->per : "run");
    json_string(&j, "metric", metric_name(c->query->metric));
    json_string(&j, "by", grouping_name(c->query->by));
    json_string(&j, "alone_file", f->files ? f->files[0] : NULL);
    json_string(&j, "together_file", f->files ? f->files[1] : NULL);
    run_json(&j, "alone", &c->runs.items[0], &f->wait_statuses[0]);
    run_json(&j, "together", &all, NULL);
    json_array(&j, "runs");
    for (size_t i = 1; i <= c->copies; i++)
        run_json(&j, NULL, &c->runs.items[i], &f->wait_statuses[i]);
    json_end(&j);
    json_u64(&j, "rows_left_out", c->left_out);
    rows_json(&rows, "rows", sink, &j);
    json_end(&j);
}

void compare_csv(const struct compare *c, const struct report_sink *sink, struct strbuf *out)
{
    struct rows rows = rows_of(c);
    rows_csv(&rows, sink, out);
}
