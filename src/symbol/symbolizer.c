#include "symbol/symbolizer.h"

#include <gelf.h>
#include <inttypes.h>
#include <libelf.h>
#include <string.h>

#include "base/map.h"
#include "base/path.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "symbol/debugfile.h"
#include "symbol/debuginfo.h"
#include "symbol/declname.h"
#include "symbol/demangle.h"
#include "symbol/elfimage.h"
#include "symbol/function_bounds.h"
#include "symbol/got_slots.h"
#include "symbol/symtab.h"

struct symbol_file {
    char *path;
    uint8_t *build_id;
    size_t build_id_size;
    bool opened, replaced;
    struct elf_image main, debug; /* debug: separate debug information, if there is any */
    struct symtab symtab;
    struct debuginfo info;
};

/*
 * Names and paths are pointers into mapped files that stay mapped until the end. So a pointer
 * identifies its text, and each text is demangled or normalised only once.
 */
struct symbolizer {
    VEC(struct symbol_file *) files;
    struct strpool strings;
    struct map names, paths; /* pointer into a file -> number of the final string */
    VEC(struct symbol_frame) frames;
    struct strbuf scratch;
};

struct symbolizer *symbolizer_new(void)
{
    elf_version(EV_CURRENT);
    return xcalloc(1, sizeof(struct symbolizer));
}

static void symbol_file_free(struct symbol_file *file)
{
    debuginfo_release(&file->info);
    symtab_release(&file->symtab);
    elf_image_release(&file->debug);
    elf_image_release(&file->main);
    free(file->build_id);
    free(file->path);
    free(file);
}

void symbolizer_free(struct symbolizer *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->files.count; i++)
        symbol_file_free(s->files.items[i]);
    vec_release(&s->files);
    vec_release(&s->frames);
    map_release(&s->names);
    map_release(&s->paths);
    strpool_release(&s->strings);
    strbuf_release(&s->scratch);
    free(s);
}

struct symbol_file *symbolizer_file(struct symbolizer *s, const char *path, const uint8_t *build_id,
                                    size_t build_id_size)
{
    for (size_t i = 0; i < s->files.count; i++) {
        struct symbol_file *known = s->files.items[i];
        if (known->build_id_size == build_id_size && strcmp(known->path, path) == 0 &&
            (!build_id_size || memcmp(known->build_id, build_id, build_id_size) == 0))
            return known;
    }
    struct symbol_file *file = xcalloc(1, sizeof *file);
    file->path = xstrdup(path);
    if (build_id_size) {
        file->build_id = xmalloc(build_id_size);
        memcpy(file->build_id, build_id, build_id_size);
        file->build_id_size = build_id_size;
    }
    *vec_push(&s->files) = file;
    return file;
}

void symbol_file_discard_pages(struct symbol_file *file)
{
    symtab_discard_pages(&file->debug);
    symtab_discard_pages(&file->main);
}

static void symbol_file_open(struct symbol_file *file)
{
    if (file->opened)
        return;
    file->opened = true;
    if (elf_image_open(&file->main, file->path) != 0)
        return;
    if (file->build_id_size &&
        !elf_image_build_id_is(&file->main, file->build_id, file->build_id_size)) {
        elf_image_release(&file->main);
        file->replaced = true;
        return;
    }
    struct strbuf debug_path = {0};
    const struct spans *code = &file->main.code;
    if (file->main.has_dwarf) {
        debuginfo_open(&file->info, &file->main, file->path, code);
    } else if (debugfile_find(DEBUGFILE_ROOT, file->path, &file->main, &file->debug, &debug_path) ==
               0) {
        debuginfo_open(&file->info, &file->debug, debug_path.data, code);
        symtab_load(&file->symtab, &file->debug);
    }
    strbuf_release(&debug_path);
    symtab_load(&file->symtab, &file->main);
    symtab_index(&file->symtab, code);
    symbol_file_discard_pages(file);
}

bool symbol_file_has_lines(struct symbolizer *s, struct symbol_file *file)
{
    (void)s;
    symbol_file_open(file);
    return file->info.lines.line && file->info.units.count;
}

static const char *name_finished(struct symbolizer *s, const char *raw)
{
    uint32_t *number = map_at(&s->names, (uint64_t)(uintptr_t)raw);
    if (*number == MAP_NONE) {
        strbuf_clear(&s->scratch);
        demangle(&s->scratch, raw);
        *number = strpool_add_n(&s->strings, s->scratch.data, s->scratch.size);
    }
    return strpool_get(&s->strings, *number);
}

