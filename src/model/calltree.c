#include "model/calltree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* State while the tree is built. */
struct builder {
    struct call_tree *tree;
    struct frame_table *frames;
    const struct profile *profile;
    const struct stack_filter *filter;
    const struct measure *measure, *also;
    enum charge charge;
    struct call_paths *paths; /* kept ones, or `own` */
    struct call_paths own;
    uint32_t *picked;         /* for kept paths: call there -> call of the tree; NULL: the same */
    VEC(uint16_t) call_flags; /* of picked calls */
    struct suppress_match suppress;
    uint32_t *rule; /* node -> suppression that a frame of its stack matches; NULL: none do */
    bool any;       /* some site has a value */
    bool *resized;  /* site -> is it a call of realloc? NULL: not needed */
};

/* Does the site have a value at the moment in question, or at the other one? */
static bool has_value(const struct builder *b, size_t site)
{
    return !value_is_zero(b->measure->sites[site]) ||
           (b->also && !value_is_zero(b->also->sites[site]));
}

static uint32_t add_call(struct builder *b, uint32_t parent, uint32_t frame, uint32_t node,
                         uint16_t flags)
{
    *vec_push(&b->tree->parent) = parent;
    *vec_push(&b->tree->frame) = frame;
    *vec_push(&b->tree->node) = node;
    *vec_push(&b->call_flags) = flags;
    return (uint32_t)b->tree->parent.count - 1;
}

/* Picks the calls of kept paths that lead to a site with a value, in the same order. */
static void pick_calls(struct builder *b)
{
    const struct call_paths *p = b->paths;
    const struct profile *profile = b->profile;
    const uint32_t *parent = p->parent.items;
    size_t calls = p->parent.count, count = 1;
    uint32_t *picked = b->picked = xcalloc(calls, sizeof *picked);
    for (size_t s = 0; s < b->measure->count; s++) {
        uint32_t node = profile->sites.items[s].node;
        if (node < profile->nodes.count && has_value(b, s)) {
            picked[p->leaf[node]] = 1;
            b->any = true;
        }
    }
    for (size_t c = b->any ? calls : 1; c-- > 1;)
        if (picked[c]) {
            picked[parent[c]] = 1;
            count++;
        }
    struct call_tree *t = b->tree;
    vec_reserve(&t->parent, count);
    vec_reserve(&t->frame, count);
    vec_reserve(&t->node, count);
    vec_reserve(&b->call_flags, count);
    t->path_call = xmalloc(count * sizeof *t->path_call);
    picked[0] = 1;
    count = 0;
    for (size_t c = 0; c < (b->any ? calls : 1); c++) {
        if (!picked[c])
            continue;
        picked[c] = (uint32_t)count;
        t->path_call[count] = (uint32_t)c;
        t->parent.items[count] = picked[parent[c]];
        t->frame.items[count] = p->frame.items[c];
        t->node.items[count] = p->node.items[c];
        b->call_flags.items[count++] = p->flags.items[c];
    }
    t->parent.count = t->frame.count = t->node.count = b->call_flags.count = count;
}

/* Builds its own calls, only those that lead to a site with a value. */
static void make_calls(struct builder *b)
{
    struct call_tree *t = b->tree;
    bool *wanted = xcalloc(b->measure->count + 1, sizeof *wanted);
    for (size_t s = 0; s < b->measure->count; s++)
        wanted[s] = has_value(b, s);
    call_paths_build(&b->own, b->frames, wanted);
    free(wanted);
    b->any = b->own.order.count;
    t->parent = b->own.parent;
    t->frame = b->own.frame;
    t->node = b->own.node;
    b->own.parent = b->own.frame = b->own.node = (struct call_numbers){0};
    b->call_flags.items = b->own.flags.items;
    b->call_flags.count = b->own.flags.count;
    b->call_flags.capacity = b->own.flags.capacity;
    b->own.flags.items = NULL;
    b->paths = &b->own;
}

static uint32_t leaf_of(const struct builder *b, uint32_t node)
{
    uint32_t leaf = b->paths->leaf[node];
    return b->picked ? b->picked[leaf] : leaf;
}

