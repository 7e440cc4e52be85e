/*
 * got_slots: which function of another file a call leads to. Such calls go through a slot that the
 * loader fills with the function's address; the relocation of the slot has the name. Compilers call
 * through a stub (.plt) or read the slot directly. The file may be hostile.
 */
#ifndef TIDE_SYMBOL_GOT_SLOTS_H
#define TIDE_SYMBOL_GOT_SLOTS_H

#include <stdbool.h>

#include "symbol/elfimage.h"

/* The name of the function whose address the loader puts into the slot; NULL: none. */
const char *slot_name(const struct elf_image *image, uint64_t slot);
/* Is there a stub at the address, and through which slot does it jump? `machine` of the file:
 * EM_X86_64 or EM_AARCH64. */
bool stub_slot(const struct elf_image *image, unsigned machine, uint64_t address, uint64_t *slot);

#endif
