/*
 * declname: the name of a C++ function composed from its DWARF declaration.
 *
 * gcc writes no linkage name for functions that only their own unit sees (static, in an anonymous
 * namespace, lambdas), and once inlined they have no symbol either. The same function not inlined
 * reads "app::(anonymous namespace)::grab(int)" from its symbol, so that is what is composed here
 * from the enclosing scopes and the parameters' types. Parameters are left out where a type is
 * beyond this (functions, arrays, pointers to members).
 *
 * Hostile DWARF: depth and output are limited, and all steps together by d->naming_steps_left.
 * Allocates only in `out`.
 */
#ifndef TIDE_SYMBOL_DECLNAME_H
#define TIDE_SYMBOL_DECLNAME_H

#include <stdbool.h>

#include "base/strbuf.h"
#include "symbol/debuginfo.h"

/* Appends the name of the function `die` stands for, following origins; false: nothing was added.
 */
bool declname_add(struct strbuf *out, struct debuginfo *d, Dwarf_Die *die);

#endif
