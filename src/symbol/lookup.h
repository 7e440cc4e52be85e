/*
 * lookup: from a function's name to where its code begins, in one ELF file.
 *
 * A name is what the symbol table has ("main", "_ZN9Processor5eventEi"), or a C++ or Rust function
 * with its scopes and without parameters ("Processor::event"), which may mean several; template
 * arguments may be left out. Copies that the compiler made whole ("event.constprop.0") count, parts
 * of functions do not. Symbols are also looked for in the file's separate debug file.
 *
 * The file may be hostile, as for symbolizer.h. Not thread-safe on one list; any thread.
 */
#ifndef TIDE_SYMBOL_LOOKUP_H
#define TIDE_SYMBOL_LOOKUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

struct found_function {
    size_t name; /* its place in the names that were asked for */
    uint64_t address, size_bytes;
    uint8_t code[16]; /* it begins with these bytes, */
    size_t code_size; /* as many as there are */
    bool shared;      /* another symbol begins within its first bytes */
};

struct found_functions {
    VEC(struct found_function) items;
};

/* Functions of the file with one of these names, by name; each address once per name. Appends at
 * most `max`. 0 or a negative errno. */
int lookup_functions(const char *path, const char *const *names, size_t name_count, size_t max,
                     struct found_functions *out);

#endif