/* The call that is charged for what was allocated at the end of a stack; 0: no frame is left. */
static uint32_t charged(const struct builder *b, uint32_t node, enum charge charge)
{
    struct fold f = {.parent = b->tree->parent.items,
                     .flags = b->call_flags.items,
                     .in_place = b->measure->in_place,
                     .gpu = b->measure->gpu,
                     .no_fold = b->filter && b->filter->no_fold};
    bool has_python = b->paths->stack_flags[node] & CALL_PYTHON;
    return fold_charged(&f, leaf_of(b, node), charge, has_python);
}

/* Is its innermost frame the recorder's? Outer frames of the recorder may be in any stack. */
static bool is_recorders(const struct builder *b, uint32_t node)
{
    struct frame_run run = frame_table_run(b->frames, node);
    uint32_t innermost = run.count ? b->frames->list.items[run.first] : 0;
    return run.count && (b->frames->frames.items[innermost].flags & CALL_RECORDER);
}

enum marker { MARKER_UNKNOWN, MARKER_DROPPED, MARKER_RECORDER, MARKERS };

/* The call that stands for stacks without any frame to list, added when first needed. */
static uint32_t charged_marker(struct builder *b, uint32_t node, uint32_t markers[MARKERS])
{
    bool known = node && node < b->profile->nodes.count;
    enum marker marker = known && is_recorders(b, node)                          ? MARKER_RECORDER
                         : known && (b->paths->stack_flags[node] & CALL_DROPPED) ? MARKER_DROPPED
                                                                                 : MARKER_UNKNOWN;
    if (!markers[marker]) {
        const char *name = marker == MARKER_UNKNOWN    ? "[unknown]"
                           : marker == MARKER_RECORDER ? "[tidemark]"
                           : b->filter->python_only    ? "[native]"
                           : b->filter->native_only    ? "[python]"
                                                       : "[folded]";
        markers[marker] = add_call(b, 0, frame_table_marker(b->frames, name), 0, CALL_MARKER);
    }
    return markers[marker];
}

/* A site is one place in the program: if one block there came from realloc, all did. */
static bool *resized_sites(const struct profile *p)
{
    bool *resized = xcalloc(p->sites.count + 1, sizeof *resized);
    for (size_t i = 0; i < p->rows.count; i++)
        if (p->rows.items[i].columns[COL_REALLOCS])
            resized[p->rows.items[i].site] = true;
    return resized;
}

/* Is the site's stack to be left out? Then it is added to the count of its reason. */
static bool ignore_site(struct builder *b, uint32_t node, uint16_t flags, struct value v,
                        enum allocation allocation, struct value *by_rule)
{
    struct call_tree *t = b->tree;
    enum ignored_kind kind = IGNORED_PATTERN;
    uint32_t rule = SUPPRESS_NONE;
    if (!(flags & CALL_IGNORED)) {
        if (!b->rule || !node)
            return false;
        rule = suppress_match_stack(&b->suppress, node, allocation, b->rule[node]);
        if (rule == SUPPRESS_NONE)
            return false;
        const struct suppress_rule *r = &b->suppress.rules.items[rule];
        kind = r->is_preset ? IGNORED_PRESET : IGNORED_SUPPRESSION;
        value_join(&by_rule[rule], v, t->by_max);
        if (r->is_preset)
            value_join(&t->presets[r->rule->preset], v, t->by_max);
    }
    value_join(&t->ignored, v, t->by_max);
    value_join(&t->ignored_by[kind], v, t->by_max);
    return true;
}

static void list_suppressed(struct builder *b, const struct value *by_rule)
{
    for (size_t i = 0; i < b->suppress.rules.count; i++)
        if (!value_is_zero(by_rule[i]) && !b->suppress.rules.items[i].is_preset)
            *vec_push(&b->tree->suppressed) =
                (struct ignored_rule){b->suppress.rules.items[i].rule->name, by_rule[i]};
}

