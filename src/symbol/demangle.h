/*
 * demangle: a function's name as its author would write it, from the name the linker saw.
 *
 * libiberty demangles C++ (Itanium) and Rust (legacy and v0); any other name comes out as it is.
 * One function gets one name, whatever the optimiser did, because these are dropped: symbol
 * versions ("memcpy@@GLIBC_2.14"), suffixes of clones (".constprop.0", ".cold"), Rust's hashes, and
 * the "__GI_" by which functions of glibc call each other.
 *
 * Names may be hostile: a few hundred bytes can expand to exabytes, or nest without end. Input and
 * output are limited, and a name past the limits stays mangled.
 */
#ifndef TIDE_SYMBOL_DEMANGLE_H
#define TIDE_SYMBOL_DEMANGLE_H

#include <stdbool.h>

#include "base/strbuf.h"

bool name_is_mangled(const char *name);
void demangle(struct strbuf *out, const char *name); /* appends */
/* The same without parameters and without what is returned. */
void demangle_qualified(struct strbuf *out, const char *name);
/* How much of a name, as it is in the file, is neither a version nor says which copy it is. */
size_t name_without_clone(const char *name);

#endif
