/*
 * merge_code_finish: writes the files, addresses and stacks of a merge in their final order. The
 * order depends on names and build ids only: files by path and build id, places by kind and
 * contents, the children of a node by their places. Nodes are numbered in preorder.
 */
#include <stdlib.h>
#include <string.h>

#include "model/merge_state.h"

#define FILES_START (UINT64_C(1) << 21)
#define FILES_END   (UINT64_C(1) << 46)
#define FILE_ALIGN  (UINT64_C(1) << 12)
#define NAMED_START ((UINT64_C(1) << 47) + 1)
#define POOLS_MOST  4094u

struct finishing {
    const struct merge_code *code;
    uint32_t *file_order, *file_rank; /* rank -> file, file -> rank */
    uint32_t *order, *rank;           /* the same for places */
    uint64_t *address;                /* address of each place in the result */
};

/* qsort has no context; only one merge is finished at a time. */
static const struct finishing *sorting;

#define COMPARE(a, b)                                                                              \
    if ((a) != (b))                                                                                \
    return (a) < (b) ? -1 : 1

static int order_of_files(const void *a, const void *b)
{
    const struct code_file *x = &sorting->code->files.items[*(const uint32_t *)a];
    const struct code_file *y = &sorting->code->files.items[*(const uint32_t *)b];
    int order = strcmp(x->path, y->path);
    if (order)
        return order;
    COMPARE(x->build_id_size, y->build_id_size);
    return memcmp(x->build_id, y->build_id, x->build_id_size);
}

static int order_of_places(const void *a, const void *b)
{
    const struct merge_code *c = sorting->code;
    const struct code_place *x = &c->places.items[*(const uint32_t *)a];
    const struct code_place *y = &c->places.items[*(const uint32_t *)b];
    COMPARE(x->kind, y->kind);
    if (x->kind != CODE_IN_FILE)
        return strcmp(strpool_get(&c->texts, x->text), strpool_get(&c->texts, y->text));
    COMPARE(sorting->file_rank[x->module], sorting->file_rank[y->module]);
    COMPARE(x->address, y->address);
    return 0;
}

static int order_of_nodes(const void *a, const void *b)
{
    const struct merge_node *x = &sorting->code->nodes.items[*(const uint32_t *)a];
    const struct merge_node *y = &sorting->code->nodes.items[*(const uint32_t *)b];
    COMPARE(x->parent, y->parent);
    COMPARE(sorting->rank[x->place], sorting->rank[y->place]);
    return 0;
}

static uint32_t *sorted(const struct finishing *f, size_t count,
                        int (*compare)(const void *, const void *))
{
    uint32_t *order = xcalloc(count + 1, sizeof *order);
    for (size_t i = 0; i < count; i++)
        order[i] = (uint32_t)i;
    sorting = f;
    qsort(order, count, sizeof *order, compare);
    return order;
}

static uint32_t *inverse(const uint32_t *order, size_t count)
{
    uint32_t *rank = xcalloc(count + 1, sizeof *rank);
    for (size_t i = 0; i < count; i++)
        rank[order[i]] = (uint32_t)i;
    return rank;
}

/* --- files and addresses ---------------------------------------------------------------------- */

/* A file gets the addresses up to the highest one in any stack. */
static void place_files(struct finishing *f, struct profile *into)
{
    const struct merge_code *c = f->code;
    uint64_t *size = xcalloc(c->files.count + 1, sizeof *size);
    for (size_t i = 0; i < c->places.count; i++) {
        const struct code_place *p = &c->places.items[i];
        if (p->kind == CODE_IN_FILE && p->address >= size[p->module])
            size[p->module] = p->address + 1;
    }
    uint64_t at = FILES_START;
    uint32_t epoch = 0;
    for (size_t i = 0; i < c->files.count; i++) {
        uint32_t number = f->file_order[i];
        uint64_t room = (size[number] + FILE_ALIGN) & ~(FILE_ALIGN - 1);
        if (at + room > FILES_END) {
            at = FILES_START;
            epoch++;
        }
        const struct code_file *file = &c->files.items[number];
        struct module m = {.start = at,
                           .end = at + room,
                           .bias = at,
                           .epoch = epoch,
                           .path = xstrdup(file->path),
                           .build_id_size = file->build_id_size};
        memcpy(m.build_id, file->build_id, file->build_id_size);
        *vec_push(&into->modules) = m;
        at += room;
    }
    free(size);
}

