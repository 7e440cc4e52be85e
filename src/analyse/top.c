#include "analyse/top.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/path.h"

static const char *const sorts[TOP_SORTS] = {"live", "growth", "rate", "temporary"};

const char *top_sort_name(enum top_sort sort)
{
    return sorts[sort];
}

bool top_sort_parse(const char *word, enum top_sort *out)
{
    for (int i = 0; i < TOP_SORTS; i++)
        if (strcmp(word, sorts[i]) == 0) {
            *out = (enum top_sort)i;
            return true;
        }
    return false;
}

/* What is the same in all answers. A row shows where most of its bytes are, so one function may
 * have a different line in each answer, and a file a different library. A Python function belongs
 * to its file, whose name stands for the library. */
static uint32_t label_of(struct strpool *labels, const struct answer_row *r, enum grouping by)
{
    const char *module = r->module ? r->module : "", *file = r->file ? r->file : "";
    bool python = strcmp(path_base(file), module) == 0;
    bool of_function = by == BY_FUNCTION || by == BY_LINE;
    char *text = xasprintf("%s\n%s\n%s\n%u", r->name, of_function ? module : "",
                           by == BY_LINE || (of_function && python) ? file : "",
                           by == BY_LINE ? r->line : 0);
    uint32_t label = strpool_add(labels, text);
    free(text);
    return label;
}

/* The row of the same label, added if there is none. */
static struct top_row *row_at(struct top *t, struct strpool *labels, struct map *index,
                              const struct answer_row *r)
{
    uint32_t *number = map_at(index, label_of(labels, r, t->queries[TOP_ASK_HELD].by));
    if (*number == MAP_NONE) {
        *number = (uint32_t)t->rows.count;
        *vec_push(&t->rows) = (struct top_row){
            .name = r->name, .module = r->module, .file = r->file, .line = r->line};
    }
    return &t->rows.items[*number];
}

static void add(struct top_row *row, enum top_question question, struct value v, double per_second)
{
    switch (question) {
    case TOP_ASK_HELD:
        row->bytes += v.amount;
        row->blocks += v.count;
        break;
    case TOP_ASK_GAINED:
        row->growth += per_second;
        break;
    case TOP_ASK_ALLOCATED:
        row->rate += per_second;
        break;
    default:
        row->temporary += per_second;
    }
}

/* The answers use the same names for the same rows. */
static void join_rows(struct top *t)
{
    struct strpool labels = {0};
    struct map index = {0};
    for (int q = 0; q < TOP_ASKS; q++) {
        const struct answer_rows *rows = &t->answers[q].rows;
        for (size_t i = 0; i < rows->rows.count; i++) {
            const struct answer_row *r = &rows->rows.items[i];
            double rate = t->window_s > 0 ? (double)r->self.amount / t->window_s : 0;
            add(row_at(t, &labels, &index, r), (enum top_question)q, r->self, rate);
            add(&t->all, (enum top_question)q, r->self, rate);
        }
    }
    map_release(&index);
    strpool_release(&labels);
}

/* Drops functions that only call others and have nothing of their own. */
static void drop_idle(struct top *t)
{
    size_t kept = 0;
    for (size_t i = 0; i < t->rows.count; i++) {
        const struct top_row *r = &t->rows.items[i];
        if (r->bytes || r->blocks || r->growth || r->rate || r->temporary)
            t->rows.items[kept++] = *r;
    }
    t->rows.count = kept;
}

static double key_of(const struct top_row *r, enum top_sort sort)
{
    return sort == TOP_HELD     ? (double)r->bytes
           : sort == TOP_GROWTH ? r->growth
           : sort == TOP_RATE   ? r->rate
                                : r->temporary;
}

/* Largest first, then what is held, then by name: the order is total. */
static int compare(const void *a, const void *b, void *context)
{
    const struct top_row *x = a, *y = b;
    double one = key_of(x, *(enum top_sort *)context), other = key_of(y, *(enum top_sort *)context);
    if (one != other)
        return one < other ? 1 : -1;
    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? 1 : -1;
    int order = strcmp(x->name, y->name);
    return order ? order : (x->line > y->line) - (x->line < y->line);
}

/* Finds where the window begins: so long before the end of the run, whatever the metric's moment
 * is. */
static int find_since(struct top *t, const struct recording *r, const struct query *q,
                      uint64_t window_ns, struct err *err)
{
    const struct profile *p;
    struct window whole;
    int code = answer_process(r, q, &p, err);
    if (!code)
        code = window_resolve(p, NULL, NULL, &whole, err);
    if (code)
        return code;
    uint64_t end = whole.at.time_ns;
    snprintf(t->since, sizeof t->since, "%.9fs",
             (double)(end > window_ns ? end - window_ns : 0) / 1e9);
    return 0;
}

int top_query(struct top *out, const struct recording *r, const struct query *q, uint64_t window_ns,
              enum top_sort sort, struct err *err)
{
    static const enum metric metrics[TOP_ASKS] = {[TOP_ASK_GAINED] = METRIC_LIVE,
                                                  [TOP_ASK_ALLOCATED] = METRIC_TOTAL,
                                                  [TOP_ASK_TEMPORARY] = METRIC_TEMPORARY};
    *out = (struct top){.sort = sort};
    int code = find_since(out, r, q, window_ns, err);
    for (int i = 0; !code && i < TOP_ASKS; i++) {
        struct query *one = &out->queries[i];
        *one = *q;
        one->top = QUERY_ALL;
        one->min_percent = 0;
        if (i != TOP_ASK_HELD) {
            one->metric = metrics[i];
            one->since = out->since;
        }
        code = answer_query(&out->answers[i], r, one, err);
        for (int k = i; code && k > 0; k--)
            answer_release(&out->answers[k - 1]);
    }
    if (code)
        return code;
    const struct answer *gained = &out->answers[TOP_ASK_GAINED];
    const struct window *w = &gained->window;
    struct window whole = {.at = w->at};
    out->window_s = (double)(w->at.time_ns - w->since.time_ns) / 1e9;
    out->now = totals_of(gained->profile, &whole);
    join_rows(out);
    drop_idle(out);
    qsort_r(out->rows.items, out->rows.count, sizeof *out->rows.items, compare, &sort);
    size_t kept = q->top < out->rows.count ? q->top : out->rows.count;
    out->left_out = out->rows.count - kept;
    out->rows.count = kept;
    return 0;
}

void top_release(struct top *t)
{
    for (int i = 0; i < TOP_ASKS; i++)
        answer_release(&t->answers[i]);
    vec_release(&t->rows);
}
