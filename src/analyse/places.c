#include "analyse/places.h"

#include <stdlib.h>
#include <string.h>

#include "model/function_name.h"

static int init(struct places *p, const struct recording *r, struct err *err)
{
    p->query.size = SIZE_REQUESTED;
    p->query.by = BY_FUNCTION;
    p->query.shape = SHAPE_TABLE;
    p->query.since = NULL;
    p->query.top = 0;
    int code = answer_query(&p->total, r, &p->query, err);
    if (code)
        return code;
    const struct call_tree *t = &p->total.tree;
    struct group functions;
    group_init(&functions, &p->total.frames, t, BY_FUNCTION);
    size_t sites = p->total.measure.count;
    struct map numbers = {0};
    p->of_site = xmalloc((sites + 1) * sizeof *p->of_site);
    for (size_t i = 0; i < sites; i++) {
        uint32_t call = t->site_call[i];
        p->of_site[i] = PLACE_NONE;
        if (call == CALL_NONE || !call)
            continue;
        uint64_t by = functions.of_frame[t->frame.items[call]];
        uint32_t caller = t->parent.items[call];
        uint64_t from = caller ? functions.of_frame[t->frame.items[caller]] + UINT64_C(1) : 0;
        uint32_t *number = map_at(&numbers, by << 32 | from);
        if (*number == MAP_NONE)
            *number = p->count++;
        p->of_site[i] = *number;
    }
    map_release(&numbers);
    group_release(&functions);
    return 0;
}

int places_init(struct places *p, const struct recording *r, const struct query *q, struct err *err)
{
    *p = (struct places){.query = *q};
    p->query.metric = METRIC_TOTAL;
    p->query.at = NULL;
    return init(p, r, err);
}

int places_init_live(struct places *p, const struct recording *r, const struct query *q,
                     enum metric metric, struct err *err)
{
    *p = (struct places){.query = *q};
    p->query.metric = metric;
    return init(p, r, err);
}

void places_release(struct places *p)
{
    free(p->of_site);
    answer_release(&p->total);
    *p = (struct places){0};
}

struct value *places_sum(const struct places *p, const struct value *sites)
{
    struct value *sums = xcalloc(p->count + 1, sizeof *sums);
    for (size_t i = 0; i < p->total.measure.count; i++)
        if (p->of_site[i] != PLACE_NONE)
            value_join(&sums[p->of_site[i]], sites[i], false);
    return sums;
}

static uint32_t frame_of_site(const struct places *p, size_t site)
{
    return p->total.tree.frame.items[p->total.tree.site_call[site]];
}

/* The frame of the line that has most. Several calls of one line together may exceed the only call
 * of another line. */
static uint32_t line_with_most(const struct places *p, uint32_t place, const struct value *sites)
{
    struct map entries = {0}; /* frame of a line -> entry */
    struct line {
        uint32_t frame;
        struct value sum;
    };
    VEC(struct line) lines = {0};
    for (size_t i = 0; i < p->total.measure.count; i++) {
        if (p->of_site[i] != place)
            continue;
        uint32_t frame = frame_of_site(p, i), *entry = map_at(&entries, frame);
        if (*entry == MAP_NONE) {
            *entry = (uint32_t)lines.count;
            *vec_push(&lines) = (struct line){.frame = frame};
        }
        value_join(&lines.items[*entry].sum, sites[i], false);
    }
    const struct line *best = NULL;
    for (size_t i = 0; i < lines.count; i++)
        if (!best || lines.items[i].sum.amount > best->sum.amount)
            best = &lines.items[i];
    uint32_t frame = best ? best->frame : 0;
    vec_release(&lines);
    map_release(&entries);
    return frame;
}

uint32_t places_call(const struct places *p, uint32_t place, const struct value *sites,
                     uint32_t *leaf)
{
    uint32_t best = CALL_NONE, line = line_with_most(p, place, sites);
    *leaf = CALL_NONE;
    int64_t most = 0;
    for (size_t i = 0; i < p->total.measure.count; i++)
        if (p->of_site[i] == place && frame_of_site(p, i) == line &&
            (best == CALL_NONE || sites[i].amount > most)) {
            best = p->total.tree.site_call[i];
            *leaf = p->total.tree.site_leaf[i];
            most = sites[i].amount;
        }
    return best;
}

static bool is_own(const struct places *p, uint32_t call)
{
    static const char *const libraries[] = {"/site-packages/", "/dist-packages/", "/lib/python",
                                            "/usr/include/"};
    const struct call_frame *frame = places_frame(p, call);
    const char *file = frame->file ? frame_table_string(&p->total.frames, frame->file) : "<";
    if (*file == '<' || frame_is_of_libc(&p->total.frames, frame))
        return false;
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++)
        if (strstr(file, libraries[i]))
            return false;
    return true;
}

uint32_t places_own(const struct places *p, uint32_t call)
{
    bool python = places_frame(p, call)->flags & CALL_PYTHON;
    for (uint32_t own = call; own; own = p->total.tree.parent.items[own])
        if (is_own(p, own) && (!python || places_frame(p, own)->flags & CALL_PYTHON))
            return own;
    return call;
}

const struct call_frame *places_frame(const struct places *p, uint32_t call)
{
    return &p->total.frames.frames.items[p->total.tree.frame.items[call]];
}

bool places_same_function(const struct places *p, uint32_t a, uint32_t b)
{
    const struct call_frame *x = places_frame(p, a), *y = places_frame(p, b);
    if (x->name == y->name || x->module != y->module)
        return x->module == y->module;
    struct name_part one = name_bare(frame_table_string(&p->total.frames, x->name)),
                     other = name_bare(frame_table_string(&p->total.frames, y->name));
    return one.size == other.size && memcmp(one.text, other.text, one.size) == 0;
}

bool places_has_other_callers(const struct places *p, uint32_t call)
{
    const uint32_t *parents = p->total.tree.parent.items;
    for (size_t i = 0; i < p->total.measure.count; i++) {
        uint32_t other = p->total.tree.site_call[i];
        if (p->of_site[i] == PLACE_NONE || value_is_zero(p->total.measure.sites[i]) ||
            !places_same_function(p, call, other))
            continue;
        uint32_t caller = parents[call], another = parents[other];
        if (!caller || !another ? caller != another : !places_same_function(p, caller, another))
            return true;
    }
    return false;
}
