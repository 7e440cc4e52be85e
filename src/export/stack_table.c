#include "export/stack_table.h"

#include <stdlib.h>

static int measure_columns(struct stack_table *t, struct measure *measures, struct err *err)
{
    for (size_t i = 0; i < t->column_count; i++) {
        struct query q = *t->query;
        q.metric = t->columns[i].metric;
        q.size = t->columns[i].size;
        int code = measure_window(t->profile, &q, &t->windows[i], err);
        if (code)
            return code;
        measure_sites(&measures[i], t->profile, q.metric, q.size, &t->windows[i]);
    }
    return 0;
}

/* A measure that has a value for each site with a value in any column. */
static struct measure any_of(const struct stack_table *t, const struct measure *measures)
{
    struct measure any = {.sites = xcalloc(t->profile->sites.count + 1, sizeof *any.sites),
                          .count = t->profile->sites.count,
                          .in_place = measures[0].in_place};
    for (size_t i = 0; i < t->column_count; i++)
        for (size_t s = 0; s < any.count; s++)
            if (!value_is_zero(measures[i].sites[s]) ||
                (t->columns[i].ever &&
                 metric_measures(t->columns[i].metric, t->profile->sites.items[s].domain)))
                any.sites[s] = (struct value){1, 1};
    return any;
}

static void add_rows(struct stack_table *t, const struct measure *measures)
{
    const struct profile *p = t->profile;
    for (uint32_t s = 0; s < p->sites.count; s++) {
        uint32_t call = t->tree.site_call[s], thread = p->sites.items[s].thread;
        if (call == CALL_NONE)
            continue;
        struct stack_row *row = vec_push(&t->rows);
        *row = (struct stack_row){.site = s,
                                  .call = call,
                                  .node = t->merged.of_call[call],
                                  .thread = thread < p->threads.count ? thread
                                                                      : (uint32_t)p->threads.count};
        for (size_t i = 0; i < t->column_count; i++)
            row->values[i] = measures[i].sites[s];
    }
}

int stack_table_init(struct stack_table *t, const struct recording *r, const struct query *q,
                     const struct stack_column *columns, size_t count, struct err *err)
{
    struct measure measures[STACK_COLUMNS] = {{0}};
    *t = (struct stack_table){.recording = r, .query = q, .column_count = count};
    for (size_t i = 0; i < count; i++)
        t->columns[i] = columns[i];
    int code = answer_process(r, q, &t->profile, err);
    if (!code)
        code = measure_columns(t, measures, err);
    if (!code) {
        struct measure any = any_of(t, measures);
        frame_table_init(&t->frames, r, t->profile, &q->filter);
        code = call_tree_build(&t->tree, &t->frames, &any, NULL, CHARGE_INNERMOST, err);
        measure_release(&any);
        if (code)
            frame_table_release(&t->frames);
    }
    if (!code) {
        merged_build(&t->merged, &t->tree, NULL, false);
        add_rows(t, measures);
    }
    for (size_t i = 0; i < count; i++)
        measure_release(&measures[i]);
    if (code)
        *t = (struct stack_table){0};
    return code;
}

void stack_table_release(struct stack_table *t)
{
    if (!t->profile)
        return;
    vec_release(&t->rows);
    merged_release(&t->merged);
    call_tree_release(&t->tree);
    frame_table_release(&t->frames);
    *t = (struct stack_table){0};
}

static bool is_by_max(const struct stack_table *t, size_t column)
{
    return t->columns[column].metric == METRIC_LARGEST;
}

struct value stack_table_sum(const struct stack_table *t, size_t column)
{
    struct value sum = {0};
    for (size_t i = 0; i < t->rows.count; i++)
        value_join(&sum, t->rows.items[i].values[column], is_by_max(t, column));
    return sum;
}

struct value *stack_table_own(const struct stack_table *t, size_t column)
{
    struct value *own = xcalloc(t->merged.parent.count, sizeof *own);
    for (size_t i = 0; i < t->rows.count; i++)
        value_join(&own[t->rows.items[i].node], t->rows.items[i].values[column],
                   is_by_max(t, column));
    return own;
}

