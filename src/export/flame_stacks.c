#include "export/flame_stacks.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static enum flame_kind kind_of(const struct call_frame *f)
{
    return f->flags & CALL_MARKER     ? FLAME_OTHER
           : f->kind == FRAME_INLINED ? FLAME_INLINED
           : f->kind == FRAME_PYTHON  ? FLAME_PYTHON
                                      : FLAME_NATIVE;
}

/* What is known about the answer's frames and calls while its stacks are added. A frame occurs in
 * many stacks, and stacks share their outer calls, so texts are made and boxes are found only
 * once. */
struct known {
    struct flame_label *labels; /* by frame; key 0: not made yet */
    uint32_t *boxes;            /* by call, from the root; 0: not found yet */
};

static const struct flame_label *label_of(struct flame *flame, const struct answer *a,
                                          const struct known *known, uint32_t call, bool lines)
{
    uint32_t number = a->merged.key.items[call];
    struct flame_label *label = &known->labels[number];
    if (label->key)
        return label;
    const struct call_frame *f = &a->frames.frames.items[number];
    struct flame_frame frame = {.name = frame_table_string(&a->frames, f->name),
                                .kind = kind_of(f),
                                .module =
                                    f->module ? frame_table_string(&a->frames, f->module) : NULL};
    char *place = lines && f->file && f->line
                      ? xasprintf("%s:%" PRIu32, frame_table_string(&a->frames, f->file), f->line)
                      : NULL;
    frame.place = place;
    *label = flame_label(flame, &frame);
    free(place);
    return label;
}

/* The box of a call on top of the boxes of its callers. */
static uint32_t box_of(struct flame *flame, const struct answer *a, const struct known *known,
                       uint32_t call, bool lines)
{
    VEC(uint32_t) missing = {0};
    uint32_t n = call;
    for (; n && !known->boxes[n]; n = a->merged.parent.items[n])
        *vec_push(&missing) = n;
    uint32_t box = n ? known->boxes[n] : 0;
    while (missing.count) {
        n = missing.items[--missing.count];
        box = flame_child(flame, box, label_of(flame, a, known, n, lines));
        known->boxes[n] = box;
    }
    vec_release(&missing);
    return box;
}

/* The box of a stack that begins with its thread, or with its innermost function. */
static uint32_t box_of_row(struct flame *flame, const struct answer *a, const struct known *known,
                           const struct answer_row *row, const struct flame_shape *shape)
{
    const struct flame_frame thread = {.name = row->thread ? row->thread : "", .kind = FLAME_OTHER};
    struct flame_label label = flame_label(flame, &thread);
    uint32_t box = shape->by_thread ? flame_child(flame, 0, &label) : 0;
    VEC(uint32_t) calls = {0};
    for (uint32_t n = row->call; n; n = a->merged.parent.items[n])
        *vec_push(&calls) = n;
    for (size_t i = 0; i < calls.count; i++) {
        uint32_t call = calls.items[shape->reverse ? i : calls.count - 1 - i];
        box = flame_child(flame, box, label_of(flame, a, known, call, shape->lines));
    }
    vec_release(&calls);
    return box;
}

static int64_t amount_of(const struct value *self, const struct flame_shape *shape)
{
    return shape->units > 0 ? (int64_t)((double)self->amount / shape->units) : self->amount;
}

/* The values of calls themselves, and the width of each including everything that it called. */
struct call_amounts {
    int64_t *before, *now;
    uint64_t *widths;
};

/* For the metric `largest`, values are in rows of stack and thread; all other metrics add up, and
 * are in the tree. */
static struct call_amounts call_amounts(const struct answer *a, const struct flame_shape *shape)
{
    size_t calls = a->merged.key.count;
    struct call_amounts c = {.before = xcalloc(calls + 1, sizeof *c.before),
                             .now = xcalloc(calls + 1, sizeof *c.now),
                             .widths = xcalloc(calls + 1, sizeof *c.widths)};
    for (size_t n = 0; a->query->tree_only && n < calls; n++)
        c.now[n] = amount_of(&a->merged.self[n], shape);
    for (size_t i = 0; !a->query->tree_only && i < a->rows.rows.count; i++) {
        const struct answer_row *row = &a->rows.rows.items[i];
        c.now[row->call] = wrapped(c.now[row->call], amount_of(&row->self, shape));
    }
    for (size_t s = 0; s < a->before.count; s++) {
        if (a->tree.site_call[s] == CALL_NONE)
            continue;
        int64_t *before = &c.before[a->merged.of_call[a->tree.site_call[s]]];
        *before = wrapped(*before, amount_of(&a->before.sites[s], shape));
    }
    for (size_t n = 0; n < calls; n++)
        c.widths[n] = flame_width(c.before[n], c.now[n]);
    for (size_t n = calls; n-- > 1;)
        c.widths[a->merged.parent.items[n]] += c.widths[n];
    return c;
}

/* Adds stacks from the root. Most calls are too narrow to be seen; only the others get boxes. */
static void add_wide_stacks(struct flame *flame, const struct answer *a, const struct known *known,
                            const struct flame_shape *shape)
{
    struct call_amounts c = call_amounts(a, shape);
    double least = shape->min_share * (double)c.widths[0];
    for (size_t n = 1; n < a->merged.key.count; n++)
        flame->left_out += c.widths[n] && (double)c.widths[n] < least;
    for (uint32_t n = 0; n < a->merged.key.count; n++) {
        if (!c.now[n] && !c.before[n])
            continue;
        uint32_t call = n;
        while (call && (double)c.widths[call] < least)
            call = a->merged.parent.items[call];
        uint32_t box = box_of(flame, a, known, call, true);
        if (call == n)
            flame_count(flame, box, c.before[n], c.now[n]);
        else
            flame_hide(flame, box, c.before[n], c.now[n]);
    }
    free(c.before);
    free(c.now);
    free(c.widths);
}

bool flame_shape_is_wide(const struct flame_shape *shape)
{
    return shape->min_share > 0 && shape->lines && !shape->reverse && !shape->by_thread;
}

void flame_add_stacks(struct flame *flame, const struct answer *a, const struct flame_shape *shape,
                      bool before)
{
    const struct known known = {
        .labels = xcalloc(a->frames.frames.count + 1, sizeof *known.labels),
        .boxes = xcalloc(a->merged.key.count + 1, sizeof *known.boxes),
    };
    bool wide = flame_shape_is_wide(shape);
    if (wide)
        add_wide_stacks(flame, a, &known, shape);
    for (size_t i = 0; i < a->rows.rows.count && !wide; i++) {
        const struct answer_row *row = &a->rows.rows.items[i];
        uint32_t box = shape->by_thread || shape->reverse
                           ? box_of_row(flame, a, &known, row, shape)
                           : box_of(flame, a, &known, row->call, shape->lines);
        int64_t amount = amount_of(&row->self, shape);
        flame_count(flame, box, before ? amount : 0, before ? 0 : amount);
    }
    free(known.labels);
    free(known.boxes);
}
