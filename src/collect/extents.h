/*
 * extents: ranges of addresses of another process, and sets of them.
 *
 * A set is in order once extents_settle was called: sorted, without overlaps. Only then may it be
 * searched or cut.
 */
#ifndef TIDE_COLLECT_EXTENTS_H
#define TIDE_COLLECT_EXTENTS_H

#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

struct extent {
    uint64_t start, end;
};

struct extents {
    VEC(struct extent) items;
};

static inline void extents_add(struct extents *s, uint64_t start, uint64_t end)
{
    if (start < end)
        *vec_push(&s->items) = (struct extent){start, end};
}
static inline void extents_copy(struct extents *to, const struct extents *from)
{
    for (size_t i = 0; i < from->items.count; i++)
        *vec_push(&to->items) = from->items.items[i];
}
void extents_settle(struct extents *s);
/* The first that ends after an address; their number if there is none. */
size_t extents_find(const struct extents *s, uint64_t address);
/* Adds to `out` what of [start, end) is in the set; or what is not. */
void extents_inside(const struct extents *s, uint64_t start, uint64_t end, struct extents *out);
void extents_outside(const struct extents *s, uint64_t start, uint64_t end, struct extents *out);
static inline uint64_t extents_bytes(const struct extents *s)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < s->items.count; i++)
        bytes += s->items.items[i].end - s->items.items[i].start;
    return bytes;
}
static inline void extents_release(struct extents *s)
{
    vec_release(&s->items);
}

#endif
