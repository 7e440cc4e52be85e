/*
 * merge_code: gives the files, addresses and stacks of many recordings numbers that all of them
 * share.
 *
 * In the result, each file has a range of addresses of its own, so an address is the start of the
 * file's range plus the address inside the file. Everything that reads a recording then works:
 * names, `annotate`, addresses without names.
 */
#include "model/merge_state.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "model/frames.h"

/* The range of one file; in larger files code is matched by names only. */
#define FILE_ADDRESSES  (UINT64_C(1) << 38)
#define MARKED(address) ((address) >= NODE_TRUNCATED && (address) <= NODE_KERNEL)

void merge_code_init(struct merge_code *c)
{
    *c = (struct merge_code){0};
    strpool_add(&c->strings, "");
    *vec_push(&c->nodes) = (struct merge_node){0};
}

void merge_code_release(struct merge_code *c)
{
    for (size_t i = 0; i < c->files.count; i++)
        free(c->files.items[i].path);
    strpool_release(&c->strings);
    strpool_release(&c->texts);
    strpool_release(&c->build_ids);
    vec_release(&c->files);
    map_release(&c->file_of);
    vec_release(&c->frames);
    vec_release(&c->places);
    map_release(&c->by_address);
    map_release(&c->by_text);
    vec_release(&c->nodes);
    map_release(&c->children);
}

/* --- names ------------------------------------------------------------------------------------ */

static uint32_t string_of(struct merge_code *c, struct merge_source *s, uint32_t number)
{
    if (number >= s->recording->strings.strings.count)
        return 0;
    if (s->string[number] == MAP_NONE)
        s->string[number] = strpool_add(&c->strings, strpool_get(&s->recording->strings, number));
    return s->string[number];
}

/* Appends the frames of an address of the input to code.frames. */
static uint32_t take_frames(struct merge_code *c, struct merge_source *s, uint64_t address)
{
    const struct profile *p = s->profile;
    uint32_t run = map_get(&p->symbols, address), count = 0;
    if (run == MAP_NONE || run + 1 >= p->frame_runs.count)
        return 0;
    for (uint32_t i = p->frame_runs.items[run]; i < p->frame_runs.items[run + 1]; i++, count++) {
        if (i >= p->frames.count)
            break;
        struct frame f = p->frames.items[i];
        f.function = string_of(c, s, f.function);
        f.module = string_of(c, s, f.module);
        f.file = string_of(c, s, f.file);
        *vec_push(&c->frames) = f;
    }
    return count;
}

static void frames_text(const struct merge_code *c, const struct frame *f, uint32_t count,
                        struct strbuf *out)
{
    for (uint32_t i = 0; i < count; i++)
        strbuf_printf(out, "%s\n%s\n%s\n%" PRIu32 " %d\n", strpool_get(&c->strings, f[i].function),
                      strpool_get(&c->strings, f[i].module), strpool_get(&c->strings, f[i].file),
                      f[i].line, (int)f[i].kind);
}

/* How good the names of an address are: first by lines, then by the number of frames. */
static uint64_t frames_worth(const struct merge_code *c, const struct frame *f, uint32_t count)
{
    uint64_t lines = 0, named = 0;
    for (uint32_t i = 0; i < count; i++) {
        lines += f[i].line != 0;
        named += !strstr(strpool_get(&c->strings, f[i].function), "+0x");
    }
    return (named != 0) * UINT64_C(1000000000) + lines * 1000 + count;
}

/* Are the frames from `first` on better than those that the place has? */
static bool are_better(const struct merge_code *c, const struct code_place *place, uint32_t first,
                       uint32_t count)
{
    if (!c->frames.count)
        return false;
    const struct frame *old = c->frames.items + place->first_frame, *new = c->frames.items + first;
    bool same = place->count == count;
    for (uint32_t i = 0; i < count && same; i++)
        same = old[i].function == new[i].function &&old[i].module == new[i].module &&old[i].file ==
               new[i].file &&old[i].line == new[i].line &&old[i].kind == new[i].kind;
    if (same || !count)
        return false;
    uint64_t a = frames_worth(c, old, place->count), b = frames_worth(c, new, count);
    if (a != b)
        return b > a;
    /* Both are equally good: choose either, but always the same one. */
    struct strbuf x = {0}, y = {0};
    frames_text(c, old, place->count, &x);
    frames_text(c, new, count, &y);
    bool better = strcmp(y.data, x.data) < 0;
    strbuf_release(&x);
    strbuf_release(&y);
    return better;
}

/* --- places ----------------------------------------------------------------------------------- */

static uint32_t file_of(struct merge_code *c, const struct module *m)
{
    char hex[2 * sizeof m->build_id + 1] = "";
    for (uint32_t i = 0; i < m->build_id_size; i++)
        for (int half = 0; half < 2; half++)
            hex[2 * i + (uint32_t)half] = "0123456789abcdef"[m->build_id[i] >> (half ? 0 : 4) & 15];
    uint32_t *file = map_at(&c->file_of, strpool_add_n(&c->build_ids, hex, 2 * m->build_id_size));
    const char *path = m->path ? m->path : "";
    if (*file == MAP_NONE) {
        *file = (uint32_t)c->files.count;
        struct code_file f = {.path = xstrdup(path), .build_id_size = m->build_id_size};
        memcpy(f.build_id, m->build_id, m->build_id_size);
        *vec_push(&c->files) = f;
    } else if (strcmp(path, c->files.items[*file].path) < 0) {
        free(c->files.items[*file].path);
        c->files.items[*file].path = xstrdup(path);
    }
    return *file;
}

