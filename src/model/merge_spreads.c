/*
 * merge_spreads: how the rows of reports are spread over the inputs of a merge.
 *
 * The rows of an input are those that `tidemark report` shows for it, for every recorded metric and
 * every grouping (model/aggregate.c). To be fast, the call tree and the groups are built once for
 * all metrics; only the sums are computed for each.
 */
#include <stdlib.h>
#include <string.h>

#include "model/answer.h"
#include "model/merge_state.h"
#include "model/spread.h"

void merge_spreads_release(struct merge_spreads *s)
{
    vec_release(&s->rows);
    vec_release(&s->pairs);
    map_release(&s->of);
    vec_release(&s->pending);
}

/* --- rows ------------------------------------------------------------------------------------- */

static uint32_t row_of(struct merge_spreads *s, uint64_t key)
{
    uint32_t *number = map_at(&s->of, key);
    if (*number == MAP_NONE) {
        *number = (uint32_t)s->rows.count;
        struct merge_row *row = vec_push(&s->rows);
        row->key = key;
        memset(row->pair, 0xff, sizeof row->pair);
    }
    return *number;
}

static struct merge_pair *pair_of(struct merge_spreads *s, uint32_t row, enum metric metric)
{
    uint32_t *number = &s->rows.items[row].pair[metric];
    if (*number == MAP_NONE) {
        *number = (uint32_t)s->pairs.count;
        *vec_push(&s->pairs) = (struct merge_pair){.metric = (uint8_t)metric};
    }
    return &s->pairs.items[*number];
}

static int64_t joined(int64_t a, int64_t b, bool by_max)
{
    return by_max ? (b > a ? b : a) : wrapped(a, b);
}

/* Adds values of the current input: several rows of unknown code may share one key. */
static void add_values(struct merge_spreads *s, uint32_t row, enum metric metric, int64_t self,
                       int64_t total)
{
    if (!self && !total)
        return;
    struct merge_pair *pair = pair_of(s, row, metric);
    bool by_max = metric == METRIC_LARGEST;
    if (!pair->pending) {
        *vec_push(&s->pending) = (uint32_t)(pair - s->pairs.items);
        pair->pending = true;
        pair->value[SPREAD_SELF] = pair->value[SPREAD_TOTAL] = 0;
    }
    pair->value[SPREAD_SELF] = joined(pair->value[SPREAD_SELF], self, by_max);
    pair->value[SPREAD_TOTAL] = joined(pair->value[SPREAD_TOTAL], total, by_max);
}

static void add_spread(struct input_spread *to, const struct input_spread *from, enum metric metric,
                       const struct merge *inputs)
{
    bool before =
        to->inputs && from->inputs &&
        merge_input_order(&inputs->inputs.items[from->where], &inputs->inputs.items[to->where]) < 0;
    spread_add(to, from, metric == METRIC_LARGEST, before);
}

/* Makes what was added for the current input one value of each row. */
static void settle(struct merge_spreads *s, const struct merge *inputs)
{
    for (size_t i = 0; i < s->pending.count; i++) {
        struct merge_pair *pair = &s->pairs.items[s->pending.items[i]];
        for (int of = 0; of < SPREAD_KINDS; of++) {
            int64_t v = pair->value[of];
            struct input_spread one = {.inputs = v != 0,
                                       .sum = v,
                                       .min = v,
                                       .max = v,
                                       .where = (uint32_t)inputs->inputs.count - 1};
            add_spread(&pair->of[of], &one, (enum metric)pair->metric, inputs);
        }
        pair->pending = false;
    }
    s->pending.count = 0;
}

/* --- one recording ---------------------------------------------------------------------------- */

/* Metrics that are charged in the same way. */
struct measured {
    struct measure of[METRICS];
    enum metric metric[METRICS];
    size_t count;
};

static void measured_release(struct measured *m)
{
    for (size_t i = 0; i < m->count; i++)
        measure_release(&m->of[i]);
    m->count = 0;
}

/* Leaves out metrics that were not recorded or are zero. */
static void measure_all(struct measured *m, const struct profile *p, bool in_place)
{
    struct query q;
    struct window window;
    query_init(&q);
    *m = (struct measured){0};
    for (int metric = 0; metric < METRICS; metric++) {
        q.metric = (enum metric)metric;
        if (metric_in_place(q.metric) != in_place || measure_window(p, &q, &window, NULL))
            continue;
        struct measure *one = &m->of[m->count];
        measure_sites(one, p, q.metric, q.size, &window);
        bool any = false;
        for (size_t i = 0; i < one->count && !any; i++)
            any = !value_is_zero(one->sites[i]);
        if (any)
            m->metric[m->count++] = q.metric;
        else
            measure_release(one);
    }
    query_release(&q);
}

