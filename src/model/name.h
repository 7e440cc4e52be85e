/*
 * name: reads demangled function names (C++, Rust, C) well enough to tell where the name itself is.
 *
 * Not a parser of C++: it only finds the qualified name between a return type and the arguments,
 * and knows the few names that reports treat specially. Any text is accepted. No state, no
 * allocation besides the strbuf of name_shorten.
 */
#ifndef TIDE_MODEL_NAME_H
#define TIDE_MODEL_NAME_H

#include <stdbool.h>
#include <stddef.h>

#include "base/strbuf.h"

/* The qualified name inside `name`: "void std::f<int>(int)" -> "std::f<int>". */
struct name_part {
    const char *text;
    size_t size;
};
struct name_part name_bare(const char *name);

/* "std::f<int>" -> "std::f": without the template arguments at its end. */
struct name_part name_without_template(struct name_part part);

/* Is it what the recorder hooks, or a thin wrapper of it (malloc, operator new, __rust_alloc)? */
bool name_part_is_allocator(struct name_part bare);

/* Is it a thin wrapper of tide_alloc, by which a program tells of a block of its own allocator? */
bool name_part_is_announcement(struct name_part bare);

/* Does the qualified name lie in the standard library (std::, __gnu_cxx::; of Rust, rust_name.h)?
 */
bool name_part_is_std(struct name_part bare);

/* Would a person who types `wanted` mean this function? Whole name, without arguments, or the last
 * component. */
bool name_is(const char *name, const char *wanted);

/* Appends `name` in at most `width` columns: arguments go first, then template arguments, then the
 * end. */
void name_shorten(struct strbuf *out, const char *name, size_t width);

#endif
