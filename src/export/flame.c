#include "export/flame.h"

#include <stdlib.h>
#include <string.h>

void flame_init(struct flame *f)
{
    *f = (struct flame){0};
    strpool_add(&f->names, "");
    *vec_push(&f->nodes) = (struct flame_node){.kind = FLAME_OTHER};
}

void flame_release(struct flame *f)
{
    strpool_release(&f->names);
    vec_release(&f->nodes);
    map_release(&f->children);
    vec_release(&f->order);
}

struct flame_label flame_label(struct flame *f, const struct flame_frame *frame)
{
    uint32_t name = strpool_add(&f->names, frame->name);
    struct flame_label label = {.name = name, .key = name, .kind = frame->kind};
    if (frame->module)
        label.module = strpool_add(&f->names, frame->module);
    if (frame->place && *frame->place) {
        char *both = xasprintf("%s\n%s", frame->name, frame->place);
        label.place = strpool_add(&f->names, frame->place);
        label.key = strpool_add(&f->names, both);
        free(both);
    }
    return label;
}

uint32_t flame_child(struct flame *f, uint32_t parent, const struct flame_label *label)
{
    uint32_t *known = map_at(&f->children, (uint64_t)parent << 32 | label->key);
    if (*known == MAP_NONE) {
        *known = (uint32_t)f->nodes.count;
        uint32_t depth = f->nodes.items[parent].depth + 1;
        *vec_push(&f->nodes) = (struct flame_node){.parent = parent,
                                                   .name = label->name,
                                                   .place = label->place,
                                                   .module = label->module,
                                                   .kind = label->kind,
                                                   .depth = depth};
        f->depth = depth > f->depth ? depth : f->depth;
    }
    return *known;
}

static uint64_t size_of(int64_t value)
{
    return value < 0 ? -(uint64_t)value : (uint64_t)value;
}

uint64_t flame_width(int64_t before, int64_t now)
{
    return size_of(before) > size_of(now) ? size_of(before) : size_of(now);
}

void flame_add(struct flame *f, const struct flame_frame *frames, size_t count, int64_t before,
               int64_t now)
{
    uint32_t node = 0;
    for (size_t i = 0; i < count; i++) {
        struct flame_label label = flame_label(f, &frames[i]);
        node = flame_child(f, node, &label);
    }
    flame_count(f, node, before, now);
}

void flame_count(struct flame *f, uint32_t node, int64_t before, int64_t now)
{
    struct flame_node *n = &f->nodes.items[node];
    n->before = (int64_t)((uint64_t)n->before + (uint64_t)before);
    n->now = (int64_t)((uint64_t)n->now + (uint64_t)now);
}

void flame_hide(struct flame *f, uint32_t node, int64_t before, int64_t now)
{
    struct flame_node *n = &f->nodes.items[node];
    n->hidden = (int64_t)((uint64_t)n->hidden + (uint64_t)now);
    n->hidden_before = (int64_t)((uint64_t)n->hidden_before + (uint64_t)before);
    n->hidden_width += flame_width(before, now);
}

struct sibling {
    const char *name, *place;
    uint32_t node, parent;
};

static int by_parent_and_name(const void *a, const void *b)
{
    const struct sibling *x = a, *y = b;
    if (x->parent != y->parent)
        return x->parent < y->parent ? -1 : 1;
    int order = strcmp(x->name, y->name);
    return order ? order : strverscmp(x->place, y->place);
}

static void put_in_order(struct flame *f, double least)
{
    size_t n = f->nodes.count, count = 0;
    struct sibling *all = xmalloc(n * sizeof *all);
    uint32_t *first = xcalloc(n + 1, sizeof *first); /* each node's first child, index into `all` */
    for (uint32_t i = 1; i < n; i++) {
        const struct flame_node *node = &f->nodes.items[i];
        if ((double)node->width < least)
            continue;
        all[count++] = (struct sibling){strpool_get(&f->names, node->name),
                                        strpool_get(&f->names, node->place), i, node->parent};
        first[node->parent + 1]++;
    }
    qsort(all, count, sizeof *all, by_parent_and_name);
    for (size_t i = 1; i <= n; i++)
        first[i] += first[i - 1];
    VEC(uint32_t) stack = {0};
    *vec_push(&stack) = 0;
    while (stack.count) {
        uint32_t node = stack.items[--stack.count];
        *vec_push(&f->order) = node;
        for (uint32_t i = first[node + 1]; i-- > first[node];)
            *vec_push(&stack) = all[i].node;
    }
    vec_release(&stack);
    free(first);
    free(all);
}

void flame_finish(struct flame *f, double min_share)
{
    for (size_t i = 0; i < f->nodes.count; i++) {
        struct flame_node *n = &f->nodes.items[i];
        n->width = flame_width(n->before, n->now) + n->hidden_width;
        n->now = (int64_t)((uint64_t)n->now + (uint64_t)n->hidden);
        n->before = (int64_t)((uint64_t)n->before + (uint64_t)n->hidden_before);
    }
    for (size_t i = f->nodes.count; i-- > 1;) {
        const struct flame_node *n = &f->nodes.items[i];
        struct flame_node *parent = &f->nodes.items[n->parent];
        parent->before = (int64_t)((uint64_t)parent->before + (uint64_t)n->before);
        parent->now = (int64_t)((uint64_t)parent->now + (uint64_t)n->now);
        parent->width += n->width;
    }
    put_in_order(f, min_share * (double)f->nodes.items[0].width);
}
