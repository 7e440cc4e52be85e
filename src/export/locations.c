#include "export/locations.h"

#include <stdlib.h>

#include "base/json.h"
#include "export/protobuf.h"

void locations_init(struct locations *l, const struct stack_table *table)
{
    *l = (struct locations){.table = table};
    l->of_call = xcalloc(table->tree.parent.count + 1, sizeof *l->of_call);
    strpool_add(&l->strings, "");
}

void locations_release(struct locations *l)
{
    strpool_release(&l->strings);
    vec_release(&l->functions);
    vec_release(&l->mappings);
    vec_release(&l->items);
    vec_release(&l->lines);
    vec_release(&l->next);
    map_release(&l->function_of);
    map_release(&l->mapping_of);
    map_release(&l->by_hash);
    free(l->of_call);
    *l = (struct locations){0};
}

uint32_t locations_string(struct locations *l, const char *text)
{
    char *decoded = json_decoded(text);
    uint32_t number = strpool_add(&l->strings, decoded);
    free(decoded);
    return number;
}

static uint32_t function_of(struct locations *l, const char *name, const char *file)
{
    struct location_function f = {locations_string(l, name), locations_string(l, file)};
    uint32_t *number = map_at(&l->function_of, (uint64_t)f.name << 32 | f.file);
    if (*number == MAP_NONE) {
        *vec_push(&l->functions) = f;
        *number = (uint32_t)l->functions.count;
    }
    return *number;
}

uint32_t locations_mapping(struct locations *l, const struct module *module)
{
    if (!module)
        return 0;
    uint32_t *number =
        map_at(&l->mapping_of, (uint64_t)(module - l->table->profile->modules.items));
    if (*number == MAP_NONE) {
        *vec_push(&l->mappings) = module;
        *number = (uint32_t)l->mappings.count;
    }
    return *number;
}

uint32_t locations_build_id(struct locations *l, const struct module *module)
{
    struct strbuf text = {0};
    strbuf_puts(&text, "");
    for (uint32_t i = 0; i < module->build_id_size && i < sizeof module->build_id; i++)
        strbuf_printf(&text, "%02x", module->build_id[i]);
    uint32_t number = locations_string(l, text.data);
    strbuf_release(&text);
    return number;
}

/* --- locations -------------------------------------------------------------------------------- */

static uint32_t other_location(struct locations *l)
{
    if (l->other)
        return l->other;
    *vec_push(&l->next) = MAP_NONE; /* nothing is compared with it */
    *vec_push(&l->items) = (struct location){.first = (uint32_t)l->lines.count, .count = 1};
    *vec_push(&l->lines) = (struct location_line){.frame = (uint32_t)l->table->frames.frames.count,
                                                  .function = function_of(l, "[other]", "")};
    return l->other = (uint32_t)l->items.count;
}

/* The caller of the location that begins with this call; 0: none. */
static uint32_t location_caller(const struct locations *l, uint32_t call)
{
    const struct call_tree *t = &l->table->tree;
    uint32_t node = t->node.items[call];
    do
        call = t->parent.items[call];
    while (call && node && t->node.items[call] == node);
    return call;
}

static bool same_location(const struct locations *l, const struct location *a,
                          const struct location *b)
{
    bool same = a->node_address == b->node_address && a->count == b->count;
    for (uint32_t i = 0; i < a->count && same; i++)
        same = l->lines.items[a->first + i].frame == l->lines.items[b->first + i].frame;
    return same;
}

/* Sets the fields that are not compared. */
static void complete_location(struct locations *l, struct location *one)
{
    if (!NODE_IS_PYTHON(one->node_address) && NODE_PC(one->node_address) > NODE_POOL + 4096) {
        one->mapping = locations_mapping(l, module_at(l->table->profile, one->node_address));
        /* The call itself, not the instruction after it. */
        one->address = NODE_PC(one->node_address) - 1;
    }
    for (uint32_t i = 0; i < one->count; i++) {
        struct location_line *line = &l->lines.items[one->first + i];
        struct stack_frame f = stack_frame_of(&l->table->frames, line->frame);
        line->function = function_of(l, f.name, f.file);
        line->line = f.line;
    }
}

/* The location that begins with a call, and in *outer its caller. */
static uint32_t location_of(struct locations *l, uint32_t call, uint32_t *outer)
{
    const struct call_tree *t = &l->table->tree;
    uint32_t node = t->node.items[call], *found = &l->of_call[call];
    *outer = location_caller(l, call);
    if (*found)
        return *found;
    struct location one = {.node_address = node ? l->table->profile->nodes.items[node].address : 0,
                           .first = (uint32_t)l->lines.count};
    uint64_t hash = one.node_address;
    for (uint32_t c = call; c != *outer; c = t->parent.items[c]) {
        *vec_push(&l->lines) = (struct location_line){.frame = t->frame.items[c]};
        hash = (hash ^ t->frame.items[c]) * UINT64_C(0x9e3779b97f4a7c15);
        one.count++;
    }
    uint32_t *head = map_at(&l->by_hash, hash);
    for (uint32_t i = *head; i != MAP_NONE; i = l->next.items[i])
        if (same_location(l, &one, &l->items.items[i])) {
            l->lines.count = one.first;
            return *found = i + 1;
        }
    *vec_push(&l->next) = *head;
    *head = (uint32_t)l->items.count;
    complete_location(l, &one);
    *vec_push(&l->items) = one;
    return *found = (uint32_t)l->items.count;
}

/* The innermost call that is shown of a stack with too many. */
static uint32_t cut_at_depth(const struct locations *l, uint32_t call, size_t max_depth)
{
    size_t depth = 0;
    for (uint32_t c = call; c; c = location_caller(l, c))
        depth++;
    if (depth <= max_depth)
        return call;
    for (; depth >= max_depth; depth--)
        call = location_caller(l, call);
    return call;
}

bool locations_list(struct locations *l, uint32_t call, size_t max_depth, struct strbuf *list)
{
    uint32_t first = max_depth ? cut_at_depth(l, call, max_depth) : call;
    if (max_depth && (!call || first != call))
        strbuf_varint(list, other_location(l));
    for (uint32_t c = first, outer; c; c = outer)
        strbuf_varint(list, location_of(l, c, &outer));
    return first != call;
}

void locations_put_lines(const struct locations *l, const struct location *of, unsigned field,
                         struct strbuf *message)
{
    for (uint32_t i = 0; i < of->count; i++) {
        const struct location_line *from = &l->lines.items[of->first + i];
        struct strbuf line = {0};
        proto_number(&line, 1, from->function);
        proto_number(&line, 2, from->line);
        proto_message(message, field, &line);
    }
}
