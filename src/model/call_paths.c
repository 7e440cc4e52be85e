#include "model/call_paths.h"

#include <stdlib.h>
#include <string.h>

/* The paths of all sites take longer to build than those that one question needs. */
#define TAKEN_OFTEN 3

/* State while the paths are built. */
struct builder {
    struct call_paths *paths;
    struct frame_table *frames;
    const struct profile *profile;
    const bool *wanted;
    uint32_t *first_child, *next_sibling; /* of the nodes that are needed; 0: none */
    bool fold_interpreter;
};

/* Which stacks: if Python's own C code is folded, stacks with Python frames come first. */
enum portion { ALL_STACKS, WITH_PYTHON, WITHOUT_PYTHON };

static uint32_t parent_of(const struct profile *p, uint32_t node)
{
    uint32_t parent = p->nodes.items[node].parent;
    return parent < p->nodes.count ? parent : 0;
}

/*
 * Links the nodes on the paths of sites that count. It marks a node before climbing, so it ends on
 * any input; nodes on a cycle are never linked to the root and are not visited later.
 */
static void link_nodes(struct builder *b, enum portion portion)
{
    const struct profile *p = b->profile;
    size_t count = p->nodes.count;
    uint8_t *needed = xcalloc(count + 1, 1);
    for (size_t s = 0; s < p->sites.count; s++) {
        if (b->wanted && !b->wanted[s])
            continue;
        uint32_t node = p->sites.items[s].node;
        if (portion != ALL_STACKS && node < count &&
            (b->paths->stack_flags[node] & CALL_PYTHON) !=
                (portion == WITH_PYTHON ? CALL_PYTHON : 0))
            continue;
        while (node && node < count && !needed[node]) {
            needed[node] = 1;
            node = parent_of(p, node);
        }
    }
    memset(b->first_child, 0, (count + 1) * sizeof *b->first_child);
    for (size_t i = count; i-- > 1;) /* backwards, so that children are in order */
        if (needed[i]) {
            uint32_t parent = parent_of(p, (uint32_t)i);
            b->next_sibling[i] = b->first_child[parent];
            b->first_child[parent] = (uint32_t)i;
        }
    free(needed);
}

static uint32_t add_call(struct call_paths *p, uint32_t parent, uint32_t frame, uint32_t node,
                         uint16_t flags)
{
    *vec_push(&p->parent) = parent;
    *vec_push(&p->frame) = frame;
    *vec_push(&p->node) = node;
    *vec_push(&p->flags) = flags;
    return (uint32_t)p->parent.count - 1;
}

static void enter_node(struct builder *b, uint32_t node)
{
    struct call_paths *p = b->paths;
    uint32_t above = parent_of(b->profile, node), call = p->leaf[above];
    uint16_t flags = p->stack_flags[above];
    struct frame_run run = frame_table_run(b->frames, node);
    for (uint32_t i = run.count; i-- > 0;) { /* the outermost first */
        uint32_t frame = b->frames->list.items[run.first + i];
        uint16_t f = b->frames->frames.items[frame].flags;
        flags |= f;
        if (!(f & CALL_DROPPED) &&
            !(b->fold_interpreter && b->frames->frames.items[frame].interpreter))
            call = add_call(p, call, frame, node, f);
    }
    p->leaf[node] = call;
    p->stack_flags[node] = flags;
}

static void note_flags(struct builder *b, uint32_t node)
{
    uint16_t *flags = b->paths->stack_flags;
    flags[node] = flags[parent_of(b->profile, node)];
    struct frame_run run = frame_table_run(b->frames, node);
    for (uint32_t i = 0; i < run.count; i++)
        flags[node] |= b->frames->frames.items[b->frames->list.items[run.first + i]].flags;
}

static void note_order(struct builder *b, uint32_t node)
{
    *vec_push(&b->paths->order) = node;
}

static void visit_nodes(struct builder *b, void (*visit)(struct builder *b, uint32_t node))
{
    uint32_t node = b->first_child[0];
    while (node) {
        visit(b, node);
        if (b->first_child[node]) {
            node = b->first_child[node];
            continue;
        }
        while (node && !b->next_sibling[node])
            node = parent_of(b->profile, node);
        node = node ? b->next_sibling[node] : 0;
    }
}

/* Is Python's own C code listed, or is there none? */
static bool lists_interpreter(const struct frame_table *t)
{
    const struct profile *p = t->profile;
    if (t->filter && (t->filter->no_fold || t->filter->native_only))
        return true;
    for (size_t i = 0; i < p->frames.count; i++)
        if (p->frames.items[i].kind == FRAME_PYTHON)
            return false;
    return true;
}

/*
 * In stacks with Python frames, the C code of Python is left out; other stacks have nothing else.
 * So outer frames that both kinds share are added twice, once for each kind.
 */
