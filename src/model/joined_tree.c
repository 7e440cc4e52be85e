#include "model/joined_tree.h"

#include <stdlib.h>
#include <string.h>

/* The callees of each node while the tree is built. Most nodes have few, which are searched one by
 * one because they are close together in memory. If there are more, all of them are in a map. */
#define FEW 8

struct callees {
    uint32_t *first, *next; /* by node; 0: none */
    uint8_t *count;         /* more than FEW: in the map */
    struct map many;        /* parent, key -> node */
};

static uint32_t callee_find(const struct callees *c, const struct merged *m, uint32_t above,
                            uint32_t key)
{
    if (c->count[above] > FEW) {
        uint32_t node = map_get(&c->many, (uint64_t)above << 32 | key);
        return node == MAP_NONE ? 0 : node;
    }
    uint32_t node = c->first[above];
    while (node && m->key.items[node] != key)
        node = c->next[node];
    return node;
}

static void callee_add(struct callees *c, const struct merged *m, uint32_t above, uint32_t node)
{
    c->next[node] = c->first[above];
    c->first[above] = node;
    if (c->count[above] > FEW)
        *map_at(&c->many, (uint64_t)above << 32 | m->key.items[node]) = node;
    else if (++c->count[above] > FEW)
        for (uint32_t n = node; n; n = c->next[n])
            *map_at(&c->many, (uint64_t)above << 32 | m->key.items[n]) = n;
}

/* Calls in preorder, and the number that says which are equal. */
struct calls {
    const uint32_t *parent, *frame;
    size_t count;
    const uint32_t *keys; /* of frames; NULL: the frame numbers themselves */
};

static void merge_calls(struct merged *m, const struct calls *calls, bool collapse)
{
    struct callees callees = {.first = xcalloc(calls->count + 1, sizeof *callees.first),
                              .next = xcalloc(calls->count + 1, sizeof *callees.next),
                              .count = xcalloc(calls->count + 1, sizeof *callees.count)};
    for (size_t c = 1; c < calls->count; c++) {
        uint32_t above = m->of_call[calls->parent[c]];
        uint32_t key = calls->keys ? calls->keys[calls->frame[c]] : calls->frame[c];
        if (collapse && m->key.items[above] == key) {
            m->of_call[c] = above;
            continue;
        }
        uint32_t node = callee_find(&callees, m, above, key);
        if (!node) {
            node = (uint32_t)m->parent.count;
            *vec_push(&m->parent) = above;
            *vec_push(&m->key) = key;
            callee_add(&callees, m, above, node);
        }
        m->of_call[c] = node;
    }
    free(callees.first);
    free(callees.next);
    free(callees.count);
    map_release(&callees.many);
}

static void init_root(struct merged *m, size_t calls)
{
    *m = (struct merged){.of_call = xcalloc(calls, sizeof *m->of_call)};
    *vec_push(&m->parent) = 0;
    *vec_push(&m->key) = CALL_NONE;
}

void merged_prepare(struct call_paths *p)
{
    struct merged m;
    const struct calls calls = {p->parent.items, p->frame.items, p->parent.count, NULL};
    if (p->merged.of_call)
        return;
    init_root(&m, calls.count);
    merge_calls(&m, &calls, false);
    p->merged = (struct merged_paths){m.of_call, m.parent.items, m.key.items, m.parent.count};
}

/* The node of a call that is on no path: a marker, below the root. */
static uint32_t marker_node(struct merged *m, uint32_t frame)
{
    for (size_t n = 1; n < m->parent.count; n++)
        if (!m->parent.items[n] && m->key.items[n] == frame)
            return (uint32_t)n;
    *vec_push(&m->parent) = 0;
    *vec_push(&m->key) = frame;
    return (uint32_t)m->parent.count - 1;
}

