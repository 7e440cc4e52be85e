/*
 * inlined_scopes: the functions of one DWARF unit and the calls inlined into them, by address.
 *
 * Asking libdw for the scopes of an address walks the unit's tree each time. Here the functions of
 * a unit are listed once, and what is inside a function is read when an address first falls into
 * it: most functions of a unit are never asked for. A scope is a DW_TAG_subprogram or
 * DW_TAG_inlined_subroutine that owns code; `parent` is the enclosing scope. A function inside
 * another one (Fortran, GNU C) has code outside of that one. So an address that is in no function
 * of the list is looked for in everything that they contain.
 *
 * Hostile trees: entries are visited in file order and each at most once, to a limited depth, and
 * the ranges of a whole file are counted against *ranges_left.
 *
 * Ownership: {0} is empty; scopes_release frees. The entries belong to the Dwarf, which must
 * outlive it.
 */
#ifndef TIDE_SYMBOL_INLINED_SCOPES_H
#define TIDE_SYMBOL_INLINED_SCOPES_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "symbol/nested_ranges.h"

#define SCOPE_NONE UINT32_MAX

struct scope {
    Dwarf_Die die;
    uint32_t parent; /* SCOPE_NONE: not inside a function */
    bool inlined;
    bool listed;       /* it is in `functions` */
    uint32_t interior; /* the index of its interior; SCOPE_NONE: not read yet */
    Dwarf_Off end;     /* its interior ends before this entry */
};

struct scopes {
    VEC(struct scope) scopes;
    struct spans functions;      /* address -> function of the list */
    VEC(struct spans) interiors; /* address -> innermost scope in one function */
    struct spans all;            /* address -> innermost scope in any function */
    bool all_read;
    const struct spans *code;
    size_t *ranges_left;
    bool types_hold_code;
};

bool unit_is_cplusplus(Dwarf_Die *unit);

/* Adds the ranges of `die` that begin in `code`, with the number `owner`; returns how many. */
size_t die_add_ranges(Dwarf_Die *die, const struct spans *code, uint32_t owner, struct spans *spans,
                      size_t *ranges_left);

/* `code` and `ranges_left` must outlive it. */
void scopes_load(struct scopes *s, Dwarf_Die *unit, const struct spans *code, size_t *ranges_left);
uint32_t scopes_find(struct scopes *s, uint64_t address); /* SCOPE_NONE: none */
/* NULL for SCOPE_NONE. Valid until the next scopes_find. */
struct scope *scopes_get(const struct scopes *s, uint32_t number);
void scopes_release(struct scopes *s);

#endif