/* Finds or adds a place by its kind and a text; the frames from `first` on belong to it. */
static uint32_t place_of_text(struct merge_code *c, enum code_place_kind kind, const char *text,
                              uint64_t address, uint32_t first, uint32_t count)
{
    char *key = xasprintf("%d %s", (int)kind, text);
    uint32_t number = strpool_add(&c->texts, key), *place = map_at(&c->by_text, number);
    free(key);
    if (*place != MAP_NONE) {
        c->frames.count = first; /* they exist already */
        return *place;
    }
    *place = (uint32_t)c->places.count;
    *vec_push(&c->places) = (struct code_place){.kind = kind,
                                                .text = number,
                                                .address = address,
                                                .module = MAP_NONE,
                                                .first_frame = first,
                                                .count = count};
    return *place;
}

static uint32_t place_in_file(struct merge_code *c, struct merge_source *s, const struct module *m,
                              uint64_t address)
{
    uint32_t *known_file = &s->file[m - s->profile->modules.items];
    if (*known_file == MAP_NONE)
        *known_file = file_of(c, m);
    uint32_t file = *known_file, first = (uint32_t)c->frames.count;
    uint64_t inside = NODE_PC(address) - m->bias;
    uint32_t count = take_frames(c, s, address);
    uint32_t *place = map_at(&c->by_address, (uint64_t)file << 38 | inside);
    if (*place != MAP_NONE) {
        struct code_place *known = &c->places.items[*place];
        if (are_better(c, known, first, count)) {
            known->first_frame = first;
            known->count = count;
        } else {
            c->frames.count = first;
        }
        return *place;
    }
    *place = (uint32_t)c->places.count;
    *vec_push(&c->places) = (struct code_place){.kind = CODE_IN_FILE,
                                                .module = file,
                                                .address = inside,
                                                .first_frame = first,
                                                .count = count};
    return *place;
}

/* Native code that is identified by its names only, or without names by where it is. */
static uint32_t place_of_names(struct merge_code *c, struct merge_source *s, const struct module *m,
                               uint64_t address, enum code_place_kind kind)
{
    struct strbuf text = {0};
    uint32_t first = (uint32_t)c->frames.count, count = take_frames(c, s, address);
    if (!count && kind == CODE_NAMED) {
        const char *base = m ? path_base(m->path) : "";
        if (m)
            strbuf_printf(&text, "%s+0x%" PRIx64, base, NODE_PC(address) - m->bias);
        else
            strbuf_puts(&text, "[unknown]");
        *vec_push(&c->frames) = (struct frame){.function = strpool_add(&c->strings, text.data),
                                               .module = strpool_add(&c->strings, base)};
        count = 1;
        strbuf_clear(&text);
    }
    strbuf_puts(&text, "");
    frames_text(c, count ? c->frames.items + first : NULL, count, &text);
    uint32_t place = place_of_text(c, kind, text.data, 0, first, count);
    strbuf_release(&text);
    return place;
}

static uint32_t place_of(struct merge_code *c, struct merge_source *s, uint64_t address)
{
    if (MARKED(address)) {
        char text[2] = {(char)('0' + address), '\0'};
        return place_of_text(c, CODE_MARKER, text, address, (uint32_t)c->frames.count, 0);
    }
    if (NODE_IS_PYTHON(address))
        return place_of_names(c, s, NULL, address, CODE_PYTHON);
    if (NODE_IS_POOL(address))
        return place_of_names(c, s, NULL, address, CODE_POOL);
    const struct module *m = module_index_at(&s->modules, address);
    if (m && (!m->path || !*m->path)) /* a module of model/combined_profile.h */
        m = NULL;
    uint64_t inside = m ? NODE_PC(address) - m->bias : 0;
    if (m && m->build_id_size && inside && inside < FILE_ADDRESSES)
        return place_in_file(c, s, m, address);
    return place_of_names(c, s, m, address, CODE_NAMED);
}

void merge_code_add(struct merge_code *c, struct merge_source *s)
{
    const struct profile *p = s->profile;
    s->node = xcalloc(p->nodes.count + 1, sizeof *s->node);
    size_t modules = (p->modules.count + 1) * sizeof *s->file;
    s->file = xmalloc(modules);
    memset(s->file, 0xff, modules);
    module_index_init(&s->modules, p);
    map_reserve(&s->place, p->symbols.count);
    for (size_t i = 1; i < p->nodes.count; i++) {
        const struct node *n = &p->nodes.items[i];
        uint32_t known = map_get(&s->place, n->address);
        if (known == MAP_NONE) {
            known = place_of(c, s, n->address);
            *map_at(&s->place, n->address) = known;
        }
        uint32_t parent = s->node[n->parent];
        uint32_t *node = map_at(&c->children, (uint64_t)parent << 32 | known);
        if (*node == MAP_NONE) {
            *node = (uint32_t)c->nodes.count;
            *vec_push(&c->nodes) = (struct merge_node){parent, known};
        }
        s->node[i] = *node;
    }
    module_index_release(&s->modules);
    free(s->file);
}
