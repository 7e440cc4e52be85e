/*
 * elfimage: one ELF file, opened so that a hostile one does no harm.
 *
 * Only regular files are opened (a profile could name a FIFO or a device). The file is mapped and
 * its descriptor closed again, since a program can have more modules than we may have descriptors.
 * Debug sections whose headers promise absurd sizes once uncompressed make the file "without
 * DWARF".
 *
 * Embedded thing: {0} is closed (elf == NULL); elf_image_release closes. A Dwarf made from it must
 * be ended first.
 */
#ifndef TIDE_SYMBOL_ELFIMAGE_H
#define TIDE_SYMBOL_ELFIMAGE_H

#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbol/spans.h"

struct elf_image {
    Elf *elf;
    size_t size_bytes; /* of the file */
    struct spans code; /* executable sections, numbered by section */
    bool has_dwarf;    /* .debug_info is there, and safe to uncompress */
    bool has_symtab;
    bool is_ours;      /* its pages may be written to, for us alone */
    uint8_t *unpacked; /* debug sections without compression (unpack.h); NULL: none are */
    size_t unpacked_size;
};

int elf_image_open(struct elf_image *image, const char *path); /* 0 or a negative errno */
void elf_image_release(struct elf_image *image);

/* Returns its size, 0 without one; *id points into the image. */
size_t elf_image_build_id(const struct elf_image *image, const uint8_t **id);
bool elf_image_build_id_is(const struct elf_image *image, const uint8_t *id, size_t size);

/* What is loaded at an address, from there to the end of its segment in the file; NULL: nothing.
 * `size` receives how much. */
const uint8_t *elf_image_bytes(const struct elf_image *image, uint64_t address, size_t *size);

/* Of `name` (".debug_line") or its ".zdebug_" variant; NULL: absent. Uncompressed once a Dwarf was
 * opened. */
Elf_Data *elf_image_section(const struct elf_image *image, const char *name);

/* Gives back the pages of a section that nobody writes to: they are read from the file again when
 * they are needed. `data`: NULL is fine. */
void elf_image_let_go(const struct elf_image *image, const Elf_Data *data);

/* Before libdw opens it: it would uncompress all debug sections, also those that nobody here reads.
 * Changes what elf_image_crc says. */
void elf_image_hide_unread(const struct elf_image *image);
/* The checksum that .gnu_debuglink holds of the file it names. */
uint32_t elf_image_crc(const struct elf_image *image);

#endif
