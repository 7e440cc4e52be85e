#include "symbol/symtab.h"

#include <gelf.h>
#include <string.h>

enum {
    RANK_LOCAL = 0,
    RANK_EXPORTED =
        1, /* weak or global: a name of the interface rather than of the implementation */
    RANK_FUNCTION = 2, /* not just a label in assembler code */
};

/* $x and $d mark code and data on ARM and RISC-V. */
static bool has_marks(Elf *elf)
{
    GElf_Ehdr header;
    return !gelf_getehdr(elf, &header) ||
           (header.e_machine != EM_X86_64 && header.e_machine != EM_386);
}

/* The name is read only if needed: names are most of a large file's tables. */
static bool symbol_is_function(const GElf_Sym *sym, const char *name, bool marks)
{
    int type = GELF_ST_TYPE(sym->st_info);
    if (sym->st_shndx == SHN_UNDEF || sym->st_shndx == SHN_ABS || sym->st_shndx == SHN_COMMON)
        return false;
    if (!sym->st_name || (marks && (!*name || *name == '$')))
        return false;
    return type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_NOTYPE;
}

static void section_load(struct symtab *t, Elf *elf, Elf_Scn *section, const GElf_Shdr *header)
{
    Elf_Data *data = elf_getdata(section, NULL);
    size_t text_size;
    const char *text = elf_linked_text(elf, header, &text_size);
    if (!data || !data->d_buf || data->d_type != ELF_T_SYM || !text)
        return;
    size_t entry = gelf_fsize(elf, ELF_T_SYM, 1, EV_CURRENT);
    size_t count = entry ? data->d_size / entry : 0;
    bool marks = has_marks(elf);
    vec_reserve(&t->symbols, t->symbols.count + count);
    for (size_t i = 0; i < count && i < INT32_MAX; i++) {
        GElf_Sym sym;
        if (!gelf_getsym(data, (int)i, &sym) || sym.st_name >= text_size)
            continue;
        const char *name = text + sym.st_name;
        if (!symbol_is_function(&sym, name, marks))
            continue;
        int rank = GELF_ST_TYPE(sym.st_info) == STT_NOTYPE ? 0 : RANK_FUNCTION;
        rank += GELF_ST_BIND(sym.st_info) == STB_LOCAL ? RANK_LOCAL : RANK_EXPORTED;
        rank = rank * 2 + (GELF_ST_BIND(sym.st_info) != STB_WEAK);
        *vec_push(&t->symbols) = (struct symbol){sym.st_value, sym.st_size, name, (uint8_t)rank,
                                                 GELF_ST_TYPE(sym.st_info)};
    }
}

static bool header_is_symbols(const GElf_Shdr *header)
{
    return header->sh_type == SHT_SYMTAB || header->sh_type == SHT_DYNSYM;
}

void symtab_load(struct symtab *t, const struct elf_image *image)
{
    for (Elf_Scn *section = NULL; (section = elf_nextscn(image->elf, section));) {
        GElf_Shdr header;
        if (gelf_getshdr(section, &header) && header_is_symbols(&header))
            section_load(t, image->elf, section, &header);
    }
}

void symtab_discard_pages(const struct elf_image *image)
{
    for (Elf_Scn *section = NULL; image->elf && (section = elf_nextscn(image->elf, section));) {
        GElf_Shdr header;
        if (!gelf_getshdr(section, &header) || !header_is_symbols(&header))
            continue;
        Elf_Scn *strings = elf_getscn(image->elf, header.sh_link);
        elf_image_discard_pages(image, elf_getdata(section, NULL));
        elf_image_discard_pages(image, strings ? elf_getdata(strings, NULL) : NULL);
    }
}

static size_t name_underscores(const char *name)
{
    size_t count = strspn(name, "_");
    return count == 1 && (name[1] == 'Z' || name[1] == 'R') ? 0 : count;
}

