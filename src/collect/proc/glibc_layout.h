/*
 * glibc_layout: what the collector assumes of glibc's malloc and threads, on 64-bit machines.
 *
 * None of it is promised by glibc. A wrong guess makes a figure less exact (free memory is told
 * from a header, or a leaked block is held to be reachable); nothing is ever written. Where it was
 * checked: docs/SAFETY.md, "What depends on the insides of other programs". Arenas, as mappings,
 * are told in store/mapping_kinds.h.
 */
#ifndef TIDE_COLLECT_PROC_GLIBC_LAYOUT_H
#define TIDE_COLLECT_PROC_GLIBC_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

#include "machine/page.h"

#define GLIBC_FREE_HEADER 48 /* kept at the beginning of a free block of many pages */

/* Is a block of this size glibc's? No other allocator has blocks that are 8 more than a multiple of
 * 16; large ones are mapped alone. */
static inline bool glibc_has_size(uint64_t usable)
{
    return usable >= 24 && usable % 16 == 8;
}

static inline bool glibc_maps_alone(uint64_t usable)
{
    return (usable + 16) % page_bytes() == 0;
}

/* Bytes in front of a block that belong to it. */
static inline uint64_t glibc_header(uint64_t address, uint64_t usable)
{
    return glibc_has_size(usable) && address % 16 == 0                ? 8
           : address % page_bytes() == 16 && glibc_maps_alone(usable) ? 16
                                                                      : 0;
}

/* How far from a block of this size the next chunk begins, to which malloc's own state may point. A
 * chunk is a multiple of 16 bytes, 32 at the least, and 8 larger than what is usable. */
static inline uint64_t glibc_next_chunk(uint64_t size)
{
    return ((size + 23) & ~UINT64_C(15)) - 16;
}

#endif
