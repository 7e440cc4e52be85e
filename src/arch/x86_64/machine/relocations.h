/*
 * relocations: the relocations by which the loader binds a file's calls and pointers to functions.
 * x86-64.
 */
#ifndef TIDE_MACHINE_RELOCATIONS_H
#define TIDE_MACHINE_RELOCATIONS_H

#define RELOC_SLOT    R_X86_64_JUMP_SLOT
#define RELOC_GLOBAL  R_X86_64_GLOB_DAT
#define RELOC_ADDRESS R_X86_64_64

#endif
