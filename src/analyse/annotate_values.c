/* Computes the values of each line and each address of the function, from the recording alone. */
#include <string.h>
#include <xxhash.h>

#include "analyse/annotate_parts.h"

struct adding {
    struct annotation *a;
    const struct call_tree *tree;
    const struct frame_table *frames;
    const uint32_t *group_of; /* frame -> group */
    uint32_t group;
    /* Code without a symbol has one "function" per address. All addresses in the same piece of code
     * are meant. */
    bool nameless;
    uint32_t code;
    uint64_t low, high;

    uint32_t *place; /* place of each call; PLACE_NONE: neither the function nor inlined into it */
    uint32_t *touched; /* index of the address of each call that has a place */
    uint32_t active;   /* calls of the function on the current path */
};

bool name_is_address(const char *name)
{
    const char *plus = strrchr(name, '+');
    return plus && plus[1] == '0' && plus[2] == 'x' && plus[3] &&
           !plus[3 + strspn(plus + 3, "0123456789abcdef")];
}

uint32_t annotation_place(struct annotation *a, uint32_t parent, const char *function,
                          const char *file, uint32_t line)
{
    struct annotated_place p = {.parent = parent,
                                .function = strpool_add(&a->strings, function),
                                .file = file ? strpool_add(&a->strings, file) : 0,
                                .line = line};
    uint32_t words[] = {p.parent, p.function, p.file, p.line};
    uint32_t *number = map_at(&a->place_index, XXH3_64bits(words, sizeof words));
    if (*number == MAP_NONE) {
        *number = (uint32_t)a->places.count;
        *vec_push(&a->places) = p;
    }
    return *number;
}

static bool is_same_file(const struct module *a, const struct module *b)
{
    return a == b || (strcmp(a->path, b->path) == 0 && a->build_id_size == b->build_id_size &&
                      memcmp(a->build_id, b->build_id, a->build_id_size) == 0);
}

/* The file of an address, added if it is new; CODE_NONE: not known. `address` becomes the address
 * in that file. */
static uint32_t code_of(struct annotation *a, uint64_t *address)
{
    if (*address <= NODE_KERNEL || NODE_IS_POOL(*address) || NODE_IS_PYTHON(*address))
        return CODE_NONE;
    const struct module *m = module_at(a->answer.profile, *address);
    if (!m || !m->path || !*m->path) /* a module of model/combined_profile.h */
        return CODE_NONE;
    *address = NODE_PC(*address) - 1 - m->bias;
    for (size_t i = 0; i < a->codes.count; i++)
        if (is_same_file(a->codes.items[i].module, m))
            return (uint32_t)i;
    *vec_push(&a->codes) = (struct annotated_code){
        .module = m,
        .file = symbolizer_file(a->symbolizer, m->path, m->build_id, m->build_id_size)};
    return (uint32_t)a->codes.count - 1;
}

static uint64_t address_of(const struct adding *s, uint32_t call)
{
    const struct profile *p = s->a->answer.profile;
    uint32_t node = s->tree->node.items[call];
    return node < p->nodes.count ? p->nodes.items[node].address : 0;
}

static const struct call_frame *frame_of(const struct adding *s, uint32_t call)
{
    return &s->frames->frames.items[s->tree->frame.items[call]];
}

static bool is_function(const struct adding *s, uint32_t call)
{
    if (s->group_of[s->tree->frame.items[call]] == s->group)
        return true;
    if (!s->nameless || !name_is_address(frame_table_string(s->frames, frame_of(s, call)->name)))
        return false;
    uint64_t address = address_of(s, call);
    uint32_t code = code_of(s->a, &address);
    return code == s->code && address >= s->low && address < s->high;
}

static uint32_t touched_at(struct annotation *a, uint64_t address)
{
    uint32_t code = code_of(a, &address);
    if (code == CODE_NONE)
        return MAP_NONE;
    uint64_t key[] = {code, address};
    uint32_t *number = map_at(&a->touched_index, XXH3_64bits(key, sizeof key));
    if (*number == MAP_NONE) {
        *number = (uint32_t)a->touched.count;
        *vec_push(&a->touched) = (struct touched){.code = code, .address = address};
    }
    return *number;
}