/* Numbers the nodes of picked calls as merge_calls would. */
static void pick_nodes(struct merged *m, const struct call_tree *t)
{
    merged_prepare(t->paths);
    const struct merged_paths *paths = &t->paths->merged;
    size_t calls = t->parent.count, picked = calls - t->markers;
    uint32_t *number = xcalloc(paths->count, sizeof *number);
    for (size_t c = 1; c < picked; c++) {
        uint32_t node = paths->of_call[t->path_call[c]];
        if (!number[node]) {
            number[node] = (uint32_t)m->parent.count;
            *vec_push(&m->parent) = number[paths->parent[node]];
            *vec_push(&m->key) = paths->key[node];
        }
        m->of_call[c] = number[node];
    }
    for (size_t c = picked; c < calls; c++)
        m->of_call[c] = marker_node(m, t->frame.items[c]);
    free(number);
}

void merged_build(struct merged *m, const struct call_tree *t, const uint32_t *keys, bool collapse)
{
    const struct calls all = {t->parent.items, t->frame.items, t->parent.count, keys};
    init_root(m, all.count);
    if (t->paths && !keys)
        pick_nodes(m, t);
    else
        merge_calls(m, &all, collapse);
    m->self = xcalloc(m->parent.count, sizeof *m->self);
    m->total = xcalloc(m->parent.count, sizeof *m->total);
    for (size_t c = 1; c < all.count; c++)
        value_join(&m->self[m->of_call[c]], t->own[c], t->by_max);
    memcpy(m->total, m->self, m->parent.count * sizeof *m->self);
    for (size_t n = m->parent.count; n-- > 1;)
        value_join(&m->total[m->parent.items[n]], m->total[n], t->by_max);
}

void merged_release(struct merged *m)
{
    vec_release(&m->parent);
    vec_release(&m->key);
    free(m->self);
    free(m->total);
    free(m->of_call);
    *m = (struct merged){0};
}

static int compare_nodes(const void *pa, const void *pb)
{
    const struct answer_row *a = pa, *b = pb;
    uint64_t x = amount_size(a->total.amount), y = amount_size(b->total.amount);
    if (x != y)
        return x > y ? -1 : 1;
    if (a->total.count != b->total.count)
        return a->total.count > b->total.count ? -1 : 1;
    int c = strcmp(a->name, b->name);
    return c ? c : (a->call > b->call) - (a->call < b->call);
}

struct candidate {
    uint64_t size;
    uint32_t node;
};

static int compare_candidates(const void *pa, const void *pb)
{
    const struct candidate *a = pa, *b = pb;
    if (a->size != b->size)
        return a->size > b->size ? -1 : 1;
    return (a->node > b->node) - (a->node < b->node);
}

/* Which nodes are listed: the `top` largest that reach the share, with their ancestors. */
static bool *listed_nodes(const struct merged *m, const struct query *q, const struct call_tree *t)
{
    size_t nodes = m->parent.count, count = 0, kept = 0;
    bool *listed = xcalloc(nodes, sizeof *listed);
    struct candidate *c = xmalloc(nodes * sizeof *c);
    for (uint32_t n = 1; n < nodes; n++) {
        uint64_t size = amount_size(m->total[n].amount);
        if (query_keeps(q, 0, (double)size, (double)t->scale) &&
            !(value_is_zero(m->total[n]) && value_is_zero(m->self[n])))
            c[count++] = (struct candidate){size, n};
    }
    if (count > q->top)
        qsort(c, count, sizeof *c, compare_candidates);
    for (size_t i = 0; i < count && query_keeps(q, kept, 0, 0); i++)
        for (uint32_t n = c[i].node; n && !listed[n]; n = m->parent.items[n]) {
            listed[n] = true;
            kept++;
        }
    free(c);
    return listed;
}

