/* A flame graph as JSON: each box with its position, for a page that draws it. */
#include <stdlib.h>

#include "base/json.h"
#include "export/flame.h"

enum column { DEPTH, START, WIDTH, NAME, PLACE, MODULE, KIND, NOW, SELF, BEFORE, COLUMNS };

static const char *const titles[COLUMNS] = {
    [DEPTH] = "depth",   [START] = "start", [WIDTH] = "width", [NAME] = "name", [PLACE] = "place",
    [MODULE] = "module", [KIND] = "kind",   [NOW] = "now",     [SELF] = "self", [BEFORE] = "before",
};

/* Numbers for the names that are used, from 1 in order of first use. */
struct used_names {
    uint32_t *number;
    VEC(uint32_t) names;
};

static uint32_t number_of(struct used_names *u, uint32_t name)
{
    if (name && !u->number[name]) {
        *vec_push(&u->names) = name;
        u->number[name] = (uint32_t)u->names.count;
    }
    return name ? u->number[name] : 0;
}

struct boxes {
    const struct flame *flame;
    struct used_names used;
    uint64_t *start; /* where a node begins */
    int64_t *self;
};

static int64_t cell(struct boxes *b, uint32_t node, enum column column)
{
    const struct flame_node *n = &b->flame->nodes.items[node];
    switch (column) {
    case DEPTH:
        return n->depth;
    case START:
        return (int64_t)b->start[node];
    case WIDTH:
        return (int64_t)n->width;
    case NAME:
        return number_of(&b->used, n->name);
    case PLACE:
        return number_of(&b->used, n->place);
    case MODULE:
        return number_of(&b->used, n->module);
    case KIND:
        return n->kind;
    case NOW:
        return n->now;
    case SELF:
        return b->self[node];
    default:
        return n->before;
    }
}

static void lay_out(struct boxes *b)
{
    const struct flame *f = b->flame;
    uint64_t *next = xcalloc(f->nodes.count, sizeof *next); /* where the next child begins */
    for (size_t i = 1; i < f->order.count; i++) {
        uint32_t node = f->order.items[i];
        const struct flame_node *n = &f->nodes.items[node];
        b->start[node] = next[node] = next[n->parent];
        next[n->parent] += n->width;
    }
    for (size_t i = 0; i < f->nodes.count; i++)
        b->self[i] = f->nodes.items[i].now - f->nodes.items[i].hidden;
    for (size_t i = 1; i < f->nodes.count; i++)
        b->self[f->nodes.items[i].parent] -= f->nodes.items[i].now;
    free(next);
}

void flame_write_json(const struct flame *f, bool both, struct json *j)
{
    static const char *const kinds[FLAME_KINDS] = {[FLAME_NATIVE] = "native",
                                                   [FLAME_INLINED] = "inlined",
                                                   [FLAME_PYTHON] = "python",
                                                   [FLAME_KERNEL] = "kernel",
                                                   [FLAME_OTHER] = "other"};
    struct boxes b = {.flame = f,
                      .used.number = xcalloc(f->names.strings.count + 1, sizeof *b.used.number),
                      .start = xcalloc(f->nodes.count, sizeof *b.start),
                      .self = xcalloc(f->nodes.count, sizeof *b.self)};
    lay_out(&b);
    json_u64(j, "boxes", f->order.count);
    json_u64(j, "boxes_left_out", f->left_out + f->nodes.count - f->order.count);
    json_array(j, "kinds");
    for (size_t i = 0; i < FLAME_KINDS; i++)
        json_string(j, NULL, kinds[i]);
    json_end(j);
    for (int column = 0; column < COLUMNS; column++) {
        if (column == BEFORE && !both)
            continue;
        json_array(j, titles[column]);
        for (size_t i = 0; i < f->order.count; i++)
            json_i64(j, NULL, cell(&b, f->order.items[i], (enum column)column));
        json_end(j);
    }
    json_array(j, "names");
    json_string(j, NULL, "");
    for (size_t i = 0; i < b.used.names.count; i++)
        json_string(j, NULL, strpool_get(&f->names, b.used.names.items[i]));
    json_end(j);
    free(b.used.number);
    vec_release(&b.used.names);
    free(b.start);
    free(b.self);
}
