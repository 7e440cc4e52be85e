/* Callers and callees of one function: the second half of model/aggregate.h. */
#include "model/aggregate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/function_name.h"

/* Which groups are the function in question. */
static bool *groups_named(const struct group *g, const char *function, struct err *err)
{
    bool *named = xcalloc(g->count + 1, sizeof *named), any = false;
    for (uint32_t n = 0; n < g->count; n++)
        any |= named[n] = name_is(group_label(g, n).name, function);
    struct pattern_list regex = {0};
    if (!any && pattern_list_add(&regex, function, "function", NULL) == 0)
        for (uint32_t n = 0; n < g->count; n++)
            any |= named[n] = pattern_list_match(&regex, group_label(g, n).name);
    pattern_list_release(&regex);
    if (any)
        return named;
    err_set(
        err, -ENOENT,
        "no function '%s' in these stacks; give a whole name, one without arguments, or a regular "
        "expression",
        function);
    free(named);
    return NULL;
}

/* Sums by the group on the other side of the call, and one more for the end of the stack. */
struct edges {
    const struct call_tree *tree;
    const struct group *group;
    bool *named;
    uint32_t of_active; /* calls of the function on the current path */
    uint32_t *active;   /* calls from or to a group on the current path */
    struct value *self, *total;
    struct answer_row of;
};

static int edges_init(struct edges *e, const struct call_tree *t, const struct group *g,
                      const char *function, struct err *err)
{
    *e = (struct edges){.tree = t, .group = g, .named = groups_named(g, function, err)};
    if (!e->named)
        return -ENOENT;
    e->active = xcalloc(g->count + 1, sizeof *e->active);
    e->self = xcalloc(g->count + 1, sizeof *e->self);
    e->total = xcalloc(g->count + 1, sizeof *e->total);
    for (uint32_t n = g->count; n-- > 0;)
        if (e->named[n])
            e->of = row_labelled(g, n);
    return 0;
}

/* The group of a call; for the root, the number after the last group. */
static uint32_t side(const struct edges *e, uint32_t call)
{
    return call ? e->group->of_frame[e->tree->frame.items[call]] : e->group->count;
}

static bool is_named(const struct edges *e, uint32_t call)
{
    return call && e->named[side(e, call)];
}

static void edges_finish(struct edges *e, struct answer_rows *out, struct answer_row *of,
                         const char *edge_name)
{
    for (uint32_t n = 0; n <= e->group->count; n++) {
        if (value_is_zero(e->self[n]) && value_is_zero(e->total[n]))
            continue;
        struct answer_row row = n < e->group->count ? row_labelled(e->group, n)
                                                    : (struct answer_row){.name = edge_name};
        row.self = e->self[n];
        row.total = e->total[n];
        *vec_push(&out->rows) = row;
    }
    *of = e->of;
    free(e->named);
    free(e->active);
    free(e->self);
    free(e->total);
}

/* Adds the values of the function itself. Returns whether `call` is its outermost call on the
 * path. */
static bool enter_named(struct edges *e, uint32_t call)
{
    const struct call_tree *t = e->tree;
    value_join(&e->of.self, t->own[call], t->by_max);
    bool outermost = e->of_active++ == 0;
    if (outermost)
        value_join(&e->of.total, t->below[call], t->by_max);
    return outermost;
}

static void leave_caller(struct edges *e, uint32_t call)
{
    if (!is_named(e, call))
        return;
    e->of_active--;
    e->active[side(e, e->tree->parent.items[call])]--;
}

static void add_caller(struct edges *e, uint32_t call)
{
    const struct call_tree *t = e->tree;
    if (!is_named(e, call))
        return;
    uint32_t caller = side(e, t->parent.items[call]);
    if (enter_named(e, call))
        value_join(&e->self[caller], t->below[call], t->by_max);
    if (e->active[caller]++ == 0)
        value_join(&e->total[caller], t->below[call], t->by_max);
}

/* For each call, the value below it in stacks without a further call of the function. */
static struct value *below_without(const struct edges *e)
{
    const struct call_tree *t = e->tree;
    struct value *v = xcalloc(t->parent.count, sizeof *v);
    for (uint32_t c = (uint32_t)t->parent.count; c-- > 1;) {
        value_join(&v[c], t->own[c], t->by_max);
        if (!is_named(e, c))
            value_join(&v[t->parent.items[c]], v[c], t->by_max);
    }
    return v;
}

static void leave_callee(struct edges *e, uint32_t call)
{
    e->of_active -= is_named(e, call);
    if (is_named(e, e->tree->parent.items[call]))
        e->active[side(e, call)]--;
}

static void add_callee(struct edges *e, uint32_t call, const struct value *without)
{
    const struct call_tree *t = e->tree;
    uint32_t n = side(e, call), itself = e->group->count;
    if (is_named(e, t->parent.items[call])) {
        if (!is_named(e, call))
            value_join(&e->self[n], without[call], t->by_max);
        if (e->active[n]++ == 0)
            value_join(&e->total[n], t->below[call], t->by_max);
    }
    if (is_named(e, call)) {
        enter_named(e, call);
        value_join(&e->self[itself], t->own[call], t->by_max);
        value_join(&e->total[itself], t->own[call], t->by_max);
    }
}

int aggregate_edges(struct answer_rows *out, struct answer_row *of, const struct call_tree *t,
                    const struct group *g, const struct query *q, struct err *err)
{
    struct edges e;
    int code = edges_init(&e, t, g, q->function, err);
    if (code)
        return code;
    bool callers = q->shape == SHAPE_CALLERS;
    struct call_walk walk = {0};
    struct value *without = callers ? NULL : below_without(&e);
    for (uint32_t c = 1; c < t->parent.count; c++) {
        for (uint32_t left; (left = call_walk_leave(&walk, t, c)) != CALL_NONE;)
            (callers ? leave_caller : leave_callee)(&e, left);
        if (callers)
            add_caller(&e, c);
        else
            add_callee(&e, c, without);
    }
    free(without);
    vec_release(&walk.path);
    edges_finish(&e, out, of, callers ? "[no caller]" : "[itself]");
    return 0;
}
