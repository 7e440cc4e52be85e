#include "symbol/debuginfo.h"

#include <dwarf.h>
#include <elfutils/libdwelf.h>
#include <gelf.h>
#include <string.h>

#include "symbol/debugfile.h"
#include "symbol/decompress_sections.h"

/* An inlined copy, its origin and its declaration are two steps apart; the limit ends cycles. */
#define ORIGIN_STEPS_MAX 16

/* What small files may use in addition to what grows with the file's size. */
#define RANGES_SLACK     (64u << 10)
#define LINE_BYTES_SLACK (64u << 10)

/* About a second or two of declname's work. */
#define NAMING_STEPS (64u << 20)

static void units_load(struct debuginfo *d)
{
    Dwarf_CU *cu = NULL;
    Dwarf_Die die;
    /* The last argument would make libdw open .dwo files. */
    while (dwarf_get_units(d->dwarf, cu, &cu, NULL, NULL, &die, NULL) == 0) {
        int tag = dwarf_tag(&die);
        if (tag != DW_TAG_compile_unit && tag != DW_TAG_skeleton_unit)
            continue;
        uint32_t number = (uint32_t)d->units.count;
        if (die_add_ranges(&die, d->code, number, &d->spans, &d->ranges_left))
            *vec_push(&d->units) = (struct unit){.die = die};
    }
    nested_ranges_flatten(&d->spans);
}

/*
 * dwz moves what several files share into another file. It must be set even if it turns out to be
 * unusable: otherwise libdw would look for it itself and open whatever path the file names.
 */
static bool alt_open(struct debuginfo *d, const char *path)
{
    const char *name;
    const void *build_id;
    if (dwelf_dwarf_gnu_debugaltlink(d->dwarf, &name, &build_id) == 0)
        return true;
    if (debugfile_find_alt(DEBUGFILE_ROOT, path, d->dwarf, &d->alt_image) != 0)
        return false;
    elf_image_hide_unread(&d->alt_image);
    elf_image_unpack(&d->alt_image);
    d->alt = dwarf_begin_elf(d->alt_image.elf, DWARF_C_READ, NULL);
    d->alt_info = elf_image_section(&d->alt_image, ".debug_info");
    if (!d->alt || !d->alt_info || !elf_image_section(&d->alt_image, ".debug_str") ||
        dwelf_dwarf_gnu_debugaltlink(d->alt, &name, &build_id) != 0)
        return false;
    dwarf_setalt(d->dwarf, d->alt);
    return true;
}

void debuginfo_open(struct debuginfo *d, struct elf_image *image, const char *path,
                    const struct spans *code)
{
    *d = (struct debuginfo){.code = code};
    if (!image->has_dwarf)
        return;
    elf_image_hide_unread(image);
    elf_image_unpack(image);
    d->dwarf = dwarf_begin_elf(image->elf, DWARF_C_READ, NULL);
    GElf_Ehdr header;
    if (d->dwarf)
        d->info = elf_image_section(image, ".debug_info");
    if (!d->info || !gelf_getehdr(image->elf, &header) || !alt_open(d, path)) {
        debuginfo_release(d);
        return;
    }
    d->lines = (struct line_sections){.line = elf_image_section(image, ".debug_line"),
                                      .line_str = elf_image_section(image, ".debug_line_str"),
                                      .str = elf_image_section(image, ".debug_str"),
                                      .big_endian = header.e_ident[EI_DATA] == ELFDATA2MSB};
    d->ranges_left = d->info->d_size + RANGES_SLACK;
    d->line_bytes_left = (d->lines.line ? d->lines.line->d_size : 0) * 2 + LINE_BYTES_SLACK;
    d->naming_steps_left = NAMING_STEPS;
    units_load(d);
}

void debuginfo_release(struct debuginfo *d)
{
    for (size_t i = 0; i < d->units.count; i++) {
        scopes_release(&d->units.items[i].scopes);
        line_table_release(&d->units.items[i].lines);
    }
    vec_release(&d->units);
    nested_ranges_release(&d->spans);
    if (d->dwarf)
        dwarf_end(d->dwarf);
    if (d->alt)
        dwarf_end(d->alt);
    elf_image_release(&d->alt_image);
    *d = (struct debuginfo){0};
}

