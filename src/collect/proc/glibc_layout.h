/*
 * glibc_layout: what the collector assumes about glibc's malloc and threads on 64-bit machines.
 * glibc does not document these structures.
 *
 * A wrong assumption makes a figure less exact (a header counts as free memory, or a leaked block
 * counts as reachable); nothing is ever written. docs/SAFETY.md, "What depends on the insides of
 * other programs", says where it was checked. store/mapping_kinds.h recognises arenas among the
 * mappings.
 */
#ifndef TIDE_COLLECT_PROC_GLIBC_LAYOUT_H
#define TIDE_COLLECT_PROC_GLIBC_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

#include "machine/page.h"

#define GLIBC_FREE_HEADER 48 /* kept at the beginning of a free block of many pages */

/* May a block of this size be glibc's? No other allocator has blocks whose usable size is 8 more
 * than a multiple of 16. Large blocks have a mapping of their own. */
static inline bool glibc_has_size(uint64_t usable)
{
    return usable >= 24 && usable % 16 == 8;
}

static inline bool glibc_maps_alone(uint64_t usable)
{
    return (usable + 16) % page_bytes() == 0;
}

/* The bytes in front of a block that belong to it. */
static inline uint64_t glibc_header(uint64_t address, uint64_t usable)
{
    return glibc_has_size(usable) && address % 16 == 0                ? 8
           : address % page_bytes() == 16 && glibc_maps_alone(usable) ? 16
                                                                      : 0;
}

/* The distance from a block of this size to the next chunk, which malloc's own state may point to.
 * A chunk is a multiple of 16 bytes, at least 32, and 8 larger than its usable size. */
static inline uint64_t glibc_next_chunk(uint64_t size)
{
    return ((size + 23) & ~UINT64_C(15)) - 16;
}

#endif
