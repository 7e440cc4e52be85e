/*
 * A report as JSON (tidemark.report/1): what is around the rows, whose columns are in
 * report_columns.c.
 */
#include "answer/report.h"

#include <stdlib.h>

#include "model/arenas_at.h"
#include "model/imported.h"
#include "model/pool_totals.h"
#include "answer/histogram.h"
#include "answer/merge.h"
#include "answer/report_columns.h"

static void json_untouched(struct json *j, const struct profile *p)
{
    struct untouched u = untouched_of(p);
    json_object(j, "untouched");
    if (u.scan) {
        json_value(j, "live", u.live);
        json_u64(j, "live_time_ns", u.scan->time_ns);
    } else {
        json_null(j, "live");
        json_null(j, "live_time_ns");
    }
    json_value(j, "freed", u.freed);
    json_value(j, "freed_looked_at", u.freed_examined);
    json_end(j);
}

/* Labels of a tree, written once for each group: a function occurs in thousands of places. */
struct labels {
    struct strbuf text;
    struct label {
        size_t start, size; /* size 0: not written yet */
    } * of_group;
};

static void labels_init(struct labels *l, const struct merged *m)
{
    uint32_t groups = 0;
    for (size_t n = 1; n < m->key.count; n++)
        groups = m->key.items[n] >= groups ? m->key.items[n] + 1 : groups;
    *l = (struct labels){.of_group = xcalloc(groups + 1, sizeof *l->of_group)};
}

static void add_label(struct labels *l, uint32_t group, const struct report_table *t,
                      const struct answer_row *row, struct strbuf *out)
{
    struct label *label = &l->of_group[group];
    if (!label->size) {
        struct json j;
        json_init(&j, &l->text);
        label->start = l->text.size;
        json_object(&j, NULL); /* stays open: more members follow */
        row_json(&t->label, row, &j);
        label->size = l->text.size - label->start;
    }
    strbuf_add(out, l->text.data + label->start, label->size);
}

/* Trees are deeper than the JSON writer supports, so their brackets are written here. */
static void tree_rows(struct json *j, const struct report_table *t, const struct report_sink *sink)
{
    const struct answer *a = t->answer;
    const struct answer_rows *r = &a->rows;
    struct strbuf *out = j->out;
    struct labels labels;
    uint32_t open = 0;
    labels_init(&labels, &a->merged);
    json_array(j, "rows");
    for (size_t i = 0; i < r->rows.count; i++) {
        const struct answer_row *row = &r->rows.items[i];
        for (; open > row->depth; open--)
            strbuf_puts(out, "]}");
        if (i && r->rows.items[i - 1].depth >= row->depth)
            strbuf_putc(out, ',');
        add_label(&labels, a->merged.key.items[row->call], t, row, out);
        struct json node; /* continues inside the object that the label opened */
        json_init(&node, out);
        node.depth = 1;
        node.started[1] = true;
        row_json(&t->values, row, &node);
        json_array(&node, "children"); /* closed above, when the next row is no child */
        open++;
        report_flush(sink, out);
    }
    for (; open; open--)
        strbuf_puts(out, "]}");
    json_end(j);
    strbuf_release(&labels.text);
    free(labels.of_group);
}

/* Only if the program has reported pools. */
static void pools(struct json *j, const struct answer *a)
{
    struct pool_totals t;
    pool_totals_init(&t, a->recording, a->profile, &a->window);
    if (t.pools.count)
        json_array(j, "pools");
    for (size_t i = 0; i < t.pools.count; i++) {
        const struct pool_total *pool = &t.pools.items[i];
        char *name = xstrndup(pool->name, pool->name_size);
        json_object(j, NULL);
        json_string(j, "name", name);
        json_i64(j, "bytes", pool->live.amount);
        json_i64(j, "count", pool->live.count);
        json_end(j);
        free(name);
    }
    if (t.pools.count)
        json_end(j);
    pool_totals_release(&t);
}

static void gpu(struct json *j, const struct profile *p)
{
    static const char *const names[GPU_VIEWS] = {[GPU_DRIVER] = "gpu", [GPU_TENSORS] = "tensor"};
    bool together = p->together > 1 && !p->merge; /* their common peak is not known */
    for (int view = 0; view < GPU_VIEWS; view++) {
        const struct gpu_figures *g = &p->gpu[view];
        if (!g->known || together)
            continue;
        json_object(j, names[view]);
        json_u64(j, "peak_bytes", g->peak_bytes);
        json_u64(j, "peak_count", g->peak_blocks);
        json_u64(j, "peak_time_ns", g->peak_ns);
        json_end(j);
    }
}

