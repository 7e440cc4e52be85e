/*
 * find_function: from a function's name to where its code begins, in one ELF file.
 *
 * A name is that of the symbol table ("main", "_ZN9Processor5eventEi"), or a C++ or Rust function
 * with its scopes and without parameters ("Processor::event"), which may match several; template
 * arguments may be left out. Complete copies that the compiler made ("event.constprop.0") count,
 * parts of functions do not. Symbols are also looked for in the file's separate debug file.
 *
 * The file may be hostile, as for symbolizer.h. Threads: any, but only one per list.
 */
#ifndef TIDE_SYMBOL_FIND_FUNCTION_H
#define TIDE_SYMBOL_FIND_FUNCTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

struct found_function {
    size_t name; /* index of the name that was asked for */
    uint64_t address, size_bytes;
    uint8_t code[16]; /* its first bytes; zeros where there are no more */
    bool shared;      /* another symbol begins within its first bytes */
};

struct found_functions {
    VEC(struct found_function) items;
};

/* Appends the functions of the file with one of these names, by name, at most `max`; each address
 * once per name. Returns 0, or a negative errno. */
int find_functions(const char *path, const char *const *names, size_t name_count, size_t max,
                   struct found_functions *out);

#endif