/* The listed nodes as rows, largest first; the others are counted. */
static struct answer_row *listed_rows(struct answer_rows *out, const struct merged *m,
                                      const struct group *g, const struct query *q,
                                      const struct call_tree *t, size_t *count)
{
    bool *listed = listed_nodes(m, q, t);
    struct answer_row *rows = NULL;
    size_t n = 0;
    for (size_t i = 1; i < m->parent.count; i++)
        n += listed[i];
    rows = xcalloc(n + 1, sizeof *rows);
    *count = 0;
    for (uint32_t i = 1; i < m->parent.count; i++) {
        if (listed[i]) {
            struct answer_row row = row_labelled(g, m->key.items[i]);
            row.self = m->self[i];
            row.total = m->total[i];
            row.call = i;
            rows[(*count)++] = row;
        } else if (!value_is_zero(m->total[i]) || !value_is_zero(m->self[i])) {
            out->left_out++;
            value_join(&out->left_out_value, m->self[i], t->by_max);
        }
    }
    free(listed);
    qsort(rows, *count, sizeof *rows, compare_nodes);
    return rows;
}

void merged_tree_rows(struct answer_rows *out, const struct merged *m, const struct group *g,
                      const struct query *q, const struct call_tree *t)
{
    size_t nodes = m->parent.count, count;
    struct answer_row *rows = listed_rows(out, m, g, q, t, &count);
    struct link {
        uint32_t child, next, row;
    } *link = xmalloc(nodes * sizeof *link);
    memset(link, 0xff, nodes * sizeof *link);
    for (size_t i = count; i-- > 0;) { /* smallest first, each put in front of its siblings */
        uint32_t n = rows[i].call, parent = m->parent.items[n];
        link[n].row = (uint32_t)i;
        link[n].next = link[parent].child;
        link[parent].child = n;
    }
    uint32_t depth = 0;
    for (uint32_t n = link[0].child; n != CALL_NONE;) {
        rows[link[n].row].depth = depth;
        *vec_push(&out->rows) = rows[link[n].row];
        if (link[n].child != CALL_NONE) {
            n = link[n].child;
            depth++;
            continue;
        }
        for (; n && link[n].next == CALL_NONE; depth--)
            n = m->parent.items[n];
        n = link[n].next; /* the root has no siblings */
    }
    free(rows);
    free(link);
}

void merged_stack_rows(struct answer_rows *out, const struct merged *m, const struct call_tree *t,
                       const struct measure *values, const struct profile *p)
{
    struct strpool names = {0};
    struct map rows = {0};
    uint32_t *name_of = xmalloc((p->threads.count + 1) * sizeof *name_of);
    for (size_t i = 0; i < p->threads.count; i++)
        name_of[i] = strpool_add(&names, p->threads.items[i].name ? p->threads.items[i].name : "");
    name_of[p->threads.count] = MAP_NONE;
    for (size_t s = 0; s < values->count; s++) {
        if (t->site_call[s] == CALL_NONE)
            continue;
        size_t thread = p->sites.items[s].thread;
        thread = thread < p->threads.count ? thread : p->threads.count;
        uint32_t node = m->of_call[t->site_call[s]];
        uint32_t *row = map_at(&rows, (uint64_t)node << 32 | name_of[thread]);
        if (*row == MAP_NONE) {
            *row = (uint32_t)out->rows.count;
            const struct call_frame *f = &t->frames->frames.items[m->key.items[node]];
            *vec_push(&out->rows) = (struct answer_row){
                .name = frame_table_string(t->frames, f->name),
                .module = f->module ? frame_table_string(t->frames, f->module) : NULL,
                .file = f->file ? frame_table_string(t->frames, f->file) : NULL,
                .line = f->line,
                .thread = thread < p->threads.count ? p->threads.items[thread].name : NULL,
                .call = node,
            };
        }
        value_join(&out->rows.items[*row].self, values->sites[s], t->by_max);
    }
    answer_rows_keep_own(out);
    free(name_of);
    map_release(&rows);
    strpool_release(&names);
}

void merged_stack_depths(struct answer_rows *out, const struct merged *m)
{
    for (size_t i = 0; i < out->rows.count; i++)
        for (uint32_t n = out->rows.items[i].call; n; n = m->parent.items[n])
            out->rows.items[i].depth++;
}
