/*
 * patch: how a function's entry is replaced (record/entry_patch.h). aarch64: by one branch, after
 * the landing mark or the signing of the return address, if the function begins with that.
 */
#ifndef TIDE_MACHINE_PATCH_H
#define TIDE_MACHINE_PATCH_H

#include <stdint.h>

#define ENTRY_PATCH 8   /* bytes that are written; one of the two instructions differs */
#define ENTRY_SLOT  128 /* bytes for one function: constants, stub, trampoline */
#define ENTRY_REACH (UINT64_C(1) << 27) /* the reach of the branch */

#endif
