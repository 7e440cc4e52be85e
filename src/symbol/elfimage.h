/*
 * elfimage: one ELF file, opened so that a hostile one does no harm.
 *
 * Only regular files are opened (a profile could name a FIFO or a device). The file is mapped and
 * its descriptor closed again, because a program can have more modules than we may have
 * descriptors. If the headers of debug sections promise absurd sizes, the file counts as one
 * without DWARF.
 *
 * {0} is closed (elf == NULL); elf_image_release closes. A Dwarf made from it must be ended first.
 */
#ifndef TIDE_SYMBOL_ELFIMAGE_H
#define TIDE_SYMBOL_ELFIMAGE_H

#include <gelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbol/nested_ranges.h"

struct elf_image {
    Elf *elf;
    size_t size_bytes; /* of the file */
    struct spans code; /* executable sections, by section number */
    bool has_dwarf;    /* it has .debug_info, which is safe to decompress */
    bool has_symtab;
    bool is_ours;      /* its pages are private and writable */
    uint8_t *unpacked; /* decompressed debug sections (decompress_sections.h); NULL: none */
    size_t unpacked_size;
};

int elf_image_open(struct elf_image *image, const char *path); /* returns 0, or a negative errno */
void elf_image_release(struct elf_image *image);

/* Returns its size, or 0 if there is none; *id points into the image. */
size_t elf_image_build_id(const struct elf_image *image, const uint8_t **id);
bool elf_image_build_id_is(const struct elf_image *image, const uint8_t *id, size_t size);

/* What is loaded at an address, up to the end of its segment in the file; NULL: nothing. Sets
 * `size`. */
const uint8_t *elf_image_bytes(const struct elf_image *image, uint64_t address, size_t *size);

/* The section `name` (".debug_line") or its ".zdebug_" variant; NULL: absent. It is decompressed
 * once a Dwarf was opened. */
Elf_Data *elf_image_section(const struct elf_image *image, const char *name);

/* The names of the symbols in a section: the text of the section that its header links to, which
 * ends with a NUL; NULL: it is damaged. Sets `size`. */
const char *elf_linked_text(Elf *elf, const GElf_Shdr *header, size_t *size);

/* Releases the pages of a section that is not written to: they are read from the file again when
 * needed. `data` may be NULL. */
void elf_image_discard_pages(const struct elf_image *image, const Elf_Data *data);

/* Call it before libdw opens the image: libdw would decompress all debug sections, also those that
 * we do not read. Changes the result of elf_image_crc. */
void elf_image_hide_unread(const struct elf_image *image);
/* The checksum that .gnu_debuglink has for the file it names. */
uint32_t elf_image_crc(const struct elf_image *image);

#endif
