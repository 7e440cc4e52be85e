/*
 * scopes: the functions of one DWARF unit and the calls inlined into them, by address.
 *
 * Asking libdw for the scopes of an address walks the unit's tree each time; here it is walked
 * once. A scope is a DW_TAG_subprogram or DW_TAG_inlined_subroutine that owns code; `parent` is the
 * scope it lies in. The spans lead from an address to its innermost scope.
 *
 * Hostile trees: entries are visited in file order and each at most once, to a limited depth, and
 * the ranges of a whole file are counted against *ranges_left.
 *
 * Ownership: {0} is empty; scopes_release frees. The entries belong to the Dwarf, which must
 * outlive it.
 */
#ifndef TIDE_SYMBOL_SCOPES_H
#define TIDE_SYMBOL_SCOPES_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "symbol/spans.h"

#define SCOPE_NONE UINT32_MAX

struct scope {
    Dwarf_Die die;
    uint32_t parent; /* SCOPE_NONE: lies in no function */
    bool inlined;
};

struct scopes {
    VEC(struct scope) scopes;
    struct spans spans;
};

bool unit_is_cplusplus(Dwarf_Die *unit);

/* Adds the ranges of `die` that start in `code`, under the number `owner`; returns how many. */
size_t die_add_ranges(Dwarf_Die *die, const struct spans *code, uint32_t owner, struct spans *spans,
                      size_t *ranges_left);

void scopes_load(struct scopes *s, Dwarf_Die *unit, const struct spans *code, size_t *ranges_left);
uint32_t scopes_find(const struct scopes *s, uint64_t address);    /* SCOPE_NONE: none */
struct scope *scopes_get(const struct scopes *s, uint32_t number); /* NULL for SCOPE_NONE */
void scopes_release(struct scopes *s);

#endif