/* The sites with a value in any of the metrics. */
static struct measure union_of(const struct measured *m)
{
    struct measure all = {.count = m->of[0].count, .in_place = m->of[0].in_place};
    all.sites = xcalloc(all.count + 1, sizeof *all.sites);
    for (size_t k = 0; k < m->count; k++)
        for (size_t i = 0; i < all.count; i++)
            if (!value_is_zero(m->of[k].sites[i]))
                all.sites[i] = (struct value){1, 1};
    return all;
}

/* A grouping of the calls of a tree. */
struct grouped {
    uint32_t *of_call; /* group of each call */
    bool *outermost;   /* there is no call of the same group above it */
    uint32_t *row;     /* of each group */
    uint32_t count;
};

static void grouped_init(struct grouped *g, struct merge_spreads *s, const struct call_tree *t,
                         enum grouping by)
{
    struct group group;
    struct spread_keys keys;
    struct call_walk walk = {0};
    size_t calls = t->parent.count;
    group_init(&group, t->frames, t, by);
    spread_keys_init(&keys, by, t->frames, NULL);
    *g = (struct grouped){.of_call = xcalloc(calls, sizeof *g->of_call),
                          .outermost = xcalloc(calls, sizeof *g->outermost),
                          .row = xmalloc((group.count + 1) * sizeof *g->row),
                          .count = group.count};
    memset(g->row, 0xff, (group.count + 1) * sizeof *g->row);
    uint32_t *active = xcalloc(group.count + 1, sizeof *active);
    for (uint32_t c = 1; c < calls; c++) {
        for (uint32_t left; (left = call_walk_leave(&walk, t, c)) != CALL_NONE;)
            active[g->of_call[left]]--;
        uint32_t n = g->of_call[c] = group.of_frame[t->frame.items[c]];
        g->outermost[c] = active[n]++ == 0;
        if (g->row[n] == MAP_NONE) {
            struct answer_row row = row_labelled(&group, n);
            g->row[n] = row_of(s, spread_key(&keys, &row));
        }
    }
    free(active);
    vec_release(&walk.path);
    spread_keys_release(&keys);
    group_release(&group);
}

static void grouped_release(struct grouped *g)
{
    free(g->of_call);
    free(g->outermost);
    free(g->row);
}

static void add_groups(struct merge_spreads *s, const struct grouped *g, size_t calls,
                       const int64_t *own, const int64_t *below, enum metric metric)
{
    bool by_max = metric == METRIC_LARGEST;
    struct value *sum = xcalloc(g->count + 1, sizeof *sum); /* amount: self, count: total */
    for (size_t c = 1; c < calls; c++) {
        struct value *v = &sum[g->of_call[c]];
        v->amount = joined(v->amount, own[c], by_max);
        if (g->outermost[c])
            v->count = joined(v->count, below[c], by_max);
    }
    for (uint32_t n = 0; n < g->count; n++)
        add_values(s, g->row[n], metric, sum[n].amount, sum[n].count);
    free(sum);
}

/* The rows of each site by stack and by thread. */
struct site_rows {
    uint32_t *stack, *thread;
};

static void site_rows_init(struct site_rows *r, struct merge_spreads *s, const struct call_tree *t,
                           const struct profile *p)
{
    struct merged merged = {0};
    struct spread_keys stacks, threads;
    size_t sites = p->sites.count;
    merged_build(&merged, t, NULL, false);
    spread_keys_init(&stacks, BY_STACK, t->frames, &merged);
    spread_keys_init(&threads, BY_THREAD, t->frames, NULL);
    r->stack = xcalloc(sites + 1, sizeof *r->stack);
    r->thread = xcalloc(sites + 1, sizeof *r->thread);
    for (size_t i = 0; i < sites; i++) {
        if (t->site_call[i] == CALL_NONE)
            continue;
        size_t thread = p->sites.items[i].thread;
        const char *name = thread < p->threads.count ? p->threads.items[thread].name : NULL;
        struct answer_row row = {.call = merged.of_call[t->site_call[i]],
                                 .thread = name,
                                 .name = name && *name ? name : "[unknown]"};
        r->stack[i] = row_of(s, spread_key(&stacks, &row));
        r->thread[i] = row_of(s, spread_key(&threads, &row));
    }
    spread_keys_release(&stacks);
    spread_keys_release(&threads);
    merged_release(&merged);
}

/* Adds the sum of everything, of each stack and of each thread. */
static void add_sites(struct merge_spreads *s, const struct site_rows *r, const struct call_tree *t,
                      const struct measure *m, enum metric metric)
{
    uint32_t all = row_of(s, SPREAD_KEY_ALL);
    for (size_t i = 0; i < m->count; i++) {
        int64_t amount = m->sites[i].amount;
        if (t->site_call[i] == CALL_NONE || !amount)
            continue;
        add_values(s, all, metric, amount, 0);
        add_values(s, r->stack[i], metric, amount, 0);
        add_values(s, r->thread[i], metric, amount, 0);
    }
}