static void leave(struct adding *s, uint32_t call)
{
    if (s->place[call] == PLACE_NONE)
        return;
    struct annotated_place *p = &s->a->places.items[s->place[call]];
    p->active--;
    s->active -= p->parent == PLACE_NONE;
    if (s->touched[call] != MAP_NONE)
        s->a->touched.items[s->touched[call]].active--;
}

/* `own`: a call of the function itself; below it only inlined code has places. */
static void enter(struct adding *s, uint32_t call, bool own)
{
    struct annotation *a = s->a;
    const struct call_tree *t = s->tree;
    const struct call_frame *f = frame_of(s, call);
    uint32_t above = t->parent.items[call];
    s->place[call] =
        annotation_place(a, own ? PLACE_NONE : s->place[above],
                         own ? a->name : frame_table_string(s->frames, f->name),
                         f->file ? frame_table_string(s->frames, f->file) : NULL, f->line);
    s->touched[call] = touched_at(a, address_of(s, call));

    struct annotated_place *p = &a->places.items[s->place[call]];
    value_join(&p->self, t->own[call], t->by_max);
    if (p->active++ == 0)
        value_join(&p->total, t->below[call], t->by_max);
    if (own) {
        value_join(&a->self, t->own[call], t->by_max);
        if (s->active++ == 0)
            value_join(&a->total, t->below[call], t->by_max);
        a->inlined &= f->kind == FRAME_INLINED;
    }
    if (s->touched[call] == MAP_NONE)
        return;
    struct touched *at = &a->touched.items[s->touched[call]];
    value_join(&at->self, t->own[call], t->by_max);
    if (at->active++ == 0)
        value_join(&at->total, t->below[call], t->by_max);
}

/* Notes the function that contains the inlined code: the next outer frame that is not inlined. */
static void note_host(struct adding *s, uint32_t call)
{
    const struct call_tree *t = s->tree;
    if (frame_of(s, call)->kind != FRAME_INLINED)
        return;
    uint32_t host = call;
    while (host && frame_of(s, host)->kind == FRAME_INLINED)
        host = t->parent.items[host];
    if (!host || t->node.items[host] != t->node.items[call])
        return;
    uint32_t name =
        strpool_add(&s->a->strings, frame_table_string(s->frames, frame_of(s, host)->name));
    for (size_t i = 0; i < s->a->hosts.count; i++)
        if (s->a->hosts.items[i] == name)
            return;
    *vec_push(&s->a->hosts) = name;
}

/* Finds where the code around the function's first address begins and ends. */
static void find_bounds(struct adding *s)
{
    for (uint32_t c = 1; c < s->tree->parent.count; c++) {
        if (s->group_of[s->tree->frame.items[c]] != s->group)
            continue;
        uint64_t address = address_of(s, c);
        s->code = code_of(s->a, &address);
        s->nameless = s->code != CODE_NONE && symbol_file_bounds(s->a->codes.items[s->code].file,
                                                                 address, &s->low, &s->high);
        return;
    }
}

void annotate_values(struct annotation *a, const struct group *g, uint32_t group)
{
    const struct call_tree *t = &a->answer.tree;
    size_t count = t->parent.count;
    struct adding s = {.a = a,
                       .tree = t,
                       .frames = &a->answer.frames,
                       .group_of = g->of_frame,
                       .group = group,
                       .place = xmalloc((count + 1) * sizeof *s.place),
                       .touched = xmalloc((count + 1) * sizeof *s.touched)};
    struct call_walk walk = {0};
    memset(s.place, 0xff, (count + 1) * sizeof *s.place);
    if (name_is_address(a->name))
        find_bounds(&s);
    a->inlined = true;
    for (uint32_t c = 1; c < count; c++) {
        for (uint32_t left; (left = call_walk_leave(&walk, t, c)) != CALL_NONE;)
            leave(&s, left);
        uint32_t above = t->parent.items[c];
        bool own = is_function(&s, c);
        bool within =
            above && s.place[above] != PLACE_NONE && t->node.items[above] == t->node.items[c];
        if (own || within)
            enter(&s, c, own);
        if (own)
            note_host(&s, c);
    }
    vec_release(&walk.path);
    free(s.place);
    free(s.touched);
}
