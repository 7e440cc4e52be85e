/*
 * mapping_kinds: the kind of a mapping, decided by its flags (what the recorder knows of it), its
 * name, and its neighbours.
 *
 * Every mapping has exactly one kind. The collector uses this for what it reads from /proc and
 * reports use it for captures, so both agree. No state.
 */
#ifndef TIDE_STORE_MAPPING_KINDS_H
#define TIDE_STORE_MAPPING_KINDS_H

#include "store/recording.h"

enum mapping_kind {
    KIND_HEAP, /* [heap], and anonymous mappings in which heap blocks lie */
    KIND_STACK,
    KIND_PROGRAM_TEXT, /* what is mapped of the file and never changed: code, constants */
    KIND_PROGRAM_DATA,
    KIND_LIBRARY_TEXT,
    KIND_LIBRARY_DATA,
    KIND_FILE, /* other files */
    KIND_ANONYMOUS,
    KIND_SHARED, /* memory without a file that others may have too */
    KIND_KERNEL, /* [vdso] and the like */
    KIND_OWN,    /* tidemark's */
    MAPPING_KINDS
};

/* Of each mapping of a capture. Caller frees. */
enum mapping_kind *mapping_kinds(const struct profile *p, const struct capture *c);
/* Is mapping `i` of `count` an arena of glibc's, but for the first? From a multiple of
 * MAPPING_ARENA, in use; up to the next, reserved. */
bool mapping_is_arena(const struct mapping *all, size_t i, size_t count);
#define MAPPING_ARENA (UINT64_C(64) << 20)

#endif