#define GROUPS_MOST 4

/* Adds all metrics by the given groupings; with `sites`, also by stack and by thread. */
static void measure_tree(struct merge_spreads *s, struct frame_table *frames,
                         const struct measured *m, enum charge charge, const enum grouping *by,
                         size_t groupings, bool with_sites)
{
    struct call_tree t;
    struct measure any = union_of(m);
    struct grouped grouped[GROUPS_MOST];
    struct site_rows rows = {0};
    if (call_tree_build(&t, frames, &any, NULL, charge, NULL)) {
        measure_release(&any);
        return;
    }
    size_t calls = t.parent.count;
    int64_t *own = xmalloc(calls * sizeof *own), *below = xmalloc(calls * sizeof *below);
    for (size_t i = 0; i < groupings; i++)
        grouped_init(&grouped[i], s, &t, by[i]);
    if (with_sites)
        site_rows_init(&rows, s, &t, frames->profile);
    for (size_t k = 0; k < m->count; k++) {
        enum metric metric = m->metric[k];
        bool by_max = metric == METRIC_LARGEST;
        memset(own, 0, calls * sizeof *own);
        for (size_t i = 0; i < any.count; i++)
            if (t.site_call[i] != CALL_NONE)
                own[t.site_call[i]] = joined(own[t.site_call[i]], m->of[k].sites[i].amount, by_max);
        memcpy(below, own, calls * sizeof *own);
        for (size_t c = calls; c-- > 1;)
            below[t.parent.items[c]] = joined(below[t.parent.items[c]], below[c], by_max);
        for (size_t i = 0; i < groupings; i++)
            add_groups(s, &grouped[i], calls, own, below, metric);
        if (with_sites)
            add_sites(s, &rows, &t, &m->of[k], metric);
    }
    for (size_t i = 0; i < groupings; i++)
        grouped_release(&grouped[i]);
    free(rows.stack);
    free(rows.thread);
    free(own);
    free(below);
    call_tree_release(&t);
    measure_release(&any);
}

void merge_spreads_measure(struct merge_spreads *s, const struct recording *r,
                           const struct profile *p, const struct merge *inputs)
{
    static const enum grouping by[GROUPS_MOST] = {BY_LIBRARY, BY_FUNCTION, BY_LINE, BY_FILE};
    struct stack_filter filter = {.lenient = true};
    struct frame_table frames;
    struct measured m;
    frame_table_init(&frames, r, p, &filter);
    for (int in_place = 0; in_place < 2; in_place++) {
        measure_all(&m, p, in_place);
        if (m.count && p->python_version) { /* in tables of code, other calls are charged */
            measure_tree(s, &frames, &m, CHARGE_INNERMOST, by, 1, true);
            measure_tree(s, &frames, &m, CHARGE_PYTHON, by + 1, GROUPS_MOST - 1, false);
        } else if (m.count) {
            measure_tree(s, &frames, &m, CHARGE_INNERMOST, by, GROUPS_MOST, true);
        }
        measured_release(&m);
    }
    frame_table_release(&frames);
    settle(s, inputs);
}

/* --- a merged recording ----------------------------------------------------------------------- */

void merge_spreads_join(struct merge_spreads *s, const struct merge *from,
                        const struct merge *inputs, size_t first)
{
    enum metric metric[MERGE_METRICS];
    for (size_t i = 0; i < from->metrics.count; i++)
        if (metric_parse(from->metrics.items[i], &metric[i], NULL))
            metric[i] = METRICS; /* a metric of a later version */
    for (size_t i = 0; i < from->spreads.count; i++) {
        const struct spread_row *r = &from->spreads.items[i];
        if (metric[r->metric] == METRICS)
            continue;
        struct merge_pair *pair = pair_of(s, row_of(s, r->key), metric[r->metric]);
        struct input_spread other = r->spread;
        other.where += (uint32_t)first;
        add_spread(&pair->of[r->of], &other, metric[r->metric], inputs);
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
    for (size_t i = 0; i < s->rows.count; i++)
        for (int k = 0; k < METRICS * SPREAD_KINDS; k++) {
            uint32_t pair = s->rows.items[i].pair[k / SPREAD_KINDS];
            struct spread_row row = {.key = s->rows.items[i].key,
                                     .metric = (uint8_t)(k / SPREAD_KINDS),
                                     .of = (uint8_t)(k % SPREAD_KINDS)};
            if (pair == MAP_NONE || !s->pairs.items[pair].of[row.of].inputs)
                continue;
            row.spread = s->pairs.items[pair].of[row.of];
            row.spread.where = place[row.spread.where];
            *vec_push(&into->spreads) = row;
        }
    if (into->spreads.count)
        qsort(into->spreads.items, into->spreads.count, sizeof *into->spreads.items, in_order);
}