/*
 * Sorts by address, with the best name of each address last. A C library names most functions
 * twice, "write" (weak) and "__write" (global), so among exported names underscores count more than
 * weakness.
 */
static int symbol_compare(const void *left, const void *right)
{
    const struct symbol *a = left, *b = right;
    if (a->address != b->address)
        return a->address < b->address ? -1 : 1;
    if (a->rank / 2 != b->rank / 2)
        return a->rank / 2 < b->rank / 2 ? -1 : 1;
    size_t a_bars = name_underscores(a->name), b_bars = name_underscores(b->name);
    if (a_bars != b_bars)
        return a_bars > b_bars ? -1 : 1;
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    size_t a_length = strcspn(a->name, "@"), b_length = strcspn(b->name, "@");
    if (a_length != b_length)
        return a_length > b_length ? -1 : 1;
    return strcmp(b->name, a->name);
}

/* Most exported functions are in both tables: of those with the same place and size, the last has
 * the best name. */
static void symtab_unite(struct symtab *t)
{
    size_t kept = 0;
    for (size_t i = 0; i < t->symbols.count; i++) {
        const struct symbol *symbol = &t->symbols.items[i];
        if (i + 1 < t->symbols.count && symbol[1].address == symbol->address &&
            symbol[1].size_bytes == symbol->size_bytes)
            continue;
        t->symbols.items[kept++] = *symbol;
    }
    vec_shrink(&t->symbols, kept);
}

/* Gives symbols without a size the gaps between those that have one. */
static void symtab_fill_gaps(struct symtab *t, const struct spans *code)
{
    struct spans gaps = {0};
    uint64_t next = UINT64_MAX; /* the next symbol's address after symbols[i].address */
    for (size_t i = t->symbols.count; i-- > 0;) {
        const struct symbol *symbol = &t->symbols.items[i];
        if (i + 1 < t->symbols.count && symbol[1].address != symbol->address)
            next = symbol[1].address;
        const struct span *section = nested_ranges_find(code, symbol->address);
        if (symbol->size_bytes || !section)
            continue;
        const struct span *sized = nested_ranges_from(&t->spans, symbol->address);
        uint64_t end = section->high < next ? section->high : next;
        if (sized && sized->low < end)
            end = sized->low; /* the symbol is inside a sized one, and gets nothing */
        nested_ranges_add(&gaps, symbol->address, end, (uint32_t)i);
    }
    for (size_t i = 0; i < gaps.count; i++)
        *vec_push(&t->spans) = gaps.items[i];
    if (gaps.count)
        nested_ranges_flatten(&t->spans);
    nested_ranges_release(&gaps);
}

void symtab_index(struct symtab *t, const struct spans *code)
{
    if (!t->symbols.count)
        return;
    qsort(t->symbols.items, t->symbols.count, sizeof *t->symbols.items, symbol_compare);
    symtab_unite(t);
    for (size_t i = 0; i < t->symbols.count; i++) {
        struct symbol *symbol = &t->symbols.items[i];
        const struct span *section = nested_ranges_find(code, symbol->address);
        if (!section)
            continue;
        if (symbol->size_bytes > section->high - symbol->address)
            symbol->size_bytes = section->high - symbol->address;
        nested_ranges_add(&t->spans, symbol->address, symbol->address + symbol->size_bytes,
                          (uint32_t)i);
    }
    nested_ranges_flatten(&t->spans);
    symtab_fill_gaps(t, code);
}

const struct symbol *symtab_find(const struct symtab *t, uint64_t address)
{
    const struct span *span = nested_ranges_find(&t->spans, address);
    const struct symbol *symbol = span ? &t->symbols.items[span->owner] : NULL;
    return symbol && *symbol->name ? symbol : NULL;
}

bool symbol_is_exported(const struct symbol *symbol)
{
    return symbol->rank / 2 & RANK_EXPORTED;
}

void symtab_release(struct symtab *t)
{
    vec_release(&t->symbols);
    nested_ranges_release(&t->spans);
}