static void python(struct json *j, const struct answer *a)
{
    const struct profile *p = a->profile;
    const struct arena_reading *reading = arenas_at(p, a->window.at.time_ns);
    if (!p->python_version)
        return;
    char *version = xasprintf("%u.%u.%u", p->python_version >> 24, p->python_version >> 16 & 0xff,
                              p->python_version >> 8 & 0xff);
    json_object(j, "python");
    json_string(j, "version", version);
    json_bool(j, "objects", p->python_objects);
    json_i64(j, "arena_live_bytes", arenas_live(p, &a->window.at).amount);
    if (reading) {
        json_object(j, "arenas");
        json_u64(j, "time_ns", reading->time_ns);
        json_u64(j, "count", reading->arenas);
        json_u64(j, "bytes", reading->bytes);
        json_u64(j, "objects", reading->objects);
        json_u64(j, "object_bytes", reading->object_bytes);
        json_end(j);
    }
    if (p->python_end) {
        struct window until = {.at = {.intervals = p->python_end}};
        json_object(j, "end");
        json_u64(j, "time_ns", p->intervals.items[p->python_end - 1].end_ns);
        json_i64(j, "live_bytes", totals_of(p, &until).live_bytes);
        json_end(j);
    }
    json_end(j);
    free(version);
}

/* The intervals of the totals, if they are estimates. */
static void json_intervals(struct json *j, const struct answer *a)
{
    const struct profile *p = a->profile;
    const struct query *q = a->query;
    const struct window *w = &a->window;
    if (!p->sample_bytes)
        return;
    json_object(j, "intervals");
    json_estimate(j, "bytes_allocated", true, estimate_of(p, (int64_t)a->totals.bytes_allocated));
    json_estimate(j, "live_bytes", estimate_known(p, METRIC_LIVE, SIZE_REQUESTED, w),
                  estimate_of(p, a->totals.live_bytes));
    json_estimate(j, "peak_bytes", true, estimate_of(p, (int64_t)a->totals.peak_bytes));
    json_estimate(j, "sum", estimate_known(p, q->metric, q->size, w),
                  estimate_of(p, a->tree.sum.amount));
    json_end(j);
}

void report_json(const struct answer *a, const struct report_sink *sink, struct strbuf *out)
{
    static const char *const shapes[] = {
        [SHAPE_TABLE] = "table",
        [SHAPE_TREE] = "tree",
        [SHAPE_CALLERS] = "callers",
        [SHAPE_CALLEES] = "callees",
    };
    const struct query *q = a->query;
    struct report_table table;
    struct json j;
    report_table_init(&table, a);
    json_init(&j, out);
    json_object(&j, NULL);
    json_string(&j, "schema", "tidemark.report/1");
    json_program(&j, a->recording, a->profile);
    json_string(&j, "since", a->window.since.word);
    json_string(&j, "at", a->window.at.word);
    uint32_t times = UNKNOWN_TIME | (a->window.at.peak ? UNKNOWN_PEAK_TIME : 0);
    json_u64(&j, "since_ns", a->window.since.time_ns);
    json_u64_if(&j, "at_ns", !profile_lacks(a->profile, times), a->window.at.time_ns);
    json_string(&j, "metric", metric_name(q->metric));
    json_string(&j, "unit", metric_unit(q->metric));
    json_string(&j, "size", size_kind_name(q->size));
    json_string(&j, "by", grouping_name(q->by));
    json_string(&j, "shape", shapes[q->shape]);
    json_totals(&j, &a->totals);
    json_intervals(&j, a);
    merge_json(&j, a);
    json_sampling(&j, a);
    json_u64(&j, "waits", a->profile->waits);
    json_inherited(&j, a->profile);
    json_attached(&j, a->profile);
    json_mapped(&j, a->profile);
    pools(&j, a);
    gpu(&j, a->profile);
    python(&j, a);
    json_value_if(&j, "sum", a->tree.sum, known_counts(a->profile, q->metric));
    json_ignored(&j, &a->tree);
    json_value_if(&j, "outside", a->tree.outside, known_counts(a->profile, q->metric));
    json_processes(&j, a->recording, a->profile);
    if (q->shape == SHAPE_CALLERS || q->shape == SHAPE_CALLEES) {
        json_string(&j, "of", a->of.name);
        json_object(&j, "of_values");
        row_json(&table.values, &a->of, &j);
        json_end(&j);
    }
    if (q->metric == METRIC_UNTOUCHED)
        json_untouched(&j, a->profile);
    if (q->histogram)
        histogram_json(&j, &a->histograms, &a->histograms.all);
    json_u64(&j, "stack_nodes", a->profile->nodes.count - 1); /* without the root */
    json_u64(&j, "rows_left_out", a->rows.left_out);
    if (q->shape == SHAPE_TREE)
        tree_rows(&j, &table, sink);
    else
        rows_json(&table.rows, "rows", sink, &j);
    json_end(&j);
    report_table_release(&table);
}
