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

void flame_add_stacks(struct flame *flame, const struct answer *a, const struct flame_shape *shape,
                      bool before)
{
    VEC(struct flame_frame) frames = {0};
    VEC(char *) places = {0};
    for (size_t i = 0; i < a->rows.rows.count; i++) {
        const struct answer_row *row = &a->rows.rows.items[i];
        const struct flame_frame thread = {.name = row->thread ? row->thread : "",
                                           .kind = FLAME_OTHER};
        frames.count = 0;
        if (shape->by_thread && shape->reverse)
            *vec_push(&frames) = thread;
        for (uint32_t n = row->call; n; n = a->merged.parent.items[n]) {
            const struct call_frame *f = &a->frames.frames.items[a->merged.key.items[n]];
            *vec_push(&frames) = (struct flame_frame){
                .name = frame_table_string(&a->frames, f->name), .kind = kind_of(f), .place = NULL};
            if (!shape->lines || !f->file || !f->line)
                continue;
            char *place =
                xasprintf("%s:%" PRIu32, frame_table_string(&a->frames, f->file), f->line);
            vec_last(&frames)->place = place;
            *vec_push(&places) = place;
        }
        if (shape->by_thread && !shape->reverse)
            *vec_push(&frames) = thread;
        for (size_t k = 0; k < frames.count / 2 && !shape->reverse; k++) {
            struct flame_frame other = frames.items[k];
            frames.items[k] = frames.items[frames.count - 1 - k];
            frames.items[frames.count - 1 - k] = other;
        }
        int64_t amount = shape->units > 0 ? (int64_t)((double)row->self.amount / shape->units)
                                          : row->self.amount;
        flame_add(flame, frames.items, frames.count, before ? amount : 0, before ? 0 : amount);
        while (places.count)
            free(places.items[--places.count]);
    }
    vec_release(&frames);
    vec_release(&places);
}
