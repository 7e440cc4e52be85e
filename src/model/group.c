#include "model/group.h"

#include <stdlib.h>
#include <string.h>

static const char unknown[] = "[unknown]";

static uint32_t number_of(struct map *m, uint32_t a, uint32_t b)
{
    uint32_t *v = map_at(m, (uint64_t)a << 32 | b);
    if (*v == MAP_NONE)
        *v = (uint32_t)m->count - 1;
    return *v;
}

/* Code of no library: a marker is a row of its own, and all unknown code is one row, whatever its
 * names and addresses. */
static bool is_marker_row(const struct group *g, const struct call_frame *f)
{
    return f->flags & CALL_MARKER && strcmp(frame_table_string(g->frames, f->name), unknown) != 0;
}

static void number_frames(struct group *g)
{
    struct map groups = {0}, functions = {0}, lines = {0};
    map_reserve(&groups, g->frames->frames.count / 4);
    for (size_t i = 0; i < g->frames->frames.count; i++) {
        const struct call_frame *f = &g->frames->frames.items[i];
        /* Many Python files have the same name, and functions of the same name: the path tells them
         * apart. */
        uint32_t module = f->flags & CALL_RENAMED   ? 0
                          : f->kind == FRAME_PYTHON ? f->file
                                                    : f->module;
        uint32_t a = 0, b = 0;
        switch (g->by) {
        case BY_LINE:
            a = number_of(&functions, f->name, module);
            b = number_of(&lines, f->file, f->line);
            break;
        case BY_LIBRARY:
            a = f->module;
            b = !f->module && is_marker_row(g, f) ? f->name : 0;
            break;
        case BY_FILE:
            a = f->file;
            b = f->file ? 0 : f->module ? f->module : is_marker_row(g, f) ? f->name : 0;
            break;
        default:
            a = f->name;
            b = module;
        }
        g->of_frame[i] = number_of(&groups, a, b);
    }
    g->count = (uint32_t)groups.count;
    map_release(&groups);
    map_release(&functions);
    map_release(&lines);
}

static uint64_t magnitude(struct value v)
{
    uint64_t amount = (uint64_t)v.amount, count = (uint64_t)v.count;
    return (v.amount < 0 ? -amount : amount) + (v.count < 0 ? -count : count);
}

/* Decides between frames of equal weight. Their numbers do not matter, because these depend on
 * earlier questions. */
static bool comes_first(const struct frame_table *t, uint32_t a, uint32_t b)
{
    const struct call_frame *x = &t->frames.items[a], *y = &t->frames.items[b];
    int order = strcmp(frame_table_string(t, x->file), frame_table_string(t, y->file));
    if (!order && x->line != y->line)
        return x->line < y->line;
    if (!order)
        order = strcmp(frame_table_string(t, x->module), frame_table_string(t, y->module));
    if (!order)
        order = strcmp(frame_table_string(t, x->name), frame_table_string(t, y->name));
    return order ? order < 0 : x->kind < y->kind;
}

static void choose_best(struct group *g, const struct call_tree *t)
{
    size_t frames = g->frames->frames.count;
    struct weight {
        uint64_t own, below;
    } *w = xcalloc(frames + 1, sizeof *w);
    for (size_t c = 1; c < t->frame.count; c++) {
        w[t->frame.items[c]].own += magnitude(t->own[c]);
        w[t->frame.items[c]].below += magnitude(t->below[c]);
    }
    for (size_t i = 0; i < frames; i++) {
        uint32_t *best = &g->best[g->of_frame[i]];
        if (*best == CALL_NONE || w[i].own > w[*best].own ||
            (w[i].own == w[*best].own &&
             (w[i].below > w[*best].below ||
              (w[i].below == w[*best].below && comes_first(g->frames, (uint32_t)i, *best)))))
            *best = (uint32_t)i;
    }
    free(w);
}

void group_init(struct group *g, const struct frame_table *frames, const struct call_tree *t,
                enum grouping by)
{
    *g = (struct group){.frames = frames, .by = by};
    g->of_frame = xmalloc((frames->frames.count + 1) * sizeof *g->of_frame);
    number_frames(g);
    g->best = xmalloc((g->count + 1) * sizeof *g->best);
    memset(g->best, 0xff, (g->count + 1) * sizeof *g->best);
    choose_best(g, t);
}

void group_release(struct group *g)
{
    free(g->of_frame);
    free(g->best);
    *g = (struct group){0};
}

struct group_label group_label(const struct group *g, uint32_t number)
{
    const struct call_frame *f = &g->frames->frames.items[g->best[number]];
    const char *name = frame_table_string(g->frames, f->name);
    const char *module = f->module ? frame_table_string(g->frames, f->module) : NULL;
    const char *file = f->file ? frame_table_string(g->frames, f->file) : NULL;
    if (g->by == BY_LIBRARY)
        return (struct group_label){.name = module                ? module
                                            : is_marker_row(g, f) ? name
                                                                  : unknown,
                                    .module = module};
    if (g->by == BY_FILE)
        return (struct group_label){.name = file                  ? file
                                            : module              ? module
                                            : is_marker_row(g, f) ? name
                                                                  : unknown,
                                    .module = module,
                                    .file = file};
    return (struct group_label){
        .name = name, .module = module, .file = file, .line = f->line, .kind = f->kind};
}
