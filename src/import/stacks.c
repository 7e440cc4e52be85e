#include "import/stacks.h"

#include <string.h>
#include <xxhash.h>

#define ADDRESS(run)    (UINT64_C(0x10000) + (uint64_t)(run)*16)
#define STRING_OVERHEAD 64
#define NODE_BYTES      64 /* of a node and its entry in the index */
#define FRAME_BYTES     48

void stacks_init(struct stacks *s, struct recording *r, struct profile *p)
{
    *s = (struct stacks){.recording = r, .profile = p};
    *vec_push(&p->nodes) = (struct node){0};
    *vec_push(&p->frame_runs) = 0;
    strpool_add(&r->strings, "");
}

void stacks_release(struct stacks *s)
{
    map_release(&s->runs);
    map_release(&s->nodes);
}

uint32_t stacks_string(struct stacks *s, const char *text)
{
    size_t before = s->recording->strings.strings.count;
    uint32_t number = strpool_add(&s->recording->strings, text ? text : "");
    if (s->recording->strings.strings.count != before)
        s->memory += strlen(text) + STRING_OVERHEAD;
    return number;
}

struct frame stacks_make(struct stacks *s, const struct imported_frame *f)
{
    bool named = f->function && *f->function;
    return (struct frame){.function = stacks_string(s, named ? f->function : "[unknown]"),
                          .module = stacks_string(s, f->module),
                          .file = stacks_string(s, f->file),
                          .line = f->line,
                          .kind = f->kind};
}

static bool is_same(const struct profile *p, uint32_t run, const struct frame *frames, size_t count)
{
    uint32_t first = p->frame_runs.items[run];
    if (p->frame_runs.items[run + 1] - first != count)
        return false;
    for (size_t i = 0; i < count; i++) {
        const struct frame *a = &p->frames.items[first + i], *b = &frames[i];
        if (a->function != b->function || a->module != b->module || a->file != b->file ||
            a->line != b->line || a->kind != b->kind)
            return false;
    }
    return true;
}

uint32_t stacks_run(struct stacks *s, const struct frame *frames, size_t count)
{
    struct profile *p = s->profile;
    uint64_t hash = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t words[] = {frames[i].function, frames[i].module, frames[i].file, frames[i].line,
                            (uint32_t)frames[i].kind};
        hash = XXH64(words, sizeof words, hash);
    }
    for (;; hash++) {
        uint32_t *known = map_at(&s->runs, hash);
        if (*known != MAP_NONE && is_same(p, *known, frames, count))
            return *known;
        if (*known != MAP_NONE)
            continue;
        uint32_t run = *known = (uint32_t)p->frame_runs.count - 1;
        for (size_t i = 0; i < count; i++)
            *vec_push(&p->frames) = frames[i];
        *vec_push(&p->frame_runs) = (uint32_t)p->frames.count;
        *map_at(&p->symbols, ADDRESS(run)) = run;
        s->memory += FRAME_BYTES * (count + 1);
        return run;
    }
}

uint32_t stacks_frame(struct stacks *s, const struct imported_frame *f)
{
    const struct frame frame = stacks_make(s, f);
    return stacks_run(s, &frame, 1);
}

uint32_t stacks_node(struct stacks *s, uint32_t parent, uint32_t run)
{
    struct profile *p = s->profile;
    uint32_t *known = map_at(&s->nodes, (uint64_t)parent << 32 | run);
    if (*known == MAP_NONE) {
        *known = (uint32_t)p->nodes.count;
        *vec_push(&p->nodes) = (struct node){.parent = parent, .address = ADDRESS(run)};
        s->memory += NODE_BYTES;
        return (uint32_t)p->nodes.count - 1;
    }
    return *known;
}
