/*
 * declname: composes the name of a C++ function from its DWARF declaration.
 *
 * gcc writes no linkage name for functions that only their own unit sees (static, in an anonymous
 * namespace, lambdas), and once inlined they have no symbol either. The same function, not inlined,
 * has the name "app::(anonymous namespace)::grab(int)" from its symbol, so the same is composed
 * here from the enclosing scopes and the parameters' types. If a type is too complicated
 * (functions, arrays, pointers to members), parameters are left out.
 *
 * Hostile DWARF: depth and output are limited, and d->naming_steps_left limits all steps together.
 * Allocates only in `out`.
 */
#ifndef TIDE_SYMBOL_DECLNAME_H
#define TIDE_SYMBOL_DECLNAME_H

#include <stdbool.h>

#include "base/strbuf.h"
#include "symbol/debuginfo.h"

/* Appends the name of the function of `die`, following origins; false: nothing was appended. */
bool declname_add(struct strbuf *out, struct debuginfo *d, Dwarf_Die *die);

#endif
