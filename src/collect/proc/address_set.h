/*
 * address_set: ranges of addresses of another process, and sets of them. After address_set_settle a
 * set is sorted and has no overlaps; only then may it be searched or cut.
 *
 * Ownership: address_set_release frees; {0} is empty. Not thread-safe.
 */
#ifndef TIDE_COLLECT_PROC_ADDRESS_SET_H
#define TIDE_COLLECT_PROC_ADDRESS_SET_H

#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

struct address_range {
    uint64_t start, end;
};

struct address_set {
    VEC(struct address_range) items;
};

static inline void address_set_add(struct address_set *s, uint64_t start, uint64_t end)
{
    if (start < end)
        *vec_push(&s->items) = (struct address_range){start, end};
}
static inline void address_set_copy(struct address_set *to, const struct address_set *from)
{
    for (size_t i = 0; i < from->items.count; i++)
        *vec_push(&to->items) = from->items.items[i];
}
void address_set_settle(struct address_set *s);
/* The index of the first range that ends after an address; the number of ranges if there is
 * none. */
size_t address_set_find(const struct address_set *s, uint64_t address);
/* Adds the parts of [start, end) that are in the set to `out`, or the parts that are not. */
void address_set_inside(const struct address_set *s, uint64_t start, uint64_t end,
                        struct address_set *out);
void address_set_outside(const struct address_set *s, uint64_t start, uint64_t end,
                         struct address_set *out);
static inline uint64_t address_set_bytes(const struct address_set *s)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < s->items.count; i++)
        bytes += s->items.items[i].end - s->items.items[i].start;
    return bytes;
}
static inline void address_set_release(struct address_set *s)
{
    vec_release(&s->items);
}

#endif
