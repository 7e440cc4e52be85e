/*
 * mapping_kinds: the kind of a mapping, decided by its flags (what the recorder knows about it),
 * its name, and its neighbours. Every mapping has exactly one kind. The collector uses this for
 * what it reads from /proc and reports use it for captures, so both agree. No state.
 */
#ifndef TIDE_STORE_MAPPING_KINDS_H
#define TIDE_STORE_MAPPING_KINDS_H

#include "store/recording.h"

enum mapping_kind {
    KIND_HEAP, /* [heap], and anonymous mappings that contain heap blocks */
    KIND_STACK,
    KIND_PROGRAM_TEXT, /* the unmodified part of the file: code, constants */
    KIND_PROGRAM_DATA,
    KIND_LIBRARY_TEXT,
    KIND_LIBRARY_DATA,
    KIND_FILE, /* other files */
    KIND_ANONYMOUS,
    KIND_SHARED, /* memory without a file that other processes may share */
    KIND_KERNEL, /* [vdso] and the like */
    KIND_OWN,    /* tidemark's own */
    MAPPING_KINDS
};

/* The kind of each mapping of a capture. The caller frees the result. */
enum mapping_kind *mapping_kinds(const struct profile *p, const struct capture *c);
/* Is mapping `i` of `count` an arena of glibc's, other than the first? Such an arena begins at a
 * multiple of MAPPING_ARENA with a part in use, and is reserved up to the next multiple. */
bool mapping_is_arena(const struct mapping *all, size_t i, size_t count);
#define MAPPING_ARENA (UINT64_C(64) << 20)

#endif
