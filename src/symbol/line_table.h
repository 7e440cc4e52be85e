/*
 * line_table: the line table of one DWARF unit: which source line an address is from.
 *
 * It reads .debug_line of DWARF 2 to 5. libdw could do it, but makes a record of every row, sorts
 * them all, and does the same even if only the names of files are needed; that was a third of the
 * cost of naming. Here a row takes 16 bytes, and only the sequences are sorted: the rows of a
 * sequence are already in order of address.
 *
 * Hostile tables: all reads are checked against the sections. A table of n bytes makes at most n
 * rows and n files; the caller limits n. Names are checked to end inside their section. If a table
 * makes no sense, it has no lines from there on.
 *
 * Ownership: {0} is empty; line_table_release frees. Strings point into the sections, or belong to
 * the table.
 */
#ifndef TIDE_SYMBOL_LINE_TABLE_H
#define TIDE_SYMBOL_LINE_TABLE_H

#include <libelf.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

struct line_sections {
    const Elf_Data *line, *line_str, *str; /* NULL: absent */
    bool big_endian;
};

struct line_row {
    uint64_t address;
    uint32_t file, line;
};

/* Rows with rising addresses, for the code in [low, high). */
struct line_sequence {
    uint64_t low, high;
    size_t first, count;
};

struct line_file {
    const char *name;
    uint64_t directory;
    char *path; /* with its directory; made when it is first asked for */
};

struct line_table {
    VEC(struct line_row) rows;
    VEC(struct line_sequence) sequences; /* by their low addresses */
    VEC(struct line_file) files;         /* by number: before DWARF 5 from 1 on */
    VEC(const char *) directories; /* the same; number 0 is the unit's own, NULL before DWARF 5 */
};

/* Loads the table at `offset` of the section; `t` must be empty. */
void line_table_load(struct line_table *t, const struct line_sections *sections, uint64_t offset);
void line_table_release(struct line_table *t);

/* NULL: there is no row for this address. */
const struct line_row *line_table_find(const struct line_table *t, uint64_t address);
/* The path of a file, relative to the unit's directory unless it begins with a slash. NULL: not
 * known. */
const char *line_table_path(struct line_table *t, uint64_t file);

/* The length that the table at `offset` claims to have; UINT64_MAX: there is none. */
uint64_t line_table_bytes(const struct line_sections *sections, uint64_t offset);

#endif
