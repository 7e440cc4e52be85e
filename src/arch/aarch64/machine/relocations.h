/*
 * relocations: the relocations by which the loader binds a file's calls and pointers to functions.
 * aarch64.
 */
#ifndef TIDE_MACHINE_RELOCATIONS_H
#define TIDE_MACHINE_RELOCATIONS_H

#define RELOC_SLOT    R_AARCH64_JUMP_SLOT
#define RELOC_GLOBAL  R_AARCH64_GLOB_DAT
#define RELOC_ADDRESS R_AARCH64_ABS64

#endif
