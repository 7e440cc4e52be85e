#include "import/heaptrack_modules.h"

#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "import/import.h"

void heaptrack_modules_program(struct heaptrack_modules *t, const char *path)
{
    free(t->program);
    t->program = xstrdup(path);
}

/* The numbers at the end of the line follow a path, which may contain blanks, so they are searched
 * for from the end. */
static const char *numbers_of(const char *line)
{
    const char *end = line + strlen(line), *first = end;
    while (end > line) {
        const char *word = end;
        while (word > line && word[-1] != ' ')
            word--;
        if (word == line || !*word || word[strspn(word, "0123456789abcdef ")])
            break;
        first = word;
        end = word - 1;
    }
    return first;
}

bool heaptrack_modules_line(struct heaptrack_modules *t, const char *line)
{
    if (strcmp(line, "-") == 0) {
        t->items.count = 0;
        map_release(&t->runs);
        return true;
    }
    const char *at = numbers_of(line);
    uint64_t base, start, size;
    if (at == line || !import_hex(&at, &base))
        return false;
    size_t length = (size_t)(numbers_of(line) - line);
    while (length && line[length - 1] == ' ')
        length--;
    char *name = xstrndup(line, length);
    uint32_t path =
        strpool_add(&t->paths, strcmp(name, "x") == 0 && t->program ? t->program : name);
    free(name);
    while (*at == ' ') {
        at++;
        if (!import_hex(&at, &start) || *at++ != ' ' || !import_hex(&at, &size))
            return false;
        *vec_push(&t->items) =
            (struct heaptrack_module){base + start, base + start + size, base, path};
        t->memory += 64;
    }
    t->sorted = false;
    return true;
}

static int by_start(const void *a, const void *b)
{
    const struct heaptrack_module *x = a, *y = b;
    return (x->start > y->start) - (x->start < y->start);
}

static const struct heaptrack_module *module_of(struct heaptrack_modules *t, uint64_t address)
{
    size_t at;
    if (!t->sorted && t->items.count)
        qsort(t->items.items, t->items.count, sizeof *t->items.items, by_start);
    t->sorted = true;
    BISECT(at, t->items.count, t->items.items[at].start <= address);
    return at && address < t->items.items[at - 1].end ? &t->items.items[at - 1] : NULL;
}

static uint32_t look_up(struct heaptrack_modules *t, uint64_t address, struct stacks *s)
{
    const struct heaptrack_module *m = module_of(t, address);
    if (!m)
        return stacks_frame(s, &(struct imported_frame){0});
    if (!t->symbolizer)
        t->symbolizer = symbolizer_new();
    const char *path = strpool_get(&t->paths, m->path);
    const struct symbol_frame *found;
    size_t count = symbolizer_resolve(t->symbolizer, symbolizer_file(t->symbolizer, path, NULL, 0),
                                      address - m->base, &found);
    VEC(struct frame) frames = {0};
    for (size_t i = 0; i < count; i++) {
        struct frame f =
            stacks_make(s, &(struct imported_frame){
                               found[i].function, path_base(path), found[i].file, found[i].line,
                               found[i].inlined ? FRAME_INLINED : FRAME_NATIVE});
        *vec_push(&frames) = f;
    }
    uint32_t run = stacks_run(s, frames.items, frames.count);
    vec_release(&frames);
    return run;
}

uint32_t heaptrack_modules_run(struct heaptrack_modules *t, uint64_t address, struct stacks *s)
{
    uint32_t known = map_get(&t->runs, address);
    if (known != MAP_NONE)
        return known;
    uint32_t run = look_up(t, address, s);
    *map_at(&t->runs, address) = run;
    t->memory += 32;
    return run;
}

void heaptrack_modules_release(struct heaptrack_modules *t)
{
    vec_release(&t->items);
    strpool_release(&t->paths);
    map_release(&t->runs);
    symbolizer_free(t->symbolizer);
    free(t->program);
}