static void add_calls(struct builder *b)
{
    link_nodes(b, ALL_STACKS);
    visit_nodes(b, note_order);
    if (b->paths->interpreter) {
        visit_nodes(b, enter_node);
        return;
    }
    visit_nodes(b, note_flags);
    link_nodes(b, WITH_PYTHON);
    b->fold_interpreter = true;
    visit_nodes(b, enter_node);
    b->fold_interpreter = false;
    /* Last, because the call that is charged is decided by the last visit. */
    link_nodes(b, WITHOUT_PYTHON);
    visit_nodes(b, enter_node);
}

static bool any_is_wanted(const bool *wanted, size_t count)
{
    return count && (!wanted || memchr(wanted, true, count * sizeof *wanted));
}

void call_paths_build(struct call_paths *p, struct frame_table *frames, const bool *wanted)
{
    size_t nodes = frames->profile->nodes.count + 1;
    *p = (struct call_paths){.leaf = xcalloc(nodes, sizeof *p->leaf),
                             .stack_flags = xcalloc(nodes, sizeof *p->stack_flags),
                             .interpreter = lists_interpreter(frames)};
    add_call(p, 0, CALL_NONE, 0, 0);
    if (!any_is_wanted(wanted, frames->profile->sites.count))
        return;
    struct builder b = {.paths = p,
                        .frames = frames,
                        .profile = frames->profile,
                        .wanted = wanted,
                        .first_child = xcalloc(nodes, sizeof *b.first_child),
                        .next_sibling = xcalloc(nodes, sizeof *b.next_sibling)};
    add_calls(&b);
    free(b.first_child);
    free(b.next_sibling);
}

void call_paths_release(struct call_paths *p)
{
    vec_release(&p->parent);
    vec_release(&p->frame);
    vec_release(&p->node);
    vec_release(&p->flags);
    vec_release(&p->order);
    free(p->leaf);
    free(p->stack_flags);
    free(p->merged.of_call);
    free(p->merged.parent);
    free(p->merged.key);
    *p = (struct call_paths){0};
}

void call_paths_set_flags(struct call_paths *p, const struct frame_table *frames)
{
    uint16_t *of_run = xcalloc(frames->runs.count + 1, sizeof *of_run);
    for (size_t i = 0; i < frames->runs.count; i++) {
        struct frame_run run = frames->runs.items[i];
        for (uint32_t k = 0; k < run.count; k++)
            of_run[i] |= frames->frames.items[frames->list.items[run.first + k]].flags;
    }
    for (size_t i = 0; i < p->order.count; i++) {
        uint32_t node = p->order.items[i];
        p->stack_flags[node] =
            p->stack_flags[parent_of(frames->profile, node)] | of_run[frames->run_of[node]];
    }
    for (size_t c = 1; c < p->frame.count; c++)
        p->flags.items[c] = frames->frames.items[p->frame.items[c]].flags;
    free(of_run);
}

uint32_t *call_paths_rules(const struct call_paths *p, struct suppress_match *suppress)
{
    const struct frame_table *frames = suppress->frames;
    size_t nodes = frames->profile->nodes.count + 1;
    uint32_t *rule = xmalloc(nodes * sizeof *rule);
    uint32_t *of_run = xmalloc((frames->runs.count + 1) * sizeof *of_run);
    memset(rule, 0xff, nodes * sizeof *rule);
    for (size_t i = 0; i < frames->runs.count; i++) {
        struct frame_run run = frames->runs.items[i];
        of_run[i] = SUPPRESS_NONE;
        for (uint32_t k = 0; k < run.count; k++) {
            uint32_t own = suppress_match_frame(suppress, frames->list.items[run.first + k]);
            of_run[i] = own < of_run[i] ? own : of_run[i];
        }
    }
    for (size_t i = 0; i < p->order.count; i++) {
        uint32_t node = p->order.items[i], own = of_run[frames->run_of[node]];
        uint32_t above = rule[parent_of(frames->profile, node)];
        rule[node] = own < above ? own : above;
    }
    free(of_run);
    return rule;
}

struct call_paths *call_paths_prepare(struct frame_table *frames)
{
    if (!frames->key)
        return NULL;
    if (frames->paths && frames->paths->interpreter != lists_interpreter(frames)) {
        call_paths_release(frames->paths);
        free(frames->paths);
        frames->paths = NULL;
    }
    if (!frames->paths) {
        frames->paths = xmalloc(sizeof *frames->paths);
        call_paths_build(frames->paths, frames, NULL);
    }
    return frames->paths;
}

struct call_paths *call_paths_kept(struct frame_table *frames)
{
    return frames->paths || frames->taken >= TAKEN_OFTEN ? call_paths_prepare(frames) : NULL;
}