static int place_sites(struct builder *b, struct err *err)
{
    struct call_tree *t = b->tree;
    const struct measure *m = b->measure;
    struct stack_choice choice;
    int code = stack_choice_init(&choice, b->frames, err);
    if (code)
        return code;
    struct value *by_rule = xcalloc(b->suppress.rules.count + 1, sizeof *by_rule);
    uint32_t markers[MARKERS] = {0};
    for (size_t s = 0; s < m->count; s++) {
        const struct site *site = &b->profile->sites.items[s];
        t->site_call[s] = t->site_leaf[s] = CALL_NONE;
        if (!has_value(b, s))
            continue;
        bool known = site->node < b->profile->nodes.count;
        uint16_t flags = known ? b->paths->stack_flags[site->node] : 0;
        if (!stack_choice_counts(&choice, site->thread, flags)) {
            value_join(&t->outside, m->sites[s], m->by_max);
        } else if (!ignore_site(b, known ? site->node : 0, flags, m->sites[s],
                                b->resized && b->resized[s] ? ALLOCATION_REALLOC : ALLOCATION_OTHER,
                                by_rule)) {
            uint32_t call = known ? charged(b, site->node, b->charge) : 0;
            t->site_call[s] = call ? call : charged_marker(b, site->node, markers);
            t->site_leaf[s] = call ? charged(b, site->node, CHARGE_INNERMOST) : t->site_call[s];
            value_join(&t->sum, m->sites[s], m->by_max);
        }
    }
    list_suppressed(b, by_rule);
    free(by_rule);
    stack_choice_release(&choice);
    return 0;
}

static void add_up(struct call_tree *t, const struct measure *m)
{
    size_t count = t->parent.count;
    t->own = xcalloc(count, sizeof *t->own);
    t->below = xcalloc(count, sizeof *t->below);
    for (size_t s = 0; s < m->count; s++)
        if (t->site_call[s] != CALL_NONE)
            value_join(&t->own[t->site_call[s]], m->sites[s], t->by_max);
    for (size_t c = 0; c < count; c++)
        t->scale = wrapped(t->scale, t->own[c].amount < 0 ? (int64_t) - (uint64_t)t->own[c].amount
                                                          : t->own[c].amount);
    if (t->by_max)
        t->scale = t->sum.amount;
    memcpy(t->below, t->own, count * sizeof *t->own);
    for (size_t c = count; c-- > 1;)
        value_join(&t->below[t->parent.items[c]], t->below[c], t->by_max);
}

int call_tree_build(struct call_tree *t, struct frame_table *frames, const struct measure *m,
                    const struct measure *also, enum charge charge, struct err *err)
{
    *t = (struct call_tree){.frames = frames, .by_max = m->by_max};
    struct builder b = {.tree = t,
                        .frames = frames,
                        .profile = frames->profile,
                        .filter = frames->filter,
                        .measure = m,
                        .also = also,
                        .charge = charge};
    t->site_call = xmalloc((m->count + 1) * sizeof *t->site_call);
    t->site_leaf = xmalloc((m->count + 1) * sizeof *t->site_leaf);
    suppress_match_init(&b.suppress, frames);
    b.paths = t->paths = call_paths_kept(frames);
    if (b.paths)
        pick_calls(&b);
    else
        make_calls(&b);
    if (b.suppress.rules.count && b.any) {
        b.resized = resized_sites(frames->profile);
        b.rule = call_paths_rules(b.paths, &b.suppress);
    }
    size_t calls = t->parent.count;
    int code = place_sites(&b, err);
    t->markers = t->parent.count - calls;
    if (!code)
        code = stack_filter_check(frames, err);
    if (!code)
        add_up(t, m);
    free(b.picked);
    free(b.rule);
    free(b.resized);
    suppress_match_release(&b.suppress);
    call_paths_release(&b.own);
    vec_release(&b.call_flags);
    if (code)
        call_tree_release(t);
    return code;
}

void call_tree_release(struct call_tree *t)
{
    vec_release(&t->parent);
    vec_release(&t->frame);
    vec_release(&t->node);
    vec_release(&t->suppressed);
    free(t->path_call);
    free(t->own);
    free(t->below);
    free(t->site_call);
    free(t->site_leaf);
    *t = (struct call_tree){0};
}

uint32_t call_walk_leave(struct call_walk *w, const struct call_tree *t, uint32_t call)
{
    if (w->path.count && *vec_last(&w->path) != t->parent.items[call])
        return w->path.items[--w->path.count];
    *vec_push(&w->path) = call;
    return CALL_NONE;
}
