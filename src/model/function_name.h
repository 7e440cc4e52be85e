/*
 * function_name: reads demangled function names (C++, Rust, C) well enough to find the name itself.
 *
 * Here it is decided which functions are allocators and which are std:: internals; calltree.c
 * decides what is charged instead of them.
 *
 * It is not a parser of C++: it only finds the qualified name between a return type and the
 * arguments, and knows the few names that reports treat specially. Any text is accepted. No state,
 * no allocation except the strbuf of name_shorten.
 */
#ifndef TIDE_MODEL_FUNCTION_NAME_H
#define TIDE_MODEL_FUNCTION_NAME_H

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

/* Is it a function that the recorder hooks, or a thin wrapper of one (malloc, operator new,
 * __rust_alloc)? */
bool name_part_is_allocator(struct name_part bare);

/* Is it a thin wrapper of tide_alloc, by which a program reports a block of its own allocator? */
bool name_part_is_announcement(struct name_part bare);

/* Is the qualified name in the standard library (std::, __gnu_cxx::; for Rust, rust_std.h)? */
bool name_part_is_std(struct name_part bare);

/* Does it hand memory of graphics processors on: CUDA's runtime, which may be part of the program,
 * or what PyTorch calls to get the memory of a tensor? */
bool name_part_is_gpu(struct name_part bare);

/* Would a user who types `wanted` mean this function? It may be the whole name, the name without
 * arguments, or the last component. */
bool name_is(const char *name, const char *wanted);

/* Appends `name` in at most `width` columns: arguments are left out first, then template arguments,
 * then the end; of "library+0x1234" the end of the library's name; of "function < caller" some of
 * both. */
void name_shorten(struct strbuf *out, const char *name, size_t width);

#endif