static void place_places(struct finishing *f, const struct profile *into)
{
    const struct merge_code *c = f->code;
    uint64_t pools = 0, named = 0, python = 0;
    for (size_t i = 0; i < c->places.count; i++) {
        const struct code_place *p = &c->places.items[f->order[i]];
        uint64_t *address = &f->address[f->order[i]];
        switch (p->kind) {
        case CODE_MARKER:
            *address = p->address;
            break;
        case CODE_POOL: /* pools beyond the available numbers share the last one */
            pools += pools < POOLS_MOST;
            *address = NODE_POOL + pools;
            break;
        case CODE_NAMED:
            *address = NAMED_START + named++;
            break;
        case CODE_PYTHON:
            *address = NODE_PYTHON | python++;
            break;
        default: {
            const struct module *m = &into->modules.items[f->file_rank[p->module]];
            *address = (uint64_t)m->epoch << 48 | (m->bias + p->address);
        }
        }
    }
}

/* --- names ------------------------------------------------------------------------------------ */

static void add_frames(const struct finishing *f, struct recording *r, struct profile *into)
{
    const struct merge_code *c = f->code;
    strpool_add(&r->strings, "");
    for (size_t i = 0; i < c->places.count; i++) {
        const struct code_place *p = &c->places.items[f->order[i]];
        uint64_t address = f->address[f->order[i]];
        if (!p->count || map_get(&into->symbols, address) != MAP_NONE)
            continue;
        *map_at(&into->symbols, address) = (uint32_t)into->frame_runs.count;
        *vec_push(&into->frame_runs) = (uint32_t)into->frames.count;
        for (uint32_t k = 0; k < p->count; k++) {
            struct frame frame = c->frames.items[p->first_frame + k];
            frame.function = strpool_add(&r->strings, strpool_get(&c->strings, frame.function));
            frame.module = strpool_add(&r->strings, strpool_get(&c->strings, frame.module));
            frame.file = strpool_add(&r->strings, strpool_get(&c->strings, frame.file));
            *vec_push(&into->frames) = frame;
        }
    }
    *vec_push(&into->frame_runs) = (uint32_t)into->frames.count;
}

/* --- stacks ----------------------------------------------------------------------------------- */

static void add_nodes(const struct finishing *f, struct profile *into, uint32_t *node)
{
    const struct merge_code *c = f->code;
    size_t count = c->nodes.count;
    uint32_t *order = sorted(f, count, order_of_nodes); /* the root is first: it has no place */
    uint32_t *first = xcalloc(count + 1, sizeof *first), *last = xcalloc(count + 1, sizeof *last);
    VEC(uint32_t) todo = {0};
    for (uint32_t i = 0; i < count; i++) {
        if (!order[i])
            continue;
        uint32_t parent = c->nodes.items[order[i]].parent;
        if (!last[parent])
            first[parent] = i;
        last[parent] = i + 1;
    }
    *vec_push(&into->nodes) = (struct node){0};
    node[0] = 0;
    *vec_push(&todo) = 0;
    while (todo.count) {
        uint32_t at = todo.items[--todo.count];
        if (at) {
            const struct merge_node *n = &c->nodes.items[at];
            node[at] = (uint32_t)into->nodes.count;
            *vec_push(&into->nodes) =
                (struct node){.parent = node[n->parent], .address = f->address[n->place]};
        }
        for (uint32_t i = last[at]; i-- > first[at];)
            if (order[i])
                *vec_push(&todo) = order[i];
    }
    vec_release(&todo);
    free(first);
    free(last);
    free(order);
}

void merge_code_finish(const struct merge_code *c, struct recording *r, struct profile *into,
                       uint32_t *node)
{
    struct finishing f = {.code = c};
    f.file_order = sorted(&f, c->files.count, order_of_files);
    f.file_rank = inverse(f.file_order, c->files.count);
    f.order = sorted(&f, c->places.count, order_of_places);
    f.rank = inverse(f.order, c->places.count);
    f.address = xcalloc(c->places.count + 1, sizeof *f.address);
    place_files(&f, into);
    place_places(&f, into);
    add_frames(&f, r, into);
    add_nodes(&f, into, node);
    free(f.file_order);
    free(f.file_rank);
    free(f.order);
    free(f.rank);
    free(f.address);
}
