/*
 * demangle: turns a linker's name into the function's name as its author would write it.
 *
 * libiberty demangles C++ (Itanium) and Rust (legacy and v0); any other name stays unchanged. One
 * function gets one name, whatever the optimiser did, because these are dropped: symbol versions
 * ("memcpy@@GLIBC_2.14"), suffixes of clones (".constprop.0", ".cold"), Rust's hashes, and the
 * "__GI_" by which functions of glibc call each other. Names are shortened for tables by
 * model/function_name.h.
 *
 * Names may be hostile: a few hundred bytes can expand to exabytes, or nest without end. Input and
 * output are limited, and a name beyond the limits stays mangled.
 */
#ifndef TIDE_SYMBOL_DEMANGLE_H
#define TIDE_SYMBOL_DEMANGLE_H

#include <stdbool.h>

#include "base/strbuf.h"

bool name_is_mangled(const char *name);
void demangle(struct strbuf *out, const char *name); /* appends */
/* The same without parameters and return type. */
void demangle_qualified(struct strbuf *out, const char *name);
/* The length of a name without its version and without the suffix of a copy. */
size_t name_without_clone(const char *name);

#endif
