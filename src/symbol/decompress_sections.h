/*
 * decompress_sections: decompresses the debug sections of an ELF file before libdw does.
 *
 * libdw would do this with zlib when a Dwarf is opened, which would be most of the time of naming.
 * libdeflate takes less than half as long. What it cannot read (another method, damage) is left
 * unchanged for libdw. Call it before dwarf_begin_elf, for images whose sizes were checked
 * (has_dwarf) and whose pages are ours.
 *
 * Ownership: the sections point into image->unpacked until elf_image_release.
 */
#ifndef TIDE_SYMBOL_DECOMPRESS_SECTIONS_H
#define TIDE_SYMBOL_DECOMPRESS_SECTIONS_H

#include "symbol/elfimage.h"

void elf_image_unpack(struct elf_image *image);

#endif
