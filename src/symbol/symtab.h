/*
 * symtab: the functions in an ELF file's symbol tables, by address.
 *
 * Call symtab_load for each file that may have symbols (the stripped one and its debug file), then
 * symtab_index once, then symtab_find. A symbol covers [address, address + size). One without a
 * size reaches to the next symbol or the end of its section, and never hides one with a size. Of
 * several names for the same bytes the most readable is kept (symbol_compare).
 *
 * Ownership: names point into the images, which must outlive the table. {0} is empty.
 */
#ifndef TIDE_SYMBOL_SYMTAB_H
#define TIDE_SYMBOL_SYMTAB_H

#include <stdint.h>

#include "base/vec.h"
#include "symbol/elfimage.h"
#include "symbol/nested_ranges.h"

struct symbol {
    uint64_t address, size_bytes;
    const char *name; /* as in the file: mangled, perhaps with @VERSION */
    uint8_t rank;     /* by kind and binding; higher is better */
    uint8_t type;     /* STT_ */
};

struct symtab {
    VEC(struct symbol) symbols;
    struct spans spans;
};

void symtab_load(struct symtab *t, const struct elf_image *image);
void symtab_index(struct symtab *t, const struct spans *code);
/* Releases the pages of a file's tables, after they were read completely or some names were. */
void symtab_discard_pages(const struct elf_image *image);
const struct symbol *symtab_find(const struct symtab *t, uint64_t address); /* NULL: none */
bool symbol_is_exported(const struct symbol *symbol);
void symtab_release(struct symtab *t);

#endif
