/*
 * loaded: the file that an address belongs to, as the loader has it.
 *
 * A file whose segments are not next to each other (linked for large pages, say) is one file all
 * the same: the loader tells of one segment, and the others are found from there.
 * [malloc-free] [async-signal-safe]
 */
#ifndef TIDE_RECORD_LOADED_H
#define TIDE_RECORD_LOADED_H

#include <link.h>
#include <stdbool.h>
#include <stdint.h>

#include "unwind/cfi.h"
#include "unwind/step.h"

struct loaded {
    uint64_t start, end; /* from its first segment to the end of its last */
    const struct link_map *map;
    struct cfi_section tables; /* its call frame information; header NULL: it has none */
};

/* false: no file has it. */
bool loaded_find(uint64_t address, struct loaded *out);

/* Does a file, or a segment of one, begin here? Reads nothing of the file: it may be going away. */
bool loaded_begins_at(uint64_t address);

/* The same for a function or an object; NULL: no file has it. */
const struct link_map *loaded_map(const void *address);

/* As struct unwind_space wants it: what call ends there? */
enum step_call loaded_call(uint64_t address, uint64_t callee);

#endif
