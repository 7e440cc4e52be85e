/* The difference of two recordings as data: JSON and CSV. */
#include <inttypes.h>

#include "answer/csv.h"
#include "answer/diff.h"
#include "answer/json_parts.h"

const char *diff_status_name(enum diff_status s)
{
    static const char *const names[] = {
        [DIFF_SAME] = "same", [DIFF_CHANGED] = "changed", [DIFF_NEW] = "new", [DIFF_GONE] = "gone"};
    return names[s];
}

static void side_json(struct json *j, const char *key, const struct diff_side *s)
{
    json_object(j, key);
    json_string(j, "file", s->file);
    json_program(j, s->recording, s->profile);
    json_u64(j, "since_ns", s->answer.window.since.time_ns);
    json_u64(j, "at_ns", s->answer.window.at.time_ns);
    json_string(j, "missing", s->missing.text[0] ? s->missing.text : NULL);
    json_ignored(j, &s->answer.tree);
    json_value(j, "outside", s->answer.tree.outside);
    json_processes(j, s->recording, s->profile);
    json_end(j);
}

static void values_json(struct json *j, const char *prefix, const struct value v[2])
{
    struct value change = value_change(v);
    const struct {
        const char *name;
        int64_t value;
    } members[] = {{"a_%sbytes", v[0].amount},        {"b_%sbytes", v[1].amount},
                   {"a_%scount", v[0].count},         {"b_%scount", v[1].count},
                   {"change_%sbytes", change.amount}, {"change_%scount", change.count}};
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        char *key = xasprintf(members[i].name, prefix);
        json_i64(j, key, members[i].value);
        free(key);
    }
}

static void percent_json(struct json *j, const struct diff_row *r)
{
    if (r->self[0].amount)
        json_double(j, "change_percent",
                    (double)value_change(r->self).amount / (double)amount_size(r->self[0].amount) *
                        100);
    else
        json_null(j, "change_percent");
}

/* B minus A, named as in a report. */
static void change_json(struct json *j, const struct diff *d, const struct diff_row *r)
{
    bool stack = d->query->by == BY_STACK;
    struct value self = value_change(r->self), total = value_change(r->total);
    json_i64(j, stack ? "bytes" : "self_bytes", self.amount);
    json_i64(j, stack ? "count" : "self_count", self.count);
    if (stack)
        return;
    json_i64(j, "total_bytes", total.amount);
    json_i64(j, "total_count", total.count);
}

static void row_json(struct json *j, const struct diff *d, const struct diff_row *r,
                     struct json_stacks *stacks)
{
    json_object(j, NULL);
    json_string(j, "status", diff_status_name(r->status));
    json_string(j, "name", r->name);
    json_string(j, "module", r->module);
    json_string(j, "file", r->file);
    if (r->line)
        json_u64(j, "line", r->line);
    else
        json_null(j, "line");
    values_json(j, "", r->self);
    percent_json(j, r);
    values_json(j, "total_", r->total);
    change_json(j, d, r);
    if (d->query->shape == SHAPE_TREE)
        json_u64(j, "depth", r->depth);
    if (d->query->by == BY_STACK) {
        int i = r->there[1]; /* as the second has it, if it does */
        json_string(j, "thread", r->thread);
        json_stack(j, &stacks[i], &d->side[i].answer.merged, r->call[i]);
    }
    json_end(j);
}

static void sums_json(struct json *j, const struct diff *d)
{
    const struct value sums[2] = {d->side[0].answer.tree.sum, d->side[1].answer.tree.sum};
    json_object(j, "sum");
    json_value(j, "a", sums[0]);
    json_value(j, "b", sums[1]);
    json_value(j, "change", value_change(sums));
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
    json_array(&j, "rows");
    for (size_t i = 0; i < d->rows.count; i++) {
        row_json(&j, d, &d->rows.items[i], stacks);
        report_flush(sink, out);
    }
    json_end(&j);
    diff_marks_json(d, &j);
    json_end(&j);
    json_stacks_release(&stacks[0]);
    json_stacks_release(&stacks[1]);
}

static void stack_csv(const struct diff *d, const struct diff_row *r, struct strbuf *out)
{
    struct strbuf stack = {0};
    strbuf_puts(&stack, "");
    for (uint32_t n = r->node; n; n = d->nodes.items[n].parent)
        strbuf_printf(&stack, "%s%s", stack.size ? ";" : "",
                      strpool_get(&d->names, d->nodes.items[n].name));
    csv_text(out, r->thread);
    strbuf_putc(out, ',');
    csv_text(out, stack.data);
    strbuf_release(&stack);
}

void diff_csv(const struct diff *d, const struct report_sink *sink, struct strbuf *out)
{
    bool tree = d->query->shape == SHAPE_TREE, stack = d->query->by == BY_STACK;
    strbuf_printf(out,
                  "%s%s,status,a_bytes,b_bytes,change_bytes,a_count,b_count,change_count,"
                  "a_total_bytes,b_total_bytes,change_total_bytes\n",
                  tree ? "depth," : "", stack ? "thread,stack" : "name,module,file,line");
    for (size_t i = 0; i < d->rows.count; i++) {
        const struct diff_row *r = &d->rows.items[i];
        struct value self = value_change(r->self);
        if (tree)
            strbuf_printf(out, "%" PRIu32 ",", r->depth);
        if (stack) {
            stack_csv(d, r, out);
        } else {
            csv_text(out, r->name);
            strbuf_putc(out, ',');
            csv_text(out, r->module);
            strbuf_putc(out, ',');
            csv_text(out, r->file);
            strbuf_putc(out, ',');
            if (r->line)
                strbuf_printf(out, "%" PRIu32, r->line);
        }
        strbuf_printf(out,
                      ",%s,%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64
                      ",%" PRId64 ",%" PRId64 ",%" PRId64 "\n",
                      diff_status_name(r->status), r->self[0].amount, r->self[1].amount,
                      self.amount, r->self[0].count, r->self[1].count, self.count,
                      r->total[0].amount, r->total[1].amount, value_change(r->total).amount);
        report_flush(sink, out);
    }
}
