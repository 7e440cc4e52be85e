#include "answer/place_columns.h"

#include "answer/json_parts.h"
#include "answer/location.h"
#include "answer/stack_text.h"

static struct placed placed_of(struct spot s)
{
    return ((const struct placed_rows *)s.answer)->where(s.answer, s.row);
}

const char *placed_name(const struct placed *p)
{
    return frame_table_string(&p->places->total.frames, places_frame(p->places, p->call)->name);
}

struct cell placed_function(struct spot s)
{
    struct placed p = placed_of(s);
    return CELL_OF(p.call == CALL_NONE ? "(all others)" : placed_name(&p));
}

struct cell placed_file(struct spot s)
{
    struct placed p = placed_of(s);
    return CELL_OF(location_file(&p.places->total.frames, places_frame(p.places, p.call)));
}

struct cell placed_line(struct spot s)
{
    struct placed p = placed_of(s);
    return CELL_OF(places_frame(p.places, p.call)->line);
}

struct cell placed_path(struct spot s)
{
    struct placed p = placed_of(s);
    if (p.call != CALL_NONE)
        location_path(s.made, &p.places->total.frames, places_frame(p.places, p.call));
    return CELL_OF(s.made->data);
}

struct cell placed_stack(struct spot s)
{
    struct placed p = placed_of(s);
    const struct answer *a = &p.places->total;
    stack_names(&a->frames, a->tree.parent.items, a->tree.frame.items, p.leaf, s.made);
    return CELL_OF(s.made->data);
}

void placed_stack_json(struct spot s, const char *key, struct json *j)
{
    struct placed p = placed_of(s);
    const struct answer *a = &p.places->total;
    struct json_stacks stacks = {.frames = &a->frames};
    (void)key;
    json_frames(j, &stacks, a->tree.parent.items, a->tree.frame.items, p.leaf);
    json_stacks_release(&stacks);
}