void stack_table_join(const struct stack_table *t, struct stack_row *into,
                      const struct stack_row *row)
{
    for (size_t i = 0; i < t->column_count; i++)
        value_join(&into->values[i], row->values[i], is_by_max(t, i));
}

struct rank {
    double share; /* its largest share of any column */
    uint32_t row;
};

static int compare_ranks(const void *a, const void *b)
{
    const struct rank *x = a, *y = b;
    if (x->share != y->share)
        return x->share < y->share ? 1 : -1;
    return x->row < y->row ? -1 : x->row > y->row;
}

static double size_of(struct value v)
{
    return v.amount < 0 ? -(double)v.amount : (double)v.amount;
}

void stack_table_rank(const struct stack_table *t, struct ranked_rows *out)
{
    struct ranked_rows rows = {0};
    double sums[STACK_COLUMNS] = {0};
    uint32_t *of_node = xcalloc(t->merged.parent.count, sizeof *of_node); /* its row + 1 */
    *out = (struct ranked_rows){0};
    for (size_t i = 0; i < t->rows.count; i++) {
        const struct stack_row *row = &t->rows.items[i];
        uint32_t *known = &of_node[row->node];
        if (*known) {
            stack_table_join(t, &rows.items[*known - 1], row);
            continue;
        }
        *vec_push(&rows) = *row;
        *known = (uint32_t)rows.count;
    }
    struct rank *ranks = xcalloc(rows.count + 1, sizeof *ranks);
    for (size_t i = 0; i < rows.count; i++)
        for (size_t c = 0; c < t->column_count; c++)
            sums[c] += size_of(rows.items[i].values[c]);
    for (size_t i = 0; i < rows.count; i++) {
        ranks[i].row = (uint32_t)i;
        for (size_t c = 0; c < t->column_count; c++) {
            double share = sums[c] > 0 ? size_of(rows.items[i].values[c]) / sums[c] : 0;
            if (share > ranks[i].share)
                ranks[i].share = share;
        }
    }
    qsort(ranks, rows.count, sizeof *ranks, compare_ranks);
    for (size_t i = 0; i < rows.count; i++)
        *vec_push(out) = rows.items[ranks[i].row];
    free(ranks);
    free(of_node);
    vec_release(&rows);
}

const char *stack_table_thread(const struct stack_table *t, const struct stack_row *row)
{
    const char *name = row->thread < t->profile->threads.count
                           ? t->profile->threads.items[row->thread].name
                           : NULL;
    return name ? name : "";
}

uint64_t *stack_table_addresses(const struct stack_table *t)
{
    uint64_t *addresses = xcalloc(t->frames.frames.count + 1, sizeof *addresses);
    for (size_t c = 1; c < t->tree.parent.count; c++) {
        uint64_t address = t->profile->nodes.items[t->tree.node.items[c]].address;
        if (t->tree.node.items[c] && !NODE_IS_PYTHON(address) &&
            NODE_PC(address) > NODE_POOL + 4096)
            addresses[t->tree.frame.items[c]] = NODE_PC(address) - 1;
    }
    return addresses;
}

struct stack_frame stack_frame_of(const struct frame_table *t, uint32_t frame)
{
    const struct call_frame *f = &t->frames.items[frame];
    return (struct stack_frame){.name = frame_table_string(t, f->name),
                                .file = f->file ? frame_table_string(t, f->file) : "",
                                .module = f->module ? frame_table_string(t, f->module) : "",
                                .line = f->line,
                                .python = f->kind == FRAME_PYTHON,
                                .inlined = f->kind == FRAME_INLINED};
}

size_t profile_peak_interval(const struct profile *p)
{
    size_t i = 0;
    while (i < p->intervals.count && p->intervals.items[i].peak_bytes != p->peak_bytes)
        i++;
    if (i < p->intervals.count)
        return i;
    for (i = 0; i + 1 < p->intervals.count && p->intervals.items[i].end_ns < p->peak_time_ns;)
        i++;
    return i;
}

void profile_command(const struct profile *p, struct strbuf *out)
{
    strbuf_puts(out, "");
    for (size_t i = 0; i < p->command.count; i++) {
        strbuf_puts(out, i ? " " : "");
        strbuf_puts(out, p->command.items[i]);
    }
}
