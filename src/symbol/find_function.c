#include "symbol/find_function.h"

#include <gelf.h>
#include <stdbool.h>
#include <string.h>

#include "symbol/debugfile.h"
#include "symbol/demangle.h"
#include "symbol/elfimage.h"
#include "symbol/symtab.h"

#define FIRST_BYTES 5 /* of a function, in which nothing else should begin */

/* --- names ------------------------------------------------------------------------------------ */

/* The last word of a::b::c<int>, which a mangled name must contain. */
static const char *last_word(const char *name, size_t *size)
{
    size_t end = strcspn(name, "<("), start = 0;
    if (!end)
        end = strlen(name);
    for (size_t i = 0; i + 1 < end; i++)
        if (name[i] == ':' && name[i + 1] == ':')
            start = i + 2;
    if (name[start] == '~')
        start++;
    *size = end - start;
    return name + start;
}

/* Changes a::b<int>::c to a::b::c, in place. */
static void drop_template_arguments(char *name)
{
    char *to = name;
    int depth = 0;
    for (const char *c = name; *c; c++) {
        depth += *c == '<';
        if (depth == 0)
            *to++ = *c;
        depth -= *c == '>' && depth > 0;
    }
    *to = '\0';
}

static bool is_qualified_name(const char *mangled, const char *name, struct strbuf *scratch)
{
    size_t size;
    const char *word = last_word(name, &size);
    bool is_operator = strstr(name, "operator");
    if (!size ||
        (!is_operator && !memmem(mangled, strlen(mangled), word, size) && !strstr(mangled, "C1") &&
         !strstr(mangled, "C2") && !strstr(mangled, "D1") && !strstr(mangled, "D2")))
        return false;
    strbuf_clear(scratch);
    demangle_qualified(scratch, mangled);
    if (!scratch->size)
        return false;
    if (strcmp(scratch->data, name) == 0)
        return true;
    if (is_operator || strchr(name, '<'))
        return false;
    drop_template_arguments(scratch->data);
    return strcmp(scratch->data, name) == 0;
}

/* Is it a part of a split function? Only the rest of the function jumps there. */
static bool is_part(const char *symbol, size_t own)
{
    return strstr(symbol + own, ".part") || strstr(symbol + own, ".cold");
}

static bool is_named(const char *symbol, const char *name, struct strbuf *scratch)
{
    size_t own = name_without_clone(symbol);
    if (is_part(symbol, own))
        return false;
    if ((strlen(name) == own && memcmp(symbol, name, own) == 0) || strcmp(symbol, name) == 0)
        return true;
    return name_is_mangled(symbol) && !name_is_mangled(name) &&
           is_qualified_name(symbol, name, scratch);
}

/* --- code ------------------------------------------------------------------------------------- */

static void read_code(const struct elf_image *image, uint64_t address, uint8_t *out, size_t size)
{
    size_t there = 0;
    const uint8_t *code =
        nested_ranges_find(&image->code, address) ? elf_image_bytes(image, address, &there) : NULL;
    if (code)
        memcpy(out, code, there < size ? there : size);
}

static bool is_known(const struct found_functions *out, size_t from, size_t name, uint64_t address)
{
    for (size_t i = from; i < out->items.count; i++)
        if (out->items.items[i].name == name && out->items.items[i].address == address)
            return true;
    return false;
}

static bool is_shared(const struct symtab *t, uint64_t address)
{
    for (size_t i = 0; i < t->symbols.count; i++) {
        uint64_t other = t->symbols.items[i].address;
        if (other > address && other - address < FIRST_BYTES)
            return true;
    }
    return false;
}

int find_functions(const char *path, const char *const *names, size_t name_count, size_t max,
                   struct found_functions *out)
{
    struct elf_image image, debug = {0};
    struct symtab table = {0};
    struct strbuf scratch = {0};
    size_t before = out->items.count;
    int code = elf_image_open(&image, path);
    if (code)
        return code;
    symtab_load(&table, &image);
    if (!image.has_symtab && debugfile_find(DEBUGFILE_ROOT, path, &image, &debug, &scratch) == 0)
        symtab_load(&table, &debug);
    for (size_t n = 0; n < name_count; n++)
        for (size_t i = 0; i < table.symbols.count && out->items.count - before < max; i++) {
            const struct symbol *s = &table.symbols.items[i];
            if (s->type != STT_FUNC || !is_named(s->name, names[n], &scratch) ||
                is_known(out, before, n, s->address))
                continue;
            struct found_function *f = vec_push(&out->items);
            *f = (struct found_function){
                .name = n, .address = s->address, .size_bytes = s->size_bytes};
            read_code(&image, s->address, f->code, sizeof f->code);
            f->shared = is_shared(&table, s->address);
        }
    symtab_release(&table);
    elf_image_release(&image);
    if (debug.elf)
        elf_image_release(&debug);
    strbuf_release(&scratch);
    return 0;
}
