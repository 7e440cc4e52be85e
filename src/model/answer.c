#include "model/answer.h"

#include <errno.h>
#include <string.h>

#include "model/imported.h"
#include "model/spread.h"

static int check_shape(const struct query *q, struct err *err)
{
    if (q->filter.python_only && q->filter.native_only)
        return err_set(err, -EINVAL, "--python-only and --native-only exclude each other");
    if (q->shape != SHAPE_TABLE && (q->by == BY_STACK || q->by == BY_THREAD))
        return err_set(err, -EINVAL,
                       "%s can be combined with --by function, line, library or file, not %s",
                       q->shape == SHAPE_TREE      ? "--tree"
                       : q->shape == SHAPE_CALLERS ? "--callers"
                                                   : "--callees",
                       grouping_name(q->by));
    return 0;
}

static int shape_rows(struct answer *a, struct err *err)
{
    const struct query *q = a->query;
    struct group g;
    int code = 0;
    group_init(&g, &a->frames, &a->tree, q->by);
    if (q->shape == SHAPE_TREE) {
        merged_build(&a->merged, &a->tree, g.of_frame, q->by == BY_LIBRARY || q->by == BY_FILE);
        merged_tree_rows(&a->rows, &a->merged, &g, q, &a->tree);
    } else if (q->shape == SHAPE_CALLERS || q->shape == SHAPE_CALLEES) {
        code = aggregate_edges(&a->rows, &a->of, &a->tree, &g, q, err);
    } else {
        aggregate_groups(&a->rows, &a->tree, &g);
    }
    group_release(&g);
    return code;
}

static int make_rows(struct answer *a, struct err *err)
{
    const struct query *q = a->query;
    if (q->by == BY_THREAD) {
        aggregate_threads(&a->rows, &a->tree, &a->measure, a->profile);
    } else if (q->by == BY_STACK) {
        merged_build(&a->merged, &a->tree, NULL, false);
        if (q->tree_only)
            return 0;
        merged_stack_rows(&a->rows, &a->merged, &a->tree, &a->measure, a->profile);
    } else {
        int code = shape_rows(a, err);
        if (code || q->shape == SHAPE_TREE) /* a tree has its own order */
            return code;
    }
    answer_rows_sort(&a->rows);
    answer_rows_cut(&a->rows, q, a->tree.scale, a->tree.by_max);
    if (q->by == BY_STACK)
        merged_stack_depths(&a->rows, &a->merged);
    return 0;
}

/* A table of functions, lines or files shows the Python code that the user wrote. Stacks and trees
 * show all frames anyway, and libraries are native. */
static enum charge charge_of(const struct query *q)
{
    bool by_code = q->by == BY_FUNCTION || q->by == BY_LINE || q->by == BY_FILE;
    bool as_is = q->filter.native_only || q->filter.no_fold;
    return q->shape == SHAPE_TABLE && by_code && !as_is ? CHARGE_PYTHON : CHARGE_INNERMOST;
}

static int measure_before(struct answer *a, struct err *err)
{
    struct query then = *a->query;
    struct window window;
    then.at = then.before;
    then.since = NULL;
    int code = measure_window(a->profile, &then, &window, err);
    if (!code)
        measure_sites(&a->before, a->profile, then.metric, then.size, &window);
    return code;
}

int answer_query(struct answer *a, const struct recording *r, const struct query *q,
                 struct err *err)
{
    *a = (struct answer){.recording = r, .query = q};
    int code = check_shape(q, err);
    if (!code)
        code = answer_process(r, q, &a->profile, err);
    if (!code)
        code = measure_window(a->profile, q, &a->window, err);
    if (!code && (q->by == BY_THREAD || q->filter.thread))
        code = known_all(a->profile, UNKNOWN_THREADS, "threads", err);
    if (!code && q->histogram)
        code = histograms_check(a->profile, q, &a->window, err);
    if (!code && q->before)
        code = measure_before(a, err);
    if (code)
        return code;
    a->totals = totals_of(a->profile, &a->window);
    frame_table_init(&a->frames, r, a->profile, &q->filter);
    measure_sites(&a->measure, a->profile, q->metric, q->size, &a->window);
    code = call_tree_build(&a->tree, &a->frames, &a->measure, q->before ? &a->before : NULL,
                           charge_of(q), err);
    if (!code)
        code = make_rows(a, err);
    if (!code)
        spread_find(a);
    if (!code && q->histogram)
        histograms_make(&a->histograms, a->profile, q, &a->tree, &a->measure, &a->rows, &a->merged);
    if (code)
        answer_release(a);
    return code;
}

void answer_prepare(const struct recording *r)
{
    struct query q;
    const struct profile *p;
    struct frame_table frames;
    struct err ignored = {{0}};
    query_init(&q);
    if (answer_process(r, &q, &p, &ignored) == 0) {
        frame_table_init(&frames, r, p, &q.filter);
        struct call_paths *paths = call_paths_prepare(&frames);
        if (paths)
            merged_prepare(paths);
        frame_table_release(&frames);
    }
    query_release(&q);
}

void answer_release(struct answer *a)
{
    histograms_release(&a->histograms);
    answer_rows_release(&a->rows);
    merged_release(&a->merged);
    call_tree_release(&a->tree);
    measure_release(&a->measure);
    measure_release(&a->before);
    frame_table_release(&a->frames);
    *a = (struct answer){0};
}