static void path_add_part(struct strbuf *out, const char *part, size_t size)
{
    if (!size || (size == 1 && *part == '.'))
        return;
    if (out->size && out->data[out->size - 1] != '/')
        strbuf_putc(out, '/');
    strbuf_add(out, part, size);
}

/* Leaves out "." and double slashes, so that one file has one path; ".." may cross a link and
 * stays. */
static void path_add(struct strbuf *out, const char *path)
{
    if (*path == '/' && !out->size)
        strbuf_putc(out, '/');
    while (*path) {
        size_t size = strcspn(path, "/");
        path_add_part(out, path, size);
        path += size;
        path += strspn(path, "/");
    }
}

static const char *path_finished(struct symbolizer *s, const struct source_line *line)
{
    if (!line->file)
        return NULL;
    uint32_t *number = map_at(&s->paths, (uint64_t)(uintptr_t)line->file);
    if (*number == MAP_NONE) {
        strbuf_clear(&s->scratch);
        if (line->directory && *line->directory == '/')
            path_add(&s->scratch, line->directory);
        path_add(&s->scratch, line->file);
        if (!s->scratch.size)
            strbuf_putc(&s->scratch, '.');
        *number = strpool_add_n(&s->strings, s->scratch.data, s->scratch.size);
    }
    return strpool_get(&s->strings, *number);
}

static const char *name_unknown(struct symbolizer *s, const struct symbol_file *file,
                                uint64_t address)
{
    const char *base = path_base(file->path);
    strbuf_clear(&s->scratch);
    strbuf_printf(&s->scratch, "%s+0x%" PRIx64, *base ? base : "unknown", address);
    return strpool_get(&s->strings, strpool_add_n(&s->strings, s->scratch.data, s->scratch.size));
}

/* The name according to DWARF alone; NULL: it has none. */
static const char *scope_name(struct symbolizer *s, struct symbol_file *file, struct unit *unit,
                              struct scope *scope)
{
    Dwarf_Die origin = scope->die;
    const char *name = debuginfo_name(&file->info, &origin);
    if (!name || name_is_mangled(name) || !unit_is_cplusplus(&unit->die))
        return name ? name_finished(s, name) : NULL;
    uint32_t *number = map_at(&s->names, (uint64_t)(uintptr_t)origin.addr);
    if (*number == MAP_NONE) {
        strbuf_clear(&s->scratch);
        if (!declname_add(&s->scratch, &file->info, &origin))
            strbuf_puts(&s->scratch, name);
        *number = strpool_add_n(&s->strings, s->scratch.data, s->scratch.size);
    }
    return strpool_get(&s->strings, *number);
}

/*
 * The name of a function that is really called, not inlined. In C, DWARF's plain name equals the
 * symbol's. In C++ it lacks scope and parameters, and a C library's own name for an exported
 * function is an internal one ("__libc_malloc", "_IO_new_fopen"). There the symbol is better, and
 * gives the same name as without debug information.
 */
static const char *function_name(struct symbolizer *s, struct symbol_file *file, struct unit *unit,
                                 struct scope *scope, uint64_t address)
{
    Dwarf_Die origin;
    const char *raw = NULL;
    if (scope) {
        origin = scope->die;
        raw = debuginfo_name(&file->info, &origin);
    }
    const struct symbol *symbol = symtab_find(&file->symtab, address);
    bool symbol_better =
        symbol && (!raw || (!name_is_mangled(raw) && name_is_mangled(symbol->name)) ||
                   (*raw == '_' && !name_is_mangled(raw) && symbol_is_exported(symbol)));
    if (symbol_better)
        return name_finished(s, symbol->name);
    return raw ? scope_name(s, file, unit, scope) : name_unknown(s, file, address);
}

