/*
 * merge_spreads: how the rows of reports are spread over the inputs of a merge.
 *
 * The rows of an input are those that `tidemark report` has for it, of every metric that was
 * recorded and every grouping. They are made by the same code.
 */
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "model/answer.h"
#include "model/merge_state.h"
#include "model/spread.h"

void merge_spreads_release(struct merge_spreads *s)
{
    vec_release(&s->rows);
    map_release(&s->of);
    vec_release(&s->pending);
}

static struct merge_spread *row_of(struct merge_spreads *s, uint64_t key, enum metric metric,
                                   enum spread_of of)
{
    uint64_t words[2] = {key, (uint64_t)metric << 1 | (uint64_t)of};
    uint32_t *number = map_at(&s->of, XXH3_64bits(words, sizeof words));
    if (*number == MAP_NONE) {
        *number = (uint32_t)s->rows.count;
        *vec_push(&s->rows) = (struct merge_spread){
            .row = {.key = key, .metric = (uint8_t)metric, .of = (uint8_t)of}};
    }
    return &s->rows.items[*number];
}

/* --- one recording ---------------------------------------------------------------------------- */

/* Rows of unknown code have one key, though they are several. */
static void add_value(struct merge_spreads *s, uint64_t key, enum metric metric, enum spread_of of,
                      int64_t amount)
{
    if (!amount)
        return;
    struct merge_spread *row = row_of(s, key, metric, of);
    struct value sum = {.amount = row->pending ? row->value : 0};
    value_join(&sum, (struct value){.amount = amount}, metric == METRIC_LARGEST);
    row->value = sum.amount;
    if (!row->pending)
        *vec_push(&s->pending) = (uint32_t)(row - s->rows.items);
    row->pending = true;
}

static void add_rows(struct merge_spreads *s, const struct answer_rows *rows,
                     const struct spread_keys *keys, enum metric metric)
{
    bool totals = keys->by != BY_STACK && keys->by != BY_THREAD;
    for (size_t i = 0; i < rows->rows.count; i++) {
        const struct answer_row *row = &rows->rows.items[i];
        uint64_t key = spread_key(keys, row);
        add_value(s, key, metric, SPREAD_SELF, row->self.amount);
        if (totals)
            add_value(s, key, metric, SPREAD_TOTAL, row->total.amount);
    }
}

static void add_groups(struct merge_spreads *s, const struct call_tree *t, enum grouping by,
                       enum metric metric)
{
    struct answer_rows rows = {0};
    struct spread_keys keys;
    struct group g;
    group_init(&g, t->frames, t, by);
    aggregate_groups(&rows, t, &g);
    spread_keys_init(&keys, by, t->frames, NULL);
    add_rows(s, &rows, &keys, metric);
    spread_keys_release(&keys);
    answer_rows_release(&rows);
    group_release(&g);
}

static void add_threads_and_stacks(struct merge_spreads *s, const struct call_tree *t,
                                   const struct measure *m, const struct profile *p,
                                   enum metric metric)
{
    struct answer_rows rows = {0};
    struct spread_keys keys;
    struct merged merged = {0};
    aggregate_threads(&rows, t, m, p);
    spread_keys_init(&keys, BY_THREAD, t->frames, NULL);
    add_rows(s, &rows, &keys, metric);
    spread_keys_release(&keys);
    answer_rows_release(&rows);
    rows = (struct answer_rows){0};
    merged_build(&merged, t, NULL, false);
    merged_stack_rows(&rows, &merged, t, m, p);
    spread_keys_init(&keys, BY_STACK, t->frames, &merged);
    add_rows(s, &rows, &keys, metric);
    spread_keys_release(&keys);
    answer_rows_release(&rows);
    merged_release(&merged);
}

static bool has_any(const struct measure *m)
{
    for (size_t i = 0; i < m->count; i++)
        if (!value_is_zero(m->sites[i]))
            return true;
    return false;
}

