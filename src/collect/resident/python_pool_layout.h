/*
 * python_pool_layout: the header of a pool of small objects in CPython on 64-bit machines. It is
 * the same from 3.8 to 3.15; arenas and pools became larger in 3.10.
 *
 * The collector reads the headers from outside and accepts one only if its numbers agree with each
 * other (python_arenas.c).
 */
#ifndef TIDE_COLLECT_RESIDENT_PYTHON_POOL_LAYOUT_H
#define TIDE_COLLECT_RESIDENT_PYTHON_POOL_LAYOUT_H

#include <assert.h>
#include <stdint.h>

#define POOL_ALIGNMENT 16u
#define POOL_CLASSES   32u /* sizes of objects, 16 to 512 bytes */

struct pool_header {
    uint32_t count, padding; /* objects in use */
    uint64_t free_block, next, previous;
    uint32_t arena;
    uint32_t class;                    /* its objects have (class + 1) * POOL_ALIGNMENT bytes */
    uint32_t next_offset, last_offset; /* offsets of objects that were never used */
};
static_assert(sizeof(struct pool_header) == 48, "as CPython has it");

struct pool_form {
    uint64_t arena_bytes, pool_bytes;
};

/* The sizes in version 3.MINOR. */
static inline struct pool_form pool_form_of(uint32_t minor)
{
    return minor < 10 ? (struct pool_form){256 << 10, 4 << 10}
                      : (struct pool_form){1 << 20, 16 << 10};
}

#endif
