/*
 * loaded_file: the file that an address belongs to, according to the loader. A file whose segments
 * are not adjacent (linked for large pages, say) is still one file: the loader returns one segment,
 * and the others are found from there. [malloc-free] [async-signal-safe]
 */
#ifndef TIDE_RECORD_LOADED_FILE_H
#define TIDE_RECORD_LOADED_FILE_H

#include <link.h>
#include <stdbool.h>
#include <stdint.h>

#include "unwind/cfi.h"
#include "unwind/address_space.h"

struct loaded {
    uint64_t start, end; /* from the first segment of the file to the end of the last */
    const struct link_map *map;
    struct cfi_section tables; /* call frame information of the file; header NULL: it has none */
    /* The readable code of the file that contains the address; both 0: the address is not in it. */
    uint64_t code_start, code_end;
};

/* Finds the file of an address; false: the address belongs to no file. */
bool loaded_file_find(uint64_t address, struct loaded *out);

/* Does a file, or a segment of one, begin here? Reads nothing of the file, which may be
 * unloaded. */
bool loaded_file_begins_at(uint64_t address);

/* The file that contains a function or an object; NULL: none does. */
const struct link_map *loaded_file_map(const void *address);

/* For struct unwind_space: what kind of call returns to this address? False: the address is in no
 * file, the segments of the file are not known, or its code cannot be read. `readable` says whether
 * the page of an address can be; NULL: all code can. */
typedef bool code_readable(uint64_t address);
bool loaded_file_call_site(uint64_t address, code_readable *readable, struct call_site *out);

#endif