size_t symbolizer_resolve(struct symbolizer *s, struct symbol_file *file, uint64_t address,
                          const struct symbol_frame **frames)
{
    symbol_file_open(file);
    s->frames.count = 0;
    struct source_line line = {0};
    struct unit *unit = debuginfo_unit(&file->info, address);
    struct scope *scope = NULL;
    if (unit) {
        line = unit_line(&file->info, unit, address);
        scope = scopes_get(&unit->scopes, scopes_find(&unit->scopes, address));
    }
    for (; scope && scope->inlined; scope = scopes_get(&unit->scopes, scope->parent)) {
        const char *name = scope_name(s, file, unit, scope);
        *vec_push(&s->frames) = (struct symbol_frame){
            .function = name ? name : name_unknown(s, file, address),
            .file = path_finished(s, &line),
            .line = line.line,
            .inlined = true,
        };
        line = scope_call_line(&file->info, unit, scope);
    }
    *vec_push(&s->frames) = (struct symbol_frame){
        .function = function_name(s, file, unit, scope, address),
        .file = path_finished(s, &line),
        .line = line.line,
        .inlined = false,
    };
    *frames = s->frames.items;
    return s->frames.count;
}

enum symbol_file_state symbol_file_state(struct symbol_file *file)
{
    symbol_file_open(file);
    return file->main.elf   ? SYMBOL_FILE_GOOD
           : file->replaced ? SYMBOL_FILE_REPLACED
                            : SYMBOL_FILE_MISSING;
}

/* If two sources disagree, the one that has the name is believed; a symbol without a size reaches
 * as far as its piece. */
bool symbol_file_bounds(struct symbol_file *file, uint64_t address, uint64_t *low, uint64_t *high)
{
    if (symbol_file_state(file) != SYMBOL_FILE_GOOD)
        return false;
    const struct symbol *symbol = symtab_find(&file->symtab, address);
    const struct span *piece = symbol ? nested_ranges_find(&file->symtab.spans, address) : NULL;
    if (symbol && symbol->size_bytes && symbol->size_bytes <= UINT64_MAX - symbol->address) {
        *low = symbol->address;
        *high = symbol->address + symbol->size_bytes;
        return true;
    }
    struct unit *unit = piece ? NULL : debuginfo_unit(&file->info, address);
    struct scope *scope = NULL;
    uint32_t number = unit ? scopes_find(&unit->scopes, address) : SCOPE_NONE;
    while ((scope = unit ? scopes_get(&unit->scopes, number) : NULL) && scope->inlined)
        number = scope->parent;
    if (scope && scope_bounds(scope, &file->main.code, address, low, high))
        return true;
    if (frame_bounds(&file->main, address, low, high))
        return true;
    if (piece) {
        *low = piece->low;
        *high = piece->high;
    }
    return piece;
}

const uint8_t *symbol_file_code(struct symbol_file *file, uint64_t address, size_t *size)
{
    if (symbol_file_state(file) != SYMBOL_FILE_GOOD ||
        !nested_ranges_find(&file->main.code, address))
        return NULL;
    return elf_image_bytes(&file->main, address, size);
}

const char *symbolizer_entry(struct symbolizer *s, struct symbol_file *file, uint64_t address)
{
    symbol_file_open(file);
    const struct symbol *symbol = symtab_find(&file->symtab, address);
    if (symbol && symbol->address == address)
        return name_finished(s, symbol->name);
    uint64_t slot;
    return stub_slot(&file->main, symbol_file_machine(file), address, &slot)
               ? symbolizer_slot(s, file, slot)
               : NULL;
}

const char *symbolizer_slot(struct symbolizer *s, struct symbol_file *file, uint64_t slot)
{
    const char *name =
        symbol_file_state(file) == SYMBOL_FILE_GOOD ? slot_name(&file->main, slot) : NULL;
    return name ? name_finished(s, name) : NULL;
}

unsigned symbol_file_machine(struct symbol_file *file)
{
    GElf_Ehdr header;
    return symbol_file_state(file) == SYMBOL_FILE_GOOD && gelf_getehdr(file->main.elf, &header)
               ? header.e_machine
               : 0;
}

uint32_t symbolizer_declared(struct symbolizer *s, struct symbol_file *file, uint64_t address,
                             const char *function)
{
    symbol_file_open(file);
    struct unit *unit = debuginfo_unit(&file->info, address);
    struct scope *scope =
        unit ? scopes_get(&unit->scopes, scopes_find(&unit->scopes, address)) : NULL;
    for (; scope; scope = scopes_get(&unit->scopes, scope->parent)) {
        const char *name = scope->inlined ? scope_name(s, file, unit, scope)
                                          : function_name(s, file, unit, scope, address);
        int line;
        if (name && strcmp(name, function) == 0)
            return dwarf_decl_line(&scope->die, &line) == 0 && line > 0 ? (uint32_t)line : 0;
        if (!scope->inlined)
            break;
    }
    return 0;
}
