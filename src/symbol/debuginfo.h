/*
 * debuginfo: the DWARF of one ELF file, wherever it is: which unit, scope and line an address
 * belongs to.
 *
 * Units are indexed when the file is opened, from their own ranges (.debug_aranges is optional, and
 * clang leaves it out). Scopes and line tables of a unit are loaded when an address first falls
 * into it.
 *
 * Hostile DWARF: libdw checks what it reads against its sections, except for strings inside
 * .debug_info, which are checked here. The *_left budgets, which grow with the size of the
 * sections, limit the work per file. Split DWARF (.dwo files) is not followed, because that would
 * open paths the file names.
 *
 * Ownership: {0} is closed; debuginfo_release closes. Returned strings are valid until then.
 */
#ifndef TIDE_SYMBOL_DEBUGINFO_H
#define TIDE_SYMBOL_DEBUGINFO_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "symbol/elfimage.h"
#include "symbol/line_table.h"
#include "symbol/inlined_scopes.h"
#include "symbol/nested_ranges.h"

struct unit {
    Dwarf_Die die;
    struct scopes scopes;
    bool scopes_loaded;
    struct line_table lines;
    bool lines_loaded;
};

struct source_line {
    const char *directory; /* `file` is relative to it; NULL: not known */
    const char *file;      /* NULL: unknown */
    uint32_t line;         /* 0: unknown */
};

struct debuginfo {
    Dwarf *dwarf; /* NULL: there is none */
    struct elf_image alt_image;
    Dwarf *alt;
    const struct spans *code;
    Elf_Data *info, *alt_info; /* sections */
    struct line_sections lines;
    VEC(struct unit) units;
    struct spans spans; /* address to unit */
    size_t ranges_left, line_bytes_left, naming_steps_left;
};

/* `image` at `path` has .debug_info; it and `code` must outlive d. Without usable DWARF, d stays
 * closed. */
void debuginfo_open(struct debuginfo *d, struct elf_image *image, const char *path,
                    const struct spans *code);
void debuginfo_release(struct debuginfo *d);

/* The unit of an address, with its scopes loaded; NULL: none. */
struct unit *debuginfo_unit(struct debuginfo *d, uint64_t address);

struct source_line unit_line(struct debuginfo *d, struct unit *unit, uint64_t address);
/* The source line of the call that became this inlined scope. */
struct source_line scope_call_line(struct debuginfo *d, struct unit *unit, struct scope *scope);

/* A string attribute of the entry itself; NULL: none, or empty. */
const char *debuginfo_string(const struct debuginfo *d, Dwarf_Die *die, unsigned int name);
/*
 * The name of a function: its linkage name if there is one, otherwise the plain one; NULL: none.
 * Follows origins and declarations, and leaves *die at the entry that has the name.
 */
const char *debuginfo_name(const struct debuginfo *d, Dwarf_Die *die);

#endif
