/*
 * function_bounds: where the function around an address begins and ends, for functions without a
 * symbol that has a size.
 *
 * DWARF has the bounds of its scopes. Without DWARF, the unwind information has them: stripped
 * programs keep that because exceptions need it. Its sorted table (.eh_frame_hdr) is read in the
 * one form that linkers write. The file may be hostile.
 */
#ifndef TIDE_SYMBOL_FUNCTION_BOUNDS_H
#define TIDE_SYMBOL_FUNCTION_BOUNDS_H

#include <stdbool.h>
#include <stdint.h>

#include "symbol/elfimage.h"
#include "symbol/inlined_scopes.h"

/* The range of the scope that contains the address. */
bool scope_bounds(struct scope *scope, const struct spans *code, uint64_t address, uint64_t *low,
                  uint64_t *high);
bool frame_bounds(const struct elf_image *image, uint64_t address, uint64_t *low, uint64_t *high);

#endif
