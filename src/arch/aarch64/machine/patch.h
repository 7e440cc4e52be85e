/*
 * patch: how a function's entry is replaced (record/entry.h). aarch64: by one branch, behind the
 * landing mark or the signing of the return address, if the function begins with that.
 */
#ifndef TIDE_MACHINE_PATCH_H
#define TIDE_MACHINE_PATCH_H

#include <stdint.h>

#define ENTRY_PATCH 8   /* bytes that are written, one instruction of which differs */
#define ENTRY_SLOT  128 /* that one function takes: constants, stub, trampoline */
#define ENTRY_REACH (UINT64_C(1) << 27) /* how far the branch can go */

#endif
