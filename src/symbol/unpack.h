/*
 * unpack: the compressed debug sections of an ELF file, uncompressed ahead of libdw.
 *
 * libdw would do this with zlib when a Dwarf is opened, and that would be most of the time of
 * naming. libdeflate needs less than half as long. What it cannot read (another method, damage) is
 * left as it is, and libdw judges it.
 *
 * Call it before dwarf_begin_elf, for images whose sizes were judged (has_dwarf) and whose pages
 * are ours. Ownership: the sections point into image->unpacked until elf_image_release.
 */
#ifndef TIDE_SYMBOL_UNPACK_H
#define TIDE_SYMBOL_UNPACK_H

#include "symbol/elfimage.h"

void elf_image_unpack(struct elf_image *image);

#endif
