/*
 * patch: how a function's entry is replaced (record/entry_patch.h). x86-64: by a jump of 5 bytes.
 */
#ifndef TIDE_MACHINE_PATCH_H
#define TIDE_MACHINE_PATCH_H

#include <stdint.h>

#define ENTRY_PATCH 5                   /* bytes that are replaced */
#define ENTRY_SLOT  128                 /* bytes for one function: constants, stub, trampoline */
#define ENTRY_REACH (UINT64_C(1) << 31) /* the reach of the jump */

#endif