static void measure_metric(struct merge_spreads *s, struct frame_table *frames,
                           const struct profile *p, const struct query *q)
{
    struct window window;
    struct measure m;
    struct call_tree t;
    if (measure_window(p, q, &window, NULL))
        return; /* it was not recorded */
    measure_sites(&m, p, q->metric, q->size, &window);
    if (has_any(&m) && call_tree_build(&t, frames, &m, NULL, CHARGE_INNERMOST, NULL) == 0) {
        add_value(s, SPREAD_KEY_ALL, q->metric, SPREAD_SELF, t.sum.amount);
        add_groups(s, &t, BY_LIBRARY, q->metric);
        add_threads_and_stacks(s, &t, &m, p, q->metric);
        bool again = p->python_version != 0; /* then others are charged in the other tables */
        if (again) {
            call_tree_release(&t);
            again = call_tree_build(&t, frames, &m, NULL, CHARGE_PYTHON, NULL) != 0;
        }
        if (!again) {
            add_groups(s, &t, BY_FUNCTION, q->metric);
            add_groups(s, &t, BY_LINE, q->metric);
            add_groups(s, &t, BY_FILE, q->metric);
            call_tree_release(&t);
        }
    }
    measure_release(&m);
}

void merge_spreads_measure(struct merge_spreads *s, const struct recording *r,
                           const struct profile *p, const struct merge *inputs)
{
    struct query q;
    struct frame_table frames;
    query_init(&q);
    q.focus.lenient = true;
    frame_table_init(&frames, r, p, &q.focus);
    s->pending.count = 0;
    for (int metric = 0; metric < METRICS; metric++) {
        q.metric = (enum metric)metric;
        measure_metric(s, &frames, p, &q);
    }
    frame_table_release(&frames);
    query_release(&q);
    uint32_t input = (uint32_t)inputs->inputs.count - 1;
    const struct merge_input *in = &inputs->inputs.items[input];
    for (size_t i = 0; i < s->pending.count; i++) {
        struct merge_spread *row = &s->rows.items[s->pending.items[i]];
        struct input_spread one = {.inputs = row->value != 0,
                                   .sum = row->value,
                                   .min = row->value,
                                   .max = row->value,
                                   .where = input};
        bool before = row->row.spread.inputs &&
                      merge_input_order(in, &inputs->inputs.items[row->row.spread.where]) < 0;
        spread_add(&row->row.spread, &one, row->row.metric == METRIC_LARGEST, before);
        row->pending = false;
    }
}

/* --- a merged one ----------------------------------------------------------------------------- */

void merge_spreads_join(struct merge_spreads *s, const struct merge *from,
                        const struct merge *inputs, size_t first)
{
    enum metric metric[MERGE_METRICS];
    for (size_t i = 0; i < from->metrics.count; i++)
        if (metric_parse(from->metrics.items[i], &metric[i], NULL))
            metric[i] = METRICS; /* of a later version */
    for (size_t i = 0; i < from->spreads.count; i++) {
        const struct spread_row *r = &from->spreads.items[i];
        if (metric[r->metric] == METRICS)
            continue;
        struct merge_spread *row = row_of(s, r->key, metric[r->metric], (enum spread_of)r->of);
        struct input_spread other = r->spread;
        other.where += (uint32_t)first;
        bool before = row->row.spread.inputs &&
                      merge_input_order(&inputs->inputs.items[other.where],
                                        &inputs->inputs.items[row->row.spread.where]) < 0;
        spread_add(&row->row.spread, &other, row->row.metric == METRIC_LARGEST, before);
    }
}

/* --- the end ---------------------------------------------------------------------------------- */

static int in_order(const void *a, const void *b)
{
    return spread_row_order(a, b);
}

void merge_spreads_finish(const struct merge_spreads *s, const uint32_t *place, struct merge *into)
{
    for (int i = 0; i < METRICS; i++)
        *vec_push(&into->metrics) = xstrdup(metric_name((enum metric)i));
    vec_reserve(&into->spreads, s->rows.count + 1);
    for (size_t i = 0; i < s->rows.count; i++) {
        struct spread_row row = s->rows.items[i].row;
        if (!row.spread.inputs)
            continue;
        row.spread.where = place[row.spread.where];
        *vec_push(&into->spreads) = row;
    }
    if (into->spreads.count)
        qsort(into->spreads.items, into->spreads.count, sizeof *into->spreads.items, in_order);
}