struct unit *debuginfo_unit(struct debuginfo *d, uint64_t address)
{
    const struct span *span = nested_ranges_find(&d->spans, address);
    if (!span)
        return NULL;
    struct unit *unit = &d->units.items[span->owner];
    if (!unit->scopes_loaded) {
        unit->scopes_loaded = true;
        scopes_load(&unit->scopes, &unit->die, d->code, &d->ranges_left);
    }
    return unit;
}

/*
 * In a forged file, the tables of many units may overlap, and each would be loaded anew; in an
 * honest file they add up to the size of the section.
 */
static void load_lines(struct debuginfo *d, struct unit *unit)
{
    if (unit->lines_loaded)
        return;
    unit->lines_loaded = true;
    Dwarf_Attribute attribute;
    Dwarf_Word offset;
    if (!dwarf_attr(&unit->die, DW_AT_stmt_list, &attribute) ||
        dwarf_formudata(&attribute, &offset) != 0)
        return;
    uint64_t bytes = line_table_bytes(&d->lines, offset);
    if (bytes > d->line_bytes_left)
        return;
    d->line_bytes_left -= bytes;
    line_table_load(&unit->lines, &d->lines, offset);
}

static bool data_ends_string(const Elf_Data *data, const char *text)
{
    const char *start = data ? data->d_buf : NULL;
    if (!start || text < start || text >= start + data->d_size)
        return false;
    return memchr(text, '\0', (size_t)(start + data->d_size - text)) != NULL;
}

const char *debuginfo_string(const struct debuginfo *d, Dwarf_Die *die, unsigned int name)
{
    Dwarf_Attribute attribute;
    if (!dwarf_attr(die, name, &attribute))
        return NULL;
    const char *text = dwarf_formstring(&attribute);
    if (!text || !*text)
        return NULL;
    if (dwarf_whatform(&attribute) == DW_FORM_string && !data_ends_string(d->info, text) &&
        !data_ends_string(d->alt_info, text))
        return NULL;
    return text;
}

static struct source_line line_of_unit(struct debuginfo *d, struct unit *unit, uint64_t file,
                                       uint64_t line)
{
    struct source_line result = {.file = line_table_path(&unit->lines, file)};
    if (!result.file)
        return result;
    if (*result.file != '/')
        result.directory = debuginfo_string(d, &unit->die, DW_AT_comp_dir);
    result.line = line <= INT32_MAX ? (uint32_t)line : 0;
    return result;
}

struct source_line unit_line(struct debuginfo *d, struct unit *unit, uint64_t address)
{
    load_lines(d, unit);
    const struct line_row *row = line_table_find(&unit->lines, address);
    return row ? line_of_unit(d, unit, row->file, row->line) : (struct source_line){0};
}

static uint64_t die_number(Dwarf_Die *die, unsigned int name)
{
    Dwarf_Attribute attribute;
    Dwarf_Word value;
    return dwarf_attr(die, name, &attribute) && dwarf_formudata(&attribute, &value) == 0 ? value
                                                                                         : 0;
}

struct source_line scope_call_line(struct debuginfo *d, struct unit *unit, struct scope *scope)
{
    load_lines(d, unit);
    return line_of_unit(d, unit, die_number(&scope->die, DW_AT_call_file),
                        die_number(&scope->die, DW_AT_call_line));
}

const char *debuginfo_name(const struct debuginfo *d, Dwarf_Die *die)
{
    const char *plain = NULL;
    Dwarf_Die at = *die;
    for (int step = 0; step < ORIGIN_STEPS_MAX; step++) {
        const char *name = debuginfo_string(d, &at, DW_AT_linkage_name);
        if (!name)
            name = debuginfo_string(d, &at, DW_AT_MIPS_linkage_name);
        if (!name && !plain)
            plain = name = debuginfo_string(d, &at, DW_AT_name);
        if (name)
            *die = at;
        if (name && name != plain)
            return name;
        Dwarf_Attribute reference;
        if (!dwarf_attr(&at, DW_AT_abstract_origin, &reference) &&
            !dwarf_attr(&at, DW_AT_specification, &reference))
            break;
        if (!dwarf_formref_die(&reference, &at))
            break;
    }
    return plain;
}
